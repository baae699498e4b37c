// SPDX-License-Identifier: GPL-2.0
/*
 * The sim backend behind the interface of libhytest: states, refusals, records,
 * batches, trips, events. Oracles: the description of the UAPI, closed forms of
 * ramps, and a second run that must have the same bits.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "../../user/histogram.h"
#include "rehearse.h"

/* Column of the output: behind the recorded signals. */
static double output_of(const struct rehearsal *r, const struct hytest_record *record)
{
	const struct ht_image_header *h = r->image;

	return hytest_double(record->value[h->n_records]);
}

static const struct hytest_record *record_at(const struct rehearsal *r, long i)
{
	return (const struct hytest_record *)
		((const char *)r->records + i * r->status.record_size);
}

/* The next event of this type, false if there is none. */
static bool find_event(struct rehearsal *r, uint32_t type, struct hytest_event *event)
{
	while (hytest_read_events(r->loop, event, 1) == 1)
		if (event->type == type)
			return true;
	return false;
}

TEST(every_call_is_refused_in_the_wrong_state)
{
	struct hytest_loop *loop = hytest_open_sim();
	struct hytest_change change = { 0 };
	struct hytest_lock lock;
	struct rehearsal r;
	double value;
	void *image;
	size_t size;

	ASSERT_NE(NULL, loop);
	EXPECT_EQ(-EPERM, hytest_start(loop));
	EXPECT_STREQ("cannot start: control has not been taken", hytest_error(loop));
	ASSERT_EQ(0, hytest_take_control(loop));
	EXPECT_EQ(-EBUSY, hytest_start(loop));
	EXPECT_STREQ("cannot start: the loop is empty, it must be armed", hytest_error(loop));
	EXPECT_EQ(-ENODATA, hytest_arm(loop, 0, 10, NULL));
	EXPECT_EQ(-ENODATA, hytest_unload(loop));
	EXPECT_EQ(-EBUSY, hytest_disarm(loop));
	EXPECT_EQ(-EBUSY, hytest_stop(loop));
	EXPECT_EQ(-ENODATA, hytest_acknowledge(loop));
	EXPECT_EQ(-ENODATA, hytest_change(loop, &change, 1, 0, NULL));
	EXPECT_EQ(-ENODATA, hytest_get_image(loop, &image, &size));
	EXPECT_EQ(-ENODATA, hytest_get_params(loop, 0, 1, &value));
	EXPECT_EQ(-ENODATA, hytest_get_lock(loop, 0, &lock));
	hytest_close(loop);

	ASSERT_EQ(0, rehearse_open(&r, NULL, 0));
	EXPECT_EQ(-EINVAL, hytest_arm(r.loop, 0, 0, NULL));
	EXPECT_EQ(-EINVAL, hytest_get_lock(r.loop, 2, &lock));
	ASSERT_EQ(0, hytest_arm(r.loop, 0, 10, NULL));
	EXPECT_EQ(-EBUSY, hytest_load(r.loop, r.image, r.image_size));
	EXPECT_EQ(-EBUSY, hytest_unload(r.loop));
	EXPECT_EQ(0, hytest_disarm(r.loop));
	EXPECT_EQ(0, hytest_unload(r.loop));
	EXPECT_EQ(0, hytest_get_status(r.loop, &r.status));
	EXPECT_EQ(HYTEST_EMPTY, r.status.state);
	rehearse_close(&r);
}

TEST(a_damaged_image_is_refused_in_words)
{
	struct rehearsal r;
	unsigned char *bad;

	ASSERT_EQ(0, rehearse_open(&r, NULL, 0));
	bad = malloc(r.image_size);
	ASSERT_NE(NULL, bad);
	memcpy(bad, r.image, r.image_size);
	bad[r.image_size - 1] ^= 1;
	EXPECT_EQ(-EINVAL, hytest_load(r.loop, bad, r.image_size));
	EXPECT_STREQ("the program is refused: image: the image is damaged (CRC)",
		     hytest_error(r.loop));
	EXPECT_EQ(-EINVAL, hytest_load(r.loop, bad, 3));
	EXPECT_EQ(0, hytest_get_status(r.loop, &r.status));
	EXPECT_EQ(HYTEST_LOADED, r.status.state);
	free(bad);
	rehearse_close(&r);
}

