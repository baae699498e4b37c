// SPDX-License-Identifier: GPL-2.0
/*
 * Elementary functions in double precision, without libm.
 *
 * Every function reduces its argument to a small interval, carrying what does
 * not fit into one double in a second one, sums a Taylor series there and
 * puts the pieces together so that only the last addition rounds at the size
 * of the result:
 *
 *	sin, cos	x = n pi/2 + r, |r| <= pi/4; below 2^20 with pi/2 in four
 *			pieces (Cody and Waite, Software Manual for the
 *			Elementary Functions, 1980), above it with the bits of
 *			2/pi that matter (Payne and Hanek, Radian Reduction for
 *			Trigonometric Functions, SIGNUM Newsletter 18, 1983)
 *	exp		x = k ln 2 + r, |r| <= ln 2 / 2
 *	log		x = 2^k m, log m = 2 artanh((m - 1) / (m + 1))
 *
 * Sums and products without error are those of Dekker (A Floating-Point
 * Technique for Extending the Available Precision, Numer. Math. 18, 1971).
 * Fused multiply-add must be off and the rounding to nearest.
 */
#include "math.h"

#define TWO_52		4503599627370496.0
/* Added and taken away again, it rounds to an integer. */
#define ROUNDER		6755399441055744.0

#define TWO_OVER_PI	(0x1.45f306dc9c883p-1)
#define PIO2_1		(0x1.921fb544p+0)		/* 33 bits each, */
#define PIO2_2		(0x1.0b4611a6p-34)
#define PIO2_3		(0x1.3198a2ep-69)
#define PIO2_4		(0x1.b839a252049c1p-104)	/* and the rest */
#define PIO2_HIGH	(0x1.921fb54442d18p+0)
#define PIO2_LOW	(0x1.1a62633145c07p-54)
#define TWO_PI_HIGH	(0x1.921fb54442d18p+2)
#define TWO_PI_LOW	(0x1.1a62633145c07p-52)
#define LN2_HIGH	(0x1.62e42fefa38p-1)	/* 42 bits */
#define LN2_LOW		(0x1.ef35793c7673p-45)
#define ONE_OVER_LN2	(0x1.71547652b82fep+0)

/* A number as the sum of two, |low| at most half an ulp of high. */
struct pair {
	double high;
	double low;
};

static double from_bits(ht_u64 bits)
{
	union ht_real r = { .bits = bits };

	return r.value;
}

/* a + b exactly, whichever is larger. */
static struct pair exact_sum(double a, double b)
{
	struct pair s;
	double part;

	s.high = a + b;
	part = s.high - a;
	s.low = (a - (s.high - part)) + (b - part);
	return s;
}

/* a + b exactly, for |a| >= |b|. */
static struct pair exact_sum_ordered(double a, double b)
{
	struct pair s;

	s.high = a + b;
	s.low = b - (s.high - a);
	return s;
}

static struct pair split(double a)
{
	double t = 134217729.0 * a;
	struct pair s;

	s.high = t - (t - a);
	s.low = a - s.high;
	return s;
}

/* a * b exactly, for factors of moderate size. */
static struct pair exact_product(double a, double b)
{
	struct pair x = split(a);
	struct pair y = split(b);
	struct pair p;

	p.high = a * b;
	p.low = ((x.high * y.high - p.high) + x.high * y.low +
		 x.low * y.high) + x.low * y.low;
	return p;
}

double ht_floor(double x)
{
	double n;

	/* Already an integer, or not a number. */
	if (!(ht_fabs(x) < TWO_52))
		return x;
	n = (double)(ht_s64)x;
	return n > x ? n - 1.0 : n;
}

/*
 * 2/pi in binary behind 64 zero bits, which stand for the places before its
 * point that arguments below 2^64 reach.
 */
static const ht_u64 two_over_pi[] = {
	0x0000000000000000ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull,
	0xdb6295993c439041ull, 0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull,
	0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull,
	0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull,
	0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull,
	0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull,
	0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull,
};

