// SPDX-License-Identifier: GPL-2.0
/*
 * States, events, causes, interlocks, channels and refusals in words.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../kmod/core/block.h"
#include "../kmod/core/loop.h"
#include "libhytest.h"
#include "param_names.h"
#include "words.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *hytest_state_text(uint32_t state)
{
	static const char *const text[] = {
		[HYTEST_EMPTY] = "empty",
		[HYTEST_LOADED] = "loaded",
		[HYTEST_ARMED] = "armed",
		[HYTEST_RUNNING] = "running",
		[HYTEST_STOPPING] = "stopping",
		[HYTEST_TRIPPED] = "tripped",
	};

	return state < COUNT(text) ? text[state] : "unknown";
}

const char *hytest_event_text(uint32_t type)
{
	static const char *const text[] = {
		[HYTEST_EVENT_LOADED] = "loaded",
		[HYTEST_EVENT_UNLOADED] = "unloaded",
		[HYTEST_EVENT_ARMED] = "armed",
		[HYTEST_EVENT_DISARMED] = "disarmed",
		[HYTEST_EVENT_STARTED] = "started",
		[HYTEST_EVENT_STOPPING] = "stopping",
		[HYTEST_EVENT_STOPPED] = "stopped",
		[HYTEST_EVENT_TRIPPED] = "tripped",
		[HYTEST_EVENT_SAFE] = "safe",
		[HYTEST_EVENT_ACKNOWLEDGED] = "acknowledged",
		[HYTEST_EVENT_BATCH] = "batch",
		[HYTEST_EVENT_MISSED] = "missed",
		[HYTEST_EVENT_OVERRUN] = "overrun",
		[HYTEST_EVENT_CONTROL_TAKEN] = "control taken",
		[HYTEST_EVENT_CONTROL_LEFT] = "control left",
		[HYTEST_EVENT_BOUND] = "bound",
		[HYTEST_EVENT_UNBOUND] = "unbound",
	};

	return type < COUNT(text) && text[type] ? text[type] : "unknown";
}

const char *hytest_cause_text(uint32_t cause)
{
	const char *text = ht_cause_text(cause);

	return text ? text : "unknown";
}

const char *hytest_lock_kind_text(uint32_t kind)
{
	static const char *const text[HT_LOCK_KINDS] = {
		[HT_LOCK_RANGE] = "range",
		[HT_LOCK_RATE] = "rate",
		[HT_LOCK_DIFFERENCE] = "difference",
		[HT_LOCK_RMS] = "rms",
		[HT_LOCK_ENABLE] = "enable",
		[HT_LOCK_ESTOP] = "estop",
		[HT_LOCK_SCAN] = "scan",
		[HT_LOCK_LOST] = "lost",
		[HT_LOCK_WRITE] = "write",
		[HT_LOCK_STEP] = "step",
		[HT_LOCK_MISSED] = "missed",
		[HT_LOCK_HEARTBEAT] = "heartbeat",
	};

	return kind < HT_LOCK_KINDS ? text[kind] : "unknown";
}

const char *hytest_action_text(uint32_t action)
{
	static const char *const text[HT_ACTIONS] = {
		[HT_ACTION_RAMP] = "ramp",
		[HT_ACTION_HOLD] = "hold",
		[HT_ACTION_CUT] = "cut",
	};

	return action < HT_ACTIONS ? text[action] : "unknown";
}

/* What an interlock compares: words around a signal, or instead of one. */
static const struct lock_words {
	const char *before;
	const char *after;
	const char *unit;	/* behind that of the signal */
} lock_words[HT_LOCK_KINDS] = {
	[HT_LOCK_RANGE] = { "", "", "" },
	[HT_LOCK_RATE] = { "|d/dt ", "|", "/s" },
	[HT_LOCK_DIFFERENCE] = { "|", "|", "" },
	[HT_LOCK_RMS] = { "rms(", ")", "" },
	[HT_LOCK_ENABLE] = { "enable line ", "", "" },
	[HT_LOCK_ESTOP] = { "e-stop line ", "", "" },
	[HT_LOCK_SCAN] = { "age of the newest scan", "", "ticks" },
	[HT_LOCK_LOST] = { "scans lost since the start", "", "" },
	[HT_LOCK_WRITE] = { "outputs not written", "", "ticks" },
	[HT_LOCK_STEP] = { "time of a tick", "", "s" },
	[HT_LOCK_MISSED] = { "ticks missed", "", "" },
	[HT_LOCK_HEARTBEAT] = { "time without a heartbeat", "", "s" },
};

