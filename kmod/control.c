// SPDX-License-Identifier: GPL-2.0
/*
 * What the operator can ask of a loop: load, arm, start, stop, acknowledge,
 * change parameters. Called with loop->mutex held; the states are described
 * in the UAPI header.
 */
#include <linux/cpu.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "hytest.h"

/* The CRC is made in pieces, so that preemption is never off for long. */
#define CRC_PIECE	SZ_64K

#define MAX_DRY_TICKS	100000

static_assert(sizeof(struct hytest_change) == sizeof(struct ht_change));
static_assert(sizeof(struct hytest_refusal) == sizeof(struct ht_error));

static int refuse(struct hytest_refusal *refusal, const struct ht_error *error)
{
	*refusal = (struct hytest_refusal){
		.code = error->code,
		.where = error->where,
		.index = error->index,
		.item = error->item,
		.value = error->value,
	};
	return -EINVAL;
}

/* The state, not in the middle of a tick that is about to change it. */
static enum hytest_state settled_state(struct hytest_loop *loop)
{
	enum hytest_state state;
	unsigned long flags;

	raw_spin_lock_irqsave(&loop->lock, flags);
	state = hytest_state(loop);
	raw_spin_unlock_irqrestore(&loop->lock, flags);
	return state;
}

/* Changes the state at rest, unless a trip came first: nothing ticks. */
static int rest_in(struct hytest_loop *loop, enum hytest_state from, enum hytest_state to,
		   enum hytest_event_type event)
{
	unsigned long flags;
	int ret = -EBUSY;

	raw_spin_lock_irqsave(&loop->lock, flags);
	if (hytest_state(loop) == from) {
		hytest_status_begin(loop);
		hytest_set_state(loop, to);
		hytest_event(loop, event, 0, 0, 0);
		hytest_status_end(loop);
		ret = 0;
	}
	raw_spin_unlock_irqrestore(&loop->lock, flags);
	return ret;
}

static u32 image_crc(const void *image, size_t size)
{
	const size_t at = offsetof(struct ht_image_header, crc);
	const u32 zero = 0;
	u32 crc;

	hytest_fpu_begin();
	crc = ht_crc32(0, image, at);
	crc = ht_crc32(crc, &zero, sizeof(zero));
	hytest_fpu_end();
	image += at + sizeof(zero);
	size -= at + sizeof(zero);
	while (size) {
		size_t piece = min_t(size_t, size, CRC_PIECE);

		hytest_fpu_begin();
		crc = ht_crc32(crc, image, piece);
		hytest_fpu_end();
		image += piece;
		size -= piece;
		cond_resched();
	}
	return crc;
}

/* A program in the making. */
struct parts {
	void *image;
	struct ht_loop *core;
	struct hytest_ring *ring;
	size_t image_bytes;
	u64 core_bytes;
	u64 ring_bytes;
	u32 record_size;
};

static void free_parts(struct parts *parts)
{
	hytest_ring_retire(parts->ring);
	vfree(parts->core);
	vfree(parts->image);
}

static int check_image(struct parts *parts, struct hytest_load *load)
{
	const struct ht_image_header *h = parts->image;
	struct ht_error error = { 0 };
	int code;

	if (parts->image_bytes < sizeof(*h) || h->size != parts->image_bytes) {
		error.code = HT_ERR_SIZE;
		error.value = parts->image_bytes;
		return refuse(&load->refusal, &error);
	}
	if (image_crc(parts->image, parts->image_bytes) != h->crc &&
	    h->magic == HT_IMAGE_MAGIC) {
		error.code = HT_ERR_CRC;
		error.value = h->crc;
		return refuse(&load->refusal, &error);
	}
	hytest_fpu_begin();
	code = ht_image_check_structure(parts->image, parts->image_bytes, &error);
	if (!code)
		parts->core_bytes = ht_loop_bytes(parts->image);
	hytest_fpu_end();
	return code ? refuse(&load->refusal, &error) : 0;
}

