// SPDX-License-Identifier: GPL-2.0
/*
 * Stiff second-order actuator: Sieber & Krauskopf, eq. (11).
 *
 *	m_a ya'' + c_a ya' + omega_a^2 (ya - u) = F
 *
 * u is the demand [m] (its delay is a block of its own), F the force at the
 * pivot [N]. Inputs: u [, F]. Outputs: ya, ya', ya'' at this tick.
 *
 * Not a scheme but the solution itself, if u and F move on straight lines
 * between ticks: with w = omega_a / sqrt(m_a), v = ya' / w and the demand that
 * F amounts to, q = u + F / omega_a^2,
 *
 *	ya' = w v,	v' = -w ya - c_a / m_a v + w q,
 *
 * and the exponential of this linear system, extended by q and its change,
 * gives the coefficients of a tick. At tick 0 the actuator rests at "initial".
 */
#include "block_types.h"
#include "linalg.h"

enum { MASS, DAMPING, OMEGA, INITIAL, N_FIELDS };

static const struct ht_field fields[] = {
	{ "mass", "kg", 1e-6, 1e9, 0, 0, HT_NULL, "m_a" },
	{ "damping", "kg/s", 0, 1e12, 0, 0, HT_NULL, "c_a" },
	{ "omega", "(N/m)^0.5", 1e-3, 1e9, 0, 0, HT_NULL, "omega_a, root of the stiffness" },
	{ "initial", "m", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL | HT_FIELD_FIXED, HT_NULL,
	  "position at tick 0" },
};

struct derived {
	double y[4];		/* ya of the next tick from ya, v, q and its change */
	double v[4];
	double w;		/* 1/s */
	double decay;		/* c_a / m_a, 1/s */
	double exponent[16];
	double work[32];
};

struct state {
	double y;
	double v;
	double q;
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
	l->n_derived = sizeof(struct derived) / sizeof(double);
	return HT_OK;
}

static int prepare(const struct ht_block *b, ht_u32 *item)
{
	struct derived *d = (struct derived *)b->derived;
	const double dt = b->clock->dt;
	ht_u32 i;

	d->w = b->field[OMEGA][0] / ht_sqrt(b->field[MASS][0]);
	d->decay = b->field[DAMPING][0] / b->field[MASS][0];
	/* Beyond it the exponential would lose more than ten digits. */
	if (d->w * dt > 1e6 || d->decay * dt > 1e6) {
		*item = d->w * dt > 1e6 ? OMEGA : DAMPING;
		return HT_ERR_RANGE;
	}
	for (i = 0; i < 16; i++)
		d->exponent[i] = 0.0;
	d->exponent[1] = d->w * dt;
	d->exponent[4] = -d->w * dt;
	d->exponent[5] = -d->decay * dt;
	d->exponent[6] = d->w * dt;
	d->exponent[11] = 1.0;
	if (ht_matrix_exp(d->exponent, d->work, 4))
		return HT_ERR_RANGE;
	for (i = 0; i < 4; i++) {
		d->y[i] = d->exponent[i];
		d->v[i] = d->exponent[4 + i];
	}
	return HT_OK;
}

static void reset(const struct ht_block *b)
{
	struct state *s = (struct state *)b->state;

	s->y = b->field[INITIAL][0];
}

static void step(const struct ht_block *b)
{
	const struct derived *d = (const struct derived *)b->derived;
	struct state *s = (struct state *)b->state;
	const double omega = b->field[OMEGA][0];
	double q = ht_in(b, 0);
	double y, v, change;

	if (b->n_in > 1)
		q += ht_in(b, 1) / (omega * omega);
	if (s->started != 0.0) {
		change = q - s->q;
		y = d->y[0] * s->y + d->y[1] * s->v + d->y[2] * s->q + d->y[3] * change;
		v = d->v[0] * s->y + d->v[1] * s->v + d->v[2] * s->q + d->v[3] * change;
		s->y = y;
		s->v = v;
	}
	s->q = q;
	s->started = 1.0;

	ht_out(b, 0, s->y);
	if (b->n_out > 1)
		ht_out(b, 1, d->w * s->v);
	if (b->n_out > 2)
		ht_out(b, 2, d->w * (d->w * (q - s->y) - d->decay * s->v));
}

const struct ht_block_type ht_type_actuator = {
	.name = "actuator",
	.summary = "second-order actuator, Sieber & Krauskopf eq. (11)",
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_in = 1,
	.max_in = 2,
	.min_out = 1,
	.max_out = 3,
	.layout = layout,
	.prepare = prepare,
	.reset = reset,
	.step = step,
};
