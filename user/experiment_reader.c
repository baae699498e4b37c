// SPDX-License-Identifier: GPL-2.0
/*
 * Reading settings of an experiment file: see experiment_reader.h.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_reader.h"
#include "expression.h"

#define MAX_VALUE_DEPTH 32

/* The override that this setting came from, NULL if it stands in the file. */
static const char *override_of(const config_setting_t *setting)
{
	for (; setting; setting = setting->parent)
		if (setting->hook)
			return setting->hook;
	return NULL;
}

static unsigned int line_of(const config_setting_t *setting)
{
	for (; setting; setting = setting->parent)
		if (setting->line)
			return setting->line;
	return 0;
}

static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			*text = '?';
}

int reader_fail(const struct reader *r, const config_setting_t *at, const char *format, ...)
{
	char *text = r->message->text;
	const size_t size = sizeof(r->message->text);
	const char *override = at ? override_of(at) : NULL;
	int length;
	va_list list;

	if (override)
		length = snprintf(text, size, "--set %.200s: ", override);
	else if (at && line_of(at))
		length = snprintf(text, size, "%.200s:%u: ", r->path, line_of(at));
	else
		length = snprintf(text, size, "%.200s: ", r->path);
	va_start(list, format);
	vsnprintf(text + length, size - length, format, list);
	va_end(list);
	make_printable(text);
	return -1;
}

int reader_no_memory(const struct reader *r)
{
	return reader_fail(r, NULL, "out of memory");
}

const char *reader_quote(const char *text, char *buffer, size_t size)
{
	if (strlen(text) < size)
		snprintf(buffer, size, "%s", text);
	else
		snprintf(buffer, size, "%.*s...", (int)size - 4, text);
	return buffer;
}

/* Name of a group of a list: its member "name" or "signal". */
static const char *group_name(const config_setting_t *group)
{
	static const char *const keys[] = { "name", "signal" };
	size_t i;

	for (i = 0; i < 2; i++) {
		const config_setting_t *name = config_setting_get_member(group, keys[i]);

		if (name && name->type == CONFIG_TYPE_STRING)
			return name->value.sval;
	}
	return NULL;
}

void reader_path(const config_setting_t *setting, char *path, size_t size)
{
	const config_setting_t *parent = setting->parent;
	const char *name = setting->name;
	char number[24];
	size_t length;

	if (!parent) {
		path[0] = '\0';
		return;
	}
	reader_path(parent, path, size);
	if (!name && setting->type == CONFIG_TYPE_GROUP)
		name = group_name(setting);
	if (!name) {
		snprintf(number, sizeof(number), "[%d]", config_setting_index(setting));
		name = number;
	}
	length = strlen(path);
	snprintf(path + length, size - length, "%s%.64s", length && name != number ? "." : "",
		 name);
}

/*
 * libconfig 1.5 wraps integers that need more than 32 bits without a word,
 * reads other files where the text says @include, and reports a string that is
 * not closed at the end of the file. They are found here before it sees them.
 */
struct scanner {
	const char *at;
	unsigned int line;
};

static void skip_comment(struct scanner *s)
{
	const bool to_end_of_line = s->at[1] != '*' || s->at[0] == '#';

	s->at += s->at[0] == '#' ? 1 : 2;
	while (*s->at) {
		if (*s->at == '\n') {
			if (to_end_of_line)
				return;
			s->line++;
		}
		if (!to_end_of_line && s->at[0] == '*' && s->at[1] == '/') {
			s->at += 2;
			return;
		}
		s->at++;
	}
}

/* False if the string is not closed. */
static bool skip_string(struct scanner *s)
{
	for (s->at++; *s->at && *s->at != '"'; s->at++) {
		if (s->at[0] == '\\' && s->at[1])
			s->at++;
		if (*s->at == '\n')
			s->line++;
	}
	if (!*s->at)
		return false;
	s->at++;
	return true;
}

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '*';
}

/* A word or number; false if it is an integer that does not fit. */
static bool skip_word(struct scanner *s, bool negative)
{
	const char *start = s->at;
	unsigned long long value;
	char *end;

	while (word_char(*s->at) ||
	       ((*s->at == '-' || *s->at == '+') && isdigit((unsigned char)*start) &&
		strchr("eE", s->at[-1]) && strncmp(start, "0x", 2) && strncmp(start, "0X", 2)) ||
	       (*s->at == '-' && isalpha((unsigned char)*start)))
		s->at++;
	if (!isdigit((unsigned char)*start))
		return true;
	errno = 0;
	value = strtoull(start, &end, !strncmp(start, "0x", 2) || !strncmp(start, "0X", 2) ?
			 16 : 10);
	if (*end == 'L')
		return !errno && value <= (unsigned long long)LLONG_MAX;
	if (end != s->at)
		return true;
	return !errno && value <= (unsigned long long)INT_MAX + negative;
}

