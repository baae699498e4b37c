// SPDX-License-Identifier: GPL-2.0
/*
 * Replay: identical for what really ran, and the exact place named for what
 * did not. Runs with batches, stops and trips; ticks that were missed, inputs
 * that moved, scans that did not come, records that are lost, writers that were
 * killed.
 */
#include <errno.h>
#include <hdf5.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "../../kmod/core/fpenv.h"
#include "../../user/replay.h"
#include "rehearse.h"

FIXTURE(replay) {
	char path[256];
	struct rehearsal r;
	struct hytest_replay result;
	struct hytest_message message;
};

FIXTURE_SETUP(replay)
{
	rehearse_path(self->path, sizeof(self->path), "replay");
	ASSERT_EQ(0, rehearse_open(&self->r, NULL, 0));
}

FIXTURE_TEARDOWN(replay)
{
	rehearse_close(&self->r);
	unlink(self->path);
}

/* Changes one element of a dataset by exclusive or. */
static int disturb(const char *path, const char *dataset_path, hsize_t record, uint64_t mask)
{
	const hsize_t one = 1;
	hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
	hid_t dataset = H5Dopen2(file, dataset_path, H5P_DEFAULT);
	hid_t type = H5Dget_type(dataset);
	hid_t space = H5Dget_space(dataset);
	hid_t memory = H5Screate_simple(1, &one, NULL);
	uint64_t bits = 0;
	herr_t result;

	H5Sselect_hyperslab(space, H5S_SELECT_SET, &record, NULL, &one, NULL);
	result = H5Dread(dataset, type, memory, space, H5P_DEFAULT, &bits);
	bits ^= mask;
	if (result >= 0)
		result = H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, &bits);
	H5Sclose(memory);
	H5Sclose(space);
	H5Tclose(type);
	H5Dclose(dataset);
	return H5Fclose(file) < 0 || result < 0 ? -1 : 0;
}

/* A run of 2000 ticks with two batches and one change before the start. */
static int log_run(struct rehearsal *r, const char *path)
{
	struct hytest_change early = { .value = hytest_bits(0.75) };

	if (hytest_param_find(r->image, "load.A[0]", &early.param) ||
	    hytest_change(r->loop, &early, 1, 0, NULL) || rehearse_start(r, path) ||
	    hytest_log_batch(r->log, 0, &early, 1) || rehearse_until(r, 500) ||
	    rehearse_change(r, "mass.K", 2500, 777) || rehearse_until(r, 1000) ||
	    rehearse_change(r, "push.sin[0]", 1, 0) || rehearse_until(r, 1980) ||
	    rehearse_stop(r))
		return -1;
	return rehearse_end(r);
}

TEST_F(replay, a_run_with_batches_is_identical)
{
	ASSERT_EQ(0, log_run(&self->r, self->path));
	ASSERT_EQ(0, hytest_replay_log(self->path, &self->result, &self->message));
	EXPECT_FALSE(self->result.differs);
	EXPECT_EQ(2000, self->result.ticks);
	EXPECT_EQ(2, self->result.batches);
	EXPECT_EQ(1, self->result.outputs);
	EXPECT_EQ(0, self->result.missed);
	EXPECT_TRUE(self->result.complete);
}

TEST_F(replay, one_flipped_bit_is_found)
{
	ASSERT_EQ(0, log_run(&self->r, self->path));
	ASSERT_EQ(0, disturb(self->path, "/signals/v", 1234, 1));
	ASSERT_EQ(0, hytest_replay_log(self->path, &self->result, &self->message));
	EXPECT_TRUE(self->result.differs);
	EXPECT_EQ(1234, self->result.tick);
	EXPECT_EQ(1234, self->result.ticks);
	EXPECT_STREQ("signal v", self->result.name);
	EXPECT_STREQ("m/s", self->result.unit);
	EXPECT_EQ(1, self->result.logged ^ self->result.replayed);
	/* An earlier one comes first. */
	ASSERT_EQ(0, disturb(self->path, "/outputs/x", 17, 1ull << 63));
	ASSERT_EQ(0, hytest_replay_log(self->path, &self->result, &self->message));
	EXPECT_EQ(17, self->result.tick);
	EXPECT_STREQ("output x", self->result.name);
	ASSERT_EQ(0, disturb(self->path, "/state", 3, 1));
	ASSERT_EQ(0, hytest_replay_log(self->path, &self->result, &self->message));
	EXPECT_TRUE(self->result.differs);
	EXPECT_EQ(3, self->result.tick);
}

