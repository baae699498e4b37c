/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A loop inside the module.
 *
 * Who may touch what:
 *  - loop->mutex: one system call at a time changes the loop. Never held while
 *    user memory is touched: a fault may take as long as it likes.
 *  - loop->lock: state, requests, status page and events, shared with the
 *    tick. Raw, because the tick runs in hard interrupt context on every
 *    kernel; held for short, bounded times only, not while the program steps.
 *  - loop->core and the ring belong to the tick while loop->ticking is set,
 *    to the holder of the mutex otherwise. The exception is the bank of
 *    parameters that is not in force: it belongs to the holder of the mutex
 *    until request.batch is set.
 */
#ifndef HYTEST_H
#define HYTEST_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <uapi/linux/hytest.h>

#include "core/loop.h"
#include "fpu.h"
#include "memory.h"

#define HYTEST_EVENTS	1024	/* kept for slow readers, a power of two */

/* Ring of records; lives as long as it is mapped somewhere. */
struct hytest_ring {
	struct kref kref;
	struct hytest_loop *loop;	/* that pays for it */
	void *records;		/* vmalloc */
	size_t size;		/* whole pages */
	u32 record_size;
	u32 capacity;		/* a power of two */
};

/* What system calls ask of the tick. Under loop->lock. */
struct hytest_request {
	bool stop;
	bool trip;
	bool release;		/* acknowledged: let go of outputs held */
	bool batch;
	u32 batch_number;
	u64 batch_tick;
	struct ht_trip trip_cause;
};

struct hytest_binding;
struct hytest_file;
struct iio_trigger;

/* A trigger serves so many devices as the kernel was built for, most often 2. */
#define HYTEST_TRIGGERS	2

struct hytest_loop {
	struct miscdevice misc;
	char name[20];
	unsigned int number;

	struct mutex mutex;		/* one system call at a time */
	struct hytest_file *owner;	/* under mutex */
	void *image;
	size_t image_bytes;
	struct ht_loop *core;
	struct hytest_ring *ring;
	u64 loop_bytes;
	atomic64_t retired_bytes;	/* old rings that are still mapped */
	unsigned int cpu;
	u32 batches;			/* numbered since START */
	struct iio_trigger *triggers[HYTEST_TRIGGERS];	/* hytestN.0, ...; for good */
	struct hytest_binding *binding;	/* bind.h; changes only while nothing ticks */
	struct ht_lock_view *refused;	/* n_interlocks: how they were when ARM refused */
	bool has_refused;		/* and nothing has changed since */
	struct work_struct rest_work;	/* unbinds when a run is over */

	raw_spinlock_t lock;		/* see above */
	bool ticking;			/* the timer runs */
	struct hytest_request request;
	struct hytest_status *status;	/* one page, for mmap() */
	u64 event_head;			/* events made so far */
	struct hytest_event events[HYTEST_EVENTS];

	/* The tick's own. */
	struct hrtimer timer;
	struct hytest_fpu *fpu;
	u32 step_sequence;		/* odd while the program steps */
	u64 tick;
	u64 due_ns;			/* of that tick */
	u64 head;			/* records written */
	u32 late_in_row;
	u32 congestion;			/* ticks that ate the next one's time */
	u32 post_trip;			/* records still to be made */
	u64 heartbeat_ns;		/* 0: none needed */
	u64 last_heartbeat_ns;		/* written by the owner */
	bool counted_safe;		/* the SAFE event was sent */
	bool before_first;		/* the timer asks for the first scan */
	struct ht_vitals vitals;

	/* Readers are woken in three steps: any context, interrupt, worker. */
	struct irq_work wake;
	struct work_struct wake_work;
	wait_queue_head_t wait;
};

/* One open file. */
struct hytest_file {
	struct hytest_loop *loop;
	struct mutex read_mutex;	/* one read() at a time */
	u64 next_event;			/* under read_mutex */
	bool writable;
	void *owner_files;		/* descriptor table that took control */
};

/* main.c */
extern unsigned long hytest_max_image_bytes;
extern unsigned long hytest_max_loop_bytes;
extern struct hytest_loop **hytest_loops;
extern unsigned int hytest_n_loops;
void hytest_ask_to_rest(struct hytest_loop *loop, enum ht_action action);
bool hytest_at_rest(struct hytest_loop *loop);
void hytest_await_rest(struct hytest_loop *loop, unsigned int timeout);

/* chardev.c */
extern const struct file_operations hytest_fops;

/* control.c: what system calls do. With the mutex held. */
int hytest_load(struct hytest_loop *loop, struct hytest_load *load, void **image);
int hytest_unload(struct hytest_loop *loop);
int hytest_arm(struct hytest_loop *loop, struct hytest_arm *arm);
/* Unbinds the channels of a loop that does not tick any more. */
void hytest_let_go(struct hytest_loop *loop);
int hytest_disarm(struct hytest_loop *loop);
int hytest_start(struct hytest_loop *loop);
int hytest_stop(struct hytest_loop *loop);
int hytest_acknowledge(struct hytest_loop *loop);
int hytest_change(struct hytest_loop *loop, struct hytest_batch *batch,
		  const struct ht_change *changes);
int hytest_look_at_lock(struct hytest_loop *loop, struct hytest_lock *lock);
const u64 *hytest_params(struct hytest_loop *loop);
int hytest_take_control(struct hytest_loop *loop, struct hytest_file *file);
void hytest_leave_control(struct hytest_loop *loop, struct hytest_file *file);
/* In any context. */
void hytest_trip(struct hytest_loop *loop, u32 cause);
void hytest_trip_channel(struct hytest_loop *loop, u32 cause, u32 index);

/* tick.c */
enum hrtimer_restart hytest_tick(struct hrtimer *timer);
int hytest_measure(struct hytest_loop *loop, unsigned int cpu, u32 ticks, u32 budget_ns,
		   u32 *worst_ns);
u64 hytest_first_tick(u64 period_ns);
void hytest_start_timer(struct hytest_loop *loop);

/* status.c: with loop->lock held, interrupts off. */
void hytest_status_begin(struct hytest_loop *loop);
void hytest_status_end(struct hytest_loop *loop);
void hytest_set_state(struct hytest_loop *loop, enum hytest_state state);
void hytest_event(struct hytest_loop *loop, enum hytest_event_type type, u32 index, u64 value,
		  u64 limit);
void hytest_note_trip(struct hytest_loop *loop, const struct ht_trip *trip, u64 time_ns);
void hytest_histogram_reset(struct hytest_histogram *histogram);
void hytest_histogram_add(struct hytest_histogram *histogram, u64 ns);

/* ring.c */
struct hytest_ring *hytest_ring_alloc(struct hytest_loop *loop, u32 record_size, u32 capacity);
void hytest_ring_retire(struct hytest_ring *ring);
int hytest_mmap(struct hytest_loop *loop, struct vm_area_struct *vma);

/* guard.c: what else must not happen while a loop moves something. */
extern bool hytest_going_down;		/* the machine: nothing may start */
int hytest_guard_init(void);
void hytest_guard_exit(void);
void hytest_watch_removal(void);
void hytest_unwatch_removal(void);

static inline struct hytest_record *hytest_ring_slot(struct hytest_ring *ring, u64 number)
{
	return ring->records + (number & (ring->capacity - 1)) * (size_t)ring->record_size;
}

static inline enum hytest_state hytest_state(const struct hytest_loop *loop)
{
	return READ_ONCE(loop->status->state);
}

#endif
