// SPDX-License-Identifier: GPL-2.0
/*
 * libhytest: the calls that both backends share, and what is said to people
 * when one of them fails.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kmod/core/fpenv.h"
#include "../kmod/core/image.h"
#include "backend.h"
#include "words.h"

#define IN(state) (1u << (state))

/* How a request is called, and the states in which it makes sense. */
struct request {
	unsigned long number;
	const char *verb;
	unsigned int states;
	const char *needed;
};

static const struct request requests[] = {
	{ HYTEST_IOC_TRIP, "trip", IN(HYTEST_ARMED) | IN(HYTEST_RUNNING) | IN(HYTEST_STOPPING) |
	  IN(HYTEST_TRIPPED), "armed or running" },
	{ HYTEST_IOC_LOAD, "load", IN(HYTEST_EMPTY) | IN(HYTEST_LOADED), "empty or loaded" },
	{ HYTEST_IOC_UNLOAD, "unload", IN(HYTEST_LOADED), "loaded" },
	{ HYTEST_IOC_ARM, "arm", IN(HYTEST_LOADED), "loaded" },
	{ HYTEST_IOC_DISARM, "disarm", IN(HYTEST_ARMED), "armed" },
	{ HYTEST_IOC_START, "start", IN(HYTEST_ARMED), "armed" },
	{ HYTEST_IOC_STOP, "stop", IN(HYTEST_RUNNING) | IN(HYTEST_STOPPING), "running" },
	{ HYTEST_IOC_ACK, "acknowledge", IN(HYTEST_TRIPPED), "tripped" },
	{ HYTEST_IOC_BATCH, "change parameters", ~IN(HYTEST_EMPTY), "loaded" },
	{ HYTEST_IOC_CONTROL, "take control", ~0u, "" },
	{ HYTEST_IOC_RELEASE, "release control", ~0u, "" },
};

static const struct request *find_request(unsigned long number)
{
	size_t i;

	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		if (requests[i].number == number)
			return &requests[i];
	return NULL;
}

__attribute__((format(printf, 3, 4)))
static int complain(struct hytest_loop *loop, int result, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(loop->error, sizeof(loop->error), format, list);
	va_end(list);
	return result;
}

/* What can be said of any request: control, state, or else the errno. */
static int explain(struct hytest_loop *loop, unsigned long number, int result)
{
	const struct request *request = find_request(number);
	const char *verb = request ? request->verb : "ask";
	uint32_t state = hytest_load_u32(&loop->status->state);
	struct hytest_info info;

	if (loop->backend->call(loop, HYTEST_IOC_INFO, &info))
		info.controlled = 0;
	if ((result == -EBUSY || result == -EPERM) && info.controlled == 2)
		return complain(loop, result, "cannot %s: process %u has control of this loop",
				verb, hytest_load_u32(&loop->status->owner));
	if (result == -EPERM && info.controlled == 0 && number != HYTEST_IOC_TRIP)
		return complain(loop, result, "cannot %s: control has not been taken", verb);
	if (request && !(request->states & IN(state)))
		return complain(loop, result, "cannot %s: the loop is %s, it must be %s", verb,
				hytest_state_text(state), request->needed);
	return complain(loop, result, "cannot %s: %s", verb, strerror(-result));
}

static int call(struct hytest_loop *loop, unsigned long number, void *argument)
{
	int result = loop->backend->call(loop, number, argument);

	return result ? explain(loop, number, result) : 0;
}

void hytest_close(struct hytest_loop *loop)
{
	if (loop)
		loop->backend->close(loop);
}

const char *hytest_backend_name(const struct hytest_loop *loop)
{
	return loop->backend->name;
}

const char *hytest_error(const struct hytest_loop *loop)
{
	return loop->error;
}

int hytest_get_info(struct hytest_loop *loop, struct hytest_info *info)
{
	return call(loop, HYTEST_IOC_INFO, info);
}

int hytest_copy_status(const struct hytest_status *from, struct hytest_status *to)
{
	uint32_t before, after;
	int tries;

	for (tries = 0; tries < 1000000; tries++) {
		before = hytest_load_u32(&from->sequence);
		if (before & 1)
			continue;
		memcpy(to, from, sizeof(*to));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		after = hytest_load_u32(&from->sequence);
		if (before == after)
			return 0;
	}
	return -EAGAIN;
}

