// SPDX-License-Identifier: GPL-2.0
/*
 * Elementary functions of the core against libm in long double (64 bits of
 * mantissa, so an error is known to 1/1000 ulp). Each range takes POINTS
 * pseudo-random arguments, the same ones in every run. The promise is 1 ulp (unit
 * in the last place); the bounds here are close to what was measured, so that
 * the loss of a correction term shows.
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kselftest_harness.h"

#include "../../kmod/core/math.h"

#define POINTS 1000000

#define TRIG_BOUND	0.8
#define EXP_BOUND	0.7
#define LOG_BOUND	0.9

static uint64_t random_state;

/* splitmix64 of Steele, Lea and Flood (2014) */
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

/* Size evenly spread over the exponents from low to high, either sign. */
static double random_power(double low, double high)
{
	double x = 1 + random_unit();

	x = ldexp(x, (int)floor(low + random_unit() * (high - low)));
	return random_bits() & 1 ? x : -x;
}

static double ulps(double got, long double exact)
{
	int exponent;

	if (isinf(exact) || isnan(exact))
		return (double)exact == got || (isnan(got) && isnan(exact)) ? 0 : HUGE_VAL;
	frexpl(exact, &exponent);
	if (exponent < DBL_MIN_EXP)
		exponent = DBL_MIN_EXP;
	return (double)(fabsl(got - exact) / ldexpl(1, exponent - DBL_MANT_DIG));
}

typedef double (*generator)(void);

struct worst {
	double error;
	double at;
};

static void note(struct worst *w, double x, double got, long double exact)
{
	double error = ulps(got, exact);

	if (!(error <= w->error)) {
		w->error = error;
		w->at = x;
	}
}

#define EXPECT_WITHIN(bound, w, what) do {			\
	struct worst w_ = (w);					\
	TH_LOG("%s: %.4f ulp at %a", what, w_.error, w_.at);	\
	EXPECT_TRUE(w_.error <= (bound));			\
} while (0)

static struct worst sweep(double (*f)(double), long double (*exact)(long double),
			  generator next)
{
	struct worst w = { 0, 0 };
	int i;

	random_state = 1;
	for (i = 0; i < POINTS; i++) {
		double x = next();

		note(&w, x, f(x), exact(x));
	}
	return w;
}

static double octant(void)
{
	return (random_unit() - 0.5) * HT_PI / 2;
}

static double usual(void)
{
	return (random_unit() - 0.5) * 2e3;
}

static double medium(void)
{
	return (random_unit() - 0.5) * 0x1p21;
}

static double large(void)
{
	return random_power(20, 64);
}

static double huge(void)
{
	return random_power(64, 1024);
}

static double tiny(void)
{
	return random_power(-1022, -2);
}

/* The doubles next to a multiple of pi/2, where most of the bits cancel. */
static double critical(void)
{
	double x = (double)(roundl(random_power(0, 53)) * (M_PIl / 2));

	switch (random_bits() & 3) {
	case 0:
		return nextafter(x, 0);
	case 1:
		return nextafter(x, INFINITY);
	default:
		return x;
	}
}

TEST(sine)
{
	EXPECT_WITHIN(TRIG_BOUND, sweep(ht_sin, sinl, octant), "first octant");
	EXPECT_WITHIN(TRIG_BOUND, sweep(ht_sin, sinl, usual), "to 1000");
	EXPECT_WITHIN(TRIG_BOUND, sweep(ht_sin, sinl, medium), "to 2^20");
	EXPECT_WITHIN(TRIG_BOUND, sweep(ht_sin, sinl, large), "2^20 to 2^64");
	EXPECT_WITHIN(TRIG_BOUND, sweep(ht_sin, sinl, huge), "2^64 to 2^1024");
	EXPECT_WITHIN(TRIG_BOUND, sweep(ht_sin, sinl, tiny), "tiny");
	EXPECT_WITHIN(TRIG_BOUND, sweep(ht_sin, sinl, critical), "next to n pi/2");
}

TEST(cosine)
{
	EXPECT_WITHIN(TRIG_BOUND, sweep(ht_cos, cosl, octant), "first octant");
	EXPECT_WITHIN(TRIG_BOUND, sweep(ht_cos, cosl, usual), "to 1000");
	EXPECT_WITHIN(TRIG_BOUND, sweep(ht_cos, cosl, medium), "to 2^20");
	EXPECT_WITHIN(TRIG_BOUND, sweep(ht_cos, cosl, large), "2^20 to 2^64");
	EXPECT_WITHIN(TRIG_BOUND, sweep(ht_cos, cosl, huge), "2^64 to 2^1024");
	EXPECT_WITHIN(TRIG_BOUND, sweep(ht_cos, cosl, tiny), "tiny");
	EXPECT_WITHIN(TRIG_BOUND, sweep(ht_cos, cosl, critical), "next to n pi/2");
}

