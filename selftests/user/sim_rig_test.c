// SPDX-License-Identifier: GPL-2.0
/*
 * The sim backend with rigs before it: which channels are bound, at which tick a
 * code comes back, what faults do, what arming and starting refuse. Oracles: the
 * ticks and codes that kmod/core/rig.h and linux/hytest.h promise, worked out by
 * hand; for the pendulum what the paper says of its stability.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "rehearse.h"
#include "shipped.h"

/* A loop of 1 kHz; the rig, of 2 kHz, gives back what it gets 3 ms later. */
static const char wire_text[] =
	"loop = { rate = 1000.0; heartbeat = 0.0; soft_start = 0.0; soft_stop = 0.0;\n"
	"	 history = 0.512; post_trip = 0.005; };\n"
	"inputs = (\n"
	"	{ signal = \"back\"; unit = \"m\"; initial = 0.5; device = \"wire\";\n"
	"	  channel = \"echo\"; gain = 0.1; },\n"
	"	{ signal = \"free\"; unit = \"V\"; initial = 0.25; },\n"
	"	{ signal = \"far\"; unit = \"V\"; device = \"elsewhere\"; channel = \"x\";\n"
	"	  initial = 0.75; }\n"
	");\n"
	"blocks = (\n"
	"	{ name = \"push\"; type = \"fourier\"; out = [\"y\"]; units = [\"m\"];\n"
	"	  omega = 12.0; cos = [0.25]; sin = [0.5]; }\n"
	");\n"
	"outputs = ( { signal = \"y\"; device = \"wire\"; channel = \"command\"; gain = 0.1;\n"
	"	      safe = 0.125; min = -0.9; max = 0.9; ramp = 1.0; } );\n"
	"interlocks = (\n"
	"	{ name = \"reach\"; kind = \"range\"; signal = \"back\"; low = -0.95;\n"
	"	  high = 0.95; latch = true; },\n"
	"	{ name = \"line\"; kind = \"enable\"; signal = \"free\"; latch = false; }\n"
	");\n"
	"rigs = ( {\n"
	"	name = \"wire\"; rate = 2000.0; held = false;\n"
	"	dac = ( { channel = \"command\"; signal = \"u\"; unit = \"V\"; bits = 16;\n"
	"		  range = 10.0; },\n"
	"		{ channel = \"spare\"; signal = \"w\"; unit = \"V\"; } );\n"
	"	adc = ( { channel = \"echo\"; signal = \"v\"; bits = 16; range = 10.0; } );\n"
	"	blocks = ( { name = \"cable\"; type = \"delay\"; in = [\"u\"]; out = [\"v\"];\n"
	"		     units = [\"V\"]; delay = 0.003; capacity = 16; } );\n"
	"} );\n";

/* The line that keeps the enable interlock content. */
static const char *const enabled[] = { "inputs.[1].initial=1.0" };

#define LSB	(10.0 / 32768)	/* V */
#define TICKS	400

/* A code goes out at k, acts at the next step, comes 3 ms later and is seen at k + 5. */
#define ROUND_TRIP	5

struct run {
	struct rehearsal r;
	double back[TICKS];
	double free[TICKS];
	double far[TICKS];
	double y[TICKS];	/* as applied */
	long n;
};

static double recorded(const struct rehearsal *r, const struct hytest_record *record,
		       const char *name)
{
	struct ht_image image;
	uint32_t c;

	ht_image_open(&image, r->image);
	for (c = 0; c < image.header->n_records; c++)
		if (!strcmp(image.signals[image.records[c]].name, name))
			return hytest_double(record->value[c]);
	return NAN;
}

/* Reads what is new, up to this tick. */
static int run_until(struct run *run, long tick)
{
	struct rehearsal *r = &run->r;
	const struct ht_image_header *h = r->image;
	const struct hytest_record *record;
	struct hytest_event event;

	while (run->n < tick) {
		while (hytest_read_events(r->loop, &event, 1) > 0)
			;
		if (hytest_wait(r->loop, PERIOD_NS) < 0 ||
		    hytest_reader_read(r->reader, r->records, 1) != 1)
			return -1;
		record = r->records;
		run->back[run->n] = recorded(r, record, "back");
		run->free[run->n] = recorded(r, record, "free");
		run->far[run->n] = recorded(r, record, "far");
		run->y[run->n] = hytest_double(record->value[h->n_records]);
		run->n++;
	}
	return hytest_get_status(r->loop, &r->status);
}

