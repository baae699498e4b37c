// SPDX-License-Identifier: GPL-2.0
/*
 * Logs: what was written comes back bit for bit, a writer that is killed
 * leaves a log that can be read, and what is no log is refused.
 */
#include <errno.h>
#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "rehearse.h"

FIXTURE(log) {
	char path[256];
	struct rehearsal r;
};

FIXTURE_SETUP(log)
{
	rehearse_path(self->path, sizeof(self->path), "log");
	ASSERT_EQ(0, rehearse_open(&self->r, NULL, 0));
}

FIXTURE_TEARDOWN(log)
{
	rehearse_close(&self->r);
	unlink(self->path);
}

/* The value of an attribute that is a number. */
static uint64_t attribute(const char *path, const char *object, const char *name)
{
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	hid_t attribute = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
	uint64_t value = ~0ull;

	H5Aread(attribute, H5T_NATIVE_UINT64, &value);
	H5Aclose(attribute);
	H5Fclose(file);
	return value;
}

static void attribute_text(const char *path, const char *object, const char *name, char *text,
			   size_t size)
{
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	hid_t attribute = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
	hid_t type = H5Tcopy(H5T_C_S1);

	H5Tset_size(type, size);
	H5Tset_cset(type, H5T_CSET_UTF8);
	text[0] = '\0';
	H5Aread(attribute, type, text);
	H5Tclose(type);
	H5Aclose(attribute);
	H5Fclose(file);
}

/* A simulated loop has no scans or writes that come late. */
static void give_ages(unsigned char *records, size_t size, long n)
{
	struct hytest_record *record;

	for (; n > 0; n--, records += size) {
		record = (struct hytest_record *)records;
		record->scan_age = record->tick % 7;
		record->write_age = record->tick % 5;
	}
}

TEST_F(log, records_come_back_bit_for_bit)
{
	const size_t size = hytest_reader_record_size(self->r.reader);
	unsigned char *expected, *got;
	struct hytest_log_reader *reader;
	struct hytest_message message;
	size_t n = 0, image_size;
	long more;

	ASSERT_EQ(0, rehearse_start(&self->r, self->path));
	expected = malloc(3000 * size);
	got = malloc(3000 * size);
	ASSERT_TRUE(expected && got);
	while (n < 2500) {
		struct hytest_event event;

		while (hytest_read_events(self->r.loop, &event, 1) > 0)
			;
		ASSERT_LE(0, hytest_wait(self->r.loop, 100 * PERIOD_NS));
		more = hytest_reader_read(self->r.reader, expected + n * size, 3000 - n);
		ASSERT_LE(0, more);
		give_ages(expected + n * size, size, more);
		ASSERT_EQ(0, hytest_log_records(self->r.log, expected + n * size, more));
		n += more;
	}
	ASSERT_EQ(0, hytest_get_status(self->r.loop, &self->r.status));
	ASSERT_EQ(0, rehearse_end(&self->r));

	reader = hytest_log_open(self->path, &message);
	ASSERT_NE(NULL, reader);
	EXPECT_TRUE(hytest_log_complete(reader));
	EXPECT_EQ(0, hytest_log_lost(reader));
	ASSERT_EQ(n, hytest_log_n_records(reader));
	ASSERT_EQ(size, hytest_log_record_size(reader));
	ASSERT_EQ(0, hytest_log_read(reader, 0, n, got, &message));
	EXPECT_EQ(0, memcmp(expected, got, n * size));
	/* In pieces across chunks, too. */
	ASSERT_EQ(0, hytest_log_read(reader, 395, 10, got, &message));
	EXPECT_EQ(0, memcmp(expected + 395 * size, got, 10 * size));
	EXPECT_EQ(-1, hytest_log_read(reader, n - 1, 2, got, &message));
	EXPECT_EQ(0, memcmp(self->r.image, hytest_log_image(reader, &image_size),
			    self->r.image_size));
	EXPECT_EQ(self->r.image_size, image_size);
	hytest_log_reader_free(reader);
	free(expected);
	free(got);
}

