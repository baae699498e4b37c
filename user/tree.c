// SPDX-License-Identifier: GPL-2.0
/*
 * Channels that the device tree has names for.
 *
 * The module looks them up and shows them in sysfs, so this works however the
 * machine is described: one name a line, "iio:device0 force".
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

/* Splits "ID NAME\n" at the first space, where a whole line is there. */
static const char *split(char *line)
{
	char *end = strchr(line, '\n'), *space = strchr(line, ' ');

	if (!end || !space)
		return NULL;
	*end = '\0';
	*space = '\0';
	return space + 1;
}

bool hytest_tree_find(const char *sysfs, unsigned int loop, const char *name, char *id,
		      size_t size)
{
	char path[PATH_MAX], *line = NULL;
	const char *found;
	size_t room = 0;
	bool is_it = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/class/misc/hytest%u/channels", sysfs, loop);
	file = fopen(path, "r");
	if (!file)
		return false;
	while (!is_it && getline(&line, &room, file) > 0) {
		found = split(line);
		is_it = found && !strcmp(found, name);
	}
	if (is_it)
		snprintf(id, size, "%s", line);
	free(line);
	fclose(file);
	return is_it;
}
