// SPDX-License-Identifier: GPL-2.0
/*
 * Replay: runs the program of a log again and compares bit for bit.
 *
 * The records tell all that came from outside: inputs, batches, requests to
 * stop, trips that the core did not make itself, ticks that were missed. How the
 * loop itself was (struct ht_vitals) comes from outside, too: trips by interlocks
 * on it are taken from the log.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kmod/core/fpenv.h"
#include "../kmod/core/loop.h"
#include "log.h"
#include "replay.h"

#define SLAB 4096	/* records read at a time */

struct replayer {
	struct hytest_log_reader *log;
	struct hytest_replay *result;
	struct hytest_message *message;
	const char *path;
	struct ht_image image;
	struct ht_loop *core;
	double *values;			/* of one record, computed */
	double *inputs;
	uint32_t *input_columns;	/* where the record has them */
	const struct hytest_log_change *changes;
	size_t n_changes;
	size_t next_change;
	uint32_t batch;
	uint64_t next_tick;
	bool ended;			/* an incomplete log knows no more */
};

#define complain(r, ...) \
	(snprintf((r)->message->text, sizeof((r)->message->text), __VA_ARGS__), -1)

static const char *signal_name(const struct replayer *r, uint32_t signal)
{
	return r->image.signals[signal].name;
}

/* Every input must have been recorded, or the program cannot be fed. */
static int find_inputs(struct replayer *r)
{
	const struct ht_image_header *h = r->image.header;
	uint32_t i, c;

	for (i = 0; i < h->n_inputs; i++) {
		for (c = 0; c < h->n_records; c++)
			if (r->image.records[c] == r->image.inputs[i].signal)
				break;
		if (c == h->n_records)
			return complain(r, "%s: cannot be replayed: the input '%s' was not recorded",
					r->path, signal_name(r, r->image.inputs[i].signal));
		r->input_columns[i] = c;
	}
	return 0;
}

static int prepare(struct replayer *r)
{
	const struct ht_image_header *h;
	struct ht_error error;
	const void *bytes;
	size_t size;

	bytes = hytest_log_image(r->log, &size);
	ht_image_open(&r->image, bytes);
	h = r->image.header;
	r->n_changes = hytest_log_changes(r->log, &r->changes);
	r->core = calloc(1, ht_loop_bytes(bytes));
	r->values = calloc(h->n_records + h->n_outputs + 1, sizeof(*r->values));
	r->inputs = calloc(h->n_inputs + 1, sizeof(*r->inputs));
	r->input_columns = calloc(h->n_inputs + 1, sizeof(*r->input_columns));
	if (!r->core || !r->values || !r->inputs || !r->input_columns)
		return complain(r, "%s: no memory for the program", r->path);
	if (ht_loop_init(r->core, bytes, &error))
		return complain(r, "%s: the program is refused: %s %u: %s", r->path,
				ht_error_place(error.where), error.index,
				ht_error_text(error.code));
	r->result->signals = h->n_records;
	r->result->outputs = h->n_outputs;
	return find_inputs(r);
}

/* Applies the changes of one batch, which stand together. */
static int apply_batch(struct replayer *r, uint32_t number)
{
	const struct hytest_log_change *from = r->changes + r->next_change;
	struct ht_error error = { 0 };
	struct ht_change *changes;
	size_t i, n = 0;
	int code;

	while (r->next_change + n < r->n_changes && from[n].batch == number)
		n++;
	changes = calloc(n + 1, sizeof(*changes));
	if (!changes)
		return complain(r, "%s: no memory for a batch", r->path);
	for (i = 0; i < n; i++)
		changes[i] = (struct ht_change){
			.param = from[i].param,
			.value = hytest_bits(from[i].value),
		};
	code = ht_program_stage(ht_loop_program(r->core), changes, n, &error);
	free(changes);
	if (code)
		return complain(r, "%s: batch %u is refused: %s", r->path, number,
				ht_error_text(code));
	ht_program_commit(ht_loop_program(r->core));
	r->next_change += n;
	return 0;
}