TEST_F(replay, a_batch_at_another_tick_is_found)
{
	ASSERT_EQ(0, log_run(&self->r, self->path));
	ASSERT_EQ(0, disturb(self->path, "/batch", 776, 1));
	EXPECT_EQ(-1, hytest_replay_log(self->path, &self->result, &self->message));
	EXPECT_NE(NULL, strstr(self->message.text, "batch 1 took effect at tick 776"));
}

TEST_F(replay, a_gap_is_named)
{
	ASSERT_EQ(0, log_run(&self->r, self->path));
	ASSERT_EQ(0, disturb(self->path, "/tick", 512, 4096));
	EXPECT_EQ(-1, hytest_replay_log(self->path, &self->result, &self->message));
	EXPECT_NE(NULL, strstr(self->message.text,
			       "records are missing: tick 4608 where tick 512 should be"));
}

TEST_F(replay, lost_records_make_it_impossible)
{
	int i;

	ASSERT_EQ(0, rehearse_start(&self->r, self->path));
	ASSERT_EQ(0, rehearse_drain(&self->r));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, hytest_wait(self->r.loop, 1000 * PERIOD_NS));
	ASSERT_EQ(0, rehearse_drain(&self->r));
	ASSERT_LT(0, hytest_reader_lost(self->r.reader));
	ASSERT_EQ(0, rehearse_end(&self->r));
	EXPECT_EQ(-1, hytest_replay_log(self->path, &self->result, &self->message));
	EXPECT_NE(NULL, strstr(self->message.text, "records were overwritten"));
}

TEST_F(replay, an_operator_trip_is_identical)
{
	ASSERT_EQ(0, rehearse_start(&self->r, self->path));
	ASSERT_EQ(0, rehearse_until(&self->r, 321));
	ASSERT_EQ(0, hytest_trip(self->r.loop));
	ASSERT_EQ(0, rehearse_until(&self->r, 1000));
	ASSERT_EQ(HYTEST_TRIPPED, self->r.status.state);
	ASSERT_EQ(0, rehearse_end(&self->r));
	ASSERT_EQ(0, hytest_replay_log(self->path, &self->result, &self->message));
	EXPECT_FALSE(self->result.differs);
	EXPECT_EQ(self->r.n_records, self->result.ticks);
}

TEST_F(replay, a_trip_during_a_soft_stop_is_identical)
{
	ASSERT_EQ(0, rehearse_start(&self->r, self->path));
	ASSERT_EQ(0, rehearse_until(&self->r, 321));
	ASSERT_EQ(0, hytest_stop(self->r.loop));
	ASSERT_EQ(0, rehearse_until(&self->r, 330));
	ASSERT_EQ(0, hytest_trip(self->r.loop));
	ASSERT_EQ(0, rehearse_until(&self->r, 1000));
	ASSERT_EQ(HYTEST_TRIPPED, self->r.status.state);
	ASSERT_EQ(0, rehearse_end(&self->r));
	ASSERT_EQ(0, hytest_replay_log(self->path, &self->result, &self->message));
	EXPECT_FALSE(self->result.differs);
	EXPECT_EQ(self->r.n_records, self->result.ticks);
}

TEST_F(replay, held_outputs_that_are_acknowledged_are_identical)
{
	ASSERT_EQ(0, rehearse_start(&self->r, self->path));
	ASSERT_EQ(0, rehearse_until(&self->r, 300));
	ASSERT_EQ(0, rehearse_change(&self->r, "push.sin[0]", 400, 0));
	ASSERT_EQ(0, rehearse_until(&self->r, 900));
	ASSERT_EQ(HYTEST_TRIPPED, self->r.status.state);
	ASSERT_EQ(-EBUSY, hytest_acknowledge(self->r.loop));
	ASSERT_EQ(0, rehearse_until(&self->r, 2000));
	ASSERT_EQ(1, self->r.status.safe);
	ASSERT_EQ(0, rehearse_end(&self->r));
	ASSERT_EQ(0, hytest_replay_log(self->path, &self->result, &self->message));
	EXPECT_FALSE(self->result.differs);
	EXPECT_EQ(self->r.n_records, self->result.ticks);
}

/* A pendulum that an input pushes, as a kernel with a device would run it. */
static const char input_text[] =
	"loop = { rate = 1000.0; };\n"
	"inputs = ( { signal = \"F\"; unit = \"N\"; initial = 0.5; } );\n"
	"blocks = (\n"
	"	{ name = \"hum\"; type = \"noise\"; out = [\"hum\"]; units = [\"N\"]; seed = 3;\n"
	"	  sigma = 1.0; },\n"
	"	{ name = \"load\"; type = \"matrix\"; in = [\"F\", \"hum\"]; out = [\"p\"];\n"
	"	  units = [\"N\"]; A = [1.0, 1.0]; },\n"
	"	{ name = \"mass\"; type = \"structure\"; in = [\"p\"]; out = [\"x\"];\n"
	"	  units = [\"m\"]; M = 2.0; C = 2.0; K = 2000.0; }\n"
	");\n"
	"outputs = ( { signal = \"x\"; safe = 0.0; min = -1.0; max = 1.0; ramp = 0.1; } );\n";

