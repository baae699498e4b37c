// SPDX-License-Identifier: GPL-2.0
/*
 * The two workers of a binding, and the feeds between them and the tick.
 *
 * Both run on the loop's CPU with real-time priority. The input worker reads
 * what cannot be scanned, the output worker writes what the tick has left.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/gpio/consumer.h>
#include <linux/gpio/driver.h>
#include <linux/iio/iio.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "binding.h"

/* A write that fails is repeated on the next tick; after the last one so often. */
#define LAST_TRIES	4
#define LAST_PAUSE_MS	5

#define TAKE_TRIES	3

/* What a reader that is late leaves to others on its CPU, not least to the writer. */
#define LATE_PAUSE_US	20

int hytest_feed_init(struct hytest_feed *feed, unsigned int bytes)
{
	feed->bytes = bytes;
	feed->slots = kcalloc(HYTEST_SLOTS, bytes, GFP_KERNEL);
	feed->taken = kzalloc(bytes, GFP_KERNEL);
	feed->spare = kzalloc(bytes, GFP_KERNEL);
	if (feed->slots && feed->taken && feed->spare)
		return 0;
	hytest_feed_free(feed);
	return -ENOMEM;
}

void hytest_feed_free(struct hytest_feed *feed)
{
	kfree(feed->slots);
	kfree(feed->taken);
	kfree(feed->spare);
	feed->slots = NULL;
	feed->taken = NULL;
	feed->spare = NULL;
}

void hytest_feed_give(struct hytest_feed *feed, const void *block, unsigned long label)
{
	const unsigned long number = feed->newest + 1;
	const unsigned int slot = number % HYTEST_SLOTS;

	WRITE_ONCE(feed->stamp[slot], 0);
	smp_wmb();	/* it is marked before it changes */
	memcpy(feed->slots + slot * feed->bytes, block, feed->bytes);
	feed->label[slot] = label;
	/* Whoever sees the number sees the block. */
	smp_store_release(&feed->stamp[slot], number);
	/* Whoever sees which is the newest sees its number. */
	smp_store_release(&feed->newest, number);
}

bool hytest_feed_take(struct hytest_feed *feed)
{
	unsigned long number, label;
	unsigned int slot, i;

	for (i = 0; i < TAKE_TRIES; i++) {
		/* As hytest_feed_give() stores it. */
		number = smp_load_acquire(&feed->newest);
		if (!number)
			return false;
		slot = number % HYTEST_SLOTS;
		/* Read before the block is. */
		if (smp_load_acquire(&feed->stamp[slot]) != number)
			continue;
		memcpy(feed->spare, feed->slots + slot * feed->bytes, feed->bytes);
		label = feed->label[slot];
		smp_rmb();	/* copied before it is looked at again */
		if (READ_ONCE(feed->stamp[slot]) != number)
			continue;
		swap(feed->taken, feed->spare);
		feed->taken_label = label;
		return true;
	}
	return false;
}

/* Until there is work; false: to stop. */
static bool await_work(const unsigned long *asked, unsigned long done)
{
	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop() || READ_ONCE(*asked) != done)
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return !kthread_should_stop();
}

/* IIO's number in billionths, so that it is an integer. */
static int billionths(int form, int val, int val2, s64 *code)
{
	const s64 whole = (s64)val * NSEC_PER_SEC;
	const bool negative = val < 0 || val2 < 0;
	s64 part;

	switch (form) {
	case IIO_VAL_INT:
		*code = whole;
		return 0;
	case IIO_VAL_INT_PLUS_MICRO:
	case IIO_VAL_INT_PLUS_NANO:
		part = abs((s64)val2) * (form == IIO_VAL_INT_PLUS_MICRO ? NSEC_PER_USEC : 1);
		*code = abs(whole) + part;
		if (negative)
			*code = -*code;
		return 0;
	case IIO_VAL_FRACTIONAL:
		if (!val2)
			return -EINVAL;
		*code = div_s64(whole, val2);
		return 0;
	case IIO_VAL_FRACTIONAL_LOG2:
		*code = whole >> clamp(val2, 0, 63);
		return 0;
	default:
		return -EINVAL;
	}
}

static int read_port(struct hytest_port *port, s64 *code)
{
	int ret, val = 0, val2 = 0;

	switch (port->way) {
	case HYTEST_READ_RAW:
		ret = iio_read_channel_raw(&port->iio, &val);
		*code = val;
		if (ret < 0)
			return ret;
		return ret == IIO_VAL_INT ? 0 : -EINVAL;
	case HYTEST_READ_PROCESSED:
		ret = iio_read_channel_attribute(&port->iio, &val, &val2, IIO_CHAN_INFO_PROCESSED);
		return ret < 0 ? ret : billionths(ret, val, val2, code);
	default:
		/* A line whose chip has gone reads as 0, without an error. */
		if (!gpiod_to_chip(port->line))
			return -ENODEV;
		ret = gpiod_get_value_cansleep(port->line);
		*code = ret;
		return min(ret, 0);
	}
}

/* All of them, or it is no scan. The places are in bytes, each code has 8. */
static int read_all(struct hytest_worker *worker)
{
	struct hytest_binding *binding = worker->binding;
	s64 *codes = worker->codes;
	u32 i;
	int ret;

	for (i = 0; i < binding->n_inputs; i++) {
		struct hytest_port *port = &binding->ports[i];

		if (port->feed != &worker->feed)
			continue;
		ret = read_port(port, &codes[port->place.offset / sizeof(*codes)]);
		if (ret)
			return ret;
	}
	return 0;
}