void hytest_lock_subject(const void *bytes, uint32_t interlock, char *text, size_t size,
			 char *unit, size_t unit_size)
{
	const struct ht_image_interlock *l;
	const struct lock_words *words;
	const char *other = NULL;
	struct ht_image image;

	ht_image_open(&image, bytes);
	l = &image.interlocks[interlock];
	words = &lock_words[l->kind];
	if (l->other != HT_NO_SIGNAL)
		other = image.signals[l->other].name;
	snprintf(text, size, "%s%s%s%s%s", words->before,
		 HT_LOCK_IS_VITAL(l->kind) ? "" : image.signals[l->signal].name,
		 other ? " - " : "", other ? other : "", words->after);
	snprintf(unit, unit_size, "%s%s",
		 HT_LOCK_IS_VITAL(l->kind) ? "" : image.signals[l->signal].unit, words->unit);
}

/* "y = 0.09 m, limit 0.08 m" */
static void values_text(const void *bytes, uint32_t interlock, uint64_t value, uint64_t limit,
			char *text, size_t size)
{
	char subject[3 * HT_NAME_LEN], unit[HT_UNIT_LEN + 8];
	const char *blank;

	hytest_lock_subject(bytes, interlock, subject, sizeof(subject), unit, sizeof(unit));
	blank = *unit ? " " : "";
	snprintf(text, size, "%s = %.6g%s%s, limit %.6g%s%s", subject, hytest_double(value), blank,
		 unit, hytest_double(limit), blank, unit);
}

void hytest_lock_text(const void *bytes, uint32_t interlock, uint64_t value, uint64_t limit,
		      char *text, size_t size)
{
	struct ht_image image;
	char values[192];

	ht_image_open(&image, bytes);
	values_text(bytes, interlock, value, limit, values, sizeof(values));
	snprintf(text, size, "'%s': %s", image.interlocks[interlock].name, values);
}

void hytest_channel_text(const struct ht_image_channel *c, char *text, size_t size)
{
	const bool is_gpio = c->kind == HT_CHANNEL_GPIO;

	if (c->kind == HT_CHANNEL_NONE)
		snprintf(text, size, "nothing");
	else if (*c->device)
		snprintf(text, size, "%s %s, %s %s", is_gpio ? "GPIO chip" : "device", c->device,
			 is_gpio ? "line" : "channel", c->name);
	else
		snprintf(text, size, "%s %s of the device tree", is_gpio ? "GPIO line" : "channel",
			 c->name);
}

/* An input of the image, or n_inputs + an output; NULL if there is no such channel. */
static const struct ht_image_channel *find_channel(const struct ht_image *image,
						   uint32_t channel, const char **direction,
						   const char **signal)
{
	const uint32_t n = image->header->n_inputs;

	if (channel < n) {
		*direction = "input";
		*signal = image->signals[image->inputs[channel].signal].name;
		return &image->inputs[channel].channel;
	}
	if (channel - n < image->header->n_outputs) {
		*direction = "output";
		*signal = image->signals[image->outputs[channel - n].signal].name;
		return &image->outputs[channel - n].channel;
	}
	return NULL;
}

static void no_device_text(const struct ht_image_channel *c, char *text, size_t size)
{
	if (c->kind == HT_CHANNEL_GPIO && *c->device)
		snprintf(text, size, "there is no GPIO chip \"%s\"; gpiodetect lists them",
			 c->device);
	else if (c->kind == HT_CHANNEL_GPIO)
		snprintf(text, size, "the device tree has no %s-gpios for this loop", c->name);
	else if (*c->device)
		snprintf(text, size,
			 "there is no IIO device \"%s\"; hytest devices lists them, hytest rig FILE makes the simulated ones",
			 c->device);
	else
		snprintf(text, size,
			 "the device tree has no \"%s\" in io-channel-names for this loop",
			 c->name);
}

static void no_channel_text(const struct ht_image_channel *c, const char *direction, char *text,
			    size_t size)
{
	if (c->kind == HT_CHANNEL_GPIO)
		snprintf(text, size, "GPIO chip \"%s\" has no line %s", c->device, c->name);
	else
		snprintf(text, size,
			 "device \"%s\" has no %s channel \"%s\"; hytest devices lists its channels",
			 c->device, direction, c->name);
}

