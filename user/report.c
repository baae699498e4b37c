// SPDX-License-Identifier: GPL-2.0
/*
 * Pieces of reports that several commands share.
 */
#include <inttypes.h>

#include "../kmod/core/loop.h"
#include "histogram.h"
#include "report.h"

void hytest_print_histogram(FILE *out, const char *name, const struct hytest_histogram *h)
{
	if (!h->count) {
		fprintf(out, "  %-10s no data\n", name);
		return;
	}
	fprintf(out, "  %-10s min %.2f us, mean %.2f us, 99 %% below %.2f us, max %.2f us\n", name,
		h->min * 1e-3, hytest_histogram_mean(h) * 1e-3,
		hytest_histogram_quantile(h, 0.99) * 1e-3, h->max * 1e-3);
}

void hytest_json_histogram(struct json *json, const char *key, const struct hytest_histogram *h)
{
	unsigned int b;

	json_object_begin(json, key);
	json_unsigned(json, "count", h->count);
	json_unsigned(json, "min_ns", h->count ? h->min : 0);
	json_number(json, "mean_ns", hytest_histogram_mean(h));
	json_unsigned(json, "median_ns", hytest_histogram_quantile(h, 0.5));
	json_unsigned(json, "p99_ns", hytest_histogram_quantile(h, 0.99));
	json_unsigned(json, "p99_99_ns", hytest_histogram_quantile(h, 0.9999));
	json_unsigned(json, "max_ns", h->max);
	json_array_begin(json, "buckets");
	for (b = 0; b < HYTEST_BUCKETS; b++) {
		if (!h->bucket[b])
			continue;
		json_array_begin(json, NULL);
		json_unsigned(json, NULL, hytest_histogram_bound(b));
		json_unsigned(json, NULL, h->bucket[b]);
		json_array_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

/* Signal of a channel: an input, or n_inputs + an output. NULL if there is none. */
static const char *channel_signal(const struct ht_image *image, uint32_t channel)
{
	const struct ht_image_header *h = image->header;

	if (channel < h->n_inputs)
		return image->signals[image->inputs[channel].signal].name;
	channel -= h->n_inputs;
	return channel < h->n_outputs ? image->signals[image->outputs[channel].signal].name : NULL;
}

/* Name of the interlock or signal that a trip is about, NULL if of none. */
static const char *subject(const void *bytes, const struct hytest_trip *trip)
{
	struct ht_image image;

	if (!bytes)
		return NULL;
	ht_image_open(&image, bytes);
	if (trip->cause == HT_CAUSE_INTERLOCK && trip->index < image.header->n_interlocks)
		return image.interlocks[trip->index].name;
	if (trip->cause == HT_CAUSE_NOT_FINITE && trip->index < image.header->n_signals)
		return image.signals[trip->index].name;
	if (trip->cause == HT_CAUSE_SCAN || trip->cause == HT_CAUSE_DEVICE)
		return channel_signal(&image, trip->index);
	if (trip->cause == HT_CAUSE_WRITE)
		return channel_signal(&image, image.header->n_inputs + trip->index);
	return NULL;
}

void hytest_json_trip(struct json *json, const char *key, const void *image,
		      const struct hytest_trip *trip)
{
	char text[256];

	if (!trip->cause) {
		json_null(json, key);
		return;
	}
	hytest_trip_text(image, trip, text, sizeof(text));
	json_object_begin(json, key);
	json_string(json, "text", text);
	json_string(json, "cause", hytest_cause_text(trip->cause));
	json_unsigned(json, "cause_number", trip->cause);
	json_string(json, "name", subject(image, trip));
	json_unsigned(json, "tick", trip->tick);
	json_number(json, "value", hytest_double(trip->value));
	json_number(json, "limit", hytest_double(trip->limit));
	json_object_end(json);
}