static int reader_thread(void *data)
{
	struct hytest_worker *worker = data;
	unsigned long asked = 0;
	int ret;

	while (await_work(&worker->feed.asked, asked)) {
		asked = READ_ONCE(worker->feed.asked);
		ret = read_all(worker);
		WRITE_ONCE(worker->error, ret);
		if (!ret)
			hytest_feed_give(&worker->feed, worker->codes, asked);
		if (READ_ONCE(worker->feed.asked) != asked)
			usleep_range(LATE_PAUSE_US, 2 * LATE_PAUSE_US);
	}
	return 0;
}

int hytest_write_port(struct hytest_port *port, s64 code)
{
	const int error = min(iio_write_channel_raw(&port->iio, code), 0);

	if (!error)
		WRITE_ONCE(port->written, code);
	WRITE_ONCE(port->error, error);
	return error;
}

static void write_all(struct hytest_worker *worker)
{
	struct hytest_binding *binding = worker->binding;
	const s64 *codes;
	bool all;
	u32 i;

	if (!hytest_feed_take(&worker->feed))
		return;
	all = xchg(&worker->all, false);
	codes = worker->feed.taken;
	for (i = 0; i < binding->n_outputs; i++) {
		struct hytest_port *port = hytest_output_port(binding, i);

		if (port->way == HYTEST_UNBOUND)
			continue;
		if (all || port->error || port->written != codes[i])
			hytest_write_port(port, codes[i]);
		if (!port->error)
			WRITE_ONCE(port->done, worker->feed.taken_label);
	}
}

/* Whatever was written before. Returns whether it is worth to try again. */
static bool write_safe(struct hytest_binding *binding, bool all)
{
	bool again = false;
	u32 i;

	for (i = 0; i < binding->n_outputs; i++) {
		struct hytest_port *port = hytest_output_port(binding, i);

		if (port->way == HYTEST_UNBOUND)
			continue;
		if (all || port->error)
			hytest_write_port(port, port->safe);
		if (port->error && port->error != -ENODEV)
			again = true;
	}
	return again;
}

static void say_what_is_not_safe(struct hytest_binding *binding)
{
	u32 i;

	for (i = 0; i < binding->n_outputs; i++) {
		const struct hytest_port *port = hytest_output_port(binding, i);

		if (port->way != HYTEST_UNBOUND && port->error && port->written != port->safe)
			pr_err("%s: output %u did not get its safe value (error %d)\n",
			       binding->loop->name, i, -port->error);
	}
}

static int writer_thread(void *data)
{
	struct hytest_worker *worker = data;
	unsigned long number = 0;
	unsigned int i;

	while (await_work(&worker->feed.newest, number)) {
		number = READ_ONCE(worker->feed.newest);
		write_all(worker);
	}
	for (i = 0; write_safe(worker->binding, !i) && i < LAST_TRIES; i++)
		msleep(LAST_PAUSE_MS);
	say_what_is_not_safe(worker->binding);
	return 0;
}

static int start_worker(struct hytest_binding *binding, struct hytest_worker *worker, u32 n_codes,
			int (*thread)(void *), const char *what)
{
	struct hytest_loop *loop = binding->loop;
	struct task_struct *task;
	int ret;

	worker->binding = binding;
	worker->codes = kcalloc(n_codes, sizeof(s64), GFP_KERNEL);
	if (!worker->codes)
		return -ENOMEM;
	ret = hytest_feed_init(&worker->feed, n_codes * sizeof(s64));
	if (ret)
		return ret;
	task = kthread_create(thread, worker, "%s/%s", loop->name, what);
	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, loop->cpu);
	sched_set_fifo(task);
	worker->task = task;
	wake_up_process(task);
	return 0;
}

/* Gives each input that is read its place among the codes of the worker. */
static u32 place_inputs(struct hytest_binding *binding)
{
	struct hytest_feed *feed = &binding->reader.feed;
	u32 i, n = 0;

	for (i = 0; i < binding->n_inputs; i++) {
		struct hytest_port *port = &binding->ports[i];

		if (port->way == HYTEST_UNBOUND || port->way == HYTEST_SCANNED)
			continue;
		if (!n)
			feed->input = i;
		port->feed = feed;
		port->place = (struct ht_scan_place){
			.offset = n++ * sizeof(s64),
			.bytes = sizeof(s64),
			.bits = 64,
			.is_signed = 1,
			.big_endian = IS_ENABLED(CONFIG_CPU_BIG_ENDIAN),
		};
	}
	return n;
}

static bool has_outputs(struct hytest_binding *binding)
{
	u32 i;

	for (i = 0; i < binding->n_outputs; i++)
		if (hytest_output_port(binding, i)->way != HYTEST_UNBOUND)
			return true;
	return false;
}

int hytest_start_workers(struct hytest_binding *binding)
{
	const u32 n_read = place_inputs(binding);
	int ret = 0;

	if (n_read)
		ret = start_worker(binding, &binding->reader, n_read, reader_thread, "in");
	if (!ret && has_outputs(binding))
		ret = start_worker(binding, &binding->writer, binding->n_outputs, writer_thread,
				   "out");
	return ret;
}

static void stop_worker(struct hytest_worker *worker)
{
	if (worker->task)
		kthread_stop(worker->task);
	hytest_feed_free(&worker->feed);
	kfree(worker->codes);
}

/* Also after hytest_start_workers() has failed, or was not called. */
void hytest_stop_workers(struct hytest_binding *binding)
{
	stop_worker(&binding->writer);
	stop_worker(&binding->reader);
}
