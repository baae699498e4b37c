/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the shipped experiments are: in the tree that the test was built in.
 */
#ifndef SELFTESTS_SHIPPED_H
#define SELFTESTS_SHIPPED_H

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static inline int shipped_path(const char *name, char *path, size_t size)
{
	char exe[PATH_MAX], *at = exe;
	ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (length < 0)
		return -1;
	exe[length] = '\0';
	while (strcmp(at = dirname(at), "/")) {
		snprintf(path, size, "%s/user/experiments/%s", at, name);
		if (!access(path, R_OK))
			return 0;
	}
	snprintf(path, size, "user/experiments/%s", name);
	return access(path, R_OK);
}

#endif
