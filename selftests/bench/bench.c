// SPDX-License-Identifier: GPL-2.0
/*
 * What a tick costs: runs an experiment, or loops bound to IIO, on /dev/hytest0 and
 * prints one JSON object. Made for the icount mode of scripts/vm, where an instruction
 * takes 1 ns of virtual time; see scripts/bench.
 *
 * Usage: bench FILE|--iio [TICKS]
 *
 * lateness, step: the histograms of the status page after TICKS ticks on a
 *	machine that is idle otherwise.
 * cost: what a busy program of the same CPU loses to each tick, everything
 *	included: interrupt, timer, guard, program, record, and the way back.
 * --iio: see iio.c
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiment.h"
#include "measure.h"

#define DEFAULT_TICKS	100000

static void print_histogram(const char *name, const struct hytest_histogram *h)
{
	printf("\"%s\": { \"count\": %llu, \"mean\": %.1f, \"min\": %llu, \"max\": %llu }, ", name,
	       (unsigned long long)h->count, h->count ? (double)h->sum / (double)h->count : 0,
	       (unsigned long long)h->min, (unsigned long long)h->max);
}

static void print_result(const char *path, const struct hytest_status *status,
			 const struct cost *cost)
{
	printf("{ \"file\": \"%s\", ", path);
	printf("\"ticks\": %llu, \"missed\": %llu, \"overruns\": %llu, ",
	       (unsigned long long)status->tick, (unsigned long long)status->missed,
	       (unsigned long long)status->overruns);
	print_histogram("lateness", &status->lateness);
	print_histogram("step", &status->step);
	printf("\"cost\": { \"ticks\": %llu, \"mean\": %.1f } }\n", (unsigned long long)cost->ticks,
	       cost->per_tick);
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

static void bench_file(int fd, const char *path, uint64_t ticks)
{
	const uint64_t settle_ticks = load(fd, path);
	struct hytest_status status;
	struct view view;
	struct cost cost;

	must("map", view_open(&view, fd));
	start_loop(fd);
	status = run_idle(fd, &view, ticks);
	stop_loop(fd, &view);
	cost = measure_cost(fd, &view, settle_ticks);
	print_result(path, &status, &cost);
	view_close(&view);
}

int main(int argc, char **argv)
{
	const uint64_t ticks = argc > 2 ? strtoull(argv[2], NULL, 10) : DEFAULT_TICKS;
	int fd;

	if (argc < 2 || argc > 3 || !ticks) {
		fprintf(stderr, "usage: bench FILE|--iio [TICKS]\n");
		return 2;
	}
	fd = loop_open_control(0);
	if (fd < 0)
		must("/dev/hytest0", errno);
	if (!strcmp(argv[1], "--iio"))
		bench_iio(fd, ticks);
	else
		bench_file(fd, argv[1], ticks);
	close(fd);
	return 0;
}
