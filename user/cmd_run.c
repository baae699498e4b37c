// SPDX-License-Identifier: GPL-2.0
/*
 * hytest run FILE: takes control, loads, arms, starts, records, stops.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../kmod/core/loop.h"
#include "blackbox.h"
#include "commands.h"
#include "experiment.h"
#include "heartbeat.h"
#include "iio_triggers.h"
#include "json.h"
#include "libhytest.h"
#include "log.h"
#include "options.h"
#include "report.h"
#include "words.h"

#define DRY_TICKS	1000
#define RECORDS		1024		/* copied at a time */
#define EVENTS		64
#define NS_PER_S	1000000000ull
#define WAIT_NS		20000000ull
#define QUIET_NS	60000000ull	/* no record for so long: the timer stands */

static const struct hytest_usage usage = {
	.command = "run",
	.arguments = "FILE [OPTIONS]",
	.text =
	"Run an experiment: take control of the loop, load, arm, start, record, stop.\n"
	"Ctrl-C (or SIGTERM) stops it softly, a second Ctrl-C trips it.\n"
	"\n"
	"  --backend kernel|sim where it runs: /dev/hytestN, or in this process\n"
	"  --device N           /dev/hytestN, default 0\n"
	"  --seconds S          how long, default as in FILE; 0: until stopped\n"
	"  --log F              write an HDF5 log; F must not exist\n"
	"  --realtime           sim only: as fast as the clock, not as fast as possible\n"
	"  --set PATH=VALUE     override a value of FILE, any number of times\n"
	"  --black-box DIR      after a trip the last seconds, cause and events are saved\n"
	"                       in DIR, made if absent; default $HYTEST_BLACK_BOX, or else\n"
	"                       /var/lib/hytest/black-box; sim: only if DIR is given\n"
	"  --no-black-box       save nothing\n"
	"\n"
	"Inputs and outputs are bound to the IIO devices that FILE names (hytest devices\n"
	"shows them; hytest rig FILE makes simulated ones); for the time of the run devices\n"
	"that are scanned get the loop's trigger. In sim the rigs of FILE stand in for them.\n"
	"\n"
	"Example: hytest run user/experiments/first-loop.cfg --backend sim --seconds 10 \\\n"
	"                    --log run.h5 --set loop.rate=2000\n",
	.takes = HYTEST_TAKES_SET | HYTEST_TAKES_BACKEND | HYTEST_TAKES_DEVICE |
		 HYTEST_TAKES_RUN | HYTEST_TAKES_BLACK_BOX,
	.min_arguments = 1,
	.max_arguments = 1,
};

struct run {
	const struct hytest_options *options;
	struct hytest_experiment *experiment;
	const void *image;
	size_t image_size;
	const struct ht_image_header *header;
	struct hytest_loop *loop;
	struct hytest_reader *reader;
	struct hytest_log *log;
	struct hytest_heart *heart;
	struct hytest_triggers *triggers;
	unsigned char *records;
	struct hytest_status status;

	const struct hytest_scheduled *scheduled;
	size_t n_scheduled;
	size_t next_scheduled;
	uint32_t last_batch;	/* handed to the loop */

	uint64_t stop_tick;	/* 0: until stopped */
	bool stopping;		/* a soft stop was asked for */
	bool tripping;
	uint64_t quiet_ns;	/* since the last record */
	uint64_t n_records;
	uint64_t begin_ns;	/* real time */
	uint64_t progress_ns;
	char failure[512];	/* why the run was stopped before its time */
	char *black_box;	/* path of what was saved */
};

static volatile sig_atomic_t interrupts;	/* SIGINT */
static volatile sig_atomic_t terminations;	/* the others */

static void note_signal(int number)
{
	if (number == SIGINT)
		interrupts++;
	else
		terminations++;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = note_signal };

	interrupts = 0;
	terminations = 0;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	/* A reader of our output that goes away must not trip the loop. */
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
}

static uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* The last CPU that is online: the least likely to be busy with interrupts. */
static unsigned int last_cpu(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/online", "r");
	unsigned int cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	char text[256] = "";
	char *last;

	if (!file)
		return cpu;
	if (fgets(text, sizeof(text), file)) {
		last = strrchr(text, ',') ? strrchr(text, ',') + 1 : text;
		last = strchr(last, '-') ? strchr(last, '-') + 1 : last;
		cpu = strtoul(last, NULL, 10);
	}
	fclose(file);
	return cpu;
}

