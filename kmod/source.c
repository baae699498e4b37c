// SPDX-License-Identifier: GPL-2.0
/*
 * Sources: IIO devices that are scanned when the tick fires their trigger.
 *
 * A source is a buffer like those of IIO's own: the device's handler pushes
 * each scan into it. A trigger that is still being served does not fire, so
 * a scan that comes in is that of the last time it did.
 */
#include <linux/bitmap.h>
#include <linux/iio/iio.h>
#include <linux/iio/trigger.h>
#include <linux/slab.h>

#include "binding.h"
#include "compat.h"

static struct hytest_source *to_source(struct iio_buffer *buffer)
{
	return container_of(buffer, struct hytest_source, buffer);
}

static int store_scan(struct iio_buffer *buffer, const void *scan)
{
	struct hytest_source *source = to_source(buffer);

	hytest_feed_give(&source->feed, scan, READ_ONCE(source->feed.asked));
	return 0;
}

static void release_source(struct iio_buffer *buffer)
{
	struct hytest_source *source = to_source(buffer);

	hytest_feed_free(&source->feed);
	kfree(buffer->demux_bounce);
	bitmap_free((unsigned long *)buffer->scan_mask);
	kfree(source);
}

static const struct iio_buffer_access_funcs source_access = {
	.store_to = store_scan,
	.release = release_source,
	.modes = INDIO_BUFFER_TRIGGERED,
};

static struct hytest_source *find_source(struct hytest_binding *binding,
					 const struct iio_dev *indio_dev)
{
	struct hytest_source *source;

	list_for_each_entry(source, &binding->sources, list)
		if (source->indio_dev == indio_dev)
			return source;
	return NULL;
}

static struct hytest_source *make_source(struct hytest_binding *binding, struct iio_dev *indio_dev)
{
	struct hytest_source *source = kzalloc(sizeof(*source), GFP_KERNEL);

	if (!source)
		return NULL;
	iio_buffer_init(&source->buffer);
	source->buffer.access = &source_access;
	source->buffer.scan_mask = (long *)bitmap_zalloc(iio_get_masklength(indio_dev), GFP_KERNEL);
	if (!source->buffer.scan_mask) {
		iio_buffer_put(&source->buffer);
		return NULL;
	}
	source->indio_dev = iio_device_get(indio_dev);
	list_add_tail(&source->list, &binding->sources);
	return source;
}

static void drop_source(struct hytest_source *source)
{
	struct iio_dev *indio_dev = source->indio_dev;

	list_del(&source->list);
	iio_buffer_put(&source->buffer);
	iio_device_put(indio_dev);
}

/*
 * A device that scans only certain sets of channels: asking for one of them
 * whole saves IIO from picking ours out of it (which would cost memory for
 * each time that a buffer is attached, too).
 */
static void widen_mask(struct iio_dev *indio_dev, unsigned long *mask)
{
	const unsigned long *set = indio_dev->available_scan_masks;
	const unsigned int n = iio_get_masklength(indio_dev);

	if (!set)
		return;
	for (; *set; set += BITS_TO_LONGS(n)) {
		if (!bitmap_subset(mask, set, n))
			continue;
		bitmap_copy(mask, set, n);
		return;
	}
}

static const struct iio_chan_spec *spec_of(const struct iio_dev *indio_dev, int scan_index)
{
	int i;

	for (i = 0; i < indio_dev->num_channels; i++)
		if (indio_dev->channels[i].scan_index == scan_index)
			return &indio_dev->channels[i];
	return NULL;
}

static void place_ports(struct hytest_binding *binding, struct hytest_source *source,
			int scan_index, const struct ht_scan_place *place)
{
	u32 i;

	for (i = 0; i < binding->n_inputs; i++) {
		struct hytest_port *port = &binding->ports[i];

		if (port->way != HYTEST_SCANNED || port->iio.indio_dev != source->indio_dev ||
		    port->scan_index != scan_index)
			continue;
		port->place = *place;
		port->feed = &source->feed;
	}
}

/*
 * Where the channels lie in a scan of ours: in the order of their scan index,
 * each aligned to its own size. Driver locked. Returns the bytes, or an errno.
 */
static int lay_out(struct hytest_binding *binding, struct hytest_source *source)
{
	struct iio_dev *indio_dev = source->indio_dev;
	unsigned long *mask = (unsigned long *)source->buffer.scan_mask;
	const struct iio_buffer_setup_ops *ops = indio_dev->setup_ops;
	struct ht_scan_place place;
	u32 at = 0, bytes;
	int i, ret;

	widen_mask(indio_dev, mask);
	if (ops && ops->validate_scan_mask && !ops->validate_scan_mask(indio_dev, mask))
		return -EINVAL;
	for_each_set_bit(i, mask, iio_get_masklength(indio_dev)) {
		const struct iio_chan_spec *spec = spec_of(indio_dev, i);

		ret = spec ? hytest_scan_place(indio_dev, spec, &place, &bytes) : -EINVAL;
		if (ret)
			return ret;
		at = roundup(at, bytes);
		place.offset = at;
		place_ports(binding, source, i, &place);
		at += bytes;
	}
	return at;
}

