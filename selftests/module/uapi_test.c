// SPDX-License-Identifier: GPL-2.0
/*
 * The contract of include/uapi/linux/hytest.h, straight against the device.
 * Built twice: a 32-bit caller must see the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "loop.h"

#define PERIOD_NS	1000000

/* Sizes and places must be the same for every caller. */
TEST(layout)
{
	EXPECT_EQ(4 * 8 + 128 * 8, sizeof(struct hytest_histogram));
	EXPECT_EQ(40, sizeof(struct hytest_trip));
	EXPECT_EQ(8, offsetof(struct hytest_trip, tick));
	EXPECT_EQ(24, offsetof(struct hytest_status, ring_offset));
	EXPECT_EQ(88, offsetof(struct hytest_status, batch));
	EXPECT_EQ(112, offsetof(struct hytest_status, lost_scans));
	EXPECT_EQ(128, offsetof(struct hytest_status, bound_inputs));
	EXPECT_EQ(136, offsetof(struct hytest_status, write_age));
	EXPECT_EQ(144, offsetof(struct hytest_status, trip));
	EXPECT_EQ(184, offsetof(struct hytest_status, lateness));
	EXPECT_EQ(184 + 2 * 1056, sizeof(struct hytest_status));
	EXPECT_EQ(48, offsetof(struct hytest_record, scan_age));
	EXPECT_EQ(56, sizeof(struct hytest_record));
	EXPECT_EQ(56, offsetof(struct hytest_record, value));
	EXPECT_EQ(56, sizeof(struct hytest_event));
	EXPECT_EQ(48, offsetof(struct hytest_event, dropped));
	EXPECT_EQ(56, sizeof(struct hytest_info));
	EXPECT_EQ(24, sizeof(struct hytest_refusal));
	EXPECT_EQ(48, sizeof(struct hytest_load));
	EXPECT_EQ(16, sizeof(struct hytest_image));
	EXPECT_EQ(64, sizeof(struct hytest_arm));
	EXPECT_EQ(32, offsetof(struct hytest_arm, unhealthy));
	EXPECT_EQ(16, sizeof(struct hytest_change));
	EXPECT_EQ(48, sizeof(struct hytest_batch));
	EXPECT_EQ(16, sizeof(struct hytest_params));
	EXPECT_EQ(32, sizeof(struct hytest_lock));
	EXPECT_EQ(0x80384800u, HYTEST_IOC_INFO);
	EXPECT_EQ(0xc0304821u, HYTEST_IOC_LOAD);
	EXPECT_EQ(0xc0304828u, HYTEST_IOC_BATCH);
	EXPECT_EQ(0x4829u, HYTEST_IOC_HEARTBEAT);
}

FIXTURE(uapi) {
	struct draft *draft;
	struct view view;
	struct hytest_record *record;
	int fd;
	ht_u32 a_param, b_param, fixed_param;
};

/* Two constants that one batch can change together, one fixed parameter. */
FIXTURE_SETUP(uapi)
{
	ht_u32 a, b, limited, block;

	self->draft = draft_new(PERIOD_NS);
	self->draft->header.deadline_ticks = 1000;
	self->draft->header.missed_ticks = 0;
	self->draft->text = "the experiment";
	block = draft_constant(self->draft, "a", 1, &a);
	self->a_param = draft_param(self->draft, block, "b", 0);
	block = draft_constant(self->draft, "b", -1, &b);
	self->b_param = draft_param(self->draft, block, "b", 0);
	limited = draft_signal(self->draft, "limited", 0);
	block = draft_block(self->draft, "limit", 0, 1, &a, 1, &limited);
	draft_set(self->draft, block, "min", 0, -10);
	draft_set(self->draft, block, "max", 0, 10);
	self->fixed_param = draft_param(self->draft, block, "soft_start", 0);
	draft_record(self->draft, a);
	draft_record(self->draft, b);
	draft_output(self->draft, a, 0, 1000);
	draft_lock(self->draft, HT_LOCK_RANGE, HT_ACTION_RAMP, a, -50, 50);
	self->record = NULL;
	self->fd = loop_open_control(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(uapi)
{
	free(self->record);
	view_close(&self->view);
	draft_free(self->draft);
	close(self->fd);
}

static void run(struct __test_metadata *_metadata, struct _test_data_uapi *self)
{
	ASSERT_EQ(0, loop_run(self->fd, self->draft));
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	self->record = view_room(&self->view);
	ASSERT_TRUE(view_wait_tick(&self->view, 5));
}

static void empty(struct __test_metadata *_metadata, int fd)
{
	int ret = loop_ioctl(fd, HYTEST_IOC_UNLOAD, NULL);

	ASSERT_TRUE(ret == 0 || ret == ENODATA);
}

TEST_F(uapi, info)
{
	struct hytest_info info;
	size_t size;
	void *image = draft_image(self->draft, &size);

	empty(_metadata, self->fd);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_INFO, &info));
	EXPECT_EQ(HYTEST_UAPI_VERSION, info.version);
	EXPECT_EQ(HT_IMAGE_VERSION, info.image_version);
	EXPECT_EQ(HYTEST_EMPTY, info.state);
	EXPECT_EQ(0, info.loop);
	EXPECT_EQ(16u << 20, info.max_image_bytes);
	EXPECT_EQ(256u << 20, info.max_loop_bytes);
	EXPECT_EQ(0, info.image_bytes);
	EXPECT_EQ(0, info.loop_bytes);
	EXPECT_EQ(1, info.controlled);
	EXPECT_EQ(ht_n_block_types, info.block_types);
	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_INFO, &info));
	EXPECT_EQ(HYTEST_LOADED, info.state);
	EXPECT_EQ(size, info.image_bytes);
	EXPECT_LT(size, info.loop_bytes);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_RELEASE, NULL));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_INFO, &info));
	EXPECT_EQ(0, info.controlled);
	free(image);
}

