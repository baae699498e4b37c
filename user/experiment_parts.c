// SPDX-License-Identifier: GPL-2.0
/*
 * The parts of an experiment file around its blocks: loop, inputs, outputs,
 * interlocks and record.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_model.h"

#define LONG_TIME 3600.0	/* s */
#define ANY 1e15

uint64_t model_ticks(const struct model *m, double seconds)
{
	return (uint64_t)floor(seconds / m->period + 0.5);
}

enum loop_key {
	RATE, CPU, HEARTBEAT, BUDGET, DEADLINE, DEADLINE_TICKS, MISSED_TICKS,
	SOFT_START, SOFT_STOP, HISTORY, POST_TRIP, LOOP_KEYS
};

static const struct number_key loop_keys[LOOP_KEYS] = {
	[RATE] = { .name = "rate", .unit = "Hz", .min = 1, .max = 1e5, .required = true },
	[CPU] = { .name = "cpu", .unit = "", .min = -1, .max = 8191, .preset = -1,
		  .integer = true },
	[HEARTBEAT] = { .name = "heartbeat", .unit = "s", .min = 0, .max = LONG_TIME,
			.preset = 1 },
	[BUDGET] = { .name = "budget", .unit = "of the period", .min = 0.001, .max = 0.75,
		     .preset = 0.5 },
	[DEADLINE] = { .name = "deadline", .unit = "of the period", .min = 0.001, .max = 1,
		       .preset = 1 },
	[DEADLINE_TICKS] = { .name = "deadline_ticks", .unit = "", .min = 1, .max = 1000,
			     .preset = 1, .integer = true },
	[MISSED_TICKS] = { .name = "missed_ticks", .unit = "", .min = 0, .max = 1e6,
			   .preset = 1, .integer = true },
	[SOFT_START] = { .name = "soft_start", .unit = "s", .min = 0, .max = LONG_TIME,
			 .preset = 1 },
	[SOFT_STOP] = { .name = "soft_stop", .unit = "s", .min = 0, .max = LONG_TIME,
			.preset = 1 },
	[HISTORY] = { .name = "history", .unit = "s", .min = 0, .max = LONG_TIME, .preset = 10 },
	[POST_TRIP] = { .name = "post_trip", .unit = "s", .min = 0, .max = LONG_TIME,
			.preset = 1 },
};

static int check_group_keys(const struct model *m, const config_setting_t *group,
			    const struct number_key *keys, size_t n)
{
	const char *names[LOOP_KEYS];
	size_t i;

	for (i = 0; i < n; i++)
		names[i] = keys[i].name;
	return reader_check_keys(m->reader, group, names, n);
}

static int set_history(struct model *m, const config_setting_t *group, double history)
{
	const config_setting_t *s = config_setting_get_member(group, "history");
	uint64_t wanted = model_ticks(m, history);
	uint32_t records = 64;

	while (records < wanted && records < HT_MAX_RING)
		records *= 2;
	if (records < wanted)
		return reader_fail(m->reader, s ? s : group,
				   "loop.history is %.9g s; at this rate it can be at most %.9g s",
				   history, HT_MAX_RING * m->period);
	m->header.ring_records = records;
	return 0;
}

