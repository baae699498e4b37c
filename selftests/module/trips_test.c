// SPDX-License-Identifier: GPL-2.0
/*
 * Every way in which a run ends badly: the loop trips, names the first cause
 * with value and limit, takes the outputs to their safe values by the ramp or
 * as the interlock says, keeps the records, and waits for the operator.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "loop.h"

#define PERIOD_NS	1000000
#define DT		(PERIOD_NS / 1e9)
/* Output 0 ramps to 0 within 150 ticks from LEVEL; output 1 to 2 in 100. */
#define LEVEL		3.0
#define RAMP		20.0
#define SAFE_1		2.0
#define RAMP_1		10.0
#define POST_TRIP	20

/* Places in a record. */
enum { LEVEL_AT, HUGE_AT, OUT_0, OUT_1 };

FIXTURE(trips) {
	struct draft *draft;
	struct view view;
	struct hytest_record *record;
	int fd;
	ht_u32 level;		/* signal */
	ht_u32 level_param;	/* value of it */
	ht_u32 huge;		/* signal: may become infinite */
	ht_u32 factor_param;
};

FIXTURE_SETUP(trips)
{
	struct draft *draft = draft_new(PERIOD_NS);
	ht_u32 factor, block, in[32], i;

	self->draft = draft;
	draft->header.post_trip_ticks = POST_TRIP;
	draft->header.missed_ticks = 0;
	draft->header.deadline_ticks = 1000;
	block = draft_constant(draft, "level", LEVEL, &self->level);
	self->level_param = draft_param(draft, block, "b", 0);
	block = draft_constant(draft, "factor", 1, &factor);
	self->factor_param = draft_param(draft, block, "b", 0);
	self->huge = draft_signal(draft, "huge", 0);
	for (i = 0; i < 32; i++)
		in[i] = factor;
	draft_block(draft, "product", 0, 32, in, 1, &self->huge);
	draft_record(draft, self->level);
	draft_record(draft, self->huge);
	draft_output(draft, self->level, 0, RAMP);
	draft_output(draft, self->level, SAFE_1, RAMP_1);
	self->fd = loop_open_control(0);
	ASSERT_LE(0, self->fd);
	self->record = NULL;
}

FIXTURE_TEARDOWN(trips)
{
	free(self->record);
	view_close(&self->view);
	draft_free(self->draft);
	close(self->fd);
}

/* Starts the program and lets it run until the outputs are where they stay. */
static void start(struct __test_metadata *_metadata, struct _test_data_trips *self)
{
	ASSERT_EQ(0, loop_run(self->fd, self->draft));
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	self->record = view_room(&self->view);
	ASSERT_TRUE(view_wait_tick(&self->view, 20));
	ASSERT_EQ(HYTEST_RUNNING, view_status(&self->view).state);
}

static double at_most(double from, double to, double step)
{
	if (fabs(to - from) <= step)
		return to;
	return to > from ? from + step : from - step;
}

/*
 * Goes through the records: running up to the trip, then every output one
 * exact step of its ramp nearer to safe, then POST_TRIP more.
 */
static void check_ramp(struct __test_metadata *_metadata, struct _test_data_trips *self,
		       uint32_t cause)
{
	const struct hytest_status status = view_status(&self->view);
	struct hytest_record *r = self->record;
	double out[2] = { LEVEL, LEVEL };
	bool tripped = false, safe = false;
	uint64_t n, after = 0;

	ASSERT_LT(status.head, self->view.ring_records);
	for (n = 0; n < status.head; n++) {
		ASSERT_TRUE(view_record(&self->view, n, r));
		if (r->tick == status.trip.tick)
			tripped = true;
		EXPECT_EQ(tripped ? HYTEST_TRIPPED : HYTEST_RUNNING, r->state);
		EXPECT_EQ(tripped ? cause : 0, r->cause);
		if (tripped) {
			EXPECT_GE(RAMP * DT * (1 + 1e-9), fabs(record_value(r, OUT_0) - out[0]));
			EXPECT_GE(RAMP_1 * DT * (1 + 1e-9), fabs(record_value(r, OUT_1) - out[1]));
			EXPECT_EQ(at_most(out[0], 0, RAMP * DT), record_value(r, OUT_0));
			EXPECT_EQ(at_most(out[1], SAFE_1, RAMP_1 * DT), record_value(r, OUT_1));
		}
		after += safe;
		safe = tripped && record_value(r, OUT_0) == 0 && record_value(r, OUT_1) == SAFE_1;
		out[0] = record_value(r, OUT_0);
		out[1] = record_value(r, OUT_1);
	}
	EXPECT_TRUE(tripped);
	EXPECT_EQ(0, out[0]);
	EXPECT_EQ(SAFE_1, out[1]);
	EXPECT_EQ(POST_TRIP, after);
	EXPECT_EQ(1, status.safe);
	/* 3.0 at 20/s takes 150 ticks: the ramp cannot have been skipped. */
	EXPECT_LE(status.trip.tick + 149 + POST_TRIP, status.tick);
}

