// SPDX-License-Identifier: GPL-2.0
/*
 * A binding: makes and unmakes it, and what the tick does with it.
 *
 * The order of locks: loop->mutex, then a driver's lock (channels.c) or
 * bindings_mutex; never two of the latter. A device that goes holds locks of
 * its own, so the notifier takes only bindings_mutex.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/device.h>
#include <linux/iio/iio.h>
#include <linux/iio/trigger.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "binding.h"

/* For the first scan: so many periods, but at least so long. */
#define FIRST_PERIODS	20
#define FIRST_MS	500
#define FIRST_PAUSE_MAX_US	20000
#define FIRST_PAUSE_MIN_US	100

/* So long a device that goes is kept for its outputs to become safe. */
#define GOING_MS	2000
#define GOING_PAUSE_US	500

static DEFINE_MUTEX(bindings_mutex);
static LIST_HEAD(bindings);

int hytest_refuse_channel(struct hytest_arm *arm, u32 index, enum hytest_bind_problem problem,
			  int error)
{
	arm->problem = problem;
	arm->channel = index;
	arm->error = -error;
	return -ENXIO;
}

static u32 n_ports(const struct hytest_binding *binding)
{
	return binding->n_inputs + binding->n_outputs;
}

static void open_image(const struct hytest_loop *loop, struct ht_image *image)
{
	hytest_fpu_begin();
	ht_image_open(image, loop->image);
	hytest_fpu_end();
}

static bool has_channels(const struct ht_image *image)
{
	u32 i;

	for (i = 0; i < image->header->n_inputs; i++)
		if (image->inputs[i].channel.kind != HT_CHANNEL_NONE)
			return true;
	for (i = 0; i < image->header->n_outputs; i++)
		if (image->outputs[i].channel.kind != HT_CHANNEL_NONE)
			return true;
	return false;
}

static void free_binding(struct hytest_binding *binding)
{
	u32 i;

	if (binding->ports)
		for (i = 0; i < n_ports(binding); i++)
			hytest_put_channel(&binding->ports[i]);
	kfree(binding->ports);
	kfree(binding->values);
	kfree(binding);
}

static struct hytest_binding *make_binding(struct hytest_loop *loop, const struct ht_image *image)
{
	const struct ht_image_header *h = image->header;
	struct hytest_binding *binding;
	u32 i;

	binding = kzalloc(sizeof(*binding), GFP_KERNEL);
	if (!binding)
		return NULL;
	binding->loop = loop;
	binding->n_inputs = h->n_inputs;
	binding->n_outputs = h->n_outputs;
	INIT_LIST_HEAD(&binding->list);
	INIT_LIST_HEAD(&binding->sources);
	binding->ports = kcalloc(n_ports(binding), sizeof(*binding->ports), GFP_KERNEL);
	binding->values = kcalloc(max(h->n_inputs, 1u), sizeof(u64), GFP_KERNEL);
	if (!binding->ports || !binding->values) {
		free_binding(binding);
		return NULL;
	}
	for (i = 0; i < n_ports(binding); i++)
		binding->ports[i].index = i;
	for (i = 0; i < h->n_inputs; i++)
		memcpy(&binding->values[i], &image->signals[image->inputs[i].signal].initial,
		       sizeof(u64));
	return binding;
}

static int find_channels(struct hytest_binding *binding, const struct ht_image *image,
			 struct hytest_arm *arm)
{
	u32 i;
	int ret;

	for (i = 0; i < binding->n_inputs; i++) {
		const struct ht_image_input *input = &image->inputs[i];

		ret = hytest_find_channel(binding->loop, &input->channel, false,
					  !(input->flags & HT_INPUT_POLL), &binding->ports[i], arm);
		if (ret)
			return ret;
	}
	for (i = 0; i < binding->n_outputs; i++) {
		ret = hytest_find_channel(binding->loop, &image->outputs[i].channel, true, false,
					  hytest_output_port(binding, i), arm);
		if (ret)
			return ret;
	}
	return 0;
}