int model_read_loop(struct model *m)
{
	const config_setting_t *root = config_root_setting(m->reader->config);
	const config_setting_t *group = config_setting_get_member(root, "loop");
	struct ht_image_header *h = &m->header;
	double value[LOOP_KEYS];
	size_t i;

	if (!group)
		return reader_fail(m->reader, root,
				   "the group \"loop\" is missing; it needs at least loop = { rate = 1000.0; };");
	if (group->type != CONFIG_TYPE_GROUP)
		return reader_fail(m->reader, group, "loop must be a group: loop = { rate = 1000.0; };");
	if (check_group_keys(m, group, loop_keys, LOOP_KEYS))
		return -1;
	for (i = 0; i < LOOP_KEYS; i++)
		if (reader_number_key(m->reader, group, &loop_keys[i], &value[i]))
			return -1;
	h->period_ns = (uint64_t)(1e9 / value[RATE] + 0.5);
	m->period = (double)h->period_ns / 1e9;
	h->heartbeat_ms = (uint32_t)(value[HEARTBEAT] * 1e3 + 0.5);
	if (value[HEARTBEAT] > 0 && !h->heartbeat_ms)
		return reader_fail(m->reader, config_setting_get_member(group, "heartbeat"),
				   "loop.heartbeat is %.9g s; it must be 0 (none) or at least 0.001 s",
				   value[HEARTBEAT]);
	h->budget_ns = (uint32_t)(value[BUDGET] * (double)h->period_ns);
	h->deadline_ns = (uint32_t)(value[DEADLINE] * (double)h->period_ns);
	h->deadline_ticks = value[DEADLINE_TICKS];
	h->missed_ticks = value[MISSED_TICKS];
	h->soft_start_ticks = model_ticks(m, value[SOFT_START]);
	h->soft_stop_ticks = model_ticks(m, value[SOFT_STOP]);
	h->post_trip_ticks = model_ticks(m, value[POST_TRIP]);
	return set_history(m, group, value[HISTORY]);
}

int model_add_signal(struct model *m, const config_setting_t *at, const char *name,
		     uint32_t writer, struct model_signal **signal)
{
	struct model_signal *s;
	uint32_t i;

	for (i = 0; i < m->n_signals; i++) {
		s = &m->signals[i];
		if (strcmp(s->image.name, name))
			continue;
		if (s->writer == AN_INPUT)
			return reader_fail(m->reader, at,
					   "the signal %s is an input already (line %u); a signal has one writer",
					   name, s->setting->line);
		return reader_fail(m->reader, at,
				   "the signal %s is written by block %s already (line %u); a signal has one writer",
				   name, m->blocks[s->writer].image.name, s->setting->line);
	}
	if (m->n_signals == HT_MAX_SIGNALS)
		return reader_fail(m->reader, at, "there are more than %u signals; at most so many",
				   HT_MAX_SIGNALS);
	if (m->n_signals == m->signals_room) {
		const uint32_t room = m->signals_room ? 2 * m->signals_room : 16;

		s = realloc(m->signals, room * sizeof(*s));
		if (!s)
			return reader_no_memory(m->reader);
		m->signals = s;
		m->signals_room = room;
	}
	s = &m->signals[m->n_signals++];
	memset(s, 0, sizeof(*s));
	memcpy(s->image.name, name, strlen(name));
	s->setting = at;
	s->writer = writer;
	*signal = s;
	return 0;
}

int model_find_signal(const struct model *m, const config_setting_t *at, const char *name,
		      uint32_t *signal)
{
	struct suggestion suggestion;
	char hint[96], quoted[48];
	uint32_t i;

	suggest_begin(&suggestion, name);
	for (i = 0; i < m->n_signals; i++) {
		if (!strcmp(m->signals[i].image.name, name)) {
			*signal = i;
			return 0;
		}
		suggest_offer(&suggestion, m->signals[i].image.name);
	}
	return reader_fail(m->reader, at, "no input and no block writes a signal \"%s\"%s",
			   reader_quote(name, quoted, sizeof(quoted)),
			   suggest_text(&suggestion, hint, sizeof(hint)));
}

int model_read_inputs(struct model *m)
{
	static const char *const keys[] = { "signal", "unit", "initial" };
	static const struct number_key initial = { .name = "initial", .unit = "", .min = -ANY,
						   .max = ANY };
	const config_setting_t *list, *group, *unit;
	char name[HT_NAME_LEN];
	struct model_signal *signal;
	unsigned int length, i;

	if (reader_list(m->reader, "inputs", &list, &length))
		return -1;
	if (length > HT_MAX_CHANNELS)
		return reader_fail(m->reader, list, "there are %u inputs; at most %u", length,
				   HT_MAX_CHANNELS);
	m->inputs = calloc(length + 1, sizeof(*m->inputs));
	if (!m->inputs)
		return reader_no_memory(m->reader);
	for (i = 0; i < length; i++) {
		group = reader_group(m->reader, list, i);
		if (!group || reader_check_keys(m->reader, group, keys, HT_COUNT(keys)) ||
		    reader_name(m->reader, group, "signal", name, sizeof(name)) ||
		    model_add_signal(m, config_setting_get_member(group, "signal"), name,
				     AN_INPUT, &signal) ||
		    reader_number_key(m->reader, group, &initial, &signal->image.initial))
			return -1;
		unit = config_setting_get_member(group, "unit");
		if (unit && reader_unit(m->reader, unit, signal->image.unit,
					sizeof(signal->image.unit)))
			return -1;
		m->inputs[i].signal = signal - m->signals;
		m->n_inputs++;
	}
	return 0;
}

