// SPDX-License-Identifier: GPL-2.0
/*
 * The black box: what is known of a trip, saved as one HDF5 file.
 *
 * All of it is copied first, because the ring may be written on while outputs are
 * held. The file gets its name when it is complete and on the disk.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../kmod/core/loop.h"
#include "blackbox.h"
#include "log_format.h"
#include "param_names.h"

#define DEFAULT_DIRECTORY	"/var/lib/hytest/black-box"
#define EVENTS			256	/* at a time */
#define BOOT_ID_SIZE		40
#define TEXT_SIZE		256
#define NS_PER_S		1000000000ll
#define POLL_NS			10000000ull
#define QUIET_NS		60000000ull	/* no record for so long: the timer stands */
#define PATIENCE_NS		30000000000ull

/* What there is to save. */
struct capture {
	struct hytest_info info;
	struct hytest_status status;
	bool sim;
	void *image;
	size_t image_size;
	struct ht_image sections;
	unsigned char *records;
	size_t record_size;
	size_t n_records;
	struct hytest_event *events;
	size_t n_events;
	double *params;
	char boot_id[BOOT_ID_SIZE];
	struct timespec start;		/* time of day */
	struct timespec trip;
};

__attribute__((format(printf, 2, 3)))
static int complain(struct hytest_black_box *box, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(box->message.text, sizeof(box->message.text), format, list);
	va_end(list);
	return -1;
}

bool hytest_is_held(const void *bytes, const struct hytest_status *status)
{
	const struct hytest_trip *trip = &status->trip;
	struct ht_image image;

	if (status->state != HYTEST_TRIPPED || status->safe || trip->cause != HT_CAUSE_INTERLOCK)
		return false;
	ht_image_open(&image, bytes);
	return trip->index < image.header->n_interlocks &&
	       image.interlocks[trip->index].action == HT_ACTION_HOLD;
}

const char *hytest_safety_text(const void *image, const struct hytest_status *status)
{
	if (status->safe)
		return status->write_age ? "to be safe, but the device does not take them: "
					   "make the rig safe by hand" : "safe";
	return hytest_is_held(image, status) ? "held; hytest ack takes them to safe" :
					       "not safe yet";
}

void hytest_black_box_wait(struct hytest_loop *loop)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t waited, quiet = 0, head = 0;
	struct hytest_status status;
	void *image;
	size_t size;

	if (hytest_get_image(loop, &image, &size))
		return;
	for (waited = 0; waited < PATIENCE_NS; waited += POLL_NS, quiet += POLL_NS) {
		if (hytest_get_status(loop, &status) || status.state != HYTEST_TRIPPED ||
		    hytest_is_held(image, &status))
			break;
		if (status.head != head || !status.safe)
			quiet = 0;
		head = status.head;
		if (quiet >= QUIET_NS && quiet >= 3 * status.period_ns)
			break;
		nanosleep(&pause, NULL);
	}
	free(image);
}

/* Capturing */

static void read_boot_id(char *id)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");

	if (!file)
		return;
	if (!fgets(id, BOOT_ID_SIZE, file))
		id[0] = '\0';
	id[strcspn(id, "\n")] = '\0';
	fclose(file);
}

