// SPDX-License-Identifier: GPL-2.0
/*
 * Reader of logs: gives back records as the ring had them.
 *
 * A log may come from a writer that died, or from anywhere: sizes are asked
 * for before anything is read, and the image is checked like any other.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../kmod/core/fpenv.h"
#include "../kmod/core/loop.h"
#include "log_format.h"

#define MAX_IMAGE	((hsize_t)1 << 32)
#define MAX_CHANGES	((hsize_t)1 << 26)
#define MAX_EVENTS	((hsize_t)1 << 24)

struct hytest_log_reader {
	char *path;
	hid_t file;
	void *image;
	size_t image_size;
	hid_t *columns;
	size_t n_columns;
	size_t record_size;
	uint64_t n_records;
	struct hytest_log_change *changes;
	size_t n_changes;
	int tripped_lock;
	uint64_t lost;
	bool complete;
};

__attribute__((format(printf, 3, 4)))
static int complain(const struct hytest_log_reader *reader, struct hytest_message *message,
		    const char *format, ...)
{
	va_list list;
	size_t n;

	snprintf(message->text, sizeof(message->text), "%s: ", reader->path);
	n = strlen(message->text);
	va_start(list, format);
	vsnprintf(message->text + n, sizeof(message->text) - n, format, list);
	va_end(list);
	return -1;
}

static uint64_t read_number(hid_t object, const char *name)
{
	hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
	uint64_t value = 0;

	if (attribute < 0)
		return 0;
	if (H5Aread(attribute, H5T_NATIVE_UINT64, &value) < 0)
		value = 0;
	H5Aclose(attribute);
	return value;
}

/* Number of elements of a one-dimensional dataset, -1 if it is none. */
static int dataset_length(hid_t dataset, hsize_t *length)
{
	hid_t space = H5Dget_space(dataset);
	int result = -1;

	if (space < 0)
		return -1;
	if (H5Sget_simple_extent_ndims(space) == 1 &&
	    H5Sget_simple_extent_dims(space, length, NULL) == 1)
		result = 0;
	H5Sclose(space);
	return result;
}

/* Logs of an older hytest have records of another shape and other programs. */
static int check_version(struct hytest_log_reader *reader, struct hytest_message *message)
{
	hid_t group;
	uint64_t version;

	if (H5Lexists(reader->file, "/versions", H5P_DEFAULT) <= 0)
		return complain(reader, message, "is no log of hytest: it has no /versions");
	group = H5Gopen2(reader->file, "/versions", H5P_DEFAULT);
	if (group < 0)
		return complain(reader, message, "cannot read /versions");
	version = H5Aexists(group, "log") > 0 ? read_number(group, "log") : 1;
	H5Gclose(group);
	if (version == LOG_VERSION)
		return 0;
	return complain(reader, message, "is a log of version %llu, this program reads version %u: "
			"use the hytest that wrote it", (unsigned long long)version, LOG_VERSION);
}

static int read_image(struct hytest_log_reader *reader, struct hytest_message *message)
{
	hid_t dataset = H5Dopen2(reader->file, "/image", H5P_DEFAULT);
	struct ht_error error;
	ht_u32 environment;
	hsize_t size;
	int code;

	if (dataset < 0)
		return complain(reader, message, "is no log of hytest: it has no /image");
	if (dataset_length(dataset, &size) || !size || size > MAX_IMAGE) {
		H5Dclose(dataset);
		return complain(reader, message, "/image has no size that makes sense");
	}
	reader->image = malloc(size);
	reader->image_size = size;
	code = !reader->image || H5Dread(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT,
					 reader->image) < 0;
	H5Dclose(dataset);
	if (code)
		return complain(reader, message, "cannot read /image");
	environment = ht_fpenv_enter();
	code = ht_image_check(reader->image, size, &error);
	ht_fpenv_leave(environment);
	if (code)
		return complain(reader, message, "/image is refused: %s %u: %s",
				ht_error_place(error.where), error.index, ht_error_text(code));
	return 0;
}

/* A writer that died may have grown some columns and not yet the others. */
static int open_column(struct hytest_log_reader *reader, const char *path,
		       struct hytest_message *message)
{
	hid_t dataset = H5Dopen2(reader->file, path, H5P_DEFAULT);
	hsize_t length;

