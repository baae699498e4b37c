// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of position and speed, and soft start.
 *
 *	v_k = u_k times the soft start, which grows linearly from 0 at tick 0
 *	      to 1 after soft_start seconds
 *	w_k = v_k within min ... max
 *	y_k = w_k, but at most slew dt away from y_(k-1)
 *
 * With a slew rate y starts from 0, or from the limit closest to it. A value
 * that is not finite passes through (so that it trips) and is not remembered.
 */
#include "block_types.h"

enum { MIN, MAX, SLEW, SOFT_START, N_FIELDS };

static const struct ht_field fields[] = {
	{ "min", "", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "least value of each channel" },
	{ "max", "", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "largest value of each channel" },
	{ "slew", "1/s", 0, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL,
	  "largest rate of each channel; 0: no limit" },
	{ "soft_start", "s", 0, 1e6, 0, HT_FIELD_OPTIONAL | HT_FIELD_FIXED, HT_NULL,
	  "time of fading in" },
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	(void)dim;
	if (n_in != n_out)
		return HT_ERR_PORTS;
	l->count[MIN] = n_out;
	l->count[MAX] = n_out;
	l->count[SLEW] = n_out;
	l->count[SOFT_START] = 1;
	l->n_state = n_out;
	return HT_OK;
}

static int prepare(const struct ht_block *b, ht_u32 *item)
{
	ht_u32 i;

	for (i = 0; i < b->n_out; i++) {
		if (b->field[MIN][i] > b->field[MAX][i]) {
			*item = MIN;
			return HT_ERR_ORDER;
		}
	}
	return HT_OK;
}

static void reset(const struct ht_block *b)
{
	ht_u32 i;

	for (i = 0; i < b->n_out; i++)
		b->state[i] = ht_clamp(0.0, b->field[MIN][i], b->field[MAX][i]);
}

static void step(const struct ht_block *b)
{
	const double soft = b->field[SOFT_START][0];
	const double now = ht_time(b);
	double factor = now < soft ? now / soft : 1.0;
	ht_u32 i;

	for (i = 0; i < b->n_out; i++) {
		double slew = b->field[SLEW][i] * b->clock->dt;
		double y = ht_clamp(factor * ht_in(b, i), b->field[MIN][i],
				    b->field[MAX][i]);

		if (slew > 0.0)
			y = ht_clamp(y, b->state[i] - slew, b->state[i] + slew);
		if (ht_finite(&y))
			b->state[i] = y;
		ht_out(b, i, y);
	}
}

const struct ht_block_type ht_type_limit = {
	.name = "limit",
	.summary = "limits of position and speed, soft start",
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_in = 1,
	.max_in = HT_MAX_PORTS,
	.min_out = 1,
	.max_out = HT_MAX_PORTS,
	.layout = layout,
	.prepare = prepare,
	.reset = reset,
	.step = step,
};