/* What status and events say about the trip; safe and unchanged a while later. */
static void check_trip(struct __test_metadata *_metadata, struct _test_data_trips *self, int watcher,
		       uint32_t cause, uint32_t index)
{
	struct hytest_event event, safe;
	struct hytest_status status;

	ASSERT_TRUE(loop_wait_event(watcher, HYTEST_EVENT_TRIPPED, &event));
	EXPECT_EQ(cause << 16 | index, event.index);
	ASSERT_TRUE(loop_wait_event(watcher, HYTEST_EVENT_SAFE, &safe));
	EXPECT_LT(event.sequence, safe.sequence);
	/* Where time is not exact, until nothing ticks any more. */
	do {
		status = view_status(&self->view);
		sleep_ms(POST_TRIP + 30);
	} while (!time_is_exact() && status.tick != view_status(&self->view).tick);
	status = view_status(&self->view);
	EXPECT_EQ(HYTEST_TRIPPED, status.state);
	EXPECT_EQ(cause, status.trip.cause);
	EXPECT_EQ(index, status.trip.index);
	EXPECT_EQ(event.value, status.trip.value);
	EXPECT_EQ(event.limit, status.trip.limit);
	EXPECT_EQ(event.tick, status.trip.tick);
	EXPECT_EQ(status.start_ns + status.trip.tick * PERIOD_NS, status.trip.time_ns);
}

/* Nothing but ACK leads out of a trip; then a second run works. */
static void check_recovery(struct __test_metadata *_metadata, struct _test_data_trips *self)
{
	struct hytest_arm arm = { .dry_ticks = 1 };
	struct hytest_event event;
	struct hytest_status status;

	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_ARM, &arm));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_DISARM, NULL));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_UNLOAD, NULL));
	EXPECT_EQ(EBUSY, loop_change(self->fd, self->level_param, 1, 0, NULL));
	EXPECT_EQ(HYTEST_TRIPPED, view_status(&self->view).state);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
	EXPECT_EQ(HYTEST_LOADED, view_status(&self->view).state);
	EXPECT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_ACKNOWLEDGED, &event));
	EXPECT_EQ(ENODATA, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
	/* The records stay readable, as does the cause. */
	status = view_status(&self->view);
	EXPECT_NE(0, status.trip.cause);
	EXPECT_TRUE(view_record(&self->view, 0, self->record));
	EXPECT_TRUE(view_record(&self->view, status.head - 1, self->record));
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	EXPECT_EQ(0, view_status(&self->view).trip.cause);
	ASSERT_TRUE(view_wait_tick(&self->view, 10));
	EXPECT_EQ(HYTEST_RUNNING, view_status(&self->view).state);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_LOADED));
	EXPECT_EQ(0, view_status(&self->view).trip.cause);
}

TEST_F(trips, operator_from_a_second_file)
{
	int other = loop_open(0, O_RDWR | O_NONBLOCK);

	start(_metadata, self);
	ASSERT_EQ(0, loop_ioctl(other, HYTEST_IOC_TRIP, NULL));
	check_trip(_metadata, self, other, HT_CAUSE_OPERATOR, 0);
	check_ramp(_metadata, self, HT_CAUSE_OPERATOR);
	check_recovery(_metadata, self);
	close(other);
}

/* A child takes control, starts and waits to be killed. */
static pid_t start_owner(struct _test_data_trips *self, bool close_only)
{
	int pipes[2];
	char byte;
	pid_t child;

	if (pipe(pipes))
		return -1;
	close(self->fd);
	child = fork();
	if (!child) {
		int fd = loop_open_control(0);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (fd < 0 || loop_run(fd, self->draft))
			_exit(1);
		if (write(pipes[1], "s", 1) != 1)
			_exit(1);
		if (!close_only)
			for (;;)
				pause();
		sleep_ms(40);
		close(fd);
		for (;;)
			pause();
	}
	close(pipes[1]);
	if (read(pipes[0], &byte, 1) != 1)
		child = -1;
	close(pipes[0]);
	return child;
}