#define TICKS 1000

/* Ticks 100, 101 and 102 and then 500 are missed; from lost_from on no scan comes. */
static void make_records(struct ht_loop *core, unsigned char *records, size_t size, size_t *n,
			 uint64_t lost_from)
{
	struct ht_vitals vitals = { 0 };
	struct hytest_record *record;
	uint32_t missed = 0;
	double values[16], input;
	uint64_t tick;

	ht_loop_start(core);
	*n = 0;
	for (tick = 0; tick < TICKS; tick++) {
		if ((tick >= 100 && tick < 103) || tick == 500) {
			missed++;
			continue;
		}
		if (tick >= lost_from)
			vitals.scan_age++;
		else
			input = sin(0.02 * tick);
		ht_loop_inputs(core, &input);
		ht_loop_vitals(core, &vitals);
		ht_loop_tick(core, tick, values);
		record = (struct hytest_record *)(records + (*n)++ * size);
		*record = (struct hytest_record){
			.sequence = *n,
			.tick = tick,
			.time_ns = tick * 1000000,
			.missed = missed,
			.state = ht_loop_mode(core) == HT_MODE_TRIPPED ? HYTEST_TRIPPED :
									 HYTEST_RUNNING,
			.cause = ht_loop_first_trip(core)->cause,
			.scan_age = vitals.scan_age,
		};
		memcpy(record->value, values, size - sizeof(*record));
		missed = 0;
	}
}

static int log_records(const char *path, const struct hytest_log_about *about,
		       const unsigned char *records, size_t n)
{
	const struct timespec start = { 0 };
	struct hytest_status status = { 0 };
	struct hytest_message message;
	struct hytest_log *log = hytest_log_create(path, about, &message);

	if (!log || hytest_log_started(log, 0, &start) || hytest_log_records(log, records, n))
		return -1;
	return hytest_log_close(log, &status, 0, &message);
}

/* A log of records as a kernel with a device would have made them. */
static int log_made_records(const char *path, uint64_t lost_from)
{
	struct hytest_log_about about = { .experiment = "", .backend = "kernel" };
	struct hytest_message message;
	struct hytest_experiment *e = hytest_experiment_parse(input_text, "input.cfg", NULL, 0,
							      &message);
	const struct ht_image_header *h;
	struct ht_loop *core;
	unsigned char *records;
	struct ht_error error;
	ht_u32 environment;
	size_t size, n = 0;
	int result = -1;

	if (!e)
		return -1;
	about.image = hytest_experiment_image(e, &about.image_size);
	h = about.image;
	size = sizeof(struct hytest_record) + 8 * (h->n_records + h->n_outputs);
	records = calloc(TICKS, size);
	core = calloc(1, ht_loop_bytes(about.image));
	environment = ht_fpenv_enter();
	if (records && core && h->n_records + h->n_outputs <= 16 &&
	    !ht_loop_init(core, about.image, &error))
		make_records(core, records, size, &n, lost_from);
	ht_fpenv_leave(environment);
	if (n)
		result = log_records(path, &about, records, n);
	free(core);
	free(records);
	hytest_experiment_free(e);
	return result;
}

TEST_F(replay, inputs_and_missed_ticks_are_followed)
{
	ASSERT_EQ(0, log_made_records(self->path, TICKS));
	ASSERT_EQ(0, hytest_replay_log(self->path, &self->result, &self->message));
	EXPECT_FALSE(self->result.differs);
	EXPECT_EQ(TICKS - 4, self->result.ticks);
	EXPECT_EQ(4, self->result.missed);
	/* A changed input shows in what depends on it, not in itself. */
	ASSERT_EQ(0, disturb(self->path, "/signals/F", 40, 1ull << 50));
	ASSERT_EQ(0, hytest_replay_log(self->path, &self->result, &self->message));
	EXPECT_TRUE(self->result.differs);
	EXPECT_EQ(40, self->result.tick);
	EXPECT_STREQ("signal p", self->result.name);
}

