// SPDX-License-Identifier: GPL-2.0
/*
 * oracle: what the pendulum and mass-spring-damper test should do, and whether a
 * log of it agrees. See usage() below. Numbers go to stdout as comments of KTAP;
 * exit status 0: it agrees, 1: it does not, 2: usage.
 */
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pendulum_msd.h"

#define TRAJECTORY_TOLERANCE	0.01	/* of the peak */
#define NOISE			0.05	/* m/s^2, of y'' */
#define GROWTH_TOLERANCE	0.05	/* of the rate that eq. (8) predicts */

static const double pi = 3.14159265358979323846;

static void usage(FILE *to)
{
	fputs("Usage: oracle COMMAND [LOG] [NAME=VALUE]...\n"
	      "\n"
	      "  equation       solution of eq. (6): t, y, y'', theta, F in columns\n"
	      "  emulated       the same of (1)-(2)\n"
	      "  accuracy       how exact these are: steps against half as long ones\n"
	      "  critical       critical delay by the characteristic equation\n"
	      "  latency        of the sampled loop, s\n"
	      "  follow LOG     does the run follow eq. (6)?\n"
	      "  growth LOG     rate of growth of the vibration near pi / tau, 1/s\n"
	      "  essential LOG  did it diverge as eq. (8) says, and end safely?\n"
	      "  compare LOG OTHER\n"
	      "                 are the signals of two logs the same bits?\n"
	      "\n"
	      "LOG: a log of hytest, or the word model: a model of the sampled loop.\n"
	      "NAME: M C K m l kappa g a omega ramp theta0 delay rate rig_rate duration;\n"
	      "preset as in user/experiments/pendulum-coupled.cfg.\n", to);
}

static double total_delay(const struct pendulum_msd *p)
{
	return p->delay + pendulum_msd_latency(p);
}

/* Steps that are short enough by far: see the command accuracy. */
static double fine_step(const struct pendulum_msd *p)
{
	return fmin(1 / p->rate, 2e-4);
}

static int print_trajectory(const struct pendulum_msd *p, double tau)
{
	struct trajectory trajectory;
	double t;

	if (trajectory_solve(&trajectory, p, tau, fine_step(p)))
		return 1;
	printf("# t y y_acc theta F; tau = %.6g s\n", tau);
	for (t = 0; t <= p->duration; t += 0.005) {
		struct moment x = trajectory_at(&trajectory, t);

		printf("%.6f %.9g %.9g %.9g %.9g\n", t, x.y, x.y_acc, x.theta, x.force);
	}
	trajectory_free(&trajectory);
	return 0;
}

/* Largest difference of two motions, and the peak of the first. */
struct distance {
	double y, theta, y_peak, theta_peak;
};

static void add_distance(struct distance *d, double y, double theta, double other_y,
			 double other_theta)
{
	d->y = fmax(d->y, fabs(y - other_y));
	d->theta = fmax(d->theta, fabs(theta - other_theta));
	d->y_peak = fmax(d->y_peak, fabs(y));
	d->theta_peak = fmax(d->theta_peak, fabs(theta));
}

static void print_distance(const char *what, const struct distance *d)
{
	printf("# %-36s y %.3g m (%.3g %% of the peak), theta %.3g rad (%.3g %%)\n", what, d->y,
	       100 * d->y / d->y_peak, d->theta, 100 * d->theta / d->theta_peak);
}

static struct distance between(const struct trajectory *one, const struct trajectory *other)
{
	struct distance d = { 0, 0, 0, 0 };
	double t;

	for (t = 0; t <= one->system.duration; t += 1e-3) {
		struct moment x = trajectory_at(one, t), z = trajectory_at(other, t);

		add_distance(&d, x.y, x.theta, z.y, z.theta);
	}
	return d;
}

/* Difference of solutions for two delays or two steps. */
static int difference(const char *what, const struct pendulum_msd *p, double tau, double h,
		      double other_tau, double other_h, struct distance *d)
{
	struct trajectory one, other;

	if (trajectory_solve(&one, p, tau, h))
		return -1;
	if (trajectory_solve(&other, p, other_tau, other_h)) {
		trajectory_free(&one);
		return -1;
	}
	*d = between(&one, &other);
	print_distance(what, d);
	trajectory_free(&one);
	trajectory_free(&other);
	return 0;
}

static int accuracy(const struct pendulum_msd *p)
{
	double tau = total_delay(p), h = fine_step(p), worst = 0;
	struct distance d;
	int i;

	for (i = 2; i >= 0; i--) {
		printf("# steps of %.3g s against half as long ones\n", h * (1 << i));
		if (difference("eq. (6)", p, tau, h * (1 << i), tau, h * (1 << i) / 2, &d))
			return 1;
		worst = fmax(d.y / d.y_peak, d.theta / d.theta_peak);
		if (difference("eq. (1)-(2)", p, 0, h * (1 << i), 0, h * (1 << i) / 2, &d))
			return 1;
		worst = fmax(worst, fmax(d.y / d.y_peak, d.theta / d.theta_peak));
	}
	return worst < 1e-5 ? 0 : 1;
}

