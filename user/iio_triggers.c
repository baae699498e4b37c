// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers of a loop, given to IIO devices for as long as it runs.
 *
 * The kernel lets nobody but user space choose what triggers a device. Each loop
 * has a few triggers, hytestN.0 and so on, of which each serves two devices.
 */
#include <errno.h>
#include <iio.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../kmod/core/image.h"
#include "iio_triggers.h"
#include "tree.h"

#define DEVICES_PER_TRIGGER	2	/* CONFIG_IIO_CONSUMERS_PER_TRIGGER, as nearly everywhere */
#define RETRIES			100
#define RETRY_NS		10000000l

/* A device that was changed, and the trigger that it had. */
struct change {
	const struct iio_device *device;
	const struct iio_device *before;	/* NULL: none */
};

struct hytest_triggers {
	struct iio_context *context;
	unsigned int loop;
	char prefix[24];		/* "hytestN." */
	struct change *changes;
	size_t n_changes;
};

static bool is_named(const char *name, const char *wanted)
{
	return name && !strcmp(name, wanted);
}

/* As the module does: by label, else by name, if there is only one. */
static const struct iio_device *find_device(const struct iio_context *context, const char *wanted)
{
	const unsigned int n = iio_context_get_devices_count(context);
	const struct iio_device *device, *found = NULL;
	unsigned int i, by_name;

	for (by_name = 0; by_name < 2 && !found; by_name++) {
		for (i = 0; i < n; i++) {
			device = iio_context_get_device(context, i);
			if (iio_device_is_trigger(device) ||
			    !is_named(by_name ? iio_device_get_name(device) :
						iio_device_get_label(device), wanted))
				continue;
			if (found)
				return NULL;
			found = device;
		}
	}
	return found;
}

static const struct iio_device *trigger_of(const struct iio_device *device)
{
	const struct iio_device *trigger = NULL;

	if (iio_device_is_trigger(device) || iio_device_get_trigger(device, &trigger))
		return NULL;
	return trigger;
}

static bool is_ours(const struct hytest_triggers *t, const struct iio_device *trigger)
{
	const char *name = trigger ? iio_device_get_name(trigger) : NULL;

	return name && !strncmp(name, t->prefix, strlen(t->prefix));
}

/* Of any loop: such an assignment means nothing once nobody uses it. */
static bool is_of_a_loop(const struct iio_device *trigger)
{
	const char *name = trigger ? iio_device_get_name(trigger) : NULL;

	return name && !strncmp(name, "hytest", 6);
}

static unsigned int count_users(const struct hytest_triggers *t, const struct iio_device *trigger)
{
	const unsigned int n = iio_context_get_devices_count(t->context);
	unsigned int i, users = 0;

	for (i = 0; i < n; i++)
		users += trigger_of(iio_context_get_device(t->context, i)) == trigger;
	return users;
}

/* One of our triggers that has room; NULL if none has. *any: whether there are any. */
static const struct iio_device *find_room(const struct hytest_triggers *t, bool *any)
{
	const unsigned int n = iio_context_get_devices_count(t->context);
	const struct iio_device *device;
	unsigned int i;

	*any = false;
	for (i = 0; i < n; i++) {
		device = iio_context_get_device(t->context, i);
		if (!iio_device_is_trigger(device) || !is_ours(t, device))
			continue;
		*any = true;
		if (count_users(t, device) < DEVICES_PER_TRIGGER)
			return device;
	}
	return NULL;
}

/* The device of a channel; NULL if there is none, or several. */
static const struct iio_device *device_of(const struct hytest_triggers *t,
					  const struct ht_image_channel *channel)
{
	char id[64];

	if (channel->device[0])
		return find_device(t->context, channel->device);
	if (!hytest_tree_find("/sys", t->loop, channel->name, id, sizeof(id)))
		return NULL;
	return iio_context_find_device(t->context, id);
}

static bool is_wanted(const struct hytest_triggers *t, const struct ht_image *image,
		      const struct iio_device *device)
{
	const struct ht_image_input *input;
	uint32_t i;

	for (i = 0; i < image->header->n_inputs; i++) {
		input = &image->inputs[i];
		if (input->channel.kind == HT_CHANNEL_IIO && !(input->flags & HT_INPUT_POLL) &&
		    device_of(t, &input->channel) == device)
			return true;
	}
	return false;
}

