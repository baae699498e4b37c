// SPDX-License-Identifier: GPL-2.0
/*
 * Black boxes of simulated loops: what is in them, what they do not claim, and
 * where they cannot be saved. That no trip is saved twice is for selftests/cli:
 * it needs a loop that outlives its supervisor.
 */
#include <dirent.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "../../user/blackbox.h"
#include "../../user/replay.h"
#include "rehearse.h"

#define RING	512	/* records of the rehearsal */

FIXTURE(box) {
	struct hytest_black_box saved;
	struct hytest_log_reader *log;
	struct rehearsal r;
	char directory[64];
};

FIXTURE_SETUP(box)
{
	strcpy(self->directory, "/tmp/blackbox.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->directory));
	ASSERT_EQ(0, rehearse_open(&self->r, NULL, 0));
	self->log = NULL;
}

static void remove_directory(const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	char path[PATH_MAX];

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		unlink(path);
	}
	if (dir)
		closedir(dir);
	rmdir(directory);
}

FIXTURE_TEARDOWN(box)
{
	if (self->log)
		hytest_log_reader_free(self->log);
	rehearse_close(&self->r);
	remove_directory(self->directory);
}

static int count_files(const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir)))
		n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	if (dir)
		closedir(dir);
	return n;
}

/* Runs so far, trips, and goes on until the loop stands. */
static int trip_at(struct rehearsal *r, uint64_t tick)
{
	if (rehearse_start(r, NULL) || rehearse_until(r, tick) || hytest_trip(r->loop) ||
	    rehearse_until(r, tick + 10000))
		return -1;
	return r->status.state == HYTEST_TRIPPED && r->status.safe ? 0 : -1;
}

/* One member of the only row of a table. */
static int read_member(const char *path, const char *table, const char *member, hid_t type,
		       void *value)
{
	hid_t row = H5Tcreate(H5T_COMPOUND, H5Tget_size(type));
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	hid_t dataset = H5Dopen2(file, table, H5P_DEFAULT);
	herr_t result;

	H5Tinsert(row, member, 0, type);
	result = H5Dread(dataset, row, H5S_ALL, H5S_ALL, H5P_DEFAULT, value);
	H5Dclose(dataset);
	H5Fclose(file);
	H5Tclose(row);
	return result < 0 ? -1 : 0;
}

static hssize_t count_rows(const char *path, const char *table)
{
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	hid_t dataset = H5Dopen2(file, table, H5P_DEFAULT);
	hid_t space = H5Dget_space(dataset);
	hssize_t n = H5Sget_simple_extent_npoints(space);

	H5Sclose(space);
	H5Dclose(dataset);
	H5Fclose(file);
	return n;
}

TEST_F(box, a_short_run_is_saved_whole_and_can_be_replayed)
{
	const struct hytest_log_change *changes;
	struct hytest_replay replay;

	ASSERT_EQ(0, rehearse_start(&self->r, NULL));
	ASSERT_EQ(0, rehearse_until(&self->r, 50));
	ASSERT_EQ(0, rehearse_change(&self->r, "push.mean", 0.25, 60));
	ASSERT_EQ(0, rehearse_until(&self->r, 100));
	ASSERT_EQ(0, hytest_trip(self->r.loop));
	ASSERT_EQ(0, rehearse_until(&self->r, 10000));
	ASSERT_EQ(HYTEST_BLACK_BOX_SAVED,
		  hytest_black_box_save(self->r.loop, self->directory, &self->saved));
	EXPECT_EQ(1, count_files(self->directory));

	self->log = hytest_log_open(self->saved.path, &self->r.message);
	ASSERT_NE(NULL, self->log);
	EXPECT_TRUE(hytest_log_complete(self->log));
	EXPECT_EQ(0, hytest_log_lost(self->log));
	EXPECT_EQ(self->r.n_records, hytest_log_n_records(self->log));
	ASSERT_EQ(1, hytest_log_changes(self->log, &changes));
	EXPECT_EQ(60, changes[0].tick);
	EXPECT_EQ(0.25, changes[0].value);

	ASSERT_EQ(0, hytest_replay_log(self->saved.path, &replay, &self->r.message));
	EXPECT_FALSE(replay.differs);
	EXPECT_EQ(self->r.n_records, replay.ticks);
}

