// SPDX-License-Identifier: GPL-2.0
/*
 * Linear structure, integrated in time (for one degree of freedom: Sieber &
 * Krauskopf, eq. (3)).
 *
 *	M x'' + C x' + K x = f
 *
 * Inputs: the n forces f. Outputs: n displacements, then n velocities if there
 * are 2 n, then n accelerations if there are 3 n. All of them belong to the
 * same instant t_k, and satisfy the equation at t_k with the forces of this
 * tick. At tick 0 they are x0, v0 and the acceleration that belongs to them.
 *
 * newmark: average acceleration (Newmark 1959, gamma = 1/2, beta = 1/4). The
 * force of this tick moves the displacement of this tick:
 *
 *	x_k = x_(k-1) + dt v_(k-1) + dt^2/4 (a_(k-1) + a_k)
 *	v_k = v_(k-1) + dt/2 (a_(k-1) + a_k)
 *	(M + dt/2 C + dt^2/4 K) a_k = f_k - C (v_k without a_k) - K (x_k ditto)
 *
 * Stable at any period; a natural frequency w appears lower by about
 * (w dt)^2 / 12.
 *
 * central_difference: x_k is known before the force of this tick is, which
 * decides where the structure is one tick later:
 *
 *	(M + dt/2 C) a_k = f_k - C w_k - K x_k,  w_k = (x_k - x_(k-1)) / dt
 *	v_k = w_k + dt/2 a_k,  x_(k+1) = x_k + dt (w_k + dt a_k)
 *
 * which is v_k = (x_(k+1) - x_(k-1)) / (2 dt), a_k = (x_(k+1) - 2 x_k +
 * x_(k-1)) / dt^2. Stable only if dt < 2 / w_max, else it is refused; a natural
 * frequency appears higher by about (w dt)^2 / 24. With ahead = yes the
 * displacement outputs are x_(k+1), the place to go to until the next tick:
 * that is the command in a test whose force of tick k was measured at x_k.
 */
#include "block_types.h"
#include "linalg.h"

enum { M, C, K, SCHEME, AHEAD, X0, V0, N_FIELDS };
enum { NEWMARK, CENTRAL_DIFFERENCE };

static const char *const scheme_words[] = { "newmark", "central_difference", HT_NULL };
static const char *const ahead_words[] = { "no", "yes", HT_NULL };

static const struct ht_field fields[] = {
	{ "M", "", -HT_ANY, HT_ANY, 0, 0, HT_NULL, "mass matrix, row by row" },
	{ "C", "", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL, "damping matrix" },
	{ "K", "", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL, HT_NULL, "stiffness matrix" },
	{ "scheme", "", 0, 1, NEWMARK, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER | HT_FIELD_FIXED,
	  scheme_words, "time integration" },
	{ "ahead", "", 0, 1, 0, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER | HT_FIELD_FIXED,
	  ahead_words, "central difference: displacements of the next tick" },
	{ "x0", "", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL | HT_FIELD_FIXED, HT_NULL,
	  "displacements at tick 0" },
	{ "v0", "", -HT_ANY, HT_ANY, 0, HT_FIELD_OPTIONAL | HT_FIELD_FIXED, HT_NULL,
	  "velocities at tick 0" },
};

static const struct ht_dim dims[] = {
	{ "dofs", 1, 128, 0, HT_DIM_INPUTS, 0, 0, "degrees of freedom" },
};

/* Vectors of the state. */
struct state {
	double *started;
	double *x;
	double *v;	/* central difference: w of the next tick */
	double *a;
	double *xp;	/* of one tick only: what is known before a_k */
	double *vp;
};

/* Factors of the derived values, and room for the check of stability. */
struct derived {
	double *lu;	/* of the matrix before a_k */
	double *pivot;
	double *lu0;	/* of M, for the acceleration at tick 0 */
	double *pivot0;
	double *work;
};

static struct state state_of(const struct ht_block *b)
{
	const ht_u32 n = b->dims[0];
	double *at = b->state;
	struct state s = {
		.started = at,
		.x = at + 1,
		.v = at + 1 + n,
		.a = at + 1 + 2 * n,
		.xp = at + 1 + 3 * n,
		.vp = at + 1 + 4 * n,
	};

	return s;
}

static struct derived derived_of(const struct ht_block *b)
{
	const ht_u32 n = b->dims[0];
	double *at = b->derived;
	struct derived d = {
		.lu = at,
		.pivot = at + n * n,
		.lu0 = at + n * n + n,
		.pivot0 = at + 2 * n * n + n,
		.work = at + 2 * n * n + 2 * n,
	};

	return d;
}

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	const ht_u32 n = dim[0];

	if (n_in != n || (n_out != n && n_out != 2 * n && n_out != 3 * n))
		return HT_ERR_PORTS;
	l->count[M] = n * n;
	l->count[C] = n * n;
	l->count[K] = n * n;
	l->count[SCHEME] = 1;
	l->count[AHEAD] = 1;
	l->count[X0] = n;
	l->count[V0] = n;
	l->n_state = 1 + 5 * n;
	l->n_derived = 4 * n * n + 2 * n;
	return HT_OK;
}

