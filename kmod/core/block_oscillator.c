// SPDX-License-Identifier: GPL-2.0
/*
 * Mass on a nonlinear spring, driven by a force: Duffing's oscillator.
 *
 *	m x'' + c x' + k x + k2 x^2 + k3 x^3 = F
 *
 * Input: F [N]. Outputs: x [m], x' [m/s], x'' [m/s^2].
 *
 * From tick to tick it is integrated by the classical fourth-order Runge-Kutta
 * scheme in "substeps" equal steps, with the force on the straight line between
 * the last tick and this one. At tick 0 the outputs are x0, v0.
 */
#include "block_types.h"

enum { M, C, K, K2, K3, X0, V0, SUBSTEPS, N_FIELDS };

static const struct ht_field fields[] = {
	{ "m", "kg", 1e-9, 1e9, 0, 0, HT_NULL, "mass" },
	{ "c", "kg/s", -1e12, 1e12, 0, HT_FIELD_OPTIONAL, HT_NULL, "damping" },
	{ "k", "N/m", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "stiffness" },
	{ "k2", "N/m^2", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL, "of the square" },
	{ "k3", "N/m^3", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL, "of the cube" },
	{ "x0", "m", -1e6, 1e6, 0, HT_FIELD_OPTIONAL | HT_FIELD_FIXED, HT_NULL,
	  "position at tick 0" },
	{ "v0", "m/s", -1e6, 1e6, 0, HT_FIELD_OPTIONAL | HT_FIELD_FIXED, HT_NULL,
	  "velocity at tick 0" },
	{ "substeps", "", 1, 16, 1, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER | HT_FIELD_FIXED,
	  HT_NULL, "integration steps per tick" },
};

struct state {
	double x;
	double v;
	double force;		/* of the last tick */
	double started;
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	ht_u32 i;

	(void)n_in;
	(void)n_out;
	(void)dim;
	for (i = 0; i < N_FIELDS; i++)
		l->count[i] = 1;
	l->n_state = sizeof(struct state) / sizeof(double);
	return HT_OK;
}

static void reset(const struct ht_block *b)
{
	struct state *s = (struct state *)b->state;

	s->x = b->field[X0][0];
	s->v = b->field[V0][0];
}

static double acceleration(const struct ht_block *b, double x, double v, double force)
{
	const double spring = x * (b->field[K][0] + x * (b->field[K2][0] + x * b->field[K3][0]));

	return (force - b->field[C][0] * v - spring) / b->field[M][0];
}

static void integrate(const struct ht_block *b, double force)
{
	struct state *s = (struct state *)b->state;
	const double n = b->field[SUBSTEPS][0];
	const double h = b->clock->dt / n;
	const double df = (force - s->force) / n;
	double v1, v2, v3, v4, a1, a2, a3, a4, f;
	ht_u32 i;

	for (i = 0; i < (ht_u32)n; i++) {
		f = s->force + df * (double)i;
		v1 = s->v;
		a1 = acceleration(b, s->x, v1, f);
		v2 = s->v + 0.5 * h * a1;
		a2 = acceleration(b, s->x + 0.5 * h * v1, v2, f + 0.5 * df);
		v3 = s->v + 0.5 * h * a2;
		a3 = acceleration(b, s->x + 0.5 * h * v2, v3, f + 0.5 * df);
		v4 = s->v + h * a3;
		a4 = acceleration(b, s->x + h * v3, v4, f + df);
		s->x += h / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4);
		s->v += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4);
	}
}

static void step(const struct ht_block *b)
{
	struct state *s = (struct state *)b->state;
	double force = ht_in(b, 0);

	if (s->started != 0.0)
		integrate(b, force);
	s->started = 1.0;
	s->force = force;
	ht_out(b, 0, s->x);
	if (b->n_out > 1)
		ht_out(b, 1, s->v);
	if (b->n_out > 2)
		ht_out(b, 2, acceleration(b, s->x, s->v, force));
}

const struct ht_block_type ht_type_oscillator = {
	.name = "oscillator",
	.summary = "mass on a nonlinear spring (Duffing)",
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_in = 1,
	.max_in = 1,
	.min_out = 1,
	.max_out = 3,
	.layout = layout,
	.reset = reset,
	.step = step,
};
