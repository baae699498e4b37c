// SPDX-License-Identifier: GPL-2.0
/*
 * One tick between inputs and outputs (design, section 3, steps 2 to 4):
 * interlocks on what was measured and on the loop itself, program, interlocks
 * on what would be commanded, output stage. And the three ways in which outputs
 * move: fading in and out with the program, and going to their safe values
 * after a trip.
 */
#include "loop.h"
#include "math.h"

/* An interlock at work. */
struct lock {
	double previous;	/* rate: value of the tick before */
	double value;		/* what it looked at last */
	double sum;		/* rms: of the squares in the window */
	double fresh;		/* rms: the same, summed anew in each round */
	double *squares;	/* rms: the window */
	ht_u32 at;		/* rms: place in the window */
	ht_u32 violated;	/* ticks in a row */
	ht_u32 seen;		/* rate: there is a value before this one */
	ht_u32 early;		/* before the step: looks at inputs or vitals only */
	ht_u32 output[2];	/* sync error: outputs that it compares, or HT_NO_SIGNAL */
};

struct ht_loop {
	struct ht_program *program;
	struct ht_image image;
	struct lock *locks;
	double *applied;	/* outputs as they are to be applied */
	double dt;
	double fade;		/* 0: safe, 1: as the program says */
	enum ht_mode mode;
	ht_u32 safe;
	struct ht_trip trip;
	struct ht_vitals vitals;
};

static ht_u64 aligned(ht_u64 bytes)
{
	return (bytes + 7) & ~7ull;
}

static ht_u64 cut(struct ht_loop *loop, const struct ht_image *image)
{
	const struct ht_image_header *h = image->header;
	ht_u8 *base = (ht_u8 *)loop;
	ht_u64 at = aligned(sizeof(*loop));
	ht_u32 i;

	if (loop)
		loop->locks = (struct lock *)(base + at);
	at += h->n_interlocks * sizeof(struct lock);
	if (loop)
		loop->applied = (double *)(base + at);
	at += h->n_outputs * sizeof(double);
	for (i = 0; i < h->n_interlocks; i++) {
		if (loop)
			loop->locks[i].squares = (double *)(base + at);
		at += image->interlocks[i].window_ticks * sizeof(double);
	}
	if (loop)
		loop->program = (struct ht_program *)(base + at);
	return at;
}

ht_u64 ht_loop_bytes(const void *bytes)
{
	struct ht_image image;

	ht_image_open(&image, bytes);
	return cut(HT_NULL, &image) + ht_program_bytes(bytes);
}

static ht_u32 is_input(const struct ht_image *image, ht_u32 signal)
{
	ht_u32 i;

	for (i = 0; i < image->header->n_inputs; i++)
		if (image->inputs[i].signal == signal)
			return 1;
	return 0;
}

/* The output that carries the signal. */
static ht_u32 output_of(const struct ht_image *image, ht_u32 signal)
{
	ht_u32 i;

	for (i = 0; i < image->header->n_outputs; i++)
		if (image->outputs[i].signal == signal)
			return i;
	return HT_NO_SIGNAL;
}

/* Peak or rms of the difference of two signals. */
static int is_sync_error(const struct ht_image_interlock *l)
{
	return (l->kind == HT_LOCK_DIFFERENCE || l->kind == HT_LOCK_RMS) &&
	       l->other != HT_NO_SIGNAL;
}

/* Whether all is known that the interlock looks at before the program steps. */
static ht_u32 is_early(const struct ht_image *image, const struct ht_image_interlock *l)
{
	if (HT_LOCK_IS_VITAL(l->kind))
		return 1;
	return is_input(image, l->signal) &&
	       (l->other == HT_NO_SIGNAL || is_input(image, l->other));
}

int ht_loop_init(void *memory, const void *bytes, struct ht_error *error)
{
	struct ht_loop *loop = memory;
	ht_u32 i;
	int code;

	ht_image_open(&loop->image, bytes);
	cut(loop, &loop->image);
	loop->dt = (double)loop->image.header->period_ns / 1e9;
	for (i = 0; i < loop->image.header->n_interlocks; i++) {
		const struct ht_image_interlock *l = &loop->image.interlocks[i];

		loop->locks[i].early = is_early(&loop->image, l);
		loop->locks[i].output[0] = output_of(&loop->image, l->signal);
		loop->locks[i].output[1] = output_of(&loop->image, l->other);
	}
	code = ht_program_init(loop->program, bytes, error);
	if (code)
		return code;
	ht_loop_rest(loop);
	return HT_OK;
}

