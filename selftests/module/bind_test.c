// SPDX-License-Identifier: GPL-2.0
/*
 * A loop bound to a simulated rig: arming, watching, running, letting go, in
 * every order and again and again. The kernel must neither complain nor keep
 * memory, and a module that cannot be removed says why.
 *
 * HYTEST_ROUNDS sets the number of rounds of the last test.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "loop.h"
#include "rig.h"

#define PERIOD_NS	1000000
#define RIG		"bench"
#define LEVEL		2.0
#define CODE		(20.0 / 65536)	/* V */
/* Of the device, for our loop. */
#define TRIGGER		"hytest0.0"

/* Places in a record. */
enum { RESPONSE_AT, OUT };

FIXTURE(bind) {
	struct draft *draft;
	struct view view;
	struct hytest_record *record;
	int fd;
	int rigs;
	unsigned int device;	/* N of iio:deviceN */
	ht_u32 response;
	ht_u32 level_param;
};

/* A wire from the DAC to the ADC. */
static int make_rig(int rigs, unsigned int *device)
{
	struct draft *rig = draft_new_rig(PERIOD_NS / 10);
	ht_u32 wire = draft_signal(rig, "wire", 0);
	int ret;

	draft_dac(rig, wire, "command");
	draft_adc(rig, wire, "response");
	ret = rig_create(rigs, RIG, rig, device);
	draft_free(rig);
	return ret;
}

static int assign_trigger(unsigned int device, const char *name)
{
	return iio_write(device, "trigger/current_trigger", name);
}

FIXTURE_SETUP(bind)
{
	struct draft *draft = draft_new(PERIOD_NS);
	ht_u32 level, block;

	self->draft = draft;
	draft->header.missed_ticks = 0;
	draft->header.deadline_ticks = HT_MAX_LATE_TICKS;
	draft->header.soft_start_ticks = 50;
	draft->header.soft_stop_ticks = 10;
	if (!time_is_exact()) {
		draft->header.scan_ticks = HT_MAX_LATE_TICKS;
		draft->header.write_ticks = HT_MAX_LATE_TICKS;
	}
	self->response = draft_signal(draft, "response", 0);
	draft_bind(&draft->inputs[draft_input(draft, self->response)].channel, RIG, "response");
	block = draft_constant(draft, "level", LEVEL, &level);
	self->level_param = draft_param(draft, block, "b", 0);
	draft_bind(&draft->outputs[draft_output(draft, level, 0, 1000)].channel, RIG, "command");
	draft_record(draft, self->response);
	self->record = NULL;
	self->rigs = rig_open(O_RDWR);
	ASSERT_LE(0, self->rigs);
	ASSERT_EQ(0, make_rig(self->rigs, &self->device));
	ASSERT_EQ(0, assign_trigger(self->device, TRIGGER));
	self->fd = loop_open_control(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(bind)
{
	free(self->record);
	view_close(&self->view);
	close(self->fd);
	EXPECT_EQ(0, rig_remove(self->rigs, RIG));
	close(self->rigs);
	draft_free(self->draft);
}

static void look(struct __test_metadata *_metadata, struct _test_data_bind *self)
{
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	self->record = view_room(&self->view);
}

static void arm(struct __test_metadata *_metadata, struct _test_data_bind *self)
{
	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	look(_metadata, self);
	ASSERT_EQ(0, loop_arm(self->fd, 0));
}

static void run(struct __test_metadata *_metadata, struct _test_data_bind *self)
{
	arm(_metadata, self);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	ASSERT_TRUE(view_wait_tick(&self->view, 5));
	ASSERT_EQ(HYTEST_RUNNING, view_status(&self->view).state);
}

static bool wait_unbound(const struct view *view)
{
	const uint64_t end = now_ns() + WAIT_MS * 1000000ull;

	while (now_ns() < end) {
		const struct hytest_status status = view_status(view);

		if (!status.bound_inputs && !status.bound_outputs)
			return true;
		sleep_ms(1);
	}
	return false;
}

/* The output comes back as the input two ticks later: sampled, then taken. */
TEST_F(bind, input_follows_output)
{
	struct hytest_status status;
	struct hytest_event event;
	double out[2] = { 0, 0 };
	uint64_t n;

	arm(_metadata, self);
	ASSERT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_BOUND, &event));
	EXPECT_EQ(2, event.value);
	ASSERT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_ARMED, &event));
	status = view_status(&self->view);
	EXPECT_EQ(1, status.bound_inputs);
	EXPECT_EQ(1, status.bound_outputs);
	sleep_ms(20);
	status = view_status(&self->view);
	EXPECT_EQ(HYTEST_ARMED, status.state);
	EXPECT_EQ(0, status.tick);
	EXPECT_EQ(0, status.head);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	ASSERT_TRUE(view_wait_tick(&self->view, 100));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
	ASSERT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_STOPPED, &event));
	ASSERT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_UNBOUND, &event));
	status = view_status(&self->view);
	EXPECT_EQ(HYTEST_LOADED, status.state);
	EXPECT_EQ(0, status.bound_inputs);
	EXPECT_EQ(0, status.bound_outputs);
	EXPECT_EQ(0, status.trip.cause);
	if (!time_is_exact())
		SKIP(return, "input_follows_output: needs exact time");
	EXPECT_EQ(0, status.lost_scans);
	EXPECT_EQ(0, status.failed_writes);
	for (n = 0; n < status.head; n++) {
		ASSERT_TRUE(view_record(&self->view, n, self->record));
		EXPECT_EQ(0, self->record->scan_age);
		EXPECT_EQ(0, self->record->write_age);
		EXPECT_GE(CODE, fabs(record_value(self->record, RESPONSE_AT) - out[n % 2]))
			TH_LOG("tick %llu", (unsigned long long)n);
		out[n % 2] = record_value(self->record, OUT);
	}
}