TEST(records_are_on_the_grid_and_the_output_fades)
{
	const struct hytest_record *record;
	struct rehearsal r;
	long i, n;

	ASSERT_EQ(0, rehearse_open(&r, NULL, 0));
	ASSERT_EQ(0, rehearse_start(&r, NULL));
	EXPECT_EQ(1, hytest_wait(r.loop, 0));	/* events are there */
	ASSERT_EQ(0, rehearse_drain(&r));
	EXPECT_EQ(0, hytest_wait(r.loop, 50 * PERIOD_NS));
	n = hytest_reader_read(r.reader, r.records, 64);
	ASSERT_EQ(50, n);
	for (i = 0; i < n; i++) {
		record = record_at(&r, i);
		EXPECT_EQ((uint64_t)i + 1, record->sequence);
		EXPECT_EQ((uint64_t)i, record->tick);
		EXPECT_EQ(r.status.start_ns + i * PERIOD_NS, record->time_ns);
		EXPECT_EQ(0, record->lateness_ns);
		EXPECT_EQ(HYTEST_RUNNING, record->state);
	}
	EXPECT_EQ(0, hytest_reader_read(r.reader, r.records, 64));
	ASSERT_EQ(0, hytest_stop(r.loop));
	/* Twenty ticks of soft stop, the last of them with the safe value. */
	while (hytest_wait(r.loop, 40 * PERIOD_NS) > 0) {
		struct hytest_event event;

		EXPECT_EQ(1, hytest_read_events(r.loop, &event, 1));
	}
	n = hytest_reader_read(r.reader, r.records, 64);
	ASSERT_EQ(20, n);
	for (i = 0; i < n; i++)
		EXPECT_EQ(HYTEST_STOPPING, record_at(&r, i)->state);
	EXPECT_NE(0.001, output_of(&r, record_at(&r, 10)));
	EXPECT_EQ(0.001, output_of(&r, record_at(&r, 19)));
	ASSERT_EQ(0, hytest_get_status(r.loop, &r.status));
	EXPECT_EQ(HYTEST_LOADED, r.status.state);
	EXPECT_EQ(70, r.status.lateness.count);
	EXPECT_EQ(0, r.status.lateness.max);
	EXPECT_EQ(70, r.status.lateness.bucket[0]);
	EXPECT_EQ(70, r.status.step.count);
	rehearse_close(&r);
}

TEST(a_batch_takes_effect_on_its_tick)
{
	struct hytest_event event;
	struct rehearsal r;
	double value;
	uint32_t param;
	long i, n;

	ASSERT_EQ(0, rehearse_open(&r, NULL, 0));
	ASSERT_EQ(0, hytest_param_find(r.image, "load.A[1]", &param));
	/* Before the start: at once, and kept by it. */
	ASSERT_EQ(0, rehearse_change(&r, "load.A[1]", 0.25, 0));
	ASSERT_EQ(0, rehearse_start(&r, NULL));
	ASSERT_EQ(0, hytest_get_params(r.loop, param, 1, &value));
	EXPECT_EQ(0.25, value);
	ASSERT_EQ(0, rehearse_until(&r, 10));
	ASSERT_EQ(0, rehearse_change(&r, "load.A[1]", 0.5, 25));
	EXPECT_EQ(-EBUSY, rehearse_change(&r, "load.A[1]", 0.75, 26));
	EXPECT_STREQ("the batch before still waits for its tick", hytest_error(r.loop));
	EXPECT_EQ(1, hytest_wait(r.loop, 100 * PERIOD_NS));
	ASSERT_TRUE(find_event(&r, HYTEST_EVENT_BATCH, &event));
	EXPECT_EQ(25, event.tick);
	EXPECT_EQ(1, event.index);
	/* The event ended the wait: the very next tick can have another one. */
	ASSERT_EQ(0, rehearse_change(&r, "load.A[1]", 0.75, 26));
	EXPECT_EQ(1, hytest_wait(r.loop, 100 * PERIOD_NS));
	n = hytest_reader_read(r.reader, r.records, 64);
	ASSERT_EQ(17, n);
	for (i = 0; i < n; i++)
		EXPECT_EQ(i < 15 ? 0 : i < 16 ? 1 : 2, record_at(&r, i)->batch);
	rehearse_close(&r);
}