int hytest_get_status(struct hytest_loop *loop, struct hytest_status *status)
{
	int result = hytest_copy_status(loop->status, status);

	if (result)
		return complain(loop, result, "the status page does not come to rest");
	if (status->version != HYTEST_UAPI_VERSION)
		return complain(loop, -EPROTO, "the module speaks version %u, this program %u",
				status->version, HYTEST_UAPI_VERSION);
	return 0;
}

static int check_image(const void *image, size_t size)
{
	struct ht_error error;
	ht_u32 environment = ht_fpenv_enter();
	int code = ht_image_check(image, size, &error);

	ht_fpenv_leave(environment);
	return code;
}

int hytest_get_image(struct hytest_loop *loop, void **image, size_t *size)
{
	struct hytest_image request;
	struct hytest_info info;
	void *buffer;
	int result;

	result = hytest_get_info(loop, &info);
	if (result)
		return result;
	if (!info.image_bytes)
		return complain(loop, -ENODATA, "no program is loaded");
	buffer = malloc(info.image_bytes);
	if (!buffer)
		return complain(loop, -ENOMEM, "no memory for an image of %llu bytes",
				(unsigned long long)info.image_bytes);
	request = (struct hytest_image){
		.buffer = (uintptr_t)buffer,
		.size = info.image_bytes,
	};
	result = loop->backend->call(loop, HYTEST_IOC_IMAGE, &request);
	if (!result && check_image(buffer, request.size))
		result = -EBADMSG;
	if (result) {
		free(buffer);
		return complain(loop, result, "cannot read the image: %s", strerror(-result));
	}
	*image = buffer;
	*size = request.size;
	return 0;
}

int hytest_get_params(struct hytest_loop *loop, uint32_t first, uint32_t count, double *values)
{
	struct hytest_params request = {
		.values = (uintptr_t)values,
		.first = first,
		.count = count,
	};
	int result;

	if (!count)
		return 0;
	result = loop->backend->call(loop, HYTEST_IOC_GET_PARAMS, &request);
	if (result)
		return complain(loop, result, "cannot read parameters %u to %u: %s", first,
				first + count - 1, strerror(-result));
	return 0;
}

int hytest_get_lock(struct hytest_loop *loop, uint32_t interlock, struct hytest_lock *lock)
{
	int result;

	*lock = (struct hytest_lock){ .interlock = interlock };
	result = loop->backend->call(loop, HYTEST_IOC_GET_LOCK, lock);
	if (result)
		return complain(loop, result, "cannot look at interlock %u: %s", interlock,
				strerror(-result));
	return 0;
}

int hytest_take_control(struct hytest_loop *loop)
{
	return call(loop, HYTEST_IOC_CONTROL, NULL);
}

int hytest_release_control(struct hytest_loop *loop)
{
	return call(loop, HYTEST_IOC_RELEASE, NULL);
}

int hytest_load(struct hytest_loop *loop, const void *image, size_t size)
{
	struct hytest_load load = { .image = (uintptr_t)image, .size = size };
	int result = loop->backend->call(loop, HYTEST_IOC_LOAD, &load);
	struct hytest_info info;
	char text[384];

	if (!result)
		return 0;
	if (result == -EINVAL && load.refusal.code) {
		hytest_refusal_text(image, size, &load.refusal, text, sizeof(text));
		return complain(loop, result, "the program is refused: %s", text);
	}
	if ((result == -E2BIG || result == -EFBIG) &&
	    !loop->backend->call(loop, HYTEST_IOC_INFO, &info)) {
		if (result == -EFBIG)
			return complain(loop, result,
					"the image has %zu bytes, max_image_bytes allows %llu",
					size, (unsigned long long)info.max_image_bytes);
		return complain(loop, result,
				"the program needs %llu bytes, max_loop_bytes allows %llu",
				(unsigned long long)load.needed_bytes,
				(unsigned long long)info.max_loop_bytes);
	}
	return explain(loop, HYTEST_IOC_LOAD, result);
}

int hytest_unload(struct hytest_loop *loop)
{
	return call(loop, HYTEST_IOC_UNLOAD, NULL);
}