enum output_key { SAFE, MIN, MAX, SLEW, RAMP, OUTPUT_KEYS };

static const struct number_key output_keys[OUTPUT_KEYS] = {
	[SAFE] = { .name = "safe", .unit = "", .min = -ANY, .max = ANY },
	[MIN] = { .name = "min", .unit = "", .min = -ANY, .max = ANY, .required = true },
	[MAX] = { .name = "max", .unit = "", .min = -ANY, .max = ANY, .required = true },
	[SLEW] = { .name = "slew", .unit = "1/s", .min = 0, .max = ANY },
	[RAMP] = { .name = "ramp", .unit = "1/s", .min = 1e-9, .max = ANY, .required = true },
};

static int read_output(struct model *m, const config_setting_t *group,
		       struct ht_image_output *output)
{
	static const char *const keys[] = { "signal", "safe", "min", "max", "slew", "ramp" };
	const config_setting_t *safe;
	double value[OUTPUT_KEYS];
	const char *name;
	size_t i;

	if (reader_check_keys(m->reader, group, keys, HT_COUNT(keys)) ||
	    reader_text(m->reader, group, "signal", true, &name) ||
	    model_find_signal(m, config_setting_get_member(group, "signal"), name,
			      &output->signal))
		return -1;
	for (i = 0; i < OUTPUT_KEYS; i++) {
		if (output_keys[i].required &&
		    !config_setting_get_member(group, output_keys[i].name))
			return reader_fail(m->reader, group,
					   "output %s has no %s; every output needs min, max and ramp (1/s), the limits that keep the rig whole",
					   name, output_keys[i].name);
		if (reader_number_key(m->reader, group, &output_keys[i], &value[i]))
			return -1;
	}
	if (value[MIN] > value[MAX])
		return reader_fail(m->reader, config_setting_get_member(group, "min"),
				   "output %s has min %.9g above max %.9g", name, value[MIN],
				   value[MAX]);
	safe = config_setting_get_member(group, "safe");
	if (value[SAFE] < value[MIN] || value[SAFE] > value[MAX])
		return reader_fail(m->reader, safe ? safe : group,
				   "output %s has safe = %.9g%s; it must be from min %.9g to max %.9g",
				   name, value[SAFE], safe ? "" : " by default", value[MIN],
				   value[MAX]);
	output->safe = value[SAFE];
	output->min = value[MIN];
	output->max = value[MAX];
	output->slew = value[SLEW];
	output->ramp = value[RAMP];
	return 0;
}

int model_read_outputs(struct model *m)
{
	const config_setting_t *list, *group;
	unsigned int length, i, j;

	if (reader_list(m->reader, "outputs", &list, &length))
		return -1;
	if (length > HT_MAX_CHANNELS)
		return reader_fail(m->reader, list, "there are %u outputs; at most %u", length,
				   HT_MAX_CHANNELS);
	m->outputs = calloc(length + 1, sizeof(*m->outputs));
	m->output_settings = calloc(length + 1, sizeof(*m->output_settings));
	if (!m->outputs || !m->output_settings)
		return reader_no_memory(m->reader);
	for (i = 0; i < length; i++) {
		group = reader_group(m->reader, list, i);
		if (!group || read_output(m, group, &m->outputs[i]))
			return -1;
		for (j = 0; j < i; j++)
			if (m->outputs[j].signal == m->outputs[i].signal)
				return reader_fail(m->reader, group,
						   "the signal %s is an output already (line %u)",
						   m->signals[m->outputs[i].signal].image.name,
						   m->output_settings[j]->line);
		m->output_settings[i] = group;
		m->n_outputs++;
	}
	return 0;
}