/* Whether an output of the other, before its port number end, has this channel. */
static bool drives(struct hytest_binding *other, const struct hytest_port *port, u32 end)
{
	u32 i;

	for (i = other->n_inputs; i < end; i++)
		if (other->ports[i].way == HYTEST_WRITTEN &&
		    other->ports[i].iio.channel == port->iio.channel &&
		    other->ports[i].iio.indio_dev == port->iio.indio_dev)
			return true;
	return false;
}

/* From here on the outputs are ours and the notifier knows us. */
static int claim_outputs(struct hytest_binding *binding, struct hytest_arm *arm)
{
	struct hytest_binding *other;
	u32 i, taken = U32_MAX;

	mutex_lock(&bindings_mutex);
	for (i = binding->n_inputs; i < n_ports(binding) && taken == U32_MAX; i++) {
		const struct hytest_port *port = &binding->ports[i];

		if (port->way != HYTEST_WRITTEN)
			continue;
		if (drives(binding, port, i))
			taken = i;
		list_for_each_entry(other, &bindings, list)
			if (drives(other, port, n_ports(other)))
				taken = i;
	}
	if (taken == U32_MAX)
		list_add(&binding->list, &bindings);
	mutex_unlock(&bindings_mutex);
	return taken == U32_MAX ? 0 : hytest_refuse_channel(arm, taken, HYTEST_BIND_TAKEN, 0);
}

static int write_safe_values(struct hytest_binding *binding, const struct ht_image *image,
			     struct hytest_arm *arm)
{
	u32 i;
	int ret;

	for (i = 0; i < binding->n_outputs; i++) {
		struct hytest_port *port = hytest_output_port(binding, i);

		if (port->way == HYTEST_UNBOUND)
			continue;
		hytest_fpu_begin();
		port->safe = ht_channel_write(&port->channel, &image->outputs[i].safe);
		hytest_fpu_end();
		ret = hytest_write_port(port, port->safe);
		if (ret)
			return hytest_refuse_channel(arm, port->index, HYTEST_BIND_REFUSED, ret);
	}
	return 0;
}

/* The feed that nothing has come from yet, or NULL. */
static struct hytest_feed *silent_feed(struct hytest_binding *binding)
{
	struct hytest_source *source;

	list_for_each_entry(source, &binding->sources, list)
		if (!READ_ONCE(source->feed.newest))
			return &source->feed;
	if (binding->reader.task && !READ_ONCE(binding->reader.feed.newest))
		return &binding->reader.feed;
	return NULL;
}

static int await_first_scans(struct hytest_binding *binding, u64 period_ns, struct hytest_arm *arm)
{
	const u64 end = ktime_get_ns() +
			max_t(u64, FIRST_PERIODS * period_ns, FIRST_MS * NSEC_PER_MSEC);
	const u32 pause = clamp_t(u64, period_ns / NSEC_PER_USEC, FIRST_PAUSE_MIN_US,
				  FIRST_PAUSE_MAX_US);
	struct hytest_feed *silent;
	int error = 0;

	while ((silent = silent_feed(binding))) {
		if (silent == &binding->reader.feed)
			error = READ_ONCE(binding->reader.error);
		if (ktime_get_ns() > end)
			return hytest_refuse_channel(arm, silent->input, HYTEST_BIND_NO_SCAN,
						     error);
		if (signal_pending(current))
			return -EINTR;
		hytest_fire(binding);
		usleep_range(pause, pause + pause / 4);
	}
	return 0;
}

/* The first port whose node in the device tree has gone, or n_ports(). */
static u32 find_orphan(struct hytest_binding *binding)
{
	u32 i;

	for (i = 0; i < n_ports(binding); i++) {
		const struct device *tree = binding->ports[i].tree;

		if (tree && !hytest_is_node(binding->loop, tree))
			break;
	}
	return i;
}

/*
 * A device may have gone while the others were being bound. What goes before
 * claim_outputs() is not noted, but IIO devices that have gone do nothing any more.
 */
