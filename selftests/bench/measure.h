/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For benchmarks in the icount mode of scripts/vm, where an instruction takes 1 ns
 * of virtual time: running a loop and counting what it costs. What fails ends the
 * program.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "loop.h"

/* error: an errno, 0: all is well. */
void must(const char *what, int error);

void start_loop(int fd);
void stop_loop(int fd, const struct view *view);
/* Beats the loop's heart and lets it run for a while. It must not have tripped. */
struct hytest_status let_run(int fd, const struct view *view);
/* The machine idle otherwise, until this tick has come. */
struct hytest_status run_idle(int fd, const struct view *view, uint64_t ticks);

/* What a busy program of the same CPU loses. */
struct cost {
	uint64_t ticks;
	double per_tick;	/* ns, that is instructions */
};

/* Starts the loop, begins to count after the first ticks, stops it. */
struct cost measure_cost(int fd, const struct view *view, uint64_t settle_ticks);

/* iio.c: all that concerns IIO, as one JSON object. */
void bench_iio(int fd, uint64_t ticks);

#endif