/* Tick 0 has a scan of the period before it, like all others. */
TEST_F(bind, first_scan_is_fresh)
{
	const double per_tick = 0.05;
	double before = 0;
	uint64_t n;

	if (!time_is_exact())
		SKIP(return, "first_scan_is_fresh: needs exact time");
	arm(_metadata, self);
	ASSERT_EQ(0, loop_change(self->fd, self->level_param, 0, 0, NULL));
	ASSERT_EQ(0, rig_fault(RIG, "drift 0 50\n"));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	ASSERT_TRUE(view_wait_tick(&self->view, 20));
	for (n = 0; n < 20; n++) {
		ASSERT_TRUE(view_record(&self->view, n, self->record));
		if (n)
			EXPECT_GE(2 * CODE, fabs(record_value(self->record, RESPONSE_AT) -
						 before - per_tick));
		before = record_value(self->record, RESPONSE_AT);
	}
}

/* The safe value is what the output has when all is over. */
TEST_F(bind, safe_value_is_written)
{
	long code = 0;

	self->draft->header.soft_start_ticks = 0;
	self->draft->outputs[0].safe = 1;
	arm(_metadata, self);
	ASSERT_EQ(0, iio_read_int(self->device, "out_voltage0_raw", &code));
	EXPECT_GE(1, labs(code - lround(1 / CODE)));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	ASSERT_TRUE(view_wait_tick(&self->view, 60));
	ASSERT_EQ(0, iio_read_int(self->device, "out_voltage0_raw", &code));
	EXPECT_GE(1, labs(code - lround(LEVEL / CODE)));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_TRIP, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_TRIPPED));
	ASSERT_TRUE(wait_unbound(&self->view));
	ASSERT_EQ(0, iio_read_int(self->device, "out_voltage0_raw", &code));
	EXPECT_GE(1, labs(code - lround(1 / CODE)));
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
}

