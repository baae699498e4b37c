// SPDX-License-Identifier: GPL-2.0
/*
 * Writer of logs.
 *
 * Records are collected column by column and written in whole chunks, so that
 * no chunk is compressed twice; only a loop slower than a few Hz has partial
 * ones. All objects are made before the run starts, because the single-writer
 * mode of HDF5 wants it so; what is known at the end is added when the file
 * has been closed and opened once more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "../kmod/core/block.h"
#include "histogram.h"
#include "log_format.h"
#include "param_names.h"

#define FLUSH_NS	400000000ull
#define CHUNK_NS	300000000ull	/* together clearly less than a second */
#define MIN_CHUNK	16
#define MAX_CHUNK	16384
#define TABLE_CHUNK	64

/* A batch that waits for news of the tick at which it took effect. */
struct pending {
	struct pending *next;
	uint32_t number;
	uint32_t count;
	struct hytest_change changes[];
};

/* A dataset of rows that grows. */
struct table {
	hid_t dataset;
	hid_t type;
	hsize_t rows;
};

struct column {
	hid_t dataset;
	size_t offset;		/* in the record */
	size_t size;		/* 4 or 8 */
	unsigned char *buffer;
};

struct hytest_log {
	char *path;
	void *image;
	hid_t file;
	struct column *columns;
	size_t n_columns;
	size_t n_open;		/* columns whose dataset is open */
	size_t chunk;		/* records */
	size_t buffered;
	size_t record_size;
	hsize_t written;
	struct table parameters;
	struct table events;
	hid_t lateness;
	hid_t step;
	struct pending *pending;
	uint64_t last_flush_ns;
	uint64_t last_write_ns;
	bool streaming;		/* in single-writer mode */
	char error[512];
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static int fail(struct hytest_log *log, const char *what)
{
	char reason[256];

	log_reason(reason, sizeof(reason));
	snprintf(log->error, sizeof(log->error), "%s: cannot write %s: %s", log->path, what,
		 reason);
	return -1;
}

const char *hytest_log_error(const struct hytest_log *log)
{
	return log->error;
}

/* New-format file: needed for the single-writer mode. */
static hid_t file_access(void)
{
	hid_t access = H5Pcreate(H5P_FILE_ACCESS);

	H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
	return access;
}

static int write_attribute(hid_t object, const char *name, hid_t type, const void *value)
{
	hid_t space, attribute;
	herr_t result = -1;

	if (H5Aexists(object, name) > 0)
		H5Adelete(object, name);
	space = H5Screate(H5S_SCALAR);
	attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	if (attribute >= 0) {
		result = H5Awrite(attribute, type, value);
		H5Aclose(attribute);
	}
	H5Sclose(space);
	return result < 0 ? -1 : 0;
}

static hid_t text_type(size_t length)
{
	hid_t type = H5Tcopy(H5T_C_S1);

	H5Tset_size(type, length + 1);
	H5Tset_cset(type, H5T_CSET_UTF8);
	return type;
}

static int write_text(hid_t object, const char *name, const char *text)
{
	hid_t type = text_type(strlen(text));
	int result = write_attribute(object, name, type, text);

	H5Tclose(type);
	return result;
}

static int write_u64(hid_t object, const char *name, uint64_t value)
{
	return write_attribute(object, name, H5T_NATIVE_UINT64, &value);
}

static int write_u32(hid_t object, const char *name, uint32_t value)
{
	return write_attribute(object, name, H5T_NATIVE_UINT32, &value);
}

/* A dataset that never changes. */
static int write_constant(hid_t file, const char *path, hid_t type, hsize_t n, const void *data)
{
	hid_t space = n ? H5Screate_simple(1, &n, NULL) : H5Screate(H5S_SCALAR);
	hid_t dataset = H5Dcreate2(file, path, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	herr_t result = -1;

	if (dataset >= 0) {
		result = H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
		H5Dclose(dataset);
	}
	H5Sclose(space);
	return result < 0 ? -1 : 0;
}

static int write_experiment(hid_t file, const char *text)
{
	hid_t type = text_type(strlen(text));
	int result = write_constant(file, "/experiment", type, 0, text);

	H5Tclose(type);
	return result;
}

static int write_versions(hid_t file)
{
	hid_t group = H5Gcreate2(file, "/versions", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	struct utsname machine;
	char core[64];
	int result = 0;

	if (group < 0 || uname(&machine) < 0)
		return -1;
	snprintf(core, sizeof(core), "%s, %u block types", HYTEST_VERSION, ht_n_block_types);
	result |= write_u32(group, "log", LOG_VERSION);
	result |= write_text(group, "hytest", HYTEST_VERSION);
	result |= write_u32(group, "image", HT_IMAGE_VERSION);
	result |= write_u32(group, "uapi", HYTEST_UAPI_VERSION);
	result |= write_text(group, "core", core);
	result |= write_text(group, "kernel", machine.release);
	result |= write_text(group, "machine", machine.machine);
	H5Gclose(group);
	return result;
}

static int make_group(hid_t file, const char *path)
{
	hid_t group = H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

	return group < 0 ? -1 : H5Gclose(group);
}

static hid_t make_growing(hid_t file, const char *path, hid_t type, hsize_t chunk, bool compressed)
{
	const hsize_t none = 0, unlimited = H5S_UNLIMITED;
	hid_t space = H5Screate_simple(1, &none, &unlimited);
	hid_t create = H5Pcreate(H5P_DATASET_CREATE);
	hid_t dataset;

	H5Pset_chunk(create, 1, &chunk);
	if (compressed) {
		H5Pset_shuffle(create);
		H5Pset_deflate(create, 1);
	}
	dataset = H5Dcreate2(file, path, type, space, H5P_DEFAULT, create, H5P_DEFAULT);
	H5Pclose(create);
	H5Sclose(space);
	return dataset;
}

static int make_table(struct hytest_log *log, struct table *table, const char *path, hid_t type)
{
	table->type = type;
	table->dataset = make_growing(log->file, path, type, TABLE_CHUNK, false);
	return table->dataset < 0 ? -1 : 0;
}

static hid_t make_histogram(hid_t file, const char *path)
{
	const hsize_t n = HYTEST_BUCKETS;
	hid_t space = H5Screate_simple(1, &n, NULL);
	hid_t dataset = H5Dcreate2(file, path, H5T_NATIVE_UINT64, space, H5P_DEFAULT, H5P_DEFAULT,
				   H5P_DEFAULT);

	H5Sclose(space);
	return dataset;
}

static int make_histograms(struct hytest_log *log)
{
	uint64_t bounds[HYTEST_BUCKETS];
	unsigned int b;

	for (b = 0; b < HYTEST_BUCKETS; b++)
		bounds[b] = hytest_histogram_bound(b);
	if (make_group(log->file, "/histograms") ||
	    write_constant(log->file, "/histograms/bounds_ns", H5T_NATIVE_UINT64, HYTEST_BUCKETS,
			   bounds))
		return -1;
	log->lateness = make_histogram(log->file, "/histograms/lateness");
	log->step = make_histogram(log->file, "/histograms/step");
	return log->lateness < 0 || log->step < 0 ? -1 : 0;
}

static int add_column(struct hytest_log *log, const char *path, size_t offset, size_t size,
		      hid_t type)
{
	struct column *column = &log->columns[log->n_open];

	column->offset = offset;
	column->size = size;
	column->buffer = malloc(log->chunk * size);
	column->dataset = make_growing(log->file, path, type, log->chunk, true);
	log->n_open++;
	return !column->buffer || column->dataset < 0 ? -1 : 0;
}

static int add_fields(struct hytest_log *log)
{
	const struct log_field *field;
	int result = 0;
	hid_t type;
	size_t i;

	for (i = 0; !result && i < LOG_FIELDS; i++) {
		field = &log_fields[i];
		type = log_field_type(field);
		result = add_column(log, field->path, field->offset, field->size, type);
		H5Tclose(type);
	}
	return result;
}

static int add_values(struct hytest_log *log, const struct ht_image *image)
{
	const uint32_t n_records = image->header->n_records;
	const struct ht_image_signal *signal;
	char path[LOG_PATH_SIZE];
	uint32_t c;

	for (c = 0; c < n_records + image->header->n_outputs; c++) {
		signal = &image->signals[c < n_records ? image->records[c] :
					 image->outputs[c - n_records].signal];
		hytest_log_column(log->image, c, path, sizeof(path));
		if (add_column(log, path, offsetof(struct hytest_record, value) + 8 * (size_t)c, 8,
			       H5T_NATIVE_DOUBLE) ||
		    write_text(log->columns[log->n_open - 1].dataset, "unit", signal->unit))
			return -1;
	}
	return 0;
}

static size_t chunk_for(uint64_t period_ns)
{
	const uint64_t records = CHUNK_NS / period_ns;

	if (records < MIN_CHUNK)
		return MIN_CHUNK;
	return records > MAX_CHUNK ? MAX_CHUNK : records;
}

static int make_objects(struct hytest_log *log, const struct hytest_log_about *about)
{
	struct ht_image image;

	ht_image_open(&image, log->image);
	log->chunk = chunk_for(image.header->period_ns);
	log->n_columns = LOG_FIELDS + image.header->n_records + image.header->n_outputs;
	log->record_size = sizeof(struct hytest_record) + 8 * (log->n_columns - LOG_FIELDS);
	log->columns = calloc(log->n_columns, sizeof(*log->columns));
	if (!log->columns)
		return -1;
	if (write_text(log->file, "title", about->title ? about->title : "") ||
	    write_text(log->file, "backend", about->backend) ||
	    write_u64(log->file, "period_ns", image.header->period_ns) ||
	    write_u32(log->file, "complete", 0) ||
	    write_versions(log->file) ||
	    write_experiment(log->file, about->experiment ? about->experiment : "") ||
	    write_constant(log->file, "/image", H5T_NATIVE_UINT8, about->image_size, log->image) ||
	    make_table(log, &log->parameters, "/parameters", log_param_type()) ||
	    make_table(log, &log->events, "/events", log_event_type()) ||
	    make_histograms(log) ||
	    make_group(log->file, "/signals") || make_group(log->file, "/outputs") ||
	    add_fields(log) || add_values(log, &image))
		return -1;
	return 0;
}

static void close_objects(struct hytest_log *log)
{
	size_t i;

	for (i = 0; i < log->n_open; i++) {
		free(log->columns[i].buffer);
		if (log->columns[i].dataset >= 0)
			H5Dclose(log->columns[i].dataset);
	}
	log->n_open = 0;
	if (log->parameters.dataset >= 0)
		H5Dclose(log->parameters.dataset);
	if (log->parameters.type >= 0)
		H5Tclose(log->parameters.type);
	if (log->events.dataset >= 0)
		H5Dclose(log->events.dataset);
	if (log->events.type >= 0)
		H5Tclose(log->events.type);
	if (log->lateness >= 0)
		H5Dclose(log->lateness);
	if (log->step >= 0)
		H5Dclose(log->step);
}

static void free_log(struct hytest_log *log)
{
	struct pending *next;

	for (; log->pending; log->pending = next) {
		next = log->pending->next;
		free(log->pending);
	}
	free(log->columns);
	free(log->image);
	free(log->path);
	free(log);
}

static struct hytest_log *new_log(const char *path, const struct hytest_log_about *about)
{
	struct hytest_log *log = calloc(1, sizeof(*log));

	if (!log)
		return NULL;
	log->file = -1;
	log->parameters = (struct table){ .dataset = -1, .type = -1 };
	log->events = (struct table){ .dataset = -1, .type = -1 };
	log->lateness = -1;
	log->step = -1;
	log->path = strdup(path);
	log->image = malloc(about->image_size);
	if (!log->path || !log->image) {
		free_log(log);
		return NULL;
	}
	memcpy(log->image, about->image, about->image_size);
	return log;
}

struct hytest_log *hytest_log_create(const char *path, const struct hytest_log_about *about,
				     struct hytest_message *message)
{
	struct hytest_log *log = new_log(path, about);
	hid_t access;

	if (!log) {
		snprintf(message->text, sizeof(message->text), "%s: no memory for the log", path);
		return NULL;
	}
	log_silence();
	access = file_access();
	log->file = H5Fcreate(path, H5F_ACC_EXCL, H5P_DEFAULT, access);
	H5Pclose(access);
	if (log->file >= 0 && !make_objects(log, about))
		return log;
	fail(log, "the log");
	snprintf(message->text, sizeof(message->text), "%s", log->error);
	close_objects(log);
	if (log->file >= 0)
		H5Fclose(log->file);
	free_log(log);
	return NULL;
}

int hytest_log_started(struct hytest_log *log, uint64_t start_ns, const struct timespec *start)
{
	char text[64], zone[8];
	struct tm local;

	localtime_r(&start->tv_sec, &local);
	strftime(zone, sizeof(zone), "%z", &local);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &local);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), ".%06ld%.3s:%s",
		 start->tv_nsec / 1000, zone, zone + 3);
	if (write_u64(log->file, "start_ns", start_ns) ||
	    write_text(log->file, "start_time", text))
		return fail(log, "the start time");
	if (H5Fflush(log->file, H5F_SCOPE_GLOBAL) < 0 || H5Fstart_swmr_write(log->file) < 0)
		return fail(log, "in single-writer mode");
	log->streaming = true;
	log->last_flush_ns = now_ns();
	log->last_write_ns = log->last_flush_ns;
	return 0;
}