TEST(a_bad_batch_changes_nothing_and_is_named)
{
	struct hytest_change changes[2] = { { 0 } };
	struct rehearsal r;
	double value;

	ASSERT_EQ(0, rehearse_open(&r, NULL, 0));
	ASSERT_EQ(0, hytest_param_find(r.image, "load.A[0]", &changes[0].param));
	changes[0].value = hytest_bits(5.0);
	changes[1].param = changes[0].param + 1;
	changes[1].value = hytest_bits(NAN);
	EXPECT_EQ(-EINVAL, hytest_change(r.loop, changes, 2, 0, NULL));
	EXPECT_STREQ("the change is refused: parameter load.A[1]: a value is not a finite number",
		     hytest_error(r.loop));
	ASSERT_EQ(0, hytest_get_params(r.loop, changes[0].param, 1, &value));
	EXPECT_EQ(1.0, value);
	changes[1].param = 1000000;
	EXPECT_EQ(-EINVAL, hytest_change(r.loop, changes, 2, 0, NULL));
	EXPECT_EQ(-EINVAL, hytest_change(r.loop, changes, 0, 0, NULL));
	rehearse_close(&r);
}

TEST(an_operator_trip_ramps_to_safe_and_waits_for_acknowledgement)
{
	double before, step;
	struct hytest_event event;
	struct rehearsal r;
	char text[256];
	long i, n;

	ASSERT_EQ(0, rehearse_open(&r, NULL, 0));
	ASSERT_EQ(0, rehearse_start(&r, NULL));
	ASSERT_EQ(0, rehearse_until(&r, 300));
	ASSERT_EQ(0, hytest_trip(r.loop));
	before = NAN;
	while (hytest_wait(r.loop, 55 * PERIOD_NS) > 0)
		while (hytest_read_events(r.loop, &event, 1) > 0)
			if (event.type == HYTEST_EVENT_TRIPPED)
				EXPECT_EQ(HT_CAUSE_OPERATOR, event.index >> 16);
	ASSERT_EQ(0, hytest_get_status(r.loop, &r.status));
	n = hytest_reader_read(r.reader, r.records, 64);
	ASSERT_GT(n, 6);
	/* 0.1 m/s at 1 kHz: steps of 0.1 mm, and one that is what remains. */
	for (i = 0; i < n; i++) {
		const struct hytest_record *record = record_at(&r, i);

		EXPECT_EQ(HYTEST_TRIPPED, record->state);
		EXPECT_EQ(HT_CAUSE_OPERATOR, record->cause);
		step = fabs(output_of(&r, record) - before);
		EXPECT_FALSE(step > 1e-4 * (1 + 1e-9));
		before = output_of(&r, record);
	}
	EXPECT_EQ(0.001, before);
	/* Five records after it was safe. */
	EXPECT_EQ(0.001, output_of(&r, record_at(&r, n - 6)));
	EXPECT_NE(0.001, output_of(&r, record_at(&r, n - 7)));
	EXPECT_EQ(HYTEST_TRIPPED, r.status.state);
	EXPECT_EQ(300, r.status.trip.tick);
	hytest_trip_text(r.image, &r.status.trip, text, sizeof(text));
	EXPECT_STREQ("operator at tick 300", text);
	EXPECT_EQ(-EBUSY, hytest_arm(r.loop, 0, 10, NULL));
	EXPECT_EQ(-EBUSY, rehearse_change(&r, "load.A[1]", 0.5, 0));
	EXPECT_STREQ("cannot change parameters: the loop is tripped, acknowledge it first",
		     hytest_error(r.loop));
	EXPECT_EQ(0, hytest_acknowledge(r.loop));
	EXPECT_EQ(0, hytest_arm(r.loop, 0, 10, NULL));
	rehearse_close(&r);
}