/* The time of day at a moment of CLOCK_MONOTONIC; simulated time has none. */
static struct timespec time_of_day(const struct capture *c, uint64_t monotonic_ns)
{
	struct timespec real, now;
	int64_t ns;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (c->sim)
		return real;
	ns = (real.tv_sec - now.tv_sec) * NS_PER_S + real.tv_nsec - now.tv_nsec + monotonic_ns;
	return (struct timespec){ .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
}

static int capture_records(struct capture *c, struct hytest_loop *loop)
{
	struct hytest_reader *reader = hytest_reader_new(loop);
	long n = -1;

	if (!reader)
		return -1;
	c->record_size = hytest_reader_record_size(reader);
	c->records = calloc(c->status.ring_records + 1, c->record_size);
	if (c->records)
		n = hytest_reader_read(reader, c->records, c->status.ring_records);
	hytest_reader_free(reader);
	if (n < 0)
		return -1;
	c->n_records = n;
	return 0;
}

static int capture_events(struct capture *c, struct hytest_loop *loop)
{
	struct hytest_event *more;
	int n;

	if (hytest_rewind_events(loop))
		return -1;
	do {
		more = realloc(c->events, (c->n_events + EVENTS) * sizeof(*more));
		if (!more)
			return -1;
		c->events = more;
		n = hytest_read_events(loop, &c->events[c->n_events], EVENTS);
		if (n > 0)
			c->n_events += n;
	} while (n == EVENTS);
	return n < 0 ? -1 : 0;
}

/* A loop that tripped while armed may have the ring of a run before. */
static bool has_run(const struct capture *c)
{
	bool started = true;
	size_t i;

	for (i = 0; i < c->n_events; i++) {
		if (c->events[i].type == HYTEST_EVENT_STARTED)
			started = true;
		else if (c->events[i].type == HYTEST_EVENT_ARMED)
			started = false;
	}
	return started;
}

static int capture(struct capture *c, struct hytest_loop *loop, struct hytest_black_box *box)
{
	if (hytest_get_image(loop, &c->image, &c->image_size))
		return complain(box, "no black box: %s", hytest_error(loop));
	ht_image_open(&c->sections, c->image);
	c->params = calloc(c->sections.header->n_params + 1, sizeof(*c->params));
	if (!c->params || capture_records(c, loop) || capture_events(c, loop) ||
	    hytest_get_params(loop, 0, c->sections.header->n_params, c->params))
		return complain(box, "no black box: the ring, the events or the parameters cannot "
				"be read, or there is no memory for them");
	if (!has_run(c))
		c->n_records = 0;
	c->start = time_of_day(c, c->status.start_ns);
	return 0;
}

static void free_capture(struct capture *c)
{
	free(c->image);
	free(c->records);
	free(c->events);
	free(c->params);
}

/* Tables of rows */

enum member_kind { TEXT, U32, U64, REAL };

struct member {
	const char *name;
	enum member_kind kind;
	size_t offset;
	size_t size;		/* of a text */
};

/* A dataset of rows. */
struct table {
	const char *path;
	size_t row_size;
	const struct member *members;
	size_t n_members;
};

struct trip_row {
	char cause_text[TEXT_SIZE];
	char time[32];
	char boot_id[BOOT_ID_SIZE];
	uint32_t cause;
	uint32_t index;
	uint64_t tick;
	uint64_t time_ns;
	double value;
	double limit;
};

static const struct member trip_members[] = {
	{ "cause_text", TEXT, offsetof(struct trip_row, cause_text), TEXT_SIZE },
	{ "time", TEXT, offsetof(struct trip_row, time), 32 },
	{ "boot_id", TEXT, offsetof(struct trip_row, boot_id), BOOT_ID_SIZE },
	{ "cause", U32, offsetof(struct trip_row, cause), 0 },
	{ "index", U32, offsetof(struct trip_row, index), 0 },
	{ "tick", U64, offsetof(struct trip_row, tick), 0 },
	{ "time_ns", U64, offsetof(struct trip_row, time_ns), 0 },
	{ "value", REAL, offsetof(struct trip_row, value), 0 },
	{ "limit", REAL, offsetof(struct trip_row, limit), 0 },
};

static const struct table trip_table = {
	"/trip", sizeof(struct trip_row), trip_members,
	sizeof(trip_members) / sizeof(trip_members[0])
};

struct status_row {
	char state[LOG_WORD_SIZE];
	uint32_t loop;
	uint32_t safe;
	uint32_t owner;
	uint32_t cpu;
	uint32_t batch;
	uint32_t bound_inputs;
	uint32_t bound_outputs;
	uint32_t budget_ns;
	uint32_t dry_worst_ns;
	uint64_t tick;
	uint64_t records;
	uint64_t missed;
	uint64_t overruns;
	uint64_t lost_scans;
	uint64_t failed_writes;
};

static const struct member status_members[] = {
	{ "state", TEXT, offsetof(struct status_row, state), LOG_WORD_SIZE },
	{ "loop", U32, offsetof(struct status_row, loop), 0 },
	{ "safe", U32, offsetof(struct status_row, safe), 0 },
	{ "owner", U32, offsetof(struct status_row, owner), 0 },
	{ "cpu", U32, offsetof(struct status_row, cpu), 0 },
	{ "batch", U32, offsetof(struct status_row, batch), 0 },
	{ "bound_inputs", U32, offsetof(struct status_row, bound_inputs), 0 },
	{ "bound_outputs", U32, offsetof(struct status_row, bound_outputs), 0 },
	{ "budget_ns", U32, offsetof(struct status_row, budget_ns), 0 },
	{ "dry_worst_ns", U32, offsetof(struct status_row, dry_worst_ns), 0 },
	{ "tick", U64, offsetof(struct status_row, tick), 0 },
	{ "records", U64, offsetof(struct status_row, records), 0 },
	{ "missed", U64, offsetof(struct status_row, missed), 0 },
	{ "overruns", U64, offsetof(struct status_row, overruns), 0 },
	{ "lost_scans", U64, offsetof(struct status_row, lost_scans), 0 },
	{ "failed_writes", U64, offsetof(struct status_row, failed_writes), 0 },
};

static const struct table status_table = {
	"/status", sizeof(struct status_row), status_members,
	sizeof(status_members) / sizeof(status_members[0])
};

struct lock_row {
	char name[HT_NAME_LEN];
	uint32_t healthy;
	uint32_t violated_ticks;
	double value;
	double limit;
};

static const struct member lock_members[] = {
	{ "name", TEXT, offsetof(struct lock_row, name), HT_NAME_LEN },
	{ "healthy", U32, offsetof(struct lock_row, healthy), 0 },
	{ "violated_ticks", U32, offsetof(struct lock_row, violated_ticks), 0 },
	{ "value", REAL, offsetof(struct lock_row, value), 0 },
	{ "limit", REAL, offsetof(struct lock_row, limit), 0 },
};

static const struct table lock_table = {
	"/interlocks", sizeof(struct lock_row), lock_members,
	sizeof(lock_members) / sizeof(lock_members[0])
};

struct param_row {
	char name[LOG_NAME_SIZE];
	double value;
};

static const struct member param_members[] = {
	{ "name", TEXT, offsetof(struct param_row, name), LOG_NAME_SIZE },
	{ "value", REAL, offsetof(struct param_row, value), 0 },
};

static const struct table param_table = {
	"/parameters_in_force", sizeof(struct param_row), param_members,
	sizeof(param_members) / sizeof(param_members[0])
};

static hid_t member_type(const struct member *m)
{
	hid_t type;

	switch (m->kind) {
	case U32:
		return H5Tcopy(H5T_NATIVE_UINT32);
	case U64:
		return H5Tcopy(H5T_NATIVE_UINT64);
	case REAL:
		return H5Tcopy(H5T_NATIVE_DOUBLE);
	default:
		type = H5Tcopy(H5T_C_S1);
		H5Tset_size(type, m->size);
		H5Tset_cset(type, H5T_CSET_UTF8);
		return type;
	}
}

static hid_t row_type(const struct table *table)
{
	hid_t type = H5Tcreate(H5T_COMPOUND, table->row_size), member;
	size_t i;

	for (i = 0; i < table->n_members; i++) {
		member = member_type(&table->members[i]);
		H5Tinsert(type, table->members[i].name, table->members[i].offset, member);
		H5Tclose(member);
	}
	return type;
}

static int write_rows(hid_t file, const struct table *table, const void *rows, hsize_t n)
{
	hid_t type = row_type(table);
	hid_t space = H5Screate_simple(1, &n, NULL);
	hid_t dataset = H5Dcreate2(file, table->path, type, space, H5P_DEFAULT, H5P_DEFAULT,
				   H5P_DEFAULT);
	int result = -1;

	if (dataset >= 0) {
		result = n && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) < 0;
		H5Dclose(dataset);
	}
	H5Sclose(space);
	H5Tclose(type);
	return result;
}