static int open_run(struct run *run)
{
	memset(run, 0, sizeof(*run));
	if (rehearse_open_text(&run->r, wire_text, enabled, 1))
		return -1;
	return rehearse_start(&run->r, NULL);
}

static int open_held_run(struct run *run)
{
	const char *const overrides[] = { enabled[0], "rigs.[0].held=true" };

	memset(run, 0, sizeof(*run));
	if (rehearse_open_text(&run->r, wire_text, overrides, 2))
		return -1;
	return rehearse_start(&run->r, NULL);
}

/* Codes of the converters for a displacement. */
static long code(double metres)
{
	return lround(metres / 0.1 / LSB);
}

TEST(a_code_comes_back_after_its_round_trip)
{
	struct run run;
	long k;

	ASSERT_EQ(0, open_run(&run));
	ASSERT_EQ(0, run_until(&run, TICKS));
	EXPECT_EQ(HYTEST_RUNNING, run.r.status.state);
	EXPECT_NE(code(run.y[100]), code(run.y[101]));
	for (k = ROUND_TRIP; k < TICKS; k++) {
		EXPECT_EQ(code(run.y[k - ROUND_TRIP]), code(run.back[k]));
		/* In whole codes, as a converter has them. */
		EXPECT_GT(1e-6, fabs(run.back[k] / 0.1 / LSB - code(run.back[k])));
	}
	rehearse_close(&run.r);
}

TEST(a_held_rig_begins_with_the_first_command)
{
	struct run run;
	long k;

	ASSERT_EQ(0, open_held_run(&run));
	ASSERT_EQ(0, run_until(&run, 50));
	/* The first command is not the safe value, which was written by ARM. */
	EXPECT_NE(code(0.125), code(run.y[0]));
	for (k = 0; k < ROUND_TRIP - 1; k++)
		EXPECT_EQ(code(run.back[0]), code(run.back[k]));
	for (; k < 50; k++)
		EXPECT_EQ(code(k < ROUND_TRIP ? 0.125 : run.y[k - ROUND_TRIP]), code(run.back[k]));
	rehearse_close(&run.r);
}

TEST(what_no_rig_has_keeps_its_initial_value)
{
	struct hytest_event event;
	struct run run;
	long k, bound = -1, unbound = -1;

	ASSERT_EQ(0, open_run(&run));
	EXPECT_EQ(1, run.r.status.bound_inputs);
	EXPECT_EQ(1, run.r.status.bound_outputs);
	while (hytest_read_events(run.r.loop, &event, 1) > 0)
		if (event.type == HYTEST_EVENT_BOUND)
			bound = event.value;
	EXPECT_EQ(2, bound);
	ASSERT_EQ(0, run_until(&run, 50));
	for (k = 0; k < 50; k++) {
		EXPECT_EQ(1.0, run.free[k]);
		EXPECT_EQ(0.75, run.far[k]);
	}
	ASSERT_EQ(0, hytest_stop(run.r.loop));
	while (hytest_wait(run.r.loop, 100 * PERIOD_NS) > 0)
		while (hytest_read_events(run.r.loop, &event, 1) > 0)
			if (event.type == HYTEST_EVENT_UNBOUND)
				unbound = event.value;
	EXPECT_EQ(0, unbound);
	ASSERT_EQ(0, hytest_get_status(run.r.loop, &run.r.status));
	EXPECT_EQ(HYTEST_LOADED, run.r.status.state);
	EXPECT_EQ(0, run.r.status.bound_inputs);
	EXPECT_EQ(0, run.r.status.bound_outputs);
	rehearse_close(&run.r);
}

/*
 * A fault is injected when tick 199 is over, its sample included: the sample of
 * tick 200 is the first that has it, and tick 201 the first to see it.
 */
#define FAULT_TICK	200
#define SEEN		(FAULT_TICK + 1)