static bool is_trigger_of(const struct hytest_loop *loop, const struct iio_trigger *trigger)
{
	unsigned int i;

	for (i = 0; i < HYTEST_TRIGGERS; i++)
		if (trigger && loop->triggers[i] == trigger)
			return true;
	return false;
}

/* Linux 6.1 does not notice that a trigger has no room, and goes astray. */
static bool has_room(struct iio_trigger *trigger, struct iio_dev *indio_dev)
{
	bool full;

	mutex_lock(&trigger->pool_lock);
	full = bitmap_full(trigger->pool, CONFIG_IIO_CONSUMERS_PER_TRIGGER);
	mutex_unlock(&trigger->pool_lock);
	return !full || iio_buffer_enabled(indio_dev);
}

static int open_source(struct hytest_binding *binding, struct hytest_source *source,
		       struct hytest_arm *arm)
{
	struct iio_dev *indio_dev = source->indio_dev;
	const u32 input = source->feed.input;
	int ret = -ENODEV;

	if (hytest_lock_driver(indio_dev)) {
		ret = lay_out(binding, source);
		source->trigger = indio_dev->trig;
		hytest_unlock_driver(indio_dev);
	}
	if (ret < 0)
		return hytest_refuse_channel(arm, input, HYTEST_BIND_REFUSED, ret);
	if (!is_trigger_of(binding->loop, source->trigger))
		return hytest_refuse_channel(arm, input, HYTEST_BIND_NO_TRIGGER, 0);
	if (!has_room(source->trigger, indio_dev))
		return hytest_refuse_channel(arm, input, HYTEST_BIND_REFUSED, -EBUSY);
	if (hytest_feed_init(&source->feed, ret))
		return -ENOMEM;
	ret = iio_update_buffers(indio_dev, &source->buffer, NULL);
	if (ret)
		return hytest_refuse_channel(arm, input, HYTEST_BIND_REFUSED, ret);
	/* From now on it cannot be changed; was it, in between? */
	if (indio_dev->trig != source->trigger)
		return hytest_refuse_channel(arm, input, HYTEST_BIND_NO_TRIGGER, 0);
	return 0;
}

/* What is in the way of a trigger that nobody serves: a handler that was cut off. */
static void clear_trigger(struct iio_trigger *trigger)
{
	bool idle;

	mutex_lock(&trigger->pool_lock);
	idle = bitmap_empty(trigger->pool, CONFIG_IIO_CONSUMERS_PER_TRIGGER);
	if (idle)
		atomic_set(&trigger->use_count, 0);
	mutex_unlock(&trigger->pool_lock);
}

/* Also after an error hytest_close_sources() must follow. */
int hytest_open_sources(struct hytest_binding *binding, struct hytest_arm *arm)
{
	struct hytest_source *source;
	u32 i;
	int ret;

	for (i = 0; i < binding->n_inputs; i++) {
		struct hytest_port *port = &binding->ports[i];

		if (port->way != HYTEST_SCANNED)
			continue;
		source = find_source(binding, port->iio.indio_dev);
		if (!source) {
			source = make_source(binding, port->iio.indio_dev);
			if (!source)
				return -ENOMEM;
			source->feed.input = i;
		}
		__set_bit(port->scan_index, (unsigned long *)source->buffer.scan_mask);
	}
	for (i = 0; i < HYTEST_TRIGGERS; i++)
		clear_trigger(binding->loop->triggers[i]);
	list_for_each_entry(source, &binding->sources, list) {
		ret = open_source(binding, source, arm);
		if (ret)
			return ret;
	}
	return 0;
}

/* A device that has gone has taken its buffers off before. */
void hytest_close_sources(struct hytest_binding *binding)
{
	struct hytest_source *source, *next;

	list_for_each_entry_safe(source, next, &binding->sources, list) {
		iio_update_buffers(source->indio_dev, NULL, &source->buffer);
		drop_source(source);
	}
}

static void fire_trigger(struct hytest_binding *binding, struct iio_trigger *trigger)
{
	struct hytest_source *source;
	bool used = false;

	/* It is fired only here: if it is idle now, it will be in iio_trigger_poll(). */
	if (atomic_read(&trigger->use_count))
		return;
	list_for_each_entry(source, &binding->sources, list) {
		if (source->trigger != trigger)
			continue;
		WRITE_ONCE(source->feed.asked, binding->fires);
		used = true;
	}
	if (used)
		iio_trigger_poll(trigger);
}

void hytest_fire_sources(struct hytest_binding *binding)
{
	unsigned int i;

	for (i = 0; i < HYTEST_TRIGGERS; i++)
		fire_trigger(binding, binding->loop->triggers[i]);
}