static void cannot_bind(struct __test_metadata *_metadata, struct _test_data_bind *self,
			enum hytest_bind_problem problem, uint32_t channel)
{
	struct hytest_arm request = { .dry_ticks = 1 };

	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	EXPECT_EQ(ENXIO, loop_ioctl(self->fd, HYTEST_IOC_ARM, &request));
	EXPECT_EQ(problem, request.problem);
	EXPECT_EQ(channel, request.channel);
}

TEST_F(bind, refused_channels)
{
	struct ht_image_channel *in = &self->draft->inputs[0].channel;
	struct ht_image_channel *out = &self->draft->outputs[0].channel;

	strcpy(in->device, "nobody");
	cannot_bind(_metadata, self, HYTEST_BIND_NO_DEVICE, 0);
	strcpy(in->device, RIG);
	strcpy(in->name, "command");
	cannot_bind(_metadata, self, HYTEST_BIND_NO_CHANNEL, 0);
	strcpy(in->name, "response");
	strcpy(out->name, "response");
	cannot_bind(_metadata, self, HYTEST_BIND_NO_CHANNEL, 1);
	strcpy(out->name, "command");
	ASSERT_EQ(0, assign_trigger(self->device, "\n"));
	cannot_bind(_metadata, self, HYTEST_BIND_NO_TRIGGER, 0);
	ASSERT_EQ(0, assign_trigger(self->device, "hytest1.0"));
	cannot_bind(_metadata, self, HYTEST_BIND_NO_TRIGGER, 0);
	ASSERT_EQ(0, assign_trigger(self->device, TRIGGER));
	ASSERT_EQ(0, rig_fault(RIG, "lost -1\n"));
	cannot_bind(_metadata, self, HYTEST_BIND_NO_SCAN, 0);
	ASSERT_EQ(0, rig_fault(RIG, "none\nwrite-error -1\n"));
	cannot_bind(_metadata, self, HYTEST_BIND_REFUSED, 1);
	ASSERT_EQ(0, rig_fault(RIG, "none\n"));
	EXPECT_EQ(0, loop_arm(self->fd, 0));
}

/* What is measured at that moment decides. */
TEST_F(bind, arming_looks_at_what_is_measured)
{
	struct hytest_arm request = { .dry_ticks = 1 };
	struct hytest_lock lock = { .interlock = 0 };

	draft_lock(self->draft, HT_LOCK_RANGE, HT_ACTION_RAMP, self->response, -1, 1);
	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	look(_metadata, self);
	ASSERT_EQ(0, rig_fault(RIG, "drift 0 1000\n"));
	sleep_ms(5);
	EXPECT_EQ(EPERM, loop_ioctl(self->fd, HYTEST_IOC_ARM, &request));
	EXPECT_EQ(0, request.interlock);
	EXPECT_EQ(1, request.unhealthy[0]);
	EXPECT_EQ(0, view_status(&self->view).bound_inputs);
	EXPECT_EQ(HYTEST_LOADED, view_status(&self->view).state);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_GET_LOCK, &lock));
	EXPECT_EQ(0, lock.healthy);
	EXPECT_LT(4, real_of(lock.value));
	EXPECT_EQ(1, real_of(lock.limit));
	ASSERT_EQ(0, rig_fault(RIG, "none\n"));
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_ARM, &request));
}

