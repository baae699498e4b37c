// SPDX-License-Identifier: GPL-2.0
/*
 * The tick: a hard, pinned hrtimer on an absolute grid.
 *
 * Tick k is due at start + k * period, whatever happened before. A tick that
 * comes so late that others were due in the meantime is the latest of them;
 * the others are counted as missed.
 *
 * A loop that is bound to channels ticks while it is armed, too, in order to
 * watch its inputs; such ticks have no number and leave no record. A period
 * before the first tick the timer fires once to ask for the first scan.
 */
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "bind.h"
#include "compat.h"

#define MAX_CONGESTION	64	/* ticks, twice */

/* A dry run gives way so often. */
#define MEASURE_SLICE	(10 * NSEC_PER_MSEC)

/* Inside the guard, with loop->lock held. */
static void ask_trip(struct hytest_loop *loop, u32 cause, s64 value, s64 limit)
{
	struct hytest_request *request = &loop->request;

	if (request->trip)
		return;
	request->trip = true;
	request->trip_cause = (struct ht_trip){
		.cause = cause,
		.action = HT_ACTION_RAMP,
		.value = ht_bits_of_count(value),
		.limit = ht_bits_of_count(limit),
	};
}

static const struct ht_image_header *header_of(const struct hytest_loop *loop)
{
	return loop->image;
}

/* Moves to the newest tick that is due; returns how many were left out. */
static u32 skip_missed(struct hytest_loop *loop, u64 now)
{
	const u64 period = header_of(loop)->period_ns;
	u64 missed;

	if (now < loop->due_ns + period)
		return 0;
	missed = div64_u64(now - loop->due_ns, period);
	if (hytest_state(loop) != HYTEST_ARMED)
		loop->tick += missed;
	loop->due_ns += missed * period;
	return min_t(u64, missed, U32_MAX);
}

/* How the loop is, as far as the tick knows it; the binding adds the rest. */
static void take_pulse(struct hytest_loop *loop, u64 now, u32 missed)
{
	const u64 beat = READ_ONCE(loop->last_heartbeat_ns);

	/* An owner need not call before START. */
	loop->vitals.silence_ns = 0;
	if (hytest_state(loop) != HYTEST_ARMED && now > beat)
		loop->vitals.silence_ns = now - beat;
	loop->vitals.missed = missed;
}

/* What only a run has to answer for. Locked, in the guard. */
static void check_duties(struct hytest_loop *loop)
{
	const struct ht_image_header *h = header_of(loop);
	const u64 silence = loop->vitals.silence_ns;
	const u32 missed = loop->vitals.missed;

	if (missed) {
		loop->status->missed += missed;
		hytest_event(loop, HYTEST_EVENT_MISSED, 0, missed, 0);
	}
	if (hytest_state(loop) == HYTEST_TRIPPED)
		return;
	if (loop->heartbeat_ns && silence > loop->heartbeat_ns)
		ask_trip(loop, HT_CAUSE_HEARTBEAT, silence / NSEC_PER_MSEC, h->heartbeat_ms);
	if (h->missed_ticks && missed >= h->missed_ticks)
		ask_trip(loop, HT_CAUSE_MISSED, missed, h->missed_ticks);
}

/* Before the step: what the world outside asks for. Locked, in the guard. */
static void take_requests(struct hytest_loop *loop)
{
	struct hytest_request *request = &loop->request;

	if (request->batch && loop->tick >= request->batch_tick) {
		request->batch = false;
		ht_program_commit(ht_loop_program(loop->core));
		loop->status->batch = request->batch_number;
		hytest_event(loop, HYTEST_EVENT_BATCH, request->batch_number, 0, 0);
	}
	if (request->stop) {
		request->stop = false;
		ht_loop_stop(loop->core);
	}
	if (request->release) {
		request->release = false;
		ht_loop_release(loop->core);
		/* Acknowledged and safe: no need for more records. */
		if (hytest_state(loop) == HYTEST_TRIPPED && loop->status->safe)
			loop->post_trip = 0;
	}
	if (request->trip) {
		request->trip = false;
		ht_loop_trip(loop->core, &request->trip_cause);
	}
}

static void note_trip(struct hytest_loop *loop, enum hytest_state before)
{
	hytest_note_trip(loop, ht_loop_first_trip(loop->core), loop->due_ns);
	loop->request.batch = false;
	/* Nothing has moved before START: there is nothing to record. */
	loop->post_trip = before == HYTEST_ARMED ? 0 : header_of(loop)->post_trip_ticks;
}

/*
 * After the step: the state that the core has come to. Locked, in the guard.
 * Returns whether this was the last tick.
 */