/* Interlocks that are not healthy, in words, as many as have room. */
struct lock_list {
	char text[384];
	uint32_t count;
	uint32_t left_off;
};

static void add_to_list(struct lock_list *list, const char *text)
{
	const size_t used = strlen(list->text);

	list->count++;
	if (list->left_off || used + strlen(text) + 3 > sizeof(list->text))
		list->left_off++;
	else
		snprintf(list->text + used, sizeof(list->text) - used, "%s%s", used ? "; " : "",
			 text);
}

/* After a refusal the loop shows them as they were when it refused. */
static void list_locks(struct hytest_loop *loop, const void *image, struct lock_list *list)
{
	const struct ht_image_header *h = image;
	struct hytest_lock lock;
	char text[256];
	uint32_t i;

	for (i = 0; i < h->n_interlocks; i++) {
		if (hytest_get_lock(loop, i, &lock) || (lock.healthy && !lock.violated_ticks))
			continue;
		hytest_lock_text(image, i, lock.value, lock.limit, text, sizeof(text));
		add_to_list(list, text);
	}
}

static int explain_locks(struct hytest_loop *loop, const char *verb, const void *image)
{
	struct lock_list list = { 0 };
	char more[32] = "";

	list_locks(loop, image, &list);
	if (list.left_off)
		snprintf(more, sizeof(more), "; and %u more", list.left_off);
	if (list.count == 1)
		return complain(loop, -EPERM, "cannot %s: interlock %s", verb, list.text);
	return complain(loop, -EPERM, "cannot %s: %u interlocks are violated: %s%s", verb,
			list.count, list.text, more);
}

/* What only the image can tell in words: a channel, interlocks. */
static int explain_arm(struct hytest_loop *loop, const struct hytest_arm *arm, int result)
{
	char text[400];
	size_t size;
	void *image;

	if (hytest_get_image(loop, &image, &size))
		return explain(loop, HYTEST_IOC_ARM, result);
	if (result == -EPERM) {
		explain_locks(loop, "arm", image);
	} else {
		hytest_bind_text(image, arm->problem, arm->channel, arm->error, text,
				 sizeof(text));
		complain(loop, result, "cannot arm: %s", text);
	}
	free(image);
	return result;
}

static bool is_unhealthy(const struct hytest_arm *arm)
{
	size_t i;

	for (i = 0; i < sizeof(arm->unhealthy) / sizeof(arm->unhealthy[0]); i++)
		if (arm->unhealthy[i])
			return true;
	return false;
}

int hytest_arm(struct hytest_loop *loop, unsigned int cpu, unsigned int dry_ticks,
	       struct hytest_arm *arm)
{
	struct hytest_arm own = { .cpu = cpu, .dry_ticks = dry_ticks };
	int result;

	result = loop->backend->call(loop, HYTEST_IOC_ARM, &own);
	if (arm)
		*arm = own;
	if (!result)
		return 0;
	if (result == -ETIME)
		return complain(loop, result, "cannot arm: the slowest of %u dry ticks took %u ns, "
				"%u ns more than the budget of %u ns", dry_ticks, own.worst_ns,
				own.worst_ns - own.budget_ns, own.budget_ns);
	if ((result == -EPERM && is_unhealthy(&own)) || (result == -ENXIO && own.problem))
		return explain_arm(loop, &own, result);
	if (result == -ENODEV)
		return complain(loop, result, "cannot arm: CPU %u is not online", cpu);
	return explain(loop, HYTEST_IOC_ARM, result);
}

int hytest_disarm(struct hytest_loop *loop)
{
	return call(loop, HYTEST_IOC_DISARM, NULL);
}

int hytest_start(struct hytest_loop *loop)
{
	int result = loop->backend->call(loop, HYTEST_IOC_START, NULL);
	struct hytest_info info;
	size_t size;
	void *image;

	if (!result)
		return 0;
	if (result != -EPERM || hytest_get_info(loop, &info) || info.controlled != 1 ||
	    hytest_get_image(loop, &image, &size))
		return explain(loop, HYTEST_IOC_START, result);
	explain_locks(loop, "start", image);
	free(image);
	return result;
}

int hytest_stop(struct hytest_loop *loop)
{
	return call(loop, HYTEST_IOC_STOP, NULL);
}

int hytest_trip(struct hytest_loop *loop)
{
	return call(loop, HYTEST_IOC_TRIP, NULL);
}

