/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the sim backend, of logs and of replay share: a small
 * program, and a run of it that is logged.
 */
#ifndef SELFTESTS_REHEARSE_H
#define SELFTESTS_REHEARSE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../kmod/core/loop.h"
#include "../../user/experiment.h"
#include "../../user/libhytest.h"
#include "../../user/log.h"
#include "../../user/param_names.h"

#define PERIOD_NS 1000000ull	/* of the program below */

/* A mass on a spring that is pushed; 1 kHz. */
static const char rehearse_text[] =
	"title = \"Rehearsal\";\n"
	"loop = { rate = 1000.0; heartbeat = 0.0; soft_start = 0.01; soft_stop = 0.02;\n"
	"	 history = 0.512; post_trip = 0.005; };\n"
	"blocks = (\n"
	"	{ name = \"push\"; type = \"fourier\"; out = [\"force\"]; units = [\"N\"];\n"
	"	  omega = 12.0; sin = [3.0]; ramp = 0.1; },\n"
	"	{ name = \"hum\"; type = \"noise\"; out = [\"hum\"]; units = [\"N\"]; seed = 7;\n"
	"	  sigma = 0.5; },\n"
	"	{ name = \"load\"; type = \"matrix\"; in = [\"force\", \"hum\"]; out = [\"p\"];\n"
	"	  units = [\"N\"]; A = [1.0, 1.0]; },\n"
	"	{ name = \"mass\"; type = \"structure\"; in = [\"p\"]; out = [\"x\", \"v\"];\n"
	"	  units = [\"m\", \"m/s\"]; M = 2.0; C = 2.0; K = 2000.0; }\n"
	");\n"
	"outputs = ( { signal = \"x\"; safe = 0.001; min = -0.01; max = 0.01; ramp = 0.1; } );\n"
	"interlocks = (\n"
	"	{ name = \"stroke\"; kind = \"range\"; signal = \"x\"; low = -0.5; high = 0.5; },\n"
	"	{ name = \"push_limit\"; kind = \"range\"; signal = \"force\"; low = -50.0;\n"
	"	  high = 50.0; action = \"hold\"; }\n"
	");\n";

/* A run in the making. */
struct rehearsal {
	struct hytest_experiment *experiment;
	const void *image;
	size_t image_size;
	struct hytest_loop *loop;
	struct hytest_reader *reader;
	struct hytest_log *log;
	void *records;
	struct hytest_status status;
	struct hytest_message message;
	uint64_t n_records;
};

static inline int rehearse_add_rigs(struct rehearsal *r)
{
	const struct hytest_rig_program *rigs;
	size_t i, n = hytest_experiment_rigs(r->experiment, &rigs);

	for (i = 0; i < n; i++)
		if (hytest_sim_add_rig(r->loop, rigs[i].name, rigs[i].image, rigs[i].size))
			return -1;
	return 0;
}

/* Takes over the experiment; its rigs stand before the loop. */
static inline int rehearse_open_experiment(struct rehearsal *r, struct hytest_experiment *e)
{
	r->experiment = e;
	if (!e) {
		fprintf(stderr, "%s\n", r->message.text);
		return -1;
	}
	r->image = hytest_experiment_image(r->experiment, &r->image_size);
	r->loop = hytest_open_sim();
	if (!r->loop || hytest_take_control(r->loop) || rehearse_add_rigs(r) ||
	    hytest_load(r->loop, r->image, r->image_size))
		return -1;
	r->reader = hytest_reader_new(r->loop);
	r->records = malloc(64 * hytest_reader_record_size(r->reader));
	return r->records ? 0 : -1;
}

/* Overrides may be NULL. */
static inline int rehearse_open_text(struct rehearsal *r, const char *text,
				     const char *const *overrides, size_t n)
{
	memset(r, 0, sizeof(*r));
	return rehearse_open_experiment(r, hytest_experiment_parse(text, "rehearse.cfg", overrides,
								   n, &r->message));
}

static inline int rehearse_open(struct rehearsal *r, const char *const *overrides, size_t n)
{
	return rehearse_open_text(r, rehearse_text, overrides, n);
}

static inline int rehearse_start(struct rehearsal *r, const char *log_path)
{
	const struct hytest_log_about about = {
		.image = r->image,
		.image_size = r->image_size,
		.experiment = hytest_experiment_text(r->experiment),
		.title = hytest_experiment_title(r->experiment),
		.backend = "sim",
	};
	const struct timespec start = { .tv_sec = 1000000000 };

	if (log_path) {
		r->log = hytest_log_create(log_path, &about, &r->message);
		if (!r->log) {
			fprintf(stderr, "%s\n", r->message.text);
			return -1;
		}
	}
	if (hytest_arm(r->loop, 0, 10, NULL) || hytest_start(r->loop) ||
	    hytest_get_status(r->loop, &r->status))
		return -1;
	return r->log ? hytest_log_started(r->log, r->status.start_ns, &start) : 0;
}

static inline int rehearse_drain(struct rehearsal *r)
{
	struct hytest_event events[16];
	long n;

	do {
		n = hytest_read_events(r->loop, events, 16);
		if (n > 0 && r->log && hytest_log_events(r->log, events, n))
			return -1;
	} while (n > 0);
	do {
		n = hytest_reader_read(r->reader, r->records, 64);
		if (n > 0 && r->log && hytest_log_records(r->log, r->records, n))
			return -1;
		r->n_records += n > 0 ? n : 0;
	} while (n > 0);
	return n < 0 ? -1 : hytest_get_status(r->loop, &r->status);
}

/* Until this tick is the next one, or the loop stands. */
static inline int rehearse_until(struct rehearsal *r, uint64_t tick)
{
	uint64_t before;

	while (r->status.tick < tick) {
		before = r->status.tick;
		if (hytest_wait(r->loop, (tick - before) * PERIOD_NS) < 0 || rehearse_drain(r))
			return -1;
		if (r->status.tick == before && r->status.state != HYTEST_RUNNING &&
		    r->status.state != HYTEST_STOPPING && r->status.safe)
			break;
	}
	return 0;
}

static inline int rehearse_change(struct rehearsal *r, const char *name, double value,
				  uint64_t tick)
{
	struct hytest_change change = { .value = hytest_bits(value) };
	uint32_t number;
	int result;

	if (hytest_param_find(r->image, name, &change.param))
		return -1;
	result = hytest_change(r->loop, &change, 1, tick, &number);
	if (!result && r->log)
		result = hytest_log_batch(r->log, number, &change, 1);
	return result;
}

static inline int rehearse_end(struct rehearsal *r)
{
	int result = 0;

	if (r->log)
		result = hytest_log_close(r->log, &r->status, hytest_reader_lost(r->reader),
					  &r->message);
	r->log = NULL;
	return result;
}

static inline void rehearse_close(struct rehearsal *r)
{
	rehearse_end(r);
	hytest_reader_free(r->reader);
	hytest_close(r->loop);
	if (r->experiment)
		hytest_experiment_free(r->experiment);
	free(r->records);
}

/* Soft stop, to the end. */
static inline int rehearse_stop(struct rehearsal *r)
{
	if (hytest_stop(r->loop))
		return -1;
	return rehearse_until(r, r->status.tick + 1000);
}

/* A name for a file of this test, which does not exist. */
static inline void rehearse_path(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/hytest-%s-%d.h5", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
		 name, getpid());
	unlink(path);
}

#endif