static void owner_is_gone(struct __test_metadata *_metadata, struct _test_data_trips *self,
			  bool close_only)
{
	int watcher = loop_open(0, O_RDWR | O_NONBLOCK);
	struct hytest_info info;
	pid_t child = start_owner(self, close_only);

	self->fd = -1;
	ASSERT_LT(0, child);
	ASSERT_EQ(0, view_open(&self->view, watcher));
	self->record = view_room(&self->view);
	ASSERT_TRUE(view_wait_tick(&self->view, 30));
	EXPECT_EQ((__u32)child, view_status(&self->view).owner);
	EXPECT_EQ(EBUSY, loop_ioctl(watcher, HYTEST_IOC_CONTROL, NULL));
	if (!close_only)
		kill(child, SIGKILL);
	check_trip(_metadata, self, watcher, HT_CAUSE_OWNER, 0);
	check_ramp(_metadata, self, HT_CAUSE_OWNER);
	EXPECT_EQ(0, view_status(&self->view).owner);
	/* Another may take over, and must acknowledge. */
	self->fd = watcher;
	ASSERT_EQ(0, loop_ioctl(watcher, HYTEST_IOC_INFO, &info));
	EXPECT_EQ(0, info.controlled);
	ASSERT_EQ(0, loop_ioctl(watcher, HYTEST_IOC_CONTROL, NULL));
	check_recovery(_metadata, self);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

TEST_F(trips, owner_killed)
{
	owner_is_gone(_metadata, self, false);
}

TEST_F(trips, owner_closed)
{
	owner_is_gone(_metadata, self, true);
}

TEST_F(trips, control_released)
{
	int other = loop_open(0, O_RDWR | O_NONBLOCK);

	start(_metadata, self);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_RELEASE, NULL));
	EXPECT_EQ(EPERM, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
	check_trip(_metadata, self, other, HT_CAUSE_OWNER, 0);
	check_ramp(_metadata, self, HT_CAUSE_OWNER);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_CONTROL, NULL));
	check_recovery(_metadata, self);
	close(other);
}

/* Asks for the image into memory that never comes. */
static void *stuck_watcher(void *argument)
{
	struct hytest_image image = {
		.buffer = (uintptr_t)argument,
		.size = 4096,
	};
	int fd = loop_open(0, O_RDONLY);

	loop_ioctl(fd, HYTEST_IOC_IMAGE, &image);
	close(fd);
	return NULL;
}

/*
 * A watcher whose system call cannot end must neither keep the owner's death
 * from tripping the loop nor another file from taking over.
 */
TEST_F(trips, owner_killed_while_a_watcher_is_stuck)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register where = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int watcher = loop_open(0, O_RDWR | O_NONBLOCK);
	int faults = syscall(SYS_userfaultfd, O_CLOEXEC);
	pthread_t thread;
	pid_t child;
	void *page;

	if (faults < 0)
		SKIP(return, "no userfaultfd");
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	child = start_owner(self, false);
	self->fd = watcher;
	ASSERT_LT(0, child);
	ASSERT_EQ(0, ioctl(faults, UFFDIO_API, &api));
	where.range.start = (uintptr_t)page;
	where.range.len = 4096;
	ASSERT_EQ(0, ioctl(faults, UFFDIO_REGISTER, &where));
	ASSERT_EQ(0, view_open(&self->view, watcher));
	self->record = view_room(&self->view);
	ASSERT_EQ(0, pthread_create(&thread, NULL, stuck_watcher, page));
	ASSERT_TRUE(view_wait_tick(&self->view, 50));
	kill(child, SIGKILL);
	EXPECT_TRUE(view_wait_state(&self->view, HYTEST_TRIPPED));
	EXPECT_EQ(HT_CAUSE_OWNER, view_status(&self->view).trip.cause);
	sleep_ms(300);
	EXPECT_EQ(1, view_status(&self->view).safe);
	/* Closing the descriptor lets the fault end. */
	close(faults);
	pthread_join(thread, NULL);
	waitpid(child, NULL, 0);
	ASSERT_EQ(0, loop_ioctl(watcher, HYTEST_IOC_CONTROL, NULL));
	check_recovery(_metadata, self);
}

TEST_F(trips, heartbeat)
{
	/* A busy host may stop the whole guest for a while. */
	const int limit = time_is_exact() ? 50 : 500;
	int i;

	self->draft->header.heartbeat_ms = limit;
	start(_metadata, self);
	for (i = 0; i < 20; i++) {
		sleep_ms(limit / 5);
		ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_HEARTBEAT, NULL));
	}
	EXPECT_EQ(HYTEST_RUNNING, view_status(&self->view).state);
	check_trip(_metadata, self, self->fd, HT_CAUSE_HEARTBEAT, 0);
	EXPECT_EQ(limit, real_of(view_status(&self->view).trip.limit));
	EXPECT_LE(limit, real_of(view_status(&self->view).trip.value));
	if (time_is_exact())
		EXPECT_GE(limit + 2, real_of(view_status(&self->view).trip.value));
	check_ramp(_metadata, self, HT_CAUSE_HEARTBEAT);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
	/* A cause that persists latches again. */
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_TRIPPED));
	EXPECT_EQ(HT_CAUSE_HEARTBEAT, view_status(&self->view).trip.cause);
	EXPECT_TRUE(loop_wait_ack(self->fd));
}

