// SPDX-License-Identifier: GPL-2.0
/*
 * What the operator can ask of a loop: load, arm, start, stop, acknowledge,
 * change parameters. Called with loop->mutex held; the states are described
 * in the UAPI header.
 *
 * Channels are bound by ARM and let go when the loop has come to rest: at once
 * by the system call that puts it there, or by a worker after the last tick.
 */
#include <linux/cpu.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "bind.h"
#include "check.h"

#define MAX_DRY_TICKS	100000

static_assert(sizeof(struct hytest_change) == sizeof(struct ht_change));

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

/* A program in the making. */
struct parts {
	void *image;
	struct ht_loop *core;
	struct hytest_ring *ring;
	struct ht_lock_view *views;
	size_t image_bytes;
	u64 core_bytes;
	u64 ring_bytes;
	u32 record_size;
};

static void free_parts(struct parts *parts)
{
	hytest_ring_retire(parts->ring);
	vfree(parts->views);
	vfree(parts->core);
	vfree(parts->image);
}

static int check_image(struct parts *parts, struct hytest_load *load)
{
	struct ht_error error = { 0 };

	if (hytest_check_image(parts->image, parts->image_bytes, HT_IMAGE_LOOP, &error))
		return hytest_refuse(&load->refusal, &error);
	hytest_fpu_begin();
	parts->core_bytes = ht_loop_bytes(parts->image);
	hytest_fpu_end();
	return 0;
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
	parts->views = hytest_alloc(max_t(size_t, h->n_interlocks, 1) * sizeof(*parts->views));
	parts->core = hytest_alloc(parts->core_bytes);
	parts->ring = hytest_ring_alloc(loop, parts->record_size, h->ring_records);
	if (!parts->views || !parts->core || !parts->ring)
		return -ENOMEM;
	hytest_fpu_begin();
	code = ht_loop_init(parts->core, parts->image, &error);
	hytest_fpu_end();
	return code ? hytest_refuse(&load->refusal, &error) : 0;
}

/* Puts a program in place of the one that is there; nothing ticks. */
static void exchange(struct hytest_loop *loop, struct parts *parts)
{
	struct parts old = {
		.image = loop->image,
		.core = loop->core,
		.ring = loop->ring,
		.views = loop->refused,
	};
	const struct ht_image_header *h = parts->image;
	struct hytest_status *status = loop->status;
	unsigned long flags;

	raw_spin_lock_irqsave(&loop->lock, flags);
	loop->image = parts->image;
	loop->image_bytes = parts->image_bytes;
	loop->core = parts->core;
	loop->ring = parts->ring;
	loop->refused = parts->views;
	loop->has_refused = false;
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
	status->lost_scans = 0;
	status->failed_writes = 0;
	status->batch = 0;
	status->safe = 1;
	status->write_age = 0;
	hytest_histogram_reset(&status->lateness);
	hytest_histogram_reset(&status->step);
	hytest_event(loop, h ? HYTEST_EVENT_LOADED : HYTEST_EVENT_UNLOADED, 0, 0, 0);
	hytest_status_end(loop);
	raw_spin_unlock_irqrestore(&loop->lock, flags);
	free_parts(&old);
}

/* How many channels of the image there are. */
static void count_channels(struct hytest_loop *loop, u32 *inputs, u32 *outputs)
{
	struct ht_image image;
	u32 i;

	hytest_fpu_begin();
	ht_image_open(&image, loop->image);
	hytest_fpu_end();
	*inputs = 0;
	*outputs = 0;
	for (i = 0; i < image.header->n_inputs; i++)
		*inputs += image.inputs[i].channel.kind != HT_CHANNEL_NONE;
	for (i = 0; i < image.header->n_outputs; i++)
		*outputs += image.outputs[i].channel.kind != HT_CHANNEL_NONE;
}

static void note_binding(struct hytest_loop *loop, enum hytest_event_type event, u32 inputs,
			 u32 outputs)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&loop->lock, flags);
	hytest_status_begin(loop);
	loop->status->bound_inputs = inputs;
	loop->status->bound_outputs = outputs;
	hytest_event(loop, event, 0, inputs + outputs, 0);
	hytest_status_end(loop);
	raw_spin_unlock_irqrestore(&loop->lock, flags);
}

static int bind_channels(struct hytest_loop *loop, struct hytest_arm *arm)
{
	u32 inputs, outputs;
	int ret = hytest_bind(loop, arm);

	if (ret || !loop->binding)
		return ret;
	count_channels(loop, &inputs, &outputs);
	note_binding(loop, HYTEST_EVENT_BOUND, inputs, outputs);
	return 0;
}

