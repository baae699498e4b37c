// SPDX-License-Identifier: GPL-2.0
/*
 * Linear system in discrete time.
 *
 *	y_k = C x_k + D u_k,	x_(k+1) = A x_k + B u_k,	x_0 given
 *
 * Matrices row by row. Sums run over the states first, then over the inputs.
 */
#include "block_types.h"

enum { A, B, C, D, X0, N_FIELDS };

static const struct ht_field fields[] = {
	{ "A", "", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "states x states" },
	{ "B", "", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "states x inputs" },
	{ "C", "", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "outputs x states" },
	{ "D", "", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL, "outputs x inputs" },
	{ "x0", "", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL | HT_FIELD_FIXED, HT_NULL,
	  "states at tick 0" },
};

static const struct ht_dim dims[] = {
	{ "states", 1, 512, 0, HT_DIM_SQUARE, A, 0, "number of states" },
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	const ht_u32 n = dim[0];

	l->count[A] = n * n;
	l->count[B] = n * n_in;
	l->count[C] = n_out * n;
	l->count[D] = n_out * n_in;
	l->count[X0] = n;
	l->n_state = 2 * n;
	return HT_OK;
}

static void reset(const struct ht_block *b)
{
	ht_u32 i;

	for (i = 0; i < b->dims[0]; i++)
		b->state[i] = b->field[X0][i];
}

/* Row i of P x + Q u. */
static double row(const struct ht_block *b, ht_u32 i, ht_u32 p, ht_u32 q)
{
	const ht_u32 n = b->dims[0];
	const double *px = b->field[p] + i * n;
	const double *qu = b->field[q] + i * b->n_in;
	double sum = 0.0;
	ht_u32 j;

	for (j = 0; j < n; j++)
		sum += px[j] * b->state[j];
	for (j = 0; j < b->n_in; j++)
		sum += qu[j] * ht_in(b, j);
	return sum;
}

static void step(const struct ht_block *b)
{
	const ht_u32 n = b->dims[0];
	double *next = b->state + n;
	ht_u32 i;

	for (i = 0; i < n; i++)
		next[i] = row(b, i, A, B);
	for (i = 0; i < b->n_out; i++)
		ht_out(b, i, row(b, i, C, D));
	for (i = 0; i < n; i++)
		b->state[i] = next[i];
}

const struct ht_block_type ht_type_state_space = {
	.name = "state_space",
	.summary = "linear system in discrete time",
	.dims = dims,
	.n_dims = HT_COUNT(dims),
	.fields = fields,
	.n_fields = N_FIELDS,
	.max_in = HT_MAX_PORTS,
	.min_out = 1,
	.max_out = HT_MAX_PORTS,
	.layout = layout,
	.reset = reset,
	.step = step,
};
