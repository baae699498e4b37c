/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Logs: HDF5 files that hold a run and all that is needed to repeat it.
 *
 *	/signals/NAME	recorded signals, one value for each record (attribute unit)
 *	/outputs/NAME	outputs as they were applied
 *	/tick /time_ns /lateness_ns /step_ns /batch /missed /state /cause /scan_age
 *	/write_age	the other fields of struct hytest_record
 *	/parameters	changes: batch, tick from which it was in force, parameter,
 *			name, value. Batch 0: made before the start.
 *	/events		struct hytest_event, with its type in words
 *	/histograms/lateness, step (samples in each bucket), bounds_ns
 *	/experiment	the file as text
 *	/image		the program as bytes
 *	/versions	attributes: log (this format), hytest, image, uapi, kernel,
 *			machine, core
 *	attributes of the root: title, backend, start_time, start_ns, period_ns,
 *			complete; and once complete: lost_records, missed,
 *			overruns, lost_scans, failed_writes, trip_cause, trip
 *
 * The file is written in HDF5's single-writer mode: it can be read at any
 * moment, and a writer that dies leaves all that it had flushed, which is at
 * least all that is older than a second.
 */
#ifndef HYTEST_LOG_H
#define HYTEST_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "experiment.h"
#include "libhytest.h"

/* What is known of a run before it starts. */
struct hytest_log_about {
	const void *image;		/* checked */
	size_t image_size;
	const char *experiment;		/* text of the file */
	const char *title;
	const char *backend;
};

struct hytest_log;

/* All but create and close: 0, or -1 and hytest_log_error() tells why. */
struct hytest_log *hytest_log_create(const char *path, const struct hytest_log_about *about,
				     struct hytest_message *message);
/* The run has begun: start_ns as in the status, and the time of day. */
int hytest_log_started(struct hytest_log *log, uint64_t start_ns, const struct timespec *start);
/* Records as the ring reader delivers them. */
int hytest_log_records(struct hytest_log *log, const void *records, size_t n);
/*
 * A batch that was handed to the loop. It is written once a record or an event
 * shows when it took effect; batch 0 at once.
 */
int hytest_log_batch(struct hytest_log *log, uint32_t number, const struct hytest_change *changes,
		     uint32_t count);
int hytest_log_events(struct hytest_log *log, const struct hytest_event *events, size_t n);
/* Call it often; it flushes if it is time to. The status is for the histograms. */
int hytest_log_tend(struct hytest_log *log, const struct hytest_status *status);
const char *hytest_log_error(const struct hytest_log *log);
/* Frees the log whatever happens; 0, or -1 with a message. */
int hytest_log_close(struct hytest_log *log, const struct hytest_status *status, uint64_t lost,
		     struct hytest_message *message);

struct hytest_log_reader;

/* A change of /parameters. */
struct hytest_log_change {
	uint64_t tick;
	uint32_t batch;
	uint32_t param;
	double value;
};

struct hytest_log_reader *hytest_log_open(const char *path, struct hytest_message *message);
void hytest_log_reader_free(struct hytest_log_reader *reader);

/* Whether it was closed by its writer. */
bool hytest_log_complete(const struct hytest_log_reader *reader);
uint64_t hytest_log_lost(const struct hytest_log_reader *reader);
const void *hytest_log_image(const struct hytest_log_reader *reader, size_t *size);
uint64_t hytest_log_n_records(const struct hytest_log_reader *reader);
size_t hytest_log_record_size(const struct hytest_log_reader *reader);
/* Changes in the order in which they took effect. */
size_t hytest_log_changes(const struct hytest_log_reader *reader,
			  const struct hytest_log_change **changes);
/* The interlock that tripped, by /events; -1 if none has, or it was not logged. */
int hytest_log_tripped_lock(const struct hytest_log_reader *reader);
/* n records from number first on, as the ring had them; -1 with a message. */
int hytest_log_read(struct hytest_log_reader *reader, uint64_t first, size_t n, void *records,
		    struct hytest_message *message);

/*
 * Path of a column within the file: column c of a record is signal or output
 * c of the image. What HDF5 cannot have in a name is replaced.
 */
void hytest_log_column(const void *image, uint32_t column, char *path, size_t size);

#endif