/* Puts n elements behind the rows that a dataset has. */
static int append(hid_t dataset, hid_t type, hsize_t rows, hsize_t n, const void *data)
{
	const hsize_t size = rows + n;
	hid_t file_space, memory_space;
	herr_t result = -1;

	if (H5Dset_extent(dataset, &size) < 0)
		return -1;
	file_space = H5Screate_simple(1, &size, NULL);
	memory_space = H5Screate_simple(1, &n, NULL);
	if (H5Sselect_hyperslab(file_space, H5S_SELECT_SET, &rows, NULL, &n, NULL) >= 0)
		result = H5Dwrite(dataset, type, memory_space, file_space, H5P_DEFAULT, data);
	H5Sclose(memory_space);
	H5Sclose(file_space);
	return result < 0 ? -1 : 0;
}

static int append_rows(struct hytest_log *log, struct table *table, hsize_t n, const void *rows,
		       const char *what)
{
	if (append(table->dataset, table->type, table->rows, n, rows))
		return fail(log, what);
	table->rows += n;
	return 0;
}

static int write_buffered(struct hytest_log *log)
{
	struct column *column;
	hid_t type;
	size_t i;

	if (!log->buffered)
		return 0;
	for (i = 0; i < log->n_columns; i++) {
		column = &log->columns[i];
		if (i >= LOG_FIELDS)
			type = H5T_NATIVE_DOUBLE;
		else
			type = column->size == 8 ? H5T_NATIVE_UINT64 : H5T_NATIVE_UINT32;
		if (append(column->dataset, type, log->written, log->buffered, column->buffer))
			return fail(log, "records");
	}
	log->written += log->buffered;
	log->buffered = 0;
	log->last_write_ns = now_ns();
	return 0;
}