static int write_trip(hid_t file, const struct capture *c)
{
	const struct hytest_trip *trip = &c->status.trip;
	struct trip_row row = {
		.cause = trip->cause,
		.index = trip->index,
		.tick = trip->tick,
		.time_ns = trip->time_ns,
		.value = hytest_double(trip->value),
		.limit = hytest_double(trip->limit),
	};
	struct tm local;

	hytest_trip_text(c->image, trip, row.cause_text, sizeof(row.cause_text));
	localtime_r(&c->trip.tv_sec, &local);
	strftime(row.time, sizeof(row.time), "%Y-%m-%dT%H:%M:%S%z", &local);
	memcpy(row.boot_id, c->boot_id, sizeof(row.boot_id));
	return write_rows(file, &trip_table, &row, 1);
}

static int write_status(hid_t file, const struct capture *c)
{
	const struct hytest_status *s = &c->status;
	struct status_row row = {
		.loop = c->info.loop,
		.safe = s->safe,
		.owner = s->owner,
		.cpu = s->cpu,
		.batch = s->batch,
		.bound_inputs = s->bound_inputs,
		.bound_outputs = s->bound_outputs,
		.budget_ns = s->budget_ns,
		.dry_worst_ns = s->dry_worst_ns,
		.tick = s->tick,
		.records = c->n_records,
		.missed = s->missed,
		.overruns = s->overruns,
		.lost_scans = s->lost_scans,
		.failed_writes = s->failed_writes,
	};

	snprintf(row.state, sizeof(row.state), "%s", hytest_state_text(s->state));
	return write_rows(file, &status_table, &row, 1);
}

