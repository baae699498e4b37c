// SPDX-License-Identifier: GPL-2.0
/*
 * Overrides: --set PATH=VALUE replaces one setting of the file.
 *
 * The setting must exist, so that a slip of the pen does not go unnoticed.
 * PATH is K, loop.rate, blocks.spring.K, blocks.[2].gain or outputs.y.max: an
 * element of a list is addressed by its number (from 0), its name or its
 * signal. VALUE is read by libconfig; what it cannot read is taken as a string,
 * so that expressions and words need no quotes.
 *
 * The tree of settings is copied with the setting replaced, because libconfig
 * can neither change the type nor keep the order of settings in place.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_reader.h"

/* What the copy has to do differently. */
struct replacement {
	const config_setting_t *target;
	const config_setting_t *value;
	const char *override;
};

static void copy_line(config_setting_t *to, const config_setting_t *from)
{
	to->line = from->line;
	to->hook = from->hook;
}

static int copy_scalar(config_setting_t *to, const config_setting_t *from)
{
	switch (from->type) {
	case CONFIG_TYPE_INT:
		return config_setting_set_int(to, from->value.ival);
	case CONFIG_TYPE_INT64:
		return config_setting_set_int64(to, from->value.llval);
	case CONFIG_TYPE_FLOAT:
		return config_setting_set_float(to, from->value.fval);
	case CONFIG_TYPE_BOOL:
		return config_setting_set_bool(to, from->value.ival);
	case CONFIG_TYPE_STRING:
		return config_setting_set_string(to, from->value.sval);
	default:
		return CONFIG_FALSE;
	}
}

static int copy_members(config_setting_t *to, const config_setting_t *from,
			const struct replacement *replacement)
{
	int i;

	for (i = 0; i < config_setting_length(from); i++) {
		const config_setting_t *member = config_setting_get_elem(from, i);
		const config_setting_t *source = member;
		config_setting_t *copy;

		if (member == replacement->target)
			source = replacement->value;
		copy = config_setting_add(to, member->name, source->type);
		if (!copy)
			return -1;
		copy_line(copy, member);
		if (source != member)
			copy->hook = (void *)replacement->override;
		if (config_setting_is_aggregate(source)) {
			if (copy_members(copy, source, replacement))
				return -1;
		} else if (!copy_scalar(copy, source)) {
			return -1;
		}
	}
	return 0;
}

static bool is_number(const char *text)
{
	size_t i;

	for (i = 0; isdigit((unsigned char)text[i]); i++)
		;
	return i > 0 && i < 9 && !text[i];
}

/* Which element of a list is called so, by its "name" or its "signal". */
static const config_setting_t *find_named(const config_setting_t *list, const char *name,
					  struct suggestion *suggestion)
{
	static const char *const keys[] = { "name", "signal" };
	size_t k;
	int i;

	for (i = 0; i < config_setting_length(list); i++) {
		const config_setting_t *group = config_setting_get_elem(list, i);

		for (k = 0; group->type == CONFIG_TYPE_GROUP && k < 2; k++) {
			const config_setting_t *s = config_setting_get_member(group, keys[k]);

			if (!s || s->type != CONFIG_TYPE_STRING)
				continue;
			if (!strcmp(s->value.sval, name))
				return group;
			suggest_offer(suggestion, s->value.sval);
			break;
		}
	}
	return NULL;
}

static const config_setting_t *find_member(const config_setting_t *parent, const char *name,
					   struct suggestion *suggestion)
{
	int i;

	suggest_begin(suggestion, name);
	if (parent->type == CONFIG_TYPE_GROUP) {
		for (i = 0; i < config_setting_length(parent); i++) {
			const config_setting_t *member = config_setting_get_elem(parent, i);

			if (!strcmp(member->name, name))
				return member;
			suggest_offer(suggestion, member->name);
		}
		return NULL;
	}
	if (!config_setting_is_aggregate(parent))
		return NULL;
	if (is_number(name))
		return config_setting_get_elem(parent, atoi(name));
	return find_named(parent, name, suggestion);
}