TEST_F(uapi, image_reads_back)
{
	size_t size;
	char *image = draft_image(self->draft, &size);
	char *back = calloc(1, size + 1);
	struct hytest_image request = { .buffer = (uintptr_t)back, .size = size - 1 };

	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	EXPECT_EQ(ENOSPC, loop_ioctl(self->fd, HYTEST_IOC_IMAGE, &request));
	EXPECT_EQ(size, request.size);
	EXPECT_EQ(0, back[0]);
	request.size = size + 1;
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_IMAGE, &request));
	EXPECT_EQ(size, request.size);
	EXPECT_EQ(0, memcmp(image, back, size));
	EXPECT_EQ(0, back[size]);
	request.buffer = 16;
	EXPECT_EQ(EFAULT, loop_ioctl(self->fd, HYTEST_IOC_IMAGE, &request));
	free(image);
	free(back);
}

/* Every request that needs control, with an argument that would be good. */
static const unsigned long owner_requests[] = {
	HYTEST_IOC_RELEASE, HYTEST_IOC_LOAD, HYTEST_IOC_UNLOAD, HYTEST_IOC_ARM,
	HYTEST_IOC_DISARM, HYTEST_IOC_START, HYTEST_IOC_STOP, HYTEST_IOC_ACK,
	HYTEST_IOC_BATCH, HYTEST_IOC_HEARTBEAT,
};

union any_argument {
	struct hytest_load load;
	struct hytest_arm arm;
	struct hytest_batch batch;
	char bytes[64];
};

static int ask_owner_request(int fd, unsigned long request)
{
	union any_argument argument = { .bytes = { 0 } };

	if (request == HYTEST_IOC_ARM)
		argument.arm.dry_ticks = 1;
	return loop_ioctl(fd, request, &argument);
}

TEST_F(uapi, read_only_may_watch_never_control)
{
	int watcher = loop_open(0, O_RDONLY | O_NONBLOCK);
	struct hytest_info info;
	struct hytest_event event;
	uint64_t bits;
	struct hytest_params params = {
		.values = (uintptr_t)&bits,
		.first = self->a_param,
		.count = 1,
	};
	struct hytest_lock lock = { .interlock = 0 };
	struct view view;
	unsigned int i;

	ASSERT_LE(0, watcher);
	run(_metadata, self);
	ASSERT_EQ(0, loop_ioctl(watcher, HYTEST_IOC_INFO, &info));
	EXPECT_EQ(HYTEST_RUNNING, info.state);
	EXPECT_EQ(2, info.controlled);
	EXPECT_EQ(0, loop_ioctl(watcher, HYTEST_IOC_GET_PARAMS, &params));
	EXPECT_EQ(1, real_of(bits));
	EXPECT_EQ(0, loop_ioctl(watcher, HYTEST_IOC_GET_LOCK, &lock));
	EXPECT_EQ(1, lock.healthy);
	EXPECT_EQ(0, view_open(&view, watcher));
	EXPECT_TRUE(view_record(&view, 0, self->record));
	EXPECT_TRUE(loop_wait_event(watcher, HYTEST_EVENT_STARTED, &event));
	EXPECT_EQ(EPERM, loop_ioctl(watcher, HYTEST_IOC_TRIP, NULL));
	EXPECT_EQ(EPERM, loop_ioctl(watcher, HYTEST_IOC_CONTROL, NULL));
	for (i = 0; i < HT_COUNT(owner_requests); i++)
		EXPECT_EQ(EPERM, ask_owner_request(watcher, owner_requests[i]))
			TH_LOG("request %#lx", owner_requests[i]);
	EXPECT_EQ(HYTEST_RUNNING, view_status(&self->view).state);
	EXPECT_EQ(0, view_status(&self->view).trip.cause);
	view_close(&view);
	close(watcher);
}

TEST_F(uapi, one_file_has_control)
{
	int other = loop_open(0, O_RDWR | O_NONBLOCK);
	struct hytest_event event;
	struct hytest_info info;
	unsigned int i;

	run(_metadata, self);
	EXPECT_EQ((__u32)getpid(), view_status(&self->view).owner);
	EXPECT_EQ(EBUSY, loop_ioctl(other, HYTEST_IOC_CONTROL, NULL));
	for (i = 0; i < HT_COUNT(owner_requests); i++)
		EXPECT_EQ(EPERM, ask_owner_request(other, owner_requests[i]))
			TH_LOG("request %#lx", owner_requests[i]);
	/* Having it already is no error. */
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_CONTROL, NULL));
	EXPECT_EQ(HYTEST_RUNNING, view_status(&self->view).state);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_LOADED));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_RELEASE, NULL));
	EXPECT_TRUE(loop_wait_event(other, HYTEST_EVENT_CONTROL_LEFT, &event));
	EXPECT_EQ((__u32)getpid(), event.index);
	EXPECT_EQ(0, view_status(&self->view).owner);
	EXPECT_EQ(HYTEST_LOADED, view_status(&self->view).state);
	EXPECT_EQ(0, loop_ioctl(other, HYTEST_IOC_CONTROL, NULL));
	EXPECT_TRUE(loop_wait_event(other, HYTEST_EVENT_CONTROL_TAKEN, &event));
	ASSERT_EQ(0, loop_ioctl(other, HYTEST_IOC_INFO, &info));
	EXPECT_EQ(1, info.controlled);
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_CONTROL, NULL));
	close(other);
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_CONTROL, NULL));
}

