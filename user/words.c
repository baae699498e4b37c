// SPDX-License-Identifier: GPL-2.0
/*
 * States, events, causes and refusals in words.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "../kmod/core/block.h"
#include "../kmod/core/loop.h"
#include "libhytest.h"
#include "param_names.h"

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
	};

	return type < COUNT(text) && text[type] ? text[type] : "unknown";
}

const char *hytest_cause_text(uint32_t cause)
{
	const char *text = ht_cause_text(cause);

	return text ? text : "unknown";
}

/* What an interlock compares, such as "|force - demand|", and its unit. */
static void lock_subject(const struct ht_image *image, const struct ht_image_interlock *l,
			 char *text, size_t size, const char **per_second)
{
	static const char *const before[HT_LOCK_KINDS] = { "", "|d/dt ", "|", "rms(" };
	static const char *const after[HT_LOCK_KINDS] = { "", "|", "|", ")" };
	const char *other = l->other == HT_NO_SIGNAL ? NULL : image->signals[l->other].name;

	snprintf(text, size, "%s%s%s%s%s", before[l->kind], image->signals[l->signal].name,
		 other ? " - " : "", other ? other : "", after[l->kind]);
	*per_second = l->kind == HT_LOCK_RATE ? "/s" : "";
}

static void interlock_text(const struct ht_image *image, const struct hytest_trip *trip, char *text,
			   size_t size)
{
	const struct ht_image_interlock *l = &image->interlocks[trip->index];
	const char *unit = image->signals[l->signal].unit;
	const double value = hytest_double(trip->value), limit = hytest_double(trip->limit);
	char subject[3 * HT_NAME_LEN];
	const char *per_second;

	lock_subject(image, l, subject, sizeof(subject), &per_second);
	snprintf(text, size, "interlock '%s' at tick %" PRIu64 ": %s = %.6g %s%s, limit %.6g %s%s",
		 l->name, (uint64_t)trip->tick, subject, value, unit, per_second, limit, unit,
		 per_second);
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
	default:
		return NULL;
	}
}

void hytest_trip_text(const void *bytes, const struct hytest_trip *trip, char *text, size_t size)
{
	const char *unit = cause_unit(trip->cause);
	const uint64_t tick = trip->tick;
	struct ht_image image;

	if (bytes) {
		ht_image_open(&image, bytes);
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
		snprintf(text, size, "%s at tick %" PRIu64 ": %.10g%s, limit %.10g%s",
			 hytest_cause_text(trip->cause), tick, hytest_double(trip->value), unit,
			 hytest_double(trip->limit), unit);
	else
		snprintf(text, size, "%s at tick %" PRIu64, hytest_cause_text(trip->cause), tick);
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
