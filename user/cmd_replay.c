// SPDX-License-Identifier: GPL-2.0
/*
 * hytest replay LOG: repeats a logged run and compares it bit for bit.
 */
#include <inttypes.h>
#include <stdio.h>

#include "commands.h"
#include "json.h"
#include "libhytest.h"
#include "options.h"
#include "replay.h"

static const struct hytest_usage usage = {
	.command = "replay",
	.arguments = "LOG",
	.text =
	"Run the program of a log again, in user space, with the inputs and the\n"
	"parameter batches of the log, and compare every recorded signal and output\n"
	"bit for bit. Status 1 and the first tick and signal if they differ.\n"
	"\n"
	"Example: hytest replay run.h5\n",
	.min_arguments = 1,
	.max_arguments = 1,
};

static void print_value(FILE *out, const char *who, const struct hytest_replay *r, uint64_t bits)
{
	if (r->is_number)
		fprintf(out, "  %-9s %.17g %s (0x%016" PRIx64 ")\n", who, hytest_double(bits),
			r->unit, bits);
	else
		fprintf(out, "  %-9s %" PRIu64 "\n", who, bits);
}

static void print_result(FILE *out, const struct hytest_replay *r)
{
	fprintf(out, "%" PRIu64 " ticks identical, %u signals, %u outputs, %u batches\n", r->ticks,
		r->signals, r->outputs, r->batches);
	if (r->missed)
		fprintf(out, "%" PRIu64 " ticks were missed by the loop and not run again\n",
			r->missed);
	if (!r->complete)
		fprintf(out, "the log was not closed by its writer: compared as far as it goes "
			"(h5clear -s makes it readable for other programs)\n");
	if (!r->differs)
		return;
	fprintf(out, "first difference at tick %" PRIu64 ", %s:\n", r->tick, r->name);
	print_value(out, "log", r, r->logged);
	print_value(out, "replay", r, r->replayed);
}

static void json_value(struct json *json, const char *key, const struct hytest_replay *r,
		       uint64_t value)
{
	char bits[24];

	if (!r->is_number) {
		json_unsigned(json, key, value);
		return;
	}
	snprintf(bits, sizeof(bits), "0x%016" PRIx64, value);
	json_object_begin(json, key);
	json_number(json, "value", hytest_double(value));
	json_string(json, "bits", bits);
	json_object_end(json);
}

static void print_json(const char *path, const struct hytest_replay *r)
{
	struct json *json = json_new(stdout);

	if (!json)
		return;
	json_object_begin(json, NULL);
	json_bool(json, "ok", !r->differs);
	json_string(json, "command", "replay");
	json_string(json, "log", path);
	json_bool(json, "identical", !r->differs);
	json_unsigned(json, "ticks", r->ticks);
	json_unsigned(json, "signals", r->signals);
	json_unsigned(json, "outputs", r->outputs);
	json_unsigned(json, "batches", r->batches);
	json_unsigned(json, "missed", r->missed);
	json_bool(json, "complete", r->complete);
	if (r->differs) {
		json_object_begin(json, "difference");
		json_unsigned(json, "tick", r->tick);
		json_string(json, "name", r->name);
		json_string(json, "unit", r->unit);
		json_value(json, "log", r, r->logged);
		json_value(json, "replay", r, r->replayed);
		json_object_end(json);
	}
	json_object_end(json);
	json_free(json);
}

int hytest_cmd_replay(int argc, char **argv)
{
	struct hytest_options options;
	struct hytest_message message;
	struct hytest_replay replay;
	int status, result;

	status = hytest_options_parse(&options, &usage, argc, argv);
	if (status >= 0)
		return status;
	result = hytest_replay_log(options.arguments[0], &replay, &message);
	if (result) {
		status = hytest_fail(&options,
				     result == -2 ? HYTEST_EXIT_USAGE : HYTEST_EXIT_FAILED, "%s",
				     message.text);
	} else {
		print_result(hytest_out(&options), &replay);
		if (options.json)
			print_json(options.arguments[0], &replay);
		status = replay.differs ? HYTEST_EXIT_FAILED : HYTEST_EXIT_OK;
	}
	hytest_options_free(&options);
	return status;
}
