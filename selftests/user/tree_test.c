// SPDX-License-Identifier: GPL-2.0
/*
 * Names of the device tree, looked up in a small sysfs made of files: two
 * converters with different numbers of cells, and nodes for loops 0 and 1.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "../../user/tree.h"

#define NODES	"/bus/platform/drivers/hytest"
#define IIO	"/bus/iio/devices"

FIXTURE(tree) {
	char root[64];
	char id[32];
};

/* Makes the directories on the way, too. */
static void write_property(const char *root, const char *name, const char *bytes, size_t size)
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
	fwrite(bytes, 1, size, file);
	fclose(file);
}

FIXTURE_SETUP(tree)
{
	/* A converter of one channel needs no cell to say which. */
	static const char channels[] = "\0\0\0\7\0\0\0\2\0\0\1\7\0\0\0\7\0\0\0\3";
	static const char names[] = "force\0position\0angle";

	strcpy(self->root, "/tmp/tree.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->root));
	write_property(self->root, IIO "/iio:device0/of_node/phandle", "\0\0\0\7", 4);
	write_property(self->root, IIO "/iio:device0/of_node/#io-channel-cells", "\0\0\0\1", 4);
	write_property(self->root, IIO "/iio:device1/name", "no node\n", 8);
	write_property(self->root, IIO "/iio:device2/of_node/phandle", "\0\0\1\7", 4);
	write_property(self->root, IIO "/iio:device2/of_node/#io-channel-cells", "\0\0\0\0", 4);
	write_property(self->root, NODES "/first/of_node/io-channels", channels,
		       sizeof(channels) - 1);
	write_property(self->root, NODES "/first/of_node/io-channel-names", names, sizeof(names));
	write_property(self->root, NODES "/second/of_node/hytest,loop", "\0\0\0\1", 4);
	write_property(self->root, NODES "/second/of_node/io-channels", "\0\0\1\7\0\0\0\77", 8);
	write_property(self->root, NODES "/second/of_node/io-channel-names", "force\0gone", 11);
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
	EXPECT_STREQ("iio:device2", self->id);
	ASSERT_TRUE(hytest_tree_find(self->root, 0, "angle", self->id, sizeof(self->id)));
	EXPECT_STREQ("iio:device0", self->id);
}

TEST_F(tree, each_loop_has_its_node)
{
	ASSERT_TRUE(hytest_tree_find(self->root, 1, "force", self->id, sizeof(self->id)));
	EXPECT_STREQ("iio:device2", self->id);
	EXPECT_FALSE(hytest_tree_find(self->root, 1, "angle", self->id, sizeof(self->id)));
	EXPECT_FALSE(hytest_tree_find(self->root, 2, "force", self->id, sizeof(self->id)));
}

TEST_F(tree, what_is_not_there_is_not_found)
{
	EXPECT_FALSE(hytest_tree_find(self->root, 0, "forc", self->id, sizeof(self->id)));
	EXPECT_FALSE(hytest_tree_find(self->root, 0, "forces", self->id, sizeof(self->id)));
	EXPECT_FALSE(hytest_tree_find(self->root, 0, "", self->id, sizeof(self->id)));
	/* Its driver is not loaded. */
	EXPECT_FALSE(hytest_tree_find(self->root, 1, "gone", self->id, sizeof(self->id)));
	EXPECT_FALSE(hytest_tree_find("/nowhere", 0, "force", self->id, sizeof(self->id)));
}

TEST_HARNESS_MAIN