static int build_parts(struct hytest_loop *loop, struct parts *parts, struct hytest_load *load)
{
	const struct ht_image_header *h = parts->image;
	struct ht_error error = { 0 };
	int ret, code;

	parts->image_bytes = load->size;
	ret = check_image(parts, load);
	if (ret)
		return ret;
	parts->record_size = sizeof(struct hytest_record) +
			     (h->n_records + h->n_outputs) * sizeof(u64);
	parts->ring_bytes = PAGE_ALIGN((u64)parts->record_size * h->ring_records);
	load->needed_bytes = parts->image_bytes + parts->core_bytes + parts->ring_bytes +
			     atomic64_read(&loop->retired_bytes);
	if (load->needed_bytes > hytest_max_loop_bytes)
		return -E2BIG;
	parts->core = hytest_alloc(parts->core_bytes);
	parts->ring = hytest_ring_alloc(loop, parts->record_size, h->ring_records);
	if (!parts->core || !parts->ring)
		return -ENOMEM;
	hytest_fpu_begin();
	code = ht_loop_init(parts->core, parts->image, &error);
	hytest_fpu_end();
	return code ? refuse(&load->refusal, &error) : 0;
}

/* Puts a program in place of the one that is there; nothing ticks. */
static void exchange(struct hytest_loop *loop, struct parts *parts)
{
	struct parts old = {
		.image = loop->image,
		.core = loop->core,
		.ring = loop->ring,
	};
	const struct ht_image_header *h = parts->image;
	struct hytest_status *status = loop->status;
	unsigned long flags;

	raw_spin_lock_irqsave(&loop->lock, flags);
	loop->image = parts->image;
	loop->image_bytes = parts->image_bytes;
	loop->core = parts->core;
	loop->ring = parts->ring;
	loop->loop_bytes = parts->image_bytes + parts->core_bytes + parts->ring_bytes;
	loop->tick = 0;
	loop->head = 0;
	memset(&loop->request, 0, sizeof(loop->request));
	hytest_status_begin(loop);
	hytest_set_state(loop, h ? HYTEST_LOADED : HYTEST_EMPTY);
	status->program++;
	status->record_size = parts->record_size;
	status->ring_records = h ? h->ring_records : 0;
	status->mapping_size = PAGE_SIZE + parts->ring_bytes;
	status->period_ns = h ? h->period_ns : 0;
	status->budget_ns = h ? h->budget_ns : 0;
	status->dry_worst_ns = 0;
	status->head = 0;
	status->tick = 0;
	status->missed = 0;
	status->overruns = 0;
	status->batch = 0;
	status->safe = 1;
	hytest_histogram_reset(&status->lateness);
	hytest_histogram_reset(&status->step);
	hytest_event(loop, h ? HYTEST_EVENT_LOADED : HYTEST_EVENT_UNLOADED, 0, 0, 0);
	hytest_status_end(loop);
	raw_spin_unlock_irqrestore(&loop->lock, flags);
	free_parts(&old);
}

/* Takes over the image if it is good. */
int hytest_load(struct hytest_loop *loop, struct hytest_load *load, void **image)
{
	const enum hytest_state state = settled_state(loop);
	struct parts parts = { .image = *image };
	int ret;

	lockdep_assert_held(&loop->mutex);
	if (state != HYTEST_EMPTY && state != HYTEST_LOADED)
		return -EBUSY;
	ret = build_parts(loop, &parts, load);
	*image = NULL;
	if (ret) {
		free_parts(&parts);
		return ret;
	}
	exchange(loop, &parts);
	return 0;
}

int hytest_unload(struct hytest_loop *loop)
{
	struct parts none = { 0 };

	if (settled_state(loop) != HYTEST_LOADED)
		return settled_state(loop) == HYTEST_EMPTY ? -ENODATA : -EBUSY;
	exchange(loop, &none);
	return 0;
}

static void note_measurement(struct hytest_loop *loop, const struct hytest_arm *arm)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&loop->lock, flags);
	hytest_status_begin(loop);
	loop->status->cpu = arm->cpu;
	loop->status->dry_worst_ns = arm->worst_ns;
	hytest_status_end(loop);
	raw_spin_unlock_irqrestore(&loop->lock, flags);
}