static int write_locks(hid_t file, const struct capture *c, struct hytest_loop *loop)
{
	const uint32_t n = c->sections.header->n_interlocks;
	struct lock_row *rows = calloc(n + 1, sizeof(*rows));
	struct hytest_lock lock;
	uint32_t i;
	int result;

	if (!rows)
		return -1;
	for (i = 0; i < n; i++) {
		memcpy(rows[i].name, c->sections.interlocks[i].name, sizeof(rows[i].name));
		if (hytest_get_lock(loop, i, &lock))
			continue;
		rows[i].healthy = lock.healthy;
		rows[i].violated_ticks = lock.violated_ticks;
		rows[i].value = hytest_double(lock.value);
		rows[i].limit = hytest_double(lock.limit);
	}
	result = write_rows(file, &lock_table, rows, n);
	free(rows);
	return result;
}

static int write_params(hid_t file, const struct capture *c)
{
	const uint32_t n = c->sections.header->n_params;
	struct param_row *rows = calloc(n + 1, sizeof(*rows));
	uint32_t i;
	int result;

	if (!rows)
		return -1;
	for (i = 0; i < n; i++) {
		hytest_param_name(c->image, i, rows[i].name, sizeof(rows[i].name));
		rows[i].value = c->params[i];
	}
	result = write_rows(file, &param_table, rows, n);
	free(rows);
	return result;
}

static int add_tables(const char *path, const struct capture *c, struct hytest_loop *loop,
		      struct hytest_black_box *box)
{
	hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
	char reason[TEXT_SIZE];
	int result;

