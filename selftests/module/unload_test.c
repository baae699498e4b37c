// SPDX-License-Identifier: GPL-2.0
/*
 * The module goes and comes back: never while somebody uses it, and not before
 * the outputs of an abandoned loop are safe.
 *
 * HYTEST_MODULE names the file to load again, else /modules/hytest.ko.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "loop.h"

#define LEVEL	3.0
#define RAMP	6.0	/* per second: half a second */

static int remove_module(void)
{
	return syscall(SYS_delete_module, "hytest", O_NONBLOCK) ? errno : 0;
}

static int insert_module(void)
{
	const char *path = getenv("HYTEST_MODULE");
	int fd = open(path ? path : "/modules/hytest.ko", O_RDONLY);
	int ret = syscall(SYS_finit_module, fd, "", 0) ? errno : 0;

	close(fd);
	return ret;
}

/* Trips and holds when the level, parameter 0, exceeds LEVEL. */
static struct draft *ramping_program(void)
{
	struct draft *draft = draft_new(1000000);
	ht_u32 level;

	draft_constant(draft, "level", LEVEL, &level);
	draft_output(draft, level, 0, RAMP);
	draft_lock(draft, HT_LOCK_RANGE, HT_ACTION_HOLD, level, -1, LEVEL);
	draft->header.missed_ticks = 0;
	draft->header.deadline_ticks = HT_MAX_LATE_TICKS;
	return draft;
}

FIXTURE(unload) {
	struct draft *draft;
	struct view view;
	int fd;
};

FIXTURE_SETUP(unload)
{
	self->draft = ramping_program();
	self->fd = loop_open_control(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(unload)
{
	draft_free(self->draft);
	close(self->fd);
}

static void run(struct __test_metadata *_metadata, struct _test_data_unload *self)
{
	ASSERT_EQ(0, loop_run(self->fd, self->draft));
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	ASSERT_TRUE(view_wait_tick(&self->view, 20));
	ASSERT_EQ(HYTEST_RUNNING, view_status(&self->view).state);
}

TEST_F(unload, refused_while_open)
{
	EXPECT_EQ(EWOULDBLOCK, remove_module());
	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	EXPECT_EQ(EWOULDBLOCK, remove_module());
}

/* A mapping keeps the file, and so the loop that it shows. */
TEST_F(unload, refused_while_mapped)
{
	run(_metadata, self);
	close(self->fd);
	sleep_ms(100);
	EXPECT_EQ(EWOULDBLOCK, remove_module());
	/* Closed but mapped: the owner is there as long as his mapping. */
	EXPECT_LT(0, view_status(&self->view).tick);
	view_close(&self->view);
	self->fd = loop_open_control(0);
	ASSERT_LE(0, self->fd);
}

TEST_F(unload, waits_for_the_ramp)
{
	uint64_t begin;

	run(_metadata, self);
	view_close(&self->view);
	close(self->fd);
	begin = now_ns();
	ASSERT_EQ(0, remove_module());
	EXPECT_LE(450000000, now_ns() - begin);
	EXPECT_GE(5000000000, now_ns() - begin);
	EXPECT_EQ(-1, access("/dev/hytest0", F_OK));
	ASSERT_EQ(0, insert_module());
	self->fd = loop_open_control(0);
	ASSERT_LE(0, self->fd);
}

/* Outputs that were held have nobody left to hold them for. */
TEST_F(unload, releases_what_is_held)
{
	uint64_t begin;

	run(_metadata, self);
	ASSERT_EQ(0, loop_change(self->fd, 0, LEVEL + 1, 0, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_TRIPPED));
	sleep_ms(100);
	EXPECT_EQ(0, view_status(&self->view).safe);
	view_close(&self->view);
	close(self->fd);
	begin = now_ns();
	ASSERT_EQ(0, remove_module());
	EXPECT_LE(450000000, now_ns() - begin);
	EXPECT_GE(5000000000, now_ns() - begin);
	ASSERT_EQ(0, insert_module());
	self->fd = loop_open_control(0);
	ASSERT_LE(0, self->fd);
}

TEST_F(unload, again_and_again)
{
	int i;

	close(self->fd);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, remove_module());
		ASSERT_EQ(0, insert_module());
		self->fd = loop_open_control(i % 2);
		ASSERT_LE(0, self->fd);
		ASSERT_EQ(0, loop_load(self->fd, self->draft));
		close(self->fd);
	}
	self->fd = loop_open_control(0);
}

TEST_HARNESS_MAIN
