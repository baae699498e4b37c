// SPDX-License-Identifier: GPL-2.0
/*
 * hytest trip and hytest ack: the two buttons of an emergency stop.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../kmod/core/image.h"
#include "blackbox.h"
#include "commands.h"
#include "iio_triggers.h"
#include "json.h"
#include "libhytest.h"
#include "options.h"

#define STEP_NS		20000000ull
#define PATIENCE_NS	30000000000ull	/* for outputs on their ramp */

static const struct hytest_usage trip_usage = {
	.command = "trip",
	.arguments = "[--device N]",
	.text =
	"Trip a loop that is armed or running: its outputs go to their safe values by\n"
	"the ramp. Whoever may write to the device can do it; control is not needed.\n"
	"\n"
	"  --device N           /dev/hytestN, default 0\n"
	"\n"
	"Example: hytest trip --device 0\n",
	.takes = HYTEST_TAKES_DEVICE,
};

static const struct hytest_usage ack_usage = {
	.command = "ack",
	.arguments = "[--device N] [--black-box DIR | --no-black-box]",
	.text =
	"Acknowledge a trip, so that the loop can be armed again. Says once more what\n"
	"tripped it. Waits until the outputs are safe; outputs that are held go there.\n"
	"\n"
	"A trip whose black box nobody has saved yet, because its supervisor died, is saved\n"
	"first; if that fails it stays unacknowledged.\n"
	"\n"
	"  --device N           /dev/hytestN, default 0\n"
	"  --black-box DIR      where black boxes are, made if absent; default\n"
	"                       $HYTEST_BLACK_BOX, or else /var/lib/hytest/black-box\n"
	"  --no-black-box       acknowledge without it\n"
	"\n"
	"Example: hytest ack --device 0\n",
	.takes = HYTEST_TAKES_DEVICE | HYTEST_TAKES_BLACK_BOX,
};

/* black_box: path of a file that was saved, or NULL */
static int report(const struct hytest_options *options, const struct hytest_status *status,
		  const char *text, const char *black_box)
{
	struct json *json;

	fprintf(hytest_out(options), "%s\n", text);
	json = options->json ? json_new(stdout) : NULL;
	if (!json)
		return HYTEST_EXIT_OK;
	json_object_begin(json, NULL);
	json_bool(json, "ok", true);
	json_string(json, "command", options->command);
	json_string(json, "state", hytest_state_text(status->state));
	json_string(json, "text", text);
	if (black_box)
		json_string(json, "black_box", black_box);
	json_object_end(json);
	json_free(json);
	return HYTEST_EXIT_OK;
}

/* The trip request takes effect with the next tick. */
static int trip_loop(const struct hytest_options *options, struct hytest_loop *loop)
{
	const struct timespec step = { .tv_nsec = STEP_NS };
	struct hytest_status status;
	int i;

	if (hytest_get_status(loop, &status))
		return hytest_fail(options, HYTEST_EXIT_FAILED, "%s", hytest_error(loop));
	if (status.state == HYTEST_EMPTY || status.state == HYTEST_LOADED)
		return hytest_fail(options, HYTEST_EXIT_FAILED,
				   "nothing to trip: the loop is %s, its outputs are safe",
				   hytest_state_text(status.state));
	if (hytest_trip(loop))
		return hytest_fail(options, HYTEST_EXIT_FAILED, "%s", hytest_error(loop));
	for (i = 0; i < 150; i++) {
		if (hytest_get_status(loop, &status))
			return hytest_fail(options, HYTEST_EXIT_FAILED, "%s", hytest_error(loop));
		if (status.state == HYTEST_TRIPPED)
			return report(options, &status, "tripped", NULL);
		if (status.state == HYTEST_LOADED)
			return report(options, &status, "the loop had just stopped",
				      NULL);
		nanosleep(&step, NULL);
	}
	return hytest_fail(options, HYTEST_EXIT_FAILED, "the loop is still %s 3 s later",
			   hytest_state_text(status.state));
}

static int acknowledge(struct hytest_loop *loop)
{
	const struct timespec step = { .tv_nsec = STEP_NS };
	uint64_t waited;
	int result = -EBUSY;

	for (waited = 0; result == -EBUSY && waited < PATIENCE_NS; waited += STEP_NS) {
		result = hytest_acknowledge(loop);
		if (result == -EBUSY)
			nanosleep(&step, NULL);
	}
	return result;
}

/* What a supervisor that died could not save. -1: go on. */
static int save_first(const struct hytest_options *options, struct hytest_loop *loop,
		      struct hytest_black_box *box)
{
	box->path[0] = '\0';
	if (options->no_black_box)
		return -1;
	hytest_black_box_wait(loop);
	switch (hytest_black_box_save(loop, options->black_box, box)) {
	case HYTEST_BLACK_BOX_SAVED:
		fprintf(hytest_out(options), "black box saved: %s\n", box->path);
		return -1;
	case HYTEST_BLACK_BOX_KNOWN:
		return -1;
	default:
		return hytest_fail(options, HYTEST_EXIT_FAILED,
				   "%s; not acknowledged (hytest ack --no-black-box does without it)",
				   box->message.text);
	}
}

static int acknowledge_loop(const struct hytest_options *options, struct hytest_loop *loop)
{
	struct hytest_black_box box;
	struct hytest_status status;
	char cause[256], text[320];
	void *image = NULL;
	size_t size;
	int result;

	if (hytest_get_status(loop, &status))
		return hytest_fail(options, HYTEST_EXIT_FAILED, "%s", hytest_error(loop));
	if (status.state != HYTEST_TRIPPED)
		return hytest_fail(options, HYTEST_EXIT_FAILED,
				   "nothing to acknowledge: the loop is %s",
				   hytest_state_text(status.state));
	if (hytest_take_control(loop))
		return hytest_fail(options, HYTEST_EXIT_FAILED, "%s", hytest_error(loop));
	result = save_first(options, loop, &box);
	if (result >= 0)
		return result;
	if (acknowledge(loop))
		return hytest_fail(options, HYTEST_EXIT_FAILED, "%s", hytest_error(loop));
	hytest_triggers_release(options->device);
	if (hytest_get_image(loop, &image, &size))
		image = NULL;
	hytest_trip_text(image, &status.trip, cause, sizeof(cause));
	free(image);
	snprintf(text, sizeof(text), "acknowledged: %s", cause);
	status.state = HYTEST_LOADED;
	return report(options, &status, text, box.path[0] ? box.path : NULL);
}

static int on_device(const struct hytest_usage *usage, int argc, char **argv,
		     int (*act)(const struct hytest_options *options, struct hytest_loop *loop))
{
	struct hytest_options options;
	struct hytest_loop *loop;
	char text[256];
	int status;

	status = hytest_options_parse(&options, usage, argc, argv);
	if (status >= 0)
		return status;
	loop = hytest_open(options.device, true, text, sizeof(text));
	status = loop ? act(&options, loop) :
			hytest_fail(&options, HYTEST_EXIT_FAILED, "%s", text);
	hytest_close(loop);
	hytest_options_free(&options);
	return status;
}

int hytest_cmd_trip(int argc, char **argv)
{
	return on_device(&trip_usage, argc, argv, trip_loop);
}

int hytest_cmd_ack(int argc, char **argv)
{
	return on_device(&ack_usage, argc, argv, acknowledge_loop);
}
