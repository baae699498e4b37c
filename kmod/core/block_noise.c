// SPDX-License-Identifier: GPL-2.0
/*
 * Reproducible white noise.
 *
 * Each value is a function of seed, stream, tick and channel alone (Philox
 * counter-based generator), so it does not depend on the order of calls or on
 * what ran before. Blocks that shall differ take different streams.
 *
 *	uniform		sigma sqrt(3) (2 r - 1), r within 0 ... 1
 *	gaussian	sigma sqrt(-2 ln r1) cos(2 pi r2) (Box and Muller, 1958)
 *
 * Both have mean zero and standard deviation sigma.
 */
#include "block_types.h"
#include "philox.h"

enum { SEED, STREAM, KIND, SIGMA, N_FIELDS };
enum { UNIFORM, GAUSSIAN };

static const char *const kind_words[] = { "uniform", "gaussian", HT_NULL };

static const struct ht_field fields[] = {
	{ "seed", "", 0, 4294967295.0, 0, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER | HT_FIELD_FIXED,
	  HT_NULL, "of the experiment" },
	{ "stream", "", 0, 4294967295.0, 0, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER | HT_FIELD_FIXED,
	  HT_NULL, "another one for each block" },
	{ "kind", "", 0, 1, GAUSSIAN, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER, kind_words,
	  "distribution" },
	{ "sigma", "", 0, HT_ANY, 1, 0, HT_NULL, "standard deviation" },
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
	const ht_u64 tick = b->clock->tick;
	const double sigma = b->field[SIGMA][0];
	ht_u32 key[2] = { (ht_u32)b->field[SEED][0], (ht_u32)b->field[STREAM][0] };
	ht_u32 counter[4] = { (ht_u32)tick, (ht_u32)(tick >> 32), 0, 0 };
	ht_u32 random[4];
	double r;
	ht_u32 i;

	for (i = 0; i < b->n_out; i++) {
		counter[2] = i;
		ht_philox(counter, key, random);
		if (ht_choice(b, KIND) == UNIFORM) {
			r = ht_random_unit(random[0], random[1]);
			ht_out(b, i, sigma * 1.7320508075688772 * (2.0 * r - 1.0));
		} else {
			ht_out(b, i, sigma * ht_random_normal(random));
		}
	}
}

const struct ht_block_type ht_type_noise = {
	.name = "noise",
	.summary = "reproducible white noise, uniform or gaussian",
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_out = 1,
	.max_out = HT_MAX_PORTS,
	.layout = layout,
	.step = step,
};
