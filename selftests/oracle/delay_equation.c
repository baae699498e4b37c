// SPDX-License-Identifier: GPL-2.0
/*
 * Direct integration of the neutral delay equation (6), and of the emulated
 * system (1)-(2), by the classical Runge-Kutta method.
 *
 * The method of steps: h divides tau, so y''(t - tau) is known on the whole step,
 * and the jumps of y'' (at 0, tau, 2 tau, ...) fall on the grid. It is kept at
 * both ends and in the middle of each step, which is all that the method asks
 * for. In the middle it follows from eq. (6) and Hermite interpolation of the
 * rest, which is of fourth order, too.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pendulum_msd.h"

struct name {
	const char *name;
	size_t offset;
	double preset;
};

static const struct name names[] = {
	{ "M", offsetof(struct pendulum_msd, M), 0.2 },
	{ "C", offsetof(struct pendulum_msd, C), 0.1 },
	{ "K", offsetof(struct pendulum_msd, K), 200 },
	{ "m", offsetof(struct pendulum_msd, m), 0.1 },
	{ "l", offsetof(struct pendulum_msd, l), 0.1955 },
	{ "kappa", offsetof(struct pendulum_msd, kappa), 7.5e-3 },
	{ "g", offsetof(struct pendulum_msd, g), 9.81 },
	{ "a", offsetof(struct pendulum_msd, a), 3 },
	{ "omega", offsetof(struct pendulum_msd, omega), 14 },
	{ "ramp", offsetof(struct pendulum_msd, ramp), 2 },
	{ "theta0", offsetof(struct pendulum_msd, theta0), 0.3 },
	{ "delay", offsetof(struct pendulum_msd, delay), 0.01 },
	{ "rate", offsetof(struct pendulum_msd, rate), 5000 },
	{ "rig_rate", offsetof(struct pendulum_msd, rig_rate), 10000 },
	{ "duration", offsetof(struct pendulum_msd, duration), 20 },
};

static const size_t n_names = sizeof(names) / sizeof(names[0]);

static double *value_of(struct pendulum_msd *p, const struct name *name)
{
	return (double *)((char *)p + name->offset);
}

void pendulum_msd_preset(struct pendulum_msd *p)
{
	size_t i;

	for (i = 0; i < n_names; i++)
		*value_of(p, &names[i]) = names[i].preset;
}

int pendulum_msd_set(struct pendulum_msd *p, const char *assignment)
{
	const char *equals = strchr(assignment, '=');
	size_t length = equals ? (size_t)(equals - assignment) : 0;
	size_t i;
	char *end;

	for (i = 0; equals && i < n_names; i++) {
		if (strlen(names[i].name) != length || strncmp(names[i].name, assignment, length))
			continue;
		*value_of(p, &names[i]) = strtod(equals + 1, &end);
		return end == equals + 1 || *end ? -1 : 0;
	}
	return -1;
}

double pendulum_msd_force(const struct pendulum_msd *p, double t)
{
	double share = t < p->ramp ? t / p->ramp : 1;

	return share * p->a * cos(p->omega * t);
}

double pendulum_msd_latency(const struct pendulum_msd *p)
{
	return 2 / p->rate;
}

/* theta'' by eq. (2), the pivot accelerated by acc. */
static double pendulum_acc(const struct pendulum_msd *p, const struct moment *x, double acc)
{
	return -p->kappa / (p->m * p->l * p->l) * x->theta_rate -
	       (p->g + acc) / p->l * sin(x->theta);
}

/* Eq. (23). */
static double pivot_force(const struct pendulum_msd *p, const struct moment *x, double acc)
{
	return -p->m * acc - p->m * p->l * (pendulum_acc(p, x, acc) * sin(x->theta) +
					    x->theta_rate * x->theta_rate * cos(x->theta));
}

/*
 * y'' of the emulated system, where the pivot's acceleration is y'' itself.
 * F is linear in it: F(acc) = F(0) - m cos^2(theta) acc; so eq. (1) can be solved.
 */
static double emulated_acc(const struct pendulum_msd *p, const struct moment *x, double rest)
{
	double cosine = cos(x->theta);

	return (rest + pivot_force(p, x, 0)) / (p->M + p->m * cosine * cosine);
}

/* Completes a moment of which y, theta and their rates are known; returns theta''. */
static double complete(const struct pendulum_msd *p, struct moment *x, double t,
		       const double *pivot_acc)
{
	double rest = pendulum_msd_force(p, t) - p->C * x->y_rate - p->K * x->y;
	double acc = pivot_acc ? *pivot_acc : emulated_acc(p, x, rest);

	x->force = pivot_force(p, x, acc);
	x->y_acc = (rest + x->force) / p->M;
	return pendulum_acc(p, x, acc);
}

/* Derivatives of y, y', theta, theta'. */
struct slope {
	double of[4];
};

static struct slope slope_at(const struct pendulum_msd *p, struct moment *x, double t,
			     const double *pivot_acc)
{
	double theta_acc = complete(p, x, t, pivot_acc);

	return (struct slope){ { x->y_rate, x->y_acc, x->theta_rate, theta_acc } };
}

static struct moment moved(const struct moment *x, const struct slope *k, double h)
{
	struct moment to = *x;

	to.y += h * k->of[0];
	to.y_rate += h * k->of[1];
	to.theta += h * k->of[2];
	to.theta_rate += h * k->of[3];
	return to;
}

