/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What writer and reader of logs share: fields of records, rows of tables.
 */
#ifndef HYTEST_LOG_FORMAT_H
#define HYTEST_LOG_FORMAT_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

#include "log.h"

/* Of the file, in /versions: 2 since records have ages of scans and writes. */
#define LOG_VERSION	2

#define LOG_NAME_SIZE	128	/* of a parameter */
#define LOG_PATH_SIZE	64	/* of a column */
#define LOG_WORD_SIZE	24	/* of an event */

/* A field of struct hytest_record that has a dataset of its own. */
struct log_field {
	const char *path;
	size_t offset;
	size_t size;		/* 4 or 8 */
};

#define LOG_FIELDS 10
extern const struct log_field log_fields[LOG_FIELDS];

struct log_param_row {
	uint64_t tick;
	uint32_t batch;
	uint32_t param;
	char name[LOG_NAME_SIZE];
	double value;
};

struct log_event_row {
	uint64_t sequence;
	uint64_t tick;
	uint64_t time_ns;
	uint32_t type;
	uint32_t index;
	char text[LOG_WORD_SIZE];
	double value;
	double limit;
	uint32_t dropped;
	uint32_t reserved;
};

/* To be closed by the caller. */
hid_t log_field_type(const struct log_field *field);
hid_t log_param_type(void);
hid_t log_event_type(void);

/* No printing by HDF5 itself: its complaints are kept for log_reason(). */
void log_silence(void);
/* What HDF5 had to say about the last failure. */
void log_reason(char *text, size_t size);

#endif