TEST_F(log, batches_have_the_tick_at_which_they_took_effect)
{
	const struct hytest_log_change *changes;
	struct hytest_log_reader *reader;
	struct hytest_message message;
	uint32_t param;

	ASSERT_EQ(0, rehearse_start(&self->r, self->path));
	ASSERT_EQ(0, hytest_log_batch(self->r.log, 0,
				      &(struct hytest_change){ .value = hytest_bits(3.5) }, 1));
	ASSERT_EQ(0, rehearse_until(&self->r, 100));
	ASSERT_EQ(0, rehearse_change(&self->r, "push.omega", 13, 0));
	ASSERT_EQ(0, rehearse_until(&self->r, 150));
	ASSERT_EQ(0, rehearse_change(&self->r, "load.A[1]", 0.1, 333));
	ASSERT_EQ(0, rehearse_until(&self->r, 400));
	ASSERT_EQ(0, rehearse_stop(&self->r));
	ASSERT_EQ(0, rehearse_end(&self->r));

	reader = hytest_log_open(self->path, &message);
	ASSERT_NE(NULL, reader);
	ASSERT_EQ(3, hytest_log_changes(reader, &changes));
	EXPECT_EQ(0, changes[0].batch);
	EXPECT_EQ(0, changes[0].tick);
	EXPECT_EQ(3.5, changes[0].value);
	EXPECT_EQ(1, changes[1].batch);
	EXPECT_EQ(100, changes[1].tick);
	EXPECT_EQ(2, changes[2].batch);
	EXPECT_EQ(333, changes[2].tick);
	EXPECT_EQ(0.1, changes[2].value);
	ASSERT_EQ(0, hytest_param_find(self->r.image, "load.A[1]", &param));
	EXPECT_EQ(param, changes[2].param);
	hytest_log_reader_free(reader);
}

TEST_F(log, attributes_tell_of_the_run)
{
	char text[256];

	ASSERT_EQ(0, rehearse_start(&self->r, self->path));
	ASSERT_EQ(0, rehearse_until(&self->r, 500));
	ASSERT_EQ(0, hytest_trip(self->r.loop));
	ASSERT_EQ(0, rehearse_until(&self->r, 1000));
	self->r.status.lost_scans = 17;
	self->r.status.failed_writes = 4;
	ASSERT_EQ(0, rehearse_end(&self->r));
	EXPECT_EQ(PERIOD_NS, attribute(self->path, "/", "period_ns"));
	EXPECT_EQ(0, attribute(self->path, "/", "lost_records"));
	EXPECT_EQ(17, attribute(self->path, "/", "lost_scans"));
	EXPECT_EQ(4, attribute(self->path, "/", "failed_writes"));
	EXPECT_EQ(1, attribute(self->path, "/", "complete"));
	EXPECT_EQ(HT_CAUSE_OPERATOR, attribute(self->path, "/", "trip_cause"));
	EXPECT_EQ(HT_IMAGE_VERSION, attribute(self->path, "/versions", "image"));
	EXPECT_EQ(self->r.n_records, attribute(self->path, "/histograms/lateness", "count"));
	attribute_text(self->path, "/", "trip", text, sizeof(text));
	EXPECT_STREQ("operator at tick 500", text);
	attribute_text(self->path, "/", "title", text, sizeof(text));
	EXPECT_STREQ("Rehearsal", text);
	attribute_text(self->path, "/signals/v", "unit", text, sizeof(text));
	EXPECT_STREQ("m/s", text);
	attribute_text(self->path, "/outputs/x", "unit", text, sizeof(text));
	EXPECT_STREQ("m", text);
	/* 2001-09-09T01:46:40 UTC, in whatever zone this runs. */
	attribute_text(self->path, "/", "start_time", text, sizeof(text));
	EXPECT_EQ(32, strlen(text));
}

