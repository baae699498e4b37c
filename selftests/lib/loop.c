// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/hytestN for tests: see loop.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"

int loop_ioctl(int fd, unsigned long request, void *argument)
{
	return ioctl(fd, request, argument) < 0 ? errno : 0;
}

int loop_open(unsigned int number, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/dev/hytest%u", number);
	return open(path, flags | O_CLOEXEC);
}

int loop_open_control(unsigned int number)
{
	int fd = loop_open(number, O_RDWR | O_NONBLOCK);
	struct hytest_event event;
	struct hytest_info info;

	if (fd < 0)
		return -1;
	if (!loop_ioctl(fd, HYTEST_IOC_CONTROL, NULL) &&
	    !loop_ioctl(fd, HYTEST_IOC_INFO, &info) &&
	    (info.state == HYTEST_EMPTY || info.state == HYTEST_LOADED || loop_wait_ack(fd))) {
		while (read(fd, &event, sizeof(event)) > 0)
			;
		return fd;
	}
	close(fd);
	return -1;
}

int loop_load_bytes(int fd, const void *image, size_t size, struct hytest_load *load)
{
	*load = (struct hytest_load){
		.image = (uintptr_t)image,
		.size = size,
	};
	return loop_ioctl(fd, HYTEST_IOC_LOAD, load);
}

int loop_load(int fd, const struct draft *draft)
{
	struct hytest_load load;
	size_t size;
	void *image = draft_image(draft, &size);
	int ret = loop_load_bytes(fd, image, size, &load);

	if (ret)
		printf("# load: %s: code %u at %u, index %u, item %u, value %#llx\n",
		       strerror(ret), load.refusal.code, load.refusal.where, load.refusal.index,
		       load.refusal.item, (unsigned long long)load.refusal.value);
	free(image);
	return ret;
}

int loop_arm(int fd, unsigned int cpu)
{
	struct hytest_arm arm = {
		.cpu = cpu,
		.dry_ticks = 10,
	};
	int tries = time_is_exact() ? 1 : 50;
	int ret;

	do
		ret = loop_ioctl(fd, HYTEST_IOC_ARM, &arm);
	while (ret == ETIME && --tries);
	if (ret)
		printf("# arm: %s: worst %u ns, budget %u ns, interlock %u, problem %u, channel %u, error %u\n",
		       strerror(ret), arm.worst_ns, arm.budget_ns, arm.interlock, arm.problem,
		       arm.channel, arm.error);
	return ret;
}

int loop_run(int fd, const struct draft *draft)
{
	int ret = loop_load(fd, draft);

	if (!ret)
		ret = loop_arm(fd, 0);
	if (!ret)
		ret = loop_ioctl(fd, HYTEST_IOC_START, NULL);
	return ret;
}

static int change(int fd, const struct hytest_change *changes, uint32_t n, uint64_t tick,
		  uint32_t *number)
{
	struct hytest_batch batch = {
		.changes = (uintptr_t)changes,
		.count = n,
		.tick = tick,
	};
	int ret = loop_ioctl(fd, HYTEST_IOC_BATCH, &batch);

	if (number)
		*number = batch.number;
	return ret;
}

int loop_change(int fd, uint32_t param, double value, uint64_t tick, uint32_t *number)
{
	const struct hytest_change one = { .param = param, .value = bits_of(value) };

	return change(fd, &one, 1, tick, number);
}

int loop_change2(int fd, uint32_t param, double value, uint32_t param2, double value2,
		 uint64_t tick, uint32_t *number)
{
	const struct hytest_change two[2] = {
		{ .param = param, .value = bits_of(value) },
		{ .param = param2, .value = bits_of(value2) },
	};

	return change(fd, two, 2, tick, number);
}

int view_open(struct view *view, int fd)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	const struct hytest_status *status;
	void *map;

	memset(view, 0, sizeof(*view));
	status = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	if (status == MAP_FAILED)
		return errno;
	view->size = status->mapping_size;
	munmap((void *)status, page);
	map = mmap(NULL, view->size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return errno;
	view->status = map;
	view->ring = (const char *)map + view->status->ring_offset;
	view->record_size = view->status->record_size;
	view->ring_records = view->status->ring_records;
	if (view->record_size)
		view->n_values = (view->record_size - sizeof(struct hytest_record)) / 8;
	return 0;
}

void view_close(struct view *view)
{
	if (view->status)
		munmap((void *)view->status, view->size);
	memset(view, 0, sizeof(*view));
}

struct hytest_status view_status(const struct view *view)
{
	struct hytest_status copy;
	uint32_t before, after;

	do {
		before = __atomic_load_n(&view->status->sequence, __ATOMIC_ACQUIRE);
		memcpy(&copy, (const void *)view->status, sizeof(copy));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		after = __atomic_load_n(&view->status->sequence, __ATOMIC_RELAXED);
	} while (before != after || (before & 1));
	return copy;
}

bool view_record(const struct view *view, uint64_t number, struct hytest_record *record)
{
	const struct hytest_record *slot = (const void *)(view->ring +
		(number & (view->ring_records - 1)) * view->record_size);

	if (__atomic_load_n(&slot->sequence, __ATOMIC_ACQUIRE) != number + 1)
		return false;
	memcpy(record, slot, view->record_size);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&slot->sequence, __ATOMIC_RELAXED) == number + 1;
}

bool view_tick(const struct view *view, uint64_t tick, struct hytest_record *record)
{
	uint64_t number = tick + 1;

	while (number--)
		if (view_record(view, number, record) && record->tick <= tick)
			return record->tick == tick;
	return false;
}

struct hytest_record *view_room(const struct view *view)
{
	struct hytest_record *record = calloc(1, view->record_size);

	if (!record)
		abort();
	return record;
}

double record_value(const struct hytest_record *record, unsigned int index)
{
	return real_of(record->value[index]);
}

bool view_wait_state(const struct view *view, enum hytest_state state)
{
	const uint64_t end = now_ns() + WAIT_MS * 1000000ull;

	while (now_ns() < end) {
		if (view_status(view).state == state)
			return true;
		sleep_ms(1);
	}
	return false;
}

bool view_wait_tick(const struct view *view, uint64_t tick)
{
	const uint64_t end = now_ns() + WAIT_MS * 1000000ull;

	while (now_ns() < end) {
		if (view_status(view).tick >= tick)
			return true;
		sleep_ms(1);
	}
	return false;
}

bool loop_wait_event(int fd, enum hytest_event_type type, struct hytest_event *event)
{
	const uint64_t end = now_ns() + WAIT_MS * 1000000ull;
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	while (now_ns() < end) {
		if (poll(&poll_fd, 1, 100) <= 0)
			continue;
		if (read(fd, event, sizeof(*event)) == sizeof(*event) && event->type == type)
			return true;
	}
	memset(event, 0, sizeof(*event));
	return false;
}

bool loop_wait_ack(int fd)
{
	const uint64_t end = now_ns() + WAIT_MS * 1000000ull;

	while (now_ns() < end) {
		if (!loop_ioctl(fd, HYTEST_IOC_ACK, NULL))
			return true;
		sleep_ms(1);
	}
	return false;
}

bool time_is_exact(void)
{
	const char *mode = getenv("HYTEST_MODE");

	return !mode || strcmp(mode, "smp");
}

void sleep_ms(unsigned int ms)
{
	const struct timespec time = {
		.tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000L,
	};

	nanosleep(&time, NULL);
}

uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

double real_of(uint64_t bits)
{
	const union ht_real real = { .bits = bits };

	return real.value;
}

uint64_t bits_of(double value)
{
	return ht_bits(value);
}