/*
 * The double that comes closest to a multiple of pi/2 of all (Muller,
 * Elementary Functions, table 11.1), and some round ones.
 */
TEST(hard_angles)
{
	static const double x[] = {
		6381956970095103.0 * 0x1p797, 0x1p1023, DBL_MAX, 1e22, 0x1p20,
		1048575.9999999999, 22.0, 355.0, HT_PI / 4, HT_PI / 2, HT_PI,
	};
	struct worst s = { 0, 0 }, c = { 0, 0 };
	unsigned int i;

	for (i = 0; i < HT_COUNT(x); i++) {
		note(&s, x[i], ht_sin(x[i]), sinl(x[i]));
		note(&c, x[i], ht_cos(x[i]), cosl(x[i]));
		note(&s, -x[i], ht_sin(-x[i]), sinl(-x[i]));
		note(&c, -x[i], ht_cos(-x[i]), cosl(-x[i]));
	}
	EXPECT_WITHIN(TRIG_BOUND, s, "sine");
	EXPECT_WITHIN(TRIG_BOUND, c, "cosine");
	/* cos of the hardest one is -4.687e-19 */
	EXPECT_TRUE(fabs(ht_cos(x[0]) + 4.687165924254624e-19) < 1e-33);
}

TEST(sincos_agrees)
{
	int i, differ = 0;

	random_state = 2;
	for (i = 0; i < POINTS; i++) {
		double x = random_power(-20, 80), s, c;

		ht_sincos(x, &s, &c);
		differ += s != ht_sin(x) || c != ht_cos(x);
	}
	EXPECT_EQ(0, differ);
}

/* sin and cos of turns in long double, by symmetry from the first octant. */
static void exact_turns(double turns, long double *s, long double *c)
{
	long double t = turns - floorl(turns), r, sr, cr;
	int quadrant = (int)floorl(4 * t + 0.5L);

	r = t - quadrant * 0.25L;
	sr = sinl(2 * M_PIl * r);
	cr = cosl(2 * M_PIl * r);

	switch (quadrant & 3) {
	case 0:
		*s = sr;
		*c = cr;
		break;
	case 1:
		*s = cr;
		*c = -sr;
		break;
	case 2:
		*s = -sr;
		*c = -cr;
		break;
	default:
		*s = -cr;
		*c = sr;
		break;
	}
}

static void sweep_turns(generator next, struct worst *ws, struct worst *wc)
{
	int i;

	memset(ws, 0, sizeof(*ws));
	memset(wc, 0, sizeof(*wc));
	random_state = 3;
	for (i = 0; i < POINTS; i++) {
		long double es, ec;
		double x = next(), s, c;

		exact_turns(x, &es, &ec);
		ht_sincos_turns(x, &s, &c);
		note(ws, x, s, es);
		note(wc, x, c, ec);
	}
}

static double turn(void)
{
	return random_unit();
}

/* Below 2^-11 a negative number of turns has no exact remainder in [0, 1). */
static double many_turns(void)
{
	return random_power(-10, 60);
}

static double few_turns(void)
{
	double x = random_unit();

	return ldexp(x, -(int)(random_bits() % 60));
}

static double eighths(void)
{
	return nextafter((double)(random_bits() % 4096) / 8, 1e9);
}

TEST(turns)
{
	struct worst s, c;

	sweep_turns(turn, &s, &c);
	EXPECT_WITHIN(TRIG_BOUND, s, "sine in 0 ... 1");
	EXPECT_WITHIN(TRIG_BOUND, c, "cosine in 0 ... 1");
	sweep_turns(many_turns, &s, &c);
	EXPECT_WITHIN(TRIG_BOUND, s, "sine of many turns");
	EXPECT_WITHIN(TRIG_BOUND, c, "cosine of many turns");
	sweep_turns(few_turns, &s, &c);
	EXPECT_WITHIN(TRIG_BOUND, s, "sine of small turns");
	EXPECT_WITHIN(TRIG_BOUND, c, "cosine of small turns");
	sweep_turns(eighths, &s, &c);
	EXPECT_WITHIN(TRIG_BOUND, s, "sine next to eighths");
	EXPECT_WITHIN(TRIG_BOUND, c, "cosine next to eighths");
}

TEST(quarter_turns_are_exact)
{
	static const double s[] = { 0, 1, 0, -1 }, c[] = { 1, 0, -1, 0 };
	double sine, cosine;
	int i;

	for (i = -8; i < 400; i++) {
		ht_sincos_turns(i * 0.25, &sine, &cosine);
		EXPECT_TRUE(sine == s[i & 3]);
		EXPECT_TRUE(cosine == c[i & 3]);
	}
	ht_sincos_turns(0x1p900, &sine, &cosine);
	EXPECT_TRUE(sine == 0 && cosine == 1);
}