static int write_batch(struct hytest_log *log, uint32_t number, uint64_t tick,
		       const struct hytest_change *changes, uint32_t count)
{
	struct log_param_row *rows = calloc(count, sizeof(*rows));
	uint32_t i;
	int result;

	if (!rows)
		return fail(log, "a batch of parameters");
	for (i = 0; i < count; i++) {
		rows[i].tick = tick;
		rows[i].batch = number;
		rows[i].param = changes[i].param;
		rows[i].value = hytest_double(changes[i].value);
		hytest_param_name(log->image, changes[i].param, rows[i].name,
				  sizeof(rows[i].name));
	}
	result = append_rows(log, &log->parameters, count, rows, "parameters");
	free(rows);
	return result;
}

int hytest_log_batch(struct hytest_log *log, uint32_t number, const struct hytest_change *changes,
		     uint32_t count)
{
	struct pending **last = &log->pending, *pending;

	if (!number)
		return write_batch(log, 0, 0, changes, count);
	pending = malloc(sizeof(*pending) + count * sizeof(*changes));
	if (!pending)
		return fail(log, "a batch of parameters");
	pending->next = NULL;
	pending->number = number;
	pending->count = count;
	memcpy(pending->changes, changes, count * sizeof(*changes));
	while (*last)
		last = &(*last)->next;
	*last = pending;
	return 0;
}