__attribute__((format(printf, 3, 4)))
static int fail_at(const struct reader *r, unsigned int line, const char *format, ...)
{
	char *text = r->message->text;
	int length;
	va_list list;

	length = snprintf(text, sizeof(r->message->text), "%.200s:%u: ", r->path, line);
	va_start(list, format);
	vsnprintf(text + length, sizeof(r->message->text) - length, format, list);
	va_end(list);
	make_printable(text);
	return -1;
}

static int scan(const struct reader *r, const char *text)
{
	struct scanner s = { .at = text, .line = 1 };
	char number[32];
	bool negative = false;

	while (*s.at) {
		const char *start = s.at;

		if (*s.at == '#' || (s.at[0] == '/' && (s.at[1] == '/' || s.at[1] == '*'))) {
			skip_comment(&s);
		} else if (*s.at == '"') {
			const unsigned int line = s.line;

			if (!skip_string(&s))
				return fail_at(r, line, "the string that begins here is not closed by \"");
		} else if (*s.at == '@') {
			return fail_at(r, s.line,
				       "@include is not allowed; an experiment is one file, so that its log holds all of it");
		} else if (word_char(*s.at)) {
			if (!skip_word(&s, negative)) {
				snprintf(number, sizeof(number), "%.*s",
					 (int)(s.at - start > 31 ? 31 : s.at - start), start);
				return fail_at(r, s.line,
					       "the integer %s is too large; write it with a decimal point",
					       number);
			}
		} else {
			if (*s.at == '\n')
				s.line++;
			s.at++;
		}
		negative = *start == '-';
	}
	return 0;
}

static const char *parse_hint(const char *error)
{
	if (strstr(error, "mismatched"))
		return "; the numbers of [ ] must be all with a decimal point or all without, "
		       "lists in ( ) may mix";
	if (strstr(error, "duplicate"))
		return "; every name may stand once in a group";
	return "; a setting is NAME = VALUE; with groups in { }, lists in ( ) and arrays in [ ]";
}

int reader_open(struct reader *r, const char *text, const char *path,
		struct hytest_message *message)
{
	memset(r, 0, sizeof(*r));
	r->path = path;
	r->message = message;
	r->config = malloc(sizeof(*r->config));
	if (!r->config)
		return reader_no_memory(r);
	config_init(r->config);
	if (scan(r, text))
		return -1;
	if (!config_read_string(r->config, text)) {
		const char *error = config_error_text(r->config);

		if (!error)
			error = "syntax error";
		return fail_at(r, config_error_line(r->config), "%s%s", error, parse_hint(error));
	}
	return 0;
}

void reader_close(struct reader *r)
{
	if (r->config)
		config_destroy(r->config);
	free(r->config);
	free(r->values);
}

int reader_check_keys(const struct reader *r, const config_setting_t *group,
		      const char *const *keys, size_t n_keys)
{
	const int length = config_setting_length(group);
	struct suggestion suggestion;
	char hint[96], quoted[48], path[128];
	size_t k;
	int i;

	for (i = 0; i < length; i++) {
		const config_setting_t *member = config_setting_get_elem(group, i);

		for (k = 0; k < n_keys; k++)
			if (!strcmp(keys[k], member->name))
				break;
		if (k < n_keys)
			continue;
		suggest_begin(&suggestion, member->name);
		for (k = 0; k < n_keys; k++)
			suggest_offer(&suggestion, keys[k]);
		reader_path(group, path, sizeof(path));
		return reader_fail(r, member, "%s has no setting \"%s\"%s", path,
				   reader_quote(member->name, quoted, sizeof(quoted)),
				   suggest_text(&suggestion, hint, sizeof(hint)));
	}
	return 0;
}

int reader_list(const struct reader *r, const config_setting_t *group, const char *key,
		unsigned int most, const config_setting_t **list, unsigned int *length)
{
	const config_setting_t *setting = config_setting_get_member(group, key);

	*list = NULL;
	*length = 0;
	if (!setting)
		return 0;
	/* An empty array is as good as an empty list. */
	if (setting->type != CONFIG_TYPE_LIST &&
	    !(setting->type == CONFIG_TYPE_ARRAY && !config_setting_length(setting)))
		return reader_fail(r, setting, "%s must be a list of groups: ( { ... }, { ... } )",
				   key);
	*list = setting;
	*length = config_setting_length(setting);
	if (*length > most)
		return reader_fail(r, setting, "there are %u %s; at most %u", *length, key, most);
	return 0;
}