static unsigned int choose_cpu(const struct run *run)
{
	int cpu = hytest_experiment_cpu(run->experiment);

	return cpu < 0 ? last_cpu() : (unsigned int)cpu;
}

static int fail_loop(const struct run *run)
{
	return hytest_fail(run->options, HYTEST_EXIT_FAILED, "%s", hytest_error(run->loop));
}

/* Reads the experiment and prepares what does not need a loop. -1: go on. */
static int prepare(struct run *run)
{
	const struct hytest_options *o = run->options;
	struct hytest_message message;
	double seconds;

	run->experiment = hytest_experiment_read(o->arguments[0], o->set, o->n_set, &message);
	if (!run->experiment)
		return hytest_fail(o, HYTEST_EXIT_USAGE, "%s", message.text);
	if (o->log && !access(o->log, F_OK))
		return hytest_fail(o, HYTEST_EXIT_USAGE,
				   "--log %s exists: choose another name or remove it", o->log);
	if (o->realtime && !o->sim)
		return hytest_fail(o, HYTEST_EXIT_USAGE,
				   "--realtime is for --backend sim: the kernel always is");
	run->image = hytest_experiment_image(run->experiment, &run->image_size);
	if (!run->image)
		return hytest_fail(o, HYTEST_EXIT_USAGE,
				   "%s has rigs only and no loop to run: hytest rig %s makes them",
				   o->arguments[0], o->arguments[0]);
	run->header = run->image;
	run->n_scheduled = hytest_experiment_schedule(run->experiment, &run->scheduled);
	seconds = o->seconds < 0 ? hytest_experiment_duration(run->experiment) : o->seconds;
	if (seconds > 0) {
		run->stop_tick = ceil(seconds * 1e9 / run->header->period_ns - 1e-6);
		if (!run->stop_tick)
			run->stop_tick = 1;
	}
	run->records = calloc(RECORDS, sizeof(struct hytest_record) +
			      8 * ((size_t)run->header->n_records + run->header->n_outputs));
	return run->records ? -1 : hytest_fail(o, HYTEST_EXIT_FAILED, "no memory for records");
}

/* A rehearsal leaves a black box only where it is told to. */
static void save_black_box(struct run *run)
{
	const struct hytest_options *o = run->options;
	enum hytest_black_box_result result;
	struct hytest_black_box box;

	if (o->no_black_box || (o->sim && !o->black_box))
		return;
	result = hytest_black_box_save(run->loop, o->black_box, &box);
	if (result == HYTEST_BLACK_BOX_FAILED) {
		fprintf(stderr, "hytest: %s\n", box.message.text);
		return;
	}
	run->black_box = strdup(box.path);
	if (result == HYTEST_BLACK_BOX_SAVED)
		fprintf(stderr, "hytest: black box saved: %s\n", box.path);
}

/* A loop that tripped stays so until somebody has understood why. */
static int refuse_tripped(struct run *run)
{
	void *image = NULL;
	char text[256];
	size_t size;
	int status;

	/* Its supervisor may have died. */
	hytest_black_box_wait(run->loop);
	save_black_box(run);
	if (hytest_get_image(run->loop, &image, &size))
		image = NULL;
	hytest_trip_text(image, &run->status.trip, text, sizeof(text));
	free(image);
	status = hytest_fail(run->options, HYTEST_EXIT_TRIPPED,
			     "the loop is tripped: %s; acknowledge it with hytest ack --device %u",
			     text, run->options->device);
	return status;
}

/* In sim the rigs of the file stand in for devices. -1: go on. */
static int add_rigs(struct run *run)
{
	const struct hytest_rig_program *rigs;
	size_t i, n = hytest_experiment_rigs(run->experiment, &rigs);

	for (i = 0; i < n; i++)
		if (hytest_sim_add_rig(run->loop, rigs[i].name, rigs[i].image, rigs[i].size))
			return fail_loop(run);
	return -1;
}