TEST_F(bind, armed_without_latch_refuses_start)
{
	draft_lock(self->draft, HT_LOCK_RANGE, HT_ACTION_RAMP, self->response, -1, 3);
	arm(_metadata, self);
	ASSERT_EQ(0, rig_fault(RIG, "drift 0 1000\n"));
	sleep_ms(20);
	EXPECT_EQ(EPERM, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	/* Still watched: it is no accident that it is refused again. */
	sleep_ms(20);
	EXPECT_EQ(EPERM, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	EXPECT_EQ(HYTEST_ARMED, view_status(&self->view).state);
	ASSERT_EQ(0, rig_fault(RIG, "none\n"));
	sleep_ms(20);
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	ASSERT_TRUE(view_wait_tick(&self->view, 5));
	EXPECT_EQ(HYTEST_RUNNING, view_status(&self->view).state);
}

TEST_F(bind, armed_with_latch_trips)
{
	struct hytest_event event;

	draft_lock(self->draft, HT_LOCK_RANGE, HT_ACTION_RAMP, self->response, -1, 3)->flags =
		HT_LOCK_LATCH;
	arm(_metadata, self);
	ASSERT_EQ(0, rig_fault(RIG, "drift 0 1000\n"));
	ASSERT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_TRIPPED, &event));
	EXPECT_EQ(HT_CAUSE_INTERLOCK << 16, event.index);
	EXPECT_EQ(3, real_of(event.limit));
	ASSERT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_SAFE, &event));
	ASSERT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_UNBOUND, &event));
	EXPECT_EQ(HYTEST_TRIPPED, view_status(&self->view).state);
	EXPECT_EQ(0, view_status(&self->view).head);
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
}

/* Parameters that change before START are there at tick 0. */
TEST_F(bind, batch_while_armed)
{
	uint32_t number = 9;

	self->draft->header.soft_start_ticks = 0;
	arm(_metadata, self);
	sleep_ms(5);
	ASSERT_EQ(0, loop_change(self->fd, self->level_param, 1, 1000, &number));
	EXPECT_EQ(0, number);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	ASSERT_TRUE(view_wait_tick(&self->view, 5));
	ASSERT_TRUE(view_record(&self->view, 0, self->record));
	EXPECT_EQ(1, record_value(self->record, OUT));
}

static void trip_of_armed(struct __test_metadata *_metadata, struct _test_data_bind *self,
			  uint32_t cause)
{
	struct hytest_event event;

	ASSERT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_TRIPPED, &event));
	EXPECT_EQ(cause, event.index >> 16);
	ASSERT_TRUE(wait_unbound(&self->view));
	ASSERT_TRUE(loop_wait_ack(self->fd));
	EXPECT_EQ(HYTEST_LOADED, view_status(&self->view).state);
}

TEST_F(bind, armed_trips)
{
	arm(_metadata, self);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_TRIP, NULL));
	trip_of_armed(_metadata, self, HT_CAUSE_OPERATOR);
	/* While it is on its way, START and DISARM come too late. */
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_TRIP, NULL));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	trip_of_armed(_metadata, self, HT_CAUSE_OPERATOR);
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_TRIP, NULL));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_DISARM, NULL));
	trip_of_armed(_metadata, self, HT_CAUSE_OPERATOR);
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	ASSERT_EQ(0, rig_fault(RIG, "lost -1\n"));
	trip_of_armed(_metadata, self, HT_CAUSE_SCAN);
}

TEST_F(bind, failed_writes_trip)
{
	struct hytest_event event;
	struct hytest_status status;

	self->draft->header.write_ticks = 3;
	run(_metadata, self);
	ASSERT_EQ(0, rig_fault(RIG, "write-error -1\n"));
	ASSERT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_TRIPPED, &event));
	EXPECT_EQ(HT_CAUSE_WRITE << 16, event.index);
	status = view_status(&self->view);
	EXPECT_EQ(3, real_of(status.trip.value));
	EXPECT_LE(3, status.failed_writes);
	ASSERT_TRUE(view_wait_tick(&self->view, event.tick + 1));
	ASSERT_TRUE(view_tick(&self->view, event.tick, self->record));
	EXPECT_EQ(3, self->record->write_age);
	ASSERT_EQ(0, rig_fault(RIG, "none\n"));
	EXPECT_TRUE(loop_wait_ack(self->fd));
}

