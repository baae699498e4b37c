/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pieces of reports that several commands share.
 */
#ifndef HYTEST_REPORT_H
#define HYTEST_REPORT_H

#include <stdio.h>

#include "json.h"
#include "libhytest.h"

/* "lateness   mean 1.2 us, 99 % below 3.1 us, max 4.7 us" */
void hytest_print_histogram(FILE *out, const char *name, const struct hytest_histogram *histogram);
void hytest_json_histogram(struct json *json, const char *key,
			   const struct hytest_histogram *histogram);

/* null if there was no trip. The image may be NULL. */
void hytest_json_trip(struct json *json, const char *key, const void *image,
		      const struct hytest_trip *trip);

#endif