/* Up to the loaded program. -1: go on. */
static int load(struct run *run)
{
	const struct hytest_options *o = run->options;
	char text[256] = "no memory";

	run->loop = o->sim ? hytest_open_sim() : hytest_open(o->device, true, text, sizeof(text));
	if (!run->loop)
		return hytest_fail(o, HYTEST_EXIT_FAILED, "%s", text);
	if (hytest_take_control(run->loop) || hytest_get_status(run->loop, &run->status))
		return fail_loop(run);
	if (run->status.state == HYTEST_TRIPPED)
		return refuse_tripped(run);
	if (o->sim && add_rigs(run) >= 0)
		return HYTEST_EXIT_FAILED;
	if (hytest_load(run->loop, run->image, run->image_size))
		return fail_loop(run);
	run->reader = hytest_reader_new(run->loop);
	if (!run->reader)
		return hytest_fail(o, HYTEST_EXIT_FAILED, "no memory");
	hytest_reader_record_size(run->reader);
	return -1;
}

static int create_log(struct run *run)
{
	const struct hytest_log_about about = {
		.image = run->image,
		.image_size = run->image_size,
		.experiment = hytest_experiment_text(run->experiment),
		.title = hytest_experiment_title(run->experiment),
		.backend = hytest_backend_name(run->loop),
	};
	struct hytest_message message;

	if (!run->options->log)
		return -1;
	run->log = hytest_log_create(run->options->log, &about, &message);
	if (!run->log)
		return hytest_fail(run->options, HYTEST_EXIT_FAILED, "%s", message.text);
	return -1;
}

static int log_failed(struct run *run)
{
	return hytest_fail(run->options, HYTEST_EXIT_FAILED, "%s", hytest_log_error(run->log));
}

/* Changes that the file wants at tick 0 are made before the start. */
static int change_before_start(struct run *run)
{
	const struct hytest_scheduled *s;
	const struct hytest_change *changes;

	for (; run->next_scheduled < run->n_scheduled; run->next_scheduled++) {
		s = &run->scheduled[run->next_scheduled];
		if (s->tick)
			break;
		changes = (const struct hytest_change *)s->changes;
		if (hytest_change(run->loop, changes, s->count, 0, NULL))
			return fail_loop(run);
		if (run->log && hytest_log_batch(run->log, 0, changes, s->count))
			return log_failed(run);
	}
	return -1;
}

static int begin(struct run *run)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (hytest_start(run->loop) || hytest_get_status(run->loop, &run->status))
		return fail_loop(run);
	run->begin_ns = real_ns();
	if (run->log && hytest_log_started(run->log, run->status.start_ns, &now))
		return log_failed(run);
	return -1;
}

/* -1: go on. */
static int assign_triggers(struct run *run)
{
	struct hytest_message message;

	if (run->options->sim)
		return -1;
	run->triggers = hytest_triggers_assign(run->options->device, run->image, &message);
	if (run->triggers)
		return -1;
	return hytest_fail(run->options, HYTEST_EXIT_FAILED, "%s", message.text);
}

/* The error line may not have room for all of them. */
static void list_unhealthy(const struct run *run, const struct hytest_arm *arm)
{
	struct hytest_lock lock;
	char text[256];
	uint32_t i;

	for (i = 0; i < run->header->n_interlocks; i++) {
		if (!(arm->unhealthy[i / 64] >> i % 64 & 1) || hytest_get_lock(run->loop, i, &lock))
			continue;
		hytest_lock_text(run->image, i, lock.value, lock.limit, text, sizeof(text));
		fprintf(stderr, "  interlock %s\n", text);
	}
}

/* -1: go on. */
static int arm(struct run *run)
{
	struct hytest_arm arm;
	int result, status;

	status = assign_triggers(run);
	if (status >= 0)
		return status;
	result = hytest_arm(run->loop, choose_cpu(run), DRY_TICKS, &arm);
	if (!result)
		return -1;
	status = fail_loop(run);
	if (result == -EPERM)
		list_unhealthy(run, &arm);
	return status;
}