TEST(an_interlock_names_itself_value_limit_and_unit)
{
	static const char *const overrides[] = { "interlocks.[0].high=0.002" };
	struct rehearsal r;
	char text[256], expected[256];
	double value;

	ASSERT_EQ(0, rehearse_open(&r, overrides, 1));
	ASSERT_EQ(0, rehearse_start(&r, NULL));
	ASSERT_EQ(0, rehearse_until(&r, 2000));
	EXPECT_EQ(HYTEST_TRIPPED, r.status.state);
	EXPECT_EQ(HT_CAUSE_INTERLOCK, r.status.trip.cause);
	EXPECT_EQ(0, r.status.trip.index);
	value = hytest_double(r.status.trip.value);
	EXPECT_GT(value, 0.002);
	EXPECT_EQ(0.002, hytest_double(r.status.trip.limit));
	hytest_trip_text(r.image, &r.status.trip, text, sizeof(text));
	snprintf(expected, sizeof(expected),
		 "interlock 'stroke' at tick %llu: x = %.6g m, limit 0.002 m",
		 (unsigned long long)r.status.trip.tick, value);
	EXPECT_STREQ(expected, text);
	hytest_trip_text(NULL, &r.status.trip, text, sizeof(text));
	EXPECT_NE(NULL, strstr(text, "interlock (number 0)"));
	rehearse_close(&r);
}

TEST(held_outputs_stay_until_acknowledged)
{
	struct rehearsal r;
	double held;

	ASSERT_EQ(0, rehearse_open(&r, NULL, 0));
	ASSERT_EQ(0, rehearse_start(&r, NULL));
	ASSERT_EQ(0, rehearse_until(&r, 300));
	ASSERT_EQ(0, rehearse_change(&r, "push.sin[0]", 400, 0));
	ASSERT_EQ(0, rehearse_until(&r, 900));
	ASSERT_EQ(HYTEST_TRIPPED, r.status.state);
	EXPECT_EQ(1, r.status.trip.index);
	EXPECT_EQ(0, r.status.safe);
	ASSERT_EQ(0, hytest_wait(r.loop, 64 * PERIOD_NS));
	ASSERT_EQ(64, hytest_reader_read(r.reader, r.records, 64));
	held = output_of(&r, record_at(&r, 0));
	EXPECT_NE(0.001, held);
	EXPECT_EQ(held, output_of(&r, record_at(&r, 63)));
	EXPECT_EQ(-EBUSY, hytest_acknowledge(r.loop));
	EXPECT_STREQ("cannot acknowledge: outputs are not safe yet", hytest_error(r.loop));
	ASSERT_EQ(0, rehearse_until(&r, 2000));
	EXPECT_EQ(1, r.status.safe);
	EXPECT_EQ(0, hytest_acknowledge(r.loop));
	rehearse_close(&r);
}

TEST(a_missing_heartbeat_trips)
{
	static const char *const overrides[] = { "loop.heartbeat=0.1" };
	struct rehearsal r;
	char text[256];
	int i;

	ASSERT_EQ(0, rehearse_open(&r, overrides, 1));
	ASSERT_EQ(0, rehearse_start(&r, NULL));
	for (i = 1; i <= 10; i++) {
		ASSERT_EQ(0, rehearse_until(&r, 50 * i));
		ASSERT_EQ(0, hytest_heartbeat(r.loop));
	}
	EXPECT_EQ(HYTEST_RUNNING, r.status.state);
	ASSERT_EQ(0, rehearse_until(&r, 1000));
	EXPECT_EQ(HYTEST_TRIPPED, r.status.state);
	/* Last beat at tick 499, more than 100 ms: 101 ticks later. */
	EXPECT_EQ(600, r.status.trip.tick);
	hytest_trip_text(r.image, &r.status.trip, text, sizeof(text));
	EXPECT_STREQ("heartbeat missed at tick 600: 101 ms, limit 100 ms", text);
	rehearse_close(&r);
}

