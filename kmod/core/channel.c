// SPDX-License-Identifier: GPL-2.0
/*
 * Codes of a converter to signals and back: see channel.h.
 */
#include "channel.h"
#include "math.h"

/* The largest code of which a double exists, so that it fits back into 64 bits. */
#define CODE_LIMIT	(0x1.fffffffffffffp62)

/* 2^exponent */
static double power_of_two(ht_u32 exponent)
{
	union ht_real r = { .bits = (ht_u64)(1023 + exponent) << 52 };

	return r.value;
}

static double with_decimals(ht_s32 val, ht_s32 val2, double unit)
{
	const double size = ht_fabs(val) + ht_fabs(val2) / unit;

	return val < 0 || val2 < 0 ? -size : size;
}

double ht_number_value(const struct ht_number *number)
{
	const double nothing = __builtin_nan("");
	const ht_s32 val = number->val, val2 = number->val2;

	switch (number->form) {
	case HT_NUMBER_INT:
		return val;
	case HT_NUMBER_MICRO:
		return with_decimals(val, val2, 1e6);
	case HT_NUMBER_NANO:
		return with_decimals(val, val2, 1e9);
	case HT_NUMBER_FRACTION:
		return val2 ? (double)val / val2 : nothing;
	case HT_NUMBER_FRACTION_LOG2:
		return val2 >= 0 && val2 < 64 ? val / power_of_two(val2) : nothing;
	default:
		return nothing;
	}
}

ht_s64 ht_scan_code(const struct ht_scan_place *place, const void *scan)
{
	const ht_u8 *byte = (const ht_u8 *)scan + place->offset;
	const ht_u32 unused = 64 - place->bits;
	ht_u64 word = 0;
	ht_u32 i;

	for (i = 0; i < place->bytes; i++)
		word = word << 8 | byte[place->big_endian ? i : place->bytes - 1 - i];
	word = word >> place->shift << unused;
	if (place->is_signed)
		return (ht_s64)word >> unused;
	return (ht_s64)(word >> unused);
}

int ht_channel_init(struct ht_channel *channel, const struct ht_converter *converter,
		    const struct ht_image_channel *image)
{
	const double step = ht_number_value(&converter->scale) *
			    ht_number_value(&converter->unit);

	channel->slope = image->gain * step;
	channel->constant = image->gain * (ht_number_value(&converter->offset) * step) +
			    image->offset;
	channel->low_code = ht_clamp((double)converter->low_code, -CODE_LIMIT, CODE_LIMIT);
	channel->high_code = ht_clamp((double)converter->high_code, -CODE_LIMIT, CODE_LIMIT);
	if (!ht_finite(&channel->slope) || !ht_finite(&channel->constant) ||
	    channel->slope == 0 || channel->low_code > channel->high_code)
		return HT_ERR_CHANNEL;
	return HT_OK;
}

double ht_channel_signal(const struct ht_channel *channel, ht_s64 code)
{
	return channel->slope * (double)code + channel->constant;
}

/* The nearest integer, ties away from zero; exact for all sizes. */
static double round_away(double x)
{
	const double size = ht_fabs(x);
	double whole = ht_floor(size);

	if (size - whole >= 0.5)
		whole += 1;
	return x < 0 ? -whole : whole;
}

ht_s64 ht_channel_code(const struct ht_channel *channel, double signal)
{
	const double wanted = signal == signal ? signal : 0;
	const double code = (wanted - channel->constant) / channel->slope;

	return (ht_s64)round_away(ht_clamp(code, channel->low_code, channel->high_code));
}

void ht_channel_read(const struct ht_channel *channel, ht_s64 code, double *signal)
{
	*signal = ht_channel_signal(channel, code);
}

ht_s64 ht_channel_write(const struct ht_channel *channel, const double *signal)
{
	return ht_channel_code(channel, *signal);
}
