// SPDX-License-Identifier: GPL-2.0
/*
 * Derivative behind a first-order low-pass.
 *
 *	y = u' / (1 + filter s):
 *	y_k = (filter y_(k-1) + u_k - u_(k-1)) / (filter + dt),	y_0 = 0
 *
 * filter = 0 is the plain backward difference. Any number of channels.
 */
#include "block_types.h"

enum { FILTER, N_FIELDS };

static const struct ht_field fields[] = {
	{ "filter", "s", 0, 1e6, 0, HT_FIELD_OPTIONAL, HT_NULL, "time constant of the low-pass" },
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	(void)dim;
	if (n_in != n_out)
		return HT_ERR_PORTS;
	l->count[FILTER] = 1;
	l->n_state = HT_DERIVATIVE_STATE * n_out;
	return HT_OK;
}

static void step(const struct ht_block *b)
{
	double *state = b->state;
	ht_u32 i;

	for (i = 0; i < b->n_out; i++, state += HT_DERIVATIVE_STATE)
		ht_out(b, i, ht_derivative_step(state, ht_in(b, i), b->field[FILTER][0],
						b->clock->dt));
}

const struct ht_block_type ht_type_derivative = {
	.name = "derivative",
	.summary = "derivative behind a first-order low-pass",
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_in = 1,
	.max_in = HT_MAX_PORTS,
	.min_out = 1,
	.max_out = HT_MAX_PORTS,
	.layout = layout,
	.step = step,
};
