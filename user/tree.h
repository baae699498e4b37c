/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Channels that the device tree has names for: dts/hytest,loop.yaml.
 */
#ifndef HYTEST_TREE_H
#define HYTEST_TREE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Which IIO device (id[size]: "iio:device0") has the channel that the node of a
 * loop calls so. False if the machine has no such node, name or device. sysfs is
 * "/sys".
 */
bool hytest_tree_find(const char *sysfs, unsigned int loop, const char *name, char *id,
		      size_t size);

#endif
