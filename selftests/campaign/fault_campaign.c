// SPDX-License-Identifier: GPL-2.0
/*
 * The fault campaign: every fault of a rig, of its converters, of the device and
 * of the machine against every interlock and protection that should see it.
 *
 * In each case the bench of campaign.cfg moves, one fault is injected, and the loop
 * must trip: within the number of ticks that is stated, for the right first cause,
 * with the outputs safe in the way the action says, the black box complete and no
 * complaint of the kernel. Ticks count from the first one after the injection began;
 * what is sampled at that tick is seen at the next, so that 1 is the soonest.
 *
 * More cases have the fault before the loop runs: arming is refused, an armed loop
 * trips, or does not start. The last ones have the campaign itself under test: it
 * must notice that there was no trip, a wrong cause, a late trip.
 *
 * Usage: fault_campaign [CAMPAIGN.CFG]	(in the virtual machine, time is exact there)
 *
 * KTAP, and a table in comment lines.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "box.h"
#include "core/loop.h"
#include "loop.h"
#include "words.h"

#define DEFAULT_FILE	"/campaign.cfg"
#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

/* Injected after this tick: the command passes zero downwards, or is at its least. */
#define AT_ZERO		100
#define AT_PEAK		150
#define HOLD_TICKS	30
#define PATIENCE	60	/* ticks more than allowed */

struct fault_case {
	const char *name;
	const char *fault;
	uint64_t at;			/* 0: AT_ZERO */
	const char *lock;		/* the interlock that shall see it, or NULL: */
	uint32_t cause;			/* enum ht_cause of a built-in protection */
	uint32_t index;			/* channel of that */
	unsigned int allowed;		/* ticks */
	const char *why;		/* so many */
	uint32_t action;		/* enum ht_action */
	bool deaf;			/* nothing reaches the converters */
	const char *set[MAX_SETTINGS];
};

struct outcome {
	bool tripped;
	bool safe;
	uint64_t took;
	uint64_t n_records;
	char cause[160];
};

#define STROKE	"interlocks.stroke.high=0.015", "interlocks.stroke.low=-0.015"
#define FORCE	"interlocks.force.high=1500", "interlocks.force.low=-1500"
#define SPEED	"interlocks.speed.high=0.5"
#define SYNC	"interlocks.sync.high=0.005"
#define RMS	"interlocks.sync-rms.high=0.004"
#define SPRING	"interlocks.spring.high=100"
#define GUARD	"interlocks.guard.low=0.5"
#define STOP	"interlocks.stop.low=0.5"
#define POLLED	"inputs.y_a.poll=true", "inputs.F.poll=true", "inputs.pressure.poll=true", \
		"inputs.door.poll=true", "inputs.button.poll=true"

