/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of the loop that both backends share: what happens on a tick
 * between the inputs and the outputs. Interlocks, program, output stage and
 * the modes running, stopping, tripped. No clock, no device, no lock.
 */
#ifndef HT_CORE_LOOP_H
#define HT_CORE_LOOP_H

#include "program.h"

enum ht_mode {
	HT_MODE_IDLE,		/* outputs are at their safe values */
	HT_MODE_ARMED,		/* the same, and interlocks watch the inputs */
	HT_MODE_RUNNING,
	HT_MODE_STOPPING,	/* program runs on, outputs fade to safe */
	HT_MODE_TRIPPED		/* program stands, outputs go to safe */
};

/* What ended a run. One table of words for both worlds: ht_cause_text(). */
enum ht_cause {
	HT_CAUSE_NONE,
	HT_CAUSE_INTERLOCK,	/* index: which; value, limit: of it */
	HT_CAUSE_NOT_FINITE,	/* index: signal; value: what it was */
	HT_CAUSE_DEADLINE,	/* value, limit: ns */
	HT_CAUSE_MISSED,	/* value, limit: ticks in a row */
	HT_CAUSE_HEARTBEAT,	/* value, limit: ms since the last */
	HT_CAUSE_OWNER,		/* the controlling file was closed */
	HT_CAUSE_OPERATOR,	/* somebody asked for it */
	HT_CAUSE_UNLOAD,	/* somebody tried to remove the module */
	HT_CAUSE_SCAN,		/* index: input; value, limit: ticks without a scan */
	HT_CAUSE_WRITE,		/* index: output; value, limit: ticks not written */
	HT_CAUSE_DEVICE,	/* gone; index: input, or n_inputs + output */
	HT_CAUSES
};

const char *ht_cause_text(ht_u32 cause);

struct ht_trip {
	ht_u32 cause;		/* enum ht_cause */
	ht_u32 action;		/* enum ht_action; the one in force */
	ht_u32 index;
	ht_u32 reserved;
	ht_u64 value;		/* bits of a double */
	ht_u64 limit;		/* bits of a double */
};

/*
 * How the loop itself is, told by its caller before each tick. An age that reaches
 * scan_ticks or write_ticks of the header trips by the ramp, before any interlock
 * is looked at: the values of an old scan mean nothing. While armed only the scan
 * counts.
 */
struct ht_vitals {
	ht_u32 scan_age;	/* ticks since the newest scan; 0: the last tick's */
	ht_u32 scan_input;	/* whose: the worst */
	ht_u32 write_age;	/* ticks in a row with outputs not written; 0: fine */
	ht_u32 write_output;	/* which: the worst */
	ht_u32 lost_scans;	/* since START */
	ht_u32 missed;		/* ticks missed just before this one */
	ht_u64 step_ns;		/* lateness and execution of the tick before */
	ht_u64 silence_ns;	/* since the owner's heartbeat */
};

struct ht_loop;

ht_u64 ht_loop_bytes(const void *image);

/* FP. As ht_program_init(); outputs are at their safe values. */
int ht_loop_init(void *memory, const void *image, struct ht_error *error);

struct ht_program *ht_loop_program(struct ht_loop *loop);

/*
 * FP. Works like a tick, with nothing coming of it: for measuring how long a
 * tick takes. ht_loop_start() or ht_loop_rest() must follow; until then mode,
 * trip and outputs mean nothing.
 */
void ht_loop_dry_tick(struct ht_loop *loop, ht_u64 tick);
/* FP. Program and interlocks as new, outputs safe, idle. */
void ht_loop_rest(struct ht_loop *loop);

/*
 * FP. Program and interlocks as new, mode armed: from the next tick on what is
 * measured is watched; program and outputs stand.
 */
void ht_loop_arm(struct ht_loop *loop);
/* Armed, and no interlock that watches now is violated. */
int ht_loop_ready(const struct ht_loop *loop);

/*
 * FP. Program and interlocks as new, parameters as they are; mode running
 * from the next tick on.
 */
void ht_loop_start(struct ht_loop *loop);
/*
 * From the next tick on the outputs fade out. Once ht_loop_safe() it is for
 * the caller to call ht_loop_rest().
 */
void ht_loop_stop(struct ht_loop *loop);
/*
 * From the next tick on the outputs go to safe. The first cause stays, but a
 * later one (of locks on measured signals, too) can ask for a firmer action:
 * cut is firmer than ramp, ramp is firmer than hold.
 */
void ht_loop_trip(struct ht_loop *loop, const struct ht_trip *trip);
/* The operator knows: outputs that a trip held go to safe by the ramp. */
void ht_loop_release(struct ht_loop *loop);

enum ht_mode ht_loop_mode(const struct ht_loop *loop);
/* All outputs have their safe values for good: never while running. */
int ht_loop_safe(const struct ht_loop *loop);
const struct ht_trip *ht_loop_first_trip(const struct ht_loop *loop);

/* FP. Writes input signals, n_inputs doubles, before the tick. */
void ht_loop_inputs(struct ht_loop *loop, const double *inputs);
/* For the next tick and until told otherwise. All zero after START. */
void ht_loop_vitals(struct ht_loop *loop, const struct ht_vitals *vitals);

/*
 * FP. One tick. The record gets n_records signals and then n_outputs values
 * that are to be applied.
 */
void ht_loop_tick(struct ht_loop *loop, ht_u64 tick, double *record);

/* Outputs to be applied, n_outputs doubles. */
const double *ht_loop_outputs(const struct ht_loop *loop);

/*
 * What an interlock looked at last: bits of value and of the limit nearest
 * to it. FP. For display and for arming. All but rate and rms, which have a
 * memory, follow signals and vitals also while the loop rests.
 */
struct ht_lock_view {
	ht_u64 value;
	ht_u64 limit;
	ht_u32 violated_ticks;
	ht_u32 healthy;
};

void ht_loop_lock(const struct ht_loop *loop, ht_u32 interlock,
		  struct ht_lock_view *view);

/*
 * FP. How each interlock would be at tick 0 with these inputs (n_inputs
 * doubles; HT_NULL: initial values) and these vitals. Returns the number of
 * those that are not healthy; views gets all n_interlocks. The loop is at rest
 * before and after.
 */
ht_u32 ht_loop_check_health(struct ht_loop *loop, const double *inputs,
			    const struct ht_vitals *vitals, struct ht_lock_view *views);

/* Bits of the double nearest to a count. FP; for the integers of the module. */
ht_u64 ht_bits_of_count(ht_s64 count);

#endif