static int no_such(struct reader *r, const char *override, const config_setting_t *parent,
		   const char *name, const struct suggestion *suggestion)
{
	char path[128], hint[96];
	const char *inside = "the file";

	if (parent->parent) {
		reader_path(parent, path, sizeof(path));
		inside = path;
	}
	return reader_fail(r, NULL, "--set %.128s: %s has no \"%.64s\"%s", override, inside, name,
			   suggest_text(suggestion, hint, sizeof(hint)));
}

/* Next part of a path: up to a dot or bracket. Empty at its end. */
static void next_part(const char **path, char *part, size_t size)
{
	const char *from;
	size_t length;

	*path += strspn(*path, ".[]");
	from = *path;
	length = strcspn(from, ".[]");
	*path += length;
	if (length >= size)
		length = size - 1;
	memcpy(part, from, length);
	part[length] = '\0';
}

static int find_target(struct reader *r, const char *override, const char *path,
		       const config_setting_t **target)
{
	const config_setting_t *at = config_root_setting(r->config), *next;
	struct suggestion suggestion;
	char part[72];

	for (next_part(&path, part, sizeof(part)); *part; next_part(&path, part, sizeof(part))) {
		next = find_member(at, part, &suggestion);
		if (!next)
			return no_such(r, override, at, part, &suggestion);
		at = next;
	}
	*target = at;
	return 0;
}

/* Reads VALUE into a reader of its own, to be closed in any case. */
static int read_value(struct reader *r, const char *override, const char *value,
		      struct reader *own, const config_setting_t **setting)
{
	struct hytest_message ignored;
	config_setting_t *root, *string;
	char *text;
	int failed;

	text = malloc(strlen(value) + sizeof("value = ;"));
	if (!text)
		return reader_no_memory(r);
	sprintf(text, "value = %s;", value);
	failed = reader_open(own, text, "", &ignored);
	free(text);
	if (!own->config)
		return reader_no_memory(r);
	root = config_root_setting(own->config);
	if (!failed && config_setting_length(root) == 1) {
		*setting = config_setting_get_elem(root, 0);
		return 0;
	}
	/* Not libconfig, so it is a word or an expression, but not half a list. */
	if (strchr("[{\"", *value) || strpbrk(value, ";{}[]"))
		return reader_fail(r, NULL, "--set %.200s: the value is malformed", override);
	config_destroy(own->config);
	config_init(own->config);
	root = config_root_setting(own->config);
	string = config_setting_add(root, "value", CONFIG_TYPE_STRING);
	if (!string || !config_setting_set_string(string, value))
		return reader_no_memory(r);
	*setting = string;
	return 0;
}

static int replace(struct reader *r, const struct replacement *replacement)
{
	config_t *copy = malloc(sizeof(*copy));

	if (!copy)
		return reader_no_memory(r);
	config_init(copy);
	if (copy_members(config_root_setting(copy), config_root_setting(r->config),
			 replacement)) {
		config_destroy(copy);
		free(copy);
		return reader_no_memory(r);
	}
	config_destroy(r->config);
	free(r->config);
	r->config = copy;
	return 0;
}

int reader_override(struct reader *r, const char *override)
{
	struct replacement replacement = { .override = override };
	const char *equals = strchr(override, '=');
	struct reader own = { .config = NULL };
	char *path;
	int failed;

	if (!equals || equals == override || !equals[1])
		return reader_fail(r, NULL, "--set %.200s: it must be PATH=VALUE, for instance loop.rate=1000",
				   override);
	for (path = (char *)override; *path; path++)
		if ((unsigned char)*path < ' ' || *path == 127)
			return reader_fail(r, NULL,
					   "--set %.200s: it must not contain control characters",
					   override);
	path = strndup(override, equals - override);
	if (!path)
		return reader_no_memory(r);
	failed = find_target(r, override, path, &replacement.target);
	free(path);
	if (failed)
		return -1;
	if (!replacement.target->parent)
		return reader_fail(r, NULL, "--set %.200s: it names no setting", override);
	failed = read_value(r, override, equals + 1, &own, &replacement.value);
	if (!failed)
		failed = replace(r, &replacement);
	reader_close(&own);
	return failed;
}
