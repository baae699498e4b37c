// SPDX-License-Identifier: GPL-2.0
/*
 * Status page, events and histograms: what watchers see of a loop.
 */
#include <linux/ktime.h>
#include <linux/log2.h>

#include "hytest.h"

/* Readers retry while the sequence is odd or has changed. */
void hytest_status_begin(struct hytest_loop *loop)
{
	lockdep_assert_held(&loop->lock);
	WRITE_ONCE(loop->status->sequence, loop->status->sequence + 1);
	smp_wmb();	/* odd before the first change is seen */
}

void hytest_status_end(struct hytest_loop *loop)
{
	lockdep_assert_held(&loop->lock);
	smp_wmb();	/* all changes before it is even again */
	WRITE_ONCE(loop->status->sequence, loop->status->sequence + 1);
}

/* Within begin and end. */
void hytest_set_state(struct hytest_loop *loop, enum hytest_state state)
{
	WRITE_ONCE(loop->status->state, state);
}

void hytest_event(struct hytest_loop *loop, enum hytest_event_type type, u32 index, u64 value,
		  u64 limit)
{
	lockdep_assert_held(&loop->lock);
	loop->events[loop->event_head & (HYTEST_EVENTS - 1)] = (struct hytest_event){
		.sequence = loop->event_head + 1,
		.tick = loop->tick,
		.time_ns = ktime_get_ns(),
		.type = type,
		.index = index,
		.value = value,
		.limit = limit,
	};
	WRITE_ONCE(loop->event_head, loop->event_head + 1);
	irq_work_queue(&loop->wake);
}

/* The state, its reason and the event. Within begin and end. */
void hytest_note_trip(struct hytest_loop *loop, const struct ht_trip *trip, u64 time_ns)
{
	hytest_set_state(loop, HYTEST_TRIPPED);
	loop->status->trip = (struct hytest_trip){
		.cause = trip->cause,
		.index = trip->index,
		.tick = loop->tick,
		.time_ns = time_ns,
		.value = trip->value,
		.limit = trip->limit,
	};
	hytest_event(loop, HYTEST_EVENT_TRIPPED, trip->cause << 16 | trip->index, trip->value,
		     trip->limit);
}

void hytest_histogram_reset(struct hytest_histogram *histogram)
{
	memset(histogram, 0, sizeof(*histogram));
	histogram->min = ~0ULL;
}

/* Four buckets for each power of two, see the UAPI header. */
static unsigned int bucket_of(u64 ns)
{
	unsigned int exponent, bucket;

	if (ns < 4)
		return ns;
	exponent = ilog2(ns) - 1;
	bucket = 4 * exponent + (ns >> (exponent - 1)) - 4;
	return min_t(unsigned int, bucket, HYTEST_BUCKETS - 1);
}

void hytest_histogram_add(struct hytest_histogram *histogram, u64 ns)
{
	histogram->count++;
	histogram->sum += ns;
	if (ns < histogram->min)
		histogram->min = ns;
	if (ns > histogram->max)
		histogram->max = ns;
	histogram->bucket[bucket_of(ns)]++;
}
