// SPDX-License-Identifier: GPL-2.0
/*
 * Nonlinear spring, moved by somebody: the force that it exerts on him.
 *
 *	F = -(k x + k2 x^2 + k3 x^3 + c x' + m x'')
 *
 * Inputs: x [m], and optionally x' [m/s] and x'' [m/s^2]. Output: F [N].
 */
#include "block_types.h"

enum { K, K2, K3, C, M, N_FIELDS };

static const struct ht_field fields[] = {
	{ "k", "N/m", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "stiffness" },
	{ "k2", "N/m^2", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL, "of the square" },
	{ "k3", "N/m^3", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL, "of the cube" },
	{ "c", "kg/s", 0, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL, "damping" },
	{ "m", "kg", 0, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL, "mass that moves along" },
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	ht_u32 i;

	(void)n_in;
	(void)n_out;
	(void)dim;
	for (i = 0; i < N_FIELDS; i++)
		l->count[i] = 1;
	return HT_OK;
}

static void step(const struct ht_block *b)
{
	const double x = ht_in(b, 0);
	double force = x * (b->field[K][0] + x * (b->field[K2][0] + x * b->field[K3][0]));

	if (b->n_in > 1)
		force += b->field[C][0] * ht_in(b, 1);
	if (b->n_in > 2)
		force += b->field[M][0] * ht_in(b, 2);
	ht_out(b, 0, -force);
}

const struct ht_block_type ht_type_spring = {
	.name = "spring",
	.summary = "force of a nonlinear spring that is moved",
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_in = 1,
	.max_in = 3,
	.min_out = 1,
	.max_out = 1,
	.layout = layout,
	.step = step,
};
