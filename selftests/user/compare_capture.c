// SPDX-License-Identifier: GPL-2.0
/*
 * compare_capture LOG SCANS SIGNAL:GAIN:SCALE...: holds a capture of iio_readdev
 * against the log of the loop that ran beside it.
 *
 * SCANS is what iio_readdev wrote: channels of 16 bits in the order given, then
 * the time stamp, by the clock CLOCK_MONOTONIC. SCALE is that of IIO (mV), GAIN that
 * of the experiment file. A scan that began at tick k, or up to a period later, is
 * what the record of tick k + 1 was made of.
 *
 * Prints comments of KTAP. Exit status 0: each record of the run has its scan, but
 * for those at the end that iio_readdev did not write any more, and all signals have
 * the code that was captured; and if "exact" is the first argument, all bits.
 */
#include <hdf5.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CHANNELS	8
#define LEAST_SHARE	0.9	/* of the records, that must have a scan */

struct channel {
	char signal[64];
	double gain;
	double scale;
	double *logged;
	double largest;		/* difference, in codes */
	size_t other_codes;
	size_t other_bits;
};

struct comparison {
	bool exact;
	struct channel channels[MAX_CHANNELS];
	size_t n_channels;
	size_t n_records;
	size_t n_scans;
	size_t stamp_at;	/* bytes from the beginning of a scan */
	char *scans;
	char *seen;		/* which records have had their scan */
	uint64_t start_ns;
	uint64_t period_ns;
};

static int fail(const char *what, const char *name)
{
	fprintf(stderr, "compare_capture: %s %s\n", what, name);
	return -1;
}

static int read_number(hid_t file, const char *name, uint64_t *value)
{
	hid_t attribute = H5Aopen(file, name, H5P_DEFAULT);
	herr_t result = -1;

	if (attribute >= 0) {
		result = H5Aread(attribute, H5T_NATIVE_UINT64, value);
		H5Aclose(attribute);
	}
	return result < 0 ? fail("the log has no attribute", name) : 0;
}

/* All of a dataset, to be freed, and how long it is. */
static void *read_column(hid_t file, const char *path, hid_t type, size_t *n)
{
	hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
	hsize_t length = 0;
	hid_t space;
	void *values;

	if (dataset < 0) {
		fail("the log has no", path);
		return NULL;
	}
	space = H5Dget_space(dataset);
	H5Sget_simple_extent_dims(space, &length, NULL);
	H5Sclose(space);
	values = calloc(length + 1, sizeof(uint64_t));
	if (values && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
		free(values);
		values = NULL;
	}
	H5Dclose(dataset);
	*n = length;
	return values;
}

/* Record n must be that of tick n, so that its time is known. */
static int check_ticks(hid_t file, struct comparison *c)
{
	uint64_t *ticks = read_column(file, "/tick", H5T_NATIVE_UINT64, &c->n_records);
	size_t i;
	int result = ticks && c->n_records ? 0 : fail("the log has no", "ticks");

	for (i = 0; !result && i < c->n_records; i++)
		if (ticks[i] != i)
			result = fail("the log lacks", "records");
	free(ticks);
	return result;
}

static int read_log(const char *path, struct comparison *c)
{
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	char name[96];
	size_t i, n = 0;
	int result;

	if (file < 0)
		return fail("cannot open", path);
	result = read_number(file, "start_ns", &c->start_ns) ||
		 read_number(file, "period_ns", &c->period_ns) || check_ticks(file, c);
	for (i = 0; !result && i < c->n_channels; i++) {
		snprintf(name, sizeof(name), "/signals/%s", c->channels[i].signal);
		c->channels[i].logged = read_column(file, name, H5T_NATIVE_DOUBLE, &n);
		if (!c->channels[i].logged || n != c->n_records)
			result = fail("not a value for each record:", name);
	}
	H5Fclose(file);
	return result;
}