static int critical(const struct pendulum_msd *p)
{
	struct crossing c = critical_delay(p);
	struct root root = characteristic_root(p, c.tau, (struct root){ 0, c.frequency });
	struct root later = characteristic_root(p, 1.01 * c.tau, root);

	if (c.tau < 0) {
		printf("# m / M = %.4g: unstable or stable for any delay\n", p->m / p->M);
		return 1;
	}
	printf("# m / M = %.4g: critical delay %.6g s at %.6g rad/s; there lambda = %.1e + %.6g i, "
	       "1 %% later %.3g + %.6g i (residual %.0e)\n", p->m / p->M, c.tau, c.frequency,
	       root.growth, root.frequency, later.growth, later.frequency,
	       characteristic_residual(p, 1.01 * c.tau, later));
	printf("%.9g %.9g\n", c.tau, c.frequency);
	return 0;
}

static struct distance run_from(const struct run *run, const struct trajectory *trajectory)
{
	struct distance d = { 0, 0, 0, 0 };
	size_t k;

	for (k = 0; k < run->running; k++) {
		struct moment x = trajectory_at(trajectory, k * run->period);

		add_distance(&d, x.y, x.theta, run->y[k], run->theta[k]);
	}
	return d;
}

static int follow_one(const char *what, const struct run *run, const struct pendulum_msd *p,
		      double tau, struct distance *d)
{
	struct trajectory trajectory;

	if (trajectory_solve(&trajectory, p, tau, fine_step(p)))
		return -1;
	*d = run_from(run, &trajectory);
	print_distance(what, d);
	trajectory_free(&trajectory);
	return 0;
}

/* The run must be of the length and rate that it is compared with. */
static int fits(const struct run *run, const struct pendulum_msd *p)
{
	double seconds = run->running * run->period;

	printf("# run: %zu ticks, %.6g s\n", run->running, seconds);
	return fabs(run->period * p->rate - 1) < 1e-6 && seconds > 0.99 * p->duration;
}

/* Also for other delays: the right one must fit better than one that is a tick off. */
static int follow(const struct run *run, const struct pendulum_msd *p)
{
	double tau = total_delay(p), tick = 1 / p->rate;
	struct pendulum_msd longer = *p;
	struct distance d, emulated, half, less, more, far;

	longer.duration = fmax(p->duration, run->running * run->period);
	if (follow_one("run from eq. (6)", run, &longer, tau, &d) ||
	    follow_one("run from (6), tau half a tick less", run, &longer, tau - tick / 2, &half) ||
	    follow_one("run from (6), tau one tick less", run, &longer, tau - tick, &less) ||
	    follow_one("run from (6), tau one tick more", run, &longer, tau + tick, &more) ||
	    follow_one("run from (6), tau 5 ms more", run, &longer, tau + 5e-3, &far) ||
	    follow_one("run from the emulated (1)-(2)", run, &longer, 0, &emulated))
		return 1;
	printf("# peaks of (6): y %.4g m, theta %.4g rad; tau = %.6g s\n", d.y_peak, d.theta_peak,
	       tau);
	return fits(run, p) && d.y <= TRAJECTORY_TOLERANCE * d.y_peak &&
	       d.theta <= TRAJECTORY_TOLERANCE * d.theta_peak && d.y < less.y && d.y < more.y ?
	       0 : 1;
}

/* Amplitude of y'' at a frequency, in n records from the first on, Hann window. */
static double amplitude(const struct run *run, size_t first, size_t n, double frequency)
{
	double real = 0, imaginary = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		double window = 1 - cos(2 * pi * (i + 0.5) / n);
		double phase = frequency * i * run->period;

		real += window * run->y_acc[first + i] * cos(phase);
		imaginary += window * run->y_acc[first + i] * sin(phase);
	}
	return 2 * hypot(real, imaginary) / n;
}

/* Of y'' about its mean in the n records that end with record last. */
static double deviation(const struct run *run, size_t last, size_t n)
{
	double mean = 0, squares = 0;
	size_t i;

	for (i = 0; i < n; i++)
		mean += run->y_acc[last - i] / n;
	for (i = 0; i < n; i++)
		squares += pow(run->y_acc[last - i] - mean, 2);
	return sqrt(squares / n);
}

/*
 * From two windows that follow each other, after the first oscillation. Far below
 * the critical delay there is nothing near pi / tau but the noise of the converters:
 * there all of y'' counts.
 */
static int growth(const struct run *run, const struct pendulum_msd *p)
{
	double tau = total_delay(p), frequency = pi / tau;
	size_t first = (size_t)(2 * tau / run->period);
	size_t n = run->running > first ? (run->running - first) / 2 : 0;
	double before, after, rate;

	if (n * run->period < 2 * tau) {
		fprintf(stderr, "oracle: the run is too short for a rate of growth\n");
		return 1;
	}
	before = amplitude(run, first, n, frequency);
	after = amplitude(run, first + n, n, frequency);
	if (fmax(before, after) < NOISE) {
		before = deviation(run, first + n - 1, n);
		after = deviation(run, first + 2 * n - 1, n);
		frequency = 0;
	}
	rate = log(after / before) / (n * run->period);
	printf("# tau %.6g s: %.4g, then %.4g m/s^2 ", tau, before, after);
	printf(frequency > 0 ? "at %.4g rad/s" : "in all", frequency);
	printf("; growth %.4g 1/s\n", rate);
	printf("%.9g\n", rate);
	return 0;
}