TEST_F(uapi, errno_while_empty)
{
	struct hytest_params params = { 0 };
	struct hytest_image image = { 0 };
	struct hytest_lock lock = { 0 };

	empty(_metadata, self->fd);
	EXPECT_EQ(ENODATA, loop_ioctl(self->fd, HYTEST_IOC_UNLOAD, NULL));
	EXPECT_EQ(ENODATA, ask_owner_request(self->fd, HYTEST_IOC_ARM));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_DISARM, NULL));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
	EXPECT_EQ(ENODATA, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
	EXPECT_EQ(ENODATA, loop_change(self->fd, 0, 0, 0, NULL));
	EXPECT_EQ(ENODATA, loop_ioctl(self->fd, HYTEST_IOC_GET_PARAMS, &params));
	EXPECT_EQ(ENODATA, loop_ioctl(self->fd, HYTEST_IOC_IMAGE, &image));
	EXPECT_EQ(ENODATA, loop_ioctl(self->fd, HYTEST_IOC_GET_LOCK, &lock));
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_HEARTBEAT, NULL));
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_TRIP, NULL));
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	EXPECT_EQ(HYTEST_EMPTY, view_status(&self->view).state);
}

TEST_F(uapi, errno_while_loaded)
{
	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_DISARM, NULL));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
	EXPECT_EQ(ENODATA, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
	/* Nothing moves, so a trip has nothing to do. */
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_TRIP, NULL));
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	EXPECT_EQ(HYTEST_LOADED, view_status(&self->view).state);
	EXPECT_EQ(0, loop_load(self->fd, self->draft));
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_UNLOAD, NULL));
	EXPECT_EQ(HYTEST_EMPTY, view_status(&self->view).state);
}

TEST_F(uapi, errno_while_armed)
{
	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	EXPECT_EQ(EBUSY, ask_owner_request(self->fd, HYTEST_IOC_LOAD));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_UNLOAD, NULL));
	EXPECT_EQ(EBUSY, ask_owner_request(self->fd, HYTEST_IOC_ARM));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
	EXPECT_EQ(ENODATA, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
	EXPECT_EQ(HYTEST_ARMED, view_status(&self->view).state);
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_DISARM, NULL));
	EXPECT_EQ(HYTEST_LOADED, view_status(&self->view).state);
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_TRIP, NULL));
	EXPECT_EQ(HYTEST_TRIPPED, view_status(&self->view).state);
	EXPECT_EQ(HT_CAUSE_OPERATOR, view_status(&self->view).trip.cause);
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
	EXPECT_EQ(HYTEST_LOADED, view_status(&self->view).state);
}

TEST_F(uapi, errno_while_running)
{
	run(_metadata, self);
	EXPECT_EQ(EBUSY, ask_owner_request(self->fd, HYTEST_IOC_LOAD));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_UNLOAD, NULL));
	EXPECT_EQ(EBUSY, ask_owner_request(self->fd, HYTEST_IOC_ARM));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_DISARM, NULL));
	EXPECT_EQ(EBUSY, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	EXPECT_EQ(ENODATA, loop_ioctl(self->fd, HYTEST_IOC_ACK, NULL));
	EXPECT_EQ(HYTEST_RUNNING, view_status(&self->view).state);
}

TEST_F(uapi, bad_arguments)
{
	struct hytest_arm arm = { .dry_ticks = 0 };
	struct hytest_lock lock = { .interlock = 1 };
	uint64_t bits[8];
	struct hytest_params params = { .values = (uintptr_t)bits };

	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	EXPECT_EQ(EINVAL, loop_ioctl(self->fd, HYTEST_IOC_ARM, &arm));
	arm.dry_ticks = 100001;
	EXPECT_EQ(EINVAL, loop_ioctl(self->fd, HYTEST_IOC_ARM, &arm));
	arm.dry_ticks = 1;
	arm.cpu = 4000;
	EXPECT_EQ(ENODEV, loop_ioctl(self->fd, HYTEST_IOC_ARM, &arm));
	arm.cpu = 0xffffffff;
	EXPECT_EQ(ENODEV, loop_ioctl(self->fd, HYTEST_IOC_ARM, &arm));
	EXPECT_EQ(EINVAL, loop_ioctl(self->fd, HYTEST_IOC_GET_LOCK, &lock));
	lock.interlock = 0;
	lock.reserved = 1;
	EXPECT_EQ(EINVAL, loop_ioctl(self->fd, HYTEST_IOC_GET_LOCK, &lock));
	params.first = self->draft->header.n_params;
	EXPECT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_GET_PARAMS, &params));
	params.count = 1;
	EXPECT_EQ(EINVAL, loop_ioctl(self->fd, HYTEST_IOC_GET_PARAMS, &params));
	params.first = 0xffffffff;
	EXPECT_EQ(EINVAL, loop_ioctl(self->fd, HYTEST_IOC_GET_PARAMS, &params));
	params.first = 0;
	params.values = 8;
	EXPECT_EQ(EFAULT, loop_ioctl(self->fd, HYTEST_IOC_GET_PARAMS, &params));
	EXPECT_EQ(EFAULT, loop_ioctl(self->fd, HYTEST_IOC_INFO, (void *)8));
	EXPECT_EQ(EFAULT, loop_ioctl(self->fd, HYTEST_IOC_LOAD, (void *)8));
}