const config_setting_t *reader_group(const struct reader *r, const config_setting_t *list,
				     unsigned int index)
{
	const config_setting_t *group = config_setting_get_elem(list, index);

	if (group->type == CONFIG_TYPE_GROUP)
		return group;
	reader_fail(r, group, "%s must be a list of groups: ( { ... }, { ... } )", list->name);
	return NULL;
}

static int compare_values(const void *a, const void *b)
{
	const struct named_value *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int evaluate_value(struct reader *r, struct named_value *v, char *message);

static int find_value(void *context, const char *name, double *value, char *message)
{
	struct reader *r = context;
	struct named_value wanted = { .name = name }, *v = NULL;
	struct suggestion suggestion;
	char hint[96];
	size_t i;

	if (r->n_values)
		v = bsearch(&wanted, r->values, r->n_values, sizeof(*v), compare_values);
	if (!v) {
		suggest_begin(&suggestion, name);
		for (i = 0; i < r->n_values; i++)
			suggest_offer(&suggestion, r->values[i].name);
		snprintf(message, EXPRESSION_MESSAGE,
			 "the file does not define the value %s at its top level%s", name,
			 suggest_text(&suggestion, hint, sizeof(hint)));
		return -1;
	}
	v->used = true;
	if (evaluate_value(r, v, message))
		return -1;
	*value = v->value;
	return 0;
}

static int evaluate(struct reader *r, const char *text, double *value, char *message)
{
	const struct expression_names names = { .find = find_value, .context = r };

	return expression_evaluate(text, &names, value, message);
}

static int evaluate_value(struct reader *r, struct named_value *v, char *message)
{
	const config_setting_t *s = v->setting;
	int failed;

	if (v->state == VALUE_KNOWN)
		return 0;
	if (v->state == VALUE_BUSY || r->depth >= MAX_VALUE_DEPTH) {
		snprintf(message, EXPRESSION_MESSAGE, v->state == VALUE_BUSY ?
			 "%s is defined by itself" :
			 "%s is defined through too many other values", v->name);
		return -1;
	}
	if (s->type != CONFIG_TYPE_STRING) {
		v->value = s->type == CONFIG_TYPE_INT ? s->value.ival :
			   s->type == CONFIG_TYPE_INT64 ? (double)s->value.llval : s->value.fval;
		failed = !isfinite(v->value);
		if (failed)
			snprintf(message, EXPRESSION_MESSAGE, "%s is not a finite number", v->name);
		v->state = VALUE_KNOWN;
		return failed ? -1 : 0;
	}
	v->state = VALUE_BUSY;
	r->depth++;
	failed = evaluate(r, s->value.sval, &v->value, message);
	r->depth--;
	v->state = VALUE_KNOWN;
	return failed;
}

int reader_expression(struct reader *r, const config_setting_t *at, const char *text,
		      double *value)
{
	char why[EXPRESSION_MESSAGE], quoted[64];

	if (!evaluate(r, text, value, why))
		return 0;
	return reader_fail(r, at, "the expression \"%s\" is wrong: %s",
			   reader_quote(text, quoted, sizeof(quoted)), why);
}

static int check_value_name(const struct reader *r, const config_setting_t *s)
{
	const char *c;

	for (c = s->name; isalnum((unsigned char)*c) || *c == '_'; c++)
		;
	if (*c || strlen(s->name) >= EXPRESSION_NAME_LEN)
		return reader_fail(r, s,
				   "%.64s cannot be used in expressions; a value has a name of letters, digits and _",
				   s->name);
	if (expression_reserved(s->name))
		return reader_fail(r, s,
				   "%s has a meaning in expressions already; choose another name",
				   s->name);
	return 0;
}

static bool is_key(const char *name, const char *const *keys, size_t n_keys)
{
	size_t i;

	for (i = 0; i < n_keys; i++)
		if (!strcmp(name, keys[i]))
			return true;
	return false;
}

int reader_find_values(struct reader *r, const char *const *keys, size_t n_keys)
{
	const config_setting_t *root = config_root_setting(r->config);
	const int length = config_setting_length(root);
	struct suggestion suggestion;
	char hint[96];
	size_t k;
	double value;
	int i;

	r->values = calloc(length + 1, sizeof(*r->values));
	if (!r->values)
		return reader_no_memory(r);
	for (i = 0; i < length; i++) {
		const config_setting_t *s = config_setting_get_elem(root, i);

		if (is_key(s->name, keys, n_keys))
			continue;
		if (!config_setting_is_number(s) && s->type != CONFIG_TYPE_STRING) {
			suggest_begin(&suggestion, s->name);
			for (k = 0; k < n_keys; k++)
				suggest_offer(&suggestion, keys[k]);
			return reader_fail(r, s,
					   "there is no setting \"%.64s\", and a value for expressions must be a number or an expression%s",
					   s->name, suggest_text(&suggestion, hint, sizeof(hint)));
		}
		if (check_value_name(r, s))
			return -1;
		r->values[r->n_values].name = s->name;
		r->values[r->n_values].setting = s;
		r->n_values++;
	}
	qsort(r->values, r->n_values, sizeof(*r->values), compare_values);
	for (i = 0; i < length; i++) {
		const config_setting_t *s = config_setting_get_elem(root, i);

		if (is_key(s->name, keys, n_keys))
			continue;
		if (reader_number(r, s, &value))
			return -1;
	}
	return 0;
}

int reader_check_values(struct reader *r, const char *const *keys, size_t n_keys)
{
	const struct named_value *first = NULL;
	struct suggestion suggestion;
	char hint[96];
	size_t i;

	for (i = 0; i < r->n_values; i++)
		if (!r->values[i].used &&
		    (!first || r->values[i].setting->line < first->setting->line))
			first = &r->values[i];
	if (!first)
		return 0;
	suggest_begin(&suggestion, first->name);
	for (i = 0; i < n_keys; i++)
		suggest_offer(&suggestion, keys[i]);
	return reader_fail(r, first->setting,
			   "nothing uses the value %s; remove it, or use it in an expression%s",
			   first->name, suggest_text(&suggestion, hint, sizeof(hint)));
}

int reader_number(struct reader *r, const config_setting_t *s, double *value)
{
	char path[128];

	switch (s->type) {
	case CONFIG_TYPE_INT:
		*value = s->value.ival;
		return 0;
	case CONFIG_TYPE_INT64:
		*value = (double)s->value.llval;
		return 0;
	case CONFIG_TYPE_FLOAT:
		*value = s->value.fval;
		if (isfinite(*value))
			return 0;
		reader_path(s, path, sizeof(path));
		return reader_fail(r, s, "%s is not a finite number", path);
	case CONFIG_TYPE_STRING:
		return reader_expression(r, s, s->value.sval, value);
	default:
		reader_path(s, path, sizeof(path));
		return reader_fail(r, s, "%s must be a number or an expression in quotes", path);
	}
}

int reader_number_key(struct reader *r, const config_setting_t *group,
		      const struct number_key *key, double *value)
{
	const config_setting_t *s = group ? config_setting_get_member(group, key->name) : NULL;
	char path[128];

	if (!s) {
		*value = key->preset;
		if (!key->required)
			return 0;
		reader_path(group, path, sizeof(path));
		return reader_fail(r, group, "%s needs %s%s%s%s", path, key->name,
				   *key->unit ? " (" : "", key->unit, *key->unit ? ")" : "");
	}
	if (reader_number(r, s, value))
		return -1;
	if (*value >= key->min && *value <= key->max && (!key->integer || floor(*value) == *value))
		return 0;
	reader_path(s, path, sizeof(path));
	return reader_fail(r, s, "%s is %.9g; it must be %s from %.9g to %.9g%s%s", path, *value,
			   key->integer ? "an integer" : "a number", key->min, key->max,
			   *key->unit ? " " : "", key->unit);
}

int reader_text(const struct reader *r, const config_setting_t *group, const char *key,
		bool required, const char **text)
{
	const config_setting_t *s = config_setting_get_member(group, key);
	char path[128];

	*text = NULL;
	if (!s && !required)
		return 0;
	reader_path(s ? s : group, path, sizeof(path));
	if (!s)
		return reader_fail(r, group, "%s needs %s = \"...\"", path, key);
	if (s->type != CONFIG_TYPE_STRING)
		return reader_fail(r, s, "%s must be a string in quotes", path);
	*text = s->value.sval;
	return 0;
}

static bool printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			return false;
	return true;
}