/* Batches up to this number are in force at this tick. */
static int settle_batches(struct hytest_log *log, uint32_t number, uint64_t tick)
{
	struct pending *pending;
	int result = 0;

	while (!result && log->pending && log->pending->number <= number) {
		pending = log->pending;
		log->pending = pending->next;
		result = write_batch(log, pending->number, tick, pending->changes, pending->count);
		free(pending);
	}
	return result;
}

static void buffer_record(struct hytest_log *log, const unsigned char *record)
{
	const struct column *column;
	size_t i;

	for (i = 0; i < log->n_columns; i++) {
		column = &log->columns[i];
		memcpy(column->buffer + log->buffered * column->size, record + column->offset,
		       column->size);
	}
	log->buffered++;
}

int hytest_log_records(struct hytest_log *log, const void *records, size_t n)
{
	const unsigned char *bytes = records;
	const struct hytest_record *record;

	for (; n; n--, bytes += log->record_size) {
		record = (const struct hytest_record *)bytes;
		if (log->pending && settle_batches(log, record->batch, record->tick))
			return -1;
		buffer_record(log, bytes);
		if (log->buffered == log->chunk && write_buffered(log))
			return -1;
	}
	return 0;
}

/* Some events carry a count, the others a double. */
static double event_number(uint32_t type, uint64_t bits)
{
	if (type == HYTEST_EVENT_MISSED || type == HYTEST_EVENT_OVERRUN ||
	    type == HYTEST_EVENT_BOUND)
		return bits;
	return hytest_double(bits);
}