TEST_F(box, the_trip_is_told)
{
	uint32_t cause = 0, safe = 0, healthy[2] = { 0 };
	uint64_t tick = 0, time_ns = 0;

	ASSERT_EQ(0, trip_at(&self->r, 100));
	ASSERT_EQ(HYTEST_BLACK_BOX_SAVED,
		  hytest_black_box_save(self->r.loop, self->directory, &self->saved));
	ASSERT_EQ(0, read_member(self->saved.path, "/trip", "cause", H5T_NATIVE_UINT32, &cause));
	ASSERT_EQ(0, read_member(self->saved.path, "/trip", "tick", H5T_NATIVE_UINT64, &tick));
	ASSERT_EQ(0, read_member(self->saved.path, "/trip", "time_ns", H5T_NATIVE_UINT64,
				 &time_ns));
	ASSERT_EQ(0, read_member(self->saved.path, "/status", "safe", H5T_NATIVE_UINT32, &safe));
	EXPECT_EQ(HT_CAUSE_OPERATOR, cause);
	EXPECT_EQ(self->r.status.trip.tick, tick);
	EXPECT_EQ(100, tick);
	EXPECT_EQ(self->r.status.trip.time_ns, time_ns);
	EXPECT_EQ(1, safe);
	ASSERT_EQ(2, count_rows(self->saved.path, "/interlocks"));
	ASSERT_EQ(0, read_member(self->saved.path, "/interlocks", "healthy", H5T_NATIVE_UINT32,
				 healthy));
	EXPECT_EQ(1, healthy[0]);
	EXPECT_EQ(1, healthy[1]);
	EXPECT_EQ(((const struct ht_image_header *)self->r.image)->n_params,
		  count_rows(self->saved.path, "/parameters_in_force"));
}

/* Although the run has read its events already. */
TEST_F(box, the_timeline_is_complete)
{
	uint32_t types[64] = { 0 };
	hssize_t n;

	ASSERT_EQ(0, trip_at(&self->r, 100));
	ASSERT_EQ(HYTEST_BLACK_BOX_SAVED,
		  hytest_black_box_save(self->r.loop, self->directory, &self->saved));
	n = count_rows(self->saved.path, "/events");
	ASSERT_EQ(6, n);
	ASSERT_EQ(0, read_member(self->saved.path, "/events", "type", H5T_NATIVE_UINT32, types));
	EXPECT_EQ(HYTEST_EVENT_CONTROL_TAKEN, types[0]);
	EXPECT_EQ(HYTEST_EVENT_LOADED, types[1]);
	EXPECT_EQ(HYTEST_EVENT_ARMED, types[2]);
	EXPECT_EQ(HYTEST_EVENT_STARTED, types[3]);
	EXPECT_EQ(HYTEST_EVENT_TRIPPED, types[4]);
	EXPECT_EQ(HYTEST_EVENT_SAFE, types[5]);
}

TEST_F(box, a_long_run_has_the_last_of_its_records)
{
	struct hytest_replay replay;
	struct hytest_record *record;

	ASSERT_EQ(0, trip_at(&self->r, 2000));
	ASSERT_EQ(HYTEST_BLACK_BOX_SAVED,
		  hytest_black_box_save(self->r.loop, self->directory, &self->saved));
	self->log = hytest_log_open(self->saved.path, &self->r.message);
	ASSERT_NE(NULL, self->log);
	ASSERT_EQ(RING, hytest_log_n_records(self->log));
	EXPECT_EQ(self->r.n_records - RING, hytest_log_lost(self->log));
	record = malloc(hytest_log_record_size(self->log));
	ASSERT_EQ(0, hytest_log_read(self->log, RING - 1, 1, record, &self->r.message));
	EXPECT_EQ(self->r.status.tick - 1, record->tick);
	EXPECT_EQ(HT_CAUSE_OPERATOR, record->cause);
	free(record);
	/* It does not begin at the beginning. */
	EXPECT_EQ(-1, hytest_replay_log(self->saved.path, &replay, &self->r.message));
}

