// SPDX-License-Identifier: GPL-2.0
/*
 * Step sine: dwells on one frequency after the other.
 *
 *	y = amplitude sin(2 pi p),	p_(k+1) = p_k + f dt
 *
 * Each frequency of the list lasts settle + cycles periods; the next one
 * begins at the first tick after that, without a jump of the phase. At the end
 * the last frequency goes on (hold), the output is zero, or the list begins
 * again (repeat).
 *
 * Outputs: y; the frequency f [Hz]; the phase in turns within 0 ... 1; and 1
 * while measuring, that is after the settle periods, else 0.
 */
#include "block_types.h"

enum { FREQUENCY, AMPLITUDE, CYCLES, SETTLE, END, N_FIELDS };
enum { END_HOLD, END_ZERO, END_REPEAT };

static const char *const end_words[] = { "hold", "zero", "repeat", HT_NULL };

static const struct ht_field fields[] = {
	{ "frequency", "Hz", 0, 1e5, 0, 0, HT_NULL, "the list, in the order of play" },
	{ "amplitude", "", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "of every sine" },
	{ "cycles", "", 1, 1e6, 10, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER, HT_NULL,
	  "periods to measure at each frequency" },
	{ "settle", "", 0, 1e6, 0, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER, HT_NULL,
	  "periods before them" },
	{ "end", "", 0, 2, END_HOLD, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER, end_words,
	  "what follows the last frequency" },
};

static const struct ht_dim dims[] = {
	{ "steps", 1, 65536, 0, HT_DIM_LENGTH, FREQUENCY, 1, "number of frequencies" },
};

struct state {
	double index;	/* of the frequency; behind the last one when it is over */
	double done;	/* turns since it began */
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	(void)n_in;
	(void)n_out;
	l->count[FREQUENCY] = dim[0];
	l->count[AMPLITUDE] = 1;
	l->count[CYCLES] = 1;
	l->count[SETTLE] = 1;
	l->count[END] = 1;
	l->n_state = 2;
	return HT_OK;
}

static void output(const struct ht_block *b, double y, double frequency,
		   double phase, double measuring)
{
	ht_out(b, 0, y);
	if (b->n_out > 1)
		ht_out(b, 1, frequency);
	if (b->n_out > 2)
		ht_out(b, 2, phase);
	if (b->n_out > 3)
		ht_out(b, 3, measuring);
}

static void step(const struct ht_block *b)
{
	struct state *s = (struct state *)b->state;
	const ht_u32 n = b->dims[0];
	const double settle = b->field[SETTLE][0];
	ht_u32 index = ht_index(s->index, n);
	int over = index == n;
	double frequency, sine, cosine;

	if (over && ht_choice(b, END) == END_REPEAT) {
		index = 0;
		over = 0;
		s->index = 0.0;
	}
	if (over && ht_choice(b, END) == END_ZERO) {
		output(b, 0.0, 0.0, 0.0, 0.0);
		return;
	}
	frequency = b->field[FREQUENCY][over ? n - 1 : index];
	ht_sincos_turns(s->done, &sine, &cosine);
	output(b, b->field[AMPLITUDE][0] * sine, frequency, ht_fraction(s->done),
	       !over && s->done >= settle ? 1.0 : 0.0);

	s->done += frequency * b->clock->dt;
	if (over) {
		s->done = ht_fraction(s->done);
	} else if (s->done >= settle + b->field[CYCLES][0]) {
		s->done = ht_fraction(s->done);
		s->index = (double)(index + 1);
	}
}

const struct ht_block_type ht_type_step_sine = {
	.name = "step_sine",
	.summary = "dwells on a list of frequencies, phase-continuous",
	.dims = dims,
	.n_dims = HT_COUNT(dims),
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_out = 1,
	.max_out = 4,
	.layout = layout,
	.step = step,
};