TEST(leaving_control_trips)
{
	struct rehearsal r;

	ASSERT_EQ(0, rehearse_open(&r, NULL, 0));
	ASSERT_EQ(0, rehearse_start(&r, NULL));
	ASSERT_EQ(0, rehearse_until(&r, 100));
	ASSERT_EQ(0, hytest_release_control(r.loop));
	ASSERT_EQ(0, rehearse_until(&r, 1000));
	EXPECT_EQ(HYTEST_TRIPPED, r.status.state);
	EXPECT_EQ(HT_CAUSE_OWNER, r.status.trip.cause);
	EXPECT_EQ(-EPERM, hytest_acknowledge(r.loop));
	rehearse_close(&r);
}

TEST(overwritten_records_are_counted)
{
	struct hytest_reader *late;
	struct rehearsal r;
	long n;
	int i;

	ASSERT_EQ(0, rehearse_open(&r, NULL, 0));
	ASSERT_EQ(0, rehearse_start(&r, NULL));
	ASSERT_EQ(0, rehearse_drain(&r));
	ASSERT_EQ(512, r.status.ring_records);
	/* A wait ends when half the ring is full, so it takes a deaf reader. */
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, hytest_wait(r.loop, 1000 * PERIOD_NS));
	ASSERT_EQ(0, hytest_get_status(r.loop, &r.status));
	ASSERT_EQ(5 * 256, r.status.tick);
	n = hytest_reader_read(r.reader, r.records, 64);
	ASSERT_EQ(64, n);
	/* The oldest is 1280 - 512, and a margin of an eighth of the ring. */
	EXPECT_EQ(768 + 64, hytest_reader_lost(r.reader));
	EXPECT_EQ(768 + 64, record_at(&r, 0)->tick);
	/* One that comes now begins with the oldest and has lost nothing. */
	late = hytest_reader_new(r.loop);
	ASSERT_NE(NULL, late);
	EXPECT_EQ(r.status.record_size, hytest_reader_record_size(late));
	ASSERT_EQ(64, hytest_reader_read(late, r.records, 64));
	EXPECT_EQ(768, record_at(&r, 0)->tick);
	EXPECT_EQ(0, hytest_reader_lost(late));
	hytest_reader_skip(late);
	EXPECT_EQ(0, hytest_reader_read(late, r.records, 64));
	hytest_reader_free(late);
	rehearse_close(&r);
}

TEST(a_reader_follows_runs_and_programs)
{
	struct rehearsal r;

	ASSERT_EQ(0, rehearse_open(&r, NULL, 0));
	ASSERT_EQ(0, rehearse_start(&r, NULL));
	ASSERT_EQ(0, rehearse_until(&r, 100));
	ASSERT_EQ(0, rehearse_stop(&r));
	EXPECT_EQ(120, r.n_records);
	ASSERT_EQ(0, rehearse_start(&r, NULL));
	ASSERT_EQ(0, rehearse_drain(&r));
	ASSERT_EQ(0, hytest_wait(r.loop, 3 * PERIOD_NS));
	ASSERT_EQ(3, hytest_reader_read(r.reader, r.records, 64));
	EXPECT_EQ(0, record_at(&r, 0)->tick);
	ASSERT_EQ(0, rehearse_stop(&r));
	ASSERT_EQ(0, hytest_load(r.loop, r.image, r.image_size));
	EXPECT_EQ(-ESTALE, hytest_reader_read(r.reader, r.records, 64));
	EXPECT_EQ(r.status.record_size, hytest_reader_record_size(r.reader));
	EXPECT_EQ(0, hytest_reader_read(r.reader, r.records, 64));
	rehearse_close(&r);
}

