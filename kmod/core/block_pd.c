// SPDX-License-Identifier: GPL-2.0
/*
 * Proportional-plus-derivative control in the sign of Sieber & Krauskopf,
 * eq. (16):
 *
 *	PD[theta - theta~] = kp (theta - theta~) + kd (theta' - theta~')
 *
 * with theta measured and theta~ demanded: it is positive when the specimen is
 * ahead of the demand, and enters the pendulum with a minus, eq. (22).
 *
 * Inputs: demand, measured [, demand rate, measured rate]. Without the rates
 * the derivative of the difference is taken by backward difference behind a
 * first-order low-pass with the time constant "filter" (0: none).
 */
#include "block_types.h"

enum { KP, KD, FILTER, N_FIELDS };

static const struct ht_field fields[] = {
	{ "kp", "", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "k1 of eq. (16)" },
	{ "kd", "", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL, "k2 of eq. (16)" },
	{ "filter", "s", 0, 1e6, 0, HT_FIELD_OPTIONAL, HT_NULL,
	  "time constant of the derivative if no rates are given" },
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	(void)n_out;
	(void)dim;
	if (n_in == 3)
		return HT_ERR_PORTS;
	l->count[KP] = 1;
	l->count[KD] = 1;
	l->count[FILTER] = 1;
	l->n_state = HT_DERIVATIVE_STATE;
	return HT_OK;
}

static void step(const struct ht_block *b)
{
	double ahead = ht_in(b, 1) - ht_in(b, 0);
	double rate;

	if (b->n_in == 4)
		rate = ht_in(b, 3) - ht_in(b, 2);
	else
		rate = ht_derivative_step(b->state, ahead, b->field[FILTER][0],
					  b->clock->dt);
	ht_out(b, 0, b->field[KP][0] * ahead + b->field[KD][0] * rate);
}

const struct ht_block_type ht_type_pd = {
	.name = "pd",
	.summary = "PD[measured - demand] of Sieber & Krauskopf, eq. (16)",
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_in = 2,
	.max_in = 4,
	.min_out = 1,
	.max_out = 1,
	.layout = layout,
	.step = step,
};
