/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Elementary functions of the core, because libm does not exist in the
 * kernel. Accurate to 1 ulp against libm (selftests/core), the same bits
 * wherever they are compiled. Flushed denormals are the only deviation.
 */
#ifndef HT_CORE_MATH_H
#define HT_CORE_MATH_H

#include "types.h"

#define HT_PI		3.14159265358979323846
#define HT_TWO_PI	6.28318530717958647692

/* Correctly rounded: the instruction of the processor. */
static inline double ht_sqrt(double x)
{
	return __builtin_sqrt(x);
}

static inline double ht_fabs(double x)
{
	return __builtin_fabs(x);
}

static inline double ht_min(double a, double b)
{
	return a < b ? a : b;
}

static inline double ht_max(double a, double b)
{
	return a > b ? a : b;
}

static inline double ht_clamp(double x, double low, double high)
{
	return x < low ? low : x > high ? high : x;
}

/* Largest integer not above x. What is not finite stays as it is. */
double ht_floor(double x);

/* Nearest integer if x is so close to it that only rounding can tell. */
static inline double ht_snap(double x)
{
	double n = ht_floor(x + 0.5);

	return ht_fabs(x - n) < 1e-9 ? n : x;
}

/* Part of x in [0, 1); 0 for what is not finite. Wraps phases in turns. */
static inline double ht_fraction(double x)
{
	double part = x - ht_floor(x);

	return part >= 0.0 && part < 1.0 ? part : 0.0;
}

/* Integer part of x within 0 ... last; 0 for NaN: safe as an index. */
static inline ht_u32 ht_index(double x, ht_u32 last)
{
	if (!(x > 0.0))
		return 0;
	return x < (double)last ? (ht_u32)x : last;
}

/* Angles in radian, any finite size; NaN for what is not finite. */
double ht_sin(double x);
double ht_cos(double x);
void ht_sincos(double x, double *sine, double *cosine);
/* Angle in turns: exact reduction, for phase accumulators. */
void ht_sincos_turns(double turns, double *sine, double *cosine);
double ht_exp(double x);
double ht_log(double x);

#endif