TEST_F(bind, lost_scans_trip)
{
	struct hytest_event event;
	struct hytest_status status;

	self->draft->header.scan_ticks = 4;
	run(_metadata, self);
	ASSERT_EQ(0, rig_fault(RIG, "lost -1\n"));
	ASSERT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_TRIPPED, &event));
	EXPECT_EQ(HT_CAUSE_SCAN << 16, event.index);
	status = view_status(&self->view);
	EXPECT_EQ(4, real_of(status.trip.value));
	EXPECT_EQ(4, real_of(status.trip.limit));
	EXPECT_LE(4, status.lost_scans);
	ASSERT_TRUE(view_wait_tick(&self->view, event.tick + 1));
	ASSERT_TRUE(view_tick(&self->view, event.tick, self->record));
	EXPECT_EQ(4, self->record->scan_age);
	EXPECT_TRUE(loop_wait_ack(self->fd));
}

/* The device that the rig is, as the driver core sees it. */
static int drive(const char *attribute, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), RIG_DRIVER "/%s", attribute);
	return file_write(path, name);
}

/* Unplugs the device and plugs it in again, with its trigger. */
static int replug(unsigned int *device)
{
	const unsigned int before = iio_count_devices();
	char name[64], path[64];
	unsigned int n;
	int ret = rig_device_name(*device, name, sizeof(name));

	if (!ret)
		ret = drive("unbind", name);
	if (!ret && iio_count_devices() != before - 1)
		ret = EEXIST;
	if (!ret)
		ret = drive("bind", name);
	for (n = 0; !ret && n < 100; n++) {
		snprintf(path, sizeof(path), "/sys/bus/iio/devices/iio:device%u", n);
		if (access(path, F_OK))
			continue;
		*device = n;
		return assign_trigger(n, TRIGGER);
	}
	return ret ? ret : ENODEV;
}

TEST_F(bind, device_goes_while_armed)
{
	arm(_metadata, self);
	ASSERT_EQ(0, replug(&self->device));
	trip_of_armed(_metadata, self, HT_CAUSE_DEVICE);
	EXPECT_EQ(0, loop_arm(self->fd, 0));
}

/* It goes when its output is safe, here after 50 ticks, not before. */
TEST_F(bind, device_goes_while_running)
{
	long code;

	self->draft->outputs[0].ramp = LEVEL / 0.05;
	run(_metadata, self);
	ASSERT_TRUE(view_wait_tick(&self->view, 60));
	ASSERT_EQ(0, iio_read_int(self->device, "out_voltage0_raw", &code));
	EXPECT_NE(0, code);
	ASSERT_EQ(0, replug(&self->device));
	ASSERT_EQ(0, iio_read_int(self->device, "out_voltage0_raw", &code));
	EXPECT_EQ(0, code);
	trip_of_armed(_metadata, self, HT_CAUSE_DEVICE);
	EXPECT_EQ(0, loop_arm(self->fd, 0));
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	EXPECT_TRUE(view_wait_tick(&self->view, 5));
}

static int remove_module(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

/* Messages of the kernel from now on. */
static int open_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

static bool log_says(int fd, const char *text)
{
	const uint64_t end = now_ns() + 2000000000ull;
	char message[1024];
	ssize_t got;

	while (now_ns() < end) {
		got = read(fd, message, sizeof(message) - 1);
		if (got < 0) {
			sleep_ms(1);
			continue;
		}
		message[got] = '\0';
		if (strstr(message, text))
			return true;
	}
	return false;
}

TEST_F(bind, output_that_is_not_safe_is_told)
{
	struct hytest_event event;
	int log = open_log();

	ASSERT_LE(0, log);
	self->draft->header.write_ticks = 3;
	run(_metadata, self);
	ASSERT_EQ(0, rig_fault(RIG, "write-error -1\n"));
	ASSERT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_TRIPPED, &event));
	EXPECT_TRUE(loop_wait_ack(self->fd));
	EXPECT_TRUE(log_says(log, "hytest0: output 0 did not get its safe value (error 5)"));
	close(log);
	EXPECT_EQ(ENXIO, loop_arm(self->fd, 0));
	ASSERT_EQ(0, rig_fault(RIG, "none\n"));
	EXPECT_EQ(0, loop_arm(self->fd, 0));
}