static const struct fault_case cases[] = {
	/* Sensor of the position */
	{ "stuck_position_sync", "stuck position", .lock = "sync",
	  .allowed = 14, .why = "0.31 mm a tick, from 1.26 to 5 mm", .set = { SYNC } },
	{ "stuck_position_rms", "stuck position", .lock = "sync-rms",
	  .allowed = 28, .why = "rms over 50 ticks reaches 4 mm", .set = { RMS } },
	{ "stuck_position_hold", "stuck position", .lock = "sync", .action = HT_ACTION_HOLD,
	  .allowed = 14, .why = "as with the ramp",
	  .set = { SYNC, "interlocks.sync.action=hold" } },
	{ "stuck_position_spring", "stuck position", .lock = "spring",
	  .allowed = 5, .why = "31 N a tick, limit 100 N", .set = { SPRING } },
	{ "dropout_position_sync", "dropout position", .at = AT_PEAK, .lock = "sync",
	  .allowed = 1, .why = "10 mm at once", .set = { SYNC } },
	{ "dropout_position_speed", "dropout position", .at = AT_PEAK, .lock = "speed",
	  .allowed = 1, .why = "10 mm at once", .set = { SPEED } },
	{ "dropout_position_rms", "dropout position", .at = AT_PEAK, .lock = "sync-rms",
	  .allowed = 8, .why = "10 mm for 8 of 50 ticks is 4 mm rms", .set = { RMS } },
	{ "dropout_position_spring", "dropout position", .at = AT_PEAK, .lock = "spring",
	  .allowed = 1, .why = "1 kN at once", .set = { SPRING } },
	{ "spike_position_stroke", "spike position 8.5", .lock = "stroke",
	  .allowed = 1, .why = "17 mm at once", .set = { STROKE } },
	{ "spike_position_speed", "spike position 1", .lock = "speed",
	  .allowed = 1, .why = "2 mm within a tick", .set = { SPEED } },
	{ "spike_position_sync", "spike position 4", .lock = "sync",
	  .action = HT_ACTION_CUT, .allowed = 1, .why = "8 mm at once",
	  .set = { SYNC, "interlocks.sync.action=cut" } },
	{ "spike_position_spring", "spike position 1", .lock = "spring",
	  .allowed = 1, .why = "200 N at once", .set = { SPRING } },
	{ "spike_position_all", "spike position 4", .lock = "speed",
	  .allowed = 1, .why = "of all that see it the first is named",
	  .set = { STROKE, SPEED, SYNC, RMS, SPRING } },
	{ "drift_position_stroke", "drift position -200", .lock = "stroke",
	  .allowed = 24, .why = "0.4 + 0.31 mm a tick, limit 15 mm", .set = { STROKE } },
	{ "drift_position_sync", "drift position 200", .lock = "sync",
	  .allowed = 11, .why = "0.4 mm a tick, from 1.26 to 5 mm", .set = { SYNC } },
	{ "drift_position_rms", "drift position 200", .lock = "sync-rms",
	  .allowed = 23, .why = "rms over 50 ticks reaches 4 mm", .set = { RMS } },
	{ "drift_position_speed", "drift position -200", .lock = "speed",
	  .allowed = 2, .why = "0.4 + 0.31 m/s from one sample to the next", .set = { SPEED } },
	{ "drift_position_spring", "drift position 200", .lock = "spring",
	  .allowed = 4, .why = "40 N a tick, limit 100 N", .set = { SPRING } },
	{ "sign_position_sync", "sign position", .at = AT_PEAK, .lock = "sync",
	  .allowed = 1, .why = "20 mm at once", .set = { SYNC } },
	{ "sign_position_rms", "sign position", .at = AT_PEAK, .lock = "sync-rms",
	  .allowed = 2, .why = "20 mm for 2 of 50 ticks is 4 mm rms", .set = { RMS } },
	{ "sign_position_speed", "sign position", .at = AT_PEAK, .lock = "speed",
	  .allowed = 1, .why = "20 mm at once", .set = { SPEED } },
	{ "sign_position_spring", "sign position", .at = AT_PEAK, .lock = "spring",
	  .allowed = 1, .why = "2 kN at once", .set = { SPRING } },
	/* Sensor of the force */
	{ "stuck_force_spring", "stuck force", .lock = "spring",
	  .allowed = 5, .why = "31 N a tick, limit 100 N", .set = { SPRING } },
	{ "dropout_force_spring", "dropout force", .at = AT_PEAK, .lock = "spring",
	  .allowed = 1, .why = "1 kN at once", .set = { SPRING } },
	{ "spike_force", "spike force -9", .lock = "force",
	  .allowed = 1, .why = "1.8 kN at once", .set = { FORCE } },
	{ "spike_force_cut", "spike force 9", .lock = "force", .action = HT_ACTION_CUT,
	  .allowed = 1, .why = "1.8 kN at once",
	  .set = { FORCE, "interlocks.force.action=cut" } },
	{ "spike_force_spring", "spike force 1", .lock = "spring",
	  .allowed = 1, .why = "200 N at once", .set = { SPRING } },
	{ "drift_force", "drift force -200", .lock = "force",
	  .allowed = 24, .why = "40 + 31 N a tick, limit 1.5 kN", .set = { FORCE } },
	{ "drift_force_spring", "drift force 200", .lock = "spring",
	  .allowed = 4, .why = "40 N a tick, limit 100 N", .set = { SPRING } },
	{ "sign_force_spring", "sign force", .at = AT_PEAK, .lock = "spring",
	  .allowed = 1, .why = "2 kN at once", .set = { SPRING } },
	/* Lines of the guard and the stop button */
	{ "dropout_guard", "dropout guard", .lock = "guard",
	  .allowed = 1, .why = "low at once", .set = { GUARD } },
	{ "dropout_guard_hold", "dropout guard", .lock = "guard", .action = HT_ACTION_HOLD,
	  .allowed = 1, .why = "low at once",
	  .set = { GUARD, "interlocks.guard.action=hold" } },
	{ "dropout_guard_delay", "dropout guard", .lock = "guard",
	  .allowed = 6, .why = "low for more than 5 ticks",
	  .set = { GUARD, "interlocks.guard.delay=5" } },
	{ "drift_guard", "drift guard -500", .lock = "guard",
	  .allowed = 6, .why = "0.5 V a tick, from 5 to 2.5 V", .set = { GUARD } },
	{ "spike_guard", "spike guard -8", .lock = "guard",
	  .allowed = 1, .why = "low for one sample", .set = { GUARD } },
	{ "sign_guard", "sign guard", .lock = "guard",
	  .allowed = 1, .why = "negative at once", .set = { GUARD } },
	{ "dropout_button", "dropout button", .lock = "stop", .action = HT_ACTION_CUT,
	  .allowed = 1, .why = "low at once", .set = { STOP } },
	{ "spike_button", "spike button -8", .lock = "stop", .action = HT_ACTION_CUT,
	  .allowed = 1, .why = "low for one sample", .set = { STOP } },
	{ "sign_button", "sign button", .lock = "stop", .action = HT_ACTION_CUT,
	  .allowed = 1, .why = "negative at once", .set = { STOP } },
	{ "drift_button", "drift button -500", .lock = "stop", .action = HT_ACTION_CUT,
	  .allowed = 6, .why = "0.5 V a tick, from 5 to 2.5 V", .set = { STOP } },
	/* Scans */
	{ "late_stale", "late 1500", .lock = "stale",
	  .allowed = 1, .why = "not there at the next tick", .set = { "interlocks.stale.high=0" } },
	{ "late_lost", "late 1500", .lock = "lost",
	  .allowed = 4, .why = "the fourth tick without a new one",
	  .set = { "interlocks.lost.high=3" } },
	{ "late_builtin", "late 2500", .cause = HT_CAUSE_SCAN,
	  .allowed = 2, .why = "scan_ticks", .set = { "loop.scan_ticks=2" } },
	{ "lost_stale", "lost 1", .lock = "stale",
	  .allowed = 1, .why = "one is enough", .set = { "interlocks.stale.high=0" } },
	{ "lost_stale_delay", "lost -1", .lock = "stale",
	  .allowed = 4, .why = "older than 0 for more than 3 ticks",
	  .set = { "interlocks.stale.high=0", "interlocks.stale.delay=3" } },
	{ "lost_lost", "lost 4", .lock = "lost",
	  .allowed = 4, .why = "the fourth", .set = { "interlocks.lost.high=3" } },
	{ "lost_builtin", "lost -1", .cause = HT_CAUSE_SCAN,
	  .allowed = 2, .why = "scan_ticks", .set = { "loop.scan_ticks=2" } },
	/* Errors of the bus */
	{ "read_error_stale", "read-error 1", .lock = "stale",
	  .allowed = 1, .why = "one is enough", .set = { "interlocks.stale.high=0" } },
	{ "read_error_lost", "read-error 4", .lock = "lost",
	  .allowed = 4, .why = "the fourth", .set = { "interlocks.lost.high=3" } },
	{ "read_error_builtin", "read-error -1", .cause = HT_CAUSE_SCAN,
	  .allowed = 2, .why = "scan_ticks", .set = { "loop.scan_ticks=2" } },
	{ "read_error_polled_stale", "read-error 1", .lock = "stale",
	  .allowed = 1, .why = "one of five reads is enough",
	  .set = { "interlocks.stale.high=0", POLLED } },
	{ "read_error_polled", "read-error -1", .cause = HT_CAUSE_SCAN,
	  .allowed = 2, .why = "scan_ticks, all inputs read one by one",
	  .set = { "loop.scan_ticks=2", POLLED } },
	{ "write_error_write", "write-error 6", .lock = "unwritten",
	  .allowed = 3, .why = "for more than 2 ticks", .set = { "interlocks.unwritten.high=2" } },
	{ "write_error_builtin", "write-error -1", .cause = HT_CAUSE_WRITE, .deaf = true,
	  .allowed = 2, .why = "write_ticks", .set = { "loop.write_ticks=2" } },
	/* Actuator */
	{ "saturation_sync", "saturation position-command 1", .lock = "sync",
	  .allowed = 25, .why = "stays at 2 mm, command at 7 mm after 24 ticks", .set = { SYNC } },
	{ "saturation_rms", "saturation position-command 1", .lock = "sync-rms",
	  .allowed = 40, .why = "rms over 50 ticks reaches 4 mm", .set = { RMS } },
	{ "runaway_stroke", "runaway position-command -200", .lock = "stroke",
	  .allowed = 41, .why = "0.4 mm a tick, limit 15 mm, 3 ticks", .set = { STROKE } },
	{ "runaway_speed", "runaway position-command -300", .lock = "speed",
	  .allowed = 4, .why = "0.6 m/s, 2 ms until it moves", .set = { SPEED } },
	{ "runaway_sync", "runaway position-command 200", .lock = "sync",
	  .allowed = 9, .why = "0.4 + 0.31 mm a tick, from 1.26 to 5 mm", .set = { SYNC } },
	{ "runaway_rms", "runaway position-command 200", .lock = "sync-rms",
	  .allowed = 19, .why = "rms over 50 ticks reaches 4 mm", .set = { RMS } },
	{ "runaway_force", "runaway position-command -200", .lock = "force",
	  .allowed = 41, .why = "40 N a tick, limit 1.5 kN", .set = { FORCE } },
	{ "runaway_supply", "runaway supply-command 100", .lock = "pressure",
	  .allowed = 22, .why = "0.1 V a tick, from 5 to 7 V",
	  .set = { "interlocks.pressure.high=7" } },
	/* Device */
	{ "unbind", "unbind", .cause = HT_CAUSE_DEVICE,
	  .allowed = 1, .why = "the next tick" },
	{ "unbind_stale", "unbind", .cause = HT_CAUSE_DEVICE,
	  .allowed = 1, .why = "before its scans are missed",
	  .set = { "interlocks.stale.high=0", "interlocks.unwritten.high=0",
		   "loop.scan_ticks=1", "loop.write_ticks=1" } },
	/* The machine and the owner */
	{ "overload_step", "overload 250", .lock = "step",
	  .allowed = 22, .why = "its first tick comes after 10 to 20",
	  .set = { "interlocks.step.high=0.0002" } },
	{ "overload_deadline", "overload 250", .cause = HT_CAUSE_DEADLINE,
	  .allowed = 22, .why = "its first tick comes after 10 to 20",
	  .set = { "loop.deadline=0.2", "loop.deadline_ticks=1" } },
	{ "overload_missed", "overload 500", .lock = "missed",
	  .allowed = 22, .why = "its first tick comes after 10 to 20",
	  .set = { "interlocks.missed.high=0" } },
	{ "overload_missed_builtin", "overload 500", .cause = HT_CAUSE_MISSED,
	  .allowed = 22, .why = "its first tick comes after 10 to 20",
	  .set = { "loop.missed_ticks=1" } },
	{ "silence_heart", "silence", .lock = "heart",
	  .allowed = 51, .why = "50 ms after the last heartbeat",
	  .set = { "interlocks.heart.high=0.05" } },
	{ "silence_builtin", "silence", .cause = HT_CAUSE_HEARTBEAT,
	  .allowed = 51, .why = "50 ms after the last heartbeat",
	  .set = { "loop.heartbeat=0.05" } },
};