struct ht_program *ht_loop_program(struct ht_loop *loop)
{
	return loop->program;
}

static void reset_lock(struct lock *lock, ht_u32 window)
{
	lock->previous = 0;
	lock->value = 0;
	lock->sum = 0;
	lock->fresh = 0;
	lock->at = 0;
	lock->violated = 0;
	lock->seen = 0;
	ht_fill(lock->squares, 0, window);
}

void ht_loop_rest(struct ht_loop *loop)
{
	const struct ht_image_header *h = loop->image.header;
	ht_u32 i;

	ht_program_reset(loop->program);
	for (i = 0; i < h->n_interlocks; i++)
		reset_lock(&loop->locks[i], loop->image.interlocks[i].window_ticks);
	for (i = 0; i < h->n_outputs; i++)
		loop->applied[i] = loop->image.outputs[i].safe;
	loop->fade = 0;
	loop->safe = 1;
	loop->mode = HT_MODE_IDLE;
	loop->trip = (struct ht_trip){ .cause = HT_CAUSE_NONE };
	loop->vitals = (struct ht_vitals){ .scan_age = 0 };
}

void ht_loop_arm(struct ht_loop *loop)
{
	ht_loop_rest(loop);
	loop->mode = HT_MODE_ARMED;
}

int ht_loop_ready(const struct ht_loop *loop)
{
	ht_u32 i;

	if (loop->mode != HT_MODE_ARMED)
		return 0;
	for (i = 0; i < loop->image.header->n_interlocks; i++)
		if (loop->locks[i].violated)
			return 0;
	return 1;
}

void ht_loop_start(struct ht_loop *loop)
{
	ht_loop_rest(loop);
	loop->mode = HT_MODE_RUNNING;
}

void ht_loop_stop(struct ht_loop *loop)
{
	if (loop->mode == HT_MODE_RUNNING)
		loop->mode = HT_MODE_STOPPING;
}

/* Which action wins if a second cause asks for another: the firmer one. */
static ht_u32 firmness(ht_u32 action)
{
	static const ht_u32 rank[HT_ACTIONS] = {
		[HT_ACTION_HOLD] = 0,
		[HT_ACTION_RAMP] = 1,
		[HT_ACTION_CUT] = 2,
	};

	return rank[action];
}

void ht_loop_trip(struct ht_loop *loop, const struct ht_trip *trip)
{
	if (loop->mode == HT_MODE_TRIPPED) {
		if (firmness(trip->action) > firmness(loop->trip.action))
			loop->trip.action = trip->action;
		return;
	}
	loop->trip = *trip;
	loop->mode = HT_MODE_TRIPPED;
}

void ht_loop_release(struct ht_loop *loop)
{
	if (loop->mode == HT_MODE_TRIPPED && loop->trip.action == HT_ACTION_HOLD)
		loop->trip.action = HT_ACTION_RAMP;
}

enum ht_mode ht_loop_mode(const struct ht_loop *loop)
{
	return loop->mode;
}

int ht_loop_safe(const struct ht_loop *loop)
{
	return loop->safe;
}

const struct ht_trip *ht_loop_first_trip(const struct ht_loop *loop)
{
	return &loop->trip;
}

void ht_loop_inputs(struct ht_loop *loop, const double *inputs)
{
	double *signals = ht_program_signals(loop->program);
	ht_u32 i;

	for (i = 0; i < loop->image.header->n_inputs; i++)
		signals[loop->image.inputs[i].signal] = inputs[i];
}

void ht_loop_vitals(struct ht_loop *loop, const struct ht_vitals *vitals)
{
	loop->vitals = *vitals;
}

/*
 * Root of the mean square over the window. Taking the oldest square away from
 * a running sum lets rounding errors pile up, so each round through the
 * window makes a fresh sum that replaces the running one at its end.
 */
static double window_rms(struct lock *lock, double value, ht_u32 window)
{
	const double square = value * value;

	lock->sum += square - lock->squares[lock->at];
	lock->fresh += square;
	lock->squares[lock->at] = square;
	if (++lock->at == window) {
		lock->at = 0;
		lock->sum = lock->fresh;
		lock->fresh = 0;
	}
	/* Never below zero by rounding; what is not a number stays so. */
	return ht_sqrt((lock->sum < 0 ? 0 : lock->sum) / window);
}