/* Halfway between two values with known derivatives. */
static double middle(double x0, double x1, double rate0, double rate1, double h)
{
	return (x0 + x1) / 2 + h * (rate0 - rate1) / 8;
}

/* Fills the accelerations of a step of which both ends are known. */
static void finish_step(const struct pendulum_msd *p, struct trajectory_step *step,
			struct moment *end, double t, double h, const double *pivot[3])
{
	struct moment *begin = &step->begin, half;
	struct slope k0 = slope_at(p, begin, t, pivot[0]);
	struct slope k1 = slope_at(p, end, t + h, pivot[2]);

	half.y = middle(begin->y, end->y, k0.of[0], k1.of[0], h);
	half.y_rate = middle(begin->y_rate, end->y_rate, k0.of[1], k1.of[1], h);
	half.theta = middle(begin->theta, end->theta, k0.of[2], k1.of[2], h);
	half.theta_rate = middle(begin->theta_rate, end->theta_rate, k0.of[3], k1.of[3], h);
	complete(p, &half, t + h / 2, pivot[1]);
	step->acc_middle = half.y_acc;
	step->acc_end = end->y_acc;
}

static struct moment runge_kutta(const struct pendulum_msd *p, const struct moment *begin, double t,
				 double h, const double *pivot[3])
{
	struct moment x = *begin;
	struct slope k[4], mean;
	int i;

	k[0] = slope_at(p, &x, t, pivot[0]);
	x = moved(begin, &k[0], h / 2);
	k[1] = slope_at(p, &x, t + h / 2, pivot[1]);
	x = moved(begin, &k[1], h / 2);
	k[2] = slope_at(p, &x, t + h / 2, pivot[1]);
	x = moved(begin, &k[2], h);
	k[3] = slope_at(p, &x, t + h, pivot[2]);
	for (i = 0; i < 4; i++)
		mean.of[i] = (k[0].of[i] + 2 * k[1].of[i] + 2 * k[2].of[i] + k[3].of[i]) / 6;
	return moved(begin, &mean, h);
}

/* y'' of the step that lies tau back, at its beginning, middle and end. */
static void look_back(const struct trajectory_step *past, const double *pivot[3])
{
	pivot[0] = &past->begin.y_acc;
	pivot[1] = &past->acc_middle;
	pivot[2] = &past->acc_end;
}

int trajectory_solve(struct trajectory *trajectory, const struct pendulum_msd *p, double tau,
		     double h)
{
	static const struct trajectory_step at_rest;
	size_t lag = tau > 0 ? (size_t)ceil(tau / h - 1e-9) : 0;
	struct moment x = { .theta = p->theta0 };
	size_t i;

	trajectory->system = *p;
	trajectory->tau = tau;
	trajectory->h = lag ? tau / lag : h;
	trajectory->n = (size_t)ceil(p->duration / trajectory->h) + 1;
	trajectory->steps = calloc(trajectory->n, sizeof(*trajectory->steps));
	if (!trajectory->steps)
		return -1;
	for (i = 0; i < trajectory->n; i++) {
		struct trajectory_step *step = &trajectory->steps[i];
		const double *pivot[3] = { NULL, NULL, NULL };
		double t = i * trajectory->h;

		if (lag)
			look_back(i < lag ? &at_rest : step - lag, pivot);
		step->begin = x;
		x = runge_kutta(p, &step->begin, t, trajectory->h, pivot);
		finish_step(p, step, &x, t, trajectory->h, pivot);
	}
	return 0;
}

void trajectory_free(struct trajectory *trajectory)
{
	free(trajectory->steps);
	trajectory->steps = NULL;
}

/* Cubic Hermite interpolation at share s of a step. */
static double between(double x0, double x1, double rate0, double rate1, double h, double s)
{
	double r = 1 - s;

	return r * r * (1 + 2 * s) * x0 + s * s * (1 + 2 * r) * x1 +
	       h * r * s * (r * rate0 - s * rate1);
}

struct moment trajectory_at(const struct trajectory *trajectory, double t)
{
	double h = trajectory->h;
	/* At a jump the later side counts, also if rounding makes t a little early. */
	size_t i = (size_t)floor(t / h + 1e-6);
	const struct trajectory_step *step;
	const struct moment *x0, *x1;
	struct moment x;
	double s;

	if (i > trajectory->n - 2)
		i = trajectory->n - 2;
	step = &trajectory->steps[i];
	x0 = &step->begin;
	x1 = &step[1].begin;
	s = fmax(t / h - i, 0);
	x.y = between(x0->y, x1->y, x0->y_rate, x1->y_rate, h, s);
	x.theta = between(x0->theta, x1->theta, x0->theta_rate, x1->theta_rate, h, s);
	x.y_rate = between(x0->y_rate, x1->y_rate, x0->y_acc, step->acc_end, h, s);
	x.theta_rate = x0->theta_rate + s * (x1->theta_rate - x0->theta_rate);
	/* The parabola through the three. */
	x.y_acc = (1 - s) * (1 - 2 * s) * x0->y_acc + 4 * s * (1 - s) * step->acc_middle +
		  s * (2 * s - 1) * step->acc_end;
	x.force = trajectory->system.M * x.y_acc + trajectory->system.C * x.y_rate +
		  trajectory->system.K * x.y - pendulum_msd_force(&trajectory->system, t);
	return x;
}
