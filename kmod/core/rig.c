// SPDX-License-Identifier: GPL-2.0
/*
 * A simulated rig: the steps of its program, its converters, their faults. All
 * arithmetic of a rig is here, so that the module and the sim backend make the
 * same codes.
 */
#include "math.h"
#include "philox.h"
#include "rig.h"

/* A fault of a channel at work. */
struct fault {
	ht_u32 kind;
	double value;
	ht_u64 since;		/* ADC: age of the rig, DAC: its own step, when it began */
};

struct dac {
	struct ht_channel volts;	/* codes and volts */
	struct fault fault;
	double from;			/* runaway: V when it began */
	ht_s64 code;			/* what was written last */
	ht_u32 written;			/* since the rig was new */
};

struct adc {
	struct ht_channel volts;
	struct fault fault;
	ht_s64 stuck;			/* the code it is stuck at */
	ht_u32 read;			/* since its fault began */
};

struct ht_rig {
	struct ht_program *program;
	struct ht_image image;
	struct dac *dacs;
	struct adc *adcs;
	double dt;
	ht_u64 clock;		/* step of the clock that it has reached */
	ht_u64 age;		/* steps of the clock since it was made */
	ht_u64 step;		/* own step that is behind it */
	ht_u32 has_clock;
	ht_u32 held;
};

static const char *const fault_names[HT_FAULTS] = {
	[HT_FAULT_NONE] = "none",
	[HT_FAULT_STUCK] = "stuck",
	[HT_FAULT_DROPOUT] = "dropout",
	[HT_FAULT_SPIKE] = "spike",
	[HT_FAULT_DRIFT] = "drift",
	[HT_FAULT_SIGN] = "sign",
	[HT_FAULT_SATURATION] = "saturation",
	[HT_FAULT_RUNAWAY] = "runaway",
};

const char *ht_fault_name(ht_u32 fault)
{
	return fault < HT_FAULTS ? fault_names[fault] : "unknown";
}

int ht_fault_is_for_dac(ht_u32 fault)
{
	return fault == HT_FAULT_SATURATION || fault == HT_FAULT_RUNAWAY;
}

static ht_u64 aligned(ht_u64 bytes)
{
	return (bytes + 7) & ~7ull;
}

/* Cuts the memory into its parts; with a null rig it only counts. */
static ht_u64 cut(struct ht_rig *rig, const struct ht_image_header *h)
{
	ht_u8 *base = (ht_u8 *)rig;
	ht_u64 at = aligned(sizeof(*rig));

	if (rig)
		rig->dacs = (struct dac *)(base + at);
	at += aligned(h->n_inputs * sizeof(struct dac));
	if (rig)
		rig->adcs = (struct adc *)(base + at);
	at += aligned(h->n_outputs * sizeof(struct adc));
	if (rig)
		rig->program = (struct ht_program *)(base + at);
	return at;
}

ht_u64 ht_rig_bytes(const void *bytes)
{
	struct ht_image image;

	ht_image_open(&image, bytes);
	return cut(HT_NULL, image.header) + ht_program_bytes(bytes);
}

void ht_rig_converter(const struct ht_image_channel *channel, struct ht_converter *converter)
{
	const ht_s64 codes = 1ll << (channel->bits - 1);

	*converter = (struct ht_converter){
		.scale = {
			.form = HT_NUMBER_FRACTION_LOG2,
			.val = channel->range_mv,
			.val2 = channel->bits - 1,
		},
		.offset = { .form = HT_NUMBER_INT },
		.unit = { .form = HT_NUMBER_FRACTION, .val = 1, .val2 = 1000 },
		.low_code = -codes,
		.high_code = codes - 1,
	};
}

/* Codes and volts at the converter, without the calibration. */
static int init_volts(struct ht_channel *volts, const struct ht_image_channel *channel,
		      ht_u32 where, ht_u32 index, struct ht_error *error)
{
	const struct ht_image_channel plain = { .gain = 1 };
	struct ht_converter converter;

	ht_rig_converter(channel, &converter);
	if (ht_channel_init(volts, &converter, &plain))
		return ht_refuse(error, HT_ERR_CHANNEL, where, index, 0, 0);
	return HT_OK;
}

static double to_volts(const struct ht_image_channel *channel, double signal)
{
	return (signal - channel->offset) / channel->gain;
}

static double to_signal(const struct ht_image_channel *channel, double volts)
{
	return channel->gain * volts + channel->offset;
}

/* Own steps as seconds. */
static double duration(const struct ht_rig *rig, ht_u64 steps)
{
	return (double)(ht_s64)steps * rig->dt;
}