	result = file < 0 || write_trip(file, c) || write_status(file, c) ||
		 write_locks(file, c, loop) || write_params(file, c);
	if (file >= 0 && H5Fclose(file) < 0)
		result = -1;
	if (!result)
		return 0;
	log_reason(reason, sizeof(reason));
	return complain(box, "%s: cannot write the black box: %s", path, reason);
}

/* The log */

/* What differs from the image, as the batch that is in force. */
static int log_params(struct hytest_log *log, const struct capture *c)
{
	const uint32_t n = c->sections.header->n_params;
	struct hytest_change *changes = calloc(n + 1, sizeof(*changes));
	uint32_t i, count = 0;
	int result = 0;

	if (!changes)
		return -1;
	for (i = 0; i < n; i++) {
		if (hytest_bits(c->params[i]) == hytest_bits(c->sections.params[i]))
			continue;
		changes[count++] = (struct hytest_change){
			.param = i,
			.value = hytest_bits(c->params[i]),
		};
	}
	if (count)
		result = hytest_log_batch(log, c->n_records ? c->status.batch : 0, changes, count);
	free(changes);
	return result;
}

/* Records of the run that are older than the ring. */
static uint64_t older_records(const struct capture *c)
{
	const struct hytest_record *first = (const struct hytest_record *)c->records;

	return c->n_records ? first->sequence - 1 : 0;
}

static int fill_log(struct hytest_log *log, const struct capture *c)
{
	return hytest_log_started(log, c->status.start_ns, &c->start) || log_params(log, c) ||
	       hytest_log_records(log, c->records, c->n_records) ||
	       hytest_log_events(log, c->events, c->n_events);
}

static int write_log(const char *path, const struct capture *c, struct hytest_loop *loop,
		     struct hytest_black_box *box)
{
	char *experiment = strndup(c->sections.text, c->sections.header->text_size);
	char title[64];
	const struct hytest_log_about about = {
		.image = c->image,
		.image_size = c->image_size,
		.experiment = experiment,
		.title = title,
		.backend = hytest_backend_name(loop),
	};
	struct hytest_log *log;
	int result = -1;

	snprintf(title, sizeof(title), "Black box of loop %u", c->info.loop);
	if (!experiment)
		return complain(box, "no black box: no memory");
	log = hytest_log_create(path, &about, &box->message);
	if (log) {
		result = fill_log(log, c);
		if (hytest_log_close(log, &c->status, older_records(c), &box->message))
			result = -1;
	}
	free(experiment);
	return result;
}

/* Names */

static int make_directory(const char *directory)
{
	char path[PATH_MAX];
	char *slash;

	if (snprintf(path, sizeof(path), "%s", directory) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0775) && errno != EEXIST)
			return -1;
		*slash = '/';
	}
	return mkdir(path, 0775) && errno != EEXIST ? -1 : 0;
}

/*
 * "hytest0" and "-TIME_NS.h5": begin and end of the names of this trip. Simulated
 * time begins at 0 with each run, so that the time of day must tell them apart.
 */
static void name_parts(const struct capture *c, char *begin, char *end, size_t size)
{
	uint64_t time_ns = c->status.trip.time_ns;

	if (c->sim) {
		snprintf(begin, size, "sim");
		time_ns = c->trip.tv_sec * NS_PER_S + c->trip.tv_nsec;
	} else {
		snprintf(begin, size, "hytest%u", c->info.loop);
	}
	snprintf(end, size, "-%" PRIu64 ".h5", time_ns);
}

/* CLOCK_MONOTONIC begins anew with each boot of the machine. */
static bool is_of_this_boot(const char *path, const struct capture *c)
{
	hid_t type = row_type(&trip_table);
	struct trip_row row = { 0 };
	hid_t file, dataset = -1;

	log_silence();
	file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	if (file >= 0)
		dataset = H5Dopen2(file, "/trip", H5P_DEFAULT);
	if (dataset >= 0) {
		if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &row) < 0)
			row.boot_id[0] = '\0';
		H5Dclose(dataset);
	}
	if (file >= 0)
		H5Fclose(file);
	H5Tclose(type);
	return !strcmp(row.boot_id, c->boot_id);
}

