// SPDX-License-Identifier: GPL-2.0
/*
 * Cascade of second-order filters: low-pass, notch, peak, coupling system.
 *
 *	H(z) = product over sections of
 *	       (b0 + b1 z^-1 + b2 z^-2) / (1 + a1 z^-1 + a2 z^-2)
 *
 * in transposed direct form II (Oppenheim & Schafer, Discrete-Time Signal
 * Processing, section 6.3):
 *
 *	y = b0 u + s1,	s1 = b1 u - a1 y + s2,	s2 = b2 u - a2 y
 *
 * A section with a pole outside the unit circle is refused; on the circle (an
 * integrator) it is not: |a2| <= 1 and |a1| <= 1 + a2.
 */
#include "block_types.h"

enum { B0, B1, B2, A1, A2, N_FIELDS };

static const struct ht_field fields[] = {
	{ "b0", "", -HT_ANY, HT_ANY, 1, 0, HT_NULL, "numerator, one per section" },
	{ "b1", "", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "numerator, 1 tick back" },
	{ "b2", "", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "numerator, 2 ticks back" },
	{ "a1", "", -2, 2, 0, 0, HT_NULL, "denominator, 1 tick back" },
	{ "a2", "", -1, 1, 0, 0, HT_NULL, "denominator, 2 ticks back" },
};

static const struct ht_dim dims[] = {
	{ "sections", 1, 64, 0, HT_DIM_LENGTH, B0, 1, "number of second-order sections" },
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	ht_u32 i;

	(void)n_in;
	(void)n_out;
	for (i = 0; i < N_FIELDS; i++)
		l->count[i] = dim[0];
	l->n_state = 2 * dim[0];
	return HT_OK;
}

static int prepare(const struct ht_block *b, ht_u32 *item)
{
	ht_u32 i;

	for (i = 0; i < b->dims[0]; i++) {
		if (ht_fabs(b->field[A1][i]) > 1.0 + b->field[A2][i]) {
			*item = A1;
			return HT_ERR_UNSTABLE;
		}
	}
	return HT_OK;
}

static void step(const struct ht_block *b)
{
	double *s = b->state;
	double u = ht_in(b, 0);
	double y;
	ht_u32 i;

	for (i = 0; i < b->dims[0]; i++, s += 2) {
		y = b->field[B0][i] * u + s[0];
		s[0] = b->field[B1][i] * u - b->field[A1][i] * y + s[1];
		s[1] = b->field[B2][i] * u - b->field[A2][i] * y;
		u = y;
	}
	ht_out(b, 0, u);
}

const struct ht_block_type ht_type_biquad = {
	.name = "biquad",
	.summary = "cascade of second-order filters",
	.dims = dims,
	.n_dims = HT_COUNT(dims),
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_in = 1,
	.max_in = 1,
	.min_out = 1,
	.max_out = 1,
	.layout = layout,
	.prepare = prepare,
	.step = step,
};
