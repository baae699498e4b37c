/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Simulated rigs and their IIO devices for tests: /dev/hytest_rig, sysfs and
 * debugfs without libiio. What returns int gives 0 or the errno.
 */
#ifndef SELFTESTS_RIG_H
#define SELFTESTS_RIG_H

#include <linux/hytest_rig.h>
#include <stddef.h>

#include "program.h"

#define RIG_DRIVER	"/sys/bus/platform/drivers/hytest_rig"

int rig_open(int flags);
int rig_create_bytes(int fd, const char *name, const void *image, size_t size,
		     struct hytest_rig_create *create);
/* device: N of iio:deviceN */
int rig_create(int fd, const char *name, const struct draft *draft, unsigned int *device);
int rig_remove(int fd, const char *name);
int rig_reset(int fd, const char *name);
/* Lines for the fault file of a rig; what it says. */
int rig_fault(const char *name, const char *lines);
int rig_show_faults(const char *name, char *text, size_t size);
/* Where it hangs on the platform bus: hytest_rig.N */
int rig_device_name(unsigned int device, char *name, size_t size);

int file_write(const char *path, const char *text);
/* Without the newline at its end. */
int file_read(const char *path, char *text, size_t size);

/* An attribute of iio:deviceN. */
int iio_write(unsigned int device, const char *attribute, const char *text);
int iio_write_int(unsigned int device, const char *attribute, long value);
int iio_read(unsigned int device, const char *attribute, char *text, size_t size);
int iio_read_int(unsigned int device, const char *attribute, long *value);
unsigned int iio_count_devices(void);

/* A trigger that fires when it is told so; ENODEV where the kernel has none. */
int iio_make_trigger(unsigned int number, char *name, size_t size);
int iio_remove_trigger(unsigned int number);
int iio_fire(const char *trigger_name);

#endif
