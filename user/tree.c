// SPDX-License-Identifier: GPL-2.0
/*
 * Channels that the device tree has names for.
 *
 * A property is a file in sysfs: numbers are cells of four bytes, big endian, and
 * names end with a zero. An entry of io-channels is the phandle of a converter and
 * as many cells as that one's #io-channel-cells says.
 */
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tree.h"

#define MAX_BYTES	4096	/* of a property */

struct property {
	unsigned char bytes[MAX_BYTES];
	size_t size;
};

/* Empty if there is none. */
__attribute__((format(printf, 2, 3)))
static void read_property(struct property *property, const char *format, ...)
{
	char path[PATH_MAX];
	va_list list;
	FILE *file;

	property->size = 0;
	va_start(list, format);
	vsnprintf(path, sizeof(path), format, list);
	va_end(list);
	file = fopen(path, "r");
	if (!file)
		return;
	property->size = fread(property->bytes, 1, sizeof(property->bytes), file);
	fclose(file);
}

static uint32_t cell(const struct property *property, size_t index, uint32_t preset)
{
	const unsigned char *b = property->bytes + 4 * index;

	if (4 * index + 4 > property->size)
		return preset;
	return (uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

/* Which of the names it is; -1: none. */
static int find_name(const struct property *names, const char *name)
{
	const size_t length = strlen(name) + 1;
	size_t at = 0;
	int index;

	for (index = 0; at < names->size; index++) {
		if (at + length <= names->size && !memcmp(names->bytes + at, name, length))
			return index;
		while (at < names->size && names->bytes[at])
			at++;
		at++;
	}
	return -1;
}

/* The IIO device of a node, and how many cells say which channel of it. */
static bool find_converter(const char *sysfs, uint32_t phandle, char *id, size_t size,
			   uint32_t *cells)
{
	struct property property;
	char pattern[PATH_MAX];
	bool found = false;
	glob_t devices;
	size_t i;

	snprintf(pattern, sizeof(pattern), "%s/bus/iio/devices/iio:device*", sysfs);
	if (glob(pattern, 0, NULL, &devices))
		return false;
	for (i = 0; !found && i < devices.gl_pathc; i++) {
		read_property(&property, "%s/of_node/phandle", devices.gl_pathv[i]);
		if (!phandle || cell(&property, 0, 0) != phandle)
			continue;
		found = true;
		snprintf(id, size, "%s", strrchr(devices.gl_pathv[i], '/') + 1);
		read_property(&property, "%s/of_node/#io-channel-cells", devices.gl_pathv[i]);
		*cells = cell(&property, 0, 0);
	}
	globfree(&devices);
	return found;
}

/* Entries differ in length: go through them from the first on. */
static bool find_in_node(const char *sysfs, const char *node, const char *name, char *id,
			 size_t size)
{
	struct property names, channels;
	uint32_t cells;
	size_t at = 0;
	int left;

	read_property(&names, "%s/of_node/io-channel-names", node);
	read_property(&channels, "%s/of_node/io-channels", node);
	for (left = find_name(&names, name); left >= 0; left--) {
		if (!find_converter(sysfs, cell(&channels, at, 0), id, size, &cells))
			return false;
		if (!left)
			return true;
		at += 1 + cells;
	}
	return false;
}

bool hytest_tree_find(const char *sysfs, unsigned int loop, const char *name, char *id,
		      size_t size)
{
	struct property number;
	char pattern[PATH_MAX];
	bool found = false;
	glob_t nodes;
	size_t i;

	snprintf(pattern, sizeof(pattern), "%s/bus/platform/drivers/hytest/*/of_node", sysfs);
	if (glob(pattern, 0, NULL, &nodes))
		return false;
	for (i = 0; !found && i < nodes.gl_pathc; i++) {
		*strrchr(nodes.gl_pathv[i], '/') = '\0';
		read_property(&number, "%s/of_node/hytest,loop", nodes.gl_pathv[i]);
		found = cell(&number, 0, 0) == loop &&
			find_in_node(sysfs, nodes.gl_pathv[i], name, id, size);
	}
	globfree(&nodes);
	return found;
}