/* Up to the fault; *tick: the first one after it. */
static int move_and_inject(struct bench *bench, const struct fault_case *c, uint64_t *tick)
{
	if (bench_load(bench, c->set) || bench_prepare(bench, c->fault) || bench_start(bench) ||
	    bench_sleep(bench, c->at ? c->at : AT_ZERO))
		return -1;
	if (bench->status.state != HYTEST_RUNNING)
		return bench_fail(bench, "%s before the fault",
				  hytest_state_text(bench->status.state));
	*tick = bench->status.tick;
	return bench_inject(bench, c->fault);
}

/* The first cause, and when. */
static int check_trip(struct bench *bench, const struct fault_case *c, struct outcome *o)
{
	const struct hytest_trip *trip = &bench->status.trip;
	const uint32_t cause = c->lock ? HT_CAUSE_INTERLOCK : c->cause;
	const uint32_t index = c->lock ? (uint32_t)bench_lock(bench, c->lock) : c->index;

	if (trip->cause != cause || trip->index != index)
		return bench_fail(bench, "wrong cause: %s", o->cause);
	if (o->took > c->allowed)
		return bench_fail(bench, "late: %" PRIu64 " ticks", o->took);
	return 0;
}

/* From the trip until nothing moves; outputs that are held wait for a person. */
static int come_to_rest(struct bench *bench, const struct fault_case *c, struct box_wanted *wanted)
{
	wanted->action = c->action;
	if (c->action == HT_ACTION_HOLD) {
		if (bench_sleep(bench, bench->status.trip.tick + HOLD_TICKS))
			return -1;
		if (bench->status.safe)
			return bench_fail(bench, "the outputs were not held");
		wanted->released = bench->status.tick;
		if (hytest_acknowledge(bench->loop) != -EBUSY)
			return bench_fail(bench, "acknowledged before the outputs are safe");
	}
	return bench_wait_rest(bench);
}

