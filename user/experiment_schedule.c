// SPDX-License-Identifier: GPL-2.0
/*
 * Timed parameter changes of an experiment file:
 *
 *	changes = ( { at = 2.0; set = ["drive.omega = 13", "drive.cos[0] = 2*a"]; } );
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kmod/core/fpenv.h"
#include "experiment_schedule.h"
#include "param_names.h"

#define MAX_BATCH 65536		/* HYTEST_MAX_CHANGES of linux/hytest.h */

static const struct model_block *find_block(const struct model *m, const char *name,
					    struct suggestion *suggestion)
{
	uint32_t i;

	suggest_begin(suggestion, name);
	for (i = 0; i < m->n_blocks; i++) {
		if (!strcmp(m->blocks[i].image.name, name))
			return &m->blocks[i];
		suggest_offer(suggestion, m->blocks[i].image.name);
	}
	return NULL;
}

/* Says why there is no parameter of this name. */
static int no_param(const struct model *m, const config_setting_t *at, char *name)
{
	char *dot = strchr(name, '.'), *field, *bracket;
	const struct model_block *b;
	struct suggestion suggestion;
	char hint[96];
	ht_u32 f;

	if (!dot)
		return reader_fail(m->reader, at,
				   "\"%.64s\" is no parameter; write \"BLOCK.FIELD = VALUE\" or \"BLOCK.FIELD[3] = VALUE\"",
				   name);
	*dot = '\0';
	b = find_block(m, name, &suggestion);
	if (!b)
		return reader_fail(m->reader, at, "there is no block \"%.64s\"%s", name,
				   suggest_text(&suggestion, hint, sizeof(hint)));
	field = dot + 1;
	bracket = strchr(field, '[');
	if (bracket)
		*bracket = '\0';
	suggest_begin(&suggestion, field);
	for (f = 0; f < b->type->n_fields; f++) {
		if (!strcmp(b->type->fields[f].name, field))
			break;
		suggest_offer(&suggestion, b->type->fields[f].name);
	}
	if (f == b->type->n_fields)
		return reader_fail(m->reader, at, "block %s (%s) has no field \"%.64s\"%s", name,
				   b->type->name, field,
				   suggest_text(&suggestion, hint, sizeof(hint)));
	if (b->type->fields[f].flags & HT_FIELD_DATA)
		return reader_fail(m->reader, at, "%s.%s is a constant table; it cannot change",
				   name, field);
	if (!b->count[f])
		return reader_fail(m->reader, at, "%s.%s has no elements here", name, field);
	if (b->count[f] == 1)
		return reader_fail(m->reader, at, "%s.%s has one element; write it without an index",
				   name, field);
	return reader_fail(m->reader, at, "%s.%s has %u elements; write one of %s.%s[0] ... %s.%s[%u]",
			   name, field, b->count[f], name, field, name, field, b->count[f] - 1);
}

static void trim(char *text)
{
	size_t length = strlen(text);

	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
	memmove(text, text + strspn(text, " \t"), strlen(text + strspn(text, " \t")) + 1);
}

/* The value of a change may be a word where the field has words. */
static bool find_word(const struct model *m, const void *image, uint32_t param, const char *text,
		      double *value)
{
	const struct ht_field *field;
	struct ht_param_place place;
	char word[40];
	ht_u32 i;

	ht_param_place(image, param, &place);
	field = &m->blocks[m->order[place.block]].type->fields[place.field];
	snprintf(word, sizeof(word), "%s", text + strspn(text, " \t"));
	trim(word);
	for (i = 0; field->words && field->words[i]; i++) {
		if (!strcmp(field->words[i], word)) {
			*value = i;
			return true;
		}
	}
	return false;
}

static int read_change(const struct model *m, const void *image, const config_setting_t *at,
		       struct ht_change *change)
{
	char name[HYTEST_PARAM_NAME_LEN];
	const char *text = at->value.sval;
	const char *equals = strchr(text, '=');
	size_t length = equals ? (size_t)(equals - text) : strlen(text);
	union ht_real value;

	if (length >= sizeof(name))
		length = sizeof(name) - 1;
	memcpy(name, text, length);
	name[length] = '\0';
	trim(name);
	if (!equals)
		return reader_fail(m->reader, at, "\"%s\" is no change; write \"BLOCK.FIELD = VALUE\"",
				   name);
	if (hytest_param_find(image, name, &change->param))
		return no_param(m, at, name);
	if (!find_word(m, image, change->param, equals + 1, &value.value) &&
	    reader_expression(m->reader, at, equals + 1, &value.value))
		return -1;
	change->value = value.bits;
	return 0;
}

