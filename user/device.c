// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel backend: /dev/hytestN.
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

#include "backend.h"

struct device {
	struct hytest_loop loop;
	int fd;
	size_t page;
	uint32_t program;	/* that the ring is mapped of */
};

static struct device *device_of(struct hytest_loop *loop)
{
	return (struct device *)loop;
}

static void unmap_ring(struct device *device)
{
	if (device->loop.mapping)
		munmap((void *)device->loop.mapping, device->loop.mapping_size);
	device->loop.mapping = NULL;
	device->loop.mapping_size = 0;
	device->program = 0;
}

static void device_close(struct hytest_loop *loop)
{
	struct device *device = device_of(loop);

	unmap_ring(device);
	munmap((void *)loop->status, device->page);
	close(device->fd);
	free(device);
}

static int device_call(struct hytest_loop *loop, unsigned long request, void *argument)
{
	return ioctl(device_of(loop)->fd, request, argument) < 0 ? -errno : 0;
}

/* Maps what the status promises; -EAGAIN if another program came meanwhile. */
static int map_ring(struct device *device, const struct hytest_status *status)
{
	const struct hytest_status *first;
	void *mapping;

	if (status->ring_offset < sizeof(*status) || status->ring_offset > status->mapping_size ||
	    (status->mapping_size - status->ring_offset) / status->ring_records <
	    status->record_size)
		return -EPROTO;
	mapping = mmap(NULL, status->mapping_size, PROT_READ, MAP_SHARED, device->fd, 0);
	if (mapping == MAP_FAILED)
		return hytest_load_u32(&device->loop.status->program) == status->program ?
			-errno : -EAGAIN;
	first = mapping;
	if (hytest_load_u32(&first->program) != status->program) {
		munmap(mapping, status->mapping_size);
		return -EAGAIN;
	}
	device->loop.mapping = mapping;
	device->loop.mapping_size = status->mapping_size;
	device->program = status->program;
	return 0;
}

static int device_map(struct hytest_loop *loop)
{
	struct device *device = device_of(loop);
	struct hytest_status status;
	int result, tries;

	for (tries = 0; tries < 8; tries++) {
		if (loop->mapping && device->program == hytest_load_u32(&loop->status->program))
			return 0;
		unmap_ring(device);
		result = hytest_copy_status(loop->status, &status);
		if (result)
			return result;
		if (status.state == HYTEST_EMPTY || !status.ring_records)
			return 0;
		result = map_ring(device, &status);
		if (result != -EAGAIN)
			return result;
	}
	return -EAGAIN;
}

static int device_events(struct hytest_loop *loop, struct hytest_event *events, size_t n)
{
	ssize_t got = read(device_of(loop)->fd, events, n * sizeof(*events));

	if (got >= 0)
		return got / sizeof(*events);
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

static int device_wait(struct hytest_loop *loop, uint64_t timeout_ns)
{
	struct timespec timeout = {
		.tv_sec = timeout_ns / 1000000000,
		.tv_nsec = timeout_ns % 1000000000,
	};
	struct pollfd wanted = { .fd = device_of(loop)->fd, .events = POLLIN };
	int result = ppoll(&wanted, 1, &timeout, NULL);

	if (result < 0)
		return errno == EINTR ? 0 : -errno;
	if (result && (wanted.revents & (POLLHUP | POLLERR)) && !(wanted.revents & POLLIN))
		return -ENODEV;
	return result;
}

static const struct hytest_backend kernel_backend = {
	.name = "kernel",
	.close = device_close,
	.call = device_call,
	.map = device_map,
	.events = device_events,
	.wait = device_wait,
};

static void explain_open(const char *path, int error, char *text, size_t size)
{
	if (error == ENOENT)
		snprintf(text, size, "%s does not exist: is the module loaded (modprobe hytest)?",
			 path);
	else if (error == EACCES || error == EPERM)
		snprintf(text, size, "%s: %s: are you in the group hytest?", path, strerror(error));
	else if (error == EPROTO)
		snprintf(text, size, "%s: the module speaks another version than this program (%u)",
			 path, HYTEST_UAPI_VERSION);
	else
		snprintf(text, size, "%s: %s", path, strerror(error));
}

static int check_version(struct device *device)
{
	struct hytest_info info;

	if (ioctl(device->fd, HYTEST_IOC_INFO, &info) < 0)
		return -errno;
	return info.version == HYTEST_UAPI_VERSION ? 0 : -EPROTO;
}

static int open_device(struct device *device, const char *path, bool to_control)
{
	int result;

	device->fd = open(path, (to_control ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_CLOEXEC);
	if (device->fd < 0)
		return -errno;
	result = check_version(device);
	if (result)
		goto err_close;
	device->page = sysconf(_SC_PAGESIZE);
	device->loop.status = mmap(NULL, device->page, PROT_READ, MAP_SHARED, device->fd, 0);
	if (device->loop.status != MAP_FAILED)
		return 0;
	result = -errno;
err_close:
	close(device->fd);
	return result;
}

struct hytest_loop *hytest_open(unsigned int number, bool to_control, char *text, size_t size)
{
	struct device *device = calloc(1, sizeof(*device));
	char path[32];
	int result;

	snprintf(path, sizeof(path), "/dev/hytest%u", number);
	result = device ? open_device(device, path, to_control) : -ENOMEM;
	if (result) {
		free(device);
		explain_open(path, -result, text, size);
		errno = -result;
		return NULL;
	}
	device->loop.backend = &kernel_backend;
	return &device->loop;
}