/* From the loaded program to the first tick. -1: go on. */
static int start(struct run *run)
{
	int status;

	status = arm(run);
	if (status >= 0)
		return status;
	status = create_log(run);
	if (status >= 0)
		return status;
	status = change_before_start(run);
	if (status >= 0)
		return status;
	if (run->header->heartbeat_ms && !run->options->sim) {
		run->heart = hytest_heart_start(run->loop, run->header->heartbeat_ms);
		if (!run->heart)
			return hytest_fail(run->options, HYTEST_EXIT_FAILED,
					   "cannot start the thread for heartbeats");
	}
	if (run->options->realtime)
		hytest_sim_pace(run->loop);
	return begin(run);
}

/* Something outside the loop failed: stop softly, and say so at the end. */
static void give_up(struct run *run, const char *why)
{
	if (!run->failure[0])
		snprintf(run->failure, sizeof(run->failure), "%s", why);
	if (!run->stopping)
		hytest_stop(run->loop);
	run->stopping = true;
}

/* A log that failed once is not written to any more. */
static bool logging(const struct run *run)
{
	return run->log && !hytest_log_error(run->log)[0];
}

static void drain_records(struct run *run)
{
	long n;

	do {
		n = hytest_reader_read(run->reader, run->records, RECORDS);
		if (n <= 0)
			break;
		run->n_records += n;
		run->quiet_ns = 0;
		if (logging(run) && hytest_log_records(run->log, run->records, n))
			give_up(run, hytest_log_error(run->log));
	} while (n == RECORDS);
	if (n < 0)
		give_up(run, "the ring cannot be read");
}

static void drain_events(struct run *run)
{
	struct hytest_event events[EVENTS];
	int n;

	do {
		n = hytest_read_events(run->loop, events, EVENTS);
		if (n > 0 && logging(run) && hytest_log_events(run->log, events, n))
			give_up(run, hytest_log_error(run->log));
	} while (n == EVENTS);
	if (n < 0)
		give_up(run, hytest_error(run->loop));
}

/* Hands the next scheduled batch over, once the one before is in force. */
static void follow_schedule(struct run *run)
{
	const struct hytest_scheduled *s = &run->scheduled[run->next_scheduled];
	const struct hytest_change *changes;
	int result;

	if (run->next_scheduled == run->n_scheduled || run->status.state != HYTEST_RUNNING ||
	    run->stopping || run->status.batch < run->last_batch ||
	    (run->stop_tick && s->tick >= run->stop_tick))
		return;
	changes = (const struct hytest_change *)s->changes;
	result = hytest_change(run->loop, changes, s->count, s->tick, &run->last_batch);
	if (result == -EBUSY)
		return;
	run->next_scheduled++;
	if (result)
		give_up(run, hytest_error(run->loop));
	else if (logging(run) && hytest_log_batch(run->log, run->last_batch, changes, s->count))
		give_up(run, hytest_log_error(run->log));
}

static void follow_signals(struct run *run)
{
	if ((interrupts || terminations) && !run->stopping) {
		run->stopping = true;
		hytest_stop(run->loop);
	}
	if (interrupts > 1 && !run->tripping) {
		run->tripping = true;
		hytest_trip(run->loop);
	}
}

static bool has_ended(const struct run *run)
{
	const struct hytest_status *s = &run->status;

	if (s->state == HYTEST_LOADED)
		return true;
	if (s->state != HYTEST_TRIPPED)
		return s->state == HYTEST_EMPTY;
	if (s->safe)
		return run->quiet_ns >= QUIET_NS && run->quiet_ns >= 3 * s->period_ns;
	/* Outputs that are held never become safe by themselves. */
	return hytest_is_held(run->image, s) &&
	       s->tick > s->trip.tick + run->header->post_trip_ticks;
}

static void show_progress(struct run *run)
{
	const uint64_t now = real_ns(), tick = run->status.tick;
	const double elapsed = (now - run->begin_ns) * 1e-9;
	const double period = run->status.period_ns * 1e-9;

	if (now - run->progress_ns < NS_PER_S || !isatty(STDERR_FILENO))
		return;
	run->progress_ns = now;
	fprintf(stderr, "\r%s, %.1f s", hytest_state_text(run->status.state), tick * period);
	if (run->stop_tick)
		fprintf(stderr, " of %.1f s", run->stop_tick * period);
	fprintf(stderr, ", tick %" PRIu64, tick);
	if (run->stop_tick && tick && tick <= run->stop_tick)
		fprintf(stderr, ", %.0f s left", elapsed / tick * (run->stop_tick - tick));
	fprintf(stderr, ", missed %" PRIu64 ", lost %" PRIu64 "\033[K",
		(uint64_t)run->status.missed, hytest_reader_lost(run->reader));
	fflush(stderr);
}