TEST_F(uapi, unknown_requests)
{
	char room[4096] = "";

	EXPECT_EQ(ENOTTY, loop_ioctl(self->fd, _IO('H', 0x05), room));
	EXPECT_EQ(ENOTTY, loop_ioctl(self->fd, _IO('H', 0x12), room));
	EXPECT_EQ(ENOTTY, loop_ioctl(self->fd, _IO('H', 0x2a), room));
	EXPECT_EQ(ENOTTY, loop_ioctl(self->fd, _IO('H', 0xff), room));
	EXPECT_EQ(ENOTTY, loop_ioctl(self->fd, _IO('G', 0x00), room));
	EXPECT_EQ(ENOTTY, loop_ioctl(self->fd, 0, room));
	/* The right number with another size or direction is another request. */
	EXPECT_EQ(ENOTTY, loop_ioctl(self->fd, _IOR('H', 0x00, int), room));
	EXPECT_EQ(ENOTTY, loop_ioctl(self->fd, _IOW('H', 0x00, struct hytest_info), room));
	EXPECT_EQ(ENOTTY, loop_ioctl(self->fd, _IOWR('H', 0x21, char[4000]), room));
	EXPECT_EQ(ENOTTY, loop_ioctl(self->fd, _IO('H', 0x28), room));
}

TEST_F(uapi, mappings)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	const int prot = PROT_READ | PROT_WRITE;
	struct hytest_status status;
	size_t size;
	void *map;

	empty(_metadata, self->fd);
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	EXPECT_EQ(page, self->view.size);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, self->fd, 0));
	EXPECT_EQ(ENXIO, errno);
	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	status = view_status(&self->view);
	size = status.mapping_size;
	EXPECT_EQ(page, status.ring_offset);
	EXPECT_EQ(4096, status.ring_records);
	EXPECT_EQ(sizeof(struct hytest_record) + 3 * 8, status.record_size);
	EXPECT_LE(page + 4096ull * status.record_size, size);
	EXPECT_EQ(PERIOD_NS, status.period_ns);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, size, prot, MAP_SHARED, self->fd, 0));
	EXPECT_EQ(EPERM, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, size, prot, MAP_PRIVATE, self->fd, 0));
	EXPECT_EQ(EPERM, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, size + page, PROT_READ, MAP_SHARED, self->fd, 0));
	EXPECT_EQ(ENXIO, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, page, PROT_READ, MAP_SHARED, self->fd, size));
	EXPECT_EQ(ENXIO, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, self->fd, size - page));
	EXPECT_EQ(ENXIO, errno);
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, mprotect(map, page, prot));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(0, munmap(map, size));
	map = mmap(NULL, page, PROT_READ, MAP_SHARED, self->fd, page);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0, *(volatile char *)map);
	munmap(map, page);
}

/* A mapping shows the run that it was made for, whatever is loaded later. */
TEST_F(uapi, mapping_survives_another_program)
{
	struct draft *other = draft_new(PERIOD_NS);
	const uint32_t program = 1;
	uint32_t before;
	uint64_t head;
	ht_u32 signal;

	draft_constant(other, "c", 5, &signal);
	other->header.ring_records = 16;
	run(_metadata, self);
	ASSERT_TRUE(view_wait_tick(&self->view, 100));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_LOADED));
	head = view_status(&self->view).head;
	before = view_status(&self->view).program;
	EXPECT_LE(program, before);
	ASSERT_EQ(0, loop_load(self->fd, other));
	EXPECT_EQ(before + 1, view_status(&self->view).program);
	EXPECT_EQ(16, view_status(&self->view).ring_records);
	while (head--) {
		ASSERT_TRUE(view_record(&self->view, head, self->record));
		EXPECT_LE(head, self->record->tick);
		EXPECT_EQ(1, record_value(self->record, 0));
	}
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_UNLOAD, NULL));
	EXPECT_TRUE(view_record(&self->view, 0, self->record));
	draft_free(other);
}

