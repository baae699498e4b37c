// SPDX-License-Identifier: GPL-2.0
/*
 * What a black box must hold: see box.h.
 */
#include <hdf5.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blackbox.h"
#include "box.h"
#include "core/loop.h"
#include "log.h"
#include "log_format.h"

#define DIRECTORY "/tmp/fault_campaign"

/* A black box in memory. */
struct box {
	struct bench *bench;
	const struct box_wanted *wanted;
	const struct hytest_trip *trip;
	unsigned char *records;
	size_t record_size;
	uint64_t n_records;
	uint64_t safe_record;	/* the first one with all outputs safe after the trip */
};

static const struct hytest_record *record_of(const struct box *box, uint64_t n)
{
	return (const struct hytest_record *)(box->records + n * box->record_size);
}

static double output_of(const struct box *box, uint64_t n, uint32_t output)
{
	const uint32_t n_signals = box->bench->parts.header->n_records;

	return hytest_double(record_of(box, n)->value[n_signals + output]);
}

static int read_records(struct box *box, const char *path)
{
	struct hytest_message message;
	struct hytest_log_reader *reader = hytest_log_open(path, &message);
	int result = -1;

	if (!reader)
		return bench_fail(box->bench, "%s", message.text);
	box->n_records = hytest_log_n_records(reader);
	box->record_size = hytest_log_record_size(reader);
	box->records = calloc(box->n_records + 1, box->record_size);
	if (!hytest_log_complete(reader) || hytest_log_lost(reader))
		bench_fail(box->bench, "the black box is incomplete, %" PRIu64 " records lost",
			   hytest_log_lost(reader));
	else if (!box->records ||
		 hytest_log_read(reader, 0, box->n_records, box->records, &message))
		bench_fail(box->bench, "%s", message.text);
	else
		result = 0;
	hytest_log_reader_free(reader);
	return result;
}

/* From tick 0 to the last: none missing, the cause from the trip on. */
static int check_sequence(struct box *box)
{
	uint64_t n, tick = 0;

	if (box->n_records != box->bench->status.head)
		return bench_fail(box->bench, "%" PRIu64 " records instead of %llu",
				  box->n_records, (unsigned long long)box->bench->status.head);
	for (n = 0; n < box->n_records; n++) {
		const struct hytest_record *r = record_of(box, n);
		const bool tripped = r->tick >= box->trip->tick;

		tick += r->missed;
		if (r->tick != tick++)
			return bench_fail(box->bench, "the record of tick %" PRIu64 " is missing",
					  tick - 1);
		if (r->state != (tripped ? HYTEST_TRIPPED : HYTEST_RUNNING) ||
		    r->cause != (tripped ? box->trip->cause : HT_CAUSE_NONE))
			return bench_fail(box->bench, "the record of tick %llu has state %s, cause %s",
					  (unsigned long long)r->tick, hytest_state_text(r->state),
					  hytest_cause_text(r->cause));
	}
	return 0;
}

/* Where the action takes an output within one tick. */
static double acted(const struct box *box, uint64_t tick, const struct ht_image_output *o,
		    double from)
{
	const double step = o->ramp * (box->bench->parts.header->period_ns / 1e9);

	if (box->wanted->action == HT_ACTION_CUT)
		return o->safe;
	if (box->wanted->action == HT_ACTION_HOLD && tick < box->wanted->released)
		return from;
	if (fabs(o->safe - from) <= step)
		return o->safe;
	return o->safe > from ? from + step : from - step;
}

/* Every output at every tick; leaves the first record with all of them safe. */
static int check_action(struct box *box)
{
	const struct ht_image *image = &box->bench->parts;
	uint64_t n;
	uint32_t i;

	box->safe_record = box->n_records;
	for (n = 1; n < box->n_records; n++) {
		const uint64_t tick = record_of(box, n)->tick;
		bool safe = true;

		if (tick < box->trip->tick)
			continue;
		for (i = 0; i < image->header->n_outputs; i++) {
			const double now = output_of(box, n, i);
			const double wanted = acted(box, tick, &image->outputs[i],
						    output_of(box, n - 1, i));

			if (now != wanted)
				return bench_fail(box->bench,
						  "output %u at tick %" PRIu64 ": %.9g instead of %.9g",
						  i, tick, now, wanted);
			safe = safe && now == image->outputs[i].safe;
		}
		if (safe && box->safe_record == box->n_records)
			box->safe_record = n;
	}
	if (box->safe_record == box->n_records)
		return bench_fail(box->bench, "the outputs never became safe");
	return 0;
}

