// SPDX-License-Identifier: GPL-2.0
/*
 * What a tick costs: runs an experiment on /dev/hytest0 and prints one JSON
 * object. Made for the icount mode of scripts/vm, where an instruction takes
 * 1 ns of virtual time; see scripts/bench.
 *
 * Usage: bench FILE [TICKS]
 *
 * lateness, step: the histograms of the status page after TICKS ticks on a
 *	machine that is idle otherwise.
 * cost: what a busy program of the same CPU loses to each tick, everything
 *	included: interrupt, timer, guard, program, record, and the way back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiment.h"
#include "loop.h"

#define DEFAULT_TICKS	100000
#define BEAT_MS		100
#define SPIN_ROUNDS	8
#define SPIN_TURNS	50000000ul	/* of two instructions: 0.1 s in icount mode */

static void fail(const char *what, int error)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(error));
	exit(1);
}

static void must(const char *what, int error)
{
	if (error)
		fail(what, error);
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

static void start(int fd)
{
	must("arm", loop_arm(fd, 0));
	must("start", loop_ioctl(fd, HYTEST_IOC_START, NULL));
}

static void stop(int fd, const struct view *view)
{
	must("stop", loop_ioctl(fd, HYTEST_IOC_STOP, NULL));
	sleep_ms(1);
	while (check_state(view, HYTEST_STOPPING, HYTEST_LOADED).state != HYTEST_LOADED) {
		beat(fd);
		sleep_ms(BEAT_MS);
	}
}

/* Runs on an idle machine until the tick has come. */
static struct hytest_status run_idle(int fd, const struct view *view, uint64_t ticks)
{
	struct hytest_status status;

	do {
		sleep_ms(BEAT_MS);
		beat(fd);
		status = check_state(view, HYTEST_RUNNING, HYTEST_RUNNING);
	} while (status.tick < ticks);
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

struct cost {
	uint64_t alone_ns;	/* SPIN_ROUNDS of spinning without the loop */
	uint64_t shared_ns;	/* with the loop */
	uint64_t ticks;		/* while it did */
};

static uint64_t tick_of(const struct view *view)
{
	return __atomic_load_n(&view->status->tick, __ATOMIC_RELAXED);
}

static struct cost measure_cost(int fd, const struct view *view, uint64_t settle_ticks)
{
	struct cost cost = { 0 };
	uint64_t first;
	int i;

	for (i = 0; i < SPIN_ROUNDS; i++)
		cost.alone_ns += spin_ns();
	start(fd);
	run_idle(fd, view, settle_ticks);
	for (i = 0; i < SPIN_ROUNDS; i++) {
		beat(fd);
		first = tick_of(view);
		cost.shared_ns += spin_ns();
		cost.ticks += tick_of(view) - first;
	}
	check_state(view, HYTEST_RUNNING, HYTEST_RUNNING);
	stop(fd, view);
	return cost;
}

static void print_histogram(const char *name, const struct hytest_histogram *h)
{
	printf("\"%s\": { \"count\": %llu, \"mean\": %.1f, \"min\": %llu, \"max\": %llu }, ", name,
	       (unsigned long long)h->count, h->count ? (double)h->sum / (double)h->count : 0,
	       (unsigned long long)h->min, (unsigned long long)h->max);
}

static void print_result(const char *path, const struct hytest_status *status,
			 const struct cost *cost)
{
	const double lost_ns = (double)cost->shared_ns - (double)cost->alone_ns;

	printf("{ \"file\": \"%s\", ", path);
	printf("\"ticks\": %llu, \"missed\": %llu, \"overruns\": %llu, ",
	       (unsigned long long)status->tick, (unsigned long long)status->missed,
	       (unsigned long long)status->overruns);
	print_histogram("lateness", &status->lateness);
	print_histogram("step", &status->step);
	printf("\"cost\": { \"ticks\": %llu, \"mean\": %.1f } }\n", (unsigned long long)cost->ticks,
	       cost->ticks ? lost_ns / (double)cost->ticks : 0);
}

static uint64_t load(int fd, const char *path)
{
	struct hytest_experiment *experiment;
	const struct ht_image_header *header;
	struct hytest_message message;
	struct hytest_load load;
	uint64_t settle_ticks;
	size_t size;

	experiment = hytest_experiment_read(path, NULL, 0, &message);
	if (!experiment) {
		fprintf(stderr, "%s\n", message.text);
		exit(2);
	}
	header = hytest_experiment_image(experiment, &size);
	must("load", loop_load_bytes(fd, header, size, &load));
	settle_ticks = header->soft_start_ticks + 1;
	hytest_experiment_free(experiment);
	return settle_ticks;
}

int main(int argc, char **argv)
{
	const uint64_t ticks = argc > 2 ? strtoull(argv[2], NULL, 10) : DEFAULT_TICKS;
	struct hytest_status status;
	uint64_t settle_ticks;
	struct view view;
	struct cost cost;
	int fd;

	if (argc < 2 || argc > 3 || !ticks) {
		fprintf(stderr, "usage: bench FILE [TICKS]\n");
		return 2;
	}
	fd = loop_open_control(0);
	if (fd < 0)
		fail("/dev/hytest0", errno);
	settle_ticks = load(fd, argv[1]);
	must("map", view_open(&view, fd));
	start(fd);
	status = run_idle(fd, &view, ticks);
	stop(fd, &view);
	cost = measure_cost(fd, &view, settle_ticks);
	print_result(argv[1], &status, &cost);
	view_close(&view);
	close(fd);
	return 0;
}
