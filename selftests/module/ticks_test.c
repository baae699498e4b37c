// SPDX-License-Identifier: GPL-2.0
/*
 * No tick lost: a long run at 5 kHz whose every record is read and lies on the
 * grid, on an idle machine and on one that is busy with system calls, softirqs
 * and kernel crypto.
 *
 * HYTEST_TICKS sets the number of ticks, HYTEST_LOAD the load in percent of a
 * processor. In the virtual machine without icount, time is that of a machine
 * that may be busy with other things, so there HYTEST_TIMING=0 lets ticks be
 * missed, but each must be accounted for.
 */
#include <stdlib.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "load.h"
#include "loop.h"

#define PERIOD_NS	200000

static uint64_t setting(const char *name, uint64_t preset)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : preset;
}

/* Sources, a filter and a structure: what a small experiment has. */
static struct draft *small_experiment(void)
{
	struct draft *draft = draft_new(PERIOD_NS);
	ht_u32 signal[16], block;
	char name[16];
	int i;

	for (i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "signal%d", i);
		signal[i] = draft_signal(draft, name, 0);
		draft_record(draft, signal[i]);
	}
	block = draft_block(draft, "fourier", 3, 0, NULL, 3, signal);
	draft_set(draft, block, "omega", 0, 10);
	for (i = 0; i < 3; i++)
		draft_set(draft, block, "cos", i, 1 + i);
	block = draft_block(draft, "matrix", 0, 3, signal, 8, signal + 3);
	for (i = 0; i < 24; i++)
		draft_set(draft, block, "A", i, 0.1 * i - 1);
	block = draft_block(draft, "noise", 0, 0, NULL, 1, signal + 11);
	draft_output(draft, signal[3], 0, 100);
	draft_output(draft, signal[4], 0, 100);
	draft->header.missed_ticks = 0;
	draft->header.deadline_ticks = HT_MAX_LATE_TICKS;
	return draft;
}

FIXTURE(ticks) {
	struct draft *draft;
	int fd;
	struct view view;
	uint64_t wanted;
	uint64_t missed;
	bool timing;
};

FIXTURE_SETUP(ticks)
{
	self->wanted = setting("HYTEST_TICKS", 300000);
	self->timing = setting("HYTEST_TIMING", 1);
	self->missed = 0;
	self->draft = small_experiment();
	self->fd = loop_open_control(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(ticks)
{
	draft_free(self->draft);
	close(self->fd);
}

/* Reads all records up to the head; true if every one is as it must be. */
static bool read_records(struct _test_data_ticks *self, struct hytest_record *record,
			 const struct hytest_status *status, uint64_t *next)
{
	for (; *next < status->head; ++*next) {
		if (!view_record(&self->view, *next, record)) {
			printf("# record %llu is lost\n", (unsigned long long)*next);
			return false;
		}
		self->missed += record->missed;
		if (record->tick != *next + self->missed ||
		    record->time_ns != status->start_ns + record->tick * PERIOD_NS) {
			printf("# record %llu: tick %llu off the grid by %lld ns\n",
			       (unsigned long long)*next, (unsigned long long)record->tick,
			       (long long)(record->time_ns - status->start_ns -
					   record->tick * PERIOD_NS));
			return false;
		}
	}
	return true;
}

static void run(struct __test_metadata *_metadata, struct _test_data_ticks *self)
{
	struct hytest_record *record;
	struct hytest_status status;
	uint64_t next = 0;

	ASSERT_EQ(0, loop_load(self->fd, self->draft));
	ASSERT_EQ(0, view_open(&self->view, self->fd));
	record = view_room(&self->view);
	ASSERT_EQ(0, loop_arm(self->fd, 0));
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_START, NULL));
	do {
		sleep_ms(50);
		status = view_status(&self->view);
		ASSERT_EQ(HYTEST_RUNNING, status.state);
		ASSERT_TRUE(read_records(self, record, &status, &next));
	} while (status.head < self->wanted);
	ASSERT_EQ(0, loop_ioctl(self->fd, HYTEST_IOC_STOP, NULL));
	ASSERT_TRUE(view_wait_state(&self->view, HYTEST_LOADED));
	status = view_status(&self->view);
	ASSERT_TRUE(read_records(self, record, &status, &next));
	printf("# %llu ticks, %llu missed, %llu overruns, lateness mean %llu max %llu ns, "
	       "step mean %llu max %llu ns\n", (unsigned long long)status.tick,
	       (unsigned long long)status.missed, (unsigned long long)status.overruns,
	       (unsigned long long)(status.lateness.sum / status.lateness.count),
	       (unsigned long long)status.lateness.max,
	       (unsigned long long)(status.step.sum / status.step.count),
	       (unsigned long long)status.step.max);
	EXPECT_EQ(next, status.head);
	EXPECT_EQ(self->missed, status.missed);
	EXPECT_EQ(status.head + status.missed, status.tick);
	EXPECT_EQ(status.head, status.lateness.count);
	EXPECT_EQ(status.head, status.step.count);
	if (self->timing) {
		EXPECT_EQ(0, status.missed);
		EXPECT_EQ(0, status.overruns);
	}
	free(record);
	view_close(&self->view);
}

TEST_F_TIMEOUT(ticks, idle, 3600)
{
	run(_metadata, self);
}

TEST_F_TIMEOUT(ticks, busy, 3600)
{
	struct load load;
	int i;

	ASSERT_TRUE(load_start(&load, setting("HYTEST_LOAD", 15)));
	run(_metadata, self);
	load_stop(&load);
	for (i = 0; i < LOAD_KINDS; i++) {
		printf("# load %d: %llu rounds, %llu wrong results\n", i,
		       (unsigned long long)load.count[i].rounds,
		       (unsigned long long)load.count[i].wrong);
		EXPECT_LT(0, load.count[i].rounds);
		EXPECT_EQ(0, load.count[i].wrong);
	}
	load_free(&load);
}

TEST_HARNESS_MAIN
