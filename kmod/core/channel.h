/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the codes of a converter and the signals of a program.
 *
 * The same arithmetic in the module, in the rig and in the sim backend, so that
 * all of them make the same bits of the same code.
 */
#ifndef HT_CORE_CHANNEL_H
#define HT_CORE_CHANNEL_H

#include "image.h"

/* How IIO writes a number; the values are ours, not IIO's. */
enum ht_number_form {
	HT_NUMBER_INT,			/* val */
	HT_NUMBER_MICRO,		/* |val| + |val2| / 10^6, negative if either of them is */
	HT_NUMBER_NANO,			/* the same with 10^9 */
	HT_NUMBER_FRACTION,		/* val / val2 */
	HT_NUMBER_FRACTION_LOG2,	/* val / 2^val2 */
	HT_NUMBER_FORMS
};

struct ht_number {
	ht_u32 form;
	ht_s32 val;
	ht_s32 val2;
	ht_u32 reserved;
};

/* FP. NaN for an unknown form or a division by zero. */
double ht_number_value(const struct ht_number *number);

/* Where a code lies in a scan, from IIO's scan_type. */
struct ht_scan_place {
	ht_u32 offset;		/* bytes from the beginning of the scan */
	ht_u32 bytes;		/* of storage: 1, 2, 4 or 8 */
	ht_u32 shift;		/* to the right, before masking */
	ht_u32 bits;		/* real ones, 1..8 * bytes */
	ht_u32 is_signed;
	ht_u32 big_endian;
};

/* The code in the scan. No floating point. */
ht_s64 ht_scan_code(const struct ht_scan_place *place, const void *scan);

/*
 * A channel at work. IIO: world in IIO's unit = (code + offset) * scale; times
 * unit (0.001 for IIO's mV) it is SI; then the calibration of the image.
 */
struct ht_channel {
	double slope;		/* of the signal, per code */
	double constant;	/* signal of code 0 */
	double low_code;	/* codes that exist: low_code..high_code */
	double high_code;
};

struct ht_converter {
	struct ht_number scale;
	struct ht_number offset;
	struct ht_number unit;	/* SI units for one of IIO's */
	ht_s64 low_code;
	ht_s64 high_code;
};

/*
 * FP. Returns HT_OK, or HT_ERR_CHANNEL if the scale is zero or something is not
 * finite.
 */
int ht_channel_init(struct ht_channel *channel, const struct ht_converter *converter,
		    const struct ht_image_channel *image);

/* FP. signal of a code */
double ht_channel_signal(const struct ht_channel *channel, ht_s64 code);
/* FP. The nearest code that exists; ties away from zero. NaN gives that of 0. */
ht_s64 ht_channel_code(const struct ht_channel *channel, double signal);

/* FP. The same for code that can pass no double, such as the module's. */
void ht_channel_read(const struct ht_channel *channel, ht_s64 code, double *signal);
ht_s64 ht_channel_write(const struct ht_channel *channel, const double *signal);

#endif