/* What the loop says, and what the converters have. */
static int check_safe(struct bench *bench, const struct fault_case *c, struct outcome *o)
{
	long code, safe_code;
	uint32_t i;

	if (bench->status.state != HYTEST_TRIPPED || !bench->status.safe)
		return bench_fail(bench, "not safe");
	if (!bench->status.write_age == c->deaf)
		return bench_fail(bench, "written or not: %u ticks", bench->status.write_age);
	/* The fault may be in the way of looking. */
	if (bench_clear(bench))
		return -1;
	for (i = 0; !c->deaf && i < bench->parts.header->n_outputs; i++) {
		if (bench_output_code(bench, i, &code, &safe_code))
			return -1;
		if (code != safe_code)
			return bench_fail(bench, "the converter of output %u has code %ld instead of %ld",
					  i, code, safe_code);
	}
	o->safe = true;
	return 0;
}

static int observe(struct bench *bench, const struct fault_case *c, struct outcome *o)
{
	struct box_wanted wanted = { 0 };
	uint64_t tick = 0;

	if (move_and_inject(bench, c, &tick) ||
	    bench_wait_trip(bench, tick + c->allowed + PATIENCE))
		return -1;
	o->tripped = true;
	o->took = bench->status.trip.tick - tick;
	hytest_trip_text(bench->image, &bench->status.trip, o->cause, sizeof(o->cause));
	if (check_trip(bench, c, o) || come_to_rest(bench, c, &wanted) ||
	    check_safe(bench, c, o))
		return -1;
	return box_check(bench, &wanted, &o->n_records);
}