static uint64_t choose_wait(const struct run *run)
{
	const uint64_t heartbeat_ns = run->header->heartbeat_ms * 1000000ull;
	uint64_t wait_ns = WAIT_NS;
	uint64_t left_ns;

	if (!run->options->sim)
		return wait_ns;
	if (!run->options->realtime)
		wait_ns = NS_PER_S;
	if (heartbeat_ns && wait_ns > heartbeat_ns / 4)
		wait_ns = heartbeat_ns / 4;
	/* Virtual time can be stopped exactly. */
	if (run->stop_tick > run->status.tick) {
		left_ns = (run->stop_tick - run->status.tick) * run->status.period_ns;
		if (wait_ns > left_ns)
			wait_ns = left_ns;
	}
	return wait_ns;
}

static void record(struct run *run)
{
	uint64_t wait_ns;
	int result;

	while (!has_ended(run)) {
		follow_schedule(run);
		wait_ns = choose_wait(run);
		result = hytest_wait(run->loop, wait_ns);
		if (result < 0) {
			give_up(run, hytest_error(run->loop));
			return;
		}
		if (!result)
			run->quiet_ns += wait_ns;
		if (run->options->sim)
			hytest_heartbeat(run->loop);
		/* Events first: they tell of batches that the records show. */
		drain_events(run);
		drain_records(run);
		if (hytest_get_status(run->loop, &run->status))
			give_up(run, hytest_error(run->loop));
		if (logging(run) && hytest_log_tend(run->log, &run->status))
			give_up(run, hytest_log_error(run->log));
		follow_signals(run);
		if (run->stop_tick && run->status.tick >= run->stop_tick && !run->stopping) {
			run->stopping = true;
			hytest_stop(run->loop);
		}
		/* Whoever interrupts after a trip does not want to wait for the ramp. */
		if (run->status.state == HYTEST_TRIPPED && (interrupts > 2 || terminations > 1))
			break;
		show_progress(run);
	}
	drain_events(run);
	drain_records(run);
}

static int finish_log(struct run *run)
{
	struct hytest_message message;
	int result;

	if (!run->log)
		return 0;
	result = hytest_log_close(run->log, &run->status, hytest_reader_lost(run->reader),
				  &message);
	run->log = NULL;
	if (result && !run->failure[0])
		snprintf(run->failure, sizeof(run->failure), "%s", message.text);
	return result;
}

static void print_summary(const struct run *run)
{
	const struct hytest_status *s = &run->status;
	const uint64_t lost = hytest_reader_lost(run->reader);
	FILE *out = hytest_out(run->options);
	char trip[256];

	if (isatty(STDERR_FILENO) && run->progress_ns)
		fputc('\n', stderr);
	fprintf(out, "%" PRIu64 " ticks (%g s) on the %s backend, %" PRIu64 " missed, %" PRIu64
		" overruns, %u batches\n", (uint64_t)s->tick, s->tick * (s->period_ns * 1e-9),
		hytest_backend_name(run->loop), (uint64_t)s->missed, (uint64_t)s->overruns,
		s->batch);
	hytest_print_histogram(out, "lateness", &s->lateness);
	hytest_print_histogram(out, "step", &s->step);
	if (run->options->log && !run->failure[0])
		fprintf(out, "%" PRIu64 " records in %s\n", run->n_records, run->options->log);
	fflush(out);
	if (lost)
		fprintf(stderr, "hytest: %" PRIu64 " records were overwritten before they could "
			"be read: a longer loop.history may help\n", lost);
	if (s->state != HYTEST_TRIPPED)
		return;
	hytest_trip_text(run->image, &s->trip, trip, sizeof(trip));
	fprintf(stderr, "hytest: tripped: %s\n", trip);
	fprintf(stderr, "hytest: outputs are %s\n", hytest_safety_text(run->image, s));
}

