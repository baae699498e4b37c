// SPDX-License-Identifier: GPL-2.0
/*
 * Delay by any time, also between ticks.
 *
 *	y(t) = u(t - delay)
 *
 * The delay is the field "delay" plus, if connected, the second input [s]. It
 * is held within 0 and capacity ticks; a field beyond that is refused.
 * Between two stored values y comes from
 *
 *	nearest	the closer one
 *	linear	the line through both
 *	cubic	the third-order Lagrange polynomial through the two on each
 *		side (within the newest interval, where the future is missing:
 *		through the newest four)
 *
 * Whole ticks are exact in every order; zero passes the input through. Before
 * tick 0 the input counts as "initial".
 */
#include "block_types.h"

enum { DELAY, ORDER, INITIAL, N_FIELDS };
enum { BY_NEAREST, BY_LINE, BY_CUBIC };

static const char *const order_words[] = { "nearest", "linear", "cubic", HT_NULL };

static const struct ht_field fields[] = {
	{ "delay", "s", 0, 1e6, 0, HT_FIELD_OPTIONAL, HT_NULL, "at most capacity ticks" },
	{ "order", "", 0, 2, BY_LINE, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER, order_words,
	  "interpolation between ticks" },
	{ "initial", "", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL | HT_FIELD_FIXED, HT_NULL,
	  "input before tick 0" },
};

static const struct ht_dim dims[] = {
	{ "capacity", 1, 1u << 22, 0, HT_DIM_STATED, 0, 0, "longest delay in ticks" },
};

/* The polynomial may begin at the longest delay and reaches 3 ticks on. */
#define EXTRA	4

struct state {
	double newest;		/* where in the ring the last input is */
	double ring[];
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	(void)n_in;
	(void)n_out;
	l->count[DELAY] = 1;
	l->count[ORDER] = 1;
	l->count[INITIAL] = 1;
	l->n_state = 1 + dim[0] + EXTRA;
	return HT_OK;
}

static int prepare(const struct ht_block *b, ht_u32 *item)
{
	double ticks = ht_snap(b->field[DELAY][0] / b->clock->dt);

	if (ticks > (double)b->dims[0]) {
		*item = DELAY;
		return HT_ERR_RANGE;
	}
	return HT_OK;
}

static void reset(const struct ht_block *b)
{
	struct state *s = (struct state *)b->state;
	ht_u32 i;

	for (i = 0; i < b->dims[0] + EXTRA; i++)
		s->ring[i] = b->field[INITIAL][0];
}

/* Input so many ticks ago, at most capacity + 3. */
static double ago(const struct ht_block *b, ht_u32 newest, ht_u32 ticks)
{
	const struct state *s = (const struct state *)b->state;
	ht_u32 n = b->dims[0] + EXTRA;

	return s->ring[newest >= ticks ? newest - ticks : newest + n - ticks];
}

static double cubic(const struct ht_block *b, ht_u32 newest, ht_u32 whole, double part)
{
	ht_u32 first = whole ? whole - 1 : 0;
	double x = part + (double)(whole - first);
	double x1 = x - 1.0, x2 = x - 2.0, x3 = x - 3.0;
	double sum;

	sum = -(x1 * x2 * x3) / 6.0 * ago(b, newest, first);
	sum += x * x2 * x3 / 2.0 * ago(b, newest, first + 1);
	sum -= x * x1 * x3 / 2.0 * ago(b, newest, first + 2);
	sum += x * x1 * x2 / 6.0 * ago(b, newest, first + 3);
	return sum;
}

static void step(const struct ht_block *b)
{
	struct state *s = (struct state *)b->state;
	const ht_u32 last = b->dims[0] + EXTRA - 1;
	ht_u32 newest = ht_index(s->newest, last);
	double delay = b->field[DELAY][0];
	double ticks, part, y;
	ht_u32 whole;

	newest = newest == last ? 0 : newest + 1;
	s->newest = (double)newest;
	s->ring[newest] = ht_in(b, 0);

	if (b->n_in > 1)
		delay += ht_in(b, 1);
	ticks = ht_clamp(ht_snap(delay / b->clock->dt), 0.0, (double)b->dims[0]);
	whole = ht_index(ticks, b->dims[0]);
	part = ticks - (double)whole;

	if (part == 0.0)
		y = ago(b, newest, whole);
	else if (ht_choice(b, ORDER) == BY_NEAREST)
		y = ago(b, newest, part < 0.5 ? whole : whole + 1);
	else if (ht_choice(b, ORDER) == BY_LINE)
		y = (1.0 - part) * ago(b, newest, whole) +
		    part * ago(b, newest, whole + 1);
	else
		y = cubic(b, newest, whole, part);
	ht_out(b, 0, y);
}

const struct ht_block_type ht_type_delay = {
	.name = "delay",
	.summary = "delay by any time, with interpolation between ticks",
	.dims = dims,
	.n_dims = HT_COUNT(dims),
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_in = 1,
	.max_in = 2,
	.min_out = 1,
	.max_out = 1,
	.layout = layout,
	.prepare = prepare,
	.reset = reset,
	.step = step,
};