static bool follow_core(struct hytest_loop *loop)
{
	const enum hytest_state before = hytest_state(loop);

	/* Once safe and written it stays so, also if the device goes then. */
	if (!loop->status->safe || loop->status->write_age)
		loop->status->write_age = loop->vitals.write_age;
	loop->status->safe = ht_loop_safe(loop->core);
	switch (ht_loop_mode(loop->core)) {
	case HT_MODE_STOPPING:
		if (before == HYTEST_RUNNING) {
			hytest_set_state(loop, HYTEST_STOPPING);
			hytest_event(loop, HYTEST_EVENT_STOPPING, 0, 0, 0);
		}
		if (!loop->status->safe)
			return false;
		loop->request.batch = false;
		hytest_set_state(loop, HYTEST_LOADED);
		hytest_event(loop, HYTEST_EVENT_STOPPED, 0, 0, 0);
		return true;
	case HT_MODE_TRIPPED:
		if (before != HYTEST_TRIPPED)
			note_trip(loop, before);
		if (!loop->status->safe)
			return false;
		if (!loop->counted_safe) {
			loop->counted_safe = true;
			hytest_event(loop, HYTEST_EVENT_SAFE, 0, 0, 0);
		}
		return !loop->post_trip--;
	default:
		return false;
	}
}

/*
 * Whatever the program allows itself: ticks that leave no time to anybody else
 * would take the CPU away for good.
 */
static void check_congestion(struct hytest_loop *loop, u64 spent)
{
	const u64 period = header_of(loop)->period_ns;

	if (spent >= period)
		loop->congestion += 2;
	else if (loop->congestion)
		loop->congestion--;
	if (loop->congestion >= MAX_CONGESTION && hytest_state(loop) != HYTEST_TRIPPED)
		ask_trip(loop, HT_CAUSE_DEADLINE, spent, period);
}

/* Lateness and execution together must end before the deadline. */
static void check_deadline(struct hytest_loop *loop, u64 lateness, u64 step)
{
	const struct ht_image_header *h = header_of(loop);

	if (lateness + step <= h->deadline_ns) {
		loop->late_in_row = 0;
		return;
	}
	loop->status->overruns++;
	if (!loop->late_in_row++)
		hytest_event(loop, HYTEST_EVENT_OVERRUN, 0, lateness + step, h->deadline_ns);
	if (loop->late_in_row >= h->deadline_ticks && hytest_state(loop) != HYTEST_TRIPPED)
		ask_trip(loop, HT_CAUSE_DEADLINE, lateness + step, h->deadline_ns);
}

/*
 * From the inputs to the outputs: others can see that it is at work. Before
 * START the record is only made room for.
 */
static void step_core(struct hytest_loop *loop, struct hytest_record *record)
{
	WRITE_ONCE(record->sequence, 0);
	WRITE_ONCE(loop->step_sequence, loop->step_sequence + 1);
	smp_wmb();	/* both before anything changes */
	if (loop->binding)
		hytest_take_inputs(loop->binding, loop->core, &loop->vitals);
	ht_loop_vitals(loop->core, &loop->vitals);
	ht_loop_tick(loop->core, loop->tick, (double *)record->value);
	if (loop->binding)
		hytest_leave_outputs(loop->binding, loop->core);
	smp_wmb();	/* all changes before it is even again */
	WRITE_ONCE(loop->step_sequence, loop->step_sequence + 1);
}

static void write_record(struct hytest_loop *loop, struct hytest_record *record, u64 lateness,
			 u64 step)
{
	record->tick = loop->tick;
	record->time_ns = loop->due_ns;
	record->lateness_ns = min_t(u64, lateness, U32_MAX);
	record->step_ns = min_t(u64, step, U32_MAX);
	record->batch = loop->status->batch;
	record->missed = loop->vitals.missed;
	record->scan_age = loop->vitals.scan_age;
	record->write_age = loop->vitals.write_age;
	record->state = hytest_state(loop);
	/* The tick that ends a soft stop still belongs to it. */
	if (record->state == HYTEST_LOADED)
		record->state = HYTEST_STOPPING;
	record->cause = ht_loop_first_trip(loop->core)->cause;
	/* A reader that sees the number sees the record. */
	smp_store_release(&record->sequence, ++loop->head);
}

/* A tick of a run: what is kept of it. Locked, in the guard. */
static void keep_tick(struct hytest_loop *loop, struct hytest_record *record, u64 lateness,
		      u64 step)
{
	struct hytest_status *status = loop->status;

	write_record(loop, record, lateness, step);
	hytest_histogram_add(&status->lateness, lateness);
	hytest_histogram_add(&status->step, step);
	check_deadline(loop, lateness, step);
	loop->tick++;
	status->tick = loop->tick;
	status->head = loop->head;
	status->lost_scans = loop->vitals.lost_scans;
	if (loop->vitals.write_age)
		status->failed_writes++;
}