static void print_json(const struct run *run, int status)
{
	const struct hytest_status *s = &run->status;
	struct json *json = json_new(stdout);

	if (!json)
		return;
	json_object_begin(json, NULL);
	json_bool(json, "ok", status == HYTEST_EXIT_OK);
	json_string(json, "command", "run");
	json_string(json, "error", run->failure[0] ? run->failure : NULL);
	json_string(json, "experiment", run->options->arguments[0]);
	json_string(json, "title", hytest_experiment_title(run->experiment));
	json_string(json, "backend", hytest_backend_name(run->loop));
	json_string(json, "state", hytest_state_text(s->state));
	json_bool(json, "safe", s->safe && !s->write_age);
	json_unsigned(json, "ticks", s->tick);
	json_unsigned(json, "period_ns", s->period_ns);
	json_number(json, "seconds", s->tick * (s->period_ns * 1e-9));
	json_unsigned(json, "missed", s->missed);
	json_unsigned(json, "overruns", s->overruns);
	json_unsigned(json, "lost_scans", s->lost_scans);
	json_unsigned(json, "failed_writes", s->failed_writes);
	json_unsigned(json, "batches", s->batch);
	json_unsigned(json, "records", run->n_records);
	json_unsigned(json, "lost_records", hytest_reader_lost(run->reader));
	json_unsigned(json, "cpu", s->cpu);
	json_unsigned(json, "budget_ns", s->budget_ns);
	json_unsigned(json, "dry_worst_ns", s->dry_worst_ns);
	json_string(json, "log", run->options->log);
	json_string(json, "black_box", run->black_box);
	hytest_json_trip(json, "trip", run->image, &s->trip);
	hytest_json_histogram(json, "lateness", &s->lateness);
	hytest_json_histogram(json, "step", &s->step);
	json_object_end(json);
	json_free(json);
}

static int finish(struct run *run)
{
	int status = HYTEST_EXIT_OK;

	finish_log(run);
	print_summary(run);
	if (run->failure[0]) {
		fprintf(stderr, "hytest: %s\n", run->failure);
		status = HYTEST_EXIT_FAILED;
	}
	if (run->status.state == HYTEST_TRIPPED) {
		status = HYTEST_EXIT_TRIPPED;
		save_black_box(run);
	}
	if (run->options->json)
		print_json(run, status);
	return status;
}

/* An armed loop watches its inputs and may trip before it is started. */
static int tripped_early(struct run *run, int status)
{
	char trip[256];

	if (hytest_get_status(run->loop, &run->status) || run->status.state != HYTEST_TRIPPED)
		return status;
	hytest_trip_text(run->image, &run->status.trip, trip, sizeof(trip));
	fprintf(stderr, "hytest: tripped while armed: %s\n", trip);
	if (!run->options->sim)
		hytest_black_box_wait(run->loop);
	save_black_box(run);
	return HYTEST_EXIT_TRIPPED;
}

static int run_experiment(struct run *run)
{
	int status = prepare(run);

	if (status >= 0)
		return status;
	catch_signals();
	status = load(run);
	if (status >= 0)
		return status;
	status = start(run);
	if (status >= 0)
		return tripped_early(run, status);
	record(run);
	return finish(run);
}

/* Disarms what never started, so that leaving does not trip it. */
static void clean_up(struct run *run)
{
	struct hytest_message message;

	hytest_heart_stop(run->heart);
	if (run->log)
		hytest_log_close(run->log, &run->status, 0, &message);
	if (run->loop && !hytest_get_status(run->loop, &run->status) &&
	    run->status.state == HYTEST_ARMED)
		hytest_disarm(run->loop);
	hytest_triggers_restore(run->triggers);
	hytest_reader_free(run->reader);
	hytest_close(run->loop);
	hytest_experiment_free(run->experiment);
	free(run->records);
	free(run->black_box);
}

int hytest_cmd_run(int argc, char **argv)
{
	struct hytest_options options;
	struct run run = { .options = &options };
	int status;

	status = hytest_options_parse(&options, &usage, argc, argv);
	if (status >= 0)
		return status;
	status = run_experiment(&run);
	clean_up(&run);
	hytest_options_free(&options);
	return status;
}
