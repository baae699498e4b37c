// SPDX-License-Identifier: GPL-2.0
/*
 * Phase accumulator, to be shared by several sources and analysers.
 *
 *	p_(k+1) = p_k + w dt / (2 pi)  modulo 1,	w = omega / subharmonic
 *
 * Outputs: the phase p in turns within 0 ... 1, 0 at tick 0, and w [rad/s].
 */
#include "block_types.h"

enum { OMEGA, SUBHARMONIC, N_FIELDS };

static const struct ht_field fields[] = {
	{ "omega", "rad/s", 0, 1e6, 0, 0, HT_NULL, "angular frequency before division" },
	{ "subharmonic", "", 1, 1024, 1, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER, HT_NULL,
	  "a turn takes so many periods of omega" },
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	(void)n_in;
	(void)n_out;
	(void)dim;
	l->count[OMEGA] = 1;
	l->count[SUBHARMONIC] = 1;
	l->n_state = 1;
	return HT_OK;
}

static void step(const struct ht_block *b)
{
	double w = b->field[OMEGA][0] / b->field[SUBHARMONIC][0];

	ht_out(b, 0, b->state[0]);
	if (b->n_out > 1)
		ht_out(b, 1, w);
	b->state[0] = ht_fraction(b->state[0] + w * b->clock->dt / HT_TWO_PI);
}

const struct ht_block_type ht_type_phase = {
	.name = "phase",
	.summary = "phase accumulator in turns, shared by sources",
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_out = 1,
	.max_out = 2,
	.layout = layout,
	.step = step,
};