TEST_F(uapi, events_tell_the_story)
{
	static const uint32_t story[] = {
		HYTEST_EVENT_LOADED, HYTEST_EVENT_ARMED, HYTEST_EVENT_DISARMED,
		HYTEST_EVENT_ARMED, HYTEST_EVENT_STARTED, HYTEST_EVENT_BATCH,
		HYTEST_EVENT_STOPPING, HYTEST_EVENT_STOPPED, HYTEST_EVENT_UNLOADED,
	};
	int watcher = loop_open(0, O_RDONLY | O_NONBLOCK);
	struct pollfd poll_fd = { .fd = watcher, .events = POLLIN };
	struct hytest_event events[64];
	uint64_t sequence, time = 0;
	unsigned int next = 0;
	void *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;
	ssize_t size;

	/* A new reader is told what happens from now on. */
	EXPECT_EQ(-1, read(watcher, events, sizeof(events)));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(0, poll(&poll_fd, 1, 20));
	EXPECT_EQ(-1, read(watcher, events, sizeof(events[0]) - 1));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	EXPECT_EQ(1, poll(&poll_fd, 1, 1000));
	EXPECT_EQ(POLLIN, poll_fd.revents);
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_DISARM, NULL));
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	ASSERT_EQ(0, loop_change(self->fd, self->a_param, 2, 30, NULL));
	ASSERT_TRUE(view_wait_tick(&self->view, 60));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_LOADED));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_UNLOAD, NULL));
	EXPECT_EQ(-1, read(watcher, nowhere, sizeof(events)));
	EXPECT_EQ(EFAULT, errno);
	size = read(watcher, events, sizeof(events) - 1);
	ASSERT_LT(0, size);
	ASSERT_EQ(0, size % sizeof(events[0]));
	/* What could not be delivered is not lost. */
	sequence = events[0].sequence;
	for (i = 0; i < size / sizeof(events[0]); i++) {
		EXPECT_EQ(sequence + i, events[i].sequence);
		EXPECT_LE(time, events[i].time_ns);
		EXPECT_EQ(0, events[i].dropped);
		EXPECT_EQ(0, events[i].reserved);
		time = events[i].time_ns;
		if (!time_is_exact() && (events[i].type == HYTEST_EVENT_MISSED ||
					 events[i].type == HYTEST_EVENT_OVERRUN))
			continue;
		ASSERT_GT(HT_COUNT(story), next);
		EXPECT_EQ(story[next++], events[i].type);
		if (events[i].type == HYTEST_EVENT_BATCH) {
			EXPECT_EQ(1, events[i].index);
			EXPECT_LE(30, events[i].tick);
			if (time_is_exact())
				EXPECT_EQ(30, events[i].tick);
		}
	}
	EXPECT_EQ(HT_COUNT(story), next);
	EXPECT_GE(now_ns(), time);
	EXPECT_EQ(-1, read(watcher, events, sizeof(events)));
	EXPECT_EQ(EAGAIN, errno);
	close(watcher);
}

static void *blocked_reader(void *argument)
{
	static struct hytest_event event;

	return read(*(int *)argument, &event, sizeof(event)) == sizeof(event) ? &event : NULL;
}

TEST_F(uapi, read_waits)
{
	int watcher = loop_open(0, O_RDONLY);
	struct hytest_event *event;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, blocked_reader, &watcher));
	sleep_ms(50);
	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	ASSERT_EQ(0, pthread_join(thread, (void **)&event));
	ASSERT_NE(NULL, event);
	EXPECT_EQ(HYTEST_EVENT_LOADED, event->type);
	close(watcher);
}

TEST_F(uapi, slow_reader_is_told_what_it_lost)
{
	int slow = loop_open(0, O_RDONLY | O_NONBLOCK);
	struct hytest_event event, last;
	uint64_t first = 0, seen = 0;
	int i;

	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	ASSERT_TRUE(loop_wait_event(slow, HYTEST_EVENT_LOADED, &last));
	/* Two events each; 1024 are kept. */
	for (i = 0; i < 600; i++) {
		ASSERT_EQ(0, loop_arm(self->fd, 0));
		ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_DISARM, NULL));
	}
	while (read(slow, &event, sizeof(event)) == sizeof(event)) {
		if (!first) {
			first = event.sequence;
			EXPECT_EQ(1200 - 1024, event.dropped);
			EXPECT_EQ(last.sequence + 1 + event.dropped, event.sequence);
		} else {
			EXPECT_EQ(0, event.dropped);
			EXPECT_EQ(first + seen, event.sequence);
		}
		seen++;
	}
	EXPECT_EQ(1024, seen);
	EXPECT_EQ(HYTEST_EVENT_DISARMED, event.type);
	close(slow);
}

/* A batch that is refused changes nothing and says why. */
static void refused(struct __test_metadata *_metadata, struct _test_data_uapi *self,
		    uint32_t param, uint64_t bits, uint32_t reserved, uint32_t code)
{
	const struct hytest_change changes[2] = {
		{ .param = self->a_param, .value = bits_of(7) },
		{ .param = param, .value = bits, .reserved = reserved },
	};
	struct hytest_batch batch = { .changes = (uintptr_t)changes, .count = 2 };
	uint64_t now;
	struct hytest_params params = {
		.values = (uintptr_t)&now,
		.first = self->a_param,
		.count = 1,
	};

	EXPECT_EQ(EINVAL, loop_ioctl(self->fd, HYTEST_IOC_BATCH, &batch));
	EXPECT_EQ(code, batch.refusal.code);
	EXPECT_EQ(HT_AT_PARAM, batch.refusal.where);
	EXPECT_EQ(1, batch.refusal.index);
	EXPECT_EQ(param, batch.refusal.item);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_GET_PARAMS, &params));
	EXPECT_EQ(1, real_of(now));
}

