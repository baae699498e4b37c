// SPDX-License-Identifier: GPL-2.0
/*
 * Delay by one tick, any number of channels.
 *
 *	y_k = u_(k-1),	y_0 = initial
 *
 * The inputs are read after all blocks have stepped, so this block may close a
 * loop of signals.
 */
#include "block_types.h"

enum { INITIAL, N_FIELDS };

static const struct ht_field fields[] = {
	{ "initial", "", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL | HT_FIELD_FIXED, HT_NULL,
	  "outputs at tick 0" },
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	(void)dim;
	if (n_in != n_out)
		return HT_ERR_PORTS;
	l->count[INITIAL] = n_out;
	l->n_state = n_out;
	return HT_OK;
}

static void reset(const struct ht_block *b)
{
	ht_u32 i;

	for (i = 0; i < b->n_out; i++)
		b->state[i] = b->field[INITIAL][i];
}

static void step(const struct ht_block *b)
{
	ht_u32 i;

	for (i = 0; i < b->n_out; i++)
		ht_out(b, i, b->state[i]);
}

static void update(const struct ht_block *b)
{
	ht_u32 i;

	for (i = 0; i < b->n_in; i++)
		b->state[i] = ht_in(b, i);
}

const struct ht_block_type ht_type_unit_delay = {
	.name = "unit_delay",
	.summary = "delay by one tick; breaks loops of signals",
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_in = 1,
	.max_in = HT_MAX_PORTS,
	.min_out = 1,
	.max_out = HT_MAX_PORTS,
	.layout = layout,
	.reset = reset,
	.step = step,
	.update = update,
};