	if (dataset < 0)
		return complain(reader, message, "has no dataset %s", path);
	reader->columns[reader->n_columns++] = dataset;
	if (dataset_length(dataset, &length))
		return complain(reader, message, "%s must have one dimension", path);
	if (reader->complete && reader->n_columns > 1 && length != reader->n_records)
		return complain(reader, message, "%s has %llu records, /tick has %llu", path,
				(unsigned long long)length, (unsigned long long)reader->n_records);
	if (length < reader->n_records)
		reader->n_records = length;
	return 0;
}

static int open_columns(struct hytest_log_reader *reader, struct hytest_message *message)
{
	const struct ht_image_header *h = reader->image;
	const uint32_t n_values = h->n_records + h->n_outputs;
	char path[LOG_PATH_SIZE];
	uint32_t i;

	reader->record_size = sizeof(struct hytest_record) + 8 * (size_t)n_values;
	reader->columns = calloc(LOG_FIELDS + n_values, sizeof(*reader->columns));
	if (!reader->columns)
		return complain(reader, message, "no memory");
	reader->n_records = UINT64_MAX;
	for (i = 0; i < LOG_FIELDS; i++)
		if (open_column(reader, log_fields[i].path, message))
			return -1;
	for (i = 0; i < n_values; i++) {
		hytest_log_column(reader->image, i, path, sizeof(path));
		if (open_column(reader, path, message))
			return -1;
	}
	return 0;
}

static int read_rows(hid_t dataset, hsize_t n, struct log_param_row *rows)
{
	hid_t type = log_param_type();
	herr_t result = 0;

	if (n)
		result = H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows);
	H5Tclose(type);
	return result < 0 ? -1 : 0;
}

static int read_changes(struct hytest_log_reader *reader, struct hytest_message *message)
{
	hid_t dataset = H5Dopen2(reader->file, "/parameters", H5P_DEFAULT);
	struct log_param_row *rows;
	hsize_t i, n;
	int result;

	if (dataset < 0)
		return complain(reader, message, "has no dataset /parameters");
	if (dataset_length(dataset, &n) || n > MAX_CHANGES) {
		H5Dclose(dataset);
		return complain(reader, message, "/parameters has no size that makes sense");
	}
	rows = calloc(n + 1, sizeof(*rows));
	reader->changes = calloc(n + 1, sizeof(*reader->changes));
	result = !rows || !reader->changes || read_rows(dataset, n, rows);
	for (i = 0; !result && i < n; i++)
		reader->changes[i] = (struct hytest_log_change){
			.tick = rows[i].tick,
			.batch = rows[i].batch,
			.param = rows[i].param,
			.value = rows[i].value,
		};
	reader->n_changes = n;
	free(rows);
	H5Dclose(dataset);
	return result ? complain(reader, message, "cannot read /parameters") : 0;
}

/* Index of the interlock if this event is its trip, else -1. */
static int tripped_lock(const struct log_event_row *row)
{
	if (row->type != HYTEST_EVENT_TRIPPED || row->index >> 16 != HT_CAUSE_INTERLOCK)
		return -1;
	return row->index & 0xffff;
}

/* The last trip is the one of this run: events may begin before it. */
static int find_tripped_lock(struct hytest_log_reader *reader, struct hytest_message *message)
{
	hid_t dataset = H5Dopen2(reader->file, "/events", H5P_DEFAULT);
	const struct ht_image_header *h = reader->image;
	struct log_event_row *rows = NULL;
	hid_t type = log_event_type();
	int result = -1;
	hsize_t i, n;

	reader->tripped_lock = -1;
	if (dataset >= 0 && !dataset_length(dataset, &n) && n <= MAX_EVENTS)
		rows = calloc(n + 1, sizeof(*rows));
	if (rows && (!n || H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0))
		result = 0;
	for (i = 0; !result && i < n; i++)
		if (rows[i].type == HYTEST_EVENT_TRIPPED)
			reader->tripped_lock = tripped_lock(&rows[i]);
	if (reader->tripped_lock >= (int)h->n_interlocks)
		result = -1;
	free(rows);
	H5Tclose(type);
	if (dataset >= 0)
		H5Dclose(dataset);
	return result ? complain(reader, message, "cannot read /events") : 0;
}

/* One that is being written, or whose writer died, needs the reader's mode. */
static hid_t open_file(const char *path)
{
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);

	if (file < 0)
		file = H5Fopen(path, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT);
	return file;
}

struct hytest_log_reader *hytest_log_open(const char *path, struct hytest_message *message)
{
	struct hytest_log_reader *reader = calloc(1, sizeof(*reader));
	char reason[256];

