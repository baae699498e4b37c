// SPDX-License-Identifier: GPL-2.0
/*
 * A model of the sampled loop: what the product should do, tick by tick, with
 * ideal converters or such of 16 bits. It stands in for a log, so that the
 * comparisons can be tried, and broken, without the product.
 *
 * The mass-spring-damper by Newmark's average acceleration; the pendulum by
 * Runge-Kutta steps of the rig with the acceleration held.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pendulum_msd.h"

struct structure {
	double y, rate, acc;
};

struct swing {
	double theta, rate, force;
};

/* One tick of M y'' + C y' + K y = load, eq. (3). */
static void newmark(const struct pendulum_msd *p, struct structure *s, double load, double period)
{
	double y = s->y + period * s->rate + period * period / 4 * s->acc;
	double rate = s->rate + period / 2 * s->acc;

	s->acc = (load - p->C * rate - p->K * y) /
		 (p->M + p->C * period / 2 + p->K * period * period / 4);
	s->rate = rate + period / 2 * s->acc;
	s->y = y + period * period / 4 * s->acc;
}

static double theta_acc(const struct pendulum_msd *p, double theta, double rate, double acc)
{
	return -p->kappa / (p->m * p->l * p->l) * rate - (p->g + acc) / p->l * sin(theta);
}

/* One step of the rig with the pivot's acceleration held, eq. (2) and (23). */
static void swing_step(const struct pendulum_msd *p, struct swing *s, double acc, double h)
{
	double k1 = s->rate, j1 = theta_acc(p, s->theta, s->rate, acc);
	double k2 = s->rate + h / 2 * j1;
	double j2 = theta_acc(p, s->theta + h / 2 * k1, k2, acc);
	double k3 = s->rate + h / 2 * j2;
	double j3 = theta_acc(p, s->theta + h / 2 * k2, k3, acc);
	double k4 = s->rate + h * j3;
	double j4 = theta_acc(p, s->theta + h * k3, k4, acc);

	s->theta += h * (k1 + 2 * k2 + 2 * k3 + k4) / 6;
	s->rate += h * (j1 + 2 * j2 + 2 * j3 + j4) / 6;
	s->force = -p->m * acc -
		   p->m * p->l * (theta_acc(p, s->theta, s->rate, acc) * sin(s->theta) +
				  s->rate * s->rate * cos(s->theta));
}

/* A converter of 16 bits over +-10 V, with a gain in SI units per volt. */
static double converted(double x, double gain)
{
	double lsb = gain * 20 / 65536;

	return lsb * fmin(fmax(round(x / lsb), -32768), 32767);
}

/* Commands before the first are zero. */
static double command_at(const double *commands, long step)
{
	return step < 0 ? 0 : commands[step];
}

int run_model(struct run *run, const struct pendulum_msd *p)
{
	size_t n = (size_t)(p->duration * p->rate);
	long substeps = lround(p->rig_rate / p->rate), late = lround(p->delay * p->rig_rate);
	double *commands = calloc(n * substeps + 1, sizeof(*commands));
	struct structure msd = { 0, 0, 0 };
	struct swing swing = { p->theta0, 0, 0 };
	double sample, sampled_theta, held;
	long step = 0, s;
	size_t k;

	if (!commands || run_allocate(run, n)) {
		free(commands);
		return -1;
	}
	run->period = 1 / p->rate;
	run->running = n;
	swing_step(p, &swing, 0, 0);	/* the force in the initial state */
	sample = converted(swing.force, 2);
	sampled_theta = converted(swing.theta, 0.4);
	for (k = 0; k < n; k++) {
		run->theta[k] = sampled_theta;
		run->force[k] = sample;
		newmark(p, &msd, pendulum_msd_force(p, k / p->rate) + sample, 1 / p->rate);
		run->y[k] = msd.y;
		run->y_acc[k] = msd.acc;
		run->out_y[k] = msd.y;
		run->out_y_acc[k] = msd.acc;
		sample = converted(swing.force, 2);
		sampled_theta = converted(swing.theta, 0.4);
		held = converted(msd.acc, 10);
		for (s = 0; s < substeps; s++, step++) {
			commands[step] = held;
			swing_step(p, &swing, command_at(commands, step - late), 1 / p->rig_rate);
		}
		if (fabs(msd.acc) > 90 && k + 2 < n) {
			run->running = k + 1;
			run->n = k + 2;		/* with zeros: outputs are cut */
			snprintf(run->trip, sizeof(run->trip), "model: acceleration");
			break;
		}
	}
	free(commands);
	return 0;
}

int run_allocate(struct run *run, size_t n)
{
	double **columns[] = { &run->y, &run->y_acc, &run->theta, &run->force, &run->out_y,
			       &run->out_y_acc };
	size_t i;

	memset(run, 0, sizeof(*run));
	run->n = n;
	for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		*columns[i] = calloc(n ? n : 1, sizeof(double));
		if (!*columns[i]) {
			run_free(run);
			return -1;
		}
	}
	return 0;
}

void run_free(struct run *run)
{
	free(run->y);
	free(run->y_acc);
	free(run->theta);
	free(run->force);
	free(run->out_y);
	free(run->out_y_acc);
	memset(run, 0, sizeof(*run));
}