static int run_with_fault(struct run *run, const char *line)
{
	if (open_run(run) || run_until(run, FAULT_TICK) ||
	    hytest_sim_fault(run->r.loop, "wire", line))
		return -1;
	return run_until(run, 300);
}

/* The code that comes back without a fault. */
static long sound(const struct run *run, long k)
{
	return code(run->y[k - ROUND_TRIP]);
}

TEST(sensor_faults_begin_at_the_next_sample)
{
	static const char *const lines[] = { "stuck 0", "dropout 0", "spike 0 -1.5", "drift 0 20",
					     "sign 0", "none" };
	long k, i, expected;
	struct run run;

	for (i = 0; i < 6; i++) {
		ASSERT_EQ(0, run_with_fault(&run, lines[i]))
			TH_LOG("%s: %s", lines[i], hytest_error(run.r.loop));
		for (k = ROUND_TRIP; k < 300; k++) {
			expected = sound(&run, k);
			if (k >= SEEN && i == 0)
				expected = sound(&run, SEEN - 1);
			if (k >= SEEN && i == 1)
				expected = 0;
			if (k == SEEN && i == 2)
				expected += lround(-1.5 / LSB);
			if (k >= SEEN && i == 3)
				expected += lround(20e-3 * (k - SEEN + 1) / LSB);
			if (k >= SEEN && i == 4)
				expected = -expected;
			/* Sums of volts are rounded once, those of codes twice. */
			EXPECT_GE(i == 2 || i == 3, labs(expected - code(run.back[k])))
				TH_LOG("%s at tick %ld", lines[i], k);
		}
		rehearse_close(&run.r);
	}
}

TEST(actuator_faults_act_from_the_next_step_on)
{
	struct run run;
	long k;

	/* What acts first at a step behind tick 199 is seen as late as a code of then. */
	ASSERT_EQ(0, run_with_fault(&run, "saturation 0 0.5"));
	for (k = ROUND_TRIP; k < 300; k++) {
		double y = run.y[k - ROUND_TRIP];

		if (k >= FAULT_TICK - 1 + ROUND_TRIP)
			y = fmax(fmin(y, 0.05), -0.05);
		EXPECT_EQ(code(y), code(run.back[k]));
	}
	rehearse_close(&run.r);
	/* 40 V/s: 20 mV at each of the rig's steps, two of them by the first sample. */
	ASSERT_EQ(0, run_with_fault(&run, "runaway 0 -40"));
	for (k = FAULT_TICK - 1 + ROUND_TRIP; k < 300; k++) {
		long steps = 2 * (k - (FAULT_TICK - 1 + ROUND_TRIP)) + 2;
		double volts = run.y[FAULT_TICK - 2] / 0.1 - 0.02 * steps;

		EXPECT_GE(1, labs(lround(volts / LSB) - code(run.back[k])));
	}
	rehearse_close(&run.r);
}

TEST(a_fault_ends)
{
	struct run run;
	long k;

	ASSERT_EQ(0, run_with_fault(&run, "dropout 0"));
	ASSERT_EQ(0, hytest_sim_fault(run.r.loop, "wire", "none 0"));
	ASSERT_EQ(0, run_until(&run, TICKS));
	EXPECT_EQ(0, code(run.back[300]));
	for (k = 301; k < TICKS; k++)
		EXPECT_EQ(sound(&run, k), code(run.back[k]));
	rehearse_close(&run.r);
}