static int make_ready(struct hytest_binding *binding, struct hytest_arm *arm)
{
	u32 gone = find_orphan(binding);
	int ret = 0;

	mutex_lock(&bindings_mutex);
	if (binding->gone)
		gone = binding->gone_index;
	if (gone < n_ports(binding))
		ret = hytest_refuse_channel(arm, gone, HYTEST_BIND_NO_DEVICE, 0);
	binding->ready = !ret;
	mutex_unlock(&bindings_mutex);
	return ret;
}

static void undo(struct hytest_binding *binding)
{
	hytest_stop_workers(binding);
	hytest_close_sources(binding);
	mutex_lock(&bindings_mutex);
	list_del_init(&binding->list);
	mutex_unlock(&bindings_mutex);
	free_binding(binding);
}

int hytest_bind(struct hytest_loop *loop, struct hytest_arm *arm)
{
	struct hytest_binding *binding;
	struct ht_image image;
	int ret;

	lockdep_assert_held(&loop->mutex);
	open_image(loop, &image);
	if (!has_channels(&image))
		return 0;
	binding = make_binding(loop, &image);
	if (!binding)
		return -ENOMEM;
	ret = find_channels(binding, &image, arm);
	if (!ret)
		ret = claim_outputs(binding, arm);
	if (!ret)
		ret = write_safe_values(binding, &image, arm);
	if (!ret)
		ret = hytest_open_sources(binding, arm);
	if (!ret)
		ret = hytest_start_workers(binding);
	if (!ret)
		ret = await_first_scans(binding, image.header->period_ns, arm);
	if (!ret)
		ret = make_ready(binding, arm);
	if (ret) {
		undo(binding);
		return ret;
	}
	loop->binding = binding;
	return 0;
}

void hytest_unbind(struct hytest_loop *loop)
{
	struct hytest_binding *binding = loop->binding;

	lockdep_assert_held(&loop->mutex);
	if (!binding)
		return;
	loop->binding = NULL;
	undo(binding);
}

bool hytest_is_bound(const struct hytest_loop *loop)
{
	return loop->binding;
}

/* The newest of what has come. Inside the guard. */
static void take_values(struct hytest_binding *binding)
{
	struct hytest_source *source;
	u32 i;

	list_for_each_entry(source, &binding->sources, list)
		hytest_feed_take(&source->feed);
	if (binding->reader.task)
		hytest_feed_take(&binding->reader.feed);
	for (i = 0; i < binding->n_inputs; i++) {
		const struct hytest_port *port = &binding->ports[i];
		s64 code;

		if (!port->feed)
			continue;
		code = ht_scan_code(&port->place, port->feed->taken);
		ht_channel_read(&port->channel, code, &binding->values[i]);
	}
}

static void check_feed(const struct hytest_binding *binding, struct hytest_feed *feed,
		       struct ht_vitals *vitals)
{
	const u32 age = binding->fires - feed->taken_label;

	if (age)
		feed->lost++;
	vitals->lost_scans = max(vitals->lost_scans, feed->lost);
	if (age > vitals->scan_age) {
		vitals->scan_age = age;
		vitals->scan_input = feed->input;
	}
}

static void check_inputs(struct hytest_binding *binding, struct ht_vitals *vitals)
{
	struct hytest_source *source;

	list_for_each_entry(source, &binding->sources, list)
		check_feed(binding, &source->feed, vitals);
	if (binding->reader.task)
		check_feed(binding, &binding->reader.feed, vitals);
}

static void check_outputs(struct hytest_binding *binding, struct ht_vitals *vitals)
{
	u32 i;

	for (i = 0; i < binding->n_outputs; i++) {
		const struct hytest_port *port = hytest_output_port(binding, i);
		const u32 age = binding->left - READ_ONCE(port->done);

		if (port->way != HYTEST_UNBOUND && age > vitals->write_age) {
			vitals->write_age = age;
			vitals->write_output = i;
		}
	}
}