static double signal_or_zero(const double *signals, ht_u32 signal)
{
	return signal == HT_NO_SIGNAL ? 0 : signals[signal];
}

static double seconds(ht_u64 ns)
{
	return (double)ns / 1e9;
}

/* What an interlock on the loop itself looks at. */
static double vital_value(ht_u32 kind, const struct ht_vitals *vitals)
{
	switch (kind) {
	case HT_LOCK_SCAN:
		return vitals->scan_age;
	case HT_LOCK_LOST:
		return vitals->lost_scans;
	case HT_LOCK_WRITE:
		return vitals->write_age;
	case HT_LOCK_STEP:
		return seconds(vitals->step_ns);
	case HT_LOCK_MISSED:
		return vitals->missed;
	default:
		return seconds(vitals->silence_ns);
	}
}

static double fade_step(ht_u32 ticks)
{
	return ticks ? 1.0 / ticks : 1;
}

/* Outputs will not be what the program says on this tick. */
static int is_fading(const struct ht_loop *loop)
{
	if (loop->mode == HT_MODE_RUNNING)
		return loop->fade + fade_step(loop->image.header->soft_start_ticks) < 1;
	return loop->mode == HT_MODE_STOPPING;
}

/*
 * While outputs fade in or out the program is ahead of them: then a motion is
 * compared with what was commanded last, not with what the program would like.
 */
static double commanded(const struct ht_loop *loop, ht_u32 signal, ht_u32 output)
{
	if (output != HT_NO_SIGNAL && is_fading(loop))
		return loop->applied[output];
	return ht_program_signals(loop->program)[signal];
}

/* d of image.h */
static double difference_of(const struct ht_loop *loop, const struct ht_image_interlock *l)
{
	const struct lock *lock = &loop->locks[l - loop->image.interlocks];
	const double *signals = ht_program_signals(loop->program);

	if (is_sync_error(l))
		return commanded(loop, l->signal, lock->output[0]) -
		       commanded(loop, l->other, lock->output[1]);
	return signals[l->signal] - signal_or_zero(signals, l->other);
}

/* What an interlock without memory looks at, whether or not the loop runs. */
static double value_now(const struct ht_loop *loop, const struct ht_image_interlock *l)
{
	if (HT_LOCK_IS_VITAL(l->kind))
		return vital_value(l->kind, &loop->vitals);
	if (l->kind == HT_LOCK_DIFFERENCE)
		return ht_fabs(difference_of(loop, l));
	return difference_of(loop, l);
}

static int has_memory(const struct ht_image_interlock *l)
{
	return l->kind == HT_LOCK_RATE || l->kind == HT_LOCK_RMS;
}

/* What the interlock looks at on this tick. */
static double lock_value(const struct ht_loop *loop, const struct ht_image_interlock *l,
			 struct lock *lock)
{
	double difference, rate;

	if (!has_memory(l))
		return value_now(loop, l);
	difference = difference_of(loop, l);
	if (l->kind == HT_LOCK_RMS)
		return window_rms(lock, difference, l->window_ticks);
	rate = lock->seen ? (difference - lock->previous) / loop->dt : 0;
	lock->previous = difference;
	return ht_fabs(rate);
}

static int has_low_limit_only(const struct ht_image_interlock *l)
{
	return l->kind == HT_LOCK_ENABLE || l->kind == HT_LOCK_ESTOP;
}

/* The limit that the value exceeds, or the one that it is closer to. */
static double nearest_limit(const struct ht_image_interlock *l, double value)
{
	if (has_low_limit_only(l))
		return l->low;
	if (l->kind != HT_LOCK_RANGE)
		return l->high;
	return value - l->low < l->high - value ? l->low : l->high;
}

/* False for NaN too. */
static int within(const struct ht_image_interlock *l, double value)
{
	if (has_low_limit_only(l))
		return value >= l->low;
	if (l->kind != HT_LOCK_RANGE)
		return value <= l->high;
	return value >= l->low && value <= l->high;
}

/* While armed an interlock without a latch is only seen by ht_loop_ready(). */
static int may_trip(const struct ht_loop *loop, const struct ht_image_interlock *l)
{
	return loop->mode != HT_MODE_ARMED || (l->flags & HT_LOCK_LATCH);
}

