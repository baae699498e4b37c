// SPDX-License-Identifier: GPL-2.0
/*
 * The bench of the fault campaign: see bench.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "loop.h"
#include "rig.h"

#define DRY_TICKS	20
#define BEAT_NS		5000000
#define NS_PER_S	1000000000ull
#define HOG_PERIOD_NS	10000000
#define REST_MS		1000	/* no case moves so long after its trip */

int bench_fail(struct bench *bench, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(bench->problem, sizeof(bench->problem), format, list);
	va_end(list);
	return -1;
}

static int fail_loop(struct bench *bench)
{
	return bench_fail(bench, "%s", hytest_error(bench->loop));
}

int bench_open(struct bench *bench, const char *file)
{
	memset(bench, 0, sizeof(*bench));
	bench->file = file;
	bench->hog = -1;
	bench->rigs = rig_open(O_RDWR);
	bench->kernel_log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (bench->rigs < 0 || bench->kernel_log < 0)
		return bench_fail(bench, "/dev/hytest_rig or /dev/kmsg: %s", strerror(errno));
	lseek(bench->kernel_log, 0, SEEK_END);
	bench->loop = hytest_open(0, true, bench->problem, sizeof(bench->problem));
	if (!bench->loop)
		return -1;
	return hytest_take_control(bench->loop) ? fail_loop(bench) : 0;
}

void bench_close(struct bench *bench)
{
	if (bench->loop)
		hytest_close(bench->loop);
	close(bench->kernel_log);
	close(bench->rigs);
}

static int make_rig(struct bench *bench)
{
	const struct hytest_rig_program *rigs;
	struct hytest_rig_create create;
	int error;

	if (hytest_experiment_rigs(bench->experiment, &rigs) != 1)
		return bench_fail(bench, "%s must have one rig", bench->file);
	error = rig_create_bytes(bench->rigs, rigs->name, rigs->image, rigs->size, &create);
	if (error)
		return bench_fail(bench, "the rig is not made: %s", strerror(error));
	ht_image_open(&bench->rig_parts, rigs->image);
	bench->device = create.device;
	error = rig_device_name(create.device, bench->platform, sizeof(bench->platform));
	return error ? bench_fail(bench, "the rig has no device: %s", strerror(error)) : 0;
}

int bench_load(struct bench *bench, const char *const *settings)
{
	struct hytest_message message;
	size_t size, n = 0;

	while (settings[n])
		n++;
	bench->silent = false;
	bench->experiment = hytest_experiment_read(bench->file, settings, n, &message);
	if (!bench->experiment)
		return bench_fail(bench, "%s", message.text);
	bench->image = hytest_experiment_image(bench->experiment, &size);
	ht_image_open(&bench->parts, bench->image);
	if (make_rig(bench))
		return -1;
	bench->triggers = hytest_triggers_assign(0, bench->image, &message);
	if (!bench->triggers)
		return bench_fail(bench, "%s", message.text);
	return hytest_load(bench->loop, bench->image, size) ? fail_loop(bench) : 0;
}

int bench_arm(struct bench *bench, struct hytest_arm *arm)
{
	int result = hytest_arm(bench->loop, 0, DRY_TICKS, arm);

	if (result)
		fail_loop(bench);
	return result;
}

int bench_start(struct bench *bench)
{
	struct hytest_arm arm;

	if (bench_arm(bench, &arm))
		return -1;
	if (hytest_start(bench->loop))
		return fail_loop(bench);
	return bench_look(bench);
}

int bench_look(struct bench *bench)
{
	return hytest_get_status(bench->loop, &bench->status) ? fail_loop(bench) : 0;
}

static void sleep_until(uint64_t ns)
{
	const struct timespec when = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
		;
}

int bench_sleep(struct bench *bench, uint64_t tick)
{
	const uint64_t period = bench->status.period_ns;
	const uint64_t end = bench->status.start_ns + tick * period + period / 2;
	uint64_t now;

	while ((now = now_ns()) < end) {
		if (!bench->silent && hytest_heartbeat(bench->loop))
			return fail_loop(bench);
		sleep_until(now + BEAT_NS < end ? now + BEAT_NS : end);
	}
	return bench_look(bench);
}