TEST(bad_fault_lines_are_refused_in_words)
{
	static const struct {
		const char *line;
		int result;
		const char *text;
	} cases[] = {
		{ "", -EINVAL, "rig wire: '' is no line KIND [CHANNEL] [VALUE]" },
		{ "stick 0", -EINVAL,
		  "rig wire: there is no fault 'stick': linux/hytest_rig.h lists them" },
		{ "stuck", -EINVAL, "rig wire: 'stuck' has a channel and nothing else" },
		{ "stuck 0 1", -EINVAL, "rig wire: 'stuck' has a channel and nothing else" },
		{ "stuck 1", -EINVAL, "rig wire: 'stuck': there is no ADC channel 1" },
		{ "stuck -1", -EINVAL, "rig wire: 'stuck': there is no ADC channel -1" },
		{ "stuck 0x", -EINVAL, "rig wire: 'stuck': there is no ADC channel 0x" },
		{ "runaway 2 2", -EINVAL, "rig wire: 'runaway': there is no DAC channel 2" },
		{ "none 2", -EINVAL, "rig wire: 'none': there is no ADC channel 2" },
		{ "spike 0", -EINVAL, "rig wire: 'spike' has a channel and a value" },
		{ "spike 0 x", -EINVAL,
		  "rig wire: 'spike': the value 'x' is no number like -1.5" },
		{ "spike 0 1 2", -EINVAL, "rig wire: 'spike 0 1 2' is no line KIND [CHANNEL] "
					  "[VALUE]" },
		{ "lost 3", -EOPNOTSUPP,
		  "rig wire: the simulation has no bus: 'lost' needs the module" },
	};
	struct run run;
	size_t i;

	ASSERT_EQ(0, open_run(&run));
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EXPECT_EQ(cases[i].result, hytest_sim_fault(run.r.loop, "wire", cases[i].line));
		EXPECT_STREQ(cases[i].text, hytest_error(run.r.loop));
	}
	EXPECT_EQ(0, hytest_sim_fault(run.r.loop, "wire", "runaway 1 2"));
	EXPECT_EQ(0, hytest_sim_fault(run.r.loop, "wire", "none 1"));
	EXPECT_EQ(-ENOENT, hytest_sim_fault(run.r.loop, "wires", "none"));
	EXPECT_STREQ("rig wires: there is no such rig", hytest_error(run.r.loop));
	rehearse_close(&run.r);
}

TEST(bad_rigs_are_refused)
{
	const struct hytest_rig_program *rigs;
	struct rehearsal r;

	ASSERT_EQ(0, rehearse_open_text(&r, wire_text, enabled, 1));
	ASSERT_EQ(1, hytest_experiment_rigs(r.experiment, &rigs));
	EXPECT_EQ(-EEXIST, hytest_sim_add_rig(r.loop, "wire", rigs[0].image, rigs[0].size));
	EXPECT_EQ(-EINVAL, hytest_sim_add_rig(r.loop, "", rigs[0].image, rigs[0].size));
	EXPECT_EQ(-EINVAL, hytest_sim_add_rig(r.loop, "a/b", rigs[0].image, rigs[0].size));
	EXPECT_EQ(-EINVAL, hytest_sim_add_rig(r.loop, "a234567890123456789012345678901b",
					      rigs[0].image, rigs[0].size));
	EXPECT_NE(NULL, strstr(hytest_error(r.loop), "is no name for a rig"));
	EXPECT_EQ(-EINVAL, hytest_sim_add_rig(r.loop, "b", rigs[0].image, rigs[0].size - 1));
	EXPECT_NE(NULL, strstr(hytest_error(r.loop), "rig b is refused: image: "));
	/* The kinds of image must not be mixed up. */
	EXPECT_EQ(-EINVAL, hytest_sim_add_rig(r.loop, "b", r.image, r.image_size));
	EXPECT_NE(NULL, strstr(hytest_error(r.loop), ht_error_text(HT_ERR_KIND)));
	EXPECT_EQ(-EINVAL, hytest_load(r.loop, rigs[0].image, rigs[0].size));
	EXPECT_NE(NULL, strstr(hytest_error(r.loop), ht_error_text(HT_ERR_KIND)));
	EXPECT_EQ(0, hytest_sim_add_rig(r.loop, "b", rigs[0].image, rigs[0].size));
	ASSERT_EQ(0, hytest_arm(r.loop, 0, 1, NULL));
	EXPECT_EQ(-EBUSY, hytest_sim_add_rig(r.loop, "c", rigs[0].image, rigs[0].size));
	EXPECT_STREQ("rig c: the loop is armed, it must be empty or loaded", hytest_error(r.loop));
	rehearse_close(&r);
}

