// SPDX-License-Identifier: GPL-2.0
/*
 * PID control with limits.
 *
 *	e = demand - measured
 *	u = kp e + ki (integral of e) + kd e' / (1 + filter s),  min <= u <= max
 *
 * The integral is trapezoidal and kept as ki e, so that a change of ki does
 * not jump. It stands still while u is at a limit and e would drive it further
 * beyond (anti-windup by conditional integration). The derivative is a
 * backward difference behind a first-order low-pass.
 *
 * Inputs: demand, measured. Output: u.
 */
#include "block_types.h"

enum { KP, KI, KD, FILTER, MIN, MAX, N_FIELDS };

static const struct ht_field fields[] = {
	{ "kp", "", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "proportional gain" },
	{ "ki", "", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL, "integral gain, per s" },
	{ "kd", "", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL, "derivative gain, in s" },
	{ "filter", "s", 0, 1e6, 0, HT_FIELD_OPTIONAL, HT_NULL,
	  "time constant of the derivative" },
	{ "min", "", -HT_ANY, HT_ANY, -HT_ANY, HT_FIELD_OPTIONAL, HT_NULL, "least output" },
	{ "max", "", -HT_ANY, HT_ANY, HT_ANY, HT_FIELD_OPTIONAL, HT_NULL, "largest output" },
};

struct state {
	double integral;
	double last;		/* e of the last tick */
	double started;
	double derivative[HT_DERIVATIVE_STATE];
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	ht_u32 i;

	(void)n_in;
	(void)n_out;
	(void)dim;
	for (i = 0; i < N_FIELDS; i++)
		l->count[i] = 1;
	l->n_state = 3 + HT_DERIVATIVE_STATE;
	return HT_OK;
}

static int prepare(const struct ht_block *b, ht_u32 *item)
{
	if (b->field[MIN][0] > b->field[MAX][0]) {
		*item = MIN;
		return HT_ERR_ORDER;
	}
	return HT_OK;
}

static void step(const struct ht_block *b)
{
	struct state *s = (struct state *)b->state;
	const double dt = b->clock->dt;
	double e = ht_in(b, 0) - ht_in(b, 1);
	double rate = ht_derivative_step(s->derivative, e, b->field[FILTER][0], dt);
	double direct = b->field[KP][0] * e + b->field[KD][0] * rate;
	double more = 0.0, u, limited;

	if (s->started != 0.0)
		more = b->field[KI][0] * dt * 0.5 * (e + s->last);
	s->started = 1.0;
	s->last = e;

	u = direct + s->integral + more;
	limited = ht_clamp(u, b->field[MIN][0], b->field[MAX][0]);
	if ((u > limited && more > 0.0) || (u < limited && more < 0.0)) {
		u = direct + s->integral;
		limited = ht_clamp(u, b->field[MIN][0], b->field[MAX][0]);
	} else {
		s->integral += more;
	}
	ht_out(b, 0, limited);
}

const struct ht_block_type ht_type_pid = {
	.name = "pid",
	.summary = "PID control with limits and anti-windup",
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_in = 2,
	.max_in = 2,
	.min_out = 1,
	.max_out = 1,
	.layout = layout,
	.prepare = prepare,
	.step = step,
};