/* What the actuator gets at this step. */
static double dac_volts(const struct ht_rig *rig, const struct dac *dac)
{
	const double volts = ht_channel_signal(&dac->volts, dac->code);
	const double range = dac->volts.slope * -dac->volts.low_code;
	const double value = dac->fault.value;

	switch (dac->fault.kind) {
	case HT_FAULT_SATURATION:
		return ht_clamp(volts, -ht_fabs(value), ht_fabs(value));
	case HT_FAULT_RUNAWAY:
		return ht_clamp(dac->from + value * duration(rig, rig->step - dac->fault.since),
				-range, range);
	default:
		return volts;
	}
}

static void make_step(struct ht_rig *rig, ht_u64 step)
{
	double *signals = ht_program_signals(rig->program);
	ht_u32 i;

	rig->step = step;
	for (i = 0; i < rig->image.header->n_inputs; i++) {
		const struct ht_image_input *in = &rig->image.inputs[i];

		signals[in->signal] = to_signal(&in->channel, dac_volts(rig, &rig->dacs[i]));
	}
	ht_program_step(rig->program, step);
}

/* The initial state, with own step 0 behind it. */
static void settle(struct ht_rig *rig)
{
	ht_program_reset(rig->program);
	make_step(rig, 0);
}

void ht_rig_reset(struct ht_rig *rig)
{
	const struct ht_image *image = &rig->image;
	ht_u32 i;

	for (i = 0; i < image->header->n_inputs; i++) {
		const struct ht_image_input *in = &image->inputs[i];
		struct dac *dac = &rig->dacs[i];

		dac->fault = (struct fault){ .kind = HT_FAULT_NONE };
		dac->code = ht_channel_code(&dac->volts,
					    to_volts(&in->channel,
						     image->signals[in->signal].initial));
		dac->written = 0;
	}
	for (i = 0; i < image->header->n_outputs; i++)
		rig->adcs[i].fault = (struct fault){ .kind = HT_FAULT_NONE };
	rig->held = !!(image->header->flags & HT_IMAGE_HELD);
	settle(rig);
}

int ht_rig_init(void *memory, const void *bytes, struct ht_error *error)
{
	struct ht_rig *rig = memory;
	const struct ht_image_header *h;
	ht_u32 i;
	int code;

	ht_image_open(&rig->image, bytes);
	h = rig->image.header;
	cut(rig, h);
	rig->dt = (double)h->period_ns / 1e9;
	for (i = 0; i < h->n_inputs; i++) {
		code = init_volts(&rig->dacs[i].volts, &rig->image.inputs[i].channel,
				  HT_AT_INPUT, i, error);
		if (code)
			return code;
	}
	for (i = 0; i < h->n_outputs; i++) {
		code = init_volts(&rig->adcs[i].volts, &rig->image.outputs[i].channel,
				  HT_AT_OUTPUT, i, error);
		if (code)
			return code;
	}
	code = ht_program_init(rig->program, bytes, error);
	if (code)
		return code;
	ht_rig_reset(rig);
	return HT_OK;
}

struct ht_program *ht_rig_program(struct ht_rig *rig)
{
	return rig->program;
}

ht_u64 ht_rig_advance(struct ht_rig *rig, ht_u64 step, ht_u64 most)
{
	ht_u64 i, n;

	if (!rig->has_clock) {
		rig->has_clock = 1;
		rig->clock = step;
	}
	if (step <= rig->clock)
		return 0;
	n = step - rig->clock;
	if (n > most && !rig->held)
		n = most;
	for (i = 0; i < n && !rig->held; i++)
		make_step(rig, rig->step + 1);
	rig->clock += n;
	rig->age += n;
	return step - rig->clock;
}

void ht_rig_write(struct ht_rig *rig, ht_u32 input, ht_s64 code)
{
	struct dac *dac = &rig->dacs[input];
	const ht_s64 before = dac->code;

	/* Codes have at most 32 bits: their doubles are exact. */
	dac->code = (ht_s64)ht_clamp((double)code, dac->volts.low_code, dac->volts.high_code);
	if (rig->held && dac->code != before) {
		if (dac->written)
			rig->held = 0;
		else
			settle(rig);
	}
	dac->written = 1;
}

ht_s64 ht_rig_written(const struct ht_rig *rig, ht_u32 input)
{
	return rig->dacs[input].code;
}

/*
 * Noise of a sample: the same for the same rig, step and channel, however often
 * and by whom it is read.
 */
static double noise(const struct ht_rig *rig, ht_u32 output)
{
	const ht_u32 key[2] = { rig->image.header->crc, 0 };
	const ht_u32 counter[4] = { (ht_u32)rig->step, (ht_u32)(rig->step >> 32), output, 0 };
	const double rms = rig->image.outputs[output].channel.noise;
	ht_u32 random[4];

	if (rms == 0)
		return 0;
	ht_philox(counter, key, random);
	return rms * ht_random_normal(random);
}