static void refused_batches(struct __test_metadata *_metadata, struct _test_data_uapi *self)
{
	struct hytest_batch batch = { .changes = 8, .count = 1 };

	refused(_metadata, self, self->draft->header.n_params, bits_of(1), 0, HT_ERR_PARAM);
	refused(_metadata, self, 0xffffffff, bits_of(1), 0, HT_ERR_PARAM);
	refused(_metadata, self, self->b_param, bits_of(NAN), 0, HT_ERR_NOT_FINITE);
	refused(_metadata, self, self->b_param, bits_of(-INFINITY), 0, HT_ERR_NOT_FINITE);
	refused(_metadata, self, self->b_param, bits_of(1e16), 0, HT_ERR_RANGE);
	refused(_metadata, self, self->fixed_param, bits_of(2), 0, HT_ERR_FIXED);
	refused(_metadata, self, self->b_param, bits_of(2), 1, HT_ERR_RESERVED);
	EXPECT_EQ(EFAULT, loop_ioctl(self->fd, HYTEST_IOC_BATCH, &batch));
	batch.count = 0;
	EXPECT_EQ(EINVAL, loop_ioctl(self->fd, HYTEST_IOC_BATCH, &batch));
	batch.count = HYTEST_MAX_CHANGES + 1;
	EXPECT_EQ(EINVAL, loop_ioctl(self->fd, HYTEST_IOC_BATCH, &batch));
}

TEST_F(uapi, bad_batches_while_running)
{
	struct hytest_status status;
	uint64_t n;

	run(_metadata, self);
	refused_batches(_metadata, self);
	ASSERT_TRUE(view_wait_tick(&self->view, 50));
	status = view_status(&self->view);
	EXPECT_EQ(HYTEST_RUNNING, status.state);
	EXPECT_EQ(0, status.batch);
	for (n = 0; n < status.head; n++) {
		ASSERT_TRUE(view_record(&self->view, n, self->record));
		EXPECT_EQ(1, record_value(self->record, 0));
		EXPECT_EQ(-1, record_value(self->record, 1));
		EXPECT_EQ(0, self->record->batch);
	}
}

TEST_F(uapi, bad_batches_while_loaded)
{
	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	refused_batches(_metadata, self);
}

/* All values of a batch appear together on exactly the tick asked for. */
TEST_F(uapi, batches_on_one_tick)
{
	struct hytest_status status;
	uint32_t number, i;
	bool late = false;
	uint64_t n, at;

	run(_metadata, self);
	for (i = 1; i <= 20; i++) {
		at = 100 + 20 * i;
		ASSERT_EQ(0, loop_change2(self->fd, self->a_param, 1 + i, self->b_param, -1.0 - i,
					  at, &number));
		late |= view_status(&self->view).tick >= at;
		EXPECT_EQ(i, number);
		if (time_is_exact())
			EXPECT_EQ(EBUSY, loop_change(self->fd, self->a_param, 0, 0, NULL));
		ASSERT_TRUE(view_wait_tick(&self->view, at + 1));
		/* Where it came too late it takes one tick more. */
		if (late)
			view_wait_tick(&self->view, view_status(&self->view).tick + 1);
		EXPECT_EQ(i, view_status(&self->view).batch);
	}
	if (time_is_exact())
		EXPECT_FALSE(late);
	ASSERT_TRUE(view_wait_tick(&self->view, 530));
	status = view_status(&self->view);
	EXPECT_EQ(HYTEST_RUNNING, status.state);
	for (n = 0; n < status.head; n++) {
		ASSERT_TRUE(view_record(&self->view, n, self->record));
		i = self->record->tick < 120 ? 0 : self->record->tick / 20 - 5;
		i = i > 20 ? 20 : i;
		/* A batch that came too late for its tick is seen by the next. */
		if (late)
			i = self->record->batch;
		EXPECT_EQ(i, self->record->batch);
		EXPECT_EQ(1.0 + i, record_value(self->record, 0));
		EXPECT_EQ(-1.0 - i, record_value(self->record, 1));
	}
}

/* At the next tick if none is asked for; numbers begin anew with each start. */
TEST_F(uapi, batches_at_once)
{
	struct hytest_event event;
	uint32_t number, i;
	uint64_t tick;

	run(_metadata, self);
	for (i = 1; i <= 10; i++) {
		tick = view_status(&self->view).tick;
		ASSERT_EQ(0, loop_change(self->fd, self->a_param, i, 0, &number));
		EXPECT_EQ(i, number);
		ASSERT_TRUE(loop_wait_event(self->fd, HYTEST_EVENT_BATCH, &event));
		EXPECT_EQ(i, event.index);
		EXPECT_LE(tick, event.tick);
		ASSERT_TRUE(view_wait_tick(&self->view, event.tick + 1));
		ASSERT_TRUE(view_tick(&self->view, event.tick, self->record));
		EXPECT_EQ(i, record_value(self->record, 0));
		EXPECT_EQ(i, self->record->batch);
	}
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_LOADED));
	/* Kept by the next start. */
	ASSERT_EQ(0, loop_change(self->fd, self->a_param, 33, 0, NULL));
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	ASSERT_TRUE(view_wait_tick(&self->view, 3));
	ASSERT_TRUE(view_record(&self->view, 0, self->record));
	EXPECT_EQ(33, record_value(self->record, 0));
	EXPECT_EQ(0, self->record->batch);
	ASSERT_EQ(0, loop_change(self->fd, self->a_param, 1, 0, &number));
	EXPECT_EQ(1, number);
}