/* The loop of one file before the rig of another, which cannot be told when compiled. */
static int arm_foreign(struct rehearsal *r, const char *text, const char *const *overrides,
		       size_t n, struct hytest_arm *arm)
{
	struct hytest_message message;
	const struct hytest_rig_program *rigs;
	struct hytest_experiment *e = hytest_experiment_parse(wire_text, "wire.cfg", NULL, 0,
							      &message);
	int result;

	memset(r, 0, sizeof(*r));
	r->experiment = hytest_experiment_parse(text, "loop.cfg", overrides, n, &r->message);
	r->loop = hytest_open_sim();
	if (!e || !r->experiment || !r->loop || hytest_take_control(r->loop)) {
		fprintf(stderr, "%s\n", r->message.text);
		return -1;
	}
	hytest_experiment_rigs(e, &rigs);
	r->image = hytest_experiment_image(r->experiment, &r->image_size);
	r->reader = hytest_reader_new(r->loop);
	result = hytest_sim_add_rig(r->loop, "foreign", rigs[0].image, rigs[0].size) ||
		 hytest_load(r->loop, r->image, r->image_size);
	hytest_experiment_free(e);
	return result ? -1 : hytest_arm(r->loop, 0, 1, arm);
}

TEST(a_channel_that_the_rig_does_not_have_is_named)
{
	static const char *const input[] = { "inputs.[1].initial=1.0",
					     "inputs.[2].device=\"foreign\"" };
	static const char *const output[] = { "inputs.[1].initial=1.0",
					      "outputs.[0].device=\"foreign\"",
					      "outputs.[0].channel=\"commend\"" };
	static const char *const number[] = { "inputs.[1].initial=1.0",
					      "outputs.[0].device=\"foreign\"",
					      "outputs.[0].channel=\"voltage0\"" };
	struct hytest_status status;
	struct hytest_arm arm;
	struct rehearsal r;

	EXPECT_EQ(-ENXIO, arm_foreign(&r, wire_text, input, 2, &arm));
	EXPECT_EQ(HYTEST_BIND_NO_CHANNEL, arm.problem);
	EXPECT_EQ(2, arm.channel);
	EXPECT_NE(NULL, strstr(hytest_error(r.loop), "cannot arm: input far (device foreign"));
	ASSERT_EQ(0, hytest_get_status(r.loop, &status));
	EXPECT_EQ(HYTEST_LOADED, status.state);
	rehearse_close(&r);
	EXPECT_EQ(-ENXIO, arm_foreign(&r, wire_text, output, 3, &arm));
	EXPECT_EQ(HYTEST_BIND_NO_CHANNEL, arm.problem);
	EXPECT_EQ(3, arm.channel);
	rehearse_close(&r);
	/* IIO's own name of the channel does as well. */
	EXPECT_EQ(0, arm_foreign(&r, wire_text, number, 3, &arm));
	rehearse_close(&r);
}

/* Two commands for one actuator. */
static const char twin_text[] =
	"loop = { rate = 1000.0; heartbeat = 0.0; };\n"
	"blocks = (\n"
	"	{ name = \"push\"; type = \"fourier\"; out = [\"y\"]; units = [\"V\"]; omega = 12.0;\n"
	"	  sin = [0.5]; },\n"
	"	{ name = \"pull\"; type = \"fourier\"; out = [\"z\"]; units = [\"V\"]; omega = 12.0;\n"
	"	  sin = [0.5]; }\n"
	");\n"
	"outputs = (\n"
	"	{ signal = \"y\"; device = \"foreign\"; channel = \"command\"; safe = 0.0;\n"
	"	  min = -1.0; max = 1.0; ramp = 1.0; },\n"
	"	{ signal = \"z\"; device = \"foreign\"; channel = \"voltage0\"; safe = 0.0;\n"
	"	  min = -1.0; max = 1.0; ramp = 1.0; }\n"
	");\n";

TEST(two_outputs_cannot_share_a_channel)
{
	struct hytest_arm arm;
	struct rehearsal r;

	EXPECT_EQ(-ENXIO, arm_foreign(&r, twin_text, NULL, 0, &arm));
	EXPECT_EQ(HYTEST_BIND_TAKEN, arm.problem);
	EXPECT_EQ(1, arm.channel);
	rehearse_close(&r);
}