int hytest_log_events(struct hytest_log *log, const struct hytest_event *events, size_t n)
{
	struct log_event_row row;
	const struct hytest_event *event;

	for (event = events; event < events + n; event++) {
		row = (struct log_event_row){
			.sequence = event->sequence,
			.tick = event->tick,
			.time_ns = event->time_ns,
			.type = event->type,
			.index = event->index,
			.value = event_number(event->type, event->value),
			.limit = event_number(event->type, event->limit),
			.dropped = event->dropped,
		};
		snprintf(row.text, sizeof(row.text), "%s", hytest_event_text(event->type));
		if (append_rows(log, &log->events, 1, &row, "events"))
			return -1;
		if (event->type == HYTEST_EVENT_BATCH &&
		    settle_batches(log, event->index, event->tick))
			return -1;
	}
	return 0;
}

static int write_histograms(struct hytest_log *log, const struct hytest_status *status)
{
	if (H5Dwrite(log->lateness, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
		     status->lateness.bucket) < 0 ||
	    H5Dwrite(log->step, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
		     status->step.bucket) < 0)
		return fail(log, "histograms");
	return 0;
}

int hytest_log_tend(struct hytest_log *log, const struct hytest_status *status)
{
	const uint64_t now = now_ns();

	if (now - log->last_flush_ns < FLUSH_NS)
		return 0;
	if (now - log->last_write_ns >= FLUSH_NS && write_buffered(log))
		return -1;
	if (write_histograms(log, status))
		return -1;
	if (H5Fflush(log->file, H5F_SCOPE_GLOBAL) < 0)
		return fail(log, "to the disk");
	log->last_flush_ns = now;
	return 0;
}

static int describe_histogram(hid_t file, const char *path, const struct hytest_histogram *h)
{
	hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
	int result = 0;

	if (dataset < 0)
		return -1;
	result |= write_u64(dataset, "count", h->count);
	result |= write_u64(dataset, "sum_ns", h->sum);
	result |= write_u64(dataset, "min_ns", h->count ? h->min : 0);
	result |= write_u64(dataset, "max_ns", h->max);
	H5Dclose(dataset);
	return result;
}

/* What is known at the end, once the single-writer mode is over. */
static int add_summary(struct hytest_log *log, const struct hytest_status *status, uint64_t lost)
{
	hid_t access = file_access();
	char trip[256] = "";
	int result = 0;
	hid_t file;

	file = H5Fopen(log->path, H5F_ACC_RDWR, access);
	H5Pclose(access);
	if (file < 0)
		return fail(log, "the summary");
	if (status->trip.cause)
		hytest_trip_text(log->image, &status->trip, trip, sizeof(trip));
	result |= write_u64(file, "lost_records", lost);
	result |= write_u64(file, "missed", status->missed);
	result |= write_u64(file, "overruns", status->overruns);
	result |= write_u64(file, "lost_scans", status->lost_scans);
	result |= write_u64(file, "failed_writes", status->failed_writes);
	result |= write_u32(file, "trip_cause", status->trip.cause);
	result |= write_text(file, "trip", trip);
	result |= describe_histogram(file, "/histograms/lateness", &status->lateness);
	result |= describe_histogram(file, "/histograms/step", &status->step);
	result |= write_u32(file, "complete", 1);
	if (H5Fclose(file) < 0 || result)
		return fail(log, "the summary");
	return 0;
}

int hytest_log_close(struct hytest_log *log, const struct hytest_status *status, uint64_t lost,
		     struct hytest_message *message)
{
	int result = log->error[0] ? -1 : 0;

	if (!result)
		result = write_buffered(log);
	if (!result)
		result = write_histograms(log, status);
	close_objects(log);
	if (H5Fclose(log->file) < 0 && !result)
		result = fail(log, "its end");
	if (!result)
		result = add_summary(log, status, lost);
	if (result)
		snprintf(message->text, sizeof(message->text), "%s", log->error);
	free_log(log);
	return result;
}
