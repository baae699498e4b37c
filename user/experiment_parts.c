// SPDX-License-Identifier: GPL-2.0
/*
 * What the parts of a program share: the settings of its loop or rig, its
 * signals, and which of them are recorded.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_model.h"

#define LONG_TIME 3600.0	/* s */

uint64_t model_ticks(const struct model *m, double seconds)
{
	return (uint64_t)floor(seconds / m->period + 0.5);
}

static uint64_t period_of(double rate)
{
	return (uint64_t)(1e9 / rate + 0.5);
}

#define RATE_KEY { .name = "rate", .unit = "Hz", .min = 1, .max = 1e5, .required = true }

enum loop_key {
	RATE, CPU, HEARTBEAT, BUDGET, DEADLINE, DEADLINE_TICKS, MISSED_TICKS,
	SCAN_TICKS, WRITE_TICKS, SOFT_START, SOFT_STOP, HISTORY, POST_TRIP, LOOP_KEYS
};

static const struct number_key loop_keys[LOOP_KEYS] = {
	[RATE] = RATE_KEY,
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
	[SCAN_TICKS] = { .name = "scan_ticks", .unit = "", .min = 1, .max = HT_MAX_LATE_TICKS,
			 .preset = 2, .integer = true },
	[WRITE_TICKS] = { .name = "write_ticks", .unit = "", .min = 1, .max = HT_MAX_LATE_TICKS,
			  .preset = 2, .integer = true },
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
	const config_setting_t *group = config_setting_get_member(m->group, "loop");
	struct ht_image_header *h = &m->header;
	double value[LOOP_KEYS];
	size_t i;

	if (!group)
		return reader_fail(m->reader, m->group,
				   "the group \"loop\" is missing; it needs at least loop = { rate = 1000.0; };");
	if (group->type != CONFIG_TYPE_GROUP)
		return reader_fail(m->reader, group, "loop must be a group: loop = { rate = 1000.0; };");
	if (check_group_keys(m, group, loop_keys, LOOP_KEYS))
		return -1;
	for (i = 0; i < LOOP_KEYS; i++)
		if (reader_number_key(m->reader, group, &loop_keys[i], &value[i]))
			return -1;
	h->kind = HT_IMAGE_LOOP;
	h->period_ns = period_of(value[RATE]);
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
	h->scan_ticks = value[SCAN_TICKS];
	h->write_ticks = value[WRITE_TICKS];
	h->soft_start_ticks = model_ticks(m, value[SOFT_START]);
	h->soft_stop_ticks = model_ticks(m, value[SOFT_STOP]);
	h->post_trip_ticks = model_ticks(m, value[POST_TRIP]);
	return set_history(m, group, value[HISTORY]);
}

int model_read_rig(struct model *m, char *name, size_t size)
{
	static const char *const keys[] = { "name", "rate", "held", "dac", "adc", "blocks" };
	static const struct number_key rate_key = RATE_KEY;
	double rate;
	bool held;

	if (reader_name(m->reader, m->group, "name", name, size) ||
	    reader_check_keys(m->reader, m->group, keys, HT_COUNT(keys)) ||
	    reader_number_key(m->reader, m->group, &rate_key, &rate) ||
	    reader_bool(m->reader, m->group, "held", false, &held))
		return -1;
	m->header.kind = HT_IMAGE_RIG;
	m->header.flags = held ? HT_IMAGE_HELD : 0;
	m->header.period_ns = period_of(rate);
	m->period = (double)m->header.period_ns / 1e9;
	return 0;
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
					   "the signal %s is %s already (line %u); a signal has one writer",
					   name, model_is_rig(m) ? "a dac channel" : "an input",
					   s->setting->line);
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
	return reader_fail(m->reader, at, "no %s and no block writes a signal \"%s\"%s",
			   model_is_rig(m) ? "dac channel" : "input",
			   reader_quote(name, quoted, sizeof(quoted)),
			   suggest_text(&suggestion, hint, sizeof(hint)));
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
	const config_setting_t *s = config_setting_get_member(m->group, "record");
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
	free(m->input_settings);
	free(m->outputs);
	free(m->output_settings);
	free(m->interlocks);
	free(m->interlock_settings);
	free(m->records);
}