/* Refused, and the log says who is in the way. */
static void cannot_remove(struct __test_metadata *_metadata, struct _test_data_bind *self,
			  enum hytest_state state)
{
	char text[64];
	int log = open_log();

	ASSERT_LE(0, log);
	EXPECT_EQ(EWOULDBLOCK, remove_module("hytest"));
	snprintf(text, sizeof(text), "hytest0: process %d has control", getpid());
	EXPECT_TRUE(log_says(log, text))
		TH_LOG("state %d", state);
	snprintf(text, sizeof(text), "iio:device%u has our trigger " TRIGGER, self->device);
	EXPECT_TRUE(log_says(log, text))
		TH_LOG("state %d", state);
	EXPECT_EQ(EWOULDBLOCK, remove_module("hytest_core"));
	close(log);
}

TEST_F(bind, no_removal_in_any_state)
{
	cannot_remove(_metadata, self, HYTEST_EMPTY);
	self->draft->header.soft_stop_ticks = 200;
	arm(_metadata, self);
	cannot_remove(_metadata, self, HYTEST_ARMED);
	trip_of_armed(_metadata, self, HT_CAUSE_UNLOAD);
	cannot_remove(_metadata, self, HYTEST_LOADED);
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	ASSERT_TRUE(view_wait_tick(&self->view, 60));
	cannot_remove(_metadata, self, HYTEST_RUNNING);
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_TRIPPED));
	cannot_remove(_metadata, self, HYTEST_TRIPPED);
	trip_of_armed(_metadata, self, HT_CAUSE_UNLOAD);
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	ASSERT_TRUE(view_wait_tick(&self->view, 60));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_STOPPING));
	cannot_remove(_metadata, self, HYTEST_STOPPING);
	trip_of_armed(_metadata, self, HT_CAUSE_UNLOAD);
}

/* Nobody has it open, but a device has its trigger. */
TEST_F(bind, removal_needs_the_triggers_back)
{
	int log = open_log();

	close(self->fd);
	EXPECT_EQ(EWOULDBLOCK, remove_module("hytest"));
	EXPECT_TRUE(log_says(log, "has our trigger " TRIGGER));
	close(log);
	ASSERT_EQ(0, assign_trigger(self->device, "\n"));
	EXPECT_EQ(0, remove_module("hytest"));
	ASSERT_EQ(0, system("modprobe hytest"));
	self->fd = loop_open_control(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, assign_trigger(self->device, TRIGGER));
	run(_metadata, self);
}

/* No trigger holds the module; the last output is written before it goes. */
TEST_F(bind, removal_waits_for_the_ramp)
{
	uint64_t begin;
	long code = 1;

	ASSERT_EQ(0, assign_trigger(self->device, "\n"));
	self->draft->inputs[0].flags = HT_INPUT_POLL;
	self->draft->header.soft_start_ticks = 0;
	self->draft->outputs[0].ramp = 2 * LEVEL;
	run(_metadata, self);
	view_close(&self->view);
	close(self->fd);
	begin = now_ns();
	ASSERT_EQ(0, remove_module("hytest"));
	EXPECT_LE(450000000, now_ns() - begin);
	ASSERT_EQ(0, iio_read_int(self->device, "out_voltage0_raw", &code));
	EXPECT_EQ(0, code);
	ASSERT_EQ(0, system("modprobe hytest"));
	self->fd = loop_open_control(0);
	ASSERT_LE(0, self->fd);
}

