// SPDX-License-Identifier: GPL-2.0
/*
 * Histograms of durations: four buckets for each power of two.
 */
#include <math.h>
#include <string.h>

#include "histogram.h"

void hytest_histogram_clear(struct hytest_histogram *histogram)
{
	memset(histogram, 0, sizeof(*histogram));
	histogram->min = ~0ull;
}

unsigned int hytest_histogram_bucket(uint64_t ns)
{
	unsigned int top, bucket;

	if (ns < 4)
		return ns;
	top = 63 - __builtin_clzll(ns);
	bucket = 4 * (top - 1) + ((ns >> (top - 2)) & 3);
	return bucket < HYTEST_BUCKETS ? bucket : HYTEST_BUCKETS - 1;
}

uint64_t hytest_histogram_bound(unsigned int bucket)
{
	if (bucket < 4)
		return bucket;
	return (4ull + bucket % 4) << (bucket / 4 - 1);
}

void hytest_histogram_add(struct hytest_histogram *histogram, uint64_t ns)
{
	histogram->count++;
	histogram->sum += ns;
	if (ns < histogram->min)
		histogram->min = ns;
	if (ns > histogram->max)
		histogram->max = ns;
	histogram->bucket[hytest_histogram_bucket(ns)]++;
}

double hytest_histogram_mean(const struct hytest_histogram *histogram)
{
	return histogram->count ? (double)histogram->sum / histogram->count : 0;
}

uint64_t hytest_histogram_quantile(const struct hytest_histogram *histogram, double fraction)
{
	uint64_t wanted, seen = 0, end;
	unsigned int b;

	if (!histogram->count)
		return 0;
	wanted = ceil(fraction * histogram->count);
	if (wanted < 1)
		wanted = 1;
	for (b = 0; b < HYTEST_BUCKETS - 1; b++) {
		seen += histogram->bucket[b];
		if (seen >= wanted)
			break;
	}
	end = b < HYTEST_BUCKETS - 1 ? hytest_histogram_bound(b + 1) - 1 : histogram->max;
	return end < histogram->max ? end : histogram->max;
}
