// SPDX-License-Identifier: GPL-2.0
/*
 * Quantiser: what a converter of so many bits makes of a signal.
 *
 *	q = (high - low) / 2^bits
 *	y = low + q round((u - low) / q), codes held within 0 ... 2^bits - 1
 *
 * Mid-tread: low is a level, and so is zero if low = -high; halves round up.
 * The highest level is high - q. Any number of channels.
 */
#include "block_types.h"

enum { BITS, LOW, HIGH, N_FIELDS };

static const struct ht_field fields[] = {
	{ "bits", "", 1, 32, 16, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER, HT_NULL, "resolution" },
	{ "low", "", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "lowest level" },
	{ "high", "", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "one step above the highest level" },
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	(void)dim;
	if (n_in != n_out)
		return HT_ERR_PORTS;
	l->count[BITS] = 1;
	l->count[LOW] = 1;
	l->count[HIGH] = 1;
	return HT_OK;
}

static int prepare(const struct ht_block *b, ht_u32 *item)
{
	if (!(b->field[HIGH][0] - b->field[LOW][0] > 1e-15)) {
		*item = HIGH;
		return HT_ERR_ORDER;
	}
	return HT_OK;
}

static void step(const struct ht_block *b)
{
	const double codes = (double)(1ll << (ht_u32)b->field[BITS][0]);
	const double low = b->field[LOW][0];
	const double q = (b->field[HIGH][0] - low) / codes;
	ht_u32 i;

	for (i = 0; i < b->n_out; i++) {
		double code = ht_floor((ht_in(b, i) - low) / q + 0.5);

		ht_out(b, i, low + q * ht_clamp(code, 0.0, codes - 1.0));
	}
}

const struct ht_block_type ht_type_quantiser = {
	.name = "quantiser",
	.summary = "resolution and range of a converter",
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_in = 1,
	.max_in = HT_MAX_PORTS,
	.min_out = 1,
	.max_out = HT_MAX_PORTS,
	.layout = layout,
	.prepare = prepare,
	.step = step,
};