TEST_F(trips, removal_of_the_module)
{
	start(_metadata, self);
	EXPECT_EQ(-1, syscall(SYS_delete_module, "hytest", O_NONBLOCK));
	EXPECT_EQ(EWOULDBLOCK, errno);
	check_trip(_metadata, self, self->fd, HT_CAUSE_UNLOAD, 0);
	check_ramp(_metadata, self, HT_CAUSE_UNLOAD);
	check_recovery(_metadata, self);
}

TEST_F(trips, removal_of_another_module_does_not)
{
	start(_metadata, self);
	EXPECT_EQ(-1, syscall(SYS_delete_module, "hytest_other", O_NONBLOCK));
	EXPECT_EQ(ENOENT, errno);
	EXPECT_EQ(-1, syscall(SYS_delete_module, "hytes", O_NONBLOCK));
	EXPECT_EQ(-1, syscall(SYS_delete_module, (void *)8, O_NONBLOCK));
	sleep_ms(20);
	EXPECT_EQ(HYTEST_RUNNING, view_status(&self->view).state);
}

TEST_F(trips, removal_while_armed)
{
	struct hytest_event event;

	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	EXPECT_EQ(-1, syscall(SYS_delete_module, "hytest", O_NONBLOCK));
	EXPECT_EQ(EWOULDBLOCK, errno);
	EXPECT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_TRIPPED, &event));
	EXPECT_EQ(HT_CAUSE_UNLOAD << 16, event.index);
	EXPECT_EQ(HYTEST_TRIPPED, view_status(&self->view).state);
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
}

TEST_F(trips, deadline)
{
	struct hytest_status status;
	uint64_t n, late = 0;

	/* Lateness and step are above 200 ns, well below the budget. */
	self->draft->header.deadline_ns = 200;
	self->draft->header.deadline_ticks = 30;
	ASSERT_EQ(0, loop_run(self->fd, self->draft));
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	self->record = view_room(&self->view);
	check_trip(_metadata, self, self->fd, HT_CAUSE_DEADLINE, 0);
	status = view_status(&self->view);
	EXPECT_EQ(200, real_of(status.trip.limit));
	EXPECT_LT(200, real_of(status.trip.value));
	/* The thirtieth late tick asks, the next one trips. */
	ASSERT_TRUE(view_record(&self->view, 30, self->record));
	EXPECT_EQ(self->record->tick, status.trip.tick);
	for (n = 0; n < status.head; n++) {
		ASSERT_TRUE(view_record(&self->view, n, self->record));
		late += self->record->lateness_ns + self->record->step_ns > 200;
		if (n == 29)
			EXPECT_EQ(self->record->lateness_ns + self->record->step_ns,
				  real_of(status.trip.value));
	}
	EXPECT_EQ(late, status.overruns);
	check_ramp(_metadata, self, HT_CAUSE_DEADLINE);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
}

/* A loop whose tick takes longer than the period of another on its processor. */
static struct draft *slow_program(void)
{
	struct draft *draft = draft_new(100000000);
	ht_u32 signals[2];

	signals[0] = draft_signal(draft, "in", 0);
	signals[1] = draft_signal(draft, "out", 0);
	draft_block(draft, "state_space", 250, 1, &signals[0], 1, &signals[1]);
	return draft;
}

TEST_F(trips, missed_ticks)
{
	struct draft *slow = slow_program();
	int other;
	struct hytest_status status;
	struct hytest_event event;
	uint64_t n, missed = 0;

	if (!time_is_exact())
		SKIP(return, "missed_ticks: needs exact time");
	other = loop_open_control(1);
	ASSERT_LE(0, other);
	self->draft->header.period_ns = 20000;
	self->draft->header.budget_ns = 15000;
	self->draft->header.deadline_ns = 20000;
	self->draft->header.deadline_ticks = HT_MAX_LATE_TICKS;
	self->draft->header.missed_ticks = 2;
	self->draft->header.ring_records = 65536;
	ASSERT_EQ(0, loop_run(self->fd, self->draft));
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	self->record = view_room(&self->view);
	ASSERT_EQ(0, loop_run(other, slow));
	ASSERT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_TRIPPED, &event));
	EXPECT_EQ(HT_CAUSE_MISSED << 16, event.index);
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_TRIPPED));
	status = view_status(&self->view);
	EXPECT_EQ(HT_CAUSE_MISSED, status.trip.cause);
	EXPECT_EQ(2, real_of(status.trip.limit));
	EXPECT_LE(2, real_of(status.trip.value));
	close(other);
	EXPECT_TRUE(loop_wait_ack(self->fd));
	status = view_status(&self->view);
	for (n = status.head > 60000 ? status.head - 60000 : 0; n < status.head; n++) {
		ASSERT_TRUE(view_record(&self->view, n, self->record));
		missed += self->record->missed;
		EXPECT_EQ(status.start_ns + self->record->tick * 20000, self->record->time_ns);
		if (self->record->tick == status.trip.tick)
			EXPECT_EQ(real_of(status.trip.value), self->record->missed);
	}
	if (status.head <= 60000)
		EXPECT_EQ(missed, status.missed);
	EXPECT_EQ(status.head + status.missed, status.tick);
	draft_free(slow);
}

