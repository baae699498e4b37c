/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Histograms of durations (struct hytest_histogram): filling and reading.
 */
#ifndef HYTEST_HISTOGRAM_H
#define HYTEST_HISTOGRAM_H

#include <stdint.h>

#include <linux/hytest.h>

void hytest_histogram_clear(struct hytest_histogram *histogram);
void hytest_histogram_add(struct hytest_histogram *histogram, uint64_t ns);

/* Bucket that a duration falls into, and the shortest duration of a bucket. */
unsigned int hytest_histogram_bucket(uint64_t ns);
uint64_t hytest_histogram_bound(unsigned int bucket);

double hytest_histogram_mean(const struct hytest_histogram *histogram);
/*
 * Duration in ns that this fraction (0..1) of the samples does not exceed, as
 * exact as the buckets are: the end of its bucket, or the maximum if that is
 * less. 0 if there are no samples.
 */
uint64_t hytest_histogram_quantile(const struct hytest_histogram *histogram, double fraction);

#endif
