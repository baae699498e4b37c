// SPDX-License-Identifier: GPL-2.0
/*
 * Integral by the trapezoidal rule, held within limits.
 *
 *	y_k = y_(k-1) + dt (u_(k-1) + u_k) / 2,	y_0 = initial,
 *	min <= y_k <= max
 *
 * At a limit the integral stays there until u turns. Any number of channels.
 */
#include "block_types.h"

enum { INITIAL, MIN, MAX, N_FIELDS };

static const struct ht_field fields[] = {
	{ "initial", "", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL | HT_FIELD_FIXED, HT_NULL,
	  "output at tick 0, within the limits" },
	{ "min", "", -HT_ANY, HT_ANY, -HT_ANY, HT_FIELD_OPTIONAL, HT_NULL,
	  "least output of each channel" },
	{ "max", "", -HT_ANY, HT_ANY, HT_ANY, HT_FIELD_OPTIONAL, HT_NULL,
	  "largest output of each channel" },
};

/* One channel. */
struct state {
	double y;
	double last;	/* u of the last tick */
	double started;
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	(void)dim;
	if (n_in != n_out)
		return HT_ERR_PORTS;
	l->count[INITIAL] = n_out;
	l->count[MIN] = n_out;
	l->count[MAX] = n_out;
	l->n_state = 3 * n_out;
	return HT_OK;
}

static int prepare(const struct ht_block *b, ht_u32 *item)
{
	ht_u32 i;

	for (i = 0; i < b->n_out; i++) {
		if (b->field[MIN][i] > b->field[MAX][i]) {
			*item = MIN;
			return HT_ERR_ORDER;
		}
	}
	return HT_OK;
}

static void reset(const struct ht_block *b)
{
	struct state *s = (struct state *)b->state;
	ht_u32 i;

	for (i = 0; i < b->n_out; i++)
		s[i].y = b->field[INITIAL][i];
}

static void step(const struct ht_block *b)
{
	struct state *s = (struct state *)b->state;
	ht_u32 i;

	for (i = 0; i < b->n_out; i++, s++) {
		double u = ht_in(b, i);

		if (s->started != 0.0)
			s->y += 0.5 * b->clock->dt * (s->last + u);
		s->y = ht_clamp(s->y, b->field[MIN][i], b->field[MAX][i]);
		s->last = u;
		s->started = 1.0;
		ht_out(b, i, s->y);
	}
}

const struct ht_block_type ht_type_integrator = {
	.name = "integrator",
	.summary = "integral by the trapezoidal rule, within limits",
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_in = 1,
	.max_in = HT_MAX_PORTS,
	.min_out = 1,
	.max_out = HT_MAX_PORTS,
	.layout = layout,
	.prepare = prepare,
	.reset = reset,
	.step = step,
};
