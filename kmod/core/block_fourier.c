// SPDX-License-Identifier: GPL-2.0
/*
 * Fourier series with a phase accumulator.
 *
 *	y = a_0 + sum over n = 1 ... h of a_n cos(2 pi n p) + b_n sin(2 pi n p)
 *
 * p is the phase in turns, within 0 ... 1. It grows by w dt / (2 pi) per tick,
 * with w = omega / subharmonic, so that a change of omega leaves the signal
 * continuous. With an input the phase is taken from there (block "phase"), and
 * with a second one also w [rad/s], which then only serves the derivatives.
 * subharmonic = 2 gives the period 4 pi / Omega of the demands of Sieber &
 * Krauskopf, section 5.
 *
 * A new target of a_0, a_n or b_n is approached along a straight line: at the
 * tick where it appears the amplitude is still the old one, after "ramp"
 * seconds it is the new one. This holds at the start too, from zero. Each
 * amplitude has its own ramp. With ramp = 0 it jumps.
 *
 * Outputs: y, y', y''. The derivatives are those of the series with moving
 * amplitudes, A' of the ramp included (A'' = 0 between its corners), hence
 * they fit y while the amplitudes move.
 */
#include "block_types.h"

enum { OMEGA, MEAN, COS, SIN, RAMP, SUBHARMONIC, N_FIELDS };

static const struct ht_field fields[] = {
	{ "omega", "rad/s", 0, 1e6, 0, 0, HT_NULL, "angular frequency before division" },
	{ "mean", "", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL, "constant part" },
	{ "cos", "", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL,
	  "cosine amplitude of each harmonic" },
	{ "sin", "", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL,
	  "sine amplitude of each harmonic" },
	{ "ramp", "s", 0, 1e6, 0, HT_FIELD_OPTIONAL, HT_NULL,
	  "time that amplitudes take to a new target" },
	{ "subharmonic", "", 1, 1024, 1, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER, HT_NULL,
	  "the first harmonic is omega divided by this" },
};

static const struct ht_dim dims[] = {
	{ "harmonics", 1, 256, 1, HT_DIM_LENGTH, COS, 1, "number of harmonics" },
};

/* One amplitude on its way. */
struct amplitude {
	double now;
	double target;
	double step;	/* per tick */
	double left;	/* ticks */
};

struct state {
	double phase;
	struct amplitude mean;
	struct amplitude harmonic[];	/* a_1, b_1, a_2, b_2, ... */
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	(void)n_in;
	(void)n_out;
	l->count[OMEGA] = 1;
	l->count[MEAN] = 1;
	l->count[COS] = dim[0];
	l->count[SIN] = dim[0];
	l->count[RAMP] = 1;
	l->count[SUBHARMONIC] = 1;
	l->n_state = 1 + 4 * (1 + 2 * dim[0]);
	return HT_OK;
}

/* Takes notice of a new target. */
static void aim(struct amplitude *a, double target, double ramp_ticks)
{
	if (target == a->target)
		return;
	a->target = target;
	a->left = ramp_ticks;
	a->step = 0.0;
	if (ramp_ticks > 0.0)
		a->step = (target - a->now) / ramp_ticks;
	else
		a->now = target;
}

/* To the next tick. */
static void move(struct amplitude *a)
{
	if (!(a->left > 0.0))
		return;
	a->left -= 1.0;
	a->now += a->step;
	if (!(a->left > 0.0)) {
		a->now = a->target;
		a->step = 0.0;
	}
}

static void step(const struct ht_block *b)
{
	struct state *s = (struct state *)b->state;
	const double dt = b->clock->dt;
	const double ramp = ht_floor(b->field[RAMP][0] / dt + 0.5);
	double w = b->field[OMEGA][0] / b->field[SUBHARMONIC][0];
	double phase = b->n_in > 0 ? ht_in(b, 0) : s->phase;
	double y, y1, y2, sine, cosine;
	ht_u32 i;

	if (b->n_in > 1)
		w = ht_in(b, 1);
	else if (b->n_in == 0)
		s->phase = ht_fraction(phase + w * dt / HT_TWO_PI);

	aim(&s->mean, b->field[MEAN][0], ramp);
	y = s->mean.now;
	y1 = s->mean.step / dt;
	y2 = 0.0;
	move(&s->mean);

	for (i = 0; i < b->dims[0]; i++) {
		struct amplitude *ac = &s->harmonic[2 * i];
		struct amplitude *as = &s->harmonic[2 * i + 1];
		double nw = (double)(i + 1) * w;
		double value, turned;

		aim(ac, b->field[COS][i], ramp);
		aim(as, b->field[SIN][i], ramp);
		ht_sincos_turns((double)(i + 1) * phase, &sine, &cosine);
		value = ac->now * cosine + as->now * sine;
		turned = as->now * cosine - ac->now * sine;
		y += value;
		y1 += nw * turned + (ac->step * cosine + as->step * sine) / dt;
		y2 += 2.0 * nw * (as->step * cosine - ac->step * sine) / dt -
		      nw * nw * value;
		move(ac);
		move(as);
	}

	ht_out(b, 0, y);
	if (b->n_out > 1)
		ht_out(b, 1, y1);
	if (b->n_out > 2)
		ht_out(b, 2, y2);
}

const struct ht_block_type ht_type_fourier = {
	.name = "fourier",
	.summary = "Fourier series, phase-continuous, amplitudes by ramps",
	.dims = dims,
	.n_dims = HT_COUNT(dims),
	.fields = fields,
	.n_fields = N_FIELDS,
	.max_in = 2,
	.min_out = 1,
	.max_out = 3,
	.layout = layout,
	.step = step,
};