static void bind_problem_text(const struct ht_image_channel *c, const char *direction,
			      uint32_t problem, char *text, size_t size)
{
	static const char *const remedy[] = {
		[HYTEST_BIND_OK] = "it is bound",
		[HYTEST_BIND_TWO_DEVICES] =
			"more than one device has this name; give them labels and use those",
		[HYTEST_BIND_NO_VALUE] =
			"the channel can neither be scanned nor read; choose another channel",
		[HYTEST_BIND_NO_TRIGGER] =
			"the trigger of the device is not one of this loop; hytest run sets it, or write one of the loop's into trigger/current_trigger",
		[HYTEST_BIND_SCALE] =
			"scale or offset of the channel cannot be read or make no sense",
		[HYTEST_BIND_REFUSED] = "its driver refused",
		[HYTEST_BIND_NO_SCAN] =
			"no scan came; if the device cannot be triggered, poll = true reads it instead",
		[HYTEST_BIND_TAKEN] =
			"another loop, or another output, drives this channel already",
	};

	if (problem == HYTEST_BIND_NO_DEVICE)
		no_device_text(c, text, size);
	else if (problem == HYTEST_BIND_NO_CHANNEL)
		no_channel_text(c, direction, text, size);
	else if (problem == HYTEST_BIND_NO_VALUE && *direction == 'o')
		snprintf(text, size, "the channel cannot be written; choose another channel");
	else
		snprintf(text, size, "%s", problem < COUNT(remedy) && remedy[problem] ?
			 remedy[problem] : "it cannot be bound");
}

void hytest_bind_text(const void *bytes, uint32_t problem, uint32_t channel, uint32_t error,
		      char *text, size_t size)
{
	const char *direction, *signal;
	const struct ht_image_channel *c;
	char place[160], why[224];
	struct ht_image image;

	ht_image_open(&image, bytes);
	c = find_channel(&image, channel, &direction, &signal);
	if (!c) {
		snprintf(text, size, "channel %u cannot be bound", channel);
		return;
	}
	hytest_channel_text(c, place, sizeof(place));
	bind_problem_text(c, direction, problem, why, sizeof(why));
	snprintf(text, size, "%s %s (%s): %s%s%s", direction, signal, place, why,
		 error ? ": " : "", error ? strerror(error) : "");
}

static void interlock_text(const struct ht_image *image, const struct hytest_trip *trip, char *text,
			   size_t size)
{
	char values[192];

	values_text(image->header, trip->index, trip->value, trip->limit, values, sizeof(values));
	snprintf(text, size, "interlock '%s' at tick %" PRIu64 ": %s",
		 image->interlocks[trip->index].name, (uint64_t)trip->tick, values);
}

/* ", input F (device table, channel force)" for the causes that have a channel. */
static void cause_channel_text(const struct ht_image *image, const struct hytest_trip *trip,
			       char *text, size_t size)
{
	const char *direction, *signal;
	const struct ht_image_channel *c = NULL;
	uint32_t channel = trip->index;
	char place[160];

	text[0] = '\0';
	if (trip->cause == HT_CAUSE_WRITE)
		channel += image->header->n_inputs;
	if (trip->cause == HT_CAUSE_SCAN || trip->cause == HT_CAUSE_WRITE ||
	    trip->cause == HT_CAUSE_DEVICE)
		c = find_channel(image, channel, &direction, &signal);
	if (!c)
		return;
	hytest_channel_text(c, place, sizeof(place));
	snprintf(text, size, ", %s %s (%s)", direction, signal, place);
}

static const char *cause_unit(uint32_t cause)
{
	switch (cause) {
	case HT_CAUSE_DEADLINE:
		return " ns";
	case HT_CAUSE_MISSED:
		return " ticks in a row";
	case HT_CAUSE_HEARTBEAT:
		return " ms";
	case HT_CAUSE_SCAN:
	case HT_CAUSE_WRITE:
		return " ticks";
	default:
		return NULL;
	}
}

void hytest_trip_text(const void *bytes, const struct hytest_trip *trip, char *text, size_t size)
{
	const char *unit = cause_unit(trip->cause);
	const uint64_t tick = trip->tick;
	struct ht_image image;
	char channel[256] = "";

	if (bytes) {
		ht_image_open(&image, bytes);
		cause_channel_text(&image, trip, channel, sizeof(channel));
		if (trip->cause == HT_CAUSE_INTERLOCK && trip->index < image.header->n_interlocks) {
			interlock_text(&image, trip, text, size);
			return;
		}
		if (trip->cause == HT_CAUSE_NOT_FINITE && trip->index < image.header->n_signals) {
			snprintf(text, size, "signal '%s' is not finite at tick %" PRIu64 ": %g %s",
				 image.signals[trip->index].name, tick, hytest_double(trip->value),
				 image.signals[trip->index].unit);
			return;
		}
	}
	if (trip->cause == HT_CAUSE_INTERLOCK || trip->cause == HT_CAUSE_NOT_FINITE)
		snprintf(text, size, "%s (number %u) at tick %" PRIu64 ": %.6g, limit %.6g",
			 hytest_cause_text(trip->cause), trip->index, tick,
			 hytest_double(trip->value), hytest_double(trip->limit));
	else if (unit)
		snprintf(text, size, "%s%s at tick %" PRIu64 ": %.10g%s, limit %.10g%s",
			 hytest_cause_text(trip->cause), channel, tick, hytest_double(trip->value),
			 unit, hytest_double(trip->limit), unit);
	else
		snprintf(text, size, "%s%s at tick %" PRIu64, hytest_cause_text(trip->cause),
			 channel, tick);
}