/* The ring still has a run that ended well: it is none of this trip. */
TEST_F(box, a_trip_while_armed_has_no_records)
{
	ASSERT_EQ(0, rehearse_start(&self->r, NULL));
	ASSERT_EQ(0, rehearse_until(&self->r, 100));
	ASSERT_EQ(0, rehearse_stop(&self->r));
	ASSERT_EQ(0, hytest_arm(self->r.loop, 0, 10, NULL));
	ASSERT_EQ(0, hytest_trip(self->r.loop));
	ASSERT_LE(0, hytest_wait(self->r.loop, 10 * PERIOD_NS));
	ASSERT_EQ(HYTEST_BLACK_BOX_SAVED,
		  hytest_black_box_save(self->r.loop, self->directory, &self->saved));
	self->log = hytest_log_open(self->saved.path, &self->r.message);
	ASSERT_NE(NULL, self->log);
	EXPECT_EQ(0, hytest_log_n_records(self->log));
}

TEST_F(box, nothing_is_saved_of_a_loop_that_runs)
{
	ASSERT_EQ(0, rehearse_start(&self->r, NULL));
	EXPECT_EQ(HYTEST_BLACK_BOX_FAILED,
		  hytest_black_box_save(self->r.loop, self->directory, &self->saved));
	EXPECT_STREQ("no black box: the loop is running, not tripped", self->saved.message.text);
	EXPECT_EQ(0, count_files(self->directory));
}

TEST_F(box, directories_are_made)
{
	char inner[128], outer[96];

	snprintf(outer, sizeof(outer), "%s/a", self->directory);
	snprintf(inner, sizeof(inner), "%s/b", outer);
	ASSERT_EQ(0, trip_at(&self->r, 10));
	ASSERT_EQ(0, setenv("HYTEST_BLACK_BOX", inner, 1));
	EXPECT_EQ(HYTEST_BLACK_BOX_SAVED,
		  hytest_black_box_save(self->r.loop, NULL, &self->saved));
	EXPECT_EQ(0, strncmp(self->saved.path, inner, strlen(inner)));
	/* Another rehearsal, or the same once more, takes nothing away. */
	EXPECT_EQ(HYTEST_BLACK_BOX_SAVED,
		  hytest_black_box_save(self->r.loop, NULL, &self->saved));
	EXPECT_EQ(2, count_files(inner));
	remove_directory(inner);
	remove_directory(outer);
}

TEST_F(box, a_directory_that_cannot_be_is_named)
{
	char file[96], directory[128];

	snprintf(file, sizeof(file), "%s/file", self->directory);
	snprintf(directory, sizeof(directory), "%s/boxes", file);
	fclose(fopen(file, "w"));
	ASSERT_EQ(0, trip_at(&self->r, 10));
	EXPECT_EQ(HYTEST_BLACK_BOX_FAILED,
		  hytest_black_box_save(self->r.loop, directory, &self->saved));
	EXPECT_NE(NULL, strstr(self->saved.message.text, directory));
	EXPECT_NE(NULL, strstr(self->saved.message.text, "--black-box"));
}

/* Outputs that are held never become safe: the loop ticks on, and is saved. */
TEST_F(box, held_outputs_do_not_keep_it_from_being_saved)
{
	ASSERT_EQ(0, rehearse_start(&self->r, NULL));
	ASSERT_EQ(0, rehearse_until(&self->r, 50));
	ASSERT_EQ(0, rehearse_change(&self->r, "push.mean", 60.0, 0));
	ASSERT_EQ(0, rehearse_until(&self->r, 400));
	ASSERT_EQ(HYTEST_TRIPPED, self->r.status.state);
	EXPECT_TRUE(hytest_is_held(self->r.image, &self->r.status));
	EXPECT_EQ(HYTEST_BLACK_BOX_SAVED,
		  hytest_black_box_save(self->r.loop, self->directory, &self->saved));
	self->log = hytest_log_open(self->saved.path, &self->r.message);
	ASSERT_NE(NULL, self->log);
	EXPECT_EQ(self->r.n_records, hytest_log_n_records(self->log));
}

TEST_HARNESS_MAIN
