// SPDX-License-Identifier: GPL-2.0
/*
 * hytest status: what the loops of this machine do.
 */
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kmod/core/image.h"
#include "commands.h"
#include "json.h"
#include "libhytest.h"
#include "options.h"
#include "report.h"
#include "words.h"

static const struct hytest_usage usage = {
	.command = "status",
	.arguments = "[--device N]",
	.text =
	"Show state, program, timing, interlocks and the last trip of every loop, or\n"
	"of one. Watching needs no control and does not disturb. Status 3 if one of\n"
	"them is tripped.\n"
	"\n"
	"  --backend kernel|sim default kernel; a simulated loop is empty here, it lives\n"
	"                       only within the command that runs it\n"
	"  --device N           only /dev/hytestN\n"
	"\n"
	"Example: hytest status --json\n",
	.takes = HYTEST_TAKES_BACKEND | HYTEST_TAKES_DEVICE,
};

/* One loop, looked at once. */
struct view {
	struct hytest_loop *loop;
	struct hytest_info info;
	struct hytest_status status;
	void *image_bytes;		/* NULL: no program */
	struct ht_image image;
};

static int look(struct view *view)
{
	size_t size;

	if (hytest_get_info(view->loop, &view->info) ||
	    hytest_get_status(view->loop, &view->status))
		return -1;
	view->image_bytes = NULL;
	if (hytest_get_image(view->loop, &view->image_bytes, &size))
		view->image_bytes = NULL;
	else
		ht_image_open(&view->image, view->image_bytes);
	return 0;
}

static void print_locks(FILE *out, const struct view *view)
{
	struct hytest_lock lock;
	char text[256];
	uint32_t i;

	for (i = 0; i < view->image.header->n_interlocks; i++) {
		if (hytest_get_lock(view->loop, i, &lock))
			continue;
		hytest_lock_text(view->image_bytes, i, lock.value, lock.limit, text, sizeof(text));
		fprintf(out, "  interlock  %s %s\n", lock.healthy ? "healthy " : "VIOLATED", text);
	}
}

static void print_program(FILE *out, const struct view *view)
{
	const struct hytest_status *s = &view->status;

	fprintf(out, "  program    number %u, %g Hz, %u signals, %u blocks, %" PRIu64
		" bytes with its ring\n", s->program, 1e9 / s->period_ns,
		view->image.header->n_signals, view->image.header->n_blocks,
		(uint64_t)view->info.loop_bytes);
	if (s->bound_inputs || s->bound_outputs)
		fprintf(out, "  bound      %u of %u inputs, %u of %u outputs\n", s->bound_inputs,
			view->image.header->n_inputs, s->bound_outputs,
			view->image.header->n_outputs);
	if (s->bound_inputs || s->bound_outputs || s->lost_scans || s->failed_writes)
		fprintf(out, "  channels   %" PRIu64 " scans lost, %" PRIu64
			" writes failed since the start\n", (uint64_t)s->lost_scans,
			(uint64_t)s->failed_writes);
	fprintf(out, "  ticks      %" PRIu64 ", %" PRIu64 " missed, %" PRIu64
		" overruns, batch %u in force\n", (uint64_t)s->tick, (uint64_t)s->missed,
		(uint64_t)s->overruns, s->batch);
	if (s->dry_worst_ns)
		fprintf(out, "  budget     %.2f us, slowest dry tick %.2f us on CPU %u\n",
			s->budget_ns * 1e-3, s->dry_worst_ns * 1e-3, s->cpu);
	hytest_print_histogram(out, "lateness", &s->lateness);
	hytest_print_histogram(out, "step", &s->step);
	print_locks(out, view);
}

static void print_view(FILE *out, const struct view *view)
{
	const struct hytest_status *s = &view->status;
	char trip[256];

	fprintf(out, "loop %u (%s): %s, outputs %s", view->info.loop,
		hytest_backend_name(view->loop), hytest_state_text(s->state),
		!s->safe ? "not safe" : s->write_age ? "could not be made safe" : "safe");
	if (s->owner)
		fprintf(out, ", controlled by process %u", s->owner);
	fputc('\n', out);
	if (s->trip.cause) {
		hytest_trip_text(view->image_bytes, &s->trip, trip, sizeof(trip));
		fprintf(out, "  %-10s %s\n", s->state == HYTEST_TRIPPED ? "TRIPPED" : "last trip",
			trip);
	}
	if (view->image_bytes)
		print_program(out, view);
}