int bench_wait_trip(struct bench *bench, uint64_t last_tick)
{
	do {
		if (bench_sleep(bench, bench->status.tick))
			return -1;
	} while (bench->status.state == HYTEST_RUNNING && bench->status.tick <= last_tick);
	if (bench->status.state == HYTEST_TRIPPED)
		return 0;
	return bench_fail(bench, "no trip up to tick %llu",
			  (unsigned long long)bench->status.tick);
}

int bench_wait_rest(struct bench *bench)
{
	unsigned int i;
	uint64_t head;

	for (i = 0; i < REST_MS; i += 2) {
		head = bench->status.head;
		sleep_ms(2);
		if (bench_look(bench))
			return -1;
		if (head == bench->status.head && !bench->status.bound_inputs &&
		    !bench->status.bound_outputs)
			return 0;
	}
	return bench_fail(bench, "the loop does not come to rest");
}

static int acknowledge(struct bench *bench)
{
	unsigned int i;

	/* The trip is a tick away, then outputs move. */
	for (i = 0; i < REST_MS && hytest_acknowledge(bench->loop); i++)
		sleep_ms(1);
	return bench_look(bench);
}

static int come_to_rest(struct bench *bench)
{
	if (bench_look(bench))
		return -1;
	if (bench->status.state == HYTEST_ARMED)
		hytest_disarm(bench->loop);
	else if (bench->status.state >= HYTEST_RUNNING)
		hytest_trip(bench->loop);
	if (bench->status.state >= HYTEST_RUNNING && acknowledge(bench))
		return -1;
	hytest_unload(bench->loop);
	if (bench_look(bench))
		return -1;
	if (bench->status.state == HYTEST_EMPTY)
		return 0;
	return bench_fail(bench, "the loop is still %s", hytest_state_text(bench->status.state));
}

/* Leaves the other loop as it was: empty. */
static void end_hog(struct bench *bench)
{
	unsigned int i;

	if (bench->hog < 0)
		return;
	loop_ioctl(bench->hog, HYTEST_IOC_TRIP, NULL);
	for (i = 0; i < REST_MS && loop_ioctl(bench->hog, HYTEST_IOC_ACK, NULL); i++)
		sleep_ms(1);
	loop_ioctl(bench->hog, HYTEST_IOC_UNLOAD, NULL);
	close(bench->hog);
	bench->hog = -1;
}

int bench_unload(struct bench *bench)
{
	int error, result;

	end_hog(bench);
	result = come_to_rest(bench);
	if (bench->triggers)
		hytest_triggers_restore(bench->triggers);
	bench->triggers = NULL;
	error = rig_remove(bench->rigs, BENCH_RIG);
	hytest_experiment_free(bench->experiment);
	bench->experiment = NULL;
	if (!result && error)
		return bench_fail(bench, "the rig is not removed: %s", strerror(error));
	return result;
}

/* A loop whose tick takes long, on the same processor and the same grid. */
static int arm_hog(struct bench *bench, unsigned int states)
{
	struct draft *draft = draft_new(HOG_PERIOD_NS);
	ht_u32 signals[2];
	int error = EBUSY;

	signals[0] = draft_signal(draft, "in", 0);
	signals[1] = draft_signal(draft, "out", 0);
	draft_block(draft, "state_space", states, 1, &signals[0], 1, &signals[1]);
	bench->hog = loop_open_control(1);
	if (bench->hog >= 0)
		error = loop_load(bench->hog, draft);
	if (!error)
		error = loop_arm(bench->hog, 0);
	draft_free(draft);
	return error;
}

int bench_prepare(struct bench *bench, const char *fault)
{
	unsigned int states;
	int error = 0;

	if (sscanf(fault, "overload %u", &states) == 1)
		error = arm_hog(bench, states);
	return error ? bench_fail(bench, "%s: not prepared: %s", fault, strerror(error)) : 0;
}