/* The code of the sample of now. */
static ht_s64 sample(const struct ht_rig *rig, ht_u32 output)
{
	const struct ht_image_output *out = &rig->image.outputs[output];
	const struct adc *adc = &rig->adcs[output];
	double volts = to_volts(&out->channel, ht_program_signals(rig->program)[out->signal]);

	switch (adc->fault.kind) {
	case HT_FAULT_STUCK:
		return adc->stuck;
	case HT_FAULT_DROPOUT:
		return ht_channel_code(&adc->volts, 0);
	case HT_FAULT_SPIKE:
		volts += adc->fault.value;
		break;
	case HT_FAULT_DRIFT:
		volts += adc->fault.value * duration(rig, rig->age - adc->fault.since);
		break;
	case HT_FAULT_SIGN:
		volts = -volts;
		break;
	}
	return ht_channel_code(&adc->volts, volts + noise(rig, output));
}

ht_s64 ht_rig_read(struct ht_rig *rig, ht_u32 output)
{
	rig->adcs[output].read = 1;
	return sample(rig, output);
}

void ht_rig_end_scan(struct ht_rig *rig)
{
	ht_u32 i;

	for (i = 0; i < rig->image.header->n_outputs; i++) {
		struct adc *adc = &rig->adcs[i];

		if (adc->read && adc->fault.kind == HT_FAULT_SPIKE)
			adc->fault.kind = HT_FAULT_NONE;
	}
}

static void fault_dac(struct ht_rig *rig, ht_u32 fault, ht_u32 input, double value)
{
	struct dac *dac = &rig->dacs[input];
	const struct ht_image_input *in = &rig->image.inputs[input];

	/* From where the actuator is, which is not always what was written. */
	dac->from = to_volts(&in->channel, ht_program_signals(rig->program)[in->signal]);
	dac->fault = (struct fault){ .kind = fault, .value = value, .since = rig->step };
}

static void fault_adc(struct ht_rig *rig, ht_u32 fault, ht_u32 output, double value)
{
	struct adc *adc = &rig->adcs[output];

	adc->stuck = sample(rig, output);
	adc->fault = (struct fault){ .kind = fault, .value = value, .since = rig->age };
	adc->read = 0;
}

void ht_rig_fault(struct ht_rig *rig, ht_u32 fault, ht_u32 channel, const double *value)
{
	const struct ht_image_header *h = rig->image.header;
	const int none = fault == HT_FAULT_NONE;
	const int dac = ht_fault_is_for_dac(fault);

	if ((dac || none) && channel < h->n_inputs)
		fault_dac(rig, fault, channel, none ? 0 : *value);
	if ((!dac || none) && channel < h->n_outputs)
		fault_adc(rig, fault, channel, none ? 0 : *value);
}

ht_u32 ht_rig_adc_fault(const struct ht_rig *rig, ht_u32 output)
{
	return rig->adcs[output].fault.kind;
}

ht_u32 ht_rig_dac_fault(const struct ht_rig *rig, ht_u32 input)
{
	return rig->dacs[input].fault.kind;
}

/* An exact power of ten. */
static double power_of_ten(ht_u32 exponent)
{
	double power = 1;

	while (exponent--)
		power *= 10;
	return power;
}

#define MAX_DIGITS	18	/* fit into 64 bits */
#define MAX_POWER	22	/* 10^22 is the last that is exact in a double */

/* A number as it is written: digits * 10^power. */
struct decimal {
	ht_u64 digits;
	ht_s32 power;
	ht_u32 n_digits;	/* without leading zeros */
	ht_u32 seen;		/* with them */
};

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *take_digits(const char *at, struct decimal *d, ht_s32 power)
{
	for (; is_digit(*at) && d->n_digits <= MAX_DIGITS; at++) {
		d->digits = d->digits * 10 + (*at - '0');
		d->n_digits += d->digits != 0;
		d->power += power;
		d->seen = 1;
	}
	return at;
}

/* e or E, a sign, up to two digits. */
static const char *take_exponent(const char *at, struct decimal *d)
{
	ht_s32 sign = 1, exponent = 0;

	if (*at != 'e' && *at != 'E')
		return at;
	at++;
	if (*at == '-' || *at == '+')
		sign = *at++ == '-' ? -1 : 1;
	if (!is_digit(*at)) {
		d->seen = 0;
		return at;
	}
	for (; is_digit(*at) && exponent < 10; at++)
		exponent = exponent * 10 + (*at - '0');
	d->power += sign * exponent;
	return at;
}

int ht_rig_number(const char *text, double *value)
{
	const int negative = *text == '-';
	struct decimal d = { 0 };
	double size;

	if (*text == '-' || *text == '+')
		text++;
	text = take_digits(text, &d, 0);
	if (*text == '.')
		text = take_digits(text + 1, &d, -1);
	text = take_exponent(text, &d);
	if (*text || !d.seen || d.n_digits > MAX_DIGITS ||
	    d.power > MAX_POWER || d.power < -MAX_POWER)
		return 0;
	size = (double)(ht_s64)d.digits;
	size = d.power < 0 ? size / power_of_ten(-d.power) : size * power_of_ten(d.power);
	*value = negative ? -size : size;
	return 1;
}