TEST(arming_lists_every_interlock_that_is_violated)
{
	static const char *const overrides[] = { "inputs.[1].initial=0.0",
						 "outputs.[0].safe=0.0",
						 "interlocks.[0].low=0.5" };
	struct hytest_lock lock;
	struct hytest_arm arm;
	struct rehearsal r;

	ASSERT_EQ(0, rehearse_open_text(&r, wire_text, overrides, 3));
	EXPECT_EQ(-EPERM, hytest_arm(r.loop, 0, 1, &arm));
	EXPECT_EQ(0, arm.interlock);
	EXPECT_EQ(3, arm.unhealthy[0]);
	EXPECT_EQ(0, arm.unhealthy[1] | arm.unhealthy[2] | arm.unhealthy[3]);
	EXPECT_STREQ("cannot arm: 2 interlocks are violated: 'reach': back = 0 m, limit 0.5 m; "
		     "'line': enable line free = 0 V, limit 0.5 V", hytest_error(r.loop));
	/* As they were at that moment, not as the signals begin. */
	ASSERT_EQ(0, hytest_get_lock(r.loop, 0, &lock));
	EXPECT_EQ(0, lock.healthy);
	EXPECT_EQ(0, hytest_double(lock.value));
	ASSERT_EQ(0, hytest_get_status(r.loop, &r.status));
	EXPECT_EQ(HYTEST_LOADED, r.status.state);
	EXPECT_EQ(0, r.status.bound_inputs);
	rehearse_close(&r);
}

TEST(what_is_measured_decides_on_arming)
{
	/* The signal of the input would begin at 0.5 m, but the rig gives back 0 V. */
	static const char *const overrides[] = { "inputs.[1].initial=1.0",
						 "interlocks.[0].low=0.4" };
	struct rehearsal r;

	ASSERT_EQ(0, rehearse_open_text(&r, wire_text, overrides, 2));
	EXPECT_EQ(-EPERM, hytest_arm(r.loop, 0, 1, NULL));
	EXPECT_STREQ("cannot arm: interlock 'reach': back = 0 m, limit 0.4 m",
		     hytest_error(r.loop));
	rehearse_close(&r);
}

TEST(an_armed_loop_trips_by_its_latch)
{
	struct hytest_reader *reader;
	struct rehearsal r;
	char text[256];

	ASSERT_EQ(0, rehearse_open_text(&r, wire_text, enabled, 1));
	ASSERT_EQ(0, hytest_arm(r.loop, 0, 1, NULL));
	ASSERT_EQ(0, rehearse_drain(&r));
	ASSERT_EQ(0, hytest_wait(r.loop, 20 * PERIOD_NS));
	ASSERT_EQ(0, rehearse_drain(&r));
	EXPECT_EQ(HYTEST_ARMED, r.status.state);
	EXPECT_EQ(0, r.status.tick);
	ASSERT_EQ(0, hytest_sim_fault(r.loop, "wire", "drift 0 1000"));
	ASSERT_EQ(1, hytest_wait(r.loop, 100 * PERIOD_NS));
	ASSERT_EQ(0, rehearse_drain(&r));
	EXPECT_EQ(HYTEST_TRIPPED, r.status.state);
	EXPECT_EQ(1, r.status.safe);
	EXPECT_EQ(0, r.status.bound_inputs);
	EXPECT_EQ(0, r.n_records);
	/* 1.25 V at rest and 1 V more at each tick: 10 V is the end of the ADC. */
	hytest_trip_text(r.image, &r.status.trip, text, sizeof(text));
	EXPECT_NE(NULL, strstr(text, "interlock 'reach' at tick 0: back = 0.9"))
		TH_LOG("%s", text);
	EXPECT_EQ(-EBUSY, hytest_start(r.loop));
	EXPECT_EQ(0, hytest_acknowledge(r.loop));
	reader = hytest_reader_new(r.loop);
	EXPECT_EQ(r.status.record_size, hytest_reader_record_size(reader));
	EXPECT_EQ(0, hytest_reader_read(reader, r.records, 1));
	hytest_reader_free(reader);
	rehearse_close(&r);
}