/* Whether dt < 2 / w_max: dt^2 times every eigenvalue of M^-1 K is below 4. */
static int stable(const struct ht_block *b, const struct derived *d)
{
	const ht_u32 n = b->dims[0];
	const double dt = b->clock->dt;
	double *flow = d->work;
	double *column = d->work + n * n;
	ht_u32 i, j;

	for (j = 0; j < n; j++) {
		for (i = 0; i < n; i++)
			column[i] = b->field[K][i * n + j];
		ht_lu_solve(d->lu0, d->pivot0, n, column);
		for (i = 0; i < n; i++)
			flow[i * n + j] = dt * dt * column[i];
	}
	return ht_spectrum_below(flow, column, n, 4.0);
}

static int prepare(const struct ht_block *b, ht_u32 *item)
{
	const struct derived d = derived_of(b);
	const int newmark = ht_choice(b, SCHEME) == NEWMARK;
	const double half = 0.5 * b->clock->dt;
	const ht_u32 n = b->dims[0];
	ht_u32 i;

	if (newmark && ht_choice(b, AHEAD)) {
		*item = AHEAD;
		return HT_ERR_RANGE;
	}
	for (i = 0; i < n * n; i++) {
		d.lu0[i] = b->field[M][i];
		d.lu[i] = b->field[M][i] + half * b->field[C][i];
		if (newmark)
			d.lu[i] += half * half * b->field[K][i];
	}
	*item = M;
	if (ht_lu_factor(d.lu0, d.pivot0, n) || ht_lu_factor(d.lu, d.pivot, n))
		return HT_ERR_SINGULAR;
	*item = K;
	if (!newmark && !stable(b, &d))
		return HT_ERR_UNSTABLE;
	return HT_OK;
}

static void reset(const struct ht_block *b)
{
	const struct state s = state_of(b);
	ht_u32 i;

	for (i = 0; i < b->dims[0]; i++) {
		s.x[i] = b->field[X0][i];
		s.v[i] = b->field[V0][i];
	}
}

/* a such that (M + ...) a = f - C v - K x, with the given factors. */
static void accelerate(const struct ht_block *b, const double *lu, const double *pivot,
		       const double *x, const double *v, double *a)
{
	const ht_u32 n = b->dims[0];
	ht_u32 i;

	for (i = 0; i < n; i++)
		a[i] = 0.0;
	ht_multiply_add(b->field[C], v, 0.0, a, n);
	ht_multiply_add(b->field[K], x, 1.0, a, n);
	for (i = 0; i < n; i++)
		a[i] = ht_in(b, i) - a[i];
	ht_lu_solve(lu, pivot, n, a);
}

static void output(const struct ht_block *b, const double *x, const double *v,
		   const double *a)
{
	const ht_u32 n = b->dims[0];
	ht_u32 i;

	for (i = 0; i < n; i++) {
		ht_out(b, i, x[i]);
		if (b->n_out > n)
			ht_out(b, n + i, v[i]);
		if (b->n_out > 2 * n)
			ht_out(b, 2 * n + i, a[i]);
	}
}

static void step_newmark(const struct ht_block *b)
{
	const struct derived d = derived_of(b);
	const struct state s = state_of(b);
	const double dt = b->clock->dt;
	const ht_u32 n = b->dims[0];
	ht_u32 i;

	if (*s.started == 0.0) {
		*s.started = 1.0;
		accelerate(b, d.lu0, d.pivot0, s.x, s.v, s.a);
		output(b, s.x, s.v, s.a);
		return;
	}
	for (i = 0; i < n; i++) {
		s.xp[i] = s.x[i] + dt * s.v[i] + 0.25 * dt * dt * s.a[i];
		s.vp[i] = s.v[i] + 0.5 * dt * s.a[i];
	}
	accelerate(b, d.lu, d.pivot, s.xp, s.vp, s.a);
	for (i = 0; i < n; i++) {
		s.x[i] = s.xp[i] + 0.25 * dt * dt * s.a[i];
		s.v[i] = s.vp[i] + 0.5 * dt * s.a[i];
	}
	output(b, s.x, s.v, s.a);
}

static void step_central(const struct ht_block *b)
{
	const struct derived d = derived_of(b);
	const struct state s = state_of(b);
	const double dt = b->clock->dt;
	const ht_u32 n = b->dims[0];
	ht_u32 i;

	/* The speed before tick 0 that makes v_0 the wanted one. */
	if (*s.started == 0.0) {
		*s.started = 1.0;
		accelerate(b, d.lu0, d.pivot0, s.x, s.v, s.a);
		for (i = 0; i < n; i++)
			s.v[i] -= 0.5 * dt * s.a[i];
	}
	accelerate(b, d.lu, d.pivot, s.x, s.v, s.a);
	for (i = 0; i < n; i++) {
		s.vp[i] = s.v[i] + 0.5 * dt * s.a[i];
		s.v[i] += dt * s.a[i];
		s.xp[i] = s.x[i] + dt * s.v[i];
	}
	output(b, ht_choice(b, AHEAD) ? s.xp : s.x, s.vp, s.a);
	for (i = 0; i < n; i++)
		s.x[i] = s.xp[i];
}

static void step(const struct ht_block *b)
{
	if (ht_choice(b, SCHEME) == NEWMARK)
		step_newmark(b);
	else
		step_central(b);
}

const struct ht_block_type ht_type_structure = {
	.name = "structure",
	.summary = "linear structure M x'' + C x' + K x = f",
	.dims = dims,
	.n_dims = HT_COUNT(dims),
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_in = 1,
	.max_in = 128,
	.min_out = 1,
	.max_out = 3 * 128,
	.layout = layout,
	.prepare = prepare,
	.reset = reset,
	.step = step,
};