/* 64 bits of the table from this bit on. */
static ht_u64 table_bits(ht_u32 first)
{
	ht_u32 word = first / 64;
	ht_u32 shift = first % 64;

	if (!shift)
		return two_over_pi[word];
	return two_over_pi[word] << shift | two_over_pi[word + 1] >> (64 - shift);
}

/* Low 64 bits of a * b; the high ones are added to *carry. */
static ht_u64 multiply(ht_u64 a, ht_u64 b, ht_u64 *carry)
{
	ht_u64 a0 = a & 0xffffffffu, a1 = a >> 32;
	ht_u64 b0 = b & 0xffffffffu, b1 = b >> 32;
	ht_u64 low = a0 * b0;
	ht_u64 mid = a1 * b0 + (low >> 32);
	ht_u64 mid2 = a0 * b1 + (mid & 0xffffffffu);

	*carry += a1 * b1 + (mid >> 32) + (mid2 >> 32);
	return mid2 << 32 | (low & 0xffffffffu);
}

/*
 * x = m 2^e with an integer m. Bits of 2/pi so far left that their product
 * with x is a multiple of 4 do not matter; 192 bits are taken from there on,
 * and m times them, modulo 2^192, is x 2/pi modulo 4 with 190 places.
 * The closest that a double comes to a multiple of pi/2 is 2^-62, hence more
 * than 70 good bits remain.
 */
static ht_u32 reduce_large(double x, struct pair *r)
{
	ht_u64 bits = ht_bits(x);
	ht_u64 m = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
	int e = (int)(bits >> 52 & 0x7ff) - 1075;
	ht_u32 first = (ht_u32)(e + 62);
	ht_u64 w[3], carry = 0, sum;
	struct pair f, p;
	ht_u32 quadrant, zeros;
	int negative;

	w[2] = multiply(m, table_bits(first + 128), &carry);
	sum = carry;
	carry = 0;
	w[1] = multiply(m, table_bits(first + 64), &carry) + sum;
	carry += w[1] < sum;
	w[0] = m * table_bits(first) + carry;

	/* Quadrant and signed fraction within -1/2 ... 1/2. */
	quadrant = (ht_u32)(w[0] >> 62);
	w[0] = w[0] << 2 | w[1] >> 62;
	w[1] = w[1] << 2 | w[2] >> 62;
	w[2] <<= 2;
	negative = w[0] >> 63;
	if (negative) {
		quadrant++;
		w[2] = ~w[2] + 1;
		w[1] = ~w[1] + !w[2];
		w[0] = ~w[0] + (!w[1] && !w[2]);
	}

	/* Leading zeros away; the fraction is w / 2^192 / 2^zeros. */
	zeros = 0;
	if (!w[0]) {
		w[0] = w[1];
		w[1] = w[2];
		w[2] = 0;
		zeros = 64;
	}
	if (w[0] && !(w[0] >> 63)) {
		ht_u32 shift = (ht_u32)__builtin_clzll(w[0]);

		w[0] = w[0] << shift | w[1] >> (64 - shift);
		w[1] = w[1] << shift | w[2] >> (64 - shift);
		zeros += shift;
	}
	f.high = (double)(ht_s64)(w[0] >> 11) * 0x1p-53;
	f.low = (double)(ht_s64)((w[0] & 0x7ff) << 42 | w[1] >> 22) * 0x1p-106;

	p = exact_product(f.high, PIO2_HIGH);
	p.low += f.high * PIO2_LOW + f.low * PIO2_HIGH;
	*r = exact_sum_ordered(p.high, p.low);
	/* 2^-zeros, exactly */
	x = from_bits((ht_u64)(1023 - zeros) << 52);
	if (negative)
		x = -x;
	r->high *= x;
	r->low *= x;
	return quadrant & 3;
}