TEST_F(trips, signal_not_finite)
{
	struct hytest_status status;
	uint32_t number;

	start(_metadata, self);
	/* 1e10 to the power of 32 is infinite. */
	ASSERT_EQ(0, loop_change(self->fd, self->factor_param, 1e10, 0, &number));
	check_trip(_metadata, self, self->fd, HT_CAUSE_NOT_FINITE, self->huge);
	status = view_status(&self->view);
	EXPECT_TRUE(isinf(real_of(status.trip.value)));
	check_ramp(_metadata, self, HT_CAUSE_NOT_FINITE);
	ASSERT_TRUE(view_tick(&self->view, status.trip.tick, self->record));
	EXPECT_TRUE(isinf(record_value(self->record, HUGE_AT)));
	EXPECT_EQ(number, self->record->batch);
	/* The parameter is still there: acknowledged, started, tripped again. */
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	EXPECT_TRUE(view_wait_state(&self->view, HYTEST_TRIPPED));
	EXPECT_EQ(HT_CAUSE_NOT_FINITE, view_status(&self->view).trip.cause);
	/* At the very first tick, whichever that is on a busy machine. */
	ASSERT_TRUE(view_record(&self->view, 0, self->record));
	EXPECT_EQ(self->record->tick, view_status(&self->view).trip.tick);
	EXPECT_TRUE(loop_wait_ack(self->fd));
}

/* The level jumps at a tick; the interlock trips delay ticks later. */
static void check_lock(struct __test_metadata *_metadata, struct _test_data_trips *self, double to,
		       uint64_t later, double value, double limit)
{
	struct hytest_status status;
	struct hytest_lock lock = { .interlock = 0 };
	uint64_t n;

	start(_metadata, self);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_GET_LOCK, &lock));
	EXPECT_EQ(1, lock.healthy);
	ASSERT_EQ(0, loop_change(self->fd, self->level_param, to, 200, NULL));
	check_trip(_metadata, self, self->fd, HT_CAUSE_INTERLOCK, 0);
	status = view_status(&self->view);
	for (n = 0; n < status.head; n++) {
		ASSERT_TRUE(view_record(&self->view, n, self->record));
		if (self->record->batch)
			break;
	}
	/* Delays count ticks that were made. */
	ASSERT_TRUE(view_record(&self->view, n + later, self->record));
	EXPECT_EQ(self->record->tick, status.trip.tick);
	EXPECT_EQ(HYTEST_TRIPPED, self->record->state);
	if (!status.missed)
		EXPECT_EQ(200 + later, status.trip.tick);
	EXPECT_EQ(limit, real_of(status.trip.limit));
	EXPECT_GE(1e-9 * fabs(value), fabs(value - real_of(status.trip.value)));
}

TEST_F(trips, interlock_range_high)
{
	draft_lock(self->draft, HT_LOCK_RANGE, HT_ACTION_RAMP, self->level, -1, LEVEL);
	check_lock(_metadata, self, LEVEL + 0.5, 0, LEVEL + 0.5, LEVEL);
	check_ramp(_metadata, self, HT_CAUSE_INTERLOCK);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
	/* As long as the level is what it is, there is no arming. */
	EXPECT_EQ(EPERM, loop_arm(self->fd, 0));
	ASSERT_EQ(0, loop_change(self->fd, self->level_param, LEVEL, 0, NULL));
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	ASSERT_TRUE(view_wait_tick(&self->view, 10));
	EXPECT_EQ(HYTEST_RUNNING, view_status(&self->view).state);
}

TEST_F(trips, interlock_range_low_with_delay)
{
	draft_lock(self->draft, HT_LOCK_RANGE, HT_ACTION_RAMP, self->level, -1, 10)->delay_ticks = 7;
	check_lock(_metadata, self, -1.25, 7, -1.25, -1);
}

TEST_F(trips, interlock_delay_starts_anew)
{
	draft_lock(self->draft, HT_LOCK_RANGE, HT_ACTION_RAMP, self->level, -1, 10)->delay_ticks = 7;
	start(_metadata, self);
	/* Seven violated ticks, then a good one: no trip. */
	ASSERT_EQ(0, loop_change(self->fd, self->level_param, 11, 200, NULL));
	ASSERT_TRUE(view_wait_tick(&self->view, 201));
	ASSERT_EQ(0, loop_change(self->fd, self->level_param, 10, 207, NULL));
	ASSERT_TRUE(view_wait_tick(&self->view, 250));
	/* The second batch comes in time where time is exact. */
	if (!time_is_exact())
		SKIP(return, "interlock_delay_starts_anew: needs exact time");
	ASSERT_TRUE(view_record(&self->view, 200, self->record));
	EXPECT_EQ(11, record_value(self->record, LEVEL_AT));
	ASSERT_TRUE(view_record(&self->view, 206, self->record));
	EXPECT_EQ(11, record_value(self->record, LEVEL_AT));
	ASSERT_TRUE(view_record(&self->view, 207, self->record));
	EXPECT_EQ(10, record_value(self->record, LEVEL_AT));
	EXPECT_EQ(HYTEST_RUNNING, view_status(&self->view).state);
}

