// SPDX-License-Identifier: GPL-2.0
/*
 * Block types of the core, one by one, without the executor.
 *
 * The oracles are closed forms (of the scheme where there is one, so that the
 * comparison is exact) or computations of another kind in long double. The
 * last test lets every type run on values that nobody would choose.
 */
#include <complex.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#undef I

#include "kselftest_harness.h"

#include "../../kmod/core/block.h"
#include "../../kmod/core/linalg.h"
#include "../../kmod/core/philox.h"

/* One block with signals of its own: inputs first, then outputs. */
struct rig {
	struct ht_clock clock;
	struct ht_block b;
	struct ht_layout layout;
	double *field[HT_MAX_FIELDS];
	double *signal;
	ht_u32 *wire;
	ht_u32 item;
};

static const struct ht_block_type *type_named(const char *name)
{
	ht_u32 i;

	for (i = 0; i < ht_n_block_types; i++)
		if (!strcmp(ht_block_types[i]->name, name))
			return ht_block_types[i];
	abort();
}

/* Exactly as large as asked for, so that the sanitizer sees a step beyond. */
static double *doubles(ht_u32 n)
{
	double *p = calloc(n ? n : 1, sizeof(*p));

	if (!p)
		abort();
	return p;
}

static int rig_build(struct rig *r, const struct ht_block_type *type, double dt,
		     ht_u32 n_in, ht_u32 n_out, const ht_u32 *dims)
{
	ht_u32 i, j;
	int code;

	memset(r, 0, sizeof(*r));
	r->clock.dt = dt;
	r->b.type = type;
	r->b.clock = &r->clock;
	r->b.n_in = n_in;
	r->b.n_out = n_out;
	memcpy(r->b.dims, dims, sizeof(r->b.dims));
	code = type->layout(n_in, n_out, dims, &r->layout);
	if (code)
		return code;
	r->signal = doubles(n_in + n_out);
	r->wire = calloc(n_in + n_out + 1, sizeof(*r->wire));
	for (i = 0; i < n_in + n_out; i++)
		r->wire[i] = i;
	r->b.signal = r->signal;
	r->b.in = r->wire;
	r->b.out = r->wire + n_in;
	for (i = 0; i < type->n_fields; i++) {
		r->field[i] = doubles(r->layout.count[i]);
		for (j = 0; j < r->layout.count[i]; j++)
			r->field[i][j] = type->fields[i].preset;
		r->b.field[i] = r->field[i];
	}
	r->b.state = doubles(r->layout.n_state);
	r->b.derived = doubles(r->layout.n_derived);
	return HT_OK;
}

/* With up to one dimension, which is what most types have. */
static void rig_make(struct rig *r, const char *name, double dt, ht_u32 n_in,
		     ht_u32 n_out, ht_u32 dim)
{
	ht_u32 dims[HT_MAX_DIMS] = { dim };

	if (rig_build(r, type_named(name), dt, n_in, n_out, dims))
		abort();
}

static void rig_free(struct rig *r)
{
	ht_u32 i;

	for (i = 0; i < HT_MAX_FIELDS; i++)
		free(r->field[i]);
	free(r->signal);
	free(r->wire);
	free(r->b.state);
	free(r->b.derived);
}

/* Sets all elements of a field; as many numbers as it has must follow. */
static void set(struct rig *r, const char *name, ...)
{
	ht_u32 i, j;
	va_list list;

	for (i = 0; i < r->b.type->n_fields; i++) {
		if (strcmp(r->b.type->fields[i].name, name))
			continue;
		va_start(list, name);
		for (j = 0; j < r->layout.count[i]; j++)
			r->field[i][j] = va_arg(list, double);
		va_end(list);
		return;
	}
	abort();
}

static void set_word(struct rig *r, const char *name, const char *word)
{
	ht_u32 i, j;

	for (i = 0; i < r->b.type->n_fields; i++) {
		if (strcmp(r->b.type->fields[i].name, name))
			continue;
		for (j = 0; r->b.type->fields[i].words[j]; j++) {
			if (!strcmp(r->b.type->fields[i].words[j], word)) {
				r->field[i][0] = j;
				return;
			}
		}
	}
	abort();
}

static int prepare(struct rig *r)
{
	return r->b.type->prepare ? r->b.type->prepare(&r->b, &r->item) : HT_OK;
}

static int start(struct rig *r)
{
	int code = prepare(r);

	if (code)
		return code;
	memset(r->b.state, 0, r->layout.n_state * sizeof(double));
	r->clock.tick = 0;
	if (r->b.type->reset)
		r->b.type->reset(&r->b);
	return HT_OK;
}

static void tick(struct rig *r)
{
	r->b.type->step(&r->b);
	if (r->b.type->update)
		r->b.type->update(&r->b);
	r->clock.tick++;
}

static double out(const struct rig *r, ht_u32 port)
{
	return r->signal[r->b.n_in + port];
}

static double tick1(struct rig *r, double u)
{
	r->signal[0] = u;
	tick(r);
	return out(r, 0);
}

static double worse(double a, double b)
{
	return isnan(b) || b > a ? (isnan(b) ? HUGE_VAL : b) : a;
}

#define EXPECT_SMALL(value, bound) do {					\
	double v_ = (value), b_ = (bound);				\
	EXPECT_TRUE(fabs(v_) <= b_) {					\
		TH_LOG("%s is %g, should be within %g", #value, v_, b_);\
	}								\
} while (0)

#define EXPECT_NEAR(got, want, bound) do {				\
	double g_ = (got), w_ = (want), b_ = (bound);			\
	EXPECT_TRUE(fabs(g_ - w_) <= b_) {				\
		TH_LOG("%s is %.17g, should be %.17g", #got, g_, w_);	\
	}								\
} while (0)

#define EXPECT_SAME(got, want) EXPECT_NEAR(got, want, 0)

static uint64_t random_state;