/* All bits of some records but the step time, which is real. */
static uint64_t hash_run(void)
{
	uint64_t hash = 14695981039346656037u;
	struct rehearsal r;
	long i, n;
	size_t b;

	if (rehearse_open(&r, NULL, 0) || rehearse_start(&r, NULL) || rehearse_drain(&r))
		return 0;
	while (r.status.tick < 2000) {
		hytest_wait(r.loop, 64 * PERIOD_NS);
		n = hytest_reader_read(r.reader, r.records, 64);
		for (i = 0; i < n; i++) {
			struct hytest_record *record = (struct hytest_record *)record_at(&r, i);

			record->step_ns = 0;
			for (b = 0; b < r.status.record_size; b++)
				hash = (hash ^ ((unsigned char *)record)[b]) * 1099511628211u;
		}
		hytest_get_status(r.loop, &r.status);
	}
	rehearse_close(&r);
	return hash;
}

TEST(two_runs_have_the_same_bits)
{
	uint64_t hash = hash_run();

	EXPECT_NE(0, hash);
	EXPECT_EQ(hash, hash_run());
}

TEST(events_that_nobody_reads_are_counted)
{
	struct hytest_event event;
	struct rehearsal r;
	int i;

	ASSERT_EQ(0, rehearse_open(&r, NULL, 0));
	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(0, hytest_arm(r.loop, 0, 1, NULL));
		ASSERT_EQ(0, hytest_disarm(r.loop));
	}
	/* Control, load and these make 2002; 1024 are kept. */
	ASSERT_EQ(1, hytest_read_events(r.loop, &event, 1));
	EXPECT_EQ(978, event.dropped);
	EXPECT_EQ(979, event.sequence);
	ASSERT_EQ(1, hytest_read_events(r.loop, &event, 1));
	EXPECT_EQ(0, event.dropped);
	EXPECT_EQ(980, event.sequence);
	rehearse_close(&r);
}

TEST(realtime_keeps_pace_with_the_clock)
{
	struct timespec begin, end;
	struct rehearsal r;
	double elapsed;

	ASSERT_EQ(0, rehearse_open(&r, NULL, 0));
	ASSERT_EQ(0, rehearse_start(&r, NULL));
	ASSERT_EQ(0, rehearse_drain(&r));
	hytest_sim_pace(r.loop);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	ASSERT_EQ(0, rehearse_until(&r, 200));
	clock_gettime(CLOCK_MONOTONIC, &end);
	elapsed = end.tv_sec - begin.tv_sec + 1e-9 * (end.tv_nsec - begin.tv_nsec);
	/* Never faster; how much slower is up to the machine. */
	EXPECT_GT(elapsed, 0.199);
	rehearse_close(&r);
}

TEST(histogram_buckets)
{
	struct hytest_histogram h;
	unsigned int b;
	uint64_t ns;

	for (b = 0; b < HYTEST_BUCKETS; b++)
		EXPECT_EQ(b, hytest_histogram_bucket(hytest_histogram_bound(b)));
	for (b = 1; b < HYTEST_BUCKETS; b++)
		EXPECT_EQ(b - 1, hytest_histogram_bucket(hytest_histogram_bound(b) - 1));
	EXPECT_EQ(HYTEST_BUCKETS - 1, hytest_histogram_bucket(UINT64_MAX));
	/* As the UAPI header words it. */
	EXPECT_EQ(4 * 3 + 1, hytest_histogram_bucket((4 + 1) << 2));
	hytest_histogram_clear(&h);
	EXPECT_EQ(0, hytest_histogram_quantile(&h, 0.99));
	for (ns = 1; ns <= 1000; ns++)
		hytest_histogram_add(&h, ns);
	EXPECT_EQ(500.5, hytest_histogram_mean(&h));
	EXPECT_EQ(1, h.min);
	EXPECT_EQ(1000, h.max);
	/* 500 lies in the bucket from 448 to 511. */
	EXPECT_EQ(511, hytest_histogram_quantile(&h, 0.5));
	EXPECT_EQ(1000, hytest_histogram_quantile(&h, 1));
	EXPECT_EQ(1, hytest_histogram_quantile(&h, 0));
}

TEST_HARNESS_MAIN