static void check_locks(struct ht_loop *loop, ht_u32 early)
{
	ht_u32 i;

	for (i = 0; i < loop->image.header->n_interlocks; i++) {
		const struct ht_image_interlock *l = &loop->image.interlocks[i];
		struct lock *lock = &loop->locks[i];

		if (lock->early != early)
			continue;
		lock->value = lock_value(loop, l, lock);
		lock->seen = 1;
		if (within(l, lock->value)) {
			lock->violated = 0;
			continue;
		}
		if (lock->violated < ~0u)
			lock->violated++;
		if (lock->violated <= l->delay_ticks || !may_trip(loop, l))
			continue;
		ht_loop_trip(loop, &(struct ht_trip){
			.cause = HT_CAUSE_INTERLOCK,
			.action = l->action,
			.index = i,
			.value = ht_bits(lock->value),
			.limit = ht_bits(nearest_limit(l, lock->value)),
		});
	}
}

static void trip_if_old(struct ht_loop *loop, ht_u32 age, ht_u32 limit, ht_u32 cause,
			ht_u32 index)
{
	if (age < limit)
		return;
	ht_loop_trip(loop, &(struct ht_trip){
		.cause = cause,
		.action = HT_ACTION_RAMP,
		.index = index,
		.value = ht_bits(age),
		.limit = ht_bits(limit),
	});
}

/*
 * What the header asks for, before any interlock: the values of an old scan mean
 * nothing. Outputs do not move while armed, so nothing depends on their writes.
 */
static void check_channels(struct ht_loop *loop)
{
	const struct ht_image_header *h = loop->image.header;
	const struct ht_vitals *vitals = &loop->vitals;

	trip_if_old(loop, vitals->scan_age, h->scan_ticks, HT_CAUSE_SCAN, vitals->scan_input);
	if (loop->mode != HT_MODE_ARMED)
		trip_if_old(loop, vitals->write_age, h->write_ticks, HT_CAUSE_WRITE,
			    vitals->write_output);
}

static int trip_unless_finite(struct ht_loop *loop, ht_u32 signal)
{
	const double *value = &ht_program_signals(loop->program)[signal];

	if (ht_finite(value))
		return 0;
	ht_loop_trip(loop, &(struct ht_trip){
		.cause = HT_CAUSE_NOT_FINITE,
		.action = HT_ACTION_RAMP,
		.index = signal,
		.value = ht_bits(*value),
	});
	return 1;
}

/* Before the program steps: it would spread to others, and one of them be named. */
static void check_finite_inputs(struct ht_loop *loop)
{
	ht_u32 i;

	for (i = 0; i < loop->image.header->n_inputs; i++)
		if (trip_unless_finite(loop, loop->image.inputs[i].signal))
			return;
}

static void check_finite(struct ht_loop *loop)
{
	ht_u32 i;

	for (i = 0; i < loop->image.header->n_signals; i++)
		if (trip_unless_finite(loop, i))
			return;
}

/* One step of at most this size towards the target. */
static double approach(double from, double to, double step)
{
	if (ht_fabs(to - from) <= step)
		return to;
	return to > from ? from + step : from - step;
}

/* Outputs of a running program: clamp, fade without a jerk, slew. */
static void drive_outputs(struct ht_loop *loop)
{
	const struct ht_image_header *h = loop->image.header;
	const double *signals = ht_program_signals(loop->program);
	double weight;
	ht_u32 i;

	if (loop->mode == HT_MODE_STOPPING)
		loop->fade = ht_max(loop->fade - fade_step(h->soft_stop_ticks), 0);
	else
		loop->fade = ht_min(loop->fade + fade_step(h->soft_start_ticks), 1);
	weight = loop->fade * loop->fade * (3 - 2 * loop->fade);
	loop->safe = loop->mode == HT_MODE_STOPPING && loop->fade <= 0;
	for (i = 0; i < h->n_outputs; i++) {
		const struct ht_image_output *o = &loop->image.outputs[i];
		double target = ht_clamp(signals[o->signal], o->min, o->max);

		/* Exactly the command once faded in, exactly safe once out. */
		if (loop->fade < 1)
			target = ht_clamp(o->safe + weight * (target - o->safe),
					  o->min, o->max);
		if (o->slew > 0)
			target = approach(loop->applied[i], target, o->slew * loop->dt);
		loop->applied[i] = target;
		if (target != o->safe)
			loop->safe = 0;
	}
}