int bench_inject(struct bench *bench, const char *fault)
{
	int error = 0;

	if (!strcmp(fault, "unbind"))
		error = file_write(RIG_DRIVER "/unbind", bench->platform);
	else if (bench->hog >= 0)
		error = loop_ioctl(bench->hog, HYTEST_IOC_START, NULL);
	else if (!strcmp(fault, "silence"))
		bench->silent = true;
	else if (strcmp(fault, "nothing"))
		error = rig_fault(BENCH_RIG, fault);
	return error ? bench_fail(bench, "%s: not injected: %s", fault, strerror(error)) : 0;
}

/* Binds the device to its driver again; its number may be another one. */
static int rebind(struct bench *bench)
{
	char pattern[160];
	glob_t found;
	int n, error = file_write(RIG_DRIVER "/bind", bench->platform);

	if (error)
		return bench_fail(bench, "the rig is not bound again: %s", strerror(error));
	snprintf(pattern, sizeof(pattern), "/sys/bus/platform/devices/%s/iio:device*",
		 bench->platform);
	if (glob(pattern, 0, NULL, &found))
		return bench_fail(bench, "%s: there is none", pattern);
	n = sscanf(strrchr(found.gl_pathv[0], '/'), "/iio:device%u", &bench->device);
	globfree(&found);
	return n == 1 ? 0 : bench_fail(bench, "%s: no number", pattern);
}

int bench_clear(struct bench *bench)
{
	char driver[128];
	int error;

	snprintf(driver, sizeof(driver), RIG_DRIVER "/%s", bench->platform);
	if (access(driver, F_OK) && rebind(bench))
		return -1;
	error = rig_fault(BENCH_RIG, "none\n");
	bench->silent = false;
	return error ? bench_fail(bench, "faults are not cleared: %s", strerror(error)) : 0;
}

/* out_voltageN_raw of an output, and its channel of the rig. */
static const struct ht_image_channel *find_dac(struct bench *bench, uint32_t output,
					       char *attribute, size_t size)
{
	const char *name = bench->parts.outputs[output].channel.name;
	uint32_t i;

	for (i = 0; i < bench->rig_parts.header->n_inputs; i++) {
		const struct ht_image_channel *channel = &bench->rig_parts.inputs[i].channel;

		if (strcmp(channel->name, name))
			continue;
		snprintf(attribute, size, "out_voltage%u_raw", i);
		return channel;
	}
	bench_fail(bench, "the rig has no channel %s", name);
	return NULL;
}

int bench_output_code(struct bench *bench, uint32_t output, long *code, long *safe_code)
{
	const struct ht_image_output *o = &bench->parts.outputs[output];
	const struct ht_image_channel *dac;
	double volts_per_code;
	char attribute[32];

	dac = find_dac(bench, output, attribute, sizeof(attribute));
	if (!dac)
		return -1;
	if (iio_read_int(bench->device, attribute, code))
		return bench_fail(bench, "%s cannot be read", attribute);
	volts_per_code = dac->range_mv / 1e3 / (1ull << (dac->bits - 1));
	*safe_code = lround((o->safe - o->channel.offset) / o->channel.gain / volts_per_code);
	return 0;
}

int bench_write_output(struct bench *bench, uint32_t output, long code)
{
	char attribute[32];

	if (!find_dac(bench, output, attribute, sizeof(attribute)))
		return -1;
	if (iio_write_int(bench->device, attribute, code))
		return bench_fail(bench, "%s cannot be written", attribute);
	return 0;
}

int bench_lock(const struct bench *bench, const char *name)
{
	uint32_t i;

	for (i = 0; i < bench->parts.header->n_interlocks; i++)
		if (!strcmp(bench->parts.interlocks[i].name, name))
			return i;
	return -1;
}

int bench_check_kernel(struct bench *bench)
{
	static const char *const complaints[] = {
		"WARNING:", "BUG:", "Oops", "Call Trace", "refcount_t", "scheduling while atomic",
	};
	char line[2048];
	ssize_t n;
	size_t i;

	while ((n = read(bench->kernel_log, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		line[n > 0 ? n : 0] = '\0';
		line[strcspn(line, "\n")] = '\0';
		for (i = 0; i < sizeof(complaints) / sizeof(complaints[0]); i++)
			if (strstr(line, complaints[i]))
				return bench_fail(bench, "the kernel says: %.200s", line);
		errno = 0;
	}
	return 0;
}
