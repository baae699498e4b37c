/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pendulum and mass-spring-damper of Sieber & Krauskopf, "Tracking
 * oscillations in the presence of delay-induced essential instability", computed
 * from the paper alone: nothing of the core is used here, so that the two can be
 * held against each other. SI units; equation numbers are the paper's.
 */
#ifndef ORACLE_PENDULUM_MSD_H
#define ORACLE_PENDULUM_MSD_H

#include <stddef.h>

/* The system and the run, named as in user/experiments/pendulum-coupled.cfg. */
struct pendulum_msd {
	double M, C, K;		/* mass-spring-damper, computed */
	double m, l, kappa;	/* pendulum, on the rig */
	double g;
	double a, omega;	/* force a cos(omega t) on M ... */
	double ramp;		/* ... which fades in over so many seconds */
	double theta0;		/* angle at t = 0, at rest */
	double delay;		/* of the table */
	double rate;		/* of the loop */
	double rig_rate;	/* steps of the rig */
	double duration;
};

/* The file's values. */
void pendulum_msd_preset(struct pendulum_msd *p);
/* Takes "NAME=VALUE": 0, or -1 if there is no such name or it is no number. */
int pendulum_msd_set(struct pendulum_msd *p, const char *assignment);
double pendulum_msd_force(const struct pendulum_msd *p, double t);

/*
 * Total delay in eq. (5) of the sampled loop with period T = 1 / rate.
 *
 * Tick k computes with the sample of tick k - 1. That sample shows the table
 * before the command of tick k - 1 acts, hence (zero-order hold, table late by
 * delay = n T) the acceleration of the command of tick k - 2 - n. So the
 * acceleration in the measured force of eq. (23) is older than that being
 * computed by delay + 2 T, exactly. This is the delay that decides on stability.
 *
 * The motion of the pendulum sees half a period less, for a held command acts
 * half a period late in the mean and not a whole one. As (6) has one delay for
 * both, the difference is printed with the comparison.
 */
double pendulum_msd_latency(const struct pendulum_msd *p);

/* State and what follows from it, at one moment. */
struct moment {
	double y, y_rate, y_acc;
	double theta, theta_rate;
	double force;		/* F of eq. (23) */
};

/* Solution on a grid. Accelerations may jump there, hence three in each step. */
struct trajectory_step {
	struct moment begin;
	double acc_middle, acc_end;
};

struct trajectory {
	struct pendulum_msd system;
	double tau;
	double h;
	size_t n;
	struct trajectory_step *steps;
};

/*
 * Equation (6) for tau > 0, (1)-(2) for tau = 0, from rest at theta0 with
 * y = 0 for t <= 0, by steps of at most h. 0, or -1 without memory.
 */
int trajectory_solve(struct trajectory *trajectory, const struct pendulum_msd *p, double tau,
		     double h);
void trajectory_free(struct trajectory *trajectory);
/* Within 0 ... duration. */
struct moment trajectory_at(const struct trajectory *trajectory, double t);

/* A root lambda of the characteristic equation: rate of growth and frequency. */
struct root {
	double growth;		/* 1/s */
	double frequency;	/* rad/s */
};

/* Smallest delay with a root on the imaginary axis; tau < 0: there is none. */
struct crossing {
	double tau;
	double frequency;
};

struct crossing critical_delay(const struct pendulum_msd *p);
/* The root next to a guess, by Newton's method. */
struct root characteristic_root(const struct pendulum_msd *p, double tau, struct root guess);
/* |left side| of the equation at the root, relative to its largest term. */
double characteristic_residual(const struct pendulum_msd *p, double tau, struct root root);

/* What a run recorded, one value for each tick. */
struct run {
	double period;
	size_t n;
	size_t running;		/* records until the run was stopped or tripped */
	double *y, *y_acc, *theta, *force;
	double *out_y, *out_y_acc;	/* outputs as applied */
	char trip[256];
};

/* 0, or -1 with a message on stderr. */
int run_read(struct run *run, const char *log);
/* A model of the sampled loop instead of a log, from the paper and the rig's header. */
int run_model(struct run *run, const struct pendulum_msd *p);
int run_allocate(struct run *run, size_t n);
void run_free(struct run *run);
/*
 * Prints the largest difference of each column while both ran. Number of columns that
 * differ; -1 if they cannot be compared or one of the runs ended early.
 */
int run_compare(const char *log, const char *other);

#endif