static const char *const kind_words[HT_LOCK_KINDS] = {
	[HT_LOCK_RANGE] = "range",
	[HT_LOCK_RATE] = "rate",
	[HT_LOCK_DIFFERENCE] = "difference",
	[HT_LOCK_RMS] = "rms",
};

static const char *const action_words[HT_ACTIONS] = {
	[HT_ACTION_RAMP] = "ramp",
	[HT_ACTION_HOLD] = "hold",
	[HT_ACTION_CUT] = "cut",
};

/* Which settings belong to which kind of interlock. */
struct kind_keys {
	const char *const *keys;
	size_t n_keys;
};

#define ALL_LOCKS "name", "kind", "signal", "delay", "action", "high"

static const char *const range_keys[] = { ALL_LOCKS, "low" };
static const char *const rate_keys[] = { ALL_LOCKS };
static const char *const difference_keys[] = { ALL_LOCKS, "other" };
static const char *const rms_keys[] = { ALL_LOCKS, "other", "window" };

static const struct kind_keys kind_keys[HT_LOCK_KINDS] = {
	[HT_LOCK_RANGE] = { range_keys, HT_COUNT(range_keys) },
	[HT_LOCK_RATE] = { rate_keys, HT_COUNT(rate_keys) },
	[HT_LOCK_DIFFERENCE] = { difference_keys, HT_COUNT(difference_keys) },
	[HT_LOCK_RMS] = { rms_keys, HT_COUNT(rms_keys) },
};

static int read_limits(struct model *m, const config_setting_t *group,
		       struct ht_image_interlock *lock)
{
	const struct number_key low = { .name = "low", .unit = "", .min = -ANY, .max = ANY,
					.preset = -DBL_MAX };
	struct number_key high = { .name = "high", .unit = "", .min = -ANY, .max = ANY,
				   .preset = DBL_MAX };

	if (lock->kind != HT_LOCK_RANGE) {
		high.required = true;
		high.min = 0;
		return reader_number_key(m->reader, group, &high, &lock->high);
	}
	if (!config_setting_get_member(group, "low") && !config_setting_get_member(group, "high"))
		return reader_fail(m->reader, group, "interlock %s needs low, high or both",
				   lock->name);
	if (reader_number_key(m->reader, group, &low, &lock->low) ||
	    reader_number_key(m->reader, group, &high, &lock->high))
		return -1;
	if (lock->low > lock->high)
		return reader_fail(m->reader, config_setting_get_member(group, "low"),
				   "interlock %s has low %.9g above high %.9g", lock->name,
				   lock->low, lock->high);
	return 0;
}

static int read_other(struct model *m, const config_setting_t *group,
		      struct ht_image_interlock *lock)
{
	const struct ht_image_signal *signal, *other;
	const char *name;

	lock->other = HT_NO_SIGNAL;
	if (lock->kind != HT_LOCK_DIFFERENCE && lock->kind != HT_LOCK_RMS)
		return 0;
	if (reader_text(m->reader, group, "other", lock->kind == HT_LOCK_DIFFERENCE, &name))
		return -1;
	if (!name)
		return 0;
	if (model_find_signal(m, config_setting_get_member(group, "other"), name, &lock->other))
		return -1;
	signal = &m->signals[lock->signal].image;
	other = &m->signals[lock->other].image;
	if (strcmp(signal->unit, other->unit))
		return reader_fail(m->reader, config_setting_get_member(group, "other"),
				   "interlock %s compares %s [%s] with %s [%s]; their units must be the same",
				   lock->name, signal->name, signal->unit, other->name,
				   other->unit);
	return 0;
}

static int read_window(struct model *m, const config_setting_t *group,
		       struct ht_image_interlock *lock)
{
	const struct number_key window = { .name = "window", .unit = "s", .min = m->period,
					   .max = HT_MAX_RING * m->period, .required = true };
	double value;

	if (lock->kind != HT_LOCK_RMS)
		return 0;
	if (reader_number_key(m->reader, group, &window, &value))
		return -1;
	lock->window_ticks = model_ticks(m, value);
	return 0;
}

