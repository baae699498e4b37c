// SPDX-License-Identifier: GPL-2.0
/*
 * hytest black-box: saves by hand what is known of a trip.
 */
#include <stdio.h>

#include "blackbox.h"
#include "commands.h"
#include "json.h"
#include "libhytest.h"
#include "options.h"

static const struct hytest_usage usage = {
	.command = "black-box",
	.arguments = "[--loop N] [--dir DIR]",
	.text =
	"Save the black box of a tripped loop as an HDF5 file: all records of the last\n"
	"seconds that its ring holds, the cause with value and limit, the timeline of\n"
	"events, the experiment, parameters and counters. hytest run does so by itself\n"
	"after a trip, and hytest ack where the supervisor died. A trip is saved once.\n"
	"\n"
	"  --loop N             /dev/hytestN, default 0 (also: --device N)\n"
	"  --dir DIR            where to, made if absent; default $HYTEST_BLACK_BOX, or else\n"
	"                       /var/lib/hytest/black-box (also: --black-box DIR)\n"
	"\n"
	"Examples: hytest black-box --dir .\n"
	"          h5dump -d /trip -d /events hytest0-20260131-120000-8123456789.h5\n",
	.takes = HYTEST_TAKES_DEVICE | HYTEST_TAKES_BLACK_BOX,
};

static void print_json(const struct hytest_options *options, const struct hytest_black_box *box,
		       bool known)
{
	struct json *json = json_new(stdout);

	if (!json)
		return;
	json_object_begin(json, NULL);
	json_bool(json, "ok", true);
	json_string(json, "command", options->command);
	json_string(json, "black_box", box->path);
	json_bool(json, "saved_before", known);
	json_object_end(json);
	json_free(json);
}

static int save(const struct hytest_options *options, struct hytest_loop *loop)
{
	enum hytest_black_box_result result;
	struct hytest_black_box box;

	hytest_black_box_wait(loop);
	result = hytest_black_box_save(loop, options->black_box, &box);
	if (result == HYTEST_BLACK_BOX_FAILED)
		return hytest_fail(options, HYTEST_EXIT_FAILED, "%s", box.message.text);
	fprintf(hytest_out(options), "%s: %s\n",
		result == HYTEST_BLACK_BOX_KNOWN ? "saved before" : "saved", box.path);
	if (options->json)
		print_json(options, &box, result == HYTEST_BLACK_BOX_KNOWN);
	return HYTEST_EXIT_OK;
}

int hytest_cmd_black_box(int argc, char **argv)
{
	struct hytest_options options;
	struct hytest_loop *loop;
	char text[256];
	int status;

	status = hytest_options_parse(&options, &usage, argc, argv);
	if (status >= 0)
		return status;
	loop = hytest_open(options.device, false, text, sizeof(text));
	status = loop ? save(&options, loop) :
			hytest_fail(&options, HYTEST_EXIT_FAILED, "%s", text);
	hytest_close(loop);
	hytest_options_free(&options);
	return status;
}