static int check_end(struct box *box)
{
	const uint64_t after = box->n_records - 1 - box->safe_record;
	const uint32_t wanted = box->bench->parts.header->post_trip_ticks;

	if (after == wanted)
		return 0;
	return bench_fail(box->bench, "%" PRIu64 " records after safe instead of %u", after,
			  wanted);
}

/* What /trip says. */
static int check_cause(struct box *box, hid_t file)
{
	struct {
		uint64_t tick;
		uint32_t cause;
		uint32_t index;
	} row = { 0 };
	hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(row));
	hid_t dataset = H5Dopen2(file, "/trip", H5P_DEFAULT);
	herr_t result;

	H5Tinsert(type, "tick", 0, H5T_NATIVE_UINT64);
	H5Tinsert(type, "cause", sizeof(row.tick), H5T_NATIVE_UINT32);
	H5Tinsert(type, "index", sizeof(row.tick) + sizeof(row.cause), H5T_NATIVE_UINT32);
	result = H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &row);
	H5Dclose(dataset);
	H5Tclose(type);
	if (result >= 0 && row.tick == box->trip->tick && row.cause == box->trip->cause &&
	    row.index == box->trip->index)
		return 0;
	return bench_fail(box->bench, "/trip has cause %u, index %u, tick %" PRIu64, row.cause,
			  row.index, row.tick);
}

static struct log_event_row *read_events(hid_t file, hssize_t *n)
{
	hid_t dataset = H5Dopen2(file, "/events", H5P_DEFAULT);
	hid_t space = H5Dget_space(dataset);
	hid_t type = log_event_type();
	struct log_event_row *rows;

	*n = H5Sget_simple_extent_npoints(space);
	rows = calloc(*n + 1, sizeof(*rows));
	if (rows && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) < 0)
		*n = 0;
	H5Tclose(type);
	H5Sclose(space);
	H5Dclose(dataset);
	return rows;
}

/* Since the last start: tripped once, for this cause, and safe after that. A wrong one is 2. */
static int check_events(struct box *box, hid_t file)
{
	const uint32_t index = box->trip->cause << 16 | box->trip->index;
	const uint64_t safe_tick = record_of(box, box->safe_record)->tick;
	unsigned int started = 0, tripped = 0, safe = 0;
	struct log_event_row *rows;
	hssize_t i, n;

	rows = read_events(file, &n);
	for (i = 0; rows && i < n; i++) {
		if (rows[i].type == HYTEST_EVENT_STARTED) {
			started = 1;
			tripped = 0;
			safe = 0;
		} else if (rows[i].type == HYTEST_EVENT_TRIPPED) {
			tripped += rows[i].tick == box->trip->tick && rows[i].index == index ?
				   1 : 2;
		} else if (rows[i].type == HYTEST_EVENT_SAFE) {
			safe += rows[i].tick == safe_tick && tripped ? 1 : 2;
		}
	}
	free(rows);
	if (started == 1 && tripped == 1 && safe == 1)
		return 0;
	return bench_fail(box->bench, "events in the black box: started %u, tripped %u, safe %u",
			  started, tripped, safe);
}

static int check_tables(struct box *box, const char *path)
{
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	int result;

	if (file < 0)
		return bench_fail(box->bench, "%s cannot be opened", path);
	result = check_cause(box, file);
	if (!result)
		result = check_events(box, file);
	H5Fclose(file);
	return result;
}

int box_check(struct bench *bench, const struct box_wanted *wanted, uint64_t *n_records)
{
	struct box box = { .bench = bench, .wanted = wanted, .trip = &bench->status.trip };
	struct hytest_black_box saved;
	int result;

	if (hytest_black_box_save(bench->loop, DIRECTORY, &saved) != HYTEST_BLACK_BOX_SAVED)
		return bench_fail(bench, "no black box: %s", saved.message.text);
	result = read_records(&box, saved.path);
	*n_records = box.n_records;
	if (!result)
		result = check_sequence(&box);
	if (!result)
		result = check_action(&box);
	if (!result)
		result = check_end(&box);
	if (!result)
		result = check_tables(&box, saved.path);
	free(box.records);
	unlink(saved.path);
	return result;
}
