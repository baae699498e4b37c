// SPDX-License-Identifier: GPL-2.0
/*
 * Running a loop and counting what it costs: see measure.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

#define BEAT_MS		100
#define SPIN_ROUNDS	8
#define SPIN_TURNS	50000000ul	/* of two instructions: 0.1 s in icount mode */

void must(const char *what, int error)
{
	if (!error)
		return;
	fprintf(stderr, "bench: %s: %s\n", what, strerror(error));
	exit(1);
}

/* One of the two states, and not tripped. */
static struct hytest_status check_state(const struct view *view, enum hytest_state one,
					enum hytest_state other)
{
	const struct hytest_status status = view_status(view);

	if (status.state == one || status.state == other)
		return status;
	fprintf(stderr, "bench: the loop is in state %u, tripped by %s at tick %llu\n",
		status.state, ht_cause_text(status.trip.cause),
		(unsigned long long)status.trip.tick);
	exit(1);
}

static void beat(int fd)
{
	must("heartbeat", loop_ioctl(fd, HYTEST_IOC_HEARTBEAT, NULL));
}

void start_loop(int fd)
{
	must("arm", loop_arm(fd, 0));
	must("start", loop_ioctl(fd, HYTEST_IOC_START, NULL));
}

void stop_loop(int fd, const struct view *view)
{
	must("stop", loop_ioctl(fd, HYTEST_IOC_STOP, NULL));
	sleep_ms(1);
	while (check_state(view, HYTEST_STOPPING, HYTEST_LOADED).state != HYTEST_LOADED) {
		beat(fd);
		sleep_ms(BEAT_MS);
	}
}

struct hytest_status let_run(int fd, const struct view *view)
{
	sleep_ms(BEAT_MS);
	beat(fd);
	return check_state(view, HYTEST_RUNNING, HYTEST_RUNNING);
}

struct hytest_status run_idle(int fd, const struct view *view, uint64_t ticks)
{
	struct hytest_status status;

	do
		status = let_run(fd, view);
	while (status.tick < ticks);
	return status;
}

/* The same number of instructions each time. */
static uint64_t spin_ns(void)
{
	unsigned long turns = SPIN_TURNS;
	const uint64_t begin = now_ns();

	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r" (turns) : : "cc");
	return now_ns() - begin;
}

static uint64_t tick_of(const struct view *view)
{
	return __atomic_load_n(&view->status->tick, __ATOMIC_RELAXED);
}

struct cost measure_cost(int fd, const struct view *view, uint64_t settle_ticks)
{
	uint64_t alone_ns = 0, shared_ns = 0, first;
	struct cost cost = { 0 };
	int i;

	for (i = 0; i < SPIN_ROUNDS; i++)
		alone_ns += spin_ns();
	start_loop(fd);
	run_idle(fd, view, settle_ticks);
	for (i = 0; i < SPIN_ROUNDS; i++) {
		beat(fd);
		first = tick_of(view);
		shared_ns += spin_ns();
		cost.ticks += tick_of(view) - first;
	}
	check_state(view, HYTEST_RUNNING, HYTEST_RUNNING);
	stop_loop(fd, view);
	if (cost.ticks)
		cost.per_tick = ((double)shared_ns - (double)alone_ns) / (double)cost.ticks;
	return cost;
}