static int load_with(struct _test_data_uapi *self, size_t at, uint32_t value, bool repair,
		     struct hytest_load *load)
{
	size_t size;
	char *image = draft_image(self->draft, &size);
	int ret;

	memcpy(image + at, &value, sizeof(value));
	if (repair)
		image_repair_crc(image, size);
	ret = loop_load_bytes(self->fd, image, size, load);
	free(image);
	return ret;
}

TEST_F(uapi, bad_images)
{
	const size_t text = offsetof(struct ht_image_header, text_size);
	struct hytest_load load;
	size_t size;
	char *image = draft_image(self->draft, &size);

	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	EXPECT_EQ(EINVAL, load_with(self, offsetof(struct ht_image_header, magic), 1, true, &load));
	EXPECT_EQ(HT_ERR_MAGIC, load.refusal.code);
	EXPECT_EQ(EINVAL, load_with(self, offsetof(struct ht_image_header, version), 99, true,
				    &load));
	EXPECT_EQ(HT_ERR_VERSION, load.refusal.code);
	EXPECT_EQ(EINVAL, load_with(self, offsetof(struct ht_image_header, crc), 1, false, &load));
	EXPECT_EQ(HT_ERR_CRC, load.refusal.code);
	EXPECT_EQ(EINVAL, load_with(self, size - 4, 1, false, &load));
	EXPECT_EQ(HT_ERR_CRC, load.refusal.code);
	EXPECT_EQ(EINVAL, load_with(self, text, 1 << 19, true, &load));
	EXPECT_EQ(HT_ERR_SIZE, load.refusal.code);
	EXPECT_EQ(EINVAL, load_with(self, offsetof(struct ht_image_header, ring_records), 1000,
				    true, &load));
	EXPECT_EQ(HT_ERR_COUNT, load.refusal.code);
	EXPECT_EQ(EINVAL, load_with(self, offsetof(struct ht_image_header, reserved), 1, true,
				    &load));
	EXPECT_EQ(HT_ERR_RESERVED, load.refusal.code);
	EXPECT_EQ(EINVAL, load_with(self, offsetof(struct ht_image_header, kind), HT_IMAGE_KINDS,
				    true, &load));
	EXPECT_EQ(HT_ERR_TYPE, load.refusal.code);
	EXPECT_EQ(EINVAL, loop_load_bytes(self->fd, image, size - 8, &load));
	EXPECT_EQ(HT_ERR_SIZE, load.refusal.code);
	EXPECT_EQ(EINVAL, loop_load_bytes(self->fd, image, 0, &load));
	EXPECT_EQ(HT_ERR_SIZE, load.refusal.code);
	EXPECT_EQ(EINVAL, loop_load_bytes(self->fd, image, 8, &load));
	EXPECT_EQ(HT_ERR_SIZE, load.refusal.code);
	EXPECT_EQ(EFAULT, loop_load_bytes(self->fd, (void *)8, size, &load));
	free(image);
	/* A program that is no good leaves the one that was there. */
	EXPECT_EQ(0, loop_arm(self->fd, 0));
}

/* What runs a rig is no program of a loop. */
TEST_F(uapi, rig_image)
{
	struct draft *rig = draft_new_rig(PERIOD_NS);
	struct hytest_load load;
	size_t size;
	ht_u32 signal = draft_signal(rig, "wire", 0);
	void *image;

	draft_dac(rig, signal, "dac");
	draft_adc(rig, signal, "adc");
	image = draft_image(rig, &size);
	EXPECT_EQ(EINVAL, loop_load_bytes(self->fd, image, size, &load));
	EXPECT_EQ(HT_ERR_KIND, load.refusal.code);
	free(image);
	draft_free(rig);
}

TEST_F(uapi, too_large)
{
	struct hytest_info info;
	struct hytest_load load;
	size_t size;
	void *image;

	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_INFO, &info));
	EXPECT_EQ(EFBIG, loop_load_bytes(self->fd, NULL, info.max_image_bytes + 1, &load));
	EXPECT_EQ(info.max_image_bytes + 1, load.needed_bytes);
	load = (struct hytest_load){ .size = ~0ull };
	EXPECT_EQ(EFBIG, loop_ioctl(self->fd, HYTEST_IOC_LOAD, &load));
	EXPECT_EQ(~0ull, load.needed_bytes);
	self->draft->header.ring_records = HT_MAX_RING;
	image = draft_image(self->draft, &size);
	EXPECT_EQ(E2BIG, loop_load_bytes(self->fd, image, size, &load));
	EXPECT_LT((uint64_t)HT_MAX_RING * 72, load.needed_bytes);
	EXPECT_LT(info.max_loop_bytes, load.needed_bytes);
	free(image);
	self->draft->header.ring_records = 4096;
	EXPECT_EQ(0, loop_load(self->fd, self->draft));
}