void hytest_let_go(struct hytest_loop *loop)
{
	lockdep_assert_held(&loop->mutex);
	if (!loop->binding || !hytest_at_rest(loop))
		return;
	/* The last tick may still be on its way out. */
	hrtimer_cancel(&loop->timer);
	hytest_unbind(loop);
	note_binding(loop, HYTEST_EVENT_UNBOUND, 0, 0);
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
	hytest_let_go(loop);
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
	hytest_let_go(loop);
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

/* On the CPU that the loop shall run on. */
static int measure(struct hytest_loop *loop, struct hytest_arm *arm)
{
	const struct ht_image_header *h = loop->image;
	int ret;

	arm->budget_ns = h->budget_ns;
	ret = hytest_measure(loop, arm->cpu, arm->dry_ticks, arm->budget_ns, &arm->worst_ns);
	if (ret)
		return ret;
	note_measurement(loop, arm);
	return arm->worst_ns > arm->budget_ns ? -ETIME : 0;
}

/* Every interlock must be healthy with what is measured now. */
static int check_health(struct hytest_loop *loop, struct hytest_arm *arm)
{
	const struct ht_image_header *h = loop->image;
	const double *inputs = NULL;
	struct ht_vitals vitals = { 0 };
	u32 i, unhealthy;

	hytest_fpu_begin();
	if (loop->binding)
		inputs = hytest_read_inputs(loop->binding, &vitals);
	unhealthy = ht_loop_check_health(loop->core, inputs, &vitals, loop->refused);
	hytest_fpu_end();
	loop->has_refused = unhealthy;
	if (!unhealthy)
		return 0;
	for (i = h->n_interlocks; i--; ) {
		if (loop->refused[i].healthy)
			continue;
		arm->interlock = i;
		arm->unhealthy[i / 64] |= 1ULL << i % 64;
	}
	return -EPERM;
}

/* The timer of a loop in this state starts. With the lock held. */
static void set_ticking(struct hytest_loop *loop)
{
	const struct ht_image_header *h = loop->image;

	lockdep_assert_held(&loop->lock);
	loop->due_ns = hytest_first_tick(h->period_ns);
	loop->congestion = 0;
	loop->counted_safe = false;
	memset(&loop->vitals, 0, sizeof(loop->vitals));
	loop->ticking = true;
}

/*
 * An armed loop that is bound ticks. With the CPUs held online. -EBUSY if it may
 * not or a trip came first.
 */
static int start_watching(struct hytest_loop *loop)
{
	unsigned long flags;
	int ret = -EBUSY;

	raw_spin_lock_irqsave(&loop->lock, flags);
	if (hytest_state(loop) == HYTEST_ARMED && !READ_ONCE(hytest_going_down)) {
		set_ticking(loop);
		ret = 0;
	}
	raw_spin_unlock_irqrestore(&loop->lock, flags);
	if (!ret)
		hytest_start_timer(loop);
	return ret;
}

/* What an armed loop is tripped by while nothing ticks: its outputs are safe. */
static void trip_at_rest(struct hytest_loop *loop, const struct ht_trip *trip)
{
	lockdep_assert_held(&loop->lock);
	hytest_status_begin(loop);
	hytest_note_trip(loop, trip, ktime_get_ns());
	hytest_event(loop, HYTEST_EVENT_SAFE, 0, 0, 0);
	hytest_status_end(loop);
}

/* Ends the ticks of an armed loop. A trip that waited for the next is made here. */
static void stop_watching(struct hytest_loop *loop)
{
	unsigned long flags;

	hrtimer_cancel(&loop->timer);
	raw_spin_lock_irqsave(&loop->lock, flags);
	loop->ticking = false;
	if (loop->request.trip && hytest_state(loop) == HYTEST_ARMED)
		trip_at_rest(loop, &loop->request.trip_cause);
	memset(&loop->request, 0, sizeof(loop->request));
	raw_spin_unlock_irqrestore(&loop->lock, flags);
}

/* Back to loaded, unless a trip came first; nothing is bound any more. */
static int stand_down(struct hytest_loop *loop)
{
	int ret;

	stop_watching(loop);
	ret = rest_in(loop, HYTEST_ARMED, HYTEST_LOADED, HYTEST_EVENT_DISARMED);
	hytest_let_go(loop);
	hytest_fpu_begin();
	ht_loop_rest(loop->core);
	hytest_fpu_end();
	return ret;
}

/* Measured, bound and healthy. */
static int become_armed(struct hytest_loop *loop)
{
	int ret = 0;

	hytest_fpu_begin();
	ht_loop_arm(loop->core);
	hytest_fpu_end();
	loop->tick = 0;
	memset(&loop->request, 0, sizeof(loop->request));
	cpus_read_lock();
	if (!cpu_online(loop->cpu))
		ret = -ENODEV;
	if (!ret)
		ret = rest_in(loop, HYTEST_LOADED, HYTEST_ARMED, HYTEST_EVENT_ARMED);
	if (!ret && loop->binding)
		ret = start_watching(loop);
	cpus_read_unlock();
	return ret;
}

int hytest_arm(struct hytest_loop *loop, struct hytest_arm *arm)
{
	int ret;

	if (settled_state(loop) == HYTEST_EMPTY)
		return -ENODATA;
	if (settled_state(loop) != HYTEST_LOADED)
		return -EBUSY;
	if (!arm->dry_ticks || arm->dry_ticks > MAX_DRY_TICKS)
		return -EINVAL;
	if (arm->cpu >= nr_cpu_ids || !cpu_online(arm->cpu))
		return -ENODEV;
	*arm = (struct hytest_arm){
		.cpu = arm->cpu,
		.dry_ticks = arm->dry_ticks,
	};
	loop->has_refused = false;
	hytest_let_go(loop);
	ret = measure(loop, arm);
	if (ret)
		return ret;
	loop->cpu = arm->cpu;
	ret = bind_channels(loop, arm);
	if (!ret)
		ret = check_health(loop, arm);
	if (!ret)
		ret = become_armed(loop);
	if (ret)
		stand_down(loop);
	return ret;
}

int hytest_disarm(struct hytest_loop *loop)
{
	if (settled_state(loop) != HYTEST_ARMED)
		return -EBUSY;
	return stand_down(loop);
}

static void clear_run(struct hytest_loop *loop)
{
	struct hytest_status *status = loop->status;

	lockdep_assert_held(&loop->lock);
	memset(&loop->request, 0, sizeof(loop->request));
	loop->tick = 0;
	loop->head = 0;
	loop->late_in_row = 0;
	loop->batches = 0;
	status->head = 0;
	status->tick = 0;
	status->missed = 0;
	status->overruns = 0;
	status->lost_scans = 0;
	status->failed_writes = 0;
	status->batch = 0;
	status->safe = 1;
	status->write_age = 0;
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
	set_ticking(loop);
	loop->status->start_ns = loop->due_ns;
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

/* Program, interlocks and binding as new. */
static void begin_anew(struct hytest_loop *loop)
{
	forget_records(loop);
	hytest_fpu_begin();
	ht_loop_start(loop->core);
	hytest_fpu_end();
	if (loop->binding)
		hytest_binding_start(loop->binding);
}

static bool is_ready(struct hytest_loop *loop)
{
	bool ready;

	hytest_fpu_begin();
	ready = ht_loop_ready(loop->core);
	hytest_fpu_end();
	return ready;
}

/* With the CPUs held online and nothing ticking. */
static int start_armed(struct hytest_loop *loop)
{
	int ret;

	if (settled_state(loop) != HYTEST_ARMED)
		return -EBUSY;
	if (!cpu_online(loop->cpu))
		return -ENODEV;
	if (is_ready(loop)) {
		begin_anew(loop);
		return start_running(loop);
	}
	ret = loop->binding ? start_watching(loop) : 0;
	return ret ? ret : -EPERM;
}

int hytest_start(struct hytest_loop *loop)
{
	int ret;

	lockdep_assert_held(&loop->mutex);
	if (settled_state(loop) != HYTEST_ARMED)
		return -EBUSY;
	cpus_read_lock();
	stop_watching(loop);
	ret = start_armed(loop);
	cpus_read_unlock();
	/* It must not stay armed without being watched. */
	if (ret && loop->binding && hytest_at_rest(loop))
		stand_down(loop);
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

void hytest_trip_channel(struct hytest_loop *loop, u32 cause, u32 index)
{
	const struct ht_trip trip = {
		.cause = cause,
		.action = HT_ACTION_RAMP,
		.index = index,
	};
	unsigned long flags;

	raw_spin_lock_irqsave(&loop->lock, flags);
	switch (hytest_state(loop)) {
	case HYTEST_TRIPPED:
		/* Held outputs wait for a person. */
		if (!loop->ticking || cause == HT_CAUSE_OWNER || cause == HT_CAUSE_DEVICE)
			break;
		fallthrough;
	case HYTEST_ARMED:
	case HYTEST_RUNNING:
	case HYTEST_STOPPING:
		if (!loop->ticking) {
			trip_at_rest(loop, &trip);
		} else if (!loop->request.trip) {
			loop->request.trip_cause = trip;
			loop->request.trip = true;
		}
		break;
	default:
		break;
	}
	raw_spin_unlock_irqrestore(&loop->lock, flags);
}

void hytest_trip(struct hytest_loop *loop, u32 cause)
{
	hytest_trip_channel(loop, cause, 0);
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
	hytest_let_go(loop);
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
	/* An armed program stands. */
	now = !loop->ticking || hytest_state(loop) == HYTEST_ARMED;
	if (possible && !now) {
		batch->number = ++loop->batches;
		loop->request.batch_number = batch->number;
		loop->request.batch_tick = batch->tick;
		loop->request.batch = true;
	}
	raw_spin_unlock_irqrestore(&loop->lock, flags);
	if (!possible)
		return -EBUSY;
	loop->has_refused = false;
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
		return hytest_refuse(&batch->refusal, &error);
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
	if (loop->has_refused) {
		view = loop->refused[lock->interlock];
	} else {
		hytest_fpu_begin();
		ret = look_between_steps(loop, lock->interlock, &view);
		hytest_fpu_end();
		if (ret)
			return ret;
	}
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