int reader_label(const struct reader *r, const config_setting_t *group, const char *key,
		 char *label, size_t size)
{
	char quoted[48], path[128];
	const char *text;

	if (reader_text(r, group, key, true, &text))
		return -1;
	if (!*text || !printable(text) || strlen(text) >= size) {
		reader_path(config_setting_get_member(group, key), path, sizeof(path));
		return reader_fail(r, config_setting_get_member(group, key),
				   "%s is \"%s\"; it must have 1 to %zu printable letters", path,
				   reader_quote(text, quoted, sizeof(quoted)), size - 1);
	}
	memset(label, 0, size);
	memcpy(label, text, strlen(text));
	return 0;
}

int reader_bool(const struct reader *r, const config_setting_t *group, const char *key,
		bool preset, bool *value)
{
	const config_setting_t *s = config_setting_get_member(group, key);
	char path[128];

	*value = preset;
	if (!s)
		return 0;
	if (s->type != CONFIG_TYPE_BOOL) {
		reader_path(s, path, sizeof(path));
		return reader_fail(r, s, "%s must be true or false", path);
	}
	*value = s->value.ival;
	return 0;
}

int reader_check_name(const struct reader *r, const config_setting_t *at, const char *name,
		      size_t size)
{
	char quoted[48];
	const char *c;

	for (c = name; isalnum((unsigned char)*c) || (c > name && (*c == '_' || *c == '-')); c++)
		;
	if (!*c && isalpha((unsigned char)*name) && (size_t)(c - name) < size)
		return 0;
	return reader_fail(r, at,
			   "\"%s\" is no name; a name is a letter and up to %zu letters, digits, _ or - more",
			   reader_quote(name, quoted, sizeof(quoted)), size - 2);
}