int hytest_acknowledge(struct hytest_loop *loop)
{
	int result = loop->backend->call(loop, HYTEST_IOC_ACK, NULL);

	if (result == -EBUSY && hytest_load_u32(&loop->status->state) == HYTEST_TRIPPED)
		return complain(loop, result, "cannot acknowledge: outputs are not safe yet");
	return result ? explain(loop, HYTEST_IOC_ACK, result) : 0;
}

/* Leaves no error text: it may run beside the other calls. */
int hytest_heartbeat(struct hytest_loop *loop)
{
	return loop->backend->call(loop, HYTEST_IOC_HEARTBEAT, NULL);
}

/* Why a batch was refused, in words of the program that is loaded. */
static int explain_batch(struct hytest_loop *loop, const struct hytest_refusal *refusal)
{
	void *image = NULL;
	char text[384];
	size_t size = 0;

	if (hytest_get_image(loop, &image, &size))
		image = NULL;
	hytest_refusal_text(image, size, refusal, text, sizeof(text));
	free(image);
	return complain(loop, -EINVAL, "the change is refused: %s", text);
}

int hytest_change(struct hytest_loop *loop, const struct hytest_change *changes, uint32_t count,
		  uint64_t tick, uint32_t *number)
{
	struct hytest_batch batch = {
		.changes = (uintptr_t)changes,
		.count = count,
		.tick = tick,
	};
	int result = loop->backend->call(loop, HYTEST_IOC_BATCH, &batch);
	struct hytest_info info;

	if (number)
		*number = batch.number;
	if (!result)
		return 0;
	if (result == -EINVAL && batch.refusal.code)
		return explain_batch(loop, &batch.refusal);
	if (result == -EBUSY && hytest_load_u32(&loop->status->state) == HYTEST_TRIPPED)
		return complain(loop, result,
				"cannot change parameters: the loop is tripped, acknowledge it first");
	if (result == -EBUSY && !loop->backend->call(loop, HYTEST_IOC_INFO, &info) &&
	    info.controlled == 1)
		return complain(loop, result, "the batch before still waits for its tick");
	return explain(loop, HYTEST_IOC_BATCH, result);
}

int hytest_wait(struct hytest_loop *loop, uint64_t timeout_ns)
{
	int result = loop->backend->wait(loop, timeout_ns);

	if (result < 0)
		return complain(loop, result, "cannot wait: %s", strerror(-result));
	return result;
}

int hytest_read_events(struct hytest_loop *loop, struct hytest_event *events, size_t n)
{
	int result = loop->backend->events(loop, events, n);

	if (result < 0)
		return complain(loop, result, "cannot read events: %s", strerror(-result));
	return result;
}

int hytest_rewind_events(struct hytest_loop *loop)
{
	return call(loop, HYTEST_IOC_REWIND, NULL);
}

int hytest_sim_add_rig(struct hytest_loop *loop, const char *name, const void *image, size_t size)
{
	struct hytest_refusal refusal = { 0 };
	char text[384];
	int result = -EOPNOTSUPP;

	if (loop->backend->add_rig)
		result = loop->backend->add_rig(loop, name, image, size, &refusal);
	if (!result)
		return 0;
	if (result == -EBUSY)
		return complain(loop, result, "rig %s: the loop is %s, it must be empty or loaded",
				name, hytest_state_text(hytest_load_u32(&loop->status->state)));
	if (result == -EINVAL && !refusal.code)
		return complain(loop, result, "'%s' is no name for a rig: it has 1 to 31 letters, "
				"digits, '-', '_' and '.'", name);
	if (result == -EINVAL) {
		hytest_refusal_text(image, size, &refusal, text, sizeof(text));
		return complain(loop, result, "rig %s is refused: %s", name, text);
	}
	return complain(loop, result, "rig %s: %s", name, strerror(-result));
}

int hytest_sim_fault(struct hytest_loop *loop, const char *rig, const char *line)
{
	char text[256] = "not a simulated loop";
	int result = -EOPNOTSUPP;

	if (loop->backend->fault)
		result = loop->backend->fault(loop, rig, line, text, sizeof(text));
	return result ? complain(loop, result, "rig %s: %s", rig, text) : 0;
}