/* Inside the guard. Returns whether this was the last tick. */
static bool tick_in_guard(struct hytest_loop *loop, u64 now)
{
	struct hytest_record *record = hytest_ring_slot(loop->ring, loop->head);
	const bool armed = hytest_state(loop) == HYTEST_ARMED;
	u64 lateness, step;
	bool last;

	raw_spin_lock(&loop->lock);
	hytest_status_begin(loop);
	take_pulse(loop, now, skip_missed(loop, now));
	if (!armed)
		check_duties(loop);
	take_requests(loop);
	hytest_status_end(loop);
	raw_spin_unlock(&loop->lock);

	step_core(loop, record);

	raw_spin_lock(&loop->lock);
	hytest_status_begin(loop);
	lateness = now > loop->due_ns ? now - loop->due_ns : 0;
	step = ktime_get_ns() - now;
	last = follow_core(loop);
	check_congestion(loop, lateness + step);
	if (!armed)
		keep_tick(loop, record, lateness, step);
	loop->vitals.step_ns = lateness + step;
	loop->due_ns += header_of(loop)->period_ns;
	if (last)
		loop->ticking = false;
	hytest_status_end(loop);
	raw_spin_unlock(&loop->lock);
	return last;
}

/* Whoever unbinds after the last tick waits for the timer first. */
enum hrtimer_restart hytest_tick(struct hrtimer *timer)
{
	struct hytest_loop *loop = container_of(timer, struct hytest_loop, timer);
	struct hytest_binding *binding = loop->binding;
	u64 now = ktime_get_ns();
	bool last = false;

	if (loop->before_first) {
		loop->before_first = false;
	} else {
		hytest_fpu_enter(loop->fpu);
		last = tick_in_guard(loop, now);
		hytest_fpu_leave(loop->fpu);
	}
	if (binding)
		hytest_fire(binding);
	if (last) {
		irq_work_queue(&loop->wake);
		return HRTIMER_NORESTART;
	}
	hrtimer_set_expires(timer, ns_to_ktime(loop->due_ns));
	return HRTIMER_RESTART;
}

/* Time of a program, tick by tick, on the CPU that will run it. */
struct measurement {
	struct hytest_loop *loop;
	u32 done;
	u32 ticks;
	u32 budget_ns;
	u64 worst_ns;
};

static u64 measure_tick(struct hytest_loop *loop, u32 tick)
{
	unsigned long flags;
	u64 begin, took;

	local_irq_save(flags);
	begin = ktime_get_ns();
	hytest_fpu_enter(loop->fpu);
	ht_loop_dry_tick(loop->core, tick);
	hytest_fpu_leave(loop->fpu);
	took = ktime_get_ns() - begin;
	local_irq_restore(flags);
	return took;
}

static long measure_here(void *argument)
{
	struct measurement *m = argument;
	const u64 end = ktime_get_ns() + MEASURE_SLICE;
	u64 took;

	while (m->done < m->ticks && ktime_get_ns() < end) {
		took = measure_tick(m->loop, m->done++);
		m->worst_ns = max(m->worst_ns, took);
		/* Clearly too slow: no need to keep the machine busy. */
		if (took > 4ULL * m->budget_ns)
			m->done = m->ticks;
	}
	return 0;
}

int hytest_measure(struct hytest_loop *loop, unsigned int cpu, u32 ticks, u32 budget_ns,
		   u32 *worst_ns)
{
	struct measurement m = {
		.loop = loop,
		.ticks = ticks,
		.budget_ns = budget_ns,
	};
	int ret = 0;

	while (!ret && m.done < m.ticks) {
		ret = work_on_cpu_safe(cpu, measure_here, &m);
		if (!ret && signal_pending(current))
			ret = -EINTR;
	}
	*worst_ns = min_t(u64, m.worst_ns, U32_MAX);
	hytest_fpu_begin();
	ht_loop_rest(loop->core);
	hytest_fpu_end();
	return ret;
}

static void start_here(void *argument)
{
	struct hytest_loop *loop = argument;
	u64 begin = loop->due_ns;

	if (loop->before_first)
		begin -= header_of(loop)->period_ns;
	hrtimer_start(&loop->timer, ns_to_ktime(begin), HRTIMER_MODE_ABS_PINNED_HARD);
}

/* When a loop that starts now has its first tick. */
u64 hytest_first_tick(u64 period_ns)
{
	const u64 ahead = max_t(u64, period_ns, 2 * NSEC_PER_MSEC);

	return (div64_u64(ktime_get_ns() + ahead, period_ns) + 1) * period_ns;
}

/* With the CPUs held online and that of the loop among them: cannot fail. */
void hytest_start_timer(struct hytest_loop *loop)
{
	loop->before_first = loop->binding;
	smp_call_function_single(loop->cpu, start_here, loop, 1);
}
