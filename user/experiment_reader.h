/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading settings of an experiment file: numbers and expressions, names,
 * unknown keys, and messages that say where.
 *
 * Functions return 0, or -1 after the message has been written. Only the
 * first message counts: whoever gets -1 passes it on.
 */
#ifndef HYTEST_EXPERIMENT_READER_H
#define HYTEST_EXPERIMENT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libconfig.h>

#include "experiment.h"

/* A scalar of the top level that expressions can use. */
struct named_value {
	const char *name;
	const config_setting_t *setting;
	double value;
	enum { VALUE_WAITING, VALUE_BUSY, VALUE_KNOWN } state;
	bool used;
};

struct reader {
	const char *path;		/* of the file, for messages */
	config_t *config;		/* settings point to it: it must not move */
	struct hytest_message *message;
	struct named_value *values;	/* sorted by name */
	size_t n_values;
	int depth;			/* of values defined by values */
};

/* A number within a group. */
struct number_key {
	const char *name;
	const char *unit;
	double min;
	double max;
	double preset;
	bool required;
	bool integer;
};

/* Parses the text; values are not known yet. To be closed in any case. */
int reader_open(struct reader *r, const char *text, const char *path,
		struct hytest_message *message);
void reader_close(struct reader *r);

/* Carries out one PATH=VALUE. */
int reader_override(struct reader *r, const char *override);

/* Top-level scalars but those of the keys are named values; evaluates them. */
int reader_find_values(struct reader *r, const char *const *keys, size_t n_keys);
/* Complains of values that nothing has used: most likely a slip of the pen. */
int reader_check_values(struct reader *r, const char *const *keys, size_t n_keys);

/* Writes the message, prefixed with file and line of the setting; -1. */
int reader_fail(const struct reader *r, const config_setting_t *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int reader_no_memory(const struct reader *r);

/* Complains of the first member of a group that is none of the keys. */
int reader_check_keys(const struct reader *r, const config_setting_t *group,
		      const char *const *keys, size_t n_keys);

/* A member of a list that must be a group. NULL after a message. */
const config_setting_t *reader_group(const struct reader *r, const config_setting_t *list,
				     unsigned int index);
/* A member that is a list of groups, at most so many: *list is NULL if it is absent. */
int reader_list(const struct reader *r, const config_setting_t *group, const char *key,
		unsigned int most, const config_setting_t **list, unsigned int *length);

/* A number or an expression. */
int reader_number(struct reader *r, const config_setting_t *setting, double *value);
int reader_expression(struct reader *r, const config_setting_t *at, const char *text,
		      double *value);
int reader_number_key(struct reader *r, const config_setting_t *group,
		      const struct number_key *key, double *value);

/* A string member; *text is NULL if it is absent and not required. */
int reader_text(const struct reader *r, const config_setting_t *group, const char *key,
		bool required, const char **text);
/* A string for people, in size bytes: not empty, printable. */
int reader_label(const struct reader *r, const config_setting_t *group, const char *key,
		 char *label, size_t size);
/* true or false; preset if it is absent. */
int reader_bool(const struct reader *r, const config_setting_t *group, const char *key,
		bool preset, bool *value);
/* A name: letters, digits, _ and -, a letter first; copied, size bytes. */
int reader_name(const struct reader *r, const config_setting_t *group, const char *key,
		char *name, size_t size);
int reader_check_name(const struct reader *r, const config_setting_t *at, const char *name,
		      size_t size);
int reader_unit(const struct reader *r, const config_setting_t *setting, char *unit, size_t size);
/* Which of the words a string member is; preset if it is absent, -1: required. */
int reader_word(const struct reader *r, const config_setting_t *group, const char *key,
		const char *const *words, size_t n_words, int preset, int *which);

/* One string or an array of strings: length, and the element. */
int reader_strings(const struct reader *r, const config_setting_t *setting, unsigned int *length);
const config_setting_t *reader_element(const config_setting_t *setting, unsigned int index);

/* The setting as it is called in --set: "blocks.spring.K". */
void reader_path(const config_setting_t *setting, char *path, size_t size);

/* The candidate most like the name; NULL if none is like it. */
struct suggestion {
	const char *name;
	const char *best;
	size_t distance;
};

void suggest_begin(struct suggestion *s, const char *name);
void suggest_offer(struct suggestion *s, const char *candidate);
/* "; did you mean X?" or "" in the buffer, which it returns. */
const char *suggest_text(const struct suggestion *s, char *buffer, size_t size);

/* A copy for a message: short, printable. */
const char *reader_quote(const char *text, char *buffer, size_t size);

#endif