	if (reader)
		reader->path = strdup(path);
	if (!reader || !reader->path) {
		free(reader);
		snprintf(message->text, sizeof(message->text), "%s: no memory", path);
		return NULL;
	}
	log_silence();
	reader->file = -1;
	if (access(path, R_OK)) {
		complain(reader, message, "%m");
		goto err_free;
	}
	reader->file = open_file(path);
	if (reader->file < 0) {
		log_reason(reason, sizeof(reason));
		complain(reader, message, "is no log of hytest: %s", reason);
		goto err_free;
	}
	reader->complete = read_number(reader->file, "complete");
	reader->lost = read_number(reader->file, "lost_records");
	if (check_version(reader, message) || read_image(reader, message) ||
	    open_columns(reader, message) || read_changes(reader, message) ||
	    find_tripped_lock(reader, message))
		goto err_free;
	return reader;
err_free:
	hytest_log_reader_free(reader);
	return NULL;
}

void hytest_log_reader_free(struct hytest_log_reader *reader)
{
	size_t i;

	for (i = 0; i < reader->n_columns; i++)
		H5Dclose(reader->columns[i]);
	if (reader->file >= 0)
		H5Fclose(reader->file);
	free(reader->columns);
	free(reader->changes);
	free(reader->image);
	free(reader->path);
	free(reader);
}

bool hytest_log_complete(const struct hytest_log_reader *reader)
{
	return reader->complete;
}

uint64_t hytest_log_lost(const struct hytest_log_reader *reader)
{
	return reader->lost;
}

const void *hytest_log_image(const struct hytest_log_reader *reader, size_t *size)
{
	*size = reader->image_size;
	return reader->image;
}

uint64_t hytest_log_n_records(const struct hytest_log_reader *reader)
{
	return reader->n_records;
}

size_t hytest_log_record_size(const struct hytest_log_reader *reader)
{
	return reader->record_size;
}

int hytest_log_tripped_lock(const struct hytest_log_reader *reader)
{
	return reader->tripped_lock;
}

size_t hytest_log_changes(const struct hytest_log_reader *reader,
			  const struct hytest_log_change **changes)
{
	*changes = reader->changes;
	return reader->n_changes;
}

/* Elements [first, first + n) of a column. */
static int read_column(hid_t dataset, hid_t type, hsize_t first, hsize_t n, void *buffer)
{
	hid_t file_space = H5Dget_space(dataset);
	hid_t memory_space = H5Screate_simple(1, &n, NULL);
	herr_t result = -1;

	if (H5Sselect_hyperslab(file_space, H5S_SELECT_SET, &first, NULL, &n, NULL) >= 0)
		result = H5Dread(dataset, type, memory_space, file_space, H5P_DEFAULT, buffer);
	H5Sclose(memory_space);
	H5Sclose(file_space);
	return result < 0 ? -1 : 0;
}

/* Puts a column into the records, which lie record_size bytes apart. */
static void spread(unsigned char *records, size_t record_size, size_t offset, size_t size,
		   const unsigned char *column, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		memcpy(records + i * record_size + offset, column + i * size, size);
}

int hytest_log_read(struct hytest_log_reader *reader, uint64_t first, size_t n, void *records,
		    struct hytest_message *message)
{
	unsigned char *column;
	size_t i, offset, size;
	int result = 0;
	hid_t type;

	if (!n)
		return 0;
	if (first > reader->n_records || n > reader->n_records - first)
		return complain(reader, message, "has no record %llu",
				(unsigned long long)(first + n - 1));
	column = malloc(n * sizeof(uint64_t));
	if (!column)
		return complain(reader, message, "no memory");
	for (i = 0; !result && i < reader->n_columns; i++) {
		offset = i < LOG_FIELDS ? log_fields[i].offset :
			 offsetof(struct hytest_record, value) + 8 * (i - LOG_FIELDS);
		size = i < LOG_FIELDS ? log_fields[i].size : 8;
		if (i >= LOG_FIELDS)
			type = H5T_NATIVE_DOUBLE;
		else
			type = size == 8 ? H5T_NATIVE_UINT64 : H5T_NATIVE_UINT32;
		result = read_column(reader->columns[i], type, first, n, column);
		if (!result)
			spread(records, reader->record_size, offset, size, column, n);
	}
	free(column);
	if (result)
		return complain(reader, message, "cannot read records %llu to %llu",
				(unsigned long long)first, (unsigned long long)(first + n - 1));
	for (i = 0; i < n; i++)
		((struct hytest_record *)((unsigned char *)records + i * reader->record_size))
			->sequence = first + i + 1;
	return 0;
}