/* The end of every case. 0, or -1 with its first problem in the bench. */
static int end_case(struct bench *bench, int result)
{
	char problem[sizeof(bench->problem)];
	int end;

	memcpy(problem, bench->problem, sizeof(problem));
	end = bench_unload(bench);
	if (!end)
		end = bench_check_kernel(bench);
	if (result)
		memcpy(bench->problem, problem, sizeof(problem));
	return result ? result : end;
}

static int run_case(struct bench *bench, const struct fault_case *c, struct outcome *o)
{
	memset(o, 0, sizeof(*o));
	bench->problem[0] = '\0';
	return end_case(bench, observe(bench, c, o));
}

static unsigned int number, failed;

static void report(const char *name, int result, const char *problem)
{
	if (result)
		printf("# %s: %s\n", name, problem);
	printf("%s %u fault_campaign.%s\n", result ? "not ok" : "ok", ++number, name);
	fflush(stdout);
	failed += result != 0;
}

static const char row_format[] = "# %-24s %-30s %-9s %7s %4s  %-6s %-4s %7s %-7s %s; %s\n";

static void print_heading(void)
{
	printf(row_format, "case", "fault", "seen by", "allowed", "took", "action", "safe", "records",
	       "verdict", "cause", "why so many ticks");
}

static void print_row(const struct fault_case *c, const struct outcome *o, int result)
{
	char allowed[16], took[24], records[24];

	snprintf(allowed, sizeof(allowed), "%u", c->allowed);
	snprintf(took, sizeof(took), o->tripped ? "%" PRIu64 : "-", o->took);
	snprintf(records, sizeof(records), "%" PRIu64, o->n_records);
	printf(row_format, c->name, c->fault, c->lock ? c->lock : "built-in", allowed, took,
	       hytest_action_text(c->action), o->safe ? "yes" : "no", records,
	       result ? "FAILED" : "ok", o->cause, c->why);
}