/* Where exp is not denormal. */
static double exponent(void)
{
	return -708.3 + random_unit() * (708.3 + 709.7);
}

static double small_exponent(void)
{
	return random_unit() * 2 - 1;
}

TEST(exponential)
{
	EXPECT_WITHIN(EXP_BOUND, sweep(ht_exp, expl, exponent), "-708 to 709");
	EXPECT_WITHIN(EXP_BOUND, sweep(ht_exp, expl, small_exponent), "-1 to 1");
	EXPECT_WITHIN(EXP_BOUND, sweep(ht_exp, expl, tiny), "tiny");
	EXPECT_TRUE(ht_exp(0) == 1);
	EXPECT_TRUE(ht_exp(-0.0) == 1);
	EXPECT_TRUE(ht_exp(710) == INFINITY);
	EXPECT_TRUE(ht_exp(1e308) == INFINITY);
	EXPECT_TRUE(ht_exp(INFINITY) == INFINITY);
	EXPECT_TRUE(ht_exp(-709) == 0);
	EXPECT_TRUE(ht_exp(-INFINITY) == 0);
	EXPECT_TRUE(isnan(ht_exp(NAN)));
	EXPECT_TRUE(ulps(ht_exp(709.782712893384), expl((double)709.782712893384)) <= 1);
}

static double positive(void)
{
	return fabs(random_power(-1022, 1024));
}

static double near_one(void)
{
	return 1 + random_power(-52, -2);
}

static double middling(void)
{
	return 0.5 + random_unit() * 1.5;
}

TEST(logarithm)
{
	EXPECT_WITHIN(LOG_BOUND, sweep(ht_log, logl, positive), "all normal numbers");
	EXPECT_WITHIN(LOG_BOUND, sweep(ht_log, logl, near_one), "next to 1");
	EXPECT_WITHIN(LOG_BOUND, sweep(ht_log, logl, middling), "0.5 to 2");
	EXPECT_TRUE(ht_log(1) == 0);
	EXPECT_TRUE(ht_log(0) == -INFINITY);
	EXPECT_TRUE(ht_log(-0.0) == -INFINITY);
	EXPECT_TRUE(ht_log(0x1p-1040) == -INFINITY);
	EXPECT_TRUE(isnan(ht_log(-1)));
	EXPECT_TRUE(isnan(ht_log(-INFINITY)));
	EXPECT_TRUE(isnan(ht_log(NAN)));
	EXPECT_TRUE(ht_log(INFINITY) == INFINITY);
}

TEST(floor_and_friends)
{
	int i, differ = 0;

	random_state = 4;
	for (i = 0; i < POINTS; i++) {
		double x = random_power(-1022, 1024);

		differ += ht_floor(x) != floor(x);
		x = random_power(-4, 53);
		differ += ht_floor(x) != floor(x);
		x = round(x);
		differ += ht_floor(x) != x;
		differ += !(ht_fraction(x * 1.1) >= 0 && ht_fraction(x * 1.1) < 1);
	}
	EXPECT_EQ(0, differ);
	EXPECT_TRUE(isnan(ht_floor(NAN)));
	EXPECT_TRUE(ht_floor(INFINITY) == INFINITY);
	EXPECT_TRUE(ht_floor(-INFINITY) == -INFINITY);
	EXPECT_TRUE(ht_fraction(-1e-300) >= 0 && ht_fraction(-1e-300) < 1);
	EXPECT_TRUE(ht_fraction(NAN) == 0);
	EXPECT_TRUE(ht_fraction(INFINITY) == 0);
	EXPECT_EQ(0u, ht_index(NAN, 7));
	EXPECT_EQ(0u, ht_index(-1e300, 7));
	EXPECT_EQ(7u, ht_index(1e300, 7));
	EXPECT_EQ(7u, ht_index(INFINITY, 7));
	EXPECT_EQ(6u, ht_index(6.999, 7));
	EXPECT_TRUE(ht_snap(0.003 / 0.001) == 3);
	EXPECT_TRUE(ht_snap(2.5) == 2.5);
	EXPECT_TRUE(isnan(ht_snap(NAN)));
}

TEST(what_is_not_finite)
{
	double s, c;

	EXPECT_TRUE(isnan(ht_sin(INFINITY)) && isnan(ht_cos(-INFINITY)));
	EXPECT_TRUE(isnan(ht_sin(NAN)) && isnan(ht_cos(NAN)));
	ht_sincos(INFINITY, &s, &c);
	EXPECT_TRUE(isnan(s) && isnan(c));
	ht_sincos_turns(-INFINITY, &s, &c);
	EXPECT_TRUE(isnan(s) && isnan(c));
	ht_sincos_turns(NAN, &s, &c);
	EXPECT_TRUE(isnan(s) && isnan(c));
}

TEST_HARNESS_MAIN