static void clear_vitals(struct ht_vitals *vitals)
{
	vitals->scan_age = 0;
	vitals->scan_input = 0;
	vitals->lost_scans = 0;
	vitals->write_age = 0;
	vitals->write_output = 0;
}

const double *hytest_read_inputs(struct hytest_binding *binding, struct ht_vitals *vitals)
{
	clear_vitals(vitals);
	take_values(binding);
	return binding->values;
}

void hytest_take_inputs(struct hytest_binding *binding, struct ht_loop *core,
			struct ht_vitals *vitals)
{
	clear_vitals(vitals);
	take_values(binding);
	check_inputs(binding, vitals);
	check_outputs(binding, vitals);
	ht_loop_inputs(core, binding->values);
}

void hytest_leave_outputs(struct hytest_binding *binding, const struct ht_loop *core)
{
	const double *outputs = ht_loop_outputs(core);
	s64 *codes = binding->writer.codes;
	u32 i;

	if (!binding->writer.task)
		return;
	for (i = 0; i < binding->n_outputs; i++) {
		const struct hytest_port *port = hytest_output_port(binding, i);

		if (port->way != HYTEST_UNBOUND)
			codes[i] = ht_channel_write(&port->channel, &outputs[i]);
	}
	hytest_feed_give(&binding->writer.feed, codes, ++binding->left);
}

/*
 * Samples first: they shall be as close to the tick as can be. What runs on this
 * CPU follows in the same order.
 */
void hytest_fire(struct hytest_binding *binding)
{
	unsigned long flags;

	local_irq_save(flags);
	binding->fires++;
	hytest_fire_sources(binding);
	if (binding->reader.task) {
		WRITE_ONCE(binding->reader.feed.asked, binding->fires);
		wake_up_process(binding->reader.task);
	}
	if (binding->writer.task)
		wake_up_process(binding->writer.task);
	local_irq_restore(flags);
	/* It may have gone before there was anything to trip. */
	if (unlikely(smp_load_acquire(&binding->gone)) && binding->ready && !binding->told) {
		binding->told = true;
		hytest_trip_channel(binding->loop, HT_CAUSE_DEVICE, binding->gone_index);
	}
}

void hytest_binding_start(struct hytest_binding *binding)
{
	struct hytest_source *source;
	u32 i;

	list_for_each_entry(source, &binding->sources, list)
		source->feed.lost = 0;
	binding->reader.feed.lost = 0;
	for (i = 0; i < binding->n_outputs; i++)
		WRITE_ONCE(hytest_output_port(binding, i)->done, binding->left);
	WRITE_ONCE(binding->writer.all, true);
}

static bool uses(const struct hytest_port *port, const void *device)
{
	return port->iio.indio_dev == device || port->tree == device;
}

void hytest_device_goes(const void *device)
{
	struct hytest_binding *binding;
	u32 i;

	mutex_lock(&bindings_mutex);
	list_for_each_entry(binding, &bindings, list)
		for (i = 0; i < n_ports(binding) && !binding->gone; i++) {
			if (!uses(&binding->ports[i], device))
				continue;
			binding->gone_index = i;
			/* The tick reads which after it has seen that. */
			smp_store_release(&binding->gone, true);
			if (binding->ready)
				hytest_trip_channel(binding->loop, HT_CAUSE_DEVICE, i);
		}
	mutex_unlock(&bindings_mutex);
}

/* Whether an output is on its way to safe and its driver does not refuse. */
static bool becomes_safe(const struct hytest_binding *binding, const struct hytest_port *port)
{
	if (port->way != HYTEST_WRITTEN || READ_ONCE(port->error))
		return false;
	return !READ_ONCE(binding->loop->status->safe) || READ_ONCE(port->written) != port->safe;
}

