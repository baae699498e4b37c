// SPDX-License-Identifier: GPL-2.0
/*
 * Logs of hytest (user/log.h tells what is in them), read through HDF5.
 */
#include <hdf5.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/hytest.h>

#include "pendulum_msd.h"

static hid_t open_log(const char *path)
{
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);

	if (file < 0)
		fprintf(stderr, "oracle: cannot open %s as a log\n", path);
	return file;
}

/* Length of a dataset with one value for each record; 0 if there is none. */
static size_t length(hid_t file, const char *path)
{
	hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
	hsize_t n = 0;
	hid_t space;

	if (dataset < 0)
		return 0;
	space = H5Dget_space(dataset);
	if (H5Sget_simple_extent_ndims(space) == 1)
		H5Sget_simple_extent_dims(space, &n, NULL);
	H5Sclose(space);
	H5Dclose(dataset);
	return n;
}

/* All of a dataset of n values. */
static int read_all(hid_t file, const char *path, size_t n, hid_t type, void *values)
{
	hid_t dataset;
	herr_t result;

	if (length(file, path) != n)
		goto missing;
	dataset = H5Dopen2(file, path, H5P_DEFAULT);
	result = H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
	H5Dclose(dataset);
	if (result >= 0)
		return 0;
missing:
	fprintf(stderr, "oracle: no %s with %zu values in the log\n", path, n);
	return -1;
}

static int read_attribute(hid_t file, const char *name, hid_t type, void *value)
{
	hid_t attribute = H5Aopen(file, name, H5P_DEFAULT);
	herr_t result = -1;

	if (attribute >= 0) {
		result = H5Aread(attribute, type, value);
		H5Aclose(attribute);
	}
	if (result < 0)
		fprintf(stderr, "oracle: no attribute %s in the log\n", name);
	return result < 0 ? -1 : 0;
}

static int read_text(hid_t file, const char *name, char *text, size_t size)
{
	hid_t type = H5Tcopy(H5T_C_S1);
	int result;

	H5Tset_size(type, size);
	H5Tset_cset(type, H5T_CSET_UTF8);
	result = read_attribute(file, name, type, text);
	H5Tclose(type);
	return result;
}

/* Records up to the first in which the loop did not run. */
static size_t count_running(hid_t file)
{
	size_t n = length(file, "/state"), running = 0;
	uint32_t *state = calloc(n + 1, sizeof(*state));

	if (state && !read_all(file, "/state", n, H5T_NATIVE_UINT32, state))
		while (running < n && state[running] == HYTEST_RUNNING)
			running++;
	free(state);
	return running;
}

/* Times follow from the number of the record, so none may be missing. */
static int check_ticks(hid_t file, size_t n)
{
	uint64_t *ticks = calloc(n, sizeof(*ticks));
	int result = -1;
	size_t i;

	if (ticks)
		result = read_all(file, "/tick", n, H5T_NATIVE_UINT64, ticks);
	for (i = 0; !result && i < n; i++) {
		if (ticks[i] != i) {
			fprintf(stderr, "oracle: record %zu is of tick %llu\n", i,
				(unsigned long long)ticks[i]);
			result = -1;
		}
	}
	free(ticks);
	return result;
}

static int read_columns(hid_t file, struct run *run)
{
	struct { const char *path; double *to; } columns[] = {
		{ "/signals/y", run->y }, { "/signals/y_acc", run->y_acc },
		{ "/signals/theta", run->theta }, { "/signals/F", run->force },
		{ "/outputs/y", run->out_y }, { "/outputs/y_acc", run->out_y_acc },
	};
	size_t i;

	for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (read_all(file, columns[i].path, run->n, H5T_NATIVE_DOUBLE, columns[i].to))
			return -1;
	return 0;
}