static void json_locks(struct json *json, const struct view *view)
{
	const struct ht_image_interlock *l;
	char subject[3 * HT_NAME_LEN], unit[HT_UNIT_LEN + 8];
	struct hytest_lock lock;
	uint32_t i;

	json_array_begin(json, "interlocks");
	for (i = 0; view->image_bytes && i < view->image.header->n_interlocks; i++) {
		l = &view->image.interlocks[i];
		if (hytest_get_lock(view->loop, i, &lock))
			continue;
		json_object_begin(json, NULL);
		json_string(json, "name", l->name);
		json_bool(json, "healthy", lock.healthy);
		json_unsigned(json, "violated_ticks", lock.violated_ticks);
		json_number(json, "value", hytest_double(lock.value));
		json_number(json, "limit", hytest_double(lock.limit));
		hytest_lock_subject(view->image_bytes, i, subject, sizeof(subject), unit,
				    sizeof(unit));
		json_string(json, "kind", hytest_lock_kind_text(l->kind));
		json_string(json, "subject", subject);
		json_string(json, "unit", unit);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_view(struct json *json, const struct view *view)
{
	const struct hytest_status *s = &view->status;

	json_object_begin(json, NULL);
	json_unsigned(json, "loop", view->info.loop);
	json_string(json, "backend", hytest_backend_name(view->loop));
	json_string(json, "state", hytest_state_text(s->state));
	json_bool(json, "safe", s->safe && !s->write_age);
	json_unsigned(json, "owner", s->owner);
	json_unsigned(json, "program", s->program);
	json_unsigned(json, "loop_bytes", view->info.loop_bytes);
	json_unsigned(json, "max_loop_bytes", view->info.max_loop_bytes);
	json_unsigned(json, "max_image_bytes", view->info.max_image_bytes);
	json_unsigned(json, "period_ns", s->period_ns);
	json_unsigned(json, "ticks", s->tick);
	json_unsigned(json, "missed", s->missed);
	json_unsigned(json, "overruns", s->overruns);
	json_unsigned(json, "lost_scans", s->lost_scans);
	json_unsigned(json, "failed_writes", s->failed_writes);
	json_unsigned(json, "bound_inputs", s->bound_inputs);
	json_unsigned(json, "bound_outputs", s->bound_outputs);
	json_unsigned(json, "batch", s->batch);
	json_unsigned(json, "cpu", s->cpu);
	json_unsigned(json, "budget_ns", s->budget_ns);
	json_unsigned(json, "dry_worst_ns", s->dry_worst_ns);
	hytest_json_trip(json, "trip", view->image_bytes, &s->trip);
	hytest_json_histogram(json, "lateness", &s->lateness);
	hytest_json_histogram(json, "step", &s->step);
	json_locks(json, view);
	json_object_end(json);
}

static int show_failure(unsigned int number, const char *text, struct json *json)
{
	fprintf(stderr, "hytest: %s\n", text);
	if (json) {
		json_object_begin(json, NULL);
		json_unsigned(json, "loop", number);
		json_string(json, "error", text);
		json_object_end(json);
	}
	return HYTEST_EXIT_FAILED;
}

/* Shows one loop and closes it; the exit status. */
static int show(const struct hytest_options *options, struct hytest_loop *loop, struct json *json)
{
	struct view view = { .loop = loop };
	int status = HYTEST_EXIT_OK;

	if (look(&view)) {
		status = show_failure(view.info.loop, hytest_error(loop), json);
		hytest_close(loop);
		return status;
	}
	print_view(hytest_out(options), &view);
	if (json)
		json_view(json, &view);
	if (view.status.state == HYTEST_TRIPPED)
		status = HYTEST_EXIT_TRIPPED;
	free(view.image_bytes);
	hytest_close(loop);
	return status;
}

static int show_device(const struct hytest_options *options, unsigned int number,
		       struct json *json)
{
	char text[256];
	struct hytest_loop *loop = hytest_open(number, false, text, sizeof(text));

	return loop ? show(options, loop, json) : show_failure(number, text, json);
}

static int show_devices(const struct hytest_options *options, struct json *json)
{
	static const char prefix[] = "/dev/hytest";
	int status = HYTEST_EXIT_OK, one;
	glob_t found;
	size_t i;

	if (glob("/dev/hytest[0-9]*", 0, NULL, &found))
		return show_device(options, 0, json);
	for (i = 0; i < found.gl_pathc; i++) {
		one = show_device(options, strtoul(found.gl_pathv[i] + strlen(prefix), NULL, 10),
				  json);
		if (one > status)
			status = one;
	}
	globfree(&found);
	return status;
}

static int show_all(const struct hytest_options *options, struct json *json)
{
	struct hytest_loop *sim;

	if (!options->sim && options->has_device)
		return show_device(options, options->device, json);
	if (!options->sim)
		return show_devices(options, json);
	sim = hytest_open_sim();
	return sim ? show(options, sim, json) : HYTEST_EXIT_FAILED;
}

int hytest_cmd_status(int argc, char **argv)
{
	struct hytest_options options;
	struct json *json = NULL;
	int status;

	status = hytest_options_parse(&options, &usage, argc, argv);
	if (status >= 0)
		return status;
	if (options.json)
		json = json_new(stdout);
	if (json) {
		json_object_begin(json, NULL);
		json_string(json, "command", "status");
		json_array_begin(json, "loops");
	}
	status = show_all(&options, json);
	if (json) {
		json_array_end(json);
		json_bool(json, "ok", status == HYTEST_EXIT_OK);
		json_object_end(json);
		json_free(json);
	}
	hytest_options_free(&options);
	return status;
}