static bool outputs_become_safe(const struct iio_dev *indio_dev)
{
	struct hytest_binding *binding;
	bool found = false;
	u32 i;

	mutex_lock(&bindings_mutex);
	list_for_each_entry(binding, &bindings, list)
		for (i = binding->n_inputs; i < n_ports(binding) && !found; i++)
			found = binding->ready && uses(&binding->ports[i], indio_dev) &&
				becomes_safe(binding, &binding->ports[i]);
	mutex_unlock(&bindings_mutex);
	return found;
}

/* A driver that is taken off in good order still writes until this returns. */
static int bus_event(struct notifier_block *block, unsigned long event, void *data)
{
	const u64 end = ktime_get_ns() + GOING_MS * NSEC_PER_MSEC;
	struct device *dev = data;

	if (event != BUS_NOTIFY_DEL_DEVICE || !hytest_is_iio_device(dev))
		return NOTIFY_DONE;
	hytest_device_goes(dev_to_iio_dev(dev));
	while (outputs_become_safe(dev_to_iio_dev(dev)) && ktime_get_ns() < end)
		usleep_range(GOING_PAUSE_US, 2 * GOING_PAUSE_US);
	return NOTIFY_DONE;
}

static struct notifier_block bus_notifier = {
	.notifier_call = bus_event,
};

static bool is_trigger_of_ours(const struct iio_trigger *trigger)
{
	unsigned int i, j;

	for (i = 0; i < hytest_n_loops; i++)
		for (j = 0; j < HYTEST_TRIGGERS; j++)
			if (hytest_loops[i]->triggers[j] == trigger)
				return true;
	return false;
}

static int say_if_holds_trigger(struct device *dev, void *data)
{
	const struct iio_trigger *trigger;
	struct iio_dev *indio_dev;

	if (!hytest_is_iio_device(dev))
		return 0;
	indio_dev = dev_to_iio_dev(dev);
	trigger = READ_ONCE(indio_dev->trig);
	if (trigger && is_trigger_of_ours(trigger))
		pr_info("%s has our trigger %s: echo > /sys/bus/iio/devices/%s/trigger/current_trigger\n",
			dev_name(dev), trigger->name, dev_name(dev));
	return 0;
}

void hytest_say_who_holds_triggers(void)
{
	bus_for_each_dev(&iio_bus_type, NULL, NULL, say_if_holds_trigger);
}

static void drop_triggers(struct hytest_loop *loop)
{
	unsigned int i;

	for (i = 0; i < HYTEST_TRIGGERS; i++) {
		if (!loop->triggers[i])
			continue;
		iio_trigger_unregister(loop->triggers[i]);
		iio_trigger_free(loop->triggers[i]);
		loop->triggers[i] = NULL;
	}
}

static void drop_all_triggers(void)
{
	unsigned int i;

	for (i = 0; i < hytest_n_loops; i++)
		drop_triggers(hytest_loops[i]);
}

static int make_triggers(struct hytest_loop *loop)
{
	struct iio_trigger *trigger;
	unsigned int i;
	int ret;

	for (i = 0; i < HYTEST_TRIGGERS; i++) {
		trigger = iio_trigger_alloc(NULL, "%s.%u", loop->name, i);
		if (!trigger)
			return -ENOMEM;
		ret = iio_trigger_register(trigger);
		if (ret) {
			iio_trigger_free(trigger);
			return ret;
		}
		loop->triggers[i] = trigger;
	}
	return 0;
}

int hytest_bind_init(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < hytest_n_loops; i++) {
		ret = make_triggers(hytest_loops[i]);
		if (ret)
			goto triggers;
	}
	ret = bus_register_notifier(&iio_bus_type, &bus_notifier);
	if (ret)
		goto triggers;
	ret = hytest_platform_init();
	if (ret)
		goto notifier;
	return 0;
notifier:
	bus_unregister_notifier(&iio_bus_type, &bus_notifier);
triggers:
	drop_all_triggers();
	return ret;
}

void hytest_bind_exit(void)
{
	hytest_platform_exit();
	bus_unregister_notifier(&iio_bus_type, &bus_notifier);
	drop_all_triggers();
}