static void run_cases(struct bench *bench)
{
	struct outcome outcome;
	size_t i;
	int result;

	print_heading();
	for (i = 0; i < COUNT(cases); i++) {
		result = run_case(bench, &cases[i], &outcome);
		print_row(&cases[i], &outcome, result);
		report(cases[i].name, result, bench->problem);
	}
}

/* Arming */

struct refusal_case {
	const char *name;
	const char *fault;
	const char *locks[4];		/* all that are not healthy */
};

static const struct refusal_case refusals[] = {
	{ "arming_guard_open", "dropout guard", { "guard" } },
	{ "arming_force_out_of_range", "drift force 2000", { "force" } },
	{ "arming_stuck_out_of_range", "stuck position", { "stroke" } },
	{ "arming_all_are_listed", "dropout guard\ndropout button\ndrift force -2000",
	  { "force", "guard", "stop" } },
};

static const char *const arming_settings[] = { STROKE, FORCE, GUARD, STOP, NULL };

/* Where the actuator is while the fault comes: at 18 mm. Then back to zero. */
static int displace_and_inject(struct bench *bench, const char *fault)
{
	if (bench_write_output(bench, 0, 29491))
		return -1;
	sleep_ms(20);
	if (bench_inject(bench, fault) || bench_write_output(bench, 0, 0))
		return -1;
	sleep_ms(20);
	return 0;
}

/* Exactly these, in the mask and in words. */
static int check_unhealthy(struct bench *bench, const struct refusal_case *c,
			   const struct hytest_arm *arm)
{
	uint64_t wanted = 0;
	size_t i;

	for (i = 0; i < COUNT(c->locks) && c->locks[i]; i++) {
		wanted |= 1ull << bench_lock(bench, c->locks[i]);
		if (!strstr(hytest_error(bench->loop), c->locks[i]))
			return bench_fail(bench, "\"%s\" does not mention %s",
					  hytest_error(bench->loop), c->locks[i]);
	}
	if (arm->unhealthy[0] == wanted)
		return 0;
	return bench_fail(bench, "unhealthy: %llx instead of %" PRIx64,
			  (unsigned long long)arm->unhealthy[0], wanted);
}

static int observe_refusal(struct bench *bench, const struct refusal_case *c)
{
	struct hytest_arm arm;
	int result;

	if (bench_load(bench, arming_settings) || displace_and_inject(bench, c->fault))
		return -1;
	result = bench_arm(bench, &arm);
	if (result != -EPERM)
		return bench_fail(bench, "arming: %s instead of a refusal",
				  result ? strerror(-result) : "done");
	printf("# %-24s %s\n", c->name, hytest_error(bench->loop));
	if (check_unhealthy(bench, c, &arm) || bench_look(bench))
		return -1;
	if (bench->status.state != HYTEST_LOADED)
		return bench_fail(bench, "%s instead of loaded",
				  hytest_state_text(bench->status.state));
	if (bench_clear(bench))
		return -1;
	return bench_arm(bench, &arm) ? -1 : 0;
}

/* Armed */

static int arm_and_inject(struct bench *bench, const char *const *settings, const char *fault)
{
	struct hytest_arm arm;

	if (bench_load(bench, settings) || bench_arm(bench, &arm) || bench_inject(bench, fault))
		return -1;
	sleep_ms(20);
	return bench_look(bench);
}

static int expect_trip_of_armed(struct bench *bench, uint32_t cause, uint32_t index)
{
	const struct hytest_status *status = &bench->status;
	char text[160];

	if (status->state != HYTEST_TRIPPED || status->trip.cause != cause ||
	    status->trip.index != index) {
		hytest_trip_text(bench->image, &status->trip, text, sizeof(text));
		return bench_fail(bench, "%s, %s", hytest_state_text(status->state), text);
	}
	if (hytest_start(bench->loop) != -EBUSY)
		return bench_fail(bench, "START is not refused after the trip");
	if (bench_wait_rest(bench))
		return -1;
	return status->safe ? 0 : bench_fail(bench, "not safe");
}

static int armed_with_latch(struct bench *bench)
{
	if (arm_and_inject(bench, arming_settings, "dropout guard"))
		return -1;
	return expect_trip_of_armed(bench, HT_CAUSE_INTERLOCK, bench_lock(bench, "guard"));
}

