// SPDX-License-Identifier: GPL-2.0
/*
 * Interlocks of an experiment file.
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_model.h"
#include "words.h"

#define ANY 1e15
#define LONG_TIME 3600.0	/* s */

/* Which settings belong to which kind of interlock. */
struct kind_keys {
	const char *const *keys;
	size_t n_keys;
};

#define ALL_LOCKS "name", "kind", "delay", "action", "latch"

static const char *const range_keys[] = { ALL_LOCKS, "signal", "low", "high" };
static const char *const rate_keys[] = { ALL_LOCKS, "signal", "high" };
static const char *const difference_keys[] = { ALL_LOCKS, "signal", "high", "other" };
static const char *const rms_keys[] = { ALL_LOCKS, "signal", "high", "other", "window" };
static const char *const line_keys[] = { ALL_LOCKS, "signal", "low" };
static const char *const vital_keys[] = { ALL_LOCKS, "high" };

#define KEYS(keys) { keys, HT_COUNT(keys) }

static const struct kind_keys kind_keys[HT_LOCK_KINDS] = {
	[HT_LOCK_RANGE] = KEYS(range_keys),
	[HT_LOCK_RATE] = KEYS(rate_keys),
	[HT_LOCK_DIFFERENCE] = KEYS(difference_keys),
	[HT_LOCK_RMS] = KEYS(rms_keys),
	[HT_LOCK_ENABLE] = KEYS(line_keys),
	[HT_LOCK_ESTOP] = KEYS(line_keys),
	[HT_LOCK_SCAN] = KEYS(vital_keys),
	[HT_LOCK_LOST] = KEYS(vital_keys),
	[HT_LOCK_WRITE] = KEYS(vital_keys),
	[HT_LOCK_STEP] = KEYS(vital_keys),
	[HT_LOCK_MISSED] = KEYS(vital_keys),
	[HT_LOCK_HEARTBEAT] = KEYS(vital_keys),
};

static bool is_line(const struct ht_image_interlock *lock)
{
	return lock->kind == HT_LOCK_ENABLE || lock->kind == HT_LOCK_ESTOP;
}

/* Limits of what watches the loop itself. */
static int read_vital_limit(struct model *m, const config_setting_t *group,
			    struct ht_image_interlock *lock)
{
	static const struct number_key ticks = { .name = "high", .unit = "ticks", .min = 0,
						 .max = 1e9, .integer = true, .required = true };
	static const struct number_key scans = { .name = "high", .unit = "scans", .min = 0,
						 .max = 1e9, .integer = true, .required = true };
	static const struct number_key seconds = { .name = "high", .unit = "s", .min = 0,
						   .max = LONG_TIME, .required = true };
	const struct number_key *key = &ticks;

	if (lock->kind == HT_LOCK_STEP || lock->kind == HT_LOCK_HEARTBEAT)
		key = &seconds;
	else if (lock->kind == HT_LOCK_LOST)
		key = &scans;
	if (lock->kind == HT_LOCK_HEARTBEAT && !m->header.heartbeat_ms)
		return reader_fail(m->reader, group,
				   "interlock %s watches the heartbeat, but loop.heartbeat is 0 (none); give it a time",
				   lock->name);
	return reader_number_key(m->reader, group, key, &lock->high);
}

static int read_range(struct model *m, const config_setting_t *group,
		      struct ht_image_interlock *lock)
{
	static const struct number_key low = { .name = "low", .unit = "", .min = -ANY, .max = ANY,
					       .preset = -DBL_MAX };
	static const struct number_key high = { .name = "high", .unit = "", .min = -ANY,
						.max = ANY, .preset = DBL_MAX };

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

static int read_limits(struct model *m, const config_setting_t *group,
		       struct ht_image_interlock *lock)
{
	static const struct number_key line = { .name = "low", .unit = "", .min = -ANY,
						.max = ANY, .preset = 0.5 };
	static const struct number_key high = { .name = "high", .unit = "", .min = 0, .max = ANY,
						.required = true };

	if (HT_LOCK_IS_VITAL(lock->kind))
		return read_vital_limit(m, group, lock);
	if (is_line(lock))
		return reader_number_key(m->reader, group, &line, &lock->low);
	if (lock->kind == HT_LOCK_RANGE)
		return read_range(m, group, lock);
	return reader_number_key(m->reader, group, &high, &lock->high);
}

static int read_signal(struct model *m, const config_setting_t *group,
		       struct ht_image_interlock *lock)
{
	const char *name;

	lock->signal = HT_NO_SIGNAL;
	if (HT_LOCK_IS_VITAL(lock->kind))
		return 0;
	if (reader_text(m->reader, group, "signal", true, &name))
		return -1;
	return model_find_signal(m, config_setting_get_member(group, "signal"), name,
				 &lock->signal);
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

static int read_kind(struct model *m, const config_setting_t *group,
		     struct ht_image_interlock *lock)
{
	const char *kinds[HT_LOCK_KINDS], *actions[HT_ACTIONS];
	int kind, action, i;

	for (i = 0; i < HT_LOCK_KINDS; i++)
		kinds[i] = hytest_lock_kind_text(i);
	for (i = 0; i < HT_ACTIONS; i++)
		actions[i] = hytest_action_text(i);
	if (reader_word(m->reader, group, "kind", kinds, HT_LOCK_KINDS, -1, &kind) ||
	    reader_check_keys(m->reader, group, kind_keys[kind].keys, kind_keys[kind].n_keys) ||
	    reader_word(m->reader, group, "action", actions, HT_ACTIONS,
			kind == HT_LOCK_ESTOP ? HT_ACTION_CUT : HT_ACTION_RAMP, &action))
		return -1;
	lock->kind = kind;
	lock->action = action;
	return 0;
}

static int read_interlock(struct model *m, const config_setting_t *group,
			  struct ht_image_interlock *lock)
{
	static const struct number_key delay = { .name = "delay", .unit = "ticks", .min = 0,
						 .max = 1e9, .integer = true };
	double ticks;
	bool latch;

	if (reader_name(m->reader, group, "name", lock->name, sizeof(lock->name)) ||
	    read_kind(m, group, lock) || read_signal(m, group, lock) ||
	    reader_number_key(m->reader, group, &delay, &ticks) ||
	    reader_bool(m->reader, group, "latch", true, &latch))
		return -1;
	lock->delay_ticks = ticks;
	lock->flags = latch ? HT_LOCK_LATCH : 0;
	if (read_limits(m, group, lock) || read_other(m, group, lock))
		return -1;
	return read_window(m, group, lock);
}

int model_read_interlocks(struct model *m)
{
	const config_setting_t *list, *group;
	unsigned int length, i, j;

	if (reader_list(m->reader, m->group, "interlocks", HT_MAX_INTERLOCKS, &list, &length))
		return -1;
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
