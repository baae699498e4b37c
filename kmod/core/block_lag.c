// SPDX-License-Identifier: GPL-2.0
/*
 * First-order lag of each channel, the simplest transfer system:
 *
 *	time y' + y = u
 *
 * Not a scheme but the solution itself, if u moves on a straight line between
 * ticks: with q = exp(-dt / time) and r = time / dt (1 - q),
 *
 *	y_k = q y_(k-1) + (1 - r) u_k + (r - q) u_(k-1)
 *
 * At tick 0 y is u.
 */
#include "block_types.h"

enum { TIME, N_FIELDS };

static const struct ht_field fields[] = {
	{ "time", "s", 1e-9, 1e6, 0, 0, HT_NULL, "time constant" },
};

struct derived {
	double y;		/* factors of y_(k-1), u_k and u_(k-1) */
	double now;
	double before;
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	(void)dim;
	if (n_in != n_out)
		return HT_ERR_PORTS;
	l->count[TIME] = 1;
	l->n_state = 1 + 2 * n_out;	/* started, then y and u of each channel */
	l->n_derived = sizeof(struct derived) / sizeof(double);
	return HT_OK;
}

static int prepare(const struct ht_block *b, ht_u32 *item)
{
	struct derived *d = (struct derived *)b->derived;
	const double ticks = b->field[TIME][0] / b->clock->dt;
	const double x = 1.0 / ticks;
	double r;

	(void)item;
	d->y = ht_exp(-x);
	/* 1 - q loses digits where q is close to 1: its series does not. */
	if (x < 1e-2)
		r = 1.0 - x / 2 * (1.0 - x / 3 * (1.0 - x / 4 * (1.0 - x / 5 * (1.0 - x / 6))));
	else
		r = ticks * (1.0 - d->y);
	d->now = 1.0 - r;
	d->before = r - d->y;
	return HT_OK;
}

static void step(const struct ht_block *b)
{
	const struct derived *d = (const struct derived *)b->derived;
	double *channel = b->state + 1;
	ht_u32 i;

	for (i = 0; i < b->n_out; i++, channel += 2) {
		double u = ht_in(b, i);

		if (b->state[0] != 0.0)
			channel[0] = d->y * channel[0] + d->now * u + d->before * channel[1];
		else
			channel[0] = u;
		channel[1] = u;
		ht_out(b, i, channel[0]);
	}
	b->state[0] = 1.0;
}

const struct ht_block_type ht_type_lag = {
	.name = "lag",
	.summary = "first-order lag of each channel",
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_in = 1,
	.max_in = HT_MAX_PORTS,
	.min_out = 1,
	.max_out = HT_MAX_PORTS,
	.layout = layout,
	.prepare = prepare,
	.step = step,
};