/* A time stamp is aligned to its own size, and so is a scan then. */
static int read_scans(const char *path, struct comparison *c)
{
	FILE *file = fopen(path, "rb");
	long size;

	if (!file)
		return fail("cannot open", path);
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	c->stamp_at = (c->n_channels * sizeof(int16_t) + 7) / 8 * 8;
	c->n_scans = size / (c->stamp_at + sizeof(int64_t));
	c->scans = malloc(size + 1);
	if (!c->scans || fread(c->scans, 1, size, file) != (size_t)size)
		c->n_scans = 0;
	fclose(file);
	return c->n_scans ? 0 : fail("no scan in", path);
}

static void compare_value(struct channel *channel, double logged, int16_t code)
{
	const double slope = channel->gain * (channel->scale * 0.001);
	const double value = slope * code;

	channel->largest = fmax(channel->largest, fabs(logged - value) / fabs(slope));
	channel->other_codes += lround(logged / slope) != code;
	channel->other_bits += logged != value;
}

/* Scans of before the start and after the end belong to no record. */
static void compare_scan(struct comparison *c, size_t number)
{
	const char *scan = c->scans + number * (c->stamp_at + sizeof(int64_t));
	int64_t stamp, since;
	size_t i, record;
	int16_t code;

	memcpy(&stamp, scan + c->stamp_at, sizeof(stamp));
	since = stamp - (int64_t)(c->start_ns - c->period_ns);
	if (since < 0 || since / c->period_ns >= c->n_records)
		return;
	record = since / c->period_ns;
	c->seen[record]++;
	for (i = 0; i < c->n_channels; i++) {
		memcpy(&code, scan + i * sizeof(code), sizeof(code));
		compare_value(&c->channels[i], c->channels[i].logged[record], code);
	}
}

/* Returns how many records there are up to the last that has a scan; -1: gaps. */
static long count_seen(const struct comparison *c)
{
	size_t i, end = c->n_records, gaps = 0, twice = 0;

	while (end && !c->seen[end - 1])
		end--;
	for (i = 0; i < end; i++) {
		gaps += !c->seen[i];
		twice += c->seen[i] > 1;
	}
	printf("# %zu scans captured, %zu records logged, %zu compared\n", c->n_scans, c->n_records,
	       end - gaps);
	if (!gaps && !twice)
		return end;
	printf("# %zu records have no scan, %zu have several\n", gaps, twice);
	return -1;
}

static int judge(const struct comparison *c)
{
	const long seen = count_seen(c);
	bool good = seen >= LEAST_SHARE * c->n_records;
	size_t i;

	for (i = 0; i < c->n_channels; i++) {
		const struct channel *channel = &c->channels[i];

		printf("# %s: %zu other codes, %zu other bits, largest difference %.3g of a code\n",
		       channel->signal, channel->other_codes, channel->other_bits,
		       channel->largest);
		good = good && !channel->other_codes && !(c->exact && channel->other_bits);
	}
	return good ? 0 : 1;
}

static int parse_channels(struct comparison *c, int n, char **words)
{
	int i;

	if (n < 1 || n > MAX_CHANNELS)
		return -1;
	for (i = 0; i < n; i++) {
		struct channel *channel = &c->channels[i];

		if (sscanf(words[i], "%63[^:]:%lf:%lf", channel->signal, &channel->gain,
			   &channel->scale) != 3 || !channel->gain || !channel->scale)
			return fail("not SIGNAL:GAIN:SCALE:", words[i]);
	}
	c->n_channels = n;
	return 0;
}

int main(int argc, char **argv)
{
	static struct comparison c;
	size_t i;

	if (argc > 1 && !strcmp(argv[1], "exact")) {
		c.exact = true;
		argc--;
		argv++;
	}
	if (argc < 4 || parse_channels(&c, argc - 3, argv + 3)) {
		fputs("usage: compare_capture [exact] LOG SCANS SIGNAL:GAIN:SCALE...\n", stderr);
		return 2;
	}
	if (read_log(argv[1], &c) || read_scans(argv[2], &c))
		return 2;
	c.seen = calloc(c.n_records, 1);
	if (!c.seen)
		return 2;
	for (i = 0; i < c.n_scans; i++)
		compare_scan(&c, i);
	return judge(&c);
}