/* Outputs end at zero, and after the trip they never get larger. */
static int ends_safely(const struct run *run)
{
	size_t k;

	printf("# trip: %s; %zu records later outputs are y %.6g m, y_acc %.6g m/s^2\n", run->trip,
	       run->n - run->running, run->out_y[run->n - 1], run->out_y_acc[run->n - 1]);
	if (!run->trip[0] || run->out_y[run->n - 1] != 0 || run->out_y_acc[run->n - 1] != 0)
		return 0;
	for (k = run->running + 1; k < run->n; k++)
		if (fabs(run->out_y[k]) > fabs(run->out_y[k - 1]) ||
		    fabs(run->out_y_acc[k]) > fabs(run->out_y_acc[k - 1]))
			return 0;
	return 1;
}

/*
 * Eq. (8): u(t) = -(m / M) cos^2 theta u(t - tau), so the mean of its logarithm
 * over tau is the rate of growth of every fast mode. It is compared over the last
 * factor of 30 before the trip.
 */
static int essential(const struct run *run, const struct pendulum_msd *p)
{
	double tau = total_delay(p), asymptotic = log(p->m / p->M) / tau, measured, end;
	struct root slowest = characteristic_root(p, tau, (struct root){ asymptotic, pi / tau });
	double predicted = 0;
	size_t window = (size_t)lround(2 * tau / run->period);
	size_t last = run->running - 1, first = last, k;

	if (run->running < 2 * window)
		return 1;
	end = deviation(run, last, window);
	while (first > window && deviation(run, first, window) > end / 30)
		first--;
	measured = log(end / deviation(run, first, window)) / ((last - first) * run->period);
	for (k = first; k < last; k++)
		predicted += log(p->m / p->M * pow(cos(run->theta[k]), 2)) / tau / (last - first);
	printf("# m / M = %.4g: y'' from %.3g to %.3g m/s^2 within %.4g s, trip at %.4g s\n",
	       p->m / p->M, deviation(run, first, window), end, (last - first) * run->period,
	       last * run->period);
	printf("# growth %.4g 1/s; eq. (8) with the theta of the run: %.4g 1/s; tau = %.6g s\n",
	       measured, predicted, tau);
	printf("# at theta = 0: %.4g 1/s by eq. (8), |m / M|^(1 / tau) = %.3g each second; slowest "
	       "such root %.4g + %.4g i\n", asymptotic, pow(p->m / p->M, 1 / tau), slowest.growth,
	       slowest.frequency);
	return ends_safely(run) && fabs(measured / predicted - 1) <= GROWTH_TOLERANCE ? 0 : 1;
}

static int with_run(const char *command, const char *log, const struct pendulum_msd *p)
{
	struct run run;
	int result = 2;

	if (strcmp(log, "model") ? run_read(&run, log) : run_model(&run, p))
		return 1;
	if (!strcmp(command, "follow"))
		result = follow(&run, p);
	else if (!strcmp(command, "growth"))
		result = growth(&run, p);
	else if (!strcmp(command, "essential"))
		result = essential(&run, p);
	run_free(&run);
	return result;
}

static int without_run(const char *command, const struct pendulum_msd *p)
{
	if (!strcmp(command, "equation"))
		return print_trajectory(p, total_delay(p));
	if (!strcmp(command, "emulated"))
		return print_trajectory(p, 0);
	if (!strcmp(command, "accuracy"))
		return accuracy(p);
	if (!strcmp(command, "critical"))
		return critical(p);
	if (strcmp(command, "latency"))
		return 2;
	printf("%.9g\n", pendulum_msd_latency(p));
	return 0;
}

int main(int argc, char **argv)
{
	const char *logs[2] = { NULL, NULL };
	struct pendulum_msd p;
	int i, n_logs = 0, result = 2;

	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	pendulum_msd_preset(&p);
	for (i = 2; i < argc; i++) {
		if (!pendulum_msd_set(&p, argv[i]))
			continue;
		if (strchr(argv[i], '=') || n_logs == 2) {
			fprintf(stderr, "oracle: %s: not NAME=VALUE with a known name\n", argv[i]);
			return 2;
		}
		logs[n_logs++] = argv[i];
	}
	if (argc > 1 && n_logs == 2 && !strcmp(argv[1], "compare"))
		result = run_compare(logs[0], logs[1]) ? 1 : 0;
	else if (argc > 1 && n_logs == 1)
		result = with_run(argv[1], logs[0], &p);
	else if (argc > 1 && !n_logs)
		result = without_run(argv[1], &p);
	if (result == 2)
		usage(stderr);
	return result;
}
