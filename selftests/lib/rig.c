// SPDX-License-Identifier: GPL-2.0
/*
 * Simulated rigs and their IIO devices for tests: see rig.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loop.h"
#include "rig.h"

#define DEVICES		"/sys/bus/iio/devices"
#define FAULTS		"/sys/kernel/debug/hytest_rig"
#define PATH_LEN	512

/* All its characters and no closing zero, if it is as long as the field. */
static void copy_name(char *field, const char *name)
{
	memcpy(field, name, strnlen(name, HYTEST_RIG_NAME_LEN));
}

int rig_open(int flags)
{
	return open("/dev/hytest_rig", flags | O_CLOEXEC);
}

int rig_create_bytes(int fd, const char *name, const void *image, size_t size,
		     struct hytest_rig_create *create)
{
	memset(create, 0, sizeof(*create));
	copy_name(create->name, name);
	create->image = (uintptr_t)image;
	create->size = size;
	return loop_ioctl(fd, HYTEST_RIG_IOC_CREATE, create);
}

int rig_create(int fd, const char *name, const struct draft *draft, unsigned int *device)
{
	struct hytest_rig_create create;
	size_t size;
	void *image = draft_image(draft, &size);
	int ret = rig_create_bytes(fd, name, image, size, &create);

	free(image);
	*device = create.device;
	if (create.refusal.code)
		printf("# %s refused: %s, %s %u, item %u\n", name, ht_error_text(create.refusal.code),
		       ht_error_place(create.refusal.where), create.refusal.index,
		       create.refusal.item);
	return ret;
}

static int name_ioctl(int fd, unsigned long request, const char *name)
{
	struct hytest_rig_name argument = { .name = "" };

	copy_name(argument.name, name);
	return loop_ioctl(fd, request, &argument);
}

int rig_remove(int fd, const char *name)
{
	return name_ioctl(fd, HYTEST_RIG_IOC_REMOVE, name);
}

int rig_reset(int fd, const char *name)
{
	return name_ioctl(fd, HYTEST_RIG_IOC_RESET, name);
}

int file_write(const char *path, const char *text)
{
	const size_t size = strlen(text);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;
	ssize_t written;

	if (fd < 0)
		return errno;
	written = write(fd, text, size);
	if (written < 0)
		ret = errno;
	else if ((size_t)written != size)
		ret = EIO;
	close(fd);
	return ret;
}

int file_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;
	int ret;

	text[0] = '\0';
	if (fd < 0)
		return errno;
	got = read(fd, text, size - 1);
	ret = got < 0 ? errno : 0;
	close(fd);
	if (ret)
		return ret;
	if (got && text[got - 1] == '\n')
		got--;
	text[got] = '\0';
	return 0;
}

int rig_fault(const char *name, const char *lines)
{
	char path[PATH_LEN];

	snprintf(path, sizeof(path), FAULTS "/%s/fault", name);
	return file_write(path, lines);
}

int rig_show_faults(const char *name, char *text, size_t size)
{
	char path[PATH_LEN];

	snprintf(path, sizeof(path), FAULTS "/%s/fault", name);
	return file_read(path, text, size);
}

int rig_device_name(unsigned int device, char *name, size_t size)
{
	char link[PATH_LEN], target[PATH_LEN], *end;
	ssize_t got;

	snprintf(link, sizeof(link), DEVICES "/iio:device%u", device);
	got = readlink(link, target, sizeof(target) - 1);
	if (got < 0)
		return errno;
	target[got] = '\0';
	end = strrchr(target, '/');
	if (end)
		*end = '\0';
	end = strrchr(target, '/');
	snprintf(name, size, "%s", end ? end + 1 : target);
	return 0;
}

int iio_write(unsigned int device, const char *attribute, const char *text)
{
	char path[PATH_LEN];

	snprintf(path, sizeof(path), DEVICES "/iio:device%u/%s", device, attribute);
	return file_write(path, text);
}

int iio_write_int(unsigned int device, const char *attribute, long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", value);
	return iio_write(device, attribute, text);
}

int iio_read(unsigned int device, const char *attribute, char *text, size_t size)
{
	char path[PATH_LEN];

	snprintf(path, sizeof(path), DEVICES "/iio:device%u/%s", device, attribute);
	return file_read(path, text, size);
}

int iio_read_int(unsigned int device, const char *attribute, long *value)
{
	char text[64], *end;
	int ret = iio_read(device, attribute, text, sizeof(text));

	if (ret)
		return ret;
	*value = strtol(text, &end, 10);
	return end == text || *end ? EINVAL : 0;
}

unsigned int iio_count_devices(void)
{
	DIR *directory = opendir(DEVICES);
	struct dirent *entry;
	unsigned int n = 0;

	if (!directory)
		return 0;
	while ((entry = readdir(directory)))
		n += !strncmp(entry->d_name, "iio:device", strlen("iio:device"));
	closedir(directory);
	return n;
}

static int sysfs_trigger(const char *attribute, unsigned int number)
{
	char path[PATH_LEN], text[16];

	snprintf(path, sizeof(path), DEVICES "/iio_sysfs_trigger/%s", attribute);
	snprintf(text, sizeof(text), "%u", number);
	return file_write(path, text);
}

int iio_make_trigger(unsigned int number, char *name, size_t size)
{
	int ret = ENODEV;

	if (!system("modprobe -q iio-trig-sysfs"))
		ret = sysfs_trigger("add_trigger", number);
	snprintf(name, size, "sysfstrig%u", number);
	return ret;
}

int iio_remove_trigger(unsigned int number)
{
	return sysfs_trigger("remove_trigger", number);
}

int iio_fire(const char *trigger_name)
{
	char path[PATH_LEN], name[64];
	DIR *directory = opendir(DEVICES);
	struct dirent *entry;
	int ret = ENOENT;

	if (!directory)
		return errno;
	while (ret == ENOENT && (entry = readdir(directory))) {
		if (strncmp(entry->d_name, "trigger", strlen("trigger")))
			continue;
		snprintf(path, sizeof(path), DEVICES "/%.64s/name", entry->d_name);
		if (file_read(path, name, sizeof(name)) || strcmp(name, trigger_name))
			continue;
		snprintf(path, sizeof(path), DEVICES "/%.64s/trigger_now", entry->d_name);
		ret = file_write(path, "1");
	}
	closedir(directory);
	return ret;
}
