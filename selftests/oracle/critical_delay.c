// SPDX-License-Identifier: GPL-2.0
/*
 * Stability of eq. (6) about y = 0, theta = 0 without force.
 *
 * There theta enters the first equation only to second order, and y the second
 * only times theta: they decouple, and theta'' + kappa / (m l^2) theta' +
 * g / l theta = 0 is stable. What is left, with y = exp(lambda t), is
 *
 *	(M + m exp(-lambda tau)) lambda^2 + C lambda + K = 0.
 *
 * On the imaginary axis, lambda = i w, the modulus of
 *
 *	exp(-i w tau) = (K - M w^2 + i C w) / (m w^2)
 *
 * must be 1: (M^2 - m^2) w^4 + (C^2 - 2 K M) w^2 + K^2 = 0. For m < M and little
 * damping it has two roots, near w^2 = K / (M + m) and near w^2 = K / (M - m). At
 * the first the phase w tau is just below 2 pi, at the second just above pi, and
 * w is larger there: the second one is the critical crossing.
 */
#include <complex.h>
#include <math.h>

#include "pendulum_msd.h"

/* Smallest delay that puts a root to i w. */
static double delay_of(const struct pendulum_msd *p, double w)
{
	double phase = -atan2(p->C * w, p->K - p->M * w * w);

	if (phase <= 0)
		phase += 2 * acos(-1);
	return phase / w;
}

struct crossing critical_delay(const struct pendulum_msd *p)
{
	double a = p->M * p->M - p->m * p->m;
	double b = p->C * p->C - 2 * p->K * p->M;
	double discriminant = b * b - 4 * a * p->K * p->K;
	struct crossing first = { -1, 0 };
	int sign;

	if (a <= 0 || discriminant < 0)
		return first;
	for (sign = -1; sign <= 1; sign += 2) {
		double square = (-b + sign * sqrt(discriminant)) / (2 * a);
		double w, tau;

		if (square <= 0)
			continue;
		w = sqrt(square);
		tau = delay_of(p, w);
		if (first.tau < 0 || tau < first.tau)
			first = (struct crossing){ tau, w };
	}
	return first;
}

static double complex left_side(const struct pendulum_msd *p, double tau, double complex x)
{
	return (p->M + p->m * cexp(-x * tau)) * x * x + p->C * x + p->K;
}

static double complex left_side_slope(const struct pendulum_msd *p, double tau, double complex x)
{
	double complex late = p->m * cexp(-x * tau);

	return 2 * (p->M + late) * x - tau * late * x * x + p->C;
}

struct root characteristic_root(const struct pendulum_msd *p, double tau, struct root guess)
{
	double complex x = guess.growth + I * guess.frequency;
	int i;

	for (i = 0; i < 50; i++)
		x -= left_side(p, tau, x) / left_side_slope(p, tau, x);
	return (struct root){ creal(x), cimag(x) };
}

double characteristic_residual(const struct pendulum_msd *p, double tau, struct root root)
{
	double complex x = root.growth + I * root.frequency;

	return cabs(left_side(p, tau, x)) / (p->K + p->M * cabs(x * x));
}