static uint64_t random_bits(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double random_unit(void)
{
	return (double)(random_bits() >> 11) * 0x1p-53;
}

/* ------------------------------------------------------------ sources */

TEST(fourier_is_the_series)
{
	const double dt = 1e-3, w = 13.0 / 2;
	double worst = 0;
	struct rig r;
	int k;

	rig_make(&r, "fourier", dt, 0, 3, 2);
	set(&r, "omega", 13.0);
	set(&r, "subharmonic", 2.0);
	set(&r, "mean", 0.25);
	set(&r, "cos", 1.5, -0.5);
	set(&r, "sin", 0.75, 2.0);
	ASSERT_EQ(HT_OK, start(&r));
	for (k = 0; k < 20000; k++) {
		double t = k * dt;
		double y = 0.25 + 1.5 * cos(w * t) + 0.75 * sin(w * t) -
			   0.5 * cos(2 * w * t) + 2 * sin(2 * w * t);
		double y1 = w * (0.75 * cos(w * t) - 1.5 * sin(w * t)) +
			    2 * w * (2 * cos(2 * w * t) + 0.5 * sin(2 * w * t));
		double y2 = -w * w * (1.5 * cos(w * t) + 0.75 * sin(w * t)) -
			    4 * w * w * (2 * sin(2 * w * t) - 0.5 * cos(2 * w * t));

		tick(&r);
		worst = worse(worst, fabs(out(&r, 0) - y));
		worst = worse(worst, fabs(out(&r, 1) - y1) / (2 * w));
		worst = worse(worst, fabs(out(&r, 2) - y2) / (4 * w * w));
	}
	/* The phase has gathered 20000 roundings. */
	EXPECT_SMALL(worst, 2e-11);
	rig_free(&r);
}

TEST(fourier_stays_continuous)
{
	long double phase = 0;
	const double dt = 1e-3;
	double last = 0, worst = 0, jump = 0, w = 50;
	struct rig r;
	int k;

	rig_make(&r, "fourier", dt, 0, 1, 1);
	set(&r, "sin", 1.0);
	set(&r, "omega", w);
	ASSERT_EQ(HT_OK, start(&r));
	for (k = 0; k < 3000; k++) {
		if (k % 700 == 699) {
			w = 50 + 0.31 * k;
			set(&r, "omega", w);
		}
		tick(&r);
		worst = worse(worst, (double)fabsl(out(&r, 0) - sinl(phase)));
		if (k)
			jump = worse(jump, fabs(out(&r, 0) - last));
		last = out(&r, 0);
		phase += w * dt;
	}
	EXPECT_SMALL(worst, 1e-12);
	EXPECT_SMALL(jump, w * dt);
	rig_free(&r);
}

TEST(fourier_ramps_amplitudes)
{
	const double dt = 1e-3, w = 10;
	double at[3], worst = 0;
	struct rig r;
	int k;

	rig_make(&r, "fourier", dt, 0, 3, 2);
	set(&r, "omega", w);
	set(&r, "ramp", 0.5);
	set(&r, "mean", 3.0);
	set(&r, "cos", 2.0, 0.0);
	ASSERT_EQ(HT_OK, start(&r));
	for (k = 0; k < 2000; k++) {
		double t = k * dt, grow = t < 0.5 ? t / 0.5 : 1, a2 = 0, d2 = 0;
		double rate = t < 0.5 - dt / 2 ? 2 : 0;

		/* Only the second harmonic moves here; the first stays. */
		if (k == 1000)
			set(&r, "sin", 0.0, 4.0);
		if (t >= 1) {
			a2 = t < 1.5 ? 4 * (t - 1) / 0.5 : 4;
			d2 = t < 1.5 - dt / 2 ? 8 : 0;
		}
		tick(&r);
		at[0] = grow * (3 + 2 * cos(w * t)) + a2 * sin(2 * w * t);
		at[1] = rate * (3 + 2 * cos(w * t)) - grow * 2 * w * sin(w * t) +
			d2 * sin(2 * w * t) + a2 * 2 * w * cos(2 * w * t);
		at[2] = -2 * rate * 2 * w * sin(w * t) - grow * 2 * w * w * cos(w * t) +
			2 * d2 * 2 * w * cos(2 * w * t) - a2 * 4 * w * w * sin(2 * w * t);
		worst = worse(worst, fabs(out(&r, 0) - at[0]));
		worst = worse(worst, fabs(out(&r, 1) - at[1]) / w);
		worst = worse(worst, fabs(out(&r, 2) - at[2]) / w / w);
	}
	EXPECT_SMALL(worst, 1e-11);
	rig_free(&r);
}

TEST(fourier_shares_a_phase)
{
	struct rig p, own, shared;
	double differ = 0;
	int k;

	rig_make(&p, "phase", 2e-4, 0, 2, 0);
	rig_make(&own, "fourier", 2e-4, 0, 3, 1);
	rig_make(&shared, "fourier", 2e-4, 2, 3, 1);
	set(&p, "omega", 40.0);
	set(&p, "subharmonic", 3.0);
	set(&own, "omega", 40.0);
	set(&own, "subharmonic", 3.0);
	set(&own, "cos", 1.0);
	set(&shared, "cos", 1.0);
	start(&p);
	start(&own);
	start(&shared);
	for (k = 0; k < 5000; k++) {
		if (k == 2500) {
			set(&p, "omega", 70.0);
			set(&own, "omega", 70.0);
		}
		tick(&p);
		tick(&own);
		shared.signal[0] = out(&p, 0);
		shared.signal[1] = out(&p, 1);
		tick(&shared);
		differ = worse(differ, fabs(out(&own, 0) - out(&shared, 0)));
		differ = worse(differ, fabs(out(&own, 1) - out(&shared, 1)));
		differ = worse(differ, fabs(out(&own, 2) - out(&shared, 2)));
		EXPECT_TRUE(out(&p, 0) >= 0 && out(&p, 0) < 1);
	}
	EXPECT_SAME(differ, 0);
	EXPECT_NEAR(out(&p, 1), 70.0 / 3, 1e-13);
	rig_free(&p);
	rig_free(&own);
	rig_free(&shared);
}

TEST(step_sine_dwells)
{
	const double dt = 1e-3, f[] = { 10, 20, 40 };
	double phase = 0, worst = 0;
	int ticks[4] = { 0 }, measured[4] = { 0 }, k, i;
	struct rig r;

	rig_make(&r, "step_sine", dt, 0, 4, 3);
	set(&r, "frequency", f[0], f[1], f[2]);
	set(&r, "amplitude", 2.0);
	set(&r, "cycles", 5.0);
	set(&r, "settle", 3.0);
	set_word(&r, "end", "zero");
	ASSERT_EQ(HT_OK, start(&r));
	for (k = 0; k < 1600; k++) {
		tick(&r);
		for (i = 0; i < 3 && out(&r, 1) != f[i]; i++)
			;
		ticks[i]++;
		measured[i] += out(&r, 3) == 1;
		if (i == 3) {
			EXPECT_SAME(out(&r, 0), 0);
			continue;
		}
		worst = worse(worst, fabs(out(&r, 0) - 2 * sin(2 * M_PI * phase)));
		worst = worse(worst, fabs(remainder(out(&r, 2) - phase, 1)));
		phase += f[i] * dt;
	}
	EXPECT_SMALL(worst, 1e-11);
	/* 8 periods each; a tick more or less by rounding */
	for (i = 0; i < 3; i++) {
		EXPECT_SMALL(ticks[i] - 8 / f[i] / dt, 1);
		EXPECT_SMALL(measured[i] - 5 / f[i] / dt, 1);
	}
	EXPECT_EQ(1600, ticks[0] + ticks[1] + ticks[2] + ticks[3]);

	set_word(&r, "end", "repeat");
	start(&r);
	for (k = 0; k < 1450; k++)
		tick(&r);
	EXPECT_SAME(out(&r, 1), 10);
	set_word(&r, "end", "hold");
	start(&r);
	for (k = 0; k < 3000; k++)
		tick(&r);
	EXPECT_SAME(out(&r, 1), 40);
	EXPECT_SAME(out(&r, 3), 0);
	rig_free(&r);
}

static double chirp_error(const char *sweep, double f0, double f1)
{
	const double dt = 5e-4, length = 4;
	double worst = 0;
	struct rig r;
	int k;

	rig_make(&r, "chirp", dt, 0, 2, 0);
	set(&r, "f0", f0);
	set(&r, "f1", f1);
	set(&r, "duration", length);
	set(&r, "amplitude", 3.0);
	set_word(&r, "sweep", sweep);
	start(&r);
	for (k = 0; k < 10000; k++) {
		double t = k * dt, u = fmin(t, length), turns, f;

		if (!strcmp(sweep, "linear")) {
			turns = f0 * u + (f1 - f0) * u * u / (2 * length);
			f = f0 + (f1 - f0) * u / length;
		} else {
			turns = f0 * length / log(f1 / f0) * expm1(log(f1 / f0) * u / length);
			f = f0 * pow(f1 / f0, u / length);
		}
		if (f0 == f1)
			turns = f0 * u;
		turns += f1 * (t - u);
		tick(&r);
		worst = worse(worst, fabs(out(&r, 0) - 3 * sin(2 * M_PI * turns)));
		worst = worse(worst, fabs(out(&r, 1) - f) / (f0 + f1));
	}
	rig_free(&r);
	return worst;
}

TEST(chirp_has_the_phase)
{
	struct rig r;
	int k;

	EXPECT_SMALL(chirp_error("linear", 1, 100), 1e-9);
	EXPECT_SMALL(chirp_error("linear", 100, 0), 1e-9);
	EXPECT_SMALL(chirp_error("log", 1, 100), 1e-9);
	EXPECT_SMALL(chirp_error("log", 80, 0.5), 1e-9);
	EXPECT_SMALL(chirp_error("log", 7, 7), 1e-9);
	EXPECT_SMALL(chirp_error("log", 7, 7.01), 1e-8);

	rig_make(&r, "chirp", 1e-3, 0, 2, 0);
	set(&r, "f1", 50.0);
	set(&r, "amplitude", 1.0);
	set_word(&r, "sweep", "log");
	EXPECT_EQ(HT_ERR_RANGE, start(&r));
	EXPECT_EQ(0u, r.item);
	set_word(&r, "sweep", "linear");
	set_word(&r, "end", "repeat");
	ASSERT_EQ(HT_OK, start(&r));
	for (k = 0; k < 1000 + 501; k++)
		tick(&r);
	EXPECT_NEAR(out(&r, 1), 25, 1e-12);
	set_word(&r, "end", "zero");
	start(&r);
	for (k = 0; k < 1001; k++)
		tick(&r);
	EXPECT_SAME(out(&r, 0), 0);
	set(&r, "duration", 1e-5);
	EXPECT_EQ(HT_ERR_RANGE, start(&r));
	EXPECT_EQ(2u, r.item);
	rig_free(&r);
}

/* Value of channel c at the time of tick k, record 0, 1, 4, 9, 16 and its negative. */
static double table_at(struct rig *r, ht_u64 k, ht_u32 c)
{
	r->clock.tick = k;
	r->b.type->step(&r->b);
	return out(r, c);
}

static void table_make(struct rig *r, double dt)
{
	rig_make(r, "table", dt, 0, 2, 10);
	set(r, "samples", 0.0, 0.0, 1.0, -1.0, 4.0, -4.0, 9.0, -9.0, 16.0, -16.0);
	set(r, "interval", 0.01);
	set(r, "start", 0.1);
	set(r, "gain", 2.0);
	set_word(r, "end", "zero");
	start(r);
}

TEST(table_interpolates)
{
	static const char *const words[] = { "hold", "linear", "cubic" };
	struct rig r;
	int i, k;

	table_make(&r, 1e-3);
	for (i = 0; i < 3; i++) {
		set_word(&r, "interpolation", words[i]);
		for (k = 0; k < 5; k++) {
			EXPECT_SAME(table_at(&r, 100 + 10 * k, 0), 2 * k * k);
			EXPECT_SAME(table_at(&r, 100 + 10 * k, 1), -2 * k * k);
		}
		EXPECT_SAME(table_at(&r, 99, 0), 0);
		EXPECT_SAME(table_at(&r, 151, 0), 0);
		EXPECT_SAME(table_at(&r, 1ull << 62, 0), 0);
	}
	set_word(&r, "interpolation", "hold");
	EXPECT_SAME(table_at(&r, 119, 0), 2);
	EXPECT_SAME(table_at(&r, 149, 0), 32);
	EXPECT_SAME(table_at(&r, 150, 0), 0);
	set_word(&r, "interpolation", "linear");
	EXPECT_NEAR(table_at(&r, 123, 0), 2 * (4 + 0.3 * 5), 1e-9);
	/* Catmull-Rom is exact on a parabola, between inner samples. */
	set_word(&r, "interpolation", "cubic");
	EXPECT_NEAR(table_at(&r, 117, 0), 2 * 1.7 * 1.7, 1e-9);
	EXPECT_NEAR(table_at(&r, 124, 1), -2 * 2.4 * 2.4, 1e-9);
	rig_free(&r);
}

TEST(table_ends)
{
	struct rig r;

	table_make(&r, 1e-3);
	set_word(&r, "interpolation", "linear");
	set_word(&r, "end", "hold");
	EXPECT_SAME(table_at(&r, 0, 0), 0);
	EXPECT_SAME(table_at(&r, 5000, 0), 32);
	set_word(&r, "end", "repeat");
	EXPECT_SAME(table_at(&r, 100 + 50 * 7 + 20, 0), 8);
	EXPECT_NEAR(table_at(&r, 100 + 50 * 7 + 45, 0), 16, 1e-9);
	EXPECT_TRUE(isfinite(table_at(&r, 1ull << 62, 0)));
	rig_free(&r);
}

/* 0.3 / 0.1 is less than 3 in double: ticks must meet their rows all the same. */
TEST(table_meets_its_rows)
{
	struct rig r;
	int k;

	rig_make(&r, "table", 1e-4, 0, 1, 1000);
	for (k = 0; k < 1000; k++)
		r.field[0][k] = k;
	set(&r, "interval", 3e-4);
	set_word(&r, "interpolation", "hold");
	start(&r);
	for (k = 0; k < 3000; k++)
		EXPECT_SAME(table_at(&r, k, 0), k / 3);
	rig_free(&r);
}

/* ---------------------------------------------------- algebra, filters */

TEST(matrix_is_affine)
{
	struct rig r;

	rig_make(&r, "matrix", 1e-3, 3, 2, 0);
	set(&r, "A", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0);
	set(&r, "b", 0.5, -0.5);
	start(&r);
	r.signal[0] = 1;
	r.signal[1] = 10;
	r.signal[2] = 100;
	tick(&r);
	EXPECT_SAME(out(&r, 0), 321.5);
	EXPECT_SAME(out(&r, 1), 653.5);
	rig_free(&r);

	rig_make(&r, "matrix", 1e-3, 0, 1, 0);
	set(&r, "b", 7.0);
	start(&r);
	tick(&r);
	EXPECT_SAME(out(&r, 0), 7);
	rig_free(&r);

	rig_make(&r, "product", 1e-3, 3, 1, 0);
	r.signal[0] = 2;
	r.signal[1] = -3;
	r.signal[2] = 7;
	tick(&r);
	EXPECT_SAME(out(&r, 0), -42);
	rig_free(&r);
}

TEST(biquad_has_its_frequency_response)
{
	double complex h, got;
	const double b[2][3] = { { 0.2, 0.3, 0.1 }, { 1, -1.2, 0.9 } };
	const double a[2][2] = { { -0.9, 0.4 }, { 0.5, 0.3 } };
	const int n = 64;
	struct rig r;
	int m, k, i;

	rig_make(&r, "biquad", 1e-3, 1, 1, 2);
	set(&r, "b0", b[0][0], b[1][0]);
	set(&r, "b1", b[0][1], b[1][1]);
	set(&r, "b2", b[0][2], b[1][2]);
	set(&r, "a1", a[0][0], a[1][0]);
	set(&r, "a2", a[0][1], a[1][1]);
	for (m = 0; m < n / 2; m++) {
		double complex z = cexp(_Complex_I * 2 * M_PI * m / n);

		h = 1;
		for (i = 0; i < 2; i++)
			h *= (b[i][0] + b[i][1] / z + b[i][2] / z / z) /
			     (1 + a[i][0] / z + a[i][1] / z / z);
		ASSERT_EQ(HT_OK, start(&r));
		got = 0;
		/* Settled after 20 periods; then the mean over one. */
		for (k = 0; k < 21 * n; k++) {
			double y = tick1(&r, cos(2 * M_PI * m * k / n));

			if (k >= 20 * n)
				got += y * cexp(-_Complex_I * 2 * M_PI * m * k / n) / n;
		}
		if (m)
			got *= 2;
		EXPECT_SMALL(cabs(got - h), 1e-12);
	}
	rig_free(&r);
}

TEST(biquad_refuses_unstable_poles)
{
	struct rig r;

	rig_make(&r, "biquad", 1e-3, 1, 1, 1);
	set(&r, "a1", -2.0);
	set(&r, "a2", 1.0);
	EXPECT_EQ(HT_OK, start(&r));
	set(&r, "a2", 0.99);
	EXPECT_EQ(HT_ERR_UNSTABLE, start(&r));
	EXPECT_EQ(3u, r.item);
	rig_free(&r);
}

TEST(state_space_rotates)
{
	const double c = cos(0.1), s = sin(0.1);
	double worst = 0;
	struct rig r;
	int k;

	rig_make(&r, "state_space", 1e-3, 1, 2, 2);
	set(&r, "A", c, -s, s, c);
	set(&r, "B", 0.0, 1.0);
	set(&r, "C", 1.0, 0.0, 0.0, 1.0);
	set(&r, "D", 0.0, 5.0);
	set(&r, "x0", 1.0, 0.0);
	start(&r);
	for (k = 0; k < 1000; k++) {
		tick1(&r, 0);
		worst = worse(worst, fabs(out(&r, 0) - cos(0.1 * k)));
		worst = worse(worst, fabs(out(&r, 1) - sin(0.1 * k)));
	}
	EXPECT_SMALL(worst, 1e-12);
	/* An impulse of 2: D at once, B one tick later. */
	set(&r, "x0", 0.0, 0.0);
	start(&r);
	tick1(&r, 2);
	EXPECT_SAME(out(&r, 1), 10);
	tick1(&r, 0);
	EXPECT_SAME(out(&r, 1), 2);
	tick1(&r, 0);
	EXPECT_NEAR(out(&r, 0), -2 * s, 1e-15);
	rig_free(&r);
}

TEST(delay_of_whole_ticks_is_exact)
{
	static const char *const words[] = { "nearest", "linear", "cubic" };
	struct rig r;
	int i, d, k;

	rig_make(&r, "delay", 1e-2, 1, 1, 40);
	set(&r, "initial", -1.0);
	for (i = 0; i < 3; i++) {
		set_word(&r, "order", words[i]);
		/* 0.29 / 0.01 is less than 29 in double. */
		for (d = 0; d <= 40; d++) {
			set(&r, "delay", d / 100.0);
			ASSERT_EQ(HT_OK, start(&r));
			for (k = 0; k < 50; k++)
				EXPECT_SAME(tick1(&r, sqrt(k)), k < d ? -1 : sqrt(k - d));
		}
	}
	set(&r, "delay", 0.4001);
	EXPECT_EQ(HT_ERR_RANGE, start(&r));
	rig_free(&r);
}

static double cube(double t)
{
	return 2 - t + 0.3 * t * t + 0.01 * t * t * t;
}

TEST(delay_interpolates)
{
	double d, worst[3] = { 0 };
	struct rig r;
	int k;

	/* Exact for polynomials of their degree, at any delay to the end. */
	rig_make(&r, "delay", 1.0, 1, 1, 10);
	for (d = 0; d <= 10; d += 0.07) {
		set(&r, "delay", d);
		set_word(&r, "order", "cubic");
		ASSERT_EQ(HT_OK, start(&r));
		for (k = 0; k < 40; k++) {
			double y = tick1(&r, cube(k));

			if (k >= 14)
				worst[2] = worse(worst[2], fabs(y - cube(k - d)));
		}
		set_word(&r, "order", "linear");
		start(&r);
		for (k = 0; k < 40; k++) {
			double y = tick1(&r, 3.0 * k);

			if (k >= 12)
				worst[1] = worse(worst[1], fabs(y - 3 * (k - d)));
		}
		set_word(&r, "order", "nearest");
		start(&r);
		for (k = 0; k < 40; k++) {
			double y = tick1(&r, k);

			if (k >= 12)
				worst[0] = worse(worst[0], fabs(y - (k - d)));
		}
	}
	EXPECT_SMALL(worst[2], 1e-11);
	EXPECT_SMALL(worst[1], 1e-12);
	EXPECT_SMALL(worst[0], 0.5 + 1e-12);
	EXPECT_TRUE(worst[0] > 0.4);
	rig_free(&r);
}

TEST(delay_follows_a_signal)
{
	static const double odd[] = { NAN, INFINITY, -INFINITY, -5, 1e300, 11 };
	static const double kept[] = { 0, 10, 0, 0, 10, 10 };
	struct rig r;
	unsigned int i;
	int k;

	rig_make(&r, "delay", 1.0, 2, 1, 10);
	set(&r, "delay", 2.0);
	start(&r);
	for (k = 0; k < 30; k++) {
		r.signal[1] = 0.25 * (k % 20);
		tick1(&r, k);
		if (k >= 12)
			EXPECT_NEAR(out(&r, 0), k - fmin(10, 2 + 0.25 * (k % 20)), 1e-12);
	}
	for (i = 0; i < HT_COUNT(odd); i++, k++) {
		r.signal[1] = odd[i];
		tick1(&r, k);
		/* NaN may come out as any stored value or NaN, not from outside. */
		if (!isnan(odd[i]))
			EXPECT_SAME(out(&r, 0), k - kept[i]);
	}
	rig_free(&r);
}

TEST(unit_delay_waits)
{
	struct rig r;

	rig_make(&r, "unit_delay", 1e-3, 2, 2, 0);
	set(&r, "initial", 3.0, 4.0);
	start(&r);
	r.signal[1] = 6;
	EXPECT_SAME(tick1(&r, 5), 3);
	EXPECT_SAME(out(&r, 1), 4);
	EXPECT_SAME(tick1(&r, 7), 5);
	EXPECT_SAME(out(&r, 1), 6);
	/* The step alone must not look at the inputs. */
	r.signal[0] = 99;
	r.b.type->step(&r.b);
	EXPECT_SAME(out(&r, 0), 7);
	rig_free(&r);
}

TEST(integrator_and_derivative)
{
	const double dt = 1e-2;
	struct rig r;
	int k;

	rig_make(&r, "integrator", dt, 1, 1, 0);
	set(&r, "initial", 0.5);
	set(&r, "max", 10.0);
	start(&r);
	for (k = 0; k <= 100; k++)
		tick1(&r, 2 + 6 * k * dt);
	EXPECT_NEAR(out(&r, 0), 0.5 + 2 + 3, 1e-12);
	for (k = 0; k < 1000; k++)
		tick1(&r, 5);
	EXPECT_SAME(out(&r, 0), 10);
	tick1(&r, -5);
	tick1(&r, -5);
	EXPECT_NEAR(out(&r, 0), 10 - 5 * dt, 1e-12);
	set(&r, "min", 11.0);
	EXPECT_EQ(HT_ERR_ORDER, prepare(&r));
	rig_free(&r);

	/* A ramp of slope 3: 3 (1 - (T / (T + dt))^k). */
	rig_make(&r, "derivative", dt, 1, 1, 0);
	set(&r, "filter", 0.05);
	start(&r);
	for (k = 0; k < 20; k++)
		EXPECT_NEAR(tick1(&r, 7 + 3 * k * dt), 3 * (1 - pow(0.05 / 0.06, k)), 1e-11);
	rig_free(&r);
}

/* ------------------------------------------------------------- control */

TEST(pd_is_equation_16)
{
	struct rig r;
	int k;

	rig_make(&r, "pd", 1e-3, 4, 1, 0);
	set(&r, "kp", 4.0);
	set(&r, "kd", 0.5);
	start(&r);
	r.signal[0] = 1;	/* theta~ */
	r.signal[1] = 3;	/* theta */
	r.signal[2] = 10;
	r.signal[3] = 4;
	tick(&r);
	EXPECT_SAME(out(&r, 0), 4 * 2 + 0.5 * -6);
	rig_free(&r);

	rig_make(&r, "pd", 1e-3, 2, 1, 0);
	set(&r, "kp", 4.0);
	set(&r, "kd", 0.5);
	start(&r);
	for (k = 0; k < 10; k++) {
		r.signal[0] = 5 + 0.001 * k;
		r.signal[1] = 5 + 0.004 * k;
		tick(&r);
	}
	EXPECT_NEAR(out(&r, 0), 4 * 0.027 + 0.5 * 3, 1e-10);
	rig_free(&r);
}

TEST(pid_follows_its_formula)
{
	const double dt = 1e-2;
	struct rig r;
	int k;

	rig_make(&r, "pid", dt, 2, 1, 0);
	set(&r, "kp", 3.0);
	set(&r, "ki", 2.0);
	set(&r, "kd", 0.5);
	start(&r);
	/* e = t^2 is integrated and differentiated by the two rules. */
	for (k = 0; k <= 50; k++) {
		r.signal[0] = 1 + k * dt * k * dt;
		r.signal[1] = 1;
		tick(&r);
	}
	EXPECT_NEAR(out(&r, 0), 3 * 0.25 + 2 * (0.125 / 3 + 0.5 * dt * dt / 6) +
		    0.5 * (1 - dt), 1e-12);
	rig_free(&r);
}

TEST(pid_does_not_wind_up)
{
	const double dt = 1e-2;
	struct rig r;
	int k;

	rig_make(&r, "pid", dt, 2, 1, 0);
	set(&r, "kp", 1.0);
	set(&r, "ki", 1.0);
	set(&r, "min", -2.0);
	set(&r, "max", 2.0);
	ASSERT_EQ(HT_OK, start(&r));
	for (k = 0; k < 10000; k++)
		EXPECT_TRUE(tick1(&r, 1) <= 2);
	EXPECT_NEAR(out(&r, 0), 2, dt);
	/* The integral is 1, not 100: it leaves the limit at once. */
	tick1(&r, -1);
	EXPECT_NEAR(out(&r, 0), 0, 3 * dt);
	for (k = 0; k < 10000; k++)
		tick1(&r, -1);
	EXPECT_NEAR(out(&r, 0), -2, dt);
	set(&r, "min", 3.0);
	EXPECT_EQ(HT_ERR_ORDER, prepare(&r));
	EXPECT_EQ(4u, r.item);
	rig_free(&r);
}

TEST(limit_limits)
{
	const double dt = 1e-2;
	struct rig r;
	int k;

	rig_make(&r, "limit", dt, 2, 2, 0);
	set(&r, "min", -1.0, -2.0);
	set(&r, "max", 1.0, 2.0);
	set(&r, "slew", 0.0, 10.0);
	ASSERT_EQ(HT_OK, start(&r));
	for (k = 0; k < 30; k++) {
		r.signal[1] = 5;
		EXPECT_SAME(tick1(&r, k - 15), fmax(-1, fmin(1, k - 15)));
		EXPECT_NEAR(out(&r, 1), fmin(2, 0.1 * (k + 1)), 1e-12);
	}
	/* NaN is passed on and forgotten. */
	r.signal[1] = NAN;
	tick(&r);
	EXPECT_TRUE(isnan(out(&r, 1)));
	r.signal[1] = -5;
	tick(&r);
	EXPECT_NEAR(out(&r, 1), 1.9, 1e-12);

	set(&r, "soft_start", 0.5);
	start(&r);
	for (k = 0; k < 100; k++)
		EXPECT_NEAR(tick1(&r, 0.8), 0.8 * fmin(1, k * dt / 0.5), 1e-12);
	set(&r, "min", -1.0, 2.5);
	EXPECT_EQ(HT_ERR_ORDER, prepare(&r));
	rig_free(&r);
}

/* ------------------------------------------------------------ structures */

/*
 * Free vibration of one mass in both schemes is a pure cosine with a known
 * frequency: tan(p/2) = w dt/2 and sin(p/2) = w dt/2 per tick.
 */
TEST(structure_has_the_period_of_its_scheme)
{
	const double dt = 1e-2, w = 40, m = 2.5;
	const double pn = 2 * atan(w * dt / 2), pc = 2 * asin(w * dt / 2);
	double worst[3] = { 0 };
	struct rig n, c, next;
	int k;

	rig_make(&n, "structure", dt, 1, 3, 1);
	rig_make(&c, "structure", dt, 1, 3, 1);
	rig_make(&next, "structure", dt, 1, 1, 1);
	set(&n, "M", m);
	set(&n, "K", m * w * w);
	set(&n, "x0", 1.0);
	set(&c, "M", m);
	set(&c, "K", m * w * w);
	set(&c, "x0", 1.0);
	set(&next, "M", m);
	set(&next, "K", m * w * w);
	set(&next, "x0", 1.0);
	set_word(&c, "scheme", "central_difference");
	set_word(&next, "scheme", "central_difference");
	set_word(&next, "ahead", "yes");
	ASSERT_EQ(HT_OK, start(&n));
	ASSERT_EQ(HT_OK, start(&c));
	ASSERT_EQ(HT_OK, start(&next));
	for (k = 0; k < 1000; k++) {
		tick1(&n, 0);
		tick1(&c, 0);
		tick1(&next, 0);
		worst[0] = worse(worst[0], fabs(out(&n, 0) - cos(k * pn)));
		worst[0] = worse(worst[0], fabs(out(&n, 1) / w + sin(k * pn)));
		worst[1] = worse(worst[1], fabs(out(&c, 0) - cos(k * pc)));
		worst[1] = worse(worst[1], fabs(out(&c, 2) / w / w + cos(k * pc)));
		/* (x_(k+1) - x_(k-1)) / (2 dt) */
		worst[1] = worse(worst[1], fabs(out(&c, 1) * dt + sin(pc) * sin(k * pc)));
		worst[2] = worse(worst[2], fabs(out(&next, 0) - cos((k + 1) * pc)));
	}
	EXPECT_SMALL(worst[0], 1e-11);
	EXPECT_SMALL(worst[1], 1e-11);
	EXPECT_SMALL(worst[2], 1e-11);
	set_word(&n, "ahead", "yes");
	EXPECT_EQ(HT_ERR_RANGE, prepare(&n));
	rig_free(&n);
	rig_free(&c);
	rig_free(&next);
}

/* Error against the analytic damped response to a suddenly applied sine. */
static double forced_error(const char *scheme, double dt)
{
	const double m = 1.3, w = 20, z = 0.05, p = 33, f = 7;
	const double wd = w * sqrt(1 - z * z);
	double complex h = f / m / (w * w - p * p + 2 * _Complex_I * z * w * p);
	/* Steady part Im(h e^(ipt)), the rest decays from what it lacks at 0. */
	double x0 = cimag(h), v0 = p * creal(h), worst = 0;
	struct rig r;
	int k;

	rig_make(&r, "structure", dt, 1, 2, 1);
	set(&r, "M", m);
	set(&r, "C", 2 * z * w * m);
	set(&r, "K", m * w * w);
	set_word(&r, "scheme", scheme);
	if (start(&r))
		abort();
	for (k = 0; k * dt < 2; k++) {
		double t = k * dt;
		double x = cimag(h * cexp(_Complex_I * p * t)) + exp(-z * w * t) *
			(-x0 * cos(wd * t) - (v0 + z * w * x0) / wd * sin(wd * t));

		tick1(&r, f * sin(p * t));
		worst = worse(worst, fabs(out(&r, 0) - x));
	}
	rig_free(&r);
	return worst / cabs(h);
}

TEST(structure_converges_with_the_second_order)
{
	static const char *const words[] = { "newmark", "central_difference" };
	int i;

	for (i = 0; i < 2; i++) {
		double coarse = forced_error(words[i], 1e-3);
		double fine = forced_error(words[i], 5e-4);

		TH_LOG("%s: %g at 1 ms, %g at 0.5 ms", words[i], coarse, fine);
		EXPECT_SMALL(coarse, 5e-3);
		EXPECT_NEAR(coarse / fine, 4, 0.1);
	}
}

/* M a + C v + K x = f holds at every tick, with full unsymmetric matrices. */
TEST(structure_is_in_equilibrium)
{
	static const char *const words[] = { "newmark", "central_difference" };
	double m[9] = { 3, 0.2, 0.1, 0.2, 2, 0.3, 0.1, 0.3, 1 };
	double c[9] = { 2, -0.5, 0, -0.7, 3, -1, 0, -1, 1 };
	double k[9] = { 500, -200, 0, -200, 450, -250, 0, -250, 300 };
	double worst = 0, moved = 0;
	struct rig r;
	int i, j, l, t;

	random_state = 5;
	for (i = 0; i < 2; i++) {
		rig_make(&r, "structure", 5e-3, 3, 9, 3);
		memcpy(r.field[0], m, sizeof(m));
		memcpy(r.field[1], c, sizeof(c));
		memcpy(r.field[2], k, sizeof(k));
		set(&r, "x0", 0.1, -0.1, 0.2);
		set(&r, "v0", 1.0, 2.0, 3.0);
		set_word(&r, "scheme", words[i]);
		ASSERT_EQ(HT_OK, start(&r));
		for (t = 0; t < 500; t++) {
			for (j = 0; j < 3; j++)
				r.signal[j] = 100 * (random_unit() - 0.5);
			tick(&r);
			if (t == 0) {
				EXPECT_SAME(out(&r, 1), -0.1);
				EXPECT_NEAR(out(&r, 5), 3, 1e-13);
			}
			moved = worse(moved, fabs(out(&r, 0)));
			for (j = 0; j < 3; j++) {
				double rest = r.signal[j];

				for (l = 0; l < 3; l++)
					rest -= m[3 * j + l] * out(&r, 6 + l) +
						c[3 * j + l] * out(&r, 3 + l) +
						k[3 * j + l] * out(&r, l);
				worst = worse(worst, fabs(rest));
			}
		}
		rig_free(&r);
	}
	EXPECT_SMALL(worst, 1e-10);
	EXPECT_TRUE(moved > 0.05 && moved < 10);
}

/* Chain of n masses between walls: w_j = 2 sqrt(k/m) sin(j pi / (2 (n + 1))). */
static void chain(struct rig *r, ht_u32 n, double m, double k)
{
	ht_u32 i;

	for (i = 0; i < n; i++) {
		r->field[0][i * n + i] = m;
		r->field[2][i * n + i] = 2 * k;
		if (i + 1 < n) {
			r->field[2][i * n + i + 1] = -k;
			r->field[2][(i + 1) * n + i] = -k;
		}
	}
	set_word(r, "scheme", "central_difference");
}

TEST(structure_refuses_what_is_unstable)
{
	static const ht_u32 sizes[] = { 1, 2, 5, 40 };
	unsigned int i;
	struct rig r;

	for (i = 0; i < HT_COUNT(sizes); i++) {
		ht_u32 n = sizes[i];
		double top = 2 * sqrt(3e4 / 0.7) * sin(n * M_PI / (2 * (n + 1)));

		rig_make(&r, "structure", 1.999 / top, n, n, n);
		chain(&r, n, 0.7, 3e4);
		EXPECT_EQ(HT_OK, start(&r));
		r.clock.dt = 2.001 / top;
		EXPECT_EQ(HT_ERR_UNSTABLE, start(&r));
		EXPECT_EQ(2u, r.item);
		set_word(&r, "scheme", "newmark");
		EXPECT_EQ(HT_OK, start(&r));
		rig_free(&r);
	}
	rig_make(&r, "structure", 1e-3, 2, 2, 2);
	set(&r, "M", 1.0, 2.0, 2.0, 4.0);
	EXPECT_EQ(HT_ERR_SINGULAR, start(&r));
	set(&r, "M", 1e9, 0.0, 0.0, 1e-9);
	EXPECT_EQ(HT_OK, start(&r));
	rig_free(&r);
}

/* The chain in its third mode stays in it, at the frequency of the scheme. */
TEST(structure_keeps_a_mode)
{
	const ht_u32 n = 8;
	const double w = 2 * sqrt(3e4 / 0.7) * sin(3 * M_PI / (2 * (n + 1)));
	const double dt = 2e-3, p = 2 * atan(w * dt / 2);
	double worst = 0;
	struct rig r;
	ht_u32 i;
	int k;

	rig_make(&r, "structure", dt, n, n, n);
	chain(&r, n, 0.7, 3e4);
	set_word(&r, "scheme", "newmark");
	for (i = 0; i < n; i++)
		r.field[5][i] = sin(3 * M_PI * (i + 1) / (n + 1));
	ASSERT_EQ(HT_OK, start(&r));
	for (k = 0; k < 2000; k++) {
		tick(&r);
		for (i = 0; i < n; i++)
			worst = worse(worst, fabs(out(&r, i) - r.field[5][i] * cos(k * p)));
	}
	EXPECT_SMALL(worst, 1e-9);
	rig_free(&r);
}

/* ------------------------------------------------------ pendulum, actuator */

#define PM 0.27
#define PL 0.1955
#define PKAPPA 7.5e-3
#define PG 9.81

static void pendulum_make(struct rig *r, double dt, ht_u32 n_in, ht_u32 n_out)
{
	rig_make(r, "pendulum", dt, n_in, n_out, 0);
	set(r, "m", PM);
	set(r, "l", PL);
	set(r, "kappa", PKAPPA);
}

/*
 * Eq. (22) in long double by another way: velocity and angle from Taylor
 * series of third order in many steps per tick, with inputs on straight lines.
 */
#define STEPS 400
static void pendulum_reference(long double *q, long double *w, double dt, const double *u0,
			       const double *u1)
{
	const long double h = (long double)dt / STEPS, d = PKAPPA / (PM * PL * (long double)PL);
	int i;

	for (i = 0; i < STEPS; i++) {
		long double y = u0[0] + (u1[0] - (long double)u0[0]) * i / STEPS;
		long double c = u0[1] + (u1[1] - (long double)u0[1]) * i / STEPS;
		long double y1 = (u1[0] - (long double)u0[0]) / dt;
		long double c1 = (u1[1] - (long double)u0[1]) / dt;
		long double s = sinl(*q), o = cosl(*q), v = *w, e = (PG + y) / PL;
		long double a = -d * v - e * s - c;
		long double a1 = -d * a - y1 / PL * s - e * o * v - c1;
		long double a2 = -d * a1 - 2 * y1 / PL * o * v + e * s * v * v - e * o * a;

		*q += h * v + h * h / 2 * a + h * h * h / 6 * a1 + h * h * h * h / 24 * a2;
		*w += h * a + h * h / 2 * a1 + h * h * h / 6 * a2;
	}
}

static double pendulum_error(double dt, double substeps)
{
	long double q = 2.5, w = -3;
	double u[2][2] = { { 0 } }, worst = 0;
	struct rig r;
	int k;

	pendulum_make(&r, dt, 2, 2);
	set(&r, "theta0", 2.5);
	set(&r, "omega0", -3.0);
	set(&r, "substeps", substeps);
	start(&r);
	for (k = 0; k * dt < 2; k++) {
		double t = k * dt;

		memcpy(u[0], u[1], sizeof(u[0]));
		u[1][0] = 6 * sin(13 * t);
		u[1][1] = 4 * cos(5 * t);
		if (k)
			pendulum_reference(&q, &w, dt, u[0], u[1]);
		r.signal[0] = u[1][0];
		r.signal[1] = u[1][1];
		tick(&r);
		worst = worse(worst, (double)fabsl(out(&r, 0) - q));
		worst = worse(worst, (double)fabsl(out(&r, 1) - w));
	}
	rig_free(&r);
	return worst;
}

TEST(pendulum_solves_equation_22)
{
	double one = pendulum_error(4e-3, 1), two = pendulum_error(4e-3, 2);

	TH_LOG("%g at 4 ms, %g with two substeps, %g at 1 ms with 4", one, two,
	       pendulum_error(1e-3, 4));
	EXPECT_SMALL(one, 1e-4);
	EXPECT_NEAR(one / two, 16, 2);
	EXPECT_SMALL(pendulum_error(1e-3, 4), 1e-8);
}

/*
 * The pivot force is minus the mass times the vertical acceleration of the bob
 * at ya - l cos theta: compare with its second difference.
 */
TEST(pendulum_force_is_equation_23)
{
	const double dt = 1e-4, a = 0.01, p = 13;
	double bob[3] = { 0 }, f = 0, worst = 0, largest = 0;
	struct rig r;
	int k;

	pendulum_make(&r, dt, 1, 4);
	set(&r, "theta0", 1.0);
	set(&r, "omega0", 8.0);
	start(&r);
	for (k = 0; k < 20000; k++) {
		double y = a * sin(p * k * dt);

		tick1(&r, -p * p * y);
		memmove(bob, bob + 1, 2 * sizeof(*bob));
		bob[2] = y - PL * cos(out(&r, 0));
		if (k >= 2)
			worst = worse(worst, fabs(f + PM * (bob[2] - 2 * bob[1] + bob[0]) /
						  dt / dt));
		f = out(&r, 3);
		largest = worse(largest, fabs(f));
	}
	EXPECT_SMALL(worst, 1e-4);
	EXPECT_TRUE(largest > 1);
	rig_free(&r);
}

/* Without friction and with the pivot at rest the energy stays. */
TEST(pendulum_keeps_its_energy)
{
	double e0 = 0, worst = 0;
	struct rig r;
	int k;

	pendulum_make(&r, 1e-3, 1, 2);
	set(&r, "kappa", 0.0);
	set(&r, "theta0", 2.0);
	set(&r, "substeps", 2.0);
	start(&r);
	for (k = 0; k < 20000; k++) {
		double e;

		tick1(&r, 0);
		e = out(&r, 1) * out(&r, 1) / 2 - PG / PL * cos(out(&r, 0));
		if (!k)
			e0 = e;
		worst = worse(worst, fabs(e / e0 - 1));
	}
	EXPECT_SMALL(worst, 1e-8);
	rig_free(&r);
}

static double actuator_error(double mass, double damping, double omega, double dt)
{
	/* Step of the demand to 1 and a force that grows as 2 t. */
	const double w = omega / sqrt(mass), z = damping / (2 * sqrt(mass) * omega);
	const double complex s1 = -z * w + w * csqrt(z * z - 1), s2 = -z * w - w * csqrt(z * z - 1);
	const double rate = 2 / (omega * omega), lag = 2 * z / w;
	double worst = 0;
	struct rig r;
	int k;

	rig_make(&r, "actuator", dt, 2, 3, 0);
	set(&r, "mass", mass);
	set(&r, "damping", damping);
	set(&r, "omega", omega);
	set(&r, "initial", 0.5);
	if (start(&r))
		abort();
	for (k = 0; k < 500; k++) {
		double t = k * dt;
		/* Steady 1 + rate (t - lag), the rest from y = 0.5, y' = 0. */
		double complex d = 0.5 - 1 + rate * lag, v = -rate;
		double complex c1 = (v - s2 * d) / (s1 - s2), c2 = d - c1;
		double complex e1 = c1 * cexp(s1 * t), e2 = c2 * cexp(s2 * t);
		double y = 1 + rate * (t - lag) + creal(e1 + e2);
		double y1 = rate + creal(s1 * e1 + s2 * e2);
		double y2 = creal(s1 * s1 * e1 + s2 * s2 * e2);

		r.signal[0] = 1;
		r.signal[1] = 2 * t;
		tick(&r);
		worst = worse(worst, fabs(out(&r, 0) - y));
		worst = worse(worst, fabs(out(&r, 1) - y1) / w);
		worst = worse(worst, fabs(out(&r, 2) - y2) / (w * w + w * damping / mass));
	}
	rig_free(&r);
	return worst;
}

TEST(actuator_solves_equation_11)
{
	struct rig r;

	EXPECT_SMALL(actuator_error(1, 20, 50, 1e-3), 1e-12);
	EXPECT_SMALL(actuator_error(0.3, 2, 400, 1e-3), 1e-12);
	EXPECT_SMALL(actuator_error(2, 500, 30, 1e-3), 1e-12);
	EXPECT_SMALL(actuator_error(1, 0, 10, 1e-2), 1e-11);
	/* A thousand times stiffer than the tick can show */
	EXPECT_SMALL(actuator_error(1, 1e6, 1e6, 1e-3), 1e-9);

	rig_make(&r, "actuator", 1, 1, 1, 0);
	set(&r, "mass", 1e-6);
	set(&r, "damping", 1e12);
	set(&r, "omega", 1.0);
	EXPECT_EQ(HT_ERR_RANGE, start(&r));
	EXPECT_EQ(1u, r.item);
	rig_free(&r);
}

/* A motor on the pivot: with u = -T / (m l^2) it is the same pendulum. */
TEST(pendulum_takes_a_torque)
{
	const double inertia = PM * PL * PL;
	struct rig torque, control;
	double worst = 0;
	int k;

	pendulum_make(&torque, 1e-3, 3, 4);
	pendulum_make(&control, 1e-3, 2, 4);
	start(&torque);
	start(&control);
	for (k = 0; k < 2000; k++) {
		torque.signal[2] = 0.05 * sin(7 * k * 1e-3);
		control.signal[1] = -torque.signal[2] / inertia;
		tick(&torque);
		tick(&control);
		worst = worse(worst, fabs(out(&torque, 0) - out(&control, 0)));
		worst = worse(worst, fabs(out(&torque, 3) - out(&control, 3)));
	}
	EXPECT_SMALL(worst, 1e-12);
	EXPECT_TRUE(fabs(out(&torque, 0)) > 0.01);
	rig_free(&torque);
	rig_free(&control);
}

/* ---------------------------------------- lag, spring, oscillator, girder */

/* Ramp u = t from rest at 0: y = t - T + T exp(-t / T). */
static double lag_error(double time, double dt)
{
	double worst = 0;
	struct rig r;
	int k;

	rig_make(&r, "lag", dt, 2, 2, 0);
	set(&r, "time", time);
	start(&r);
	for (k = 0; k < 500; k++) {
		long double t = (long double)k * dt;
		long double y = t + (long double)time * expm1l(-t / time);

		r.signal[1] = 3;
		tick1(&r, k * dt);
		worst = worse(worst, (double)fabsl(out(&r, 0) - y) / (500 * dt));
		worst = worse(worst, fabs(out(&r, 1) - 3));
	}
	rig_free(&r);
	return worst;
}

TEST(lag_answers_a_ramp)
{
	EXPECT_SMALL(lag_error(0.02, 1e-3), 1e-14);
	EXPECT_SMALL(lag_error(1e-6, 1e-3), 1e-14);
	/* A hundredth of the time constant: where the series ends. */
	EXPECT_SMALL(lag_error(0.0999, 1e-3), 1e-13);
	EXPECT_SMALL(lag_error(0.1001, 1e-3), 1e-13);
	EXPECT_SMALL(lag_error(1e4, 1e-3), 1e-13);
}

TEST(spring_pulls_back)
{
	struct rig r;

	rig_make(&r, "spring", 1e-3, 3, 1, 0);
	set(&r, "k", 100.0);
	set(&r, "k2", -8.0);
	set(&r, "k3", 4.0);
	set(&r, "c", 3.0);
	set(&r, "m", 0.25);
	start(&r);
	r.signal[1] = 5;
	r.signal[2] = -16;
	EXPECT_EQ(tick1(&r, 2), -(200 - 32 + 32 + 15 - 4.0));
	EXPECT_EQ(tick1(&r, -0.5), -(-50 - 2 - 0.5 + 15 - 4.0));
	rig_free(&r);
}

/* Undamped, unforced: the energy stays, and the period is that of an integral. */
TEST(oscillator_has_the_period_of_duffing)
{
	const double dt = 1e-3, m = 0.5, k = 2, k3 = 5, x0 = 1;
	/* T = 4 int_0^x0 dx / v, with x = x0 sin(s): a smooth integrand. */
	double period = 0, crossing = 0, before = 0, energy, worst = 0;
	const int n = 4000;
	struct rig r;
	int i;

	for (i = 0; i < n; i++) {
		double s = (i + 0.5) * M_PI_2 / n, x = x0 * sin(s);

		period += 4 * M_PI_2 / n / sqrt((k + k3 / 2 * (x0 * x0 + x * x)) / m);
	}
	rig_make(&r, "oscillator", dt, 1, 3, 0);
	set(&r, "m", m);
	set(&r, "k", k);
	set(&r, "k3", k3);
	set(&r, "x0", x0);
	start(&r);
	for (i = 0; i < 20000; i++) {
		tick1(&r, 0);
		energy = m / 2 * out(&r, 1) * out(&r, 1) + k / 2 * out(&r, 0) * out(&r, 0) +
			 k3 / 4 * pow(out(&r, 0), 4);
		worst = worse(worst, fabs(energy - (k / 2 + k3 / 4)));
		EXPECT_SMALL(m * out(&r, 2) + k * out(&r, 0) + k3 * pow(out(&r, 0), 3), 1e-12);
		/* Downwards through zero for the first time: a quarter. */
		if (!crossing && i && out(&r, 0) < 0)
			crossing = (i - 1 + before / (before - out(&r, 0))) * dt;
		before = out(&r, 0);
	}
	TH_LOG("energy off by %g, quarter of the period %.9f, %.9f expected", worst, crossing,
	       period / 4);
	EXPECT_SMALL(worst, 1e-9);
	EXPECT_NEAR(crossing, period / 4, 1e-7);
	rig_free(&r);
}

/* Linear and damped under a force on a straight line: x = (F - c/k F') / k + decay. */
TEST(oscillator_follows_its_force)
{
	const double dt = 1e-3, m = 0.3, c = 4, k = 50, k2 = 7, rate = 2;
	double t, x, force;
	struct rig r;
	int i;

	rig_make(&r, "oscillator", dt, 1, 2, 0);
	set(&r, "m", m);
	set(&r, "c", c);
	set(&r, "k", k);
	set(&r, "substeps", 4.0);
	start(&r);
	for (i = 0; i < 10000; i++)
		tick1(&r, rate * i * dt);
	t = (i - 1) * dt;
	EXPECT_NEAR(out(&r, 0), rate * t / k - c * rate / (k * k), 1e-12);
	EXPECT_NEAR(out(&r, 1), rate / k, 1e-12);
	/* And at rest under a constant force with the quadratic term. */
	set(&r, "k2", k2);
	force = 20;
	for (i = 0; i < 20000; i++)
		tick1(&r, force);
	x = (-k + sqrt(k * k + 4 * k2 * force)) / (2 * k2);
	EXPECT_NEAR(out(&r, 0), x, 1e-12);
	rig_free(&r);
}

/* Tip load P on a cantilever: uy = P L^3 / 3 EI + P L / GA, theta = P L^2 / 2 EI. */
TEST(girder_bends_like_a_cantilever)
{
	const double length = 0.792, ea = 3e7, ei = 4e4, ga = 2e6, load = 150, moment = 12;
	struct rig r;

	rig_make(&r, "girder", 1e-3, 3, 3, 0);
	set(&r, "length", length);
	set(&r, "EA", ea);
	set(&r, "EI", ei);
	set(&r, "GA", ga);
	start(&r);
	r.signal[0] = 1000 * length / ea;
	r.signal[1] = load * pow(length, 3) / (3 * ei) + load * length / ga +
		      moment * length * length / (2 * ei);
	r.signal[2] = load * length * length / (2 * ei) + moment * length / ei;
	tick(&r);
	EXPECT_NEAR(out(&r, 0), -1000, 1e-9);
	EXPECT_NEAR(out(&r, 1), -load, 1e-9);
	EXPECT_NEAR(out(&r, 2), -moment, 1e-9);
	rig_free(&r);
}

/* Moved as one with constant acceleration it has the forces of its mass at the tip. */
TEST(girder_has_mass_and_damping)
{
	const double length = 2, mu = 3, beta = 0.01;
	struct rig r;

	rig_make(&r, "girder", 1e-3, 9, 3, 0);
	set(&r, "length", length);
	set(&r, "EA", 100.0);
	set(&r, "EI", 0.0);
	set(&r, "mu", mu);
	set(&r, "beta", beta);
	start(&r);
	r.signal[3] = 4;	/* ux' */
	r.signal[6] = 1;	/* ux'' */
	r.signal[7] = 1;	/* uy'' */
	tick(&r);
	/* Linear shape in x: int (x/L)^2 mu = mu L / 3; cubic shape in y: 13/35 mu L. */
	EXPECT_NEAR(out(&r, 0), -(beta * 100 / length * 4 + mu * length / 3), 1e-12);
	EXPECT_NEAR(out(&r, 1), -13.0 / 35 * mu * length, 1e-12);
	EXPECT_NEAR(out(&r, 2), 11.0 / 210 * mu * length * length, 1e-12);
	rig_free(&r);
}

/* -------------------------------------------------------- rig imperfections */

TEST(quantiser_has_its_levels)
{
	const double q = 20.0 / 4096;
	struct rig r;
	int k;

	rig_make(&r, "quantiser", 1e-3, 1, 1, 0);
	set(&r, "bits", 12.0);
	set(&r, "low", -10.0);
	set(&r, "high", 10.0);
	ASSERT_EQ(HT_OK, start(&r));
	for (k = -2048; k < 2048; k++) {
		EXPECT_SAME(tick1(&r, k * q), k * q);
		EXPECT_SAME(tick1(&r, (k + 0.49) * q), k * q);
		EXPECT_SAME(tick1(&r, (k - 0.49) * q), fmax(k, -2048) * q);
	}
	EXPECT_SAME(tick1(&r, 0.3 * q), 0);
	EXPECT_SAME(tick1(&r, 11), 10 - q);
	EXPECT_SAME(tick1(&r, 1e300), 10 - q);
	EXPECT_SAME(tick1(&r, -INFINITY), -10);
	EXPECT_TRUE(isnan(tick1(&r, NAN)));
	set(&r, "high", -10.0);
	EXPECT_EQ(HT_ERR_ORDER, start(&r));
	rig_free(&r);
}

/* From kat_vectors of the Random123 distribution. */
TEST(philox_known_answers)
{
	static const ht_u32 kat[3][10] = {
		{ 0, 0, 0, 0, 0, 0,
		  0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 },
		{ 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
		  0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd },
		{ 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0,
		  0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 },
	};
	ht_u32 random[4];
	int i, j;

	for (i = 0; i < 3; i++) {
		ht_philox(kat[i], kat[i] + 4, random);
		for (j = 0; j < 4; j++)
			EXPECT_EQ(kat[i][6 + j], random[j]);
	}
}

TEST(noise_is_reproducible)
{
	double first[50][3], differ = 0;
	struct rig r;
	int k, j;

	rig_make(&r, "noise", 1e-3, 0, 3, 0);
	set(&r, "seed", 4294967295.0);
	set(&r, "stream", 7.0);
	start(&r);
	for (k = 0; k < 50; k++) {
		tick(&r);
		for (j = 0; j < 3; j++)
			first[k][j] = out(&r, j);
	}
	/* In another order, and what came before does not matter. */
	for (k = 49; k >= 0; k--) {
		r.clock.tick = k;
		r.b.type->step(&r.b);
		for (j = 0; j < 3; j++)
			differ = worse(differ, fabs(first[k][j] - out(&r, j)));
	}
	EXPECT_SAME(differ, 0);
	/* Channels, ticks, seeds and streams all differ. */
	EXPECT_TRUE(first[0][0] != first[0][1] && first[0][0] != first[1][0]);
	set(&r, "stream", 8.0);
	r.b.type->step(&r.b);
	EXPECT_TRUE(out(&r, 0) != first[0][0]);
	set(&r, "stream", 7.0);
	set(&r, "seed", 4294967294.0);
	r.b.type->step(&r.b);
	EXPECT_TRUE(out(&r, 0) != first[0][0]);
	rig_free(&r);
}

/* Moments of 400,000 values, and the uniform bound; 5 standard errors. */
TEST(noise_has_its_moments)
{
	static const char *const words[] = { "uniform", "gaussian" };
	static const double fourth[] = { 1.8, 3 }, spread[] = { 0.9, 9.8 };
	const int n = 100000;
	int i, j, k;

	for (i = 0; i < 2; i++) {
		double m1 = 0, m2 = 0, m4 = 0, lag = 0, cross = 0, last = 0, top = 0;
		struct rig r;

		rig_make(&r, "noise", 1e-3, 0, 4, 0);
		set_word(&r, "kind", words[i]);
		set(&r, "sigma", 2.0);
		set(&r, "seed", 12.0);
		start(&r);
		for (k = 0; k < n; k++) {
			tick(&r);
			for (j = 0; j < 4; j++) {
				double x = out(&r, j) / 2;

				m1 += x / (4 * n);
				m2 += x * x / (4 * n);
				m4 += x * x * x * x / (4 * n);
				top = fmax(top, fabs(x));
			}
			lag += last * out(&r, 0) / 4 / n;
			cross += out(&r, 0) * out(&r, 1) / 4 / n;
			last = out(&r, 0);
		}
		EXPECT_SMALL(m1, 5 / sqrt(4.0 * n));
		EXPECT_NEAR(m2, 1, 5 * sqrt((fourth[i] - 1) / (4 * n)));
		EXPECT_NEAR(m4, fourth[i], 5 * spread[i] / sqrt(4.0 * n));
		EXPECT_SMALL(lag, 5 / sqrt(n));
		EXPECT_SMALL(cross, 5 / sqrt(n));
		EXPECT_TRUE(i ? top > 4 && top < 7 : top <= sqrt(3) && top > 1.73);
		rig_free(&r);
	}
}

/* ------------------------------------------------------------ foundations */

TEST(linear_algebra)
{
	double a[100], lu[100], pivot[10], x[10], y[10], work[200], worst = 0;
	int i, j, k;

	random_state = 6;
	for (k = 0; k < 100; k++) {
		for (i = 0; i < 100; i++) {
			a[i] = random_unit() - 0.5;
			lu[i] = a[i];
		}
		for (i = 0; i < 10; i++)
			x[i] = random_unit();
		for (i = 0; i < 10; i++)
			y[i] = 1;
		ht_multiply_add(a, x, 0, y, 10);
		ASSERT_EQ(0, ht_lu_factor(lu, pivot, 10));
		ht_lu_solve(lu, pivot, 10, y);
		for (i = 0; i < 10; i++)
			worst = worse(worst, fabs(x[i] - y[i]));
	}
	EXPECT_SMALL(worst, 1e-11);
	/* The last row is the sum of the others. */
	for (j = 0; j < 10; j++) {
		a[90 + j] = 0;
		for (i = 0; i < 9; i++)
			a[90 + j] += a[10 * i + j];
	}
	EXPECT_EQ(-1, ht_lu_factor(a, pivot, 10));

	/* A rotation, also by many turns */
	for (k = 1; k < 2000; k *= 3) {
		double r[4] = { 0, k, -k, 0 };

		ASSERT_EQ(0, ht_matrix_exp(r, work, 2));
		EXPECT_NEAR(r[0], cos(k), 1e-15 * (k + 2));
		EXPECT_NEAR(r[1], sin(k), 1e-15 * (k + 2));
	}
	/* Nilpotent and far from normal: eigenvalues 0, and 0.9 twice */
	{
		double n[4] = { 0, 1e9, 0, 0 }, j2[4] = { 0.9, 1e3, 0, 0.9 };
		double over[4] = { 0.9, 1e3, 0, 0.9 };

		EXPECT_EQ(1, ht_spectrum_below(n, work, 2, 1e-3));
		EXPECT_EQ(1, ht_spectrum_below(j2, work, 2, 0.901));
		EXPECT_EQ(0, ht_spectrum_below(over, work, 2, 0.899));
	}
}

/* What the reader, the validator and the console rely on. */
TEST(types_describe_themselves)
{
	ht_u32 i, j, k, n;

	EXPECT_EQ(25u, ht_n_block_types);
	for (i = 0; i < ht_n_block_types; i++) {
		const struct ht_block_type *t = ht_block_types[i];

		EXPECT_TRUE(t->name[0] && t->summary[0] && t->layout && t->step);
		EXPECT_TRUE(t->min_in <= t->max_in && t->max_in <= HT_MAX_PORTS);
		EXPECT_TRUE(t->min_out <= t->max_out && t->max_out <= HT_MAX_PORTS);
		EXPECT_TRUE(t->n_fields <= HT_MAX_FIELDS && t->n_dims <= HT_MAX_DIMS);
		for (j = 0; j < i; j++)
			EXPECT_STRNE(t->name, ht_block_types[j]->name);
		for (j = 0; j < t->n_dims; j++) {
			EXPECT_TRUE(t->dims[j].min <= t->dims[j].max && t->dims[j].help[0]);
			EXPECT_TRUE(t->dims[j].field < t->n_fields);
		}
		for (j = 0; j < t->n_fields; j++) {
			const struct ht_field *f = &t->fields[j];

			EXPECT_TRUE(f->name[0] && f->help[0] && f->unit && f->min < f->max);
			if (f->flags & HT_FIELD_OPTIONAL)
				EXPECT_TRUE(f->preset >= f->min && f->preset <= f->max);
			for (k = 0; k < j; k++)
				EXPECT_STRNE(f->name, t->fields[k].name);
			for (n = 0; f->words && f->words[n]; n++)
				;
			if (f->words)
				EXPECT_TRUE(f->min == 0 && f->max == n - 1.0);
		}
	}
}

static double hostile_value(void)
{
	static const double odd[] = {
		NAN, INFINITY, -INFINITY, 0, -0.0, 1e308, -1e308, 0x1p-1074, 0x1p63, -0x1p63,
		0x1p32, 1e15, -1, 1, 0.5,
	};
	ht_u32 n = HT_COUNT(odd);
	ht_u64 pick = random_bits() % (n + 4);

	return pick < n ? odd[pick] : (random_unit() - 0.5) * 4;
}

static double hostile_field(const struct ht_field *f)
{
	double x;

	switch (random_bits() % 5) {
	case 0:
		x = f->min;
		break;
	case 1:
		x = f->max;
		break;
	case 2:
		x = f->preset;
		break;
	case 3:
		x = f->min + (f->max - f->min) * random_unit();
		break;
	default:
		x = 2 * random_unit() - 0.5;
		break;
	}
	x = fmin(fmax(x, f->min), f->max);
	return f->flags & HT_FIELD_INTEGER ? floor(x) : x;
}

static ht_u32 hostile_count(ht_u32 min, ht_u32 max)
{
	ht_u32 top = max < min + 12 ? max : min + 12;

	return min + random_bits() % (top - min + 1);
}

/*
 * Any accepted values, any signals, parameters changing on the way: nothing
 * but finite time and memory of its own. The sanitizers are the judges.
 */
TEST(every_type_survives_hostile_values)
{
	static const double periods[] = { 1e-5, 2e-4, 1e-3, 1 };
	ht_u32 t, i, j, k, ran[64] = { 0 };
	int round;

	random_state = 7;
	for (round = 0; round < 60000; round++) {
		const struct ht_block_type *type = ht_block_types[round % ht_n_block_types];
		ht_u32 dims[HT_MAX_DIMS] = { 0 }, n_in, n_out;
		struct rig r;

		n_in = hostile_count(type->min_in, type->max_in);
		n_out = hostile_count(type->min_out, type->max_out);
		for (i = 0; i < type->n_dims; i++) {
			dims[i] = hostile_count(type->dims[i].min, type->dims[i].max);
			if (type->dims[i].source == HT_DIM_INPUTS)
				dims[i] = n_in;
		}
		if (random_bits() & 1)
			n_out = n_in ? n_in : n_out;
		if (n_out > type->max_out)
			n_out = type->max_out;
		if (rig_build(&r, type, periods[random_bits() % 4], n_in, n_out, dims))
			continue;
		for (k = 0; k < 20; k++) {
			for (i = 0; i < type->n_fields; i++)
				for (j = 0; j < r.layout.count[i]; j++)
					if (!k || !(type->fields[i].flags & HT_FIELD_FIXED))
						r.field[i][j] = hostile_field(&type->fields[i]);
			if (k ? prepare(&r) : start(&r))
				break;
			ran[round % ht_n_block_types]++;
			for (j = 0; j < 10; j++) {
				for (i = 0; i < n_in; i++)
					r.signal[i] = hostile_value();
				tick(&r);
				if (random_bits() % 16 == 0)
					r.clock.tick = random_bits();
			}
		}
		rig_free(&r);
	}
	for (t = 0; t < ht_n_block_types; t++)
		EXPECT_TRUE(ran[t] > 20) {
			TH_LOG("%s ran %u times only", ht_block_types[t]->name, ran[t]);
		}
}

TEST_HARNESS_MAIN