static ht_u32 reduce_medium(double x, struct pair *r)
{
	double n = (x * TWO_OVER_PI + ROUNDER) - ROUNDER;
	struct pair a = exact_sum(x - n * PIO2_1, -(n * PIO2_2));
	struct pair b = exact_sum(a.high, -(n * PIO2_3));

	*r = exact_sum_ordered(b.high, b.low + a.low - n * PIO2_4);
	return (ht_u32)(ht_s32)n & 3;
}

/* Remainder of a finite x to the nearest multiple of pi/2, and which one. */
static ht_u32 reduce(double x, struct pair *r)
{
	double size = ht_fabs(x);
	ht_u32 quadrant;

	if (size <= HT_PI / 4) {
		r->high = x;
		r->low = 0.0;
		return 0;
	}
	if (size < 1048576.0)
		return reduce_medium(x, r);
	quadrant = reduce_large(size, r);
	if (x >= 0.0)
		return quadrant;
	r->high = -r->high;
	r->low = -r->low;
	return (4 - quadrant) & 3;
}

/* sin(r) for |r| <= pi/4: r - r^3/3! + ... + r^17/17! */
static double sine_series(struct pair r)
{
	double z = r.high * r.high;
	double s;

	s = 1.0 / 355687428096000.0;
	s = s * z - 1.0 / 1307674368000.0;
	s = s * z + 1.0 / 6227020800.0;
	s = s * z - 1.0 / 39916800.0;
	s = s * z + 1.0 / 362880.0;
	s = s * z - 1.0 / 5040.0;
	s = s * z + 1.0 / 120.0;
	s = s * z - 1.0 / 6.0;
	return r.high + (r.high * z * s + r.low * (1.0 - 0.5 * z));
}

/* cos(r) for |r| <= pi/4: 1 - r^2/2! + ... + r^16/16! */
static double cosine_series(struct pair r)
{
	double z = r.high * r.high;
	double half = 0.5 * z;
	struct pair a = exact_sum_ordered(1.0, -half);
	double s;

	s = 1.0 / 20922789888000.0;
	s = s * z - 1.0 / 87178291200.0;
	s = s * z + 1.0 / 479001600.0;
	s = s * z - 1.0 / 3628800.0;
	s = s * z + 1.0 / 40320.0;
	s = s * z - 1.0 / 720.0;
	s = s * z + 1.0 / 24.0;
	return a.high + (a.low + (z * z * s - r.high * r.low));
}

static void sincos_quadrant(ht_u32 quadrant, struct pair r, double *sine,
			    double *cosine)
{
	double s = sine_series(r);
	double c = cosine_series(r);

	switch (quadrant) {
	case 0:
		*sine = s;
		*cosine = c;
		break;
	case 1:
		*sine = c;
		*cosine = -s;
		break;
	case 2:
		*sine = -s;
		*cosine = -c;
		break;
	default:
		*sine = -c;
		*cosine = s;
		break;
	}
}

void ht_sincos(double x, double *sine, double *cosine)
{
	struct pair r;
	ht_u32 quadrant;

	if (!ht_finite(&x)) {
		*sine = x - x;
		*cosine = x - x;
		return;
	}
	quadrant = reduce(x, &r);
	sincos_quadrant(quadrant, r, sine, cosine);
}

double ht_sin(double x)
{
	struct pair r;
	ht_u32 quadrant;
	double s;

	if (!ht_finite(&x))
		return x - x;
	quadrant = reduce(x, &r);
	s = quadrant & 1 ? cosine_series(r) : sine_series(r);
	return quadrant & 2 ? -s : s;
}

double ht_cos(double x)
{
	struct pair r;
	ht_u32 quadrant;
	double c;

	if (!ht_finite(&x))
		return x - x;
	quadrant = reduce(x, &r);
	c = quadrant & 1 ? sine_series(r) : cosine_series(r);
	return quadrant == 1 || quadrant == 2 ? -c : c;
}