TEST_F(replay, a_trip_by_lost_scans_is_identical)
{
	ASSERT_EQ(0, log_made_records(self->path, 700));
	ASSERT_EQ(0, hytest_replay_log(self->path, &self->result, &self->message));
	EXPECT_FALSE(self->result.differs);
	EXPECT_EQ(TICKS - 4, self->result.ticks);
	/* It is there: two ticks without a scan trip. */
	ASSERT_EQ(0, disturb(self->path, "/cause", 701 - 4, HT_CAUSE_SCAN ^ HT_CAUSE_NONE));
	ASSERT_EQ(0, hytest_replay_log(self->path, &self->result, &self->message));
	EXPECT_TRUE(self->result.differs);
	EXPECT_EQ(701, self->result.tick);
}

/* The interlock cuts what the ramp would take a long time for. */
static const char vital_text[] =
	"loop = { rate = 1000.0; heartbeat = 1.0; history = 0.512; post_trip = 0.01; };\n"
	"blocks = ( { name = \"push\"; type = \"fourier\"; out = [\"y\"]; units = [\"m\"];\n"
	"	     omega = 12.0; cos = [0.5]; } );\n"
	"outputs = ( { signal = \"y\"; safe = 0.0; min = -1.0; max = 1.0; ramp = 0.01; } );\n"
	"interlocks = (\n"
	"	{ name = \"drop\"; kind = \"range\"; signal = \"y\"; low = -2.0; high = 2.0; },\n"
	"	{ name = \"beat\"; kind = \"heartbeat\"; high = 0.1; action = \"cut\"; }\n"
	");\n";

TEST_F(replay, a_trip_by_an_interlock_on_the_loop_itself_is_identical)
{
	static const char *const actions[] = { "interlocks.[1].action=\"cut\"",
					       "interlocks.[1].action=\"hold\"" };
	struct rehearsal r;
	int i;

	for (i = 0; i < 2; i++) {
		unlink(self->path);
		ASSERT_EQ(0, rehearse_open_text(&r, vital_text, &actions[i], 1));
		ASSERT_EQ(0, rehearse_start(&r, self->path));
		ASSERT_EQ(0, rehearse_until(&r, 300));
		EXPECT_EQ(HYTEST_TRIPPED, r.status.state);
		EXPECT_EQ(HT_CAUSE_INTERLOCK, r.status.trip.cause);
		EXPECT_EQ(1, r.status.trip.index);
		EXPECT_EQ(i == 0, r.status.safe);
		ASSERT_EQ(0, rehearse_end(&r));
		ASSERT_EQ(0, hytest_replay_log(self->path, &self->result, &self->message));
		EXPECT_FALSE(self->result.differs);
		EXPECT_EQ(r.n_records, self->result.ticks);
		rehearse_close(&r);
	}
}

TEST_F(replay, a_cut_after_another_trip_is_identical)
{
	struct rehearsal r;

	ASSERT_EQ(0, rehearse_open_text(&r, vital_text, NULL, 0));
	ASSERT_EQ(0, rehearse_start(&r, self->path));
	ASSERT_EQ(0, rehearse_until(&r, 50));
	ASSERT_EQ(0, hytest_trip(r.loop));
	ASSERT_EQ(0, rehearse_until(&r, 90));
	EXPECT_EQ(0, r.status.safe);
	ASSERT_EQ(0, rehearse_until(&r, 300));
	EXPECT_EQ(1, r.status.safe);
	EXPECT_EQ(HT_CAUSE_OPERATOR, r.status.trip.cause);
	ASSERT_EQ(0, rehearse_end(&r));
	ASSERT_EQ(0, hytest_replay_log(self->path, &self->result, &self->message));
	EXPECT_FALSE(self->result.differs);
	EXPECT_EQ(r.n_records, self->result.ticks);
	rehearse_close(&r);
}

TEST_F(replay, the_log_of_a_killed_writer_is_replayed_as_far_as_it_goes)
{
	int tell[2];
	pid_t child;
	char c;

	ASSERT_EQ(0, pipe(tell));
	child = fork();
	if (!child) {
		close(tell[0]);
		if (rehearse_start(&self->r, self->path))
			_exit(1);
		hytest_sim_pace(self->r.loop);
		while (!rehearse_until(&self->r, self->r.status.tick + 20) &&
		       !hytest_log_tend(self->r.log, &self->r.status))
			if (self->r.status.tick >= 1500 && write(tell[1], "x", 1) < 0)
				_exit(1);
		_exit(1);
	}
	close(tell[1]);
	ASSERT_EQ(1, read(tell[0], &c, 1));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(tell[0]);
	ASSERT_EQ(0, hytest_replay_log(self->path, &self->result, &self->message));
	EXPECT_FALSE(self->result.differs);
	EXPECT_FALSE(self->result.complete);
	EXPECT_GE(self->result.ticks, 500);
}

TEST_HARNESS_MAIN