/* Brings the parameters to the batch that the record says is in force. */
static int follow_batches(struct replayer *r, const struct hytest_record *record)
{
	const struct hytest_log_change *next;

	if (record->batch < r->batch)
		return complain(r, "%s: batch %u after batch %u at tick %" PRIu64, r->path,
				record->batch, r->batch, (uint64_t)record->tick);
	while (r->batch < record->batch) {
		next = r->changes + r->next_change;
		if (r->next_change == r->n_changes || next->batch != r->batch + 1) {
			r->ended = !r->result->complete;
			return complain(r, "%s: batch %u is not in the log", r->path,
					r->batch + 1);
		}
		if (next->tick != record->tick)
			return complain(r, "%s: batch %u took effect at tick %" PRIu64
					" by /batch, at tick %" PRIu64 " by /parameters", r->path,
					r->batch + 1, (uint64_t)record->tick, next->tick);
		if (apply_batch(r, r->batch + 1))
			return -1;
		r->batch++;
		r->result->batches++;
	}
	return 0;
}

/* The interlock on the loop itself that tripped, NULL if none has. */
static const struct ht_image_interlock *vital_lock(const struct replayer *r)
{
	const int i = hytest_log_tripped_lock(r->log);

	return i >= 0 && HT_LOCK_IS_VITAL(r->image.interlocks[i].kind) ? &r->image.interlocks[i] :
									 NULL;
}

static bool is_external(const struct replayer *r, uint32_t cause)
{
	if (cause == HT_CAUSE_INTERLOCK)
		return vital_lock(r);
	return cause != HT_CAUSE_NONE && cause != HT_CAUSE_NOT_FINITE;
}

static uint32_t external_action(const struct replayer *r, uint32_t cause)
{
	return cause == HT_CAUSE_INTERLOCK ? vital_lock(r)->action : HT_ACTION_RAMP;
}

/* Outputs that were held begin to move once the operator has acknowledged. */
static bool hold_ends(const struct replayer *r, const struct hytest_record *record)
{
	const uint32_t n = r->image.header->n_records;

	return ht_loop_first_trip(r->core)->action == HT_ACTION_HOLD &&
	       memcmp(record->value + n, ht_loop_outputs(r->core),
		      r->image.header->n_outputs * sizeof(double));
}

/*
 * An interlock on the loop itself may have cut the outputs after a trip by
 * something else. Where they are safe anyway to cut them changes nothing.
 */
static bool was_cut(const struct replayer *r, const struct hytest_record *record)
{
	const struct ht_image_header *h = r->image.header;
	const uint64_t *outputs = (const uint64_t *)record->value + h->n_records;
	bool can_cut = false;
	uint32_t i;

	for (i = 0; i < h->n_interlocks; i++)
		can_cut |= HT_LOCK_IS_VITAL(r->image.interlocks[i].kind) &&
			   r->image.interlocks[i].action == HT_ACTION_CUT;
	for (i = 0; can_cut && i < h->n_outputs; i++)
		can_cut = hytest_double(outputs[i]) == r->image.outputs[i].safe;
	return can_cut;
}

/* Requests that reached the loop before this tick. */
static void follow_requests(struct replayer *r, const struct hytest_record *record)
{
	if (record->state == HYTEST_STOPPING && ht_loop_mode(r->core) == HT_MODE_RUNNING)
		ht_loop_stop(r->core);
	if (record->state != HYTEST_TRIPPED)
		return;
	if (ht_loop_mode(r->core) != HT_MODE_TRIPPED && is_external(r, record->cause))
		ht_loop_trip(r->core, &(struct ht_trip){
			.cause = record->cause,
			.action = external_action(r, record->cause),
		});
	if (ht_loop_mode(r->core) != HT_MODE_TRIPPED)
		return;
	if (was_cut(r, record))
		ht_loop_trip(r->core, &(struct ht_trip){ .action = HT_ACTION_CUT });
	else if (hold_ends(r, record))
		ht_loop_release(r->core);
}

static void differ(struct replayer *r, const struct hytest_record *record, const char *name,
		   const char *unit, uint64_t logged, uint64_t replayed)
{
	struct hytest_replay *result = r->result;

	result->differs = true;
	result->tick = record->tick;
	result->logged = logged;
	result->replayed = replayed;
	result->is_number = unit;
	snprintf(result->name, sizeof(result->name), "%s", name);
	snprintf(result->unit, sizeof(result->unit), "%s", unit ? unit : "");
}

static uint32_t state_of_mode(enum ht_mode mode)
{
	switch (mode) {
	case HT_MODE_RUNNING:
		return HYTEST_RUNNING;
	case HT_MODE_STOPPING:
		return HYTEST_STOPPING;
	case HT_MODE_TRIPPED:
		return HYTEST_TRIPPED;
	default:
		return HYTEST_LOADED;
	}
}