int hytest_arm(struct hytest_loop *loop, struct hytest_arm *arm)
{
	const struct ht_image_header *h = loop->image;
	int ret;

	if (settled_state(loop) == HYTEST_EMPTY)
		return -ENODATA;
	if (settled_state(loop) != HYTEST_LOADED)
		return -EBUSY;
	if (arm->reserved || !arm->dry_ticks || arm->dry_ticks > MAX_DRY_TICKS)
		return -EINVAL;
	if (arm->cpu >= nr_cpu_ids || !cpu_online(arm->cpu))
		return -ENODEV;
	arm->budget_ns = h->budget_ns;
	ret = hytest_measure(loop, arm->cpu, arm->dry_ticks, arm->budget_ns, &arm->worst_ns);
	if (ret)
		return ret;
	note_measurement(loop, arm);
	if (arm->worst_ns > arm->budget_ns)
		return -ETIME;
	hytest_fpu_begin();
	arm->interlock = ht_loop_first_unhealthy(loop->core);
	hytest_fpu_end();
	if (arm->interlock < h->n_interlocks)
		return -EPERM;
	loop->cpu = arm->cpu;
	return rest_in(loop, HYTEST_LOADED, HYTEST_ARMED, HYTEST_EVENT_ARMED);
}

int hytest_disarm(struct hytest_loop *loop)
{
	return rest_in(loop, HYTEST_ARMED, HYTEST_LOADED, HYTEST_EVENT_DISARMED);
}

static void clear_run(struct hytest_loop *loop)
{
	struct hytest_status *status = loop->status;

	lockdep_assert_held(&loop->lock);
	memset(&loop->request, 0, sizeof(loop->request));
	loop->tick = 0;
	loop->head = 0;
	loop->late_in_row = 0;
	loop->congestion = 0;
	loop->counted_safe = false;
	loop->batches = 0;
	status->head = 0;
	status->tick = 0;
	status->missed = 0;
	status->overruns = 0;
	status->batch = 0;
	status->safe = 1;
	memset(&status->trip, 0, sizeof(status->trip));
	hytest_histogram_reset(&status->lateness);
	hytest_histogram_reset(&status->step);
}

/* With the CPUs held online. -EBUSY if a trip came first. */
static int start_running(struct hytest_loop *loop)
{
	const struct ht_image_header *h = loop->image;
	unsigned long flags;

	raw_spin_lock_irqsave(&loop->lock, flags);
	if (hytest_state(loop) != HYTEST_ARMED || READ_ONCE(hytest_going_down)) {
		raw_spin_unlock_irqrestore(&loop->lock, flags);
		return -EBUSY;
	}
	hytest_status_begin(loop);
	clear_run(loop);
	loop->heartbeat_ns = (u64)h->heartbeat_ms * NSEC_PER_MSEC;
	loop->last_heartbeat_ns = ktime_get_ns();
	loop->due_ns = hytest_first_tick(h->period_ns);
	loop->status->start_ns = loop->due_ns;
	loop->ticking = true;
	hytest_set_state(loop, HYTEST_RUNNING);
	hytest_event(loop, HYTEST_EVENT_STARTED, loop->cpu, 0, 0);
	hytest_status_end(loop);
	raw_spin_unlock_irqrestore(&loop->lock, flags);
	hytest_start_timer(loop);
	return 0;
}

/* Old records must not pass for new ones. */
static void forget_records(struct hytest_loop *loop)
{
	u32 i;

	for (i = 0; i < loop->ring->capacity; i++) {
		WRITE_ONCE(hytest_ring_slot(loop->ring, i)->sequence, 0);
		if (!(i % 1024))
			cond_resched();
	}
}

