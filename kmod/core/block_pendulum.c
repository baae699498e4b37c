// SPDX-License-Identifier: GPL-2.0
/*
 * Pendulum on a pivot that moves vertically: Sieber & Krauskopf, eq. (2), with
 * the control of eq. (22) and the pivot force of eq. (23).
 *
 *	theta'' = -kappa / (m l^2) theta' - (g + ya'') / l sin theta - u + T / (m l^2)
 *	F = -m ya'' - m l (theta'' sin theta + theta'^2 cos theta)
 *
 * Inputs: the acceleration of the pivot ya'' [m/s^2], and optionally u
 * [rad/s^2], the PD term of eq. (22), which acts on theta'' as it is (not
 * divided by m l^2), and the torque T of a motor on the pivot [N m]. Outputs:
 * theta [rad], theta' [rad/s], theta'' [rad/s^2], F [N].
 *
 * From tick to tick it is integrated by the classical fourth-order Runge-Kutta
 * scheme in "substeps" equal steps, with inputs on the straight line between
 * the last tick and this one. At tick 0 the outputs are theta0, omega0.
 */
#include "block_types.h"

enum { M, L, KAPPA, G, THETA0, OMEGA0, SUBSTEPS, N_FIELDS };

static const struct ht_field fields[] = {
	{ "m", "kg", 1e-9, 1e9, 0, 0, HT_NULL, "mass" },
	{ "l", "m", 1e-6, 1e6, 0, 0, HT_NULL, "effective length" },
	{ "kappa", "kg m^2/s", 0, 1e9, 0, HT_FIELD_OPTIONAL, HT_NULL,
	  "viscous friction of the pivot" },
	{ "g", "m/s^2", -1e3, 1e3, 9.81, HT_FIELD_OPTIONAL, HT_NULL, "gravity" },
	{ "theta0", "rad", -1e6, 1e6, 0, HT_FIELD_OPTIONAL | HT_FIELD_FIXED, HT_NULL,
	  "angle at tick 0, 0 is hanging down" },
	{ "omega0", "rad/s", -1e6, 1e6, 0, HT_FIELD_OPTIONAL | HT_FIELD_FIXED, HT_NULL,
	  "angular velocity at tick 0" },
	{ "substeps", "", 1, 16, 1, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER | HT_FIELD_FIXED,
	  HT_NULL, "integration steps per tick" },
};

struct state {
	double theta;
	double omega;
	double pivot;		/* inputs of the last tick */
	double control;
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
	l->n_state = 5;
	return HT_OK;
}

static void reset(const struct ht_block *b)
{
	struct state *s = (struct state *)b->state;

	s->theta = b->field[THETA0][0];
	s->omega = b->field[OMEGA0][0];
}

/* theta'' of eq. (22) */
static double acceleration(const struct ht_block *b, double sine, double omega,
			   double pivot, double control)
{
	const double m = b->field[M][0];
	const double l = b->field[L][0];

	return -(b->field[KAPPA][0] / (m * l * l)) * omega -
	       (b->field[G][0] + pivot) / l * sine - control;
}

/* Inputs at the fraction "at" of the way from the last tick to this one. */
static double slope(const struct ht_block *b, double theta, double omega,
		    double pivot, double control, double at)
{
	const struct state *s = (const struct state *)b->state;

	return acceleration(b, ht_sin(theta), omega,
			    s->pivot + at * (pivot - s->pivot),
			    s->control + at * (control - s->control));
}

static void integrate(const struct ht_block *b, double pivot, double control)
{
	struct state *s = (struct state *)b->state;
	const ht_u32 n = (ht_u32)b->field[SUBSTEPS][0];
	const double h = b->clock->dt / (double)n;
	double v1, v2, v3, v4, a1, a2, a3, a4, from, mid, to;
	ht_u32 i;

	for (i = 0; i < n; i++) {
		from = (double)i / (double)n;
		mid = ((double)i + 0.5) / (double)n;
		to = (double)(i + 1) / (double)n;
		v1 = s->omega;
		a1 = slope(b, s->theta, v1, pivot, control, from);
		v2 = s->omega + 0.5 * h * a1;
		a2 = slope(b, s->theta + 0.5 * h * v1, v2, pivot, control, mid);
		v3 = s->omega + 0.5 * h * a2;
		a3 = slope(b, s->theta + 0.5 * h * v2, v3, pivot, control, mid);
		v4 = s->omega + h * a3;
		a4 = slope(b, s->theta + h * v3, v4, pivot, control, to);
		s->theta += h / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4);
		s->omega += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4);
	}
}

static void step(const struct ht_block *b)
{
	struct state *s = (struct state *)b->state;
	const double m = b->field[M][0];
	const double l = b->field[L][0];
	double pivot = ht_in(b, 0);
	double control = b->n_in > 1 ? ht_in(b, 1) : 0.0;
	double sine, cosine, acc;

	if (b->n_in > 2)
		control -= ht_in(b, 2) / (m * l * l);
	if (s->started != 0.0)
		integrate(b, pivot, control);
	s->started = 1.0;
	s->pivot = pivot;
	s->control = control;

	ht_sincos(s->theta, &sine, &cosine);
	acc = acceleration(b, sine, s->omega, pivot, control);
	ht_out(b, 0, s->theta);
	if (b->n_out > 1)
		ht_out(b, 1, s->omega);
	if (b->n_out > 2)
		ht_out(b, 2, acc);
	if (b->n_out > 3)
		ht_out(b, 3, -m * pivot - m * l * (acc * sine + s->omega * s->omega * cosine));
}

const struct ht_block_type ht_type_pendulum = {
	.name = "pendulum",
	.summary = "pendulum with moving pivot, Sieber & Krauskopf eq. (22)-(23)",
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_in = 1,
	.max_in = 3,
	.min_out = 1,
	.max_out = 4,
	.layout = layout,
	.reset = reset,
	.step = step,
};
