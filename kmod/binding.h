/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside a binding: shared by bind.c, channels.c, source.c, worker.c, platform.c.
 *
 * Numbers that count ticks run freely; only their differences mean something.
 */
#ifndef HYTEST_BINDING_H
#define HYTEST_BINDING_H

#include <linux/iio/buffer_impl.h>
#include <linux/iio/consumer.h>
#include <linux/list.h>

#include "bind.h"
#include "core/channel.h"

struct device;
struct gpio_desc;
struct iio_dev;
struct task_struct;

#define HYTEST_SLOTS	4	/* a power of two */

/*
 * Hands blocks of bytes from one giver to one taker; neither ever waits for the
 * other. The giver fills slots in turn. The taker copies the newest and looks
 * afterwards whether it was overwritten meanwhile.
 */
struct hytest_feed {
	unsigned int bytes;		/* of a block */
	void *slots;			/* HYTEST_SLOTS blocks */
	unsigned long stamp[HYTEST_SLOTS];	/* number of the block there, 0: in work */
	unsigned long label[HYTEST_SLOTS];	/* given with it */
	unsigned long newest;		/* number of the newest block, 0: none yet */

	/* The taker's. */
	void *taken;			/* the block taken last */
	void *spare;
	unsigned long taken_label;

	/* Of inputs. */
	unsigned int input;		/* its first */
	unsigned long asked;		/* fire that it works on, or worked on last */
	u32 lost;
};

enum hytest_way {
	HYTEST_UNBOUND,
	HYTEST_SCANNED,
	HYTEST_READ_RAW,
	HYTEST_READ_PROCESSED,		/* codes are billionths */
	HYTEST_READ_LINE,
	HYTEST_WRITTEN,
};

/*
 * One channel of the image. What is needed of the driver's tables is copied: the
 * driver can go. The spec in iio.channel is only for IIO, which looks first
 * whether the driver is there.
 */
struct hytest_port {
	enum hytest_way way;
	u32 index;			/* as in struct hytest_arm */
	struct iio_channel iio;		/* holds a reference on its indio_dev */
	struct gpio_desc *line;
	struct device *tree;		/* it was looked up there; holds a reference */
	int scan_index;
	struct ht_scan_place place;
	struct ht_channel channel;
	struct hytest_feed *feed;	/* of an input */

	/* Of an output: the worker's. Others read done, and of a device that goes the rest. */
	s64 safe;			/* code of its safe value */
	int written;			/* code that it has */
	int error;			/* of the last write, 0: none */
	unsigned long done;		/* newest label whose code it has */
};

/* An IIO device that is scanned. The buffer is the owner of the memory. */
struct hytest_source {
	struct iio_buffer buffer;
	struct iio_dev *indio_dev;
	struct iio_trigger *trigger;
	struct hytest_feed feed;
	struct list_head list;
};

struct hytest_worker {
	struct task_struct *task;
	struct hytest_binding *binding;
	struct hytest_feed feed;
	s64 *codes;			/* in the making: by the input worker, or by the tick */
	bool all;			/* outputs: write all, changed or not */
	int error;			/* inputs: of the last read */
};

struct hytest_binding {
	struct hytest_loop *loop;
	struct list_head list;		/* of all bindings */
	u32 n_inputs;
	u32 n_outputs;
	struct hytest_port *ports;	/* inputs, then outputs */
	double *values;			/* of the inputs; for the core */
	struct list_head sources;
	struct hytest_worker reader;
	struct hytest_worker writer;
	unsigned long fires;
	unsigned long left;		/* times that outputs were left */
	bool ready;			/* under the mutex of all bindings */
	bool gone;			/* a device of it; which: */
	u32 gone_index;
	bool told;			/* the tick has tripped for it */
};

static inline struct hytest_port *hytest_output_port(struct hytest_binding *binding, u32 output)
{
	return &binding->ports[binding->n_inputs + output];
}

/* bind.c */
/* Fills in why; returns -ENXIO. error: negative, or 0. */
int hytest_refuse_channel(struct hytest_arm *arm, u32 index, enum hytest_bind_problem problem,
			  int error);
/* A device of channels, or of the device tree, goes: trips what is bound to it. */
void hytest_device_goes(const void *device);

/* channels.c */
int hytest_find_channel(struct hytest_loop *loop, const struct ht_image_channel *image,
			bool output, bool may_scan, struct hytest_port *port,
			struct hytest_arm *arm);
void hytest_put_channel(struct hytest_port *port);
/* Keeps the driver, if it is still there: then true, and unlock it. */
bool hytest_lock_driver(struct iio_dev *indio_dev);
void hytest_unlock_driver(struct iio_dev *indio_dev);
bool hytest_is_iio_device(const struct device *dev);
/* With the driver locked. 0, or a negative errno: cannot be decoded. */
int hytest_scan_place(struct iio_dev *indio_dev, const struct iio_chan_spec *spec,
		      struct ht_scan_place *place, u32 *all_bytes);

/* source.c */
int hytest_open_sources(struct hytest_binding *binding, struct hytest_arm *arm);
void hytest_close_sources(struct hytest_binding *binding);
/* With interrupts off. */
void hytest_fire_sources(struct hytest_binding *binding);

/* worker.c */
int hytest_feed_init(struct hytest_feed *feed, unsigned int bytes);
void hytest_feed_free(struct hytest_feed *feed);
void hytest_feed_give(struct hytest_feed *feed, const void *block, unsigned long label);
/* Whether there is a block in taken now. */
bool hytest_feed_take(struct hytest_feed *feed);
int hytest_start_workers(struct hytest_binding *binding);
void hytest_stop_workers(struct hytest_binding *binding);
int hytest_write_port(struct hytest_port *port, s64 code);

/* platform.c */
int hytest_platform_init(void);
void hytest_platform_exit(void);
/*
 * What the node of a loop calls so, or an error: -ENODEV if there is no node. *node gets
 * it with a reference, or NULL.
 */
struct iio_channel *hytest_tree_channel(const struct hytest_loop *loop, const char *name,
					struct device **node);
struct gpio_desc *hytest_tree_line(const struct hytest_loop *loop, const char *name,
				   struct device **node);
bool hytest_is_node(const struct hytest_loop *loop, const struct device *dev);

#endif