void ht_sincos_turns(double turns, double *sine, double *cosine)
{
	struct pair r, angle;
	double n;

	if (!ht_finite(&turns)) {
		*sine = turns - turns;
		*cosine = turns - turns;
		return;
	}
	/* Both differences are exact: n / 4 is the nearest quarter turn. */
	if (ht_fabs(turns) > 1.0)
		turns -= ht_floor(turns);
	n = (4.0 * turns + ROUNDER) - ROUNDER;
	turns -= 0.25 * n;

	r = exact_product(turns, TWO_PI_HIGH);
	angle = exact_sum_ordered(r.high, r.low + turns * TWO_PI_LOW);
	sincos_quadrant((ht_u32)(ht_s32)n & 3, angle, sine, cosine);
}

double ht_exp(double x)
{
	struct pair r, a;
	double k, s, z;
	ht_s64 power;

	if (x != x)
		return x;
	if (x > 0x1.62e42fefa39efp+9)		/* log of the largest double */
		return from_bits(0x7ff0000000000000ull);
	if (x < -0x1.6232bdd7abcd2p+9)		/* log of the smallest normal */
		return 0.0;

	k = (x * ONE_OVER_LN2 + ROUNDER) - ROUNDER;
	r = exact_sum(x - k * LN2_HIGH, -(k * LN2_LOW));
	z = r.high;

	/* 1 + z + z^2 (1/2! + z/3! + ... + z^12/14!) */
	s = 1.0 / 87178291200.0;
	s = s * z + 1.0 / 6227020800.0;
	s = s * z + 1.0 / 479001600.0;
	s = s * z + 1.0 / 39916800.0;
	s = s * z + 1.0 / 3628800.0;
	s = s * z + 1.0 / 362880.0;
	s = s * z + 1.0 / 40320.0;
	s = s * z + 1.0 / 5040.0;
	s = s * z + 1.0 / 720.0;
	s = s * z + 1.0 / 120.0;
	s = s * z + 1.0 / 24.0;
	s = s * z + 1.0 / 6.0;
	s = s * z + 0.5;
	a = exact_sum_ordered(1.0, z);
	s = a.high + (a.low + (r.low + z * z * s));

	/* 2^k in two steps, because 2^1024 is too large and s may be below 1 */
	power = (ht_s64)k;
	s *= from_bits((ht_u64)(power / 2 + 1023) << 52);
	return s * from_bits((ht_u64)(power - power / 2 + 1023) << 52);
}

double ht_log(double x)
{
	ht_u64 bits = ht_bits(x);
	double k, m, f, s, z, q;
	struct pair a;

	if (x != x)
		return x;
	if (x < 0x1p-1022) {
		/* Denormal numbers count as zero. */
		if (x > -0x1p-1022)
			return from_bits(0xfff0000000000000ull);
		return from_bits(0x7ff8000000000000ull);
	}
	if (!ht_finite(&x))
		return x;

	/* m within sqrt(1/2) ... sqrt(2) */
	k = (double)((ht_s64)(bits >> 52) - 1023);
	m = from_bits((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
	if (m > 1.4142135623730951) {
		m *= 0.5;
		k += 1.0;
	}

	/*
	 * With s = f / (2 + f) it is 2 artanh(s) = 2 s + s q, and
	 * 2 s = f - s f, where f = m - 1 has no error.
	 */
	f = m - 1.0;
	s = f / (2.0 + f);
	z = s * s;
	q = 2.0 / 23.0;
	q = q * z + 2.0 / 21.0;
	q = q * z + 2.0 / 19.0;
	q = q * z + 2.0 / 17.0;
	q = q * z + 2.0 / 15.0;
	q = q * z + 2.0 / 13.0;
	q = q * z + 2.0 / 11.0;
	q = q * z + 2.0 / 9.0;
	q = q * z + 2.0 / 7.0;
	q = q * z + 2.0 / 5.0;
	q = q * z + 2.0 / 3.0;
	q = q * z;
	a = exact_sum(k * LN2_HIGH, f);
	return a.high + (a.low - (s * (f - q) - k * LN2_LOW));
}
