// SPDX-License-Identifier: GPL-2.0
/*
 * Sine sweep from f0 to f1.
 *
 *	y = amplitude sin(2 pi p),	p' = f,
 *	linear:  f = f0 + (f1 - f0) t / T
 *	log:     f = f0 (f1 / f0)^(t / T)
 *
 * The duration T counts in whole ticks. The phase grows by the exact integral
 * of f over each tick and is continuous whatever changes. After T the
 * frequency f1 goes on (hold), the output is zero, or the sweep begins again at
 * f0 (repeat), without a jump of the phase.
 *
 * Outputs: y and the frequency f [Hz].
 */
#include "block_types.h"

enum { F0, F1, DURATION, AMPLITUDE, SWEEP, END, N_FIELDS };
enum { SWEEP_LINEAR, SWEEP_LOG };
enum { END_HOLD, END_ZERO, END_REPEAT };

static const char *const sweep_words[] = { "linear", "log", HT_NULL };
static const char *const end_words[] = { "hold", "zero", "repeat", HT_NULL };

static const struct ht_field fields[] = {
	{ "f0", "Hz", 0, 1e5, 0, 0, HT_NULL, "frequency at the start" },
	{ "f1", "Hz", 0, 1e5, 0, 0, HT_NULL, "frequency at the end" },
	{ "duration", "s", 1e-5, 1e6, 1, 0, HT_NULL, "of a sweep, at least a tick" },
	{ "amplitude", "", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "of the sine" },
	{ "sweep", "", 0, 1, SWEEP_LINEAR, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER,
	  sweep_words, "how the frequency moves" },
	{ "end", "", 0, 2, END_HOLD, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER, end_words,
	  "what follows the sweep" },
};

struct derived {
	double ticks;	/* T / dt */
	double growth;	/* log: ln(f1 / f0) */
	double mean;	/* log: mean of f over a tick / f at its beginning */
};

struct state {
	double tick;
	double phase;
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	ht_u32 i;

	(void)n_in;
	(void)n_out;
	(void)dim;
	for (i = 0; i < N_FIELDS; i++)
		l->count[i] = 1;
	l->n_state = 2;
	l->n_derived = 3;
	return HT_OK;
}

static int prepare(const struct ht_block *b, ht_u32 *item)
{
	struct derived *d = (struct derived *)b->derived;
	double a;

	d->ticks = ht_floor(b->field[DURATION][0] / b->clock->dt + 0.5);
	d->growth = 0.0;
	d->mean = 1.0;
	if (d->ticks < 1.0) {
		*item = DURATION;
		return HT_ERR_RANGE;
	}
	if (ht_choice(b, SWEEP) != SWEEP_LOG)
		return HT_OK;
	if (b->field[F0][0] < 1e-6 || b->field[F1][0] < 1e-6) {
		*item = b->field[F0][0] < 1e-6 ? F0 : F1;
		return HT_ERR_RANGE;
	}
	d->growth = ht_log(b->field[F1][0] / b->field[F0][0]);
	/* (e^a - 1) / a, by its series where that would cancel */
	a = d->growth / d->ticks;
	if (ht_fabs(a) < 1e-4)
		d->mean = 1.0 + a / 2.0 + a * a / 6.0;
	else
		d->mean = (ht_exp(a) - 1.0) / a;
	return HT_OK;
}

static void step(const struct ht_block *b)
{
	const struct derived *d = (const struct derived *)b->derived;
	struct state *s = (struct state *)b->state;
	const double f0 = b->field[F0][0];
	const double f1 = b->field[F1][0];
	double f, turns, sine, cosine;

	if (s->tick >= d->ticks && ht_choice(b, END) == END_REPEAT)
		s->tick = 0.0;
	if (s->tick >= d->ticks) {
		if (ht_choice(b, END) == END_ZERO) {
			ht_out(b, 0, 0.0);
			if (b->n_out > 1)
				ht_out(b, 1, 0.0);
			return;
		}
		f = f1;
		turns = f1;
	} else if (ht_choice(b, SWEEP) == SWEEP_LOG) {
		f = f0 * ht_exp(d->growth * (s->tick / d->ticks));
		turns = f * d->mean;
	} else {
		f = f0 + (f1 - f0) * (s->tick / d->ticks);
		turns = f0 + (f1 - f0) * ((s->tick + 0.5) / d->ticks);
	}

	ht_sincos_turns(s->phase, &sine, &cosine);
	ht_out(b, 0, b->field[AMPLITUDE][0] * sine);
	if (b->n_out > 1)
		ht_out(b, 1, f);
	s->phase = ht_fraction(s->phase + turns * b->clock->dt);
	s->tick += 1.0;
}

const struct ht_block_type ht_type_chirp = {
	.name = "chirp",
	.summary = "sine sweep, linear or logarithmic",
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_out = 1,
	.max_out = 2,
	.layout = layout,
	.prepare = prepare,
	.step = step,
};