/* The loop lets go of its devices a little after its last tick. */
static void set_patiently(const struct iio_device *device, const struct iio_device *trigger)
{
	const struct timespec pause = { .tv_nsec = RETRY_NS };
	int i;

	for (i = 0; i < RETRIES && iio_device_set_trigger(device, trigger) == -EBUSY; i++)
		nanosleep(&pause, NULL);
}

/* Devices that another supervisor left on our triggers; image NULL: all of them. */
static void free_leftovers(const struct hytest_triggers *t, const struct ht_image *image)
{
	const unsigned int n = iio_context_get_devices_count(t->context);
	const struct iio_device *device;
	unsigned int i;

	for (i = 0; i < n; i++) {
		device = iio_context_get_device(t->context, i);
		if (!is_ours(t, trigger_of(device)) || (image && is_wanted(t, image, device)))
			continue;
		set_patiently(device, NULL);
	}
}

static int complain(struct hytest_message *message, const struct iio_device *device,
		    const char *why)
{
	const char *name = iio_device_get_name(device);

	snprintf(message->text, sizeof(message->text), "IIO device %s: %s",
		 name ? name : iio_device_get_id(device), why);
	return -1;
}

static int assign(struct hytest_triggers *t, const struct iio_device *device,
		  struct hytest_message *message)
{
	const struct iio_device *before = trigger_of(device), *trigger;
	char why[256];
	int result;
	bool any;

	if (!is_ours(t, before)) {
		trigger = find_room(t, &any);
		if (!trigger) {
			snprintf(why, sizeof(why), any ? "%s* serve no more devices: let some "
				 "inputs be polled (poll = true)" : "there is no trigger %s*: is "
				 "the module loaded with IIO?", t->prefix);
			return complain(message, device, why);
		}
		result = iio_device_set_trigger(device, trigger);
		if (result) {
			snprintf(why, sizeof(why), "cannot get the trigger %s: %s",
				 iio_device_get_name(trigger), result == -EBUSY ?
				 "somebody else scans it" : strerror(-result));
			return complain(message, device, why);
		}
	}
	t->changes[t->n_changes].device = device;
	t->changes[t->n_changes].before = is_of_a_loop(before) ? NULL : before;
	t->n_changes++;
	return 0;
}

/* Devices without current_trigger cannot be scanned. */
static bool is_triggered(const struct iio_device *device)
{
	const struct iio_device *trigger;

	return !iio_device_is_trigger(device) &&
	       iio_device_get_trigger(device, &trigger) != -ENOENT;
}

static int assign_all(struct hytest_triggers *t, const struct ht_image *image,
		      struct hytest_message *message)
{
	const unsigned int n = iio_context_get_devices_count(t->context);
	const struct iio_device *device;
	unsigned int i;

	t->changes = calloc(n + 1, sizeof(*t->changes));
	if (!t->changes) {
		snprintf(message->text, sizeof(message->text), "no memory");
		return -1;
	}
	free_leftovers(t, image);
	for (i = 0; i < n; i++) {
		device = iio_context_get_device(t->context, i);
		if (is_triggered(device) && is_wanted(t, image, device) &&
		    assign(t, device, message))
			return -1;
	}
	return 0;
}

static struct hytest_triggers *open_triggers(unsigned int loop)
{
	struct hytest_triggers *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->loop = loop;
	snprintf(t->prefix, sizeof(t->prefix), "hytest%u.", loop);
	t->context = iio_create_local_context();
	return t;
}

struct hytest_triggers *hytest_triggers_assign(unsigned int loop, const void *bytes,
					       struct hytest_message *message)
{
	struct hytest_triggers *t = open_triggers(loop);
	struct ht_image image;

	if (!t) {
		snprintf(message->text, sizeof(message->text), "no memory");
		return NULL;
	}
	ht_image_open(&image, bytes);
	/* Without IIO there is nothing to assign; ARM tells if something is missing. */
	if (!t->context || !assign_all(t, &image, message))
		return t;
	hytest_triggers_restore(t);
	return NULL;
}

void hytest_triggers_restore(struct hytest_triggers *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->n_changes; i++)
		set_patiently(t->changes[i].device, t->changes[i].before);
	if (t->context)
		iio_context_destroy(t->context);
	free(t->changes);
	free(t);
}

void hytest_triggers_release(unsigned int loop)
{
	struct hytest_triggers *t = open_triggers(loop);

	if (t && t->context)
		free_leftovers(t, NULL);
	hytest_triggers_restore(t);
}