/*
 * The same bits. One NaN is as good as another: its sign and payload come from
 * the order in which the compiler put the operands.
 */
static bool same(uint64_t a, uint64_t b)
{
	return a == b || (isnan(hytest_double(a)) && isnan(hytest_double(b)));
}

static void compare(struct replayer *r, const struct hytest_record *record)
{
	const struct ht_image_header *h = r->image.header;
	const uint32_t state = state_of_mode(ht_loop_mode(r->core));
	const uint32_t cause = ht_loop_first_trip(r->core)->cause;
	const struct ht_image_signal *signal;
	char name[HT_NAME_LEN + 16];
	uint64_t bits;
	uint32_t c;

	for (c = 0; c < h->n_records + h->n_outputs; c++) {
		bits = hytest_bits(r->values[c]);
		if (same(bits, record->value[c]))
			continue;
		signal = &r->image.signals[c < h->n_records ? r->image.records[c] :
					   r->image.outputs[c - h->n_records].signal];
		snprintf(name, sizeof(name), "%s %s", c < h->n_records ? "signal" : "output",
			 signal->name);
		differ(r, record, name, signal->unit, record->value[c], bits);
		return;
	}
	if (record->state != state)
		differ(r, record, "state", NULL, record->state, state);
	else if (record->cause != cause)
		differ(r, record, "cause", NULL, record->cause, cause);
}

static int check_tick(struct replayer *r, const struct hytest_record *record)
{
	if (record->tick != r->next_tick + record->missed)
		return complain(r, "%s: cannot be replayed: records are missing: tick %" PRIu64
				" where tick %" PRIu64 " should be", r->path,
				(uint64_t)record->tick, r->next_tick + record->missed);
	r->next_tick = record->tick + 1;
	r->result->missed += record->missed;
	return 0;
}

static int replay_record(struct replayer *r, const struct hytest_record *record)
{
	uint32_t i;

	if (check_tick(r, record) || follow_batches(r, record))
		return -1;
	follow_requests(r, record);
	for (i = 0; i < r->image.header->n_inputs; i++)
		r->inputs[i] = hytest_double(record->value[r->input_columns[i]]);
	ht_loop_inputs(r->core, r->inputs);
	ht_loop_tick(r->core, record->tick, r->values);
	compare(r, record);
	if (!r->result->differs)
		r->result->ticks++;
	return 0;
}

static int replay_slab(struct replayer *r, uint64_t first, size_t n, unsigned char *records)
{
	const size_t size = hytest_log_record_size(r->log);
	size_t i;

	if (hytest_log_read(r->log, first, n, records, r->message))
		return -1;
	for (i = 0; i < n && !r->result->differs; i++)
		if (replay_record(r, (const struct hytest_record *)(records + i * size)))
			return r->ended ? 0 : -1;
	return 0;
}

static int replay_records(struct replayer *r)
{
	const uint64_t n_records = hytest_log_n_records(r->log);
	unsigned char *records = calloc(SLAB, hytest_log_record_size(r->log));
	uint64_t first;
	int result = 0;

	if (!records)
		return complain(r, "%s: no memory for records", r->path);
	for (first = 0; !result && first < n_records && !r->result->differs && !r->ended;
	     first += SLAB)
		result = replay_slab(r, first, n_records - first < SLAB ? n_records - first : SLAB,
				     records);
	free(records);
	return result;
}

static int replay(struct replayer *r)
{
	const uint64_t lost = hytest_log_lost(r->log);

	r->result->complete = hytest_log_complete(r->log);
	if (lost)
		return complain(r, "%s: cannot be replayed: %" PRIu64
				" records were overwritten before they were logged", r->path, lost);
	if (prepare(r))
		return -1;
	/* Changes made before the start. */
	if (r->n_changes && !r->changes[0].batch && apply_batch(r, 0))
		return -1;
	ht_loop_start(r->core);
	return replay_records(r);
}

int hytest_replay_log(const char *path, struct hytest_replay *result,
		      struct hytest_message *message)
{
	struct replayer r = { .result = result, .message = message, .path = path };
	ht_u32 environment;
	int code;

	*result = (struct hytest_replay){ 0 };
	r.log = hytest_log_open(path, message);
	if (!r.log)
		return -2;
	environment = ht_fpenv_enter();
	code = replay(&r);
	ht_fpenv_leave(environment);
	free(r.core);
	free(r.values);
	free(r.inputs);
	free(r.input_columns);
	hytest_log_reader_free(r.log);
	return code;
}