/* Outputs after a trip: by the ramp, at once, or not at all. */
static void secure_outputs(struct ht_loop *loop)
{
	const struct ht_image_header *h = loop->image.header;
	ht_u32 i, safe = 1;

	for (i = 0; i < h->n_outputs; i++) {
		const struct ht_image_output *o = &loop->image.outputs[i];

		if (loop->trip.action == HT_ACTION_CUT)
			loop->applied[i] = o->safe;
		else if (loop->trip.action == HT_ACTION_RAMP)
			loop->applied[i] = approach(loop->applied[i], o->safe,
						    o->ramp * loop->dt);
		if (loop->applied[i] != o->safe)
			safe = 0;
	}
	loop->safe = safe;
}

/* The program steps and the outputs follow it. */
static int is_moving(const struct ht_loop *loop)
{
	return loop->mode == HT_MODE_RUNNING || loop->mode == HT_MODE_STOPPING;
}

/* What is wrong trips. */
static int is_live(const struct ht_loop *loop)
{
	return loop->mode == HT_MODE_ARMED || is_moving(loop);
}

void ht_loop_tick(struct ht_loop *loop, ht_u64 tick, double *record)
{
	const struct ht_image_header *h = loop->image.header;
	const double *signals = ht_program_signals(loop->program);
	ht_u32 i;

	if (is_live(loop))
		check_channels(loop);
	/* After a trip too: what is measured may ask for a firmer action. */
	if (loop->mode != HT_MODE_IDLE)
		check_locks(loop, 1);
	if (is_live(loop))
		check_finite_inputs(loop);
	if (is_moving(loop)) {
		ht_program_step(loop->program, tick);
		check_finite(loop);
		check_locks(loop, 0);
	}
	if (loop->mode == HT_MODE_TRIPPED)
		secure_outputs(loop);
	else if (is_moving(loop))
		drive_outputs(loop);
	for (i = 0; i < h->n_records; i++)
		record[i] = signals[loop->image.records[i]];
	for (i = 0; i < h->n_outputs; i++)
		record[h->n_records + i] = loop->applied[i];
}

void ht_loop_dry_tick(struct ht_loop *loop, ht_u64 tick)
{
	check_channels(loop);
	check_locks(loop, 1);
	check_finite_inputs(loop);
	ht_program_step(loop->program, tick);
	check_finite(loop);
	check_locks(loop, 0);
	drive_outputs(loop);
}

const double *ht_loop_outputs(const struct ht_loop *loop)
{
	return loop->applied;
}

void ht_loop_lock(const struct ht_loop *loop, ht_u32 interlock, struct ht_lock_view *view)
{
	const struct ht_image_interlock *l = &loop->image.interlocks[interlock];
	const struct lock *lock = &loop->locks[interlock];
	const double value = has_memory(l) ? lock->value : value_now(loop, l);

	view->value = ht_bits(value);
	view->limit = ht_bits(nearest_limit(l, value));
	view->violated_ticks = lock->violated;
	view->healthy = within(l, value);
}

ht_u32 ht_loop_check_health(struct ht_loop *loop, const double *inputs,
			    const struct ht_vitals *vitals, struct ht_lock_view *views)
{
	ht_u32 i, unhealthy = 0;

	if (inputs)
		ht_loop_inputs(loop, inputs);
	ht_loop_vitals(loop, vitals);
	ht_loop_dry_tick(loop, 0);
	for (i = 0; i < loop->image.header->n_interlocks; i++) {
		ht_loop_lock(loop, i, &views[i]);
		unhealthy += !views[i].healthy;
	}
	ht_loop_rest(loop);
	return unhealthy;
}

ht_u64 ht_bits_of_count(ht_s64 count)
{
	return ht_bits((double)count);
}

const char *ht_cause_text(ht_u32 cause)
{
	static const char *const text[HT_CAUSES] = {
		[HT_CAUSE_NONE] = "none",
		[HT_CAUSE_INTERLOCK] = "interlock",
		[HT_CAUSE_NOT_FINITE] = "signal not finite",
		[HT_CAUSE_DEADLINE] = "deadline overrun",
		[HT_CAUSE_MISSED] = "missed ticks",
		[HT_CAUSE_HEARTBEAT] = "heartbeat missed",
		[HT_CAUSE_OWNER] = "owner gone",
		[HT_CAUSE_OPERATOR] = "operator",
		[HT_CAUSE_UNLOAD] = "module removal attempted",
		[HT_CAUSE_SCAN] = "no new scan",
		[HT_CAUSE_WRITE] = "outputs not written",
		[HT_CAUSE_DEVICE] = "device gone",
	};

	return cause < HT_CAUSES ? text[cause] : "unknown";
}