/* kB of kernel memory, without caches that can be dropped. */
static long kernel_memory(void)
{
	static const char *const kinds[] = {
		"SUnreclaim:", "VmallocUsed:", "KernelStack:", "PageTables:", "Percpu:",
	};
	char line[128];
	long sum = 0, kb;
	unsigned int i;
	FILE *file;

	sync();
	file_write("/proc/sys/vm/drop_caches", "3");
	sleep_ms(500);
	file = fopen("/proc/meminfo", "r");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file))
		for (i = 0; i < HT_COUNT(kinds); i++)
			if (!strncmp(line, kinds[i], strlen(kinds[i])) &&
			    sscanf(line + strlen(kinds[i]), "%ld", &kb) == 1)
				sum += kb;
	fclose(file);
	return sum;
}

static long references(const char *module)
{
	char path[64], text[32];

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", module);
	return file_read(path, text, sizeof(text)) ? -1 : atol(text);
}

/* One way to end a run, and back to loaded. */
static void end_run(struct __test_metadata *_metadata, struct _test_data_bind *self,
		    unsigned int way)
{
	switch (way) {
	case 0:
		ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
		ASSERT_TRUE(view_wait_state(&self->view, HYTEST_LOADED));
		return;
	case 1:
		ASSERT_EQ(EWOULDBLOCK, remove_module("hytest"));
		break;
	case 2:
		ASSERT_EQ(0, replug(&self->device));
		break;
	case 3:
		ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_RELEASE, NULL));
		ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_CONTROL, NULL));
		break;
	default:
		ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_TRIP, NULL));
	}
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_TRIPPED));
	ASSERT_TRUE(loop_wait_ack(self->fd));
}

/* Every second one runs; all ways out take turns. */
static void round_trip(struct __test_metadata *_metadata, struct _test_data_bind *self,
		       unsigned int n)
{
	ASSERT_EQ(0, loop_arm(self->fd, 0))
		TH_LOG("round %u", n);
	if (n % 2) {
		ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL))
			TH_LOG("round %u", n);
		ASSERT_TRUE(view_wait_tick(&self->view, 3));
		end_run(_metadata, self, n / 2 % 5);
		return;
	}
	switch (n / 2 % 4) {
	case 0:
		ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_DISARM, NULL));
		break;
	case 1:
		ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_TRIP, NULL));
		ASSERT_TRUE(loop_wait_ack(self->fd));
		break;
	case 2:
		ASSERT_EQ(0, replug(&self->device));
		ASSERT_TRUE(loop_wait_ack(self->fd));
		break;
	default:
		ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_DISARM, NULL));
		ASSERT_EQ(0, loop_load(self->fd, self->draft));
		view_close(&self->view);
		ASSERT_EQ(0, view_open(&self->view, self->fd));
	}
}

TEST_F_TIMEOUT(bind, again_and_again, 1200)
{
	const char *setting = getenv("HYTEST_ROUNDS");
	const unsigned int rounds = setting ? atoi(setting) : 1000;
	long before, after, held, held_rig;
	unsigned int n;

	self->draft->header.soft_start_ticks = 0;
	self->draft->header.soft_stop_ticks = 2;
	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	look(_metadata, self);
	/* The first ones fill the caches of the kernel. */
	for (n = 0; n < 100; n++)
		round_trip(_metadata, self, n);
	ASSERT_TRUE(wait_unbound(&self->view));
	before = kernel_memory();
	held = references("hytest");
	held_rig = references("hytest_rig");
	for (n = 0; n < rounds; n++)
		round_trip(_metadata, self, n);
	ASSERT_TRUE(wait_unbound(&self->view));
	after = kernel_memory();
	printf("# %u rounds; kB of kernel memory before and after: %ld %ld\n", rounds, before,
	       after);
	EXPECT_LT(after - before, 128);
	EXPECT_EQ(held, references("hytest"));
	EXPECT_EQ(held_rig, references("hytest_rig"));
}

TEST_HARNESS_MAIN