TEST_F(trips, interlock_rate)
{
	draft_lock(self->draft, HT_LOCK_RATE, HT_ACTION_RAMP, self->level, 0, 400);
	check_lock(_metadata, self, LEVEL - 0.5, 0, 0.5 / DT, 400);
}

TEST_F(trips, interlock_difference)
{
	struct ht_image_interlock *lock;

	lock = draft_lock(self->draft, HT_LOCK_DIFFERENCE, HT_ACTION_RAMP, self->level, 0, 2.5);
	lock->other = self->huge;	/* 1 */
	lock->delay_ticks = 2;
	check_lock(_metadata, self, -2, 2, 3, 2.5);
}

TEST_F(trips, interlock_rms)
{
	struct ht_image_interlock *lock;

	/* 5 instead of 3 in a window of 16: sqrt((16 * 9 + n * 16) / 16) > 4 at n = 8. */
	lock = draft_lock(self->draft, HT_LOCK_RMS, HT_ACTION_RAMP, self->level, 0, 4);
	lock->window_ticks = 16;
	check_lock(_metadata, self, 5, 7, sqrt((8 * 9 + 8 * 25) / 16.0), 4);
}

TEST_F(trips, action_cut)
{
	struct hytest_status status;

	draft_lock(self->draft, HT_LOCK_RANGE, HT_ACTION_CUT, self->level, -1, LEVEL);
	check_lock(_metadata, self, LEVEL + 1, 0, LEVEL + 1, LEVEL);
	status = view_status(&self->view);
	ASSERT_TRUE(view_record(&self->view, status.head - POST_TRIP - 2, self->record));
	EXPECT_GT(status.trip.tick, self->record->tick);
	EXPECT_EQ(LEVEL, record_value(self->record, OUT_0));
	ASSERT_TRUE(view_record(&self->view, status.head - POST_TRIP - 1, self->record));
	EXPECT_EQ(status.trip.tick, self->record->tick);
	EXPECT_EQ(0, record_value(self->record, OUT_0));
	EXPECT_EQ(SAFE_1, record_value(self->record, OUT_1));
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
}

/* Holds against everything but the operator. */
TEST_F(trips, hold_outlasts_the_owner)
{
	int other = loop_open(0, O_RDWR | O_NONBLOCK);
	struct hytest_event event;
	struct hytest_status status;

	self->draft->header.heartbeat_ms = 1000;
	draft_lock(self->draft, HT_LOCK_RANGE, HT_ACTION_HOLD, self->level, -1, LEVEL);
	start(_metadata, self);
	ASSERT_EQ(0, loop_change(self->fd, self->level_param, 4, 0, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_TRIPPED));
	/* The heartbeat runs out, then the owner leaves. */
	sleep_ms(1300);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_RELEASE, NULL));
	sleep_ms(300);
	status = view_status(&self->view);
	EXPECT_EQ(0, status.safe);
	EXPECT_EQ(HT_CAUSE_INTERLOCK, status.trip.cause);
	ASSERT_TRUE(view_record(&self->view, status.head - 1, self->record));
	EXPECT_EQ(LEVEL, record_value(self->record, OUT_0));
	/* The operator's trip is firmer: now they go by the ramp. */
	ASSERT_EQ(0, loop_ioctl(other, HYTEST_IOC_TRIP, NULL));
	ASSERT_TRUE(loop_wait_event(other, HYTEST_EVENT_SAFE, &event));
	status = view_status(&self->view);
	EXPECT_EQ(1, status.safe);
	EXPECT_EQ(HT_CAUSE_INTERLOCK, status.trip.cause);
	ASSERT_EQ(0, loop_ioctl(other, HYTEST_IOC_CONTROL, NULL));
	EXPECT_TRUE(loop_wait_ack(other));
	close(other);
}