static bool find_saved(const char *directory, const struct capture *c, char *path)
{
	DIR *dir = opendir(directory);
	char begin[64], end[64];
	struct dirent *entry;
	bool found = false;
	size_t length;

	if (!dir)
		return false;
	name_parts(c, begin, end, sizeof(begin));
	while (!found && (entry = readdir(dir))) {
		length = strlen(entry->d_name);
		if (strncmp(entry->d_name, begin, strlen(begin)) ||
		    entry->d_name[strlen(begin)] != '-' || length < strlen(end) ||
		    strcmp(entry->d_name + length - strlen(end), end) ||
		    snprintf(path, PATH_MAX, "%s/%s", directory, entry->d_name) >= PATH_MAX)
			continue;
		found = is_of_this_boot(path, c);
	}
	closedir(dir);
	return found;
}

static int choose_name(const char *directory, const struct capture *c, char *path, char *part)
{
	char begin[64], end[64], date[64];
	struct tm local;

	name_parts(c, begin, end, sizeof(begin));
	localtime_r(&c->trip.tv_sec, &local);
	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &local);
	if (snprintf(path, PATH_MAX, "%s/%s-%s%s", directory, begin, date, end) >= PATH_MAX ||
	    snprintf(part, PATH_MAX, "%s/.%s-%s.%u", directory, begin, date,
		     (unsigned int)getpid()) >= PATH_MAX)
		return -1;
	return 0;
}

static int to_disk(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), result;

	if (fd < 0)
		return -1;
	result = fsync(fd);
	close(fd);
	return result;
}

static int write_file(const char *directory, const struct capture *c, struct hytest_loop *loop,
		      struct hytest_black_box *box)
{
	char part[PATH_MAX];
	int result;

	if (choose_name(directory, c, box->path, part))
		return complain(box, "%s: the name is too long", directory);
	result = write_log(part, c, loop, box);
	if (!result)
		result = add_tables(part, c, loop, box);
	/* link() does not overwrite, rename() would. */
	if (!result && (to_disk(part) || link(part, box->path) || to_disk(directory)))
		result = complain(box, "%s: %s", box->path, strerror(errno));
	unlink(part);
	return result;
}

enum hytest_black_box_result hytest_black_box_save(struct hytest_loop *loop,
						   const char *directory,
						   struct hytest_black_box *box)
{
	struct capture c = { .sim = !strcmp(hytest_backend_name(loop), "sim") };
	enum hytest_black_box_result result = HYTEST_BLACK_BOX_FAILED;

	if (!directory)
		directory = getenv("HYTEST_BLACK_BOX");
	if (!directory || !*directory)
		directory = DEFAULT_DIRECTORY;
	read_boot_id(c.boot_id);
	if (hytest_get_info(loop, &c.info) || hytest_get_status(loop, &c.status)) {
		complain(box, "no black box: %s", hytest_error(loop));
		return result;
	}
	if (c.status.state != HYTEST_TRIPPED) {
		complain(box, "no black box: the loop is %s, not tripped",
			 hytest_state_text(c.status.state));
		return result;
	}
	c.trip = time_of_day(&c, c.status.trip.time_ns);
	if (find_saved(directory, &c, box->path))
		return HYTEST_BLACK_BOX_KNOWN;
	if (make_directory(directory))
		complain(box, "no black box: cannot make the directory %s: %s; choose another with "
			 "--black-box DIR or HYTEST_BLACK_BOX", directory, strerror(errno));
	else if (!capture(&c, loop, box) && !write_file(directory, &c, loop, box))
		result = HYTEST_BLACK_BOX_SAVED;
	/* Another process may have been faster. */
	else if (find_saved(directory, &c, box->path))
		result = HYTEST_BLACK_BOX_KNOWN;
	free_capture(&c);
	return result;
}