int run_read(struct run *run, const char *log)
{
	hid_t file = open_log(log);
	uint64_t period = 0;
	int result = -1;

	if (file < 0)
		return -1;
	if (!length(file, "/tick")) {
		fprintf(stderr, "oracle: no record in %s\n", log);
	} else if (!run_allocate(run, length(file, "/tick"))) {
		result = read_attribute(file, "period_ns", H5T_NATIVE_UINT64, &period) ||
			 read_text(file, "trip", run->trip, sizeof(run->trip)) ||
			 check_ticks(file, run->n) || read_columns(file, run);
		run->period = period * 1e-9;
		run->running = count_running(file);
	}
	H5Fclose(file);
	if (result)
		run_free(run);
	return result ? -1 : 0;
}

struct comparison {
	hid_t other;
	const char *group;
	size_t n;		/* records in which both ran */
	int too_short;		/* one of them ended early */
	int columns;
	int differing;
};

static void compare_values(struct comparison *c, const char *path, const double *a,
			   const double *b, size_t n)
{
	double largest = 0, peak = 0;
	size_t i, count = 0, first = n;

	for (i = 0; i < n; i++) {
		peak = fmax(peak, fabs(a[i]));
		if (!memcmp(&a[i], &b[i], sizeof(a[i])))
			continue;
		count++;
		if (first == n)
			first = i;
		largest = fmax(largest, fabs(a[i] - b[i]));
	}
	printf("# %-22s peak %-12.6g %zu of %zu records differ, by at most %.3g", path, peak, count,
	       n, largest);
	printf(count ? ", first in record %zu\n" : "\n", first);
	c->columns++;
	c->differing += count != 0;
}

/* All of a column; NULL if there is none. */
static double *column(hid_t file, const char *path)
{
	size_t n = length(file, path);
	double *values = calloc(n + 1, sizeof(*values));

	if (values && read_all(file, path, n, H5T_NATIVE_DOUBLE, values)) {
		free(values);
		values = NULL;
	}
	return n ? values : NULL;
}

static herr_t compare_column(hid_t group, const char *name, const H5L_info_t *info, void *argument)
{
	struct comparison *c = argument;
	double *a, *b;
	char path[256];

	(void)info;
	snprintf(path, sizeof(path), "%s/%s", c->group, name);
	a = column(group, path);
	b = column(c->other, path);
	if (a && b) {
		compare_values(c, path, a, b, c->n);
	} else {
		printf("# %-22s is not in both\n", path);
		c->differing++;
	}
	free(a);
	free(b);
	return 0;
}

static int compare_group(hid_t file, const char *name, struct comparison *c)
{
	hid_t group = H5Gopen2(file, name, H5P_DEFAULT);
	herr_t result = -1;

	c->group = name;
	if (group >= 0) {
		result = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, compare_column, c);
		H5Gclose(group);
	}
	return result < 0 ? -1 : 0;
}

/* Of a column that is 0 as long as all is well, how many records are not. */
static size_t count_late(hid_t file, const char *path, size_t n)
{
	double *values = column(file, path);
	size_t i, count = 0;

	for (i = 0; values && i < n; i++)
		count += values[i] != 0;
	free(values);
	return count;
}

/* How long a run goes on after its duration is not the same in all backends. */
static int count_common(hid_t file, struct comparison *c)
{
	size_t one = count_running(file), other = count_running(c->other);

	c->n = one < other ? one : other;
	printf("# running: %zu and %zu records; with late scans %zu and %zu, late outputs %zu and "
	       "%zu\n", one, other, count_late(file, "/scan_age", one),
	       count_late(c->other, "/scan_age", other), count_late(file, "/write_age", one),
	       count_late(c->other, "/write_age", other));
	c->too_short = c->n < 0.99 * (one + other) / 2;
	return c->n ? 0 : -1;
}

int run_compare(const char *log, const char *other)
{
	hid_t file = open_log(log);
	struct comparison c = { .other = open_log(other) };
	int result = -1;

	if (file >= 0 && c.other >= 0)
		result = count_common(file, &c) || compare_group(file, "/signals", &c) ||
			 compare_group(file, "/outputs", &c) || !c.columns;
	if (file >= 0)
		H5Fclose(file);
	if (c.other >= 0)
		H5Fclose(c.other);
	return result || c.too_short ? -1 : c.differing;
}
