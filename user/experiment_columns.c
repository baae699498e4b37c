// SPDX-License-Identifier: GPL-2.0
/*
 * Text files of numbers for tables: one row per line, columns separated by
 * blanks, tabs, commas or semicolons. Empty lines and what follows # or % is
 * ignored.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "experiment_model.h"

#define MAX_BYTES (256u << 20)

/* A file is looked for beside the experiment file. */
static char *full_path(const struct reader *r, const char *path)
{
	const char *slash = strrchr(r->path, '/');
	char *full;

	if (*path == '/' || !slash)
		return strdup(path);
	if (asprintf(&full, "%.*s/%s", (int)(slash - r->path), r->path, path) < 0)
		return NULL;
	return full;
}

static FILE *open_regular(const char *path)
{
	struct stat status;
	FILE *stream;
	int file;

	file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file < 0)
		return NULL;
	if (fstat(file, &status) || !S_ISREG(status.st_mode)) {
		close(file);
		errno = EINVAL;
		return NULL;
	}
	if (status.st_size > MAX_BYTES) {
		close(file);
		errno = EFBIG;
		return NULL;
	}
	stream = fdopen(file, "r");
	if (!stream)
		close(file);
	return stream;
}

static int add_row(struct column_file *file, uint32_t *room, const double *row, uint32_t n)
{
	if (file->n_values + n > *room) {
		uint32_t larger = 2 * (*room + n);
		double *grown = realloc(file->values, larger * sizeof(*grown));

		if (!grown)
			return -1;
		file->values = grown;
		*room = larger;
	}
	memcpy(file->values + file->n_values, row, n * sizeof(*row));
	file->n_values += n;
	return 0;
}

struct row {
	const uint32_t *columns;	/* wanted */
	uint32_t n_columns;
	double value[HT_MAX_PORTS];
	uint32_t found;			/* columns of the line */
	bool bad;			/* something is no number */
};

static void parse_row(struct row *row, char *line)
{
	char *word, *end, *rest = line;
	double value;
	uint32_t i;

	line[strcspn(line, "#%\r\n")] = '\0';
	row->found = 0;
	row->bad = false;
	while ((word = strtok_r(rest, " \t,;", &rest))) {
		row->found++;
		value = strtod(word, &end);
		if (*end || !isfinite(value))
			value = NAN;
		for (i = 0; i < row->n_columns; i++) {
			if (row->columns[i] != row->found)
				continue;
			row->value[i] = value;
			row->bad |= isnan(value);
		}
	}
}

static int read_rows(const struct reader *r, const config_setting_t *at, const char *path,
		     FILE *stream, struct row *row, struct column_file *file)
{
	uint32_t room = 0, last = 0, number = 0, i;
	char *line = NULL;
	size_t size = 0;
	int failed = 0;

	for (i = 0; i < row->n_columns; i++)
		if (row->columns[i] > last)
			last = row->columns[i];
	while (!failed && getline(&line, &size, stream) >= 0) {
		number++;
		parse_row(row, line);
		if (!row->found)
			continue;
		if (row->found < last)
			failed = reader_fail(r, at, "%.100s:%u: the line has %u columns; column %u is wanted",
					     path, number, row->found, last);
		else if (row->bad)
			failed = reader_fail(r, at, "%.100s:%u: a wanted column is not a finite number",
					     path, number);
		else if (add_row(file, &room, row->value, row->n_columns))
			failed = reader_no_memory(r);
	}
	if (!failed && ferror(stream))
		failed = reader_fail(r, at, "%.100s: cannot be read", path);
	if (!failed && !file->n_values)
		failed = reader_fail(r, at, "%.100s: the file has no numbers", path);
	free(line);
	return failed;
}

int column_file_read(const struct reader *r, const config_setting_t *at, const char *path,
		     const uint32_t *columns, uint32_t n_columns, struct column_file *file)
{
	struct row row = { .columns = columns, .n_columns = n_columns };
	char *full = full_path(r, path);
	FILE *stream;
	int failed;

	file->values = NULL;
	file->n_values = 0;
	if (!full)
		return reader_no_memory(r);
	stream = open_regular(full);
	if (!stream) {
		reader_fail(r, at, "%.200s cannot be read: %s", full,
			    errno == EINVAL ? "it is no file" : strerror(errno));
		free(full);
		return -1;
	}
	failed = read_rows(r, at, full, stream, &row, file);
	fclose(stream);
	free(full);
	if (failed) {
		free(file->values);
		file->values = NULL;
	}
	return failed;
}