static int explain(const struct model *m, const void *image, const config_setting_t *set,
		   const struct ht_change *changes, uint32_t n, const struct ht_error *error)
{
	const config_setting_t *at = set;
	char name[HYTEST_PARAM_NAME_LEN] = "";
	struct ht_param_place place;
	const struct ht_field *field;

	if (error->where == HT_AT_PARAM && error->index < n) {
		const struct ht_change *change = &changes[error->index];

		at = reader_element(set, error->index);
		hytest_param_name(image, change->param, name, sizeof(name));
		ht_param_place(image, change->param, &place);
		field = &m->blocks[m->order[place.block]].type->fields[place.field];
		if (error->code == HT_ERR_RANGE)
			return reader_fail(m->reader, at, "%s must be from %.9g to %.9g%s%s", name,
					   field->min, field->max, *field->unit ? " " : "",
					   field->unit);
		return reader_fail(m->reader, at, "%s: %s", name, ht_error_text(error->code));
	}
	if (error->where == HT_AT_BLOCK && error->index < m->n_blocks) {
		const struct model_block *b = &m->blocks[m->order[error->index]];

		return reader_fail(m->reader, at, "block %s would get wrong values: %s%s%s",
				   b->image.name, ht_error_text(error->code),
				   error->item < b->type->n_fields ? ": " : "",
				   error->item < b->type->n_fields ?
				   b->type->fields[error->item].name : "");
	}
	return reader_fail(m->reader, at, "%s", ht_error_text(error->code));
}

/* Would the loop take this batch? */
static int try_batch(const struct model *m, const void *image, struct ht_loop *loop,
		     const config_setting_t *set, const struct hytest_scheduled *batch)
{
	struct ht_program *program = ht_loop_program(loop);
	struct ht_error error;
	ht_u32 environment;
	int code;

	environment = ht_fpenv_enter();
	code = ht_program_stage(program, batch->changes, batch->count, &error);
	if (!code)
		ht_program_commit(program);
	ht_fpenv_leave(environment);
	if (!code)
		return 0;
	return explain(m, image, set, batch->changes, batch->count, &error);
}

static int read_batch(const struct model *m, const void *image, const config_setting_t *group,
		      struct ht_change *changes, struct hytest_scheduled *batch)
{
	static const char *const keys[] = { "at", "set" };
	static const struct number_key key = { .name = "at", .unit = "s", .min = 0, .max = 1e7,
					       .required = true };
	const config_setting_t *set = config_setting_get_member(group, "set");
	unsigned int length, i;
	double at;

	if (reader_check_keys(m->reader, group, keys, 2) ||
	    reader_number_key(m->reader, group, &key, &at))
		return -1;
	if (!set)
		return reader_fail(m->reader, group,
				   "the change at %.9g s needs set = [\"BLOCK.FIELD = VALUE\"]",
				   at);
	if (reader_strings(m->reader, set, &length))
		return -1;
	if (length < 1 || length > MAX_BATCH)
		return reader_fail(m->reader, set, "set has %u changes; it must have 1 to %u",
				   length, MAX_BATCH);
	batch->tick = model_ticks(m, at);
	if (!batch->tick)
		return reader_fail(m->reader, config_setting_get_member(group, "at"),
				   "the change at %.9g s is before tick 1; set the value in the block instead",
				   at);
	for (i = 0; i < length; i++)
		if (read_change(m, image, reader_element(set, i), &changes[i]))
			return -1;
	batch->changes = changes;
	batch->count = length;
	return 0;
}

/* Elements of all sets, whatever they are. */
static size_t count_changes(const config_setting_t *list, unsigned int length)
{
	size_t count = 0;
	unsigned int i;

	for (i = 0; i < length; i++) {
		const config_setting_t *group = config_setting_get_elem(list, i), *set = NULL;

		if (group->type == CONFIG_TYPE_GROUP)
			set = config_setting_get_member(group, "set");
		if (set && config_setting_is_aggregate(set))
			count += config_setting_length(set);
		else
			count++;
	}
	return count;
}

int schedule_read(struct schedule *schedule, const struct model *m, const void *image,
		  struct ht_loop *loop)
{
	const config_setting_t *list, *group;
	struct ht_change *changes;
	unsigned int length, i;

	if (reader_list(m->reader, m->group, "changes", INT_MAX, &list, &length))
		return -1;
	if (!length)
		return 0;
	schedule->batches = calloc(length, sizeof(*schedule->batches));
	schedule->changes = calloc(count_changes(list, length) + 1, sizeof(*schedule->changes));
	if (!schedule->batches || !schedule->changes)
		return reader_no_memory(m->reader);
	changes = schedule->changes;
	for (i = 0; i < length; i++) {
		struct hytest_scheduled *batch = &schedule->batches[i];

		group = reader_group(m->reader, list, i);
		if (!group || read_batch(m, image, group, changes, batch))
			return -1;
		if (i && batch->tick <= batch[-1].tick)
			return reader_fail(m->reader, group,
					   "this change is not later than the one before it; changes must be in order of time, at least a tick apart");
		if (try_batch(m, image, loop, config_setting_get_member(group, "set"), batch))
			return -1;
		changes += batch->count;
		schedule->n_batches++;
	}
	return 0;
}

void schedule_free(struct schedule *schedule)
{
	free(schedule->batches);
	free(schedule->changes);
}