/* As another version of this program would have written it; 0: without a word. */
static int write_version(const char *path, uint32_t version)
{
	hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
	hid_t space = H5Screate(H5S_SCALAR);
	herr_t result = H5Adelete_by_name(file, "/versions", "log", H5P_DEFAULT);
	hid_t attribute;

	if (version && result >= 0) {
		attribute = H5Acreate_by_name(file, "/versions", "log", H5T_NATIVE_UINT32, space,
					      H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
		result = H5Awrite(attribute, H5T_NATIVE_UINT32, &version);
		H5Aclose(attribute);
	}
	H5Sclose(space);
	return H5Fclose(file) < 0 || result < 0 ? -1 : 0;
}

TEST_F(log, another_version_is_refused)
{
	struct hytest_message message;
	char expected[512];

	ASSERT_EQ(0, rehearse_start(&self->r, self->path));
	ASSERT_EQ(0, rehearse_until(&self->r, 50));
	ASSERT_EQ(0, rehearse_end(&self->r));
	EXPECT_EQ(2, attribute(self->path, "/versions", "log"));
	ASSERT_EQ(0, write_version(self->path, 3));
	EXPECT_EQ(NULL, hytest_log_open(self->path, &message));
	snprintf(expected, sizeof(expected), "%s: is a log of version 3, this program reads "
		 "version 2: use the hytest that wrote it", self->path);
	EXPECT_STREQ(expected, message.text);
	/* The first version did not say so. */
	ASSERT_EQ(0, write_version(self->path, 0));
	EXPECT_EQ(NULL, hytest_log_open(self->path, &message));
	EXPECT_NE(NULL, strstr(message.text, "is a log of version 1"));
}

TEST_F(log, an_existing_file_is_not_overwritten)
{
	const struct hytest_log_about about = {
		.image = self->r.image,
		.image_size = self->r.image_size,
		.backend = "sim",
	};
	struct hytest_message message;
	FILE *file = fopen(self->path, "w");

	ASSERT_NE(NULL, file);
	fputs("precious", file);
	fclose(file);
	EXPECT_EQ(NULL, hytest_log_create(self->path, &about, &message));
	EXPECT_NE(NULL, strstr(message.text, self->path));
	EXPECT_EQ(NULL, hytest_log_create("/nowhere/at/all.h5", &about, &message));
	EXPECT_NE(NULL, strstr(message.text, "No such file or directory"));
}

TEST_F(log, what_is_no_log_is_refused)
{
	struct hytest_message message;
	FILE *file;
	hid_t empty;

	EXPECT_EQ(NULL, hytest_log_open("/nowhere/at/all.h5", &message));
	EXPECT_NE(NULL, strstr(message.text, "No such file"));
	file = fopen(self->path, "w");
	ASSERT_NE(NULL, file);
	fputs("This is no HDF5 file.\n", file);
	fclose(file);
	EXPECT_EQ(NULL, hytest_log_open(self->path, &message));
	EXPECT_NE(NULL, strstr(message.text, "is no log of hytest"));
	unlink(self->path);
	empty = H5Fcreate(self->path, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
	H5Fclose(empty);
	EXPECT_EQ(NULL, hytest_log_open(self->path, &message));
	EXPECT_NE(NULL, strstr(message.text, "it has no /versions"));
}

/* Runs and logs in real time until it is killed; tells each tick it has read. */
static void write_until_killed(struct rehearsal *r, const char *path, int tell)
{
	if (rehearse_start(r, path))
		_exit(1);
	hytest_sim_pace(r->loop);
	for (;;) {
		if (rehearse_until(r, r->status.tick + 20) ||
		    hytest_log_tend(r->log, &r->status) ||
		    write(tell, &r->status.tick, sizeof(r->status.tick)) < 0)
			_exit(1);
	}
}

TEST_F(log, a_killed_writer_loses_less_than_a_second)
{
	struct hytest_log_reader *reader;
	struct hytest_message message;
	struct hytest_record *record;
	uint64_t tick = 0, last = 0, n;
	int tell[2];
	pid_t child;

	ASSERT_EQ(0, pipe(tell));
	child = fork();
	if (!child) {
		close(tell[0]);
		write_until_killed(&self->r, self->path, tell[1]);
	}
	close(tell[1]);
	while (last < 2345 && read(tell[0], &tick, sizeof(tick)) == sizeof(tick))
		last = tick;
	kill(child, SIGKILL);
	while (read(tell[0], &tick, sizeof(tick)) == sizeof(tick))
		last = tick;
	close(tell[0]);
	waitpid(child, NULL, 0);
	ASSERT_GE(last, 2345);

	reader = hytest_log_open(self->path, &message);
	ASSERT_NE(NULL, reader);
	EXPECT_FALSE(hytest_log_complete(reader));
	n = hytest_log_n_records(reader);
	EXPECT_GE(n, last - 1000);
	record = malloc(hytest_log_record_size(reader));
	ASSERT_NE(NULL, record);
	ASSERT_EQ(0, hytest_log_read(reader, n - 1, 1, record, &message));
	EXPECT_EQ(n - 1, record->tick);
	free(record);
	hytest_log_reader_free(reader);
}

TEST_HARNESS_MAIN