TEST(without_a_latch_it_only_must_not_start)
{
	static const char *const overrides[] = { "inputs.[1].initial=1.0",
						 "interlocks.[0].latch=false" };
	struct rehearsal r;

	ASSERT_EQ(0, rehearse_open_text(&r, wire_text, overrides, 2));
	ASSERT_EQ(0, hytest_arm(r.loop, 0, 1, NULL));
	ASSERT_EQ(0, rehearse_drain(&r));
	ASSERT_EQ(0, hytest_sim_fault(r.loop, "wire", "drift 0 1000"));
	ASSERT_EQ(0, hytest_wait(r.loop, 100 * PERIOD_NS));
	EXPECT_EQ(-EPERM, hytest_start(r.loop));
	EXPECT_STREQ("cannot start: interlock 'reach': back = 0.999969 m, limit 0.95 m",
		     hytest_error(r.loop));
	ASSERT_EQ(0, hytest_get_status(r.loop, &r.status));
	EXPECT_EQ(HYTEST_ARMED, r.status.state);
	ASSERT_EQ(0, hytest_sim_fault(r.loop, "wire", "none"));
	ASSERT_EQ(0, hytest_wait(r.loop, 2 * PERIOD_NS));
	EXPECT_EQ(0, hytest_start(r.loop));
	rehearse_close(&r);
}

TEST(an_operator_can_trip_what_is_armed)
{
	struct rehearsal r;

	ASSERT_EQ(0, rehearse_open_text(&r, wire_text, enabled, 1));
	ASSERT_EQ(0, hytest_arm(r.loop, 0, 1, NULL));
	ASSERT_EQ(0, hytest_trip(r.loop));
	ASSERT_EQ(0, hytest_wait(r.loop, 3 * PERIOD_NS) < 0);
	ASSERT_EQ(0, rehearse_drain(&r));
	EXPECT_EQ(HYTEST_TRIPPED, r.status.state);
	EXPECT_EQ(HT_CAUSE_OPERATOR, r.status.trip.cause);
	EXPECT_EQ(0, r.status.bound_outputs);
	EXPECT_EQ(0, hytest_acknowledge(r.loop));
	EXPECT_EQ(0, hytest_arm(r.loop, 0, 1, NULL));
	EXPECT_EQ(0, hytest_disarm(r.loop));
	ASSERT_EQ(0, hytest_get_status(r.loop, &r.status));
	EXPECT_EQ(0, r.status.bound_outputs);
	rehearse_close(&r);
}

/* The pendulum of Sieber & Krauskopf for so many seconds. */
static int run_pendulum(struct rehearsal *r, const char *mass, double seconds)
{
	char path[PATH_MAX];
	uint64_t end_ns;

	memset(r, 0, sizeof(*r));
	if (shipped_path("pendulum-coupled.cfg", path, sizeof(path)) ||
	    rehearse_open_experiment(r, hytest_experiment_read(path, &mass, 1, &r->message)) ||
	    rehearse_start(r, NULL))
		return -1;
	end_ns = r->status.start_ns + seconds * 1e9;
	while (r->status.state == HYTEST_RUNNING &&
	       r->status.start_ns + r->status.tick * r->status.period_ns < end_ns)
		if (hytest_wait(r->loop, 100 * PERIOD_NS) < 0 || hytest_heartbeat(r->loop) ||
		    rehearse_drain(r))
			return -1;
	return 0;
}

TEST(the_coupled_pendulum_is_stable_only_below_the_critical_mass)
{
	struct rehearsal r;

	/* Section 3: for m > M it is unstable however short the delay is. */
	ASSERT_EQ(0, run_pendulum(&r, "m=0.1", 12));
	EXPECT_EQ(HYTEST_RUNNING, r.status.state);
	EXPECT_LE(60000, r.status.tick);
	EXPECT_EQ(3, r.status.bound_inputs);
	EXPECT_EQ(2, r.status.bound_outputs);
	rehearse_close(&r);
	ASSERT_EQ(0, run_pendulum(&r, "m=0.27", 12));
	EXPECT_EQ(HYTEST_TRIPPED, r.status.state);
	EXPECT_EQ(HT_CAUSE_INTERLOCK, r.status.trip.cause);
	rehearse_close(&r);
}

TEST_HARNESS_MAIN
