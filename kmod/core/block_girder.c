// SPDX-License-Identifier: GPL-2.0
/*
 * Girder clamped at one end, moved at the other in its plane: the specimen of
 * Andersen's thesis, section 5.2, whose interface has three degrees of freedom,
 * u = (ux, uy, theta). The forces that it exerts on whoever moves it:
 *
 *	f = -(K u + beta K u' + M u'')
 *
 * K is that of a Timoshenko beam, reduced to its free end (the girder has holes
 * in its webs, and shear dominates), with phi = 12 EI / (GA L^2):
 *
 *	        EA / L	  0			  0
 *	K =	  0	12 EI / ((1+phi) L^3)	-6 EI / ((1+phi) L^2)
 *		  0	-6 EI / ((1+phi) L^2)	(4+phi) EI / ((1+phi) L)
 *
 * M is the consistent mass of a slender beam at its end, mass per length mu:
 *
 *		140	  0	  0
 *	mu L/420  0	156	-22 L
 *		  0	-22 L	4 L^2
 *
 * Inputs: ux, uy [m], theta [rad], and optionally their first and second
 * derivatives, three each. Outputs: fx, fy [N], moment [N m].
 */
#include "block_types.h"

enum { LENGTH, EA, EI, GA, MU, BETA, N_FIELDS };
enum { DOFS = 3 };

static const struct ht_field fields[] = {
	{ "length", "m", 1e-6, 1e6, 0, 0, HT_NULL, "from the clamp to the interface" },
	{ "EA", "N", 0, HT_ANY, 0, 0, HT_NULL, "axial stiffness" },
	{ "EI", "N m^2", 0, HT_ANY, 0, 0, HT_NULL, "bending stiffness" },
	{ "GA", "N", 1e-6, HT_ANY, HT_ANY, HT_FIELD_OPTIONAL, HT_NULL,
	  "shear stiffness; preset: rigid in shear" },
	{ "mu", "kg/m", 0, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL, "mass per length" },
	{ "beta", "s", 0, 1e6, 0, HT_FIELD_OPTIONAL, HT_NULL, "damping, part of the stiffness" },
};

struct derived {
	double K[DOFS][DOFS];
	double M[DOFS][DOFS];
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	ht_u32 i;

	(void)n_out;
	(void)dim;
	if (n_in % DOFS)
		return HT_ERR_PORTS;
	for (i = 0; i < N_FIELDS; i++)
		l->count[i] = 1;
	l->n_derived = sizeof(struct derived) / sizeof(double);
	return HT_OK;
}

static int prepare(const struct ht_block *b, ht_u32 *item)
{
	struct derived *d = (struct derived *)b->derived;
	const double length = b->field[LENGTH][0];
	const double stiffness = b->field[EI][0];
	const double phi = 12.0 * stiffness / (b->field[GA][0] * length * length);
	const double bending = stiffness / ((1.0 + phi) * length);
	const double mass = b->field[MU][0] * length / 420.0;
	ht_u32 i, j;

	(void)item;
	for (i = 0; i < DOFS; i++) {
		for (j = 0; j < DOFS; j++) {
			d->K[i][j] = 0.0;
			d->M[i][j] = 0.0;
		}
	}
	d->K[0][0] = b->field[EA][0] / length;
	d->K[1][1] = 12.0 * bending / (length * length);
	d->K[1][2] = -6.0 * bending / length;
	d->K[2][1] = d->K[1][2];
	d->K[2][2] = (4.0 + phi) * bending;
	d->M[0][0] = 140.0 * mass;
	d->M[1][1] = 156.0 * mass;
	d->M[1][2] = -22.0 * length * mass;
	d->M[2][1] = d->M[1][2];
	d->M[2][2] = 4.0 * length * length * mass;
	return HT_OK;
}

static void step(const struct ht_block *b)
{
	const struct derived *d = (const struct derived *)b->derived;
	const double beta = b->field[BETA][0];
	ht_u32 i, j;

	for (i = 0; i < DOFS; i++) {
		double force = 0.0;

		for (j = 0; j < DOFS; j++) {
			double u = ht_in(b, j);

			if (b->n_in > DOFS)
				u += beta * ht_in(b, DOFS + j);
			force += d->K[i][j] * u;
			if (b->n_in > 2 * DOFS)
				force += d->M[i][j] * ht_in(b, 2 * DOFS + j);
		}
		ht_out(b, i, -force);
	}
}

const struct ht_block_type ht_type_girder = {
	.name = "girder",
	.summary = "forces of a clamped girder, moved in three degrees of freedom",
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_in = DOFS,
	.max_in = 3 * DOFS,
	.min_out = DOFS,
	.max_out = DOFS,
	.layout = layout,
	.prepare = prepare,
	.step = step,
};
