/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The IIO devices that there are, asked through libiio.
 */
#ifndef HYTEST_IIO_DEVICES_H
#define HYTEST_IIO_DEVICES_H

#include <stdbool.h>
#include <stddef.h>

#include "experiment.h"

/* What a channel can be to a loop. */
enum hytest_iio_use {
	HYTEST_IIO_NOTHING,
	HYTEST_IIO_SCANNED,	/* an input that comes with a triggered scan */
	HYTEST_IIO_POLLED,	/* an input that is read by itself */
	HYTEST_IIO_OUTPUT
};

struct hytest_iio_channel {
	char id[64];		/* voltage0, accel_x, ... */
	char label[64];		/* "": none */
	bool output;
	enum hytest_iio_use use;
	const char *unit;	/* SI; "": a plain number */
	double scale;		/* SI per code */
	unsigned int bits;	/* of a code in a scan, 0: unknown */
	bool has_range;
	double low;		/* SI */
	double high;
	int error;		/* why it has no value now: a positive errno */
	bool has_code;
	long long code;
	double value;		/* SI */
	char rate[64];		/* Hz, "": none of its own */
};

struct hytest_iio_device {
	char id[64];		/* iio:device0 */
	char name[64];
	char label[64];
	bool buffered;
	bool triggered;		/* its scans can be triggered */
	char trigger[64];	/* by which now; "": none */
	char rate[64];
	struct hytest_iio_channel *channels;
	size_t n_channels;
};

/*
 * Devices of a context ("local:", "ip:HOST", ...; NULL: this machine). Triggers are
 * left out. NULL with a message if the context cannot be opened.
 */
struct hytest_iio_device *hytest_iio_list(const char *uri, size_t *n,
					  struct hytest_message *message);
void hytest_iio_list_free(struct hytest_iio_device *devices, size_t n);

/* "input (scanned)", ... */
const char *hytest_iio_use_text(enum hytest_iio_use use);

#endif