int hytest_start(struct hytest_loop *loop)
{
	int ret;

	lockdep_assert_held(&loop->mutex);
	if (settled_state(loop) != HYTEST_ARMED)
		return -EBUSY;
	cpus_read_lock();
	if (!cpu_online(loop->cpu)) {
		cpus_read_unlock();
		return -ENODEV;
	}
	/* The last tick of the run before may still be on its way out. */
	hrtimer_cancel(&loop->timer);
	forget_records(loop);
	hytest_fpu_begin();
	ht_loop_start(loop->core);
	hytest_fpu_end();
	ret = start_running(loop);
	cpus_read_unlock();
	return ret;
}

int hytest_stop(struct hytest_loop *loop)
{
	unsigned long flags;
	int ret = -EBUSY;

	raw_spin_lock_irqsave(&loop->lock, flags);
	if (hytest_state(loop) == HYTEST_RUNNING) {
		loop->request.stop = true;
		ret = 0;
	} else if (hytest_state(loop) == HYTEST_STOPPING) {
		ret = 0;
	}
	raw_spin_unlock_irqrestore(&loop->lock, flags);
	return ret;
}

/* An armed loop has safe outputs and no tick that could take it there. */
static void trip_at_rest(struct hytest_loop *loop, u32 cause)
{
	hytest_status_begin(loop);
	hytest_set_state(loop, HYTEST_TRIPPED);
	loop->status->trip = (struct hytest_trip){
		.cause = cause,
		.time_ns = ktime_get_ns(),
	};
	hytest_event(loop, HYTEST_EVENT_TRIPPED, cause << 16, 0, 0);
	hytest_event(loop, HYTEST_EVENT_SAFE, 0, 0, 0);
	hytest_status_end(loop);
}

void hytest_trip(struct hytest_loop *loop, u32 cause)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&loop->lock, flags);
	switch (hytest_state(loop)) {
	case HYTEST_ARMED:
		trip_at_rest(loop, cause);
		break;
	case HYTEST_TRIPPED:
		/* Held outputs wait for a person; the owner's end changes nothing. */
		if (!loop->ticking || cause == HT_CAUSE_OWNER)
			break;
		fallthrough;
	case HYTEST_RUNNING:
	case HYTEST_STOPPING:
		if (loop->request.trip)
			break;
		loop->request.trip_cause = (struct ht_trip){
			.cause = cause,
			.action = HT_ACTION_RAMP,
		};
		loop->request.trip = true;
		break;
	default:
		break;
	}
	raw_spin_unlock_irqrestore(&loop->lock, flags);
}

int hytest_acknowledge(struct hytest_loop *loop)
{
	unsigned long flags;
	bool ticking;

	if (settled_state(loop) != HYTEST_TRIPPED)
		return -ENODATA;
	raw_spin_lock_irqsave(&loop->lock, flags);
	ticking = loop->ticking;
	/* Outputs that were held go to safe once the operator knows. */
	loop->request.release = ticking;
	raw_spin_unlock_irqrestore(&loop->lock, flags);
	if (ticking)
		return -EBUSY;
	hytest_fpu_begin();
	ht_loop_rest(loop->core);
	hytest_fpu_end();
	return rest_in(loop, HYTEST_TRIPPED, HYTEST_LOADED, HYTEST_EVENT_ACKNOWLEDGED);
}

/* Whether a batch could be taken now. */
static bool can_change(struct hytest_loop *loop)
{
	lockdep_assert_held(&loop->lock);
	/* A tripped program stands still; what it shows must stay true. */
	return hytest_state(loop) != HYTEST_TRIPPED && !loop->request.batch;
}

/* The changes are staged; hand them to the tick or make them now. */
static int commit(struct hytest_loop *loop, struct hytest_batch *batch)
{
	unsigned long flags;
	bool possible, now;

	raw_spin_lock_irqsave(&loop->lock, flags);
	possible = can_change(loop);
	now = !loop->ticking;
	if (possible && !now) {
		batch->number = ++loop->batches;
		loop->request.batch_number = batch->number;
		loop->request.batch_tick = batch->tick;
		loop->request.batch = true;
	}
	raw_spin_unlock_irqrestore(&loop->lock, flags);
	if (!possible)
		return -EBUSY;
	if (now) {
		batch->number = 0;
		hytest_fpu_begin();
		ht_program_commit(ht_loop_program(loop->core));
		hytest_fpu_end();
	}
	return 0;
}