/* A name out of an image that was refused: it may be anything. */
static void print_name(char *text, size_t size, const char *name)
{
	size_t i, n = size < HT_NAME_LEN ? size : HT_NAME_LEN;

	for (i = 0; i + 1 < n && name[i]; i++)
		text[i] = isprint((unsigned char)name[i]) ? name[i] : '?';
	text[i] = '\0';
}

static void block_text(const struct ht_image *image, const struct hytest_refusal *refusal,
		       char *text, size_t size)
{
	const struct ht_image_block *block = &image->blocks[refusal->index];
	const struct ht_block_type *type;
	char name[HT_NAME_LEN];

	print_name(name, sizeof(name), block->name);
	type = block->type < ht_n_block_types ? ht_block_types[block->type] : NULL;
	if (type && refusal->code != HT_ERR_PORTS && refusal->code != HT_ERR_DIMS &&
	    refusal->item < type->n_fields)
		snprintf(text, size, "block '%s' (%s), %s", name, type->name,
			 type->fields[refusal->item].name);
	else
		snprintf(text, size, "block '%s'%s%s%s", name, type ? " (" : "",
			 type ? type->name : "", type ? ")" : "");
}

/* Whether the sections of the image lie where its header says. */
static int open_refused(struct ht_image *image, const void *bytes, size_t size)
{
	if (!bytes || size < sizeof(*image->header) || ht_image_bytes(bytes) != size)
		return 0;
	ht_image_open(image, bytes);
	return 1;
}

/* The signal of a refused input or output; "" if there is no such signal. */
static void port_name(const struct ht_image *image, const struct hytest_refusal *refusal,
		      char *text, size_t size)
{
	const uint32_t i = refusal->index;
	uint32_t signal = HT_NO_SIGNAL;

	if (refusal->where == HT_AT_INPUT && i < image->header->n_inputs)
		signal = image->inputs[i].signal;
	else if (refusal->where == HT_AT_OUTPUT && i < image->header->n_outputs)
		signal = image->outputs[i].signal;
	text[0] = '\0';
	if (signal < image->header->n_signals)
		print_name(text, size, image->signals[signal].name);
}

static void place_text(const void *bytes, size_t image_size, const struct hytest_refusal *refusal,
		       char *text, size_t size)
{
	const uint32_t i = refusal->index;
	struct ht_image image;
	char name[128];

	snprintf(text, size, "%s %u", ht_error_place(refusal->where), i);
	if (refusal->where == HT_AT_IMAGE)
		snprintf(text, size, "image");
	if (!open_refused(&image, bytes, image_size))
		return;
	port_name(&image, refusal, name, sizeof(name));
	if (*name)
		snprintf(text, size, "%s '%s'", ht_error_place(refusal->where), name);
	if (refusal->where == HT_AT_BLOCK && i < image.header->n_blocks) {
		block_text(&image, refusal, text, size);
	} else if (refusal->where == HT_AT_SIGNAL && i < image.header->n_signals) {
		print_name(name, sizeof(name), image.signals[i].name);
		snprintf(text, size, "signal '%s'", name);
	} else if (refusal->where == HT_AT_INTERLOCK && i < image.header->n_interlocks) {
		print_name(name, sizeof(name), image.interlocks[i].name);
		snprintf(text, size, "interlock '%s'", name);
	} else if (refusal->where == HT_AT_PARAM &&
		   !hytest_param_name(bytes, refusal->item, name, sizeof(name))) {
		snprintf(text, size, "parameter %s", name);
	}
}

void hytest_refusal_text(const void *image, size_t image_size, const struct hytest_refusal *refusal,
			 char *text, size_t size)
{
	char place[192];

	place_text(image, image_size, refusal, place, sizeof(place));
	if (refusal->value && (refusal->code == HT_ERR_RANGE || refusal->code == HT_ERR_INTEGER))
		snprintf(text, size, "%s: %s (%.6g)", place, ht_error_text(refusal->code),
			 hytest_double(refusal->value));
	else
		snprintf(text, size, "%s: %s", place, ht_error_text(refusal->code));
}