TEST_F(trips, action_hold)
{
	struct hytest_status status;
	struct hytest_event event;
	double out = LEVEL;
	uint64_t n, moved = 0;

	draft_lock(self->draft, HT_LOCK_RANGE, HT_ACTION_HOLD, self->level, -1, LEVEL);
	start(_metadata, self);
	ASSERT_EQ(0, loop_change(self->fd, self->level_param, 4, 200, NULL));
	ASSERT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_TRIPPED, &event));
	EXPECT_LE(200, event.tick);
	sleep_ms(500);
	status = view_status(&self->view);
	EXPECT_EQ(HYTEST_TRIPPED, status.state);
	EXPECT_EQ(0, status.safe);
	EXPECT_LE(600, status.tick);
	/* The first acknowledgement lets the outputs go, a later one ends it. */
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
	ASSERT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_SAFE, &event));
	EXPECT_TRUE(loop_wait_ack(self->fd));
	status = view_status(&self->view);
	for (n = 0; n < status.head; n++) {
		double now;

		ASSERT_TRUE(view_record(&self->view, n, self->record));
		now = record_value(self->record, OUT_0);
		EXPECT_EQ(moved || now != out ? at_most(out, 0, RAMP * DT) : LEVEL, now);
		if (now != out && !moved)
			moved = self->record->tick;
		out = now;
	}
	EXPECT_LE(600, moved);
	EXPECT_EQ(0, out);
}

/* The first cause stays the named one. */
TEST_F(trips, first_cause_stays)
{
	start(_metadata, self);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_TRIP, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_TRIPPED));
	ASSERT_EQ(-1, syscall(SYS_delete_module, "hytest", O_NONBLOCK));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_RELEASE, NULL));
	check_trip(_metadata, self, self->fd, HT_CAUSE_OPERATOR, 0);
	check_ramp(_metadata, self, HT_CAUSE_OPERATOR);
}

/* Acknowledging is refused while the outputs are on their way. */
TEST_F(trips, no_acknowledgement_before_safe)
{
	struct hytest_status status;

	start(_metadata, self);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_TRIP, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_TRIPPED));
	/* The ramp takes 150 ticks; asking too early must not change anything. */
	do {
		EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
		sleep_ms(5);
		status = view_status(&self->view);
	} while (status.tick < status.trip.tick + 100);
	check_trip(_metadata, self, self->fd, HT_CAUSE_OPERATOR, 0);
	check_ramp(_metadata, self, HT_CAUSE_OPERATOR);
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
}

TEST_F(trips, stopping_can_trip)
{
	struct hytest_event event;

	self->draft->header.soft_stop_ticks = 1000;
	start(_metadata, self);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_STOPPING));
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_TRIP, NULL));
	ASSERT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_TRIPPED, &event));
	EXPECT_EQ(HT_CAUSE_OPERATOR << 16, event.index);
	EXPECT_TRUE(loop_wait_ack(self->fd));
}

/* A batch that waits for a tick that never comes is dropped, and no obstacle. */
TEST_F(trips, batch_waiting_at_the_end)
{
	uint64_t bits;
	struct hytest_params params = {
		.values = (uintptr_t)&bits,
		.first = self->level_param,
		.count = 1,
	};

	start(_metadata, self);
	ASSERT_EQ(0, loop_change(self->fd, self->level_param, 9, 1000000, NULL));
	EXPECT_EQ(EBUSY, loop_change(self->fd, self->level_param, 8, 0, NULL));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_LOADED));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_GET_PARAMS, &params));
	EXPECT_EQ(LEVEL, real_of(bits));
	EXPECT_EQ(0, loop_change(self->fd, self->level_param, 7, 0, NULL));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_GET_PARAMS, &params));
	EXPECT_EQ(7, real_of(bits));
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	ASSERT_TRUE(view_wait_tick(&self->view, 5));
	ASSERT_TRUE(view_record(&self->view, 0, self->record));
	EXPECT_EQ(7, record_value(self->record, LEVEL_AT));
	ASSERT_EQ(0, loop_change(self->fd, self->level_param, 9, 1000000, NULL));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_TRIP, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_TRIPPED));
	EXPECT_TRUE(loop_wait_ack(self->fd));
	EXPECT_EQ(0, loop_change(self->fd, self->level_param, 6, 0, NULL));
}

TEST_F(trips, arming_refused_over_budget)
{
	struct hytest_arm arm = { .dry_ticks = 20 };

	self->draft->header.budget_ns = 50;
	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	EXPECT_EQ(ETIME, loop_ioctl(self->fd, HYTEST_IOC_ARM, &arm));
	EXPECT_EQ(50, arm.budget_ns);
	EXPECT_LT(50, arm.worst_ns);
	EXPECT_EQ(arm.worst_ns, view_status(&self->view).dry_worst_ns);
	EXPECT_EQ(50, view_status(&self->view).budget_ns);
	EXPECT_EQ(HYTEST_LOADED, view_status(&self->view).state);
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
}