int hytest_change(struct hytest_loop *loop, struct hytest_batch *batch,
		  const struct ht_change *changes)
{
	struct ht_error error = { 0 };
	unsigned long flags;
	bool possible;
	int code;

	lockdep_assert_held(&loop->mutex);
	if (!loop->core)
		return -ENODATA;
	raw_spin_lock_irqsave(&loop->lock, flags);
	possible = can_change(loop);
	raw_spin_unlock_irqrestore(&loop->lock, flags);
	if (!possible)
		return -EBUSY;
	hytest_fpu_begin();
	code = ht_program_stage(ht_loop_program(loop->core), changes, batch->count, &error);
	hytest_fpu_end();
	if (code)
		return refuse(&batch->refusal, &error);
	return commit(loop, batch);
}

/*
 * Between two steps of the program. On the loop's own CPU no step can come in
 * the middle; on another one it can, and then the look is taken again.
 */
static int look_between_steps(struct hytest_loop *loop, u32 interlock, struct ht_lock_view *view)
{
	unsigned int tries;
	u32 sequence;

	for (tries = 0; tries < 1000; tries++) {
		sequence = READ_ONCE(loop->step_sequence);
		smp_rmb();	/* pairs with step_core() */
		ht_loop_lock(loop->core, interlock, view);
		smp_rmb();	/* pairs with step_core() */
		if (!(sequence & 1) && READ_ONCE(loop->step_sequence) == sequence)
			return 0;
		cpu_relax();
	}
	return -EAGAIN;
}

int hytest_look_at_lock(struct hytest_loop *loop, struct hytest_lock *lock)
{
	const struct ht_image_header *h = loop->image;
	struct ht_lock_view view;
	int ret;

	lockdep_assert_held(&loop->mutex);
	if (!h)
		return -ENODATA;
	if (lock->reserved || lock->interlock >= h->n_interlocks)
		return -EINVAL;
	hytest_fpu_begin();
	ret = look_between_steps(loop, lock->interlock, &view);
	hytest_fpu_end();
	if (ret)
		return ret;
	lock->healthy = view.healthy;
	lock->violated_ticks = view.violated_ticks;
	lock->value = view.value;
	lock->limit = view.limit;
	return 0;
}

/* In force until the next batch, which needs the mutex. */
const u64 *hytest_params(struct hytest_loop *loop)
{
	const double *params;

	lockdep_assert_held(&loop->mutex);
	hytest_fpu_begin();
	params = ht_program_params(ht_loop_program(loop->core));
	hytest_fpu_end();
	return (const u64 *)params;
}

static void note_control(struct hytest_loop *loop, enum hytest_event_type event, u32 owner)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&loop->lock, flags);
	hytest_status_begin(loop);
	loop->status->owner = event == HYTEST_EVENT_CONTROL_TAKEN ? owner : 0;
	hytest_event(loop, event, owner, 0, 0);
	hytest_status_end(loop);
	raw_spin_unlock_irqrestore(&loop->lock, flags);
}

int hytest_take_control(struct hytest_loop *loop, struct hytest_file *file)
{
	if (loop->owner == file)
		return 0;
	if (loop->owner)
		return -EBUSY;
	file->owner_files = current->files;
	WRITE_ONCE(loop->owner, file);
	note_control(loop, HYTEST_EVENT_CONTROL_TAKEN, task_tgid_nr(current));
	return 0;
}

void hytest_leave_control(struct hytest_loop *loop, struct hytest_file *file)
{
	if (loop->owner != file)
		return;
	hytest_trip(loop, HT_CAUSE_OWNER);
	note_control(loop, HYTEST_EVENT_CONTROL_LEFT, loop->status->owner);
	WRITE_ONCE(loop->owner, NULL);
}