static int read_interlock(struct model *m, const config_setting_t *group,
			  struct ht_image_interlock *lock)
{
	const struct number_key delay = { .name = "delay", .unit = "ticks", .min = 0, .max = 1e9,
					  .integer = true };
	const char *name;
	double ticks;
	int kind, action;

	if (reader_name(m->reader, group, "name", lock->name, sizeof(lock->name)) ||
	    reader_word(m->reader, group, "kind", kind_words, HT_LOCK_KINDS, -1, &kind) ||
	    reader_check_keys(m->reader, group, kind_keys[kind].keys, kind_keys[kind].n_keys) ||
	    reader_word(m->reader, group, "action", action_words, HT_ACTIONS, HT_ACTION_RAMP,
			&action) ||
	    reader_text(m->reader, group, "signal", true, &name) ||
	    model_find_signal(m, config_setting_get_member(group, "signal"), name,
			      &lock->signal) ||
	    reader_number_key(m->reader, group, &delay, &ticks))
		return -1;
	lock->kind = kind;
	lock->action = action;
	lock->delay_ticks = ticks;
	if (read_limits(m, group, lock) || read_other(m, group, lock))
		return -1;
	return read_window(m, group, lock);
}

int model_read_interlocks(struct model *m)
{
	const config_setting_t *list, *group;
	unsigned int length, i, j;

	if (reader_list(m->reader, "interlocks", &list, &length))
		return -1;
	if (length > HT_MAX_INTERLOCKS)
		return reader_fail(m->reader, list, "there are %u interlocks; at most %u", length,
				   HT_MAX_INTERLOCKS);
	m->interlocks = calloc(length + 1, sizeof(*m->interlocks));
	m->interlock_settings = calloc(length + 1, sizeof(*m->interlock_settings));
	if (!m->interlocks || !m->interlock_settings)
		return reader_no_memory(m->reader);
	for (i = 0; i < length; i++) {
		group = reader_group(m->reader, list, i);
		if (!group || read_interlock(m, group, &m->interlocks[i]))
			return -1;
		for (j = 0; j < i; j++)
			if (!strcmp(m->interlocks[j].name, m->interlocks[i].name))
				return reader_fail(m->reader, group,
						   "a second interlock is called %s; choose another name",
						   m->interlocks[i].name);
		m->interlock_settings[i] = group;
		m->n_interlocks++;
	}
	return 0;
}

static bool recorded(const struct model *m, uint32_t signal)
{
	uint32_t i;

	for (i = 0; i < m->n_records; i++)
		if (m->records[i] == signal)
			return true;
	return false;
}

int model_read_record(struct model *m)
{
	const config_setting_t *root = config_root_setting(m->reader->config);
	const config_setting_t *s = config_setting_get_member(root, "record");
	unsigned int length, i;
	uint32_t signal;

	m->records = calloc(m->n_signals + 1, sizeof(*m->records));
	if (!m->records)
		return reader_no_memory(m->reader);
	if (!s) {
		for (i = 0; i < m->n_signals; i++)
			m->records[m->n_records++] = i;
		return 0;
	}
	if (reader_strings(m->reader, s, &length))
		return -1;
	for (i = 0; i < length; i++) {
		const config_setting_t *name = reader_element(s, i);

		if (model_find_signal(m, name, name->value.sval, &signal))
			return -1;
		if (recorded(m, signal))
			return reader_fail(m->reader, name, "record names the signal %s twice",
					   name->value.sval);
		m->records[m->n_records++] = signal;
	}
	/* Without its inputs a run could not be replayed. */
	for (i = 0; i < m->n_inputs; i++)
		if (!recorded(m, m->inputs[i].signal))
			m->records[m->n_records++] = m->inputs[i].signal;
	return 0;
}

void model_free(struct model *m)
{
	uint32_t i;
	size_t f;

	for (i = 0; i < m->n_blocks; i++) {
		for (f = 0; f < HT_MAX_FIELDS; f++)
			free(m->blocks[i].field[f]);
		free(m->blocks[i].wires);
	}
	free(m->blocks);
	free(m->order);
	free(m->signals);
	free(m->inputs);
	free(m->outputs);
	free(m->output_settings);
	free(m->interlocks);
	free(m->interlock_settings);
	free(m->records);
}