int reader_name(const struct reader *r, const config_setting_t *group, const char *key,
		char *name, size_t size)
{
	const char *text;

	if (reader_text(r, group, key, true, &text))
		return -1;
	if (reader_check_name(r, config_setting_get_member(group, key), text, size))
		return -1;
	memset(name, 0, size);
	memcpy(name, text, strlen(text));
	return 0;
}

int reader_unit(const struct reader *r, const config_setting_t *s, char *unit, size_t size)
{
	const char *text;
	char quoted[48];

	if (s->type != CONFIG_TYPE_STRING)
		return reader_fail(r, s, "a unit must be a string in quotes, for instance \"m/s\"");
	text = s->value.sval;
	if (!printable(text) || strlen(text) >= size)
		return reader_fail(r, s, "\"%s\" is no unit; a unit has at most %zu printable letters",
				   reader_quote(text, quoted, sizeof(quoted)), size - 1);
	memset(unit, 0, size);
	memcpy(unit, text, strlen(text));
	return 0;
}

int reader_word(const struct reader *r, const config_setting_t *group, const char *key,
		const char *const *words, size_t n_words, int preset, int *which)
{
	struct suggestion suggestion;
	char all[160] = "", hint[96], quoted[48], path[128];
	const char *text;
	size_t i;

	*which = preset;
	if (reader_text(r, group, key, preset < 0, &text))
		return -1;
	if (!text)
		return 0;
	suggest_begin(&suggestion, text);
	for (i = 0; i < n_words; i++) {
		if (!strcmp(words[i], text)) {
			*which = i;
			return 0;
		}
		suggest_offer(&suggestion, words[i]);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), " %s", words[i]);
	}
	reader_path(config_setting_get_member(group, key), path, sizeof(path));
	return reader_fail(r, config_setting_get_member(group, key),
			   "%s is \"%s\"; it must be one of%s%s", path,
			   reader_quote(text, quoted, sizeof(quoted)), all,
			   suggest_text(&suggestion, hint, sizeof(hint)));
}

int reader_strings(const struct reader *r, const config_setting_t *s, unsigned int *length)
{
	char path[128];
	int i;

	if (s->type == CONFIG_TYPE_STRING) {
		*length = 1;
		return 0;
	}
	reader_path(s, path, sizeof(path));
	if (s->type != CONFIG_TYPE_ARRAY && s->type != CONFIG_TYPE_LIST)
		return reader_fail(r, s, "%s must be an array of strings: [\"a\", \"b\"]", path);
	*length = config_setting_length(s);
	for (i = 0; i < config_setting_length(s); i++)
		if (config_setting_get_elem(s, i)->type != CONFIG_TYPE_STRING)
			return reader_fail(r, config_setting_get_elem(s, i),
					   "%s must be an array of strings: [\"a\", \"b\"]", path);
	return 0;
}

const config_setting_t *reader_element(const config_setting_t *s, unsigned int index)
{
	return s->type == CONFIG_TYPE_STRING ? s : config_setting_get_elem(s, index);
}
