// SPDX-License-Identifier: GPL-2.0
/*
 * Names of the device tree, looked up in a small sysfs made of files, with nodes
 * for loops 0 and 1. What the module really writes there: selftests/board.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kselftest_harness.h"

#include "../../user/tree.h"

FIXTURE(tree) {
	char root[64];
	char id[32];
};

/* Makes the directories on the way, too. */
static void write_file(const char *root, const char *name, const char *text)
{
	char path[PATH_MAX];
	char *slash;
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (slash = strchr(path + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	file = fopen(path, "w");
	if (!file)
		abort();
	fputs(text, file);
	fclose(file);
}

FIXTURE_SETUP(tree)
{
	strcpy(self->root, "/tmp/tree.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->root));
	write_file(self->root, "/class/misc/hytest0/channels",
		   "iio:device0 force\niio:device12 position\niio:device0 left angle\n");
	write_file(self->root, "/class/misc/hytest1/channels", "iio:device2 force\niio:device2 cu");
	write_file(self->root, "/class/misc/hytest2/channels", "");
}

FIXTURE_TEARDOWN(tree)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -r %s", self->root);
	EXPECT_EQ(0, system(command));
}

TEST_F(tree, finds_the_converter_of_a_name)
{
	ASSERT_TRUE(hytest_tree_find(self->root, 0, "force", self->id, sizeof(self->id)));
	EXPECT_STREQ("iio:device0", self->id);
	ASSERT_TRUE(hytest_tree_find(self->root, 0, "position", self->id, sizeof(self->id)));
	EXPECT_STREQ("iio:device12", self->id);
	ASSERT_TRUE(hytest_tree_find(self->root, 0, "left angle", self->id, sizeof(self->id)));
	EXPECT_STREQ("iio:device0", self->id);
}

TEST_F(tree, each_loop_has_its_node)
{
	ASSERT_TRUE(hytest_tree_find(self->root, 1, "force", self->id, sizeof(self->id)));
	EXPECT_STREQ("iio:device2", self->id);
	EXPECT_FALSE(hytest_tree_find(self->root, 1, "position", self->id, sizeof(self->id)));
	EXPECT_FALSE(hytest_tree_find(self->root, 2, "force", self->id, sizeof(self->id)));
	EXPECT_FALSE(hytest_tree_find(self->root, 3, "force", self->id, sizeof(self->id)));
}

TEST_F(tree, what_is_not_there_is_not_found)
{
	EXPECT_FALSE(hytest_tree_find(self->root, 0, "forc", self->id, sizeof(self->id)));
	EXPECT_FALSE(hytest_tree_find(self->root, 0, "forces", self->id, sizeof(self->id)));
	EXPECT_FALSE(hytest_tree_find(self->root, 0, "angle", self->id, sizeof(self->id)));
	EXPECT_FALSE(hytest_tree_find(self->root, 0, "", self->id, sizeof(self->id)));
	/* The page was full in the middle of a line. */
	EXPECT_FALSE(hytest_tree_find(self->root, 1, "cu", self->id, sizeof(self->id)));
	EXPECT_FALSE(hytest_tree_find("/nowhere", 0, "force", self->id, sizeof(self->id)));
}

TEST_HARNESS_MAIN