TEST_F(trips, arming_refused_with_an_unhealthy_interlock)
{
	struct hytest_arm arm = { .dry_ticks = 20 };
	struct hytest_lock lock = { .interlock = 1 };

	/* The first would trip before any tick, the others at tick 0. */
	draft_lock(self->draft, HT_LOCK_RANGE, HT_ACTION_RAMP, self->level, 0.5, 10);
	draft_lock(self->draft, HT_LOCK_RANGE, HT_ACTION_RAMP, self->level, -1, 2);
	draft_lock(self->draft, HT_LOCK_RANGE, HT_ACTION_RAMP, self->level, LEVEL + 1, 10);
	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	EXPECT_EQ(EPERM, loop_ioctl(self->fd, HYTEST_IOC_ARM, &arm));
	EXPECT_EQ(1, arm.interlock);
	EXPECT_EQ(6, arm.unhealthy[0]);
	EXPECT_EQ(0, arm.unhealthy[1] | arm.unhealthy[2] | arm.unhealthy[3]);
	EXPECT_EQ(HYTEST_LOADED, view_status(&self->view).state);
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	/* How it was, although the level is not computed now. */
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_GET_LOCK, &lock));
	EXPECT_EQ(0, lock.healthy);
	EXPECT_EQ(LEVEL, real_of(lock.value));
	EXPECT_EQ(2, real_of(lock.limit));
	lock.interlock = 0;
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_GET_LOCK, &lock));
	EXPECT_EQ(1, lock.healthy);
	/* What an interlock does not like can be mended. */
	ASSERT_EQ(0, loop_change(self->fd, self->level_param, 1.5, 0, NULL));
	EXPECT_EQ(EPERM, loop_ioctl(self->fd, HYTEST_IOC_ARM, &arm));
	EXPECT_EQ(2, arm.interlock);
	EXPECT_EQ(4, arm.unhealthy[0]);
	ASSERT_EQ(0, loop_change(self->fd, self->level_param, LEVEL + 1, 0, NULL));
	EXPECT_EQ(EPERM, loop_ioctl(self->fd, HYTEST_IOC_ARM, &arm));
	EXPECT_EQ(2, arm.unhealthy[0]);
}

/* Interlocks on the loop itself; no channel is bound. */
TEST_F(trips, interlock_heartbeat)
{
	struct hytest_status status;

	draft_lock(self->draft, HT_LOCK_HEARTBEAT, HT_ACTION_RAMP, HT_NO_SIGNAL, 0, 0.05);
	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	/* Nobody need call before START. */
	sleep_ms(100);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	self->record = view_room(&self->view);
	check_trip(_metadata, self, self->fd, HT_CAUSE_INTERLOCK, 0);
	status = view_status(&self->view);
	EXPECT_EQ(0.05, real_of(status.trip.limit));
	EXPECT_LT(0.05, real_of(status.trip.value));
	if (time_is_exact())
		EXPECT_GT(0.055, real_of(status.trip.value));
}

TEST_F(trips, interlock_step)
{
	struct hytest_status status;

	/* No tick can be done in a nanosecond. */
	draft_lock(self->draft, HT_LOCK_STEP, HT_ACTION_CUT, HT_NO_SIGNAL, 0, 1e-9);
	ASSERT_EQ(0, loop_run(self->fd, self->draft));
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	self->record = view_room(&self->view);
	check_trip(_metadata, self, self->fd, HT_CAUSE_INTERLOCK, 0);
	status = view_status(&self->view);
	/* Known of the tick before. */
	ASSERT_TRUE(view_record(&self->view, 1, self->record));
	EXPECT_EQ(self->record->tick, status.trip.tick);
	ASSERT_TRUE(view_record(&self->view, 0, self->record));
	EXPECT_GE(1e-15, fabs(real_of(status.trip.value) -
			      1e-9 * (self->record->lateness_ns + self->record->step_ns)));
}

static int outputs_moved(struct _test_data_trips *self, double *first, double *last)
{
	const struct hytest_status status = view_status(&self->view);

	if (!view_tick(&self->view, status.trip.tick, self->record))
		return -1;
	*first = record_value(self->record, OUT_0);
	if (!view_record(&self->view, status.head - 1, self->record))
		return -1;
	*last = record_value(self->record, OUT_0);
	return 0;
}

/* Cut after ramp: a second, firmer cause hastens the way to safe. */
TEST_F(trips, firmer_action_wins)
{
	double first, last;

	draft_lock(self->draft, HT_LOCK_RANGE, HT_ACTION_HOLD, self->level, -1, LEVEL);
	draft_lock(self->draft, HT_LOCK_DIFFERENCE, HT_ACTION_CUT, self->level, 0, LEVEL);
	start(_metadata, self);
	ASSERT_EQ(0, loop_change(self->fd, self->level_param, 4, 200, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_TRIPPED));
	EXPECT_TRUE(loop_wait_ack(self->fd));
	ASSERT_EQ(0, outputs_moved(self, &first, &last));
	EXPECT_EQ(0, first);
	EXPECT_EQ(0, last);
	EXPECT_EQ(0, view_status(&self->view).trip.index);
}

TEST_HARNESS_MAIN