static int armed_without_latch(struct bench *bench)
{
	static const char *const settings[] = { GUARD, "interlocks.guard.latch=false", NULL };

	if (arm_and_inject(bench, settings, "dropout guard"))
		return -1;
	if (bench->status.state != HYTEST_ARMED || hytest_start(bench->loop) != -EPERM)
		return bench_fail(bench, "START is not refused");
	if (bench_clear(bench))
		return -1;
	sleep_ms(20);
	if (hytest_start(bench->loop) || bench_look(bench))
		return bench_fail(bench, "START after the fault: %s", hytest_error(bench->loop));
	if (bench_sleep(bench, 20))
		return -1;
	return bench->status.state == HYTEST_RUNNING ? 0 : bench_fail(bench, "it does not run");
}

static int armed_without_scans(struct bench *bench)
{
	static const char *const settings[] = { "loop.scan_ticks=2", NULL };

	if (arm_and_inject(bench, settings, "lost -1"))
		return -1;
	return expect_trip_of_armed(bench, HT_CAUSE_SCAN, 0);
}

static int armed_without_device(struct bench *bench)
{
	static const char *const settings[] = { NULL };

	if (arm_and_inject(bench, settings, "unbind"))
		return -1;
	return expect_trip_of_armed(bench, HT_CAUSE_DEVICE, 0);
}

static const struct {
	const char *name;
	int (*observe)(struct bench *bench);
} armed_cases[] = {
	{ "armed_latch_trips", armed_with_latch },
	{ "armed_without_latch_start_waits", armed_without_latch },
	{ "armed_lost_scans_trip", armed_without_scans },
	{ "armed_unbind_trips", armed_without_device },
};

static void run_armed_cases(struct bench *bench)
{
	size_t i;
	int result;

	for (i = 0; i < COUNT(refusals); i++) {
		result = end_case(bench, observe_refusal(bench, &refusals[i]));
		report(refusals[i].name, result, bench->problem);
	}
	for (i = 0; i < COUNT(armed_cases); i++) {
		result = end_case(bench, armed_cases[i].observe(bench));
		report(armed_cases[i].name, result, bench->problem);
	}
}

/* The campaign itself: cases that must fail, and how. */
static const struct {
	struct fault_case fault_case;
	const char *problem;
} wrong_cases[] = {
	{ { "self_no_fault", "nothing", .lock = "sync", .allowed = 14, .set = { SYNC } },
	  "no trip" },
	{ { "self_limit_moved", "stuck position", .lock = "sync", .allowed = 14,
	    .set = { SYNC, SPRING } },
	  "wrong cause" },
	{ { "self_late", "stuck position", .lock = "sync", .allowed = 5, .set = { SYNC } },
	  "late" },
	{ { "self_wrong_action", "stuck position", .lock = "sync", .allowed = 14,
	    .set = { SYNC, "interlocks.sync.action=cut" } },
	  "output 0 at tick" },
};

static void run_wrong_cases(struct bench *bench)
{
	struct outcome outcome;
	size_t i;

	for (i = 0; i < COUNT(wrong_cases); i++) {
		const char *wanted = wrong_cases[i].problem;
		int result = run_case(bench, &wrong_cases[i].fault_case, &outcome);

		printf("# %s: %s\n", wrong_cases[i].fault_case.name, bench->problem);
		report(wrong_cases[i].fault_case.name,
		       !result || strncmp(bench->problem, wanted, strlen(wanted)),
		       "it was not noticed");
	}
}

int main(int argc, char **argv)
{
	struct bench bench;

	if (argc > 2) {
		fprintf(stderr, "usage: fault_campaign [CAMPAIGN.CFG]\n");
		return 2;
	}
	if (bench_open(&bench, argc > 1 ? argv[1] : DEFAULT_FILE)) {
		fprintf(stderr, "fault_campaign: %s\n", bench.problem);
		return 1;
	}
	printf("TAP version 13\n1..%zu\n", COUNT(cases) + COUNT(refusals) + COUNT(armed_cases) +
	       COUNT(wrong_cases));
	run_cases(&bench);
	run_armed_cases(&bench);
	run_wrong_cases(&bench);
	bench_close(&bench);
	return failed != 0;
}
