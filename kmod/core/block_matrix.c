// SPDX-License-Identifier: GPL-2.0
/*
 * Affine map: calibration, actuator kinematics, interface transforms, sums.
 *
 *	y = A u + b
 *
 * A has a row for each output and a column for each input, row by row. Without
 * inputs the block is a constant b. Sums run over the inputs in their order and
 * start from b.
 */
#include "block_types.h"

enum { A, B, N_FIELDS };

static const struct ht_field fields[] = {
	{ "A", "", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "matrix, row by row" },
	{ "b", "", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL, "offset of each output" },
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	(void)dim;
	l->count[A] = n_out * n_in;
	l->count[B] = n_out;
	return HT_OK;
}

static void step(const struct ht_block *b)
{
	const double *a = b->field[A];
	ht_u32 i, j;

	for (i = 0; i < b->n_out; i++) {
		double sum = b->field[B][i];

		for (j = 0; j < b->n_in; j++)
			sum += *a++ * ht_in(b, j);
		ht_out(b, i, sum);
	}
}

const struct ht_block_type ht_type_matrix = {
	.name = "matrix",
	.summary = "affine map y = A u + b",
	.fields = fields,
	.n_fields = N_FIELDS,
	.max_in = HT_MAX_PORTS,
	.min_out = 1,
	.max_out = HT_MAX_PORTS,
	.layout = layout,
	.step = step,
};