/* Two loops at once, at different rates, each with its own records. */
TEST_F(uapi, several_loops)
{
	struct draft *other = draft_new(700000);
	struct hytest_record *record;
	struct hytest_status status;
	struct view view;
	int fd = loop_open_control(1);
	uint64_t n;
	ht_u32 signal;

	ASSERT_LE(0, fd);
	draft_constant(other, "c", 5, &signal);
	draft_record(other, signal);
	other->header.missed_ticks = 0;
	other->header.deadline_ticks = 1000;
	run(_metadata, self);
	ASSERT_EQ(0, loop_run(fd, other));
	ASSERT_EQ(0, view_open(&view, fd));
	record = view_room(&view);
	ASSERT_TRUE(view_wait_tick(&view, 700));
	status = view_status(&view);
	EXPECT_EQ(HYTEST_RUNNING, status.state);
	for (n = 0; n < status.head; n++) {
		ASSERT_TRUE(view_record(&view, n, record));
		EXPECT_EQ(status.start_ns + record->tick * 700000, record->time_ns);
		EXPECT_EQ(5, record_value(record, 0));
	}
	/* A trip of one is none of the other's business. */
	ASSERT_EQ(0, loop_ioctl(fd, HYTEST_IOC_TRIP, NULL));
	ASSERT_TRUE(view_wait_state(&view, HYTEST_TRIPPED));
	status = view_status(&self->view);
	EXPECT_EQ(HYTEST_RUNNING, status.state);
	EXPECT_LE(470, status.tick);
	for (n = 0; n < status.head; n++) {
		ASSERT_TRUE(view_record(&self->view, n, self->record));
		EXPECT_EQ(status.start_ns + self->record->tick * PERIOD_NS, self->record->time_ns);
		EXPECT_EQ(1, record_value(self->record, 0));
	}
	view_close(&view);
	free(record);
	close(fd);
	draft_free(other);
}

struct reader {
	pthread_t thread;
	uint64_t read;
	uint64_t wrong;
	uint64_t lost;
};

/* Reads records of a small ring; what is overwritten must be noticed. */
static void *read_ring(void *argument)
{
	struct reader *reader = argument;
	struct hytest_record *record;
	struct hytest_status status;
	uint64_t next = 0;
	struct view view;
	int fd = loop_open(0, O_RDONLY);

	if (fd < 0 || view_open(&view, fd))
		return NULL;
	record = view_room(&view);
	do {
		status = view_status(&view);
		if (status.head > next + view.ring_records) {
			reader->lost += status.head - view.ring_records - next;
			next = status.head - view.ring_records;
		}
		for (; next < status.head; next++) {
			if (!view_record(&view, next, record)) {
				reader->lost++;
				continue;
			}
			reader->read++;
			if (record->time_ns != status.start_ns + record->tick * PERIOD_NS / 10 ||
			    record_value(record, 1) != -record_value(record, 0))
				reader->wrong++;
		}
		sleep_ms(1);
	} while (status.head < 5000 && status.state == HYTEST_RUNNING);
	free(record);
	view_close(&view);
	close(fd);
	return NULL;
}

TEST_F(uapi, several_readers)
{
	struct reader readers[3] = { 0 };
	struct hytest_status status;
	int i, value = 1;

	self->draft->header.period_ns = PERIOD_NS / 10;
	self->draft->header.budget_ns = PERIOD_NS / 20;
	self->draft->header.deadline_ns = PERIOD_NS / 10;
	self->draft->header.deadline_ticks = HT_MAX_LATE_TICKS;
	self->draft->header.ring_records = 32;
	run(_metadata, self);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&readers[i].thread, NULL, read_ring, &readers[i]));
	/* Both values change together all the time. */
	do {
		loop_change2(self->fd, self->a_param, value % 40, self->b_param, -(value % 40), 0,
			     NULL);
		value++;
		sleep_ms(1);
		status = view_status(&self->view);
	} while (status.head < 5000 && status.state == HYTEST_RUNNING);
	EXPECT_EQ(HYTEST_RUNNING, status.state);
	for (i = 0; i < 3; i++) {
		pthread_join(readers[i].thread, NULL);
		EXPECT_EQ(0, readers[i].wrong);
		EXPECT_LT(1000, readers[i].read);
		EXPECT_LE(5000, readers[i].read + readers[i].lost);
	}
}

/* The soft start fades in, the soft stop fades out and ends safe. */
TEST_F(uapi, soft_start_and_stop)
{
	struct hytest_status status;
	double previous = 0, now = 0;
	uint64_t n;

	self->draft->header.soft_start_ticks = 100;
	self->draft->header.soft_stop_ticks = 50;
	run(_metadata, self);
	EXPECT_EQ(0, view_status(&self->view).safe);
	ASSERT_TRUE(view_wait_tick(&self->view, 150));
	if (time_is_exact())
		EXPECT_LE(150, view_status(&self->view).head);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_LOADED));
	status = view_status(&self->view);
	EXPECT_EQ(1, status.safe);
	EXPECT_EQ(0, status.trip.cause);
	for (n = 0; n < status.head; n++) {
		ASSERT_TRUE(view_record(&self->view, n, self->record));
		now = record_value(self->record, 2);
		EXPECT_GE(0.031, fabs(now - previous));
		if (n == 99 && self->record->state == HYTEST_RUNNING)
			EXPECT_EQ(1, now);
		if (self->record->state == HYTEST_RUNNING && n < 100)
			EXPECT_LT(previous, now);
		if (self->record->state == HYTEST_STOPPING)
			EXPECT_GT(previous, now);
		previous = now;
	}
	EXPECT_EQ(HYTEST_STOPPING, self->record->state);
	EXPECT_EQ(0, now);
}

TEST_HARNESS_MAIN
