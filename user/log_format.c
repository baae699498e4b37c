// SPDX-License-Identifier: GPL-2.0
/*
 * What writer and reader of logs share.
 */
#include <stdio.h>
#include <string.h>

#include "../kmod/core/image.h"
#include "log_format.h"

#define RECORD(member) \
	offsetof(struct hytest_record, member), sizeof(((struct hytest_record *)0)->member)

const struct log_field log_fields[LOG_FIELDS] = {
	{ "/tick", RECORD(tick) },
	{ "/time_ns", RECORD(time_ns) },
	{ "/lateness_ns", RECORD(lateness_ns) },
	{ "/step_ns", RECORD(step_ns) },
	{ "/batch", RECORD(batch) },
	{ "/missed", RECORD(missed) },
	{ "/state", RECORD(state) },
	{ "/cause", RECORD(cause) },
	{ "/scan_age", RECORD(scan_age) },
	{ "/write_age", RECORD(write_age) },
};

hid_t log_field_type(const struct log_field *field)
{
	return H5Tcopy(field->size == 8 ? H5T_NATIVE_UINT64 : H5T_NATIVE_UINT32);
}

static void insert_text(hid_t type, const char *name, size_t offset, size_t size)
{
	hid_t text = H5Tcopy(H5T_C_S1);

	H5Tset_size(text, size);
	H5Tinsert(type, name, offset, text);
	H5Tclose(text);
}

hid_t log_param_type(void)
{
	hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct log_param_row));

	H5Tinsert(type, "tick", offsetof(struct log_param_row, tick), H5T_NATIVE_UINT64);
	H5Tinsert(type, "batch", offsetof(struct log_param_row, batch), H5T_NATIVE_UINT32);
	H5Tinsert(type, "parameter", offsetof(struct log_param_row, param), H5T_NATIVE_UINT32);
	insert_text(type, "name", offsetof(struct log_param_row, name), LOG_NAME_SIZE);
	H5Tinsert(type, "value", offsetof(struct log_param_row, value), H5T_NATIVE_DOUBLE);
	return type;
}

hid_t log_event_type(void)
{
	hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct log_event_row));

	H5Tinsert(type, "sequence", offsetof(struct log_event_row, sequence), H5T_NATIVE_UINT64);
	H5Tinsert(type, "tick", offsetof(struct log_event_row, tick), H5T_NATIVE_UINT64);
	H5Tinsert(type, "time_ns", offsetof(struct log_event_row, time_ns), H5T_NATIVE_UINT64);
	H5Tinsert(type, "type", offsetof(struct log_event_row, type), H5T_NATIVE_UINT32);
	H5Tinsert(type, "index", offsetof(struct log_event_row, index), H5T_NATIVE_UINT32);
	insert_text(type, "text", offsetof(struct log_event_row, text), LOG_WORD_SIZE);
	H5Tinsert(type, "value", offsetof(struct log_event_row, value), H5T_NATIVE_DOUBLE);
	H5Tinsert(type, "limit", offsetof(struct log_event_row, limit), H5T_NATIVE_DOUBLE);
	H5Tinsert(type, "dropped", offsetof(struct log_event_row, dropped), H5T_NATIVE_UINT32);
	return type;
}

/* What HDF5 said at the last failure; the next call would have cleared it. */
static _Thread_local char last_reason[256];

/* Text of the system's error, which HDF5 hides in a long line. */
static void shorten(char *text)
{
	static const char mark[] = "error message = '";
	char *from = strstr(text, mark);

	if (!from)
		return;
	from += strlen(mark);
	from[strcspn(from, "'")] = '\0';
	memmove(text, from, strlen(from) + 1);
}

/* The innermost entry comes first and knows most. */
static herr_t take_reason(unsigned int n, const H5E_error2_t *error, void *data)
{
	(void)data;
	if (n == 0 && error->desc) {
		snprintf(last_reason, sizeof(last_reason), "%s", error->desc);
		shorten(last_reason);
	}
	return 0;
}

static herr_t note_failure(hid_t stack, void *data)
{
	return H5Ewalk2(stack, H5E_WALK_UPWARD, take_reason, data);
}

void log_silence(void)
{
	last_reason[0] = '\0';
	H5Eset_auto2(H5E_DEFAULT, note_failure, NULL);
}

void log_reason(char *text, size_t size)
{
	snprintf(text, size, "%s", last_reason[0] ? last_reason : "no memory");
}

/* Signal of a column, and whether the column is an output. */
static uint32_t column_signal(const struct ht_image *image, uint32_t column)
{
	const uint32_t n_records = image->header->n_records;

	return column < n_records ? image->records[column] :
				    image->outputs[column - n_records].signal;
}

static bool same_column_name(const struct ht_image *image, uint32_t a, uint32_t b)
{
	return !strcmp(image->signals[column_signal(image, a)].name,
		       image->signals[column_signal(image, b)].name);
}

void hytest_log_column(const void *bytes, uint32_t column, char *path, size_t size)
{
	unsigned int same = 1;
	struct ht_image image;
	const char *folder;
	uint32_t first, i;
	char *c;

	ht_image_open(&image, bytes);
	first = column < image.header->n_records ? 0 : image.header->n_records;
	folder = first || !image.header->n_records ? "/outputs/" : "/signals/";
	for (i = first; i < column; i++)
		same += same_column_name(&image, i, column);
	if (same > 1)
		snprintf(path, size, "%s%s#%u", folder,
			 image.signals[column_signal(&image, column)].name, same);
	else
		snprintf(path, size, "%s%s", folder,
			 image.signals[column_signal(&image, column)].name);
	for (c = path + strlen(folder); *c; c++)
		if (*c == '/')
			*c = '_';
	/* The only name that HDF5 keeps for itself. */
	if (!strcmp(path + strlen(folder), "."))
		path[strlen(folder)] = '_';
}
