// SPDX-License-Identifier: GPL-2.0
/*
 * Experiment files: what comes out of good ones, and what is said about bad
 * ones. Oracles: images written down by hand, expected lines and messages, and
 * for the shipped files the rules that every program has to keep.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "../../kmod/core/fpenv.h"
#include "../../kmod/core/loop.h"
#include "../../kmod/core/rig.h"
#include "../../user/experiment.h"
#include "../../user/expression.h"
#include "../../user/json.h"
#include "../../user/libhytest.h"
#include "../../user/param_names.h"
#include "../../user/words.h"
#include "shipped.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char good[] =
	"title = \"Test\";\n"
	"duration = 3.0;\n"
	"K = 50.0; k2 = \"2 * K\";\n"
	"loop = { rate = 2000.0; cpu = 2; heartbeat = 0.25; budget = 0.25; deadline = 0.75;\n"
	"	 deadline_ticks = 3; missed_ticks = 4; soft_start = 0.5; soft_stop = 0.1;\n"
	"	 history = 0.6; post_trip = 0.2; };\n"
	"inputs = ( { signal = \"F\"; unit = \"N\"; initial = -1.5; } );\n"
	"outputs = ( { signal = \"y\"; safe = 0.01; min = -0.05; max = 0.06; slew = 2; ramp = 0.5; } );\n"
	"blocks = (\n"
	"	{ name = \"last\"; type = \"matrix\"; in = [\"y\", \"late\"]; out = \"e\"; A = [1.0, -1.0]; },\n"
	"	{ name = \"msd\"; type = \"structure\"; in = [\"F\"]; out = [\"y\", \"v\"]; units = [\"m\", \"m/s\"];\n"
	"	  M = 2; K = \"k2\"; },\n"
	"	{ name = \"delay\"; type = \"unit_delay\"; in = [\"e\"]; out = [\"late\"]; units = \"m\"; }\n"
	");\n"
	"interlocks = (\n"
	"	{ name = \"stroke\"; kind = \"range\"; signal = \"y\"; low = -0.04; high = \"0.08 / 2\";\n"
	"	  delay = 2; action = \"hold\"; },\n"
	"	{ name = \"power\"; kind = \"rms\"; signal = \"y\"; other = \"late\"; high = 0.02; window = 0.05; }\n"
	");\n"
	"record = [\"v\", \"y\"];\n"
	"changes = ( { at = 0.5; set = [\"msd.K = K\", \"last.A[1] = -1/2\"]; },\n"
	"	    { at = 1.0; set = \"msd.C = 0.1\"; } );\n";

static struct hytest_experiment *parse(const char *text, struct hytest_message *message)
{
	return hytest_experiment_parse(text, "bad.cfg", NULL, 0, message);
}

TEST(header_and_parts_of_the_image)
{
	struct hytest_message message;
	struct hytest_experiment *e = parse(good, &message);
	const struct ht_image_header *h;
	struct ht_image image;
	size_t size;

	ASSERT_NE(NULL, e)
		TH_LOG("%s", message.text);
	EXPECT_STREQ("Test", hytest_experiment_title(e));
	EXPECT_EQ(3.0, hytest_experiment_duration(e));
	EXPECT_EQ(2, hytest_experiment_cpu(e));
	EXPECT_STREQ(good, hytest_experiment_text(e));
	ht_image_open(&image, hytest_experiment_image(e, &size));
	h = image.header;
	EXPECT_EQ(HT_IMAGE_MAGIC, h->magic);
	EXPECT_EQ(size, h->size);
	EXPECT_EQ(500000, h->period_ns);
	EXPECT_EQ(5, h->n_signals);
	EXPECT_EQ(1, h->n_inputs);
	EXPECT_EQ(1, h->n_outputs);
	EXPECT_EQ(3, h->n_blocks);
	EXPECT_EQ(2, h->n_interlocks);
	/* structure 3 + scheme, ahead, x0, v0; unit_delay 1; matrix 2 + 1 */
	EXPECT_EQ(11, h->n_params);
	EXPECT_EQ(0, h->n_data);
	EXPECT_EQ(8, h->n_wires);
	EXPECT_EQ(3, h->n_records);
	EXPECT_EQ(strlen(good), h->text_size);
	EXPECT_EQ(0, memcmp(good, image.text, h->text_size));
	EXPECT_EQ(2048, h->ring_records);
	EXPECT_EQ(1000, h->soft_start_ticks);
	EXPECT_EQ(200, h->soft_stop_ticks);
	EXPECT_EQ(125000, h->budget_ns);
	EXPECT_EQ(375000, h->deadline_ns);
	EXPECT_EQ(3, h->deadline_ticks);
	EXPECT_EQ(4, h->missed_ticks);
	EXPECT_EQ(250, h->heartbeat_ms);
	EXPECT_EQ(400, h->post_trip_ticks);
	EXPECT_STREQ("F", image.signals[0].name);
	EXPECT_STREQ("N", image.signals[0].unit);
	EXPECT_EQ(-1.5, image.signals[0].initial);
	EXPECT_STREQ("e", image.signals[1].name);
	EXPECT_STREQ("", image.signals[1].unit);
	EXPECT_STREQ("y", image.signals[2].name);
	EXPECT_STREQ("m/s", image.signals[3].unit);
	EXPECT_STREQ("late", image.signals[4].name);
	EXPECT_EQ(0, image.inputs[0].signal);
	EXPECT_EQ(2, image.outputs[0].signal);
	EXPECT_EQ(0.01, image.outputs[0].safe);
	EXPECT_EQ(-0.05, image.outputs[0].min);
	EXPECT_EQ(0.06, image.outputs[0].max);
	EXPECT_EQ(2.0, image.outputs[0].slew);
	EXPECT_EQ(0.5, image.outputs[0].ramp);
	/* v and y as asked for, then the input that must not be missing */
	EXPECT_EQ(3, image.records[0]);
	EXPECT_EQ(2, image.records[1]);
	EXPECT_EQ(0, image.records[2]);
	hytest_experiment_free(e);
}

TEST(blocks_interlocks_and_changes_of_the_image)
{
	static const double params[11] = { 2, 0, 100, 0, 0, 0, 0, 0, 1, -1, 0 };
	static const ht_u32 wires[8] = { 0, 2, 3, 1, 4, 2, 4, 1 };
	const struct hytest_scheduled *scheduled;
	struct hytest_message message;
	struct hytest_experiment *e = parse(good, &message);
	const struct ht_image_interlock *l;
	struct ht_image image;
	size_t i;

	ASSERT_NE(NULL, e);
	ht_image_open(&image, hytest_experiment_image(e, NULL));
	/* "last" waits for y and late: it moves behind both of its writers. */
	EXPECT_STREQ("msd", image.blocks[0].name);
	EXPECT_STREQ("delay", image.blocks[1].name);
	EXPECT_STREQ("last", image.blocks[2].name);
	EXPECT_STREQ("structure", ht_block_types[image.blocks[0].type]->name);
	EXPECT_EQ(1, image.blocks[0].dims[0]);
	EXPECT_EQ(1, image.blocks[0].n_in);
	EXPECT_EQ(2, image.blocks[0].n_out);
	for (i = 0; i < COUNT(params); i++)
		EXPECT_EQ(params[i], image.params[i])
			TH_LOG("parameter %zu", i);
	for (i = 0; i < COUNT(wires); i++)
		EXPECT_EQ(wires[i], image.wires[i])
			TH_LOG("wire %zu", i);
	l = image.interlocks;
	EXPECT_EQ(HT_LOCK_RANGE, l[0].kind);
	EXPECT_EQ(HT_ACTION_HOLD, l[0].action);
	EXPECT_EQ(2, l[0].signal);
	EXPECT_EQ(HT_NO_SIGNAL, l[0].other);
	EXPECT_EQ(2, l[0].delay_ticks);
	EXPECT_EQ(-0.04, l[0].low);
	EXPECT_EQ(0.04, l[0].high);
	EXPECT_STREQ("stroke", l[0].name);
	EXPECT_EQ(HT_LOCK_RMS, l[1].kind);
	EXPECT_EQ(HT_ACTION_RAMP, l[1].action);
	EXPECT_EQ(4, l[1].other);
	EXPECT_EQ(100, l[1].window_ticks);
	EXPECT_EQ(0.02, l[1].high);

	ASSERT_EQ(2, hytest_experiment_schedule(e, &scheduled));
	EXPECT_EQ(1000, scheduled[0].tick);
	ASSERT_EQ(2, scheduled[0].count);
	EXPECT_EQ(2, scheduled[0].changes[0].param);
	EXPECT_EQ(ht_bits(50), scheduled[0].changes[0].value);
	EXPECT_EQ(9, scheduled[0].changes[1].param);
	EXPECT_EQ(ht_bits(-0.5), scheduled[0].changes[1].value);
	EXPECT_EQ(2000, scheduled[1].tick);
	ASSERT_EQ(1, scheduled[1].count);
	EXPECT_EQ(1, scheduled[1].changes[0].param);
	hytest_experiment_free(e);
}

TEST(presets_are_safe)
{
	struct hytest_message message;
	struct hytest_experiment *e = parse("loop = { rate = 1000.0; };", &message);
	const struct ht_image_header *h;

	ASSERT_NE(NULL, e)
		TH_LOG("%s", message.text);
	h = hytest_experiment_image(e, NULL);
	EXPECT_EQ(1000, h->heartbeat_ms);
	EXPECT_EQ(500000, h->budget_ns);
	EXPECT_EQ(1000000, h->deadline_ns);
	EXPECT_EQ(1, h->deadline_ticks);
	EXPECT_EQ(1, h->missed_ticks);
	EXPECT_EQ(2, h->scan_ticks);
	EXPECT_EQ(2, h->write_ticks);
	EXPECT_EQ(HT_IMAGE_LOOP, h->kind);
	EXPECT_EQ(1000, h->soft_start_ticks);
	EXPECT_EQ(1000, h->soft_stop_ticks);
	EXPECT_EQ(1000, h->post_trip_ticks);
	EXPECT_EQ(16384, h->ring_records);
	EXPECT_EQ(-1, hytest_experiment_cpu(e));
	EXPECT_EQ(0.0, hytest_experiment_duration(e));
	EXPECT_STREQ("", hytest_experiment_title(e));
	hytest_experiment_free(e);
}

/* Everything that meets the world, and rigs to meet. */
static const char bound[] =
	"volts = 0.5;\n"
	"loop = { rate = 1000.0; scan_ticks = 5; write_ticks = 7; };\n"
	"inputs = (\n"
	"	{ signal = \"F\"; unit = \"N\"; device = \"frame\"; channel = \"force\"; gain = \"4 * volts\";\n"
	"	  offset = -3.0; sign = -1; poll = true; },\n"
	"	{ signal = \"x\"; channel = \"position\"; },\n"
	"	{ signal = \"door\"; gpio = \"gpio-mockup-A\"; line = 3; },\n"
	"	{ signal = \"button\"; gpio = \"\"; line = \"estop\"; gain = -1.0; offset = 1; },\n"
	"	{ signal = \"nothing\"; initial = 7.0; },\n"
	"	{ signal = \"ya\"; device = \"frame\"; channel = \"voltage1\"; } );\n"
	"blocks = ( { name = \"m\"; type = \"matrix\"; in = [\"F\"]; out = [\"y\", \"z\"]; A = [1.0, 2.0]; } );\n"
	"outputs = (\n"
	"	{ signal = \"y\"; min = -1.0; max = 1.0; ramp = 1.0; device = \"frame\"; channel = \"command\";\n"
	"	  gain = 0.25; offset = 0.125; sign = -1; },\n"
	"	{ signal = \"z\"; min = -1.0; max = 1.0; ramp = 1.0; } );\n"
	"interlocks = (\n"
	"	{ name = \"guard\"; kind = \"enable\"; signal = \"door\"; latch = false; },\n"
	"	{ name = \"stop\"; kind = \"estop\"; signal = \"button\"; low = 0.75; },\n"
	"	{ name = \"gentle\"; kind = \"estop\"; signal = \"button\"; action = \"hold\"; latch = true; },\n"
	"	{ name = \"stale\"; kind = \"scan\"; high = 3; delay = 4; action = \"cut\"; },\n"
	"	{ name = \"gone\"; kind = \"lost\"; high = 10; },\n"
	"	{ name = \"unwritten\"; kind = \"write\"; high = 0; },\n"
	"	{ name = \"slow\"; kind = \"step\"; high = 0.0005; },\n"
	"	{ name = \"skipped\"; kind = \"missed\"; high = 2; },\n"
	"	{ name = \"silent\"; kind = \"heartbeat\"; high = 0.5; } );\n"
	"rigs = (\n"
	"	{ name = \"frame\"; rate = 4000.0; held = true;\n"
	"	  dac = ( { channel = \"command\"; signal = \"y\"; unit = \"m\"; initial = 0.25; gain = 2.0; offset = 1.0;\n"
	"		    sign = -1; bits = 12; range = 5.5; } );\n"
	"	  adc = ( { channel = \"force\"; signal = \"F\"; gain = \"volts\"; bits = 24; range = 2.5; noise = 1e-3; },\n"
	"		  { channel = \"position\"; signal = \"y\"; } );\n"
	"	  blocks = ( { name = \"m\"; type = \"matrix\"; in = [\"y\"]; out = [\"F\"]; units = [\"N\"]; A = [\"volts\"]; } ); },\n"
	"	{ name = \"wire\"; rate = 1e5; dac = ( { channel = \"in\"; signal = \"s\"; } ); } );\n";

TEST(bindings_of_the_image)
{
	struct hytest_message message;
	struct hytest_experiment *e = parse(bound, &message);
	const struct ht_image_input *in;
	const struct ht_image_output *out;
	struct ht_image image;

	ASSERT_NE(NULL, e)
		TH_LOG("%s", message.text);
	ht_image_open(&image, hytest_experiment_image(e, NULL));
	EXPECT_EQ(HT_IMAGE_LOOP, image.header->kind);
	EXPECT_EQ(0, image.header->flags);
	EXPECT_EQ(5, image.header->scan_ticks);
	EXPECT_EQ(7, image.header->write_ticks);
	ASSERT_EQ(6, image.header->n_inputs);
	in = image.inputs;
	EXPECT_EQ(HT_CHANNEL_IIO, in[0].channel.kind);
	EXPECT_EQ(HT_INPUT_POLL, in[0].flags);
	EXPECT_STREQ("frame", in[0].channel.device);
	EXPECT_STREQ("force", in[0].channel.name);
	EXPECT_EQ(-2.0, in[0].channel.gain);
	EXPECT_EQ(-3.0, in[0].channel.offset);
	EXPECT_EQ(0, in[0].channel.bits);
	EXPECT_EQ(0, in[0].channel.range_mv);
	EXPECT_EQ(HT_CHANNEL_IIO, in[1].channel.kind);
	EXPECT_EQ(0, in[1].flags);
	EXPECT_STREQ("", in[1].channel.device);
	EXPECT_STREQ("position", in[1].channel.name);
	EXPECT_EQ(1.0, in[1].channel.gain);
	EXPECT_EQ(0.0, in[1].channel.offset);
	EXPECT_EQ(HT_CHANNEL_GPIO, in[2].channel.kind);
	EXPECT_STREQ("gpio-mockup-A", in[2].channel.device);
	EXPECT_STREQ("3", in[2].channel.name);
	EXPECT_EQ(1.0, in[2].channel.gain);
	EXPECT_EQ(HT_CHANNEL_GPIO, in[3].channel.kind);
	EXPECT_STREQ("", in[3].channel.device);
	EXPECT_STREQ("estop", in[3].channel.name);
	EXPECT_EQ(-1.0, in[3].channel.gain);
	EXPECT_EQ(1.0, in[3].channel.offset);
	EXPECT_EQ(HT_CHANNEL_NONE, in[4].channel.kind);
	EXPECT_EQ(0.0, in[4].channel.gain);
	EXPECT_STREQ("voltage1", in[5].channel.name);
	ASSERT_EQ(2, image.header->n_outputs);
	out = image.outputs;
	EXPECT_EQ(HT_CHANNEL_IIO, out[0].channel.kind);
	EXPECT_STREQ("frame", out[0].channel.device);
	EXPECT_STREQ("command", out[0].channel.name);
	EXPECT_EQ(-0.25, out[0].channel.gain);
	EXPECT_EQ(0.125, out[0].channel.offset);
	EXPECT_EQ(HT_CHANNEL_NONE, out[1].channel.kind);
	hytest_experiment_free(e);
}

TEST(interlocks_of_every_kind)
{
	static const struct {
		ht_u32 kind, action, signal, delay, flags;
		double low, high;
	} wanted[] = {
		{ HT_LOCK_ENABLE, HT_ACTION_RAMP, 2, 0, 0, 0.5, 0 },
		{ HT_LOCK_ESTOP, HT_ACTION_CUT, 3, 0, HT_LOCK_LATCH, 0.75, 0 },
		{ HT_LOCK_ESTOP, HT_ACTION_HOLD, 3, 0, HT_LOCK_LATCH, 0.5, 0 },
		{ HT_LOCK_SCAN, HT_ACTION_CUT, HT_NO_SIGNAL, 4, HT_LOCK_LATCH, 0, 3 },
		{ HT_LOCK_LOST, HT_ACTION_RAMP, HT_NO_SIGNAL, 0, HT_LOCK_LATCH, 0, 10 },
		{ HT_LOCK_WRITE, HT_ACTION_RAMP, HT_NO_SIGNAL, 0, HT_LOCK_LATCH, 0, 0 },
		{ HT_LOCK_STEP, HT_ACTION_RAMP, HT_NO_SIGNAL, 0, HT_LOCK_LATCH, 0, 0.0005 },
		{ HT_LOCK_MISSED, HT_ACTION_RAMP, HT_NO_SIGNAL, 0, HT_LOCK_LATCH, 0, 2 },
		{ HT_LOCK_HEARTBEAT, HT_ACTION_RAMP, HT_NO_SIGNAL, 0, HT_LOCK_LATCH, 0, 0.5 },
	};
	struct hytest_message message;
	struct hytest_experiment *e = parse(bound, &message);
	struct ht_image image;
	size_t i;

	ASSERT_NE(NULL, e)
		TH_LOG("%s", message.text);
	ht_image_open(&image, hytest_experiment_image(e, NULL));
	ASSERT_EQ(COUNT(wanted), image.header->n_interlocks);
	for (i = 0; i < COUNT(wanted); i++) {
		const struct ht_image_interlock *l = &image.interlocks[i];

		EXPECT_EQ(wanted[i].kind, l->kind)
			TH_LOG("%s", l->name);
		EXPECT_EQ(wanted[i].action, l->action)
			TH_LOG("%s", l->name);
		EXPECT_EQ(wanted[i].signal, l->signal)
			TH_LOG("%s", l->name);
		EXPECT_EQ(HT_NO_SIGNAL, l->other);
		EXPECT_EQ(wanted[i].delay, l->delay_ticks);
		EXPECT_EQ(wanted[i].flags, l->flags)
			TH_LOG("%s", l->name);
		EXPECT_EQ(wanted[i].low, l->low)
			TH_LOG("%s", l->name);
		EXPECT_EQ(wanted[i].high, l->high)
			TH_LOG("%s", l->name);
	}
	hytest_experiment_free(e);
}

TEST(rigs_are_programs_of_their_own)
{
	struct hytest_message message;
	struct hytest_experiment *e = parse(bound, &message);
	const struct hytest_rig_program *rigs;
	const struct ht_image_channel *c;
	struct ht_image image;
	struct ht_error error;

	ASSERT_NE(NULL, e)
		TH_LOG("%s", message.text);
	ASSERT_EQ(2, hytest_experiment_rigs(e, &rigs));
	EXPECT_STREQ("frame", rigs[0].name);
	EXPECT_STREQ("wire", rigs[1].name);
	ASSERT_EQ(HT_OK, ht_image_check(rigs[0].image, rigs[0].size, &error));
	ht_image_open(&image, rigs[0].image);
	EXPECT_EQ(HT_IMAGE_RIG, image.header->kind);
	EXPECT_EQ(HT_IMAGE_HELD, image.header->flags);
	EXPECT_EQ(250000, image.header->period_ns);
	EXPECT_EQ(0, image.header->text_size);
	EXPECT_EQ(2, image.header->n_signals);
	ASSERT_EQ(1, image.header->n_inputs);
	ASSERT_EQ(2, image.header->n_outputs);
	EXPECT_EQ(1, image.header->n_blocks);
	/* Its y and F are not those of the loop. */
	EXPECT_STREQ("y", image.signals[0].name);
	EXPECT_STREQ("m", image.signals[0].unit);
	EXPECT_EQ(0.25, image.signals[0].initial);
	EXPECT_STREQ("F", image.signals[1].name);
	EXPECT_EQ(0.5, image.params[0]);
	EXPECT_EQ(0, image.inputs[0].signal);
	c = &image.inputs[0].channel;
	EXPECT_EQ(HT_CHANNEL_IIO, c->kind);
	EXPECT_STREQ("command", c->name);
	EXPECT_STREQ("", c->device);
	EXPECT_EQ(-2.0, c->gain);
	EXPECT_EQ(1.0, c->offset);
	EXPECT_EQ(12, c->bits);
	EXPECT_EQ(5500, c->range_mv);
	EXPECT_EQ(1, image.outputs[0].signal);
	c = &image.outputs[0].channel;
	EXPECT_STREQ("force", c->name);
	EXPECT_EQ(0.5, c->gain);
	EXPECT_EQ(24, c->bits);
	EXPECT_EQ(2500, c->range_mv);
	EXPECT_EQ(1e-3, c->noise);
	EXPECT_EQ(0, image.outputs[1].signal);
	c = &image.outputs[1].channel;
	EXPECT_EQ(1.0, c->gain);
	EXPECT_EQ(16, c->bits);
	EXPECT_EQ(10000, c->range_mv);
	EXPECT_EQ(0.0, c->noise);
	ht_image_open(&image, rigs[1].image);
	EXPECT_EQ(0, image.header->flags);
	EXPECT_EQ(10000, image.header->period_ns);
	hytest_experiment_free(e);
}

TEST(file_of_rigs_only)
{
	struct hytest_message message;
	struct hytest_experiment *e;
	const struct hytest_rig_program *rigs;
	const struct hytest_scheduled *scheduled;
	size_t size = 1;

	e = parse("title = \"a wire\"; v = 2.0; rigs = ( { name = \"wire\"; rate = 1000.0;"
		  "dac = ( { channel = \"in\"; signal = \"s\"; gain = \"v\"; } );"
		  "adc = ( { channel = \"out\"; signal = \"s\"; } ); } );", &message);
	ASSERT_NE(NULL, e)
		TH_LOG("%s", message.text);
	EXPECT_EQ(NULL, hytest_experiment_image(e, &size));
	EXPECT_EQ(0, size);
	EXPECT_EQ(1, hytest_experiment_rigs(e, &rigs));
	EXPECT_EQ(0, hytest_experiment_schedule(e, &scheduled));
	EXPECT_STREQ("a wire", hytest_experiment_title(e));
	EXPECT_EQ(-1, hytest_experiment_cpu(e));
	hytest_experiment_free(e);
	e = parse(good, &message);
	ASSERT_NE(NULL, e);
	EXPECT_EQ(0, hytest_experiment_rigs(e, &rigs));
	hytest_experiment_free(e);
}

TEST(overrides_reach_rigs_and_bindings)
{
	static const char *const sets[] = {
		"volts=0.25", "rigs.[0].blocks.m.A=[3.0]", "rigs.frame.dac.y.bits=10",
		"rigs.wire.rate=500", "inputs.F.sign=1", "outputs.y.channel=voltage0",
		"interlocks.guard.latch=true",
	};
	struct hytest_message message;
	struct hytest_experiment *e;
	const struct hytest_rig_program *rigs;
	struct ht_image image;

	e = hytest_experiment_parse(bound, "bad.cfg", sets, COUNT(sets), &message);
	ASSERT_NE(NULL, e)
		TH_LOG("%s", message.text);
	ht_image_open(&image, hytest_experiment_image(e, NULL));
	EXPECT_EQ(1.0, image.inputs[0].channel.gain);
	EXPECT_STREQ("voltage0", image.outputs[0].channel.name);
	EXPECT_EQ(HT_LOCK_LATCH, image.interlocks[0].flags);
	ASSERT_EQ(2, hytest_experiment_rigs(e, &rigs));
	ht_image_open(&image, rigs[0].image);
	EXPECT_EQ(0.25, image.outputs[0].channel.gain);
	EXPECT_EQ(3.0, image.params[0]);
	EXPECT_EQ(10, image.inputs[0].channel.bits);
	ht_image_open(&image, rigs[1].image);
	EXPECT_EQ(2000000, image.header->period_ns);
	hytest_experiment_free(e);
}

TEST(words_name_the_channel)
{
	static const struct {
		ht_u32 problem, channel, error;
		const char *text;
	} binds[] = {
		{ HYTEST_BIND_NO_DEVICE, 0, 0, "input F (device frame, channel force): there is no IIO device \"frame\"; hytest devices lists them, hytest rig FILE makes the simulated ones" },
		{ HYTEST_BIND_NO_DEVICE, 1, 0, "input x (channel position of the device tree): the device tree has no \"position\" in io-channel-names for this loop" },
		{ HYTEST_BIND_NO_DEVICE, 2, 0, "input door (GPIO chip gpio-mockup-A, line 3): there is no GPIO chip \"gpio-mockup-A\"; gpiodetect lists them" },
		{ HYTEST_BIND_NO_DEVICE, 3, 0, "input button (GPIO line estop of the device tree): the device tree has no estop-gpios for this loop" },
		{ HYTEST_BIND_NO_CHANNEL, 6, 0, "output y (device frame, channel command): device \"frame\" has no output channel \"command\"; hytest devices lists its channels" },
		{ HYTEST_BIND_NO_VALUE, 6, 0, "the channel cannot be written" },
		{ HYTEST_BIND_NO_VALUE, 0, 0, "the channel can neither be scanned nor read" },
		{ HYTEST_BIND_REFUSED, 0, EBUSY, "its driver refused: Device or resource busy" },
		{ HYTEST_BIND_TAKEN, 6, 0, "another loop, or another output, drives this channel" },
		{ 99, 8, 0, "channel 8 cannot be bound" },
	};
	static const struct {
		ht_u32 cause, index;
		double value, limit;
		const char *text;
	} trips[] = {
		{ HT_CAUSE_SCAN, 0, 5, 5, ", input F (device frame, channel force) at tick 42: 5 ticks, limit 5 ticks" },
		{ HT_CAUSE_WRITE, 0, 7, 7, ", output y (device frame, channel command) at tick 42: 7 ticks, limit 7 ticks" },
		{ HT_CAUSE_DEVICE, 6, 0, 0, ", output y (device frame, channel command) at tick 42" },
		{ HT_CAUSE_DEVICE, 2, 0, 0, ", input door (GPIO chip gpio-mockup-A, line 3) at tick 42" },
		{ HT_CAUSE_INTERLOCK, 1, 0, 0.75, "interlock 'stop' at tick 42: e-stop line button = 0, limit 0.75" },
		{ HT_CAUSE_INTERLOCK, 3, 4, 3, "interlock 'stale' at tick 42: age of the newest scan = 4 ticks, limit 3 ticks" },
		{ HT_CAUSE_INTERLOCK, 8, 0.6, 0.5, "interlock 'silent' at tick 42: time without a heartbeat = 0.6 s, limit 0.5 s" },
	};
	struct hytest_message message;
	struct hytest_experiment *e = parse(bound, &message);
	const void *image;
	char text[512];
	size_t i;

	ASSERT_NE(NULL, e);
	image = hytest_experiment_image(e, NULL);
	for (i = 0; i < COUNT(binds); i++) {
		hytest_bind_text(image, binds[i].problem, binds[i].channel, binds[i].error, text,
				 sizeof(text));
		EXPECT_NE(NULL, strstr(text, binds[i].text))
			TH_LOG("said:   %s\nwanted: %s", text, binds[i].text);
	}
	for (i = 0; i < COUNT(trips); i++) {
		const struct hytest_trip trip = {
			.cause = trips[i].cause, .index = trips[i].index, .tick = 42,
			.value = ht_bits(trips[i].value), .limit = ht_bits(trips[i].limit),
		};

		hytest_trip_text(image, &trip, text, sizeof(text));
		EXPECT_NE(NULL, strstr(text, trips[i].text))
			TH_LOG("said:   %s\nwanted: %s", text, trips[i].text);
	}
	hytest_lock_text(image, 6, ht_bits(0.001), ht_bits(0.0005), text, sizeof(text));
	EXPECT_STREQ("'slow': time of a tick = 0.001 s, limit 0.0005 s", text);
	for (i = 0; i < HT_LOCK_KINDS; i++)
		EXPECT_STRNE("unknown", hytest_lock_kind_text(i));
	for (i = 0; i < HT_CAUSES; i++)
		EXPECT_STRNE("unknown", hytest_cause_text(i));
	hytest_refusal_text(image, ((const struct ht_image_header *)image)->size,
			    &(struct hytest_refusal){ .code = HT_ERR_CHANNEL,
						      .where = HT_AT_OUTPUT, .index = 1 },
			    text, sizeof(text));
	EXPECT_EQ(0, strncmp(text, "output 'z': ", 12))
		TH_LOG("%s", text);
	EXPECT_STREQ("bound", hytest_event_text(HYTEST_EVENT_BOUND));
	EXPECT_STREQ("unbound", hytest_event_text(HYTEST_EVENT_UNBOUND));
	hytest_experiment_free(e);
}

/* The lines before the faulty ones, so that these begin on line 3. */
#define LOOP "title = \"bad\";\nloop = { rate = 1000.0; };\n"
#define LIMITS "min = -1.0; max = 1.0; ramp = 1.0;"
#define RIG(parts) "rigs = ( { name = \"r\"; rate = 1000.0; " parts " } );"
#define CONVERTERS "dac = ( { channel = \"command\"; signal = \"s\"; } );" \
	"adc = ( { channel = \"force\"; signal = \"s\"; }, { channel = \"angle\"; signal = \"s\"; } );"
#define PUSH "{ name = \"push\"; type = \"fourier\"; out = [\"f\"]; omega = 1.0; }"

static const struct {
	const char *text;
	const char *message;	/* must be part of what is said */
} bad[] = {
	/* the language */
	{ "a = ;", "bad.cfg:1: syntax error; a setting is NAME = VALUE;" },
	{ LOOP "K = 1.0;\nK = 2.0;", "bad.cfg:4: duplicate setting name; every name may stand once" },
	{ LOOP "record = [1, 2.0];", "bad.cfg:3: mismatched element type in array; the numbers of [ ]" },
	{ "@include \"x\"\n", "bad.cfg:1: @include is not allowed" },
	{ "/* one\ntwo */ # @include\nx = 3000000000;",
	  "bad.cfg:3: the integer 3000000000 is too large; write it with a decimal point" },
	{ LOOP "K = \"5;\n\nx = 3;\n", "bad.cfg:3: the string that begins here is not closed by \"" },
	{ "x = 0x80000000;", "bad.cfg:1: the integer 0x80000000 is too large" },

	/* top level and values */
	{ "title = \"x\";", "bad.cfg: the group \"loop\" is missing; it needs at least loop = { rate" },
	{ "loop = 5;", "bad.cfg:1: loop must be a group: loop = { rate = 1000.0; };" },
	{ LOOP "\nduraton = 3.0;",
	  "bad.cfg:4: nothing uses the value duraton; remove it, or use it in an expression; did you mean duration?" },
	{ LOOP "block = ( );", "bad.cfg:3: there is no setting \"block\", and a value for expressions must be a number or an expression; did you mean blocks?" },
	{ LOOP "blocks = 5;", "bad.cfg:3: blocks must be a list of groups: ( { ... }, { ... } )" },
	{ LOOP "blocks = ( 5 );", "bad.cfg:3: blocks must be a list of groups" },
	{ LOOP "duration = -1.0;", "bad.cfg:3: duration is -1; it must be a number from 0 to 10000000 s" },
	{ LOOP "title2 = true;", "bad.cfg:3: there is no setting \"title2\"" },
	{ "title = 5;\nloop = { rate = 1.0; };", "bad.cfg:1: title must be a string in quotes" },
	{ LOOP "sqrt = 1.0;", "bad.cfg:3: sqrt has a meaning in expressions already; choose another name" },
	{ LOOP "a-b = 1.0;", "bad.cfg:3: a-b cannot be used in expressions; a value has a name of letters" },
	{ LOOP "a = \"b\";\nb = \"a\";", "bad.cfg:3: the expression \"b\" is wrong: b is defined by itself" },
	{ LOOP "a = \"1 +\";", "bad.cfg:3: the expression \"1 +\" is wrong: it ends where a number or a name should stand" },
	{ LOOP "a = 1e999;", "bad.cfg:3: a is not a finite number" },
	{ LOOP "Mass = 1.0;\nb = \"Mas * 2\";", "bad.cfg:4: the expression \"Mas * 2\" is wrong: the file does not define the value Mas at its top level; did you mean Mass?" },

	/* loop */
	{ "loop = {\n\trate = 1000.0;\n\thartbeat = 1.0;\n};", "bad.cfg:3: loop has no setting \"hartbeat\"; did you mean heartbeat?" },
	{ "loop = { cpu = 1; };", "bad.cfg:1: loop needs rate (Hz)" },
	{ "loop = {\n rate = 2e6; };", "bad.cfg:2: loop.rate is 2000000; it must be a number from 1 to 100000 Hz" },
	{ "loop = { rate = 1000.0;\n budget = 2.0; };", "bad.cfg:2: loop.budget is 2; it must be a number from 0.001 to 0.75 of the period" },
	{ "loop = { rate = 1000.0;\n deadline_ticks = 1.5; };", "bad.cfg:2: loop.deadline_ticks is 1.5; it must be an integer from 1 to 1000" },
	{ "loop = { rate = 1e5;\n history = 3000.0; };", "bad.cfg:2: loop.history is 3000 s; at this rate it can be at most 41.94304 s" },
	{ "loop = { rate = 1000.0;\n heartbeat = 1e-4; };", "bad.cfg:2: loop.heartbeat is 0.0001 s; it must be 0 (none) or at least 0.001 s" },
	{ "loop = { rate = [1.0]; };", "bad.cfg:1: loop.rate must be a number or an expression in quotes" },

	/* inputs and outputs */
	{ LOOP "inputs = ( { signl = \"F\"; } );", "bad.cfg:3: inputs[0] has no setting \"signl\"; did you mean signal?" },
	{ LOOP "inputs = ( { unit = \"N\"; } );", "bad.cfg:3: inputs[0] needs signal = \"...\"" },
	{ LOOP "inputs = ( { signal = \"2F\"; } );", "bad.cfg:3: \"2F\" is no name; a name is a letter and up to 30 letters, digits, _ or - more" },
	{ LOOP "inputs = ( { signal = \"F\"; },\n { signal = \"F\"; } );", "bad.cfg:4: the signal F is an input already (line 3); a signal has one writer" },
	{ LOOP "inputs = ( { signal = \"F\";\n unit = \"kilogram metre per second\"; } );", "bad.cfg:4: \"kilogram metre per second\" is no unit; a unit has at most 15 printable letters" },
	{ LOOP "inputs = ( { signal = \"F\";\n unit = 5; } );", "bad.cfg:4: a unit must be a string in quotes" },
	{ LOOP "blocks = ( " PUSH " );\noutputs = ( { signal = \"f\"; max = 1.0; ramp = 1.0; } );",
	  "bad.cfg:4: output f has no min; every output needs min, max and ramp" },
	{ LOOP "blocks = ( " PUSH " );\noutputs = ( { signal = \"f\"; min = 0.0; ramp = 1.0; } );",
	  "bad.cfg:4: output f has no max; every output needs" },
	{ LOOP "blocks = ( " PUSH " );\noutputs = ( { signal = \"f\"; min = 0.0; max = 1.0; } );",
	  "bad.cfg:4: output f has no ramp; every output needs" },
	{ LOOP "blocks = ( " PUSH " );\noutputs = ( { signal = \"f\"; min = 1.0; max = 0.0; ramp = 1.0; } );",
	  "bad.cfg:4: output f has min 1 above max 0" },
	{ LOOP "blocks = ( " PUSH " );\noutputs = ( { signal = \"f\"; min = 1.0; max = 2.0; ramp = 1.0; } );",
	  "bad.cfg:4: output f has safe = 0 by default; it must be from min 1 to max 2" },
	{ LOOP "blocks = ( " PUSH " );\noutputs = ( { signal = \"f\"; min = 0.0; max = 2.0;\nramp = 0.0; } );",
	  "bad.cfg:5: outputs.f.ramp is 0; it must be a number from 1e-09 to 1e+15 1/s" },
	{ LOOP "blocks = ( " PUSH " );\noutputs = ( { signal = \"f\"; min = 0.0; max = 2.0;\nramp = 1e-6; } );",
	  "bad.cfg:5: output f: the ramp is too slow to lead from min to max within" },
	{ LOOP "blocks = ( " PUSH " );\noutputs = ( { signal = \"g\"; } );",
	  "bad.cfg:4: no input and no block writes a signal \"g\"" },

	/* blocks */
	{ LOOP "blocks = ( { name = \"a\"; type = \"furier\"; } );", "bad.cfg:3: there is no block type \"furier\"; did you mean fourier?" },
	{ LOOP "blocks = ( { name = \"a\"; } );", "bad.cfg:3: blocks.a needs type = \"...\"" },
	{ LOOP "blocks = (\n{ type = \"matrix\"; } );", "bad.cfg:4: blocks[0] needs name = \"...\"" },
	{ LOOP "blocks = ( " PUSH ",\n { name = \"push\"; } );", "bad.cfg:4: a second block is called push; choose another name" },
	{ LOOP "blocks = ( { name = \"a\"; type = \"fourier\"; out = [\"f\"];\nomga = 1.0; } );", "bad.cfg:4: blocks.a has no setting \"omga\"; did you mean omega?" },
	{ LOOP "blocks = ( { name = \"a\"; type = \"fourier\"; out = [\"f\"]; } );", "bad.cfg:3: block a needs omega (rad/s): angular frequency" },
	{ LOOP "blocks = ( { name = \"a\"; type = \"fourier\"; out = [\"f\"];\nomega = -1.0; } );", "bad.cfg:4: blocks.a.omega is -1; it must be a number from 0 to 1000000 rad/s" },
	{ LOOP "blocks = ( { name = \"a\"; type = \"fourier\"; out = [\"f\"]; omega = 1.0;\nsubharmonic = 1.5; } );", "bad.cfg:4: blocks.a.subharmonic is 1.5; it must be an integer from 1 to 1024" },
	{ LOOP "blocks = ( { name = \"a\"; type = \"fourier\"; omega = 1.0; } );", "bad.cfg:3: block a has 0 signals in \"out\"; fourier needs 1 to 3" },
	{ LOOP "blocks = ( { name = \"a\"; type = \"pid\"; kp = 1.0;\nin = [\"a\"]; out = [\"u\"]; } );", "bad.cfg:4: block a has 1 signals in \"in\"; pid needs 2" },
	{ LOOP "blocks = ( { name = \"a\"; type = \"limit\"; min = 0.0; max = 1.0; in = [\"f\"]; out = [\"f\", \"g\"]; } );", "bad.cfg:3: block a: wrong number of inputs or outputs; with 1 inputs, 2 outputs they do not fit together" },
	{ LOOP "blocks = ( { name = \"a\"; type = \"matrix\"; out = [\"f\"];\nin = [\"forse\"]; A = 1.0; }, { name = \"b\"; type = \"noise\"; out = [\"force\"]; sigma = 1.0; } );", "bad.cfg:4: no input and no block writes a signal \"forse\"; did you mean force?" },
	{ LOOP "blocks = ( " PUSH ",\n { name = \"b\"; type = \"noise\";\nout = [\"f\"]; sigma = 1.0; } );", "bad.cfg:5: the signal f is written by block push already (line 3); a signal has one writer" },
	{ LOOP "blocks = ( { name = \"a\"; type = \"noise\"; out = [\"f\"]; sigma = 1.0;\nunits = [\"m\", \"N\"]; } );", "bad.cfg:4: block a has 2 units for 1 outputs; give one for each" },
	{ LOOP "blocks = ( { name = \"a\"; type = \"noise\"; sigma = 1.0; out = 5; } );", "bad.cfg:3: blocks.a.out must be an array of strings" },
	{ LOOP "blocks = ( { name = \"a\"; type = \"noise\"; sigma = 1.0; out = [\"f\"];\nkind = \"gausian\"; } );", "bad.cfg:4: blocks.a.kind is \"gausian\"; it must be one of uniform gaussian; did you mean gaussian?" },
	{ LOOP "blocks = ( { name = \"a\"; type = \"matrix\"; in = [\"f\"]; out = [\"f\"];\nA = [1.0, 2.0]; } );", "bad.cfg:4: blocks.a.A has 2 elements; with 1 inputs, 1 outputs it needs 1" },
	{ LOOP "blocks = ( { name = \"a\"; type = \"matrix\"; in = [\"f\", \"f\"]; out = [\"f\"];\nA = ( [1.0, 2.0],\n[3.0] ); } );", "bad.cfg:5: row 2 of A has 1 elements; the first row has 2" },
	{ LOOP "blocks = ( { name = \"a\"; type = \"matrix\"; in = [\"f\", \"f\"]; out = [\"f\"];\nA = ( 1.0,\n[3.0] ); } );", "bad.cfg:5: A mixes rows and numbers" },
	{ LOOP "blocks = ( { name = \"a\"; type = \"state_space\"; out = [\"f\"];\nA = [1.0, 2.0]; C = 1.0; } );", "bad.cfg:4: A of block a has 2 elements; it must be a square matrix" },
	{ LOOP "blocks = ( " PUSH ", { name = \"a\"; type = \"delay\"; in = [\"f\"]; out = [\"g\"]; } );", "bad.cfg:3: blocks.a needs capacity" },
	{ LOOP "blocks = ( " PUSH ", { name = \"a\"; type = \"delay\"; in = [\"f\"]; out = [\"g\"]; capacity = 5;\ndelay = 0.1; } );", "bad.cfg:4: delay of block a: a value is outside its range (at most capacity ticks)" },
	{ LOOP "blocks = ( " PUSH ", { name = \"s\"; type = \"structure\"; in = [\"f\"]; out = [\"g\"];\nM = 0.0; } );", "bad.cfg:4: M of block s: a matrix is singular (mass matrix, row by row); no row may be zero" },
	{ LOOP "blocks = ( " PUSH ", { name = \"s\"; type = \"structure\"; in = [\"f\"]; out = [\"g\"]; M = 1.0;\nK = 5e6; scheme = \"central_difference\"; } );", "bad.cfg:4: K of block s: the integration is unstable at this period (stiffness matrix); a higher rate" },
	{ LOOP "blocks = ( { name = \"t\"; type = \"table\"; out = [\"g\"]; interval = 0.1;\nfile = \"not-there.txt\"; } );", "bad.cfg:4: not-there.txt cannot be read: No such file or directory" },
	{ LOOP "blocks = ( { name = \"t\"; type = \"table\"; out = [\"g\"]; interval = 0.1; samples = [1.0];\ncolumns = [1]; } );", "bad.cfg:4: columns needs file = \"...\"" },
	{ LOOP "blocks = ( { name = \"t\"; type = \"table\"; out = [\"g\"]; interval = 0.1; } );", "bad.cfg:3: block t needs samples" },
	{ LOOP "blocks = (\n{ name = \"a\"; type = \"matrix\"; in = [\"x\"]; out = [\"y\"]; A = 1.0; },\n"
	       "{ name = \"b\"; type = \"matrix\"; in = [\"y\"]; out = [\"z\"]; A = 1.0; },\n"
	       "{ name = \"c\"; type = \"matrix\"; in = [\"z\"]; out = [\"x\"]; A = 1.0; } );",
	  "bad.cfg:4: algebraic loop a -> y -> b -> z -> c -> x -> a; put a block of type unit_delay between two of them, for instance behind x" },

	/* interlocks */
	{ LOOP "blocks = ( " PUSH " );\ninterlocks = ( { name = \"i\"; kind = \"rnge\"; signal = \"f\"; } );", "bad.cfg:4: interlocks.i.kind is \"rnge\"; it must be one of range rate difference rms enable estop scan lost write step missed heartbeat; did you mean range?" },
	{ LOOP "blocks = ( " PUSH " );\ninterlocks = ( { name = \"i\"; kind = \"range\"; signal = \"f\"; } );", "bad.cfg:4: interlock i needs low, high or both" },
	{ LOOP "blocks = ( " PUSH " );\ninterlocks = ( { name = \"i\"; kind = \"range\"; signal = \"f\";\nlow = 2.0; high = 1.0; } );", "bad.cfg:5: interlock i has low 2 above high 1" },
	{ LOOP "blocks = ( " PUSH " );\ninterlocks = ( { name = \"i\"; kind = \"rate\"; signal = \"f\";\nlow = 2.0; high = 1.0; } );", "bad.cfg:5: interlocks.i has no setting \"low\"" },
	{ LOOP "blocks = ( " PUSH " );\ninterlocks = ( { name = \"i\"; kind = \"rate\"; signal = \"f\"; } );", "bad.cfg:4: interlocks.i needs high" },
	{ LOOP "blocks = ( " PUSH " );\ninterlocks = ( { name = \"i\"; kind = \"rms\"; signal = \"f\"; high = 1.0; } );", "bad.cfg:4: interlocks.i needs window (s)" },
	{ LOOP "blocks = ( " PUSH " );\ninterlocks = ( { name = \"i\"; kind = \"difference\"; signal = \"f\"; high = 1.0; } );", "bad.cfg:4: interlocks.i needs other = \"...\"" },
	{ LOOP "blocks = ( " PUSH " );\ninputs = ( { signal = \"x\"; unit = \"m\"; } );\ninterlocks = ( { name = \"i\"; kind = \"difference\"; signal = \"x\";\nother = \"f\"; high = 1.0; } );", "bad.cfg:6: interlock i compares x [m] with f []; their units must be the same" },
	{ LOOP "blocks = ( " PUSH " );\ninterlocks = ( { name = \"i\"; kind = \"rate\"; signal = \"f\"; high = 1.0;\naction = \"stop\"; } );", "bad.cfg:5: interlocks.i.action is \"stop\"; it must be one of ramp hold cut" },
	{ LOOP "inputs = ( { signal = \"f\"; } );\ninterlocks = ( { name = \"i\"; kind = \"enable\"; signal = \"f\";\nhigh = 1.0; } );", "bad.cfg:5: interlocks.i has no setting \"high\"" },
	{ LOOP "inputs = ( { signal = \"f\"; } );\ninterlocks = ( { name = \"i\"; kind = \"estop\"; } );", "bad.cfg:4: interlocks.i needs signal = \"...\"" },
	{ LOOP "inputs = ( { signal = \"f\"; } );\ninterlocks = ( { name = \"i\"; kind = \"estop\"; signal = \"f\";\nlatch = 1; } );", "bad.cfg:5: interlocks.i.latch must be true or false" },
	{ LOOP "inputs = ( { signal = \"f\"; } );\ninterlocks = ( { name = \"i\"; kind = \"scan\"; signal = \"f\"; high = 1; } );", "bad.cfg:4: interlocks.i has no setting \"signal\"" },
	{ LOOP "interlocks = ( { name = \"i\"; kind = \"scan\"; } );", "bad.cfg:3: interlocks.i needs high (ticks)" },
	{ LOOP "interlocks = ( { name = \"i\"; kind = \"lost\"; high = 0.5; } );", "bad.cfg:3: interlocks.i.high is 0.5; it must be an integer from 0 to 1e+09 scans" },
	{ LOOP "interlocks = ( { name = \"i\"; kind = \"write\"; high = -1; } );", "bad.cfg:3: interlocks.i.high is -1; it must be an integer from 0 to 1e+09 ticks" },
	{ LOOP "interlocks = ( { name = \"i\"; kind = \"missed\"; high = 1.5; } );", "bad.cfg:3: interlocks.i.high is 1.5; it must be an integer" },
	{ LOOP "interlocks = ( { name = \"i\"; kind = \"step\"; high = 4000.0; } );", "bad.cfg:3: interlocks.i.high is 4000; it must be a number from 0 to 3600 s" },
	{ "loop = { rate = 1000.0; heartbeat = 0.0; };\ninterlocks = ( { name = \"i\"; kind = \"heartbeat\"; high = 0.1; } );", "bad.cfg:2: interlock i watches the heartbeat, but loop.heartbeat is 0 (none); give it a time" },

	/* where signals meet the world */
	{ "loop = { rate = 1000.0;\nscan_ticks = 0; };", "bad.cfg:2: loop.scan_ticks is 0; it must be an integer from 1 to 1000" },
	{ "loop = { rate = 1000.0;\nwrite_ticks = 1001; };", "bad.cfg:2: loop.write_ticks is 1001; it must be an integer from 1 to 1000" },
	{ LOOP "inputs = ( { signal = \"F\";\ndevize = \"a\"; } );", "bad.cfg:4: inputs.F has no setting \"devize\"; did you mean device?" },
	{ LOOP "inputs = ( { signal = \"F\";\ndevice = \"a\"; } );", "bad.cfg:4: inputs.F has device, but is bound to nothing; it needs channel = \"...\"" },
	{ LOOP "inputs = ( { signal = \"F\";\ngain = 2.0; } );", "bad.cfg:4: inputs.F has gain, but is bound to nothing" },
	{ LOOP "inputs = ( { signal = \"F\";\npoll = true; } );", "bad.cfg:4: inputs.F has poll, but is bound to nothing" },
	{ LOOP "inputs = ( { signal = \"F\"; channel = \"a\";\npoll = 1; } );", "bad.cfg:4: inputs.F.poll must be true or false" },
	{ LOOP "inputs = ( { signal = \"F\"; channel = \"a\";\nline = 1; } );", "bad.cfg:4: inputs.F has line, which needs gpio" },
	{ LOOP "inputs = ( { signal = \"F\"; channel = \"a\";\ngain = 0.0; } );", "bad.cfg:4: inputs.F.gain is 0; it must not be zero" },
	{ LOOP "inputs = ( { signal = \"F\"; channel = \"a\";\nsign = 0; } );", "bad.cfg:4: inputs.F.sign is 0; it must be 1 or -1" },
	{ LOOP "inputs = ( { signal = \"F\"; channel = \"a\";\nsign = 2; } );", "bad.cfg:4: inputs.F.sign is 2; it must be an integer from -1 to 1" },
	{ LOOP "inputs = ( { signal = \"F\";\nchannel = \"\"; } );", "bad.cfg:4: inputs.F.channel is \"\"; it must have 1 to 31 printable letters" },
	{ LOOP "inputs = ( { signal = \"F\"; channel = \"a\";\ndevice = \"\"; } );", "bad.cfg:4: inputs.F.device is \"\"; it must have 1 to 63 printable letters" },
	{ LOOP "inputs = ( { signal = \"F\"; gpio = \"a\"; line = 1;\ndevice = \"b\"; } );", "bad.cfg:4: inputs.F has device, which a GPIO line does not have; remove it, or gpio" },
	{ LOOP "inputs = ( { signal = \"F\"; gpio = \"a\"; line = 1;\npoll = true; } );", "bad.cfg:4: inputs.F has poll, which a GPIO line does not have" },
	{ LOOP "inputs = ( { signal = \"F\"; gpio = \"a\"; } );", "bad.cfg:3: inputs.F needs line" },
	{ LOOP "inputs = ( { signal = \"F\"; gpio = \"a\";\nline = -1; } );", "bad.cfg:4: inputs.F.line is -1; it must be an integer from 0 to 4095" },
	{ LOOP "inputs = ( { signal = \"F\"; gpio = \"\";\nline = 5; } );", "bad.cfg:4: inputs.F.line must be a string in quotes" },
	{ LOOP "blocks = ( " PUSH " );\noutputs = ( { signal = \"f\"; min = 0.0; max = 1.0; ramp = 1.0;\ngpio = \"a\"; } );", "bad.cfg:5: outputs.f has no setting \"gpio\"" },
	{ LOOP "blocks = ( " PUSH " );\noutputs = ( { signal = \"f\"; min = 0.0; max = 1.0; ramp = 1.0;\nsign = -1; } );", "bad.cfg:5: outputs.f has sign, but is bound to nothing" },
	{ LOOP "blocks = ( { name = \"n\"; type = \"noise\"; sigma = 1.0; out = [\"a\", \"b\"]; } );\noutputs = ( { signal = \"a\"; " LIMITS " device = \"d\"; channel = \"c\"; },\n{ signal = \"b\"; " LIMITS " device = \"d\"; channel = \"c\"; } );", "bad.cfg:5: output b: the channel c is driven by output a already (line 4)" },

	/* rigs */
	{ LOOP "rigs = ( { rate = 1000.0; } );", "bad.cfg:3: rigs[0] needs name = \"...\"" },
	{ LOOP "rigs = ( { name = \"r\"; } );", "bad.cfg:3: rigs.r needs rate (Hz)" },
	{ LOOP "rigs = ( { name = \"r\"; rate = 1000.0;\nadk = ( ); } );", "bad.cfg:4: rigs.r has no setting \"adk\"; did you mean adc?" },
	{ LOOP "rigs = ( { name = \"r\"; rate = 1e6; } );", "bad.cfg:3: rigs.r.rate is 1000000; it must be a number from 1 to 100000 Hz" },
	{ LOOP "rigs = ( { name = \"r\"; rate = 1000.0;\nheld = \"yes\"; } );", "bad.cfg:4: rigs.r.held must be true or false" },
	{ LOOP "rigs = ( { name = \"r\"; rate = 1000.0; } );", "bad.cfg:3: a rig needs channels" },
	{ LOOP "rigs = 5;", "bad.cfg:3: rigs must be a list of groups" },
	{ "rigs = 5;", "bad.cfg:1: rigs must be a list of groups" },
	{ "rigs = ( );", "bad.cfg: the group \"loop\" is missing" },
	{ RIG("dac = ( { channel = \"a\"; signal = \"s\"; } );") "blocks = ( );", "bad.cfg: the group \"loop\" is missing" },
	{ RIG("dac = ( { channel = \"a\"; signal = \"s\"; },\n{ channel = \"b\"; signal = \"s\"; } );"), "bad.cfg:2: the signal s is a dac channel already (line 1); a signal has one writer" },
	{ RIG("dac = ( { channel = \"a\"; signal = \"s\"; } );\nadc = ( { channel = \"a\"; signal = \"s\"; } );"), "bad.cfg:2: a second channel of this rig is called a; choose another name" },
	{ RIG("dac = ( { channel = \"a\"; signal = \"s\"; } );\nadc = ( { channel = \"b\"; signal = \"t\"; } );"), "bad.cfg:2: no dac channel and no block writes a signal \"t\"" },
	{ RIG("dac = ( { channel = \"a b\"; signal = \"s\"; } );"), "bad.cfg:1: \"a b\" is no name" },
	{ RIG("dac = ( { signal = \"s\"; } );"), "bad.cfg:1: rigs.r.dac.s needs channel = \"...\"" },
	{ RIG("dac = ( { channel = \"a\"; signal = \"s\"; bits = 33; } );"), "bad.cfg:1: rigs.r.dac.s.bits is 33; it must be an integer from 2 to 32" },
	{ RIG("dac = ( { channel = \"a\"; signal = \"s\"; range = 0.0; } );"), "bad.cfg:1: rigs.r.dac.s.range is 0; it must be a number from 0.001 to 1000 V" },
	{ RIG("dac = ( { channel = \"a\"; signal = \"s\"; range = 0.0015; } );"), "bad.cfg:1: rigs.r.dac.s.range is 0.0015 V; it must be a whole number of mV" },
	{ RIG("dac = ( { channel = \"a\"; signal = \"s\"; noise = 0.1; } );"), "bad.cfg:1: rigs.r.dac.s has no setting \"noise\"" },
	{ RIG("dac = ( { channel = \"a\"; signal = \"s\"; } ); adc = ( { channel = \"b\"; signal = \"s\"; noise = -0.1; } );"), "bad.cfg:1: rigs.r.adc.s.noise is -0.1; it must be a number from 0 to 1000 V" },
	{ RIG("dac = ( { channel = \"a\"; signal = \"s\"; } ); blocks = ( {\nname = \"b\"; type = \"structure\"; in = [\"s\"]; out = [\"x\"]; M = 1.0; K = 5e6; scheme = \"central_difference\"; } );"), "bad.cfg:2: K of block b: the integration is unstable at this period (stiffness matrix); a higher rate" },
	{ "rigs = ( { name = \"r\"; rate = 1.0; dac = ( { channel = \"a\"; signal = \"s\"; } ); },\n{ name = \"r\"; rate = 1.0; dac = ( { channel = \"a\"; signal = \"s\"; } ); } );", "bad.cfg:2: a second rig is called r; choose another name" },
	{ LOOP RIG(CONVERTERS) "inputs = ( { signal = \"F\"; device = \"r\";\nchannel = \"forse\"; } );", "bad.cfg:4: the rig r has no adc channel \"forse\"; it has force angle; did you mean force?" },
	{ LOOP RIG(CONVERTERS) "inputs = ( { signal = \"F\"; device = \"r\"; channel = \"voltage2\"; } );", "bad.cfg:3: the rig r has no adc channel \"voltage2\"; it has force angle" },
	{ LOOP RIG("adc = ( ); dac = ( { channel = \"a\"; signal = \"s\"; } );") "inputs = ( { signal = \"F\"; device = \"r\"; channel = \"a\"; } );", "bad.cfg:3: the rig r has no adc channel \"a\"; it has none" },
	{ LOOP RIG(CONVERTERS) "blocks = ( " PUSH " );\noutputs = ( { signal = \"f\"; " LIMITS " device = \"r\"; channel = \"force\"; } );", "bad.cfg:4: the rig r has no dac channel \"force\"; it has command" },
	{ LOOP RIG(CONVERTERS) "blocks = ( " PUSH " );\noutputs = ( { signal = \"f\"; min = -0.05; ramp = 1.0; device = \"r\"; channel = \"command\"; gain = 0.01;\nmax = 0.15; } );", "bad.cfg:5: output f: max 0.15 needs 15 V at channel command, which has -10 to 10 V; with this gain and offset max can be 0.1 at most" },
	{ LOOP RIG(CONVERTERS) "blocks = ( " PUSH " );\noutputs = ( { signal = \"f\"; max = 0.05; ramp = 1.0; device = \"r\"; channel = \"command\"; gain = 0.01; sign = -1; offset = 0.06;\nmin = -0.05; } );", "bad.cfg:5: output f: min -0.05 needs 11 V at channel command, which has -10 to 10 V; with this gain and offset min can be -0.04 at least" },

	/* record and changes */
	{ LOOP "blocks = ( " PUSH " );\nrecord = [\"f\",\n\"f\"];", "bad.cfg:5: record names the signal f twice" },
	{ LOOP "blocks = ( " PUSH " );\nrecord = [\"g\"];", "bad.cfg:4: no input and no block writes a signal \"g\"" },
	{ LOOP "blocks = ( " PUSH " );\nchanges = ( { at = 1.0; set = [\"push.omga = 1\"]; } );", "bad.cfg:4: block push (fourier) has no field \"omga\"; did you mean omega?" },
	{ LOOP "blocks = ( " PUSH " );\nchanges = ( { at = 1.0; set = [\"pusch.omega = 1\"]; } );", "bad.cfg:4: there is no block \"pusch\"; did you mean push?" },
	{ LOOP "blocks = ( " PUSH " );\nchanges = ( { at = 1.0; set = [\"push.omega = -1\"]; } );", "bad.cfg:4: push.omega must be from 0 to 1000000 rad/s" },
	{ LOOP "blocks = ( " PUSH " );\nchanges = ( { at = 1.0; set = [\"push.omega[1] = 1\"]; } );", "bad.cfg:4: push.omega has one element; write it without an index" },
	{ LOOP "blocks = ( " PUSH " );\nchanges = ( { at = 1.0; set = [\"push.omega\"]; } );", "bad.cfg:4: \"push.omega\" is no change; write \"BLOCK.FIELD = VALUE\"" },
	{ LOOP "blocks = ( " PUSH " );\nchanges = ( { at = 0.0; set = [\"push.omega = 1\"]; } );", "bad.cfg:4: the change at 0 s is before tick 1; set the value in the block instead" },
	{ LOOP "blocks = ( " PUSH " );\nchanges = ( { at = 2.0; set = [\"push.omega = 1\"]; },\n{ at = 1.0; set = [\"push.omega = 1\"]; } );", "bad.cfg:5: this change is not later than the one before it" },
	{ LOOP "blocks = ( " PUSH ", { name = \"d\"; type = \"unit_delay\"; in = [\"f\"]; out = [\"g\"]; } );\nchanges = ( { at = 1.0; set = [\"d.initial = 1\"]; } );", "bad.cfg:4: d.initial: this parameter cannot change" },
	{ LOOP "blocks = ( " PUSH ", { name = \"d\"; type = \"limit\"; in = [\"f\"]; out = [\"g\"]; min = 0.0; max = 1.0; } );\nchanges = ( { at = 1.0;\nset = [\"d.min = 2\"]; } );", "bad.cfg:5: block d would get wrong values: values are not in rising order: min" },
};

TEST(bad_files_are_explained)
{
	struct hytest_message message;
	struct hytest_experiment *e;
	size_t i;

	for (i = 0; i < COUNT(bad); i++) {
		e = parse(bad[i].text, &message);
		EXPECT_EQ(NULL, e)
			TH_LOG("accepted: %s", bad[i].text);
		EXPECT_NE(NULL, strstr(message.text, bad[i].message))
			TH_LOG("said:   %s\nwanted: %s", message.text, bad[i].message);
		EXPECT_EQ(NULL, strchr(message.text, '\n'));
		hytest_experiment_free(e);
	}
	EXPECT_LE(40, i);
}

TEST(expressions_have_their_values)
{
	static const struct {
		const char *text;
		double value;
	} cases[] = {
		{ "1", 1 }, { " 1.5e3 ", 1500 }, { ".5", 0.5 }, { "2+3*4", 14 }, { "(2+3)*4", 20 },
		{ "2-3-4", -5 }, { "16/4/2", 2 }, { "2^3^2", 512 }, { "-2^2", -4 }, { "2^-1", 0.5 },
		{ "--3", 3 }, { "-(1+2)", -3 }, { "2*-3", -6 }, { "pi", 3.14159265358979323846 },
		{ "sqrt(16)", 4 }, { "abs(-7)", 7 }, { "min(3,1,2)", 1 }, { "max(3, 5)", 5 },
		{ "exp(0)", 1 }, { "log(1)", 0 }, { "cos(0)", 1 }, { "sin(0)", 0 },
		{ "x+1", 43 }, { "2*x", 84 },
	};
	static const char *const wrong[] = {
		"", "1 2", "2x", "(1", "1)", "1/0", "sqrt(-1)", "min(1)", "sqrt", "sqrt()", "foo(1)",
		"y", "1e999", "0x10", "*", "2**3", "1,2", "sqrt(1,2)", "1..2",
	};
	struct hytest_message message;
	char deep[400] = "loop = { rate = \"";
	char text[600];
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		struct hytest_experiment *e;
		const struct ht_image_header *h;
		struct ht_image image;

		snprintf(text, sizeof(text),
			 "x = 42; unused = \"x\"; loop = { rate = \"1000 + 0 * unused\"; };\n"
			 "inputs = ( { signal = \"s\"; initial = \"%s\"; } );", cases[i].text);
		e = parse(text, &message);
		ASSERT_NE(NULL, e)
			TH_LOG("%s: %s", cases[i].text, message.text);
		h = hytest_experiment_image(e, NULL);
		ht_image_open(&image, h);
		EXPECT_EQ(cases[i].value, image.signals[0].initial)
			TH_LOG("%s is %.17g", cases[i].text, image.signals[0].initial);
		hytest_experiment_free(e);
	}
	for (i = 0; i < COUNT(wrong); i++) {
		snprintf(text, sizeof(text), "loop = { rate = \"%s\"; };", wrong[i]);
		EXPECT_EQ(NULL, parse(text, &message))
			TH_LOG("accepted %s", wrong[i]);
		EXPECT_NE(NULL, strstr(message.text, "is wrong: "))
			TH_LOG("%s: %s", wrong[i], message.text);
	}
	for (i = 0; i < 200; i++)
		strcat(deep, "(");
	strcat(deep, "\"; };");
	EXPECT_EQ(NULL, parse(deep, &message));
	EXPECT_NE(NULL, strstr(message.text, "nested too deeply"))
		TH_LOG("%s", message.text);
}

TEST(values_defined_by_values_take_no_time)
{
	char text[8192] = "v0 = 1.0;\n";
	struct hytest_message message;
	struct hytest_experiment *e;
	int i;

	/* Without a memory this would take 2^30 evaluations. */
	for (i = 1; i <= 30; i++)
		sprintf(text + strlen(text), "v%d = \"(v%d + v%d) / 2\";\n", i, i - 1, i - 1);
	strcat(text, "loop = { rate = \"1000 * v30\"; };\n");
	e = parse(text, &message);
	ASSERT_NE(NULL, e)
		TH_LOG("%s", message.text);
	EXPECT_EQ(1000000, ((const struct ht_image_header *)hytest_experiment_image(e, NULL))->period_ns);
	hytest_experiment_free(e);
}

TEST(overrides_replace_settings)
{
	static const char *const sets[] = {
		"loop.rate=1000", "K=60", "blocks.msd.M=\"K / 20\"", "outputs.y.max=0.07",
		"inputs.F.initial=2.5", "interlocks.stroke.action=cut", "blocks.[0].A=[3.0, 4.0]",
		"title=New", "blocks.last.A.[1]=\"K * 2\"", "interlocks[1].high=k2/4000",
	};
	struct hytest_message message;
	struct hytest_experiment *e;
	struct ht_image image;
	const char *text;

	e = hytest_experiment_parse(good, "bad.cfg", sets, COUNT(sets), &message);
	ASSERT_NE(NULL, e)
		TH_LOG("%s", message.text);
	ht_image_open(&image, hytest_experiment_image(e, NULL));
	EXPECT_STREQ("New", hytest_experiment_title(e));
	EXPECT_EQ(1000000, image.header->period_ns);
	EXPECT_EQ(3, image.params[0]);
	EXPECT_EQ(120, image.params[2]);
	EXPECT_EQ(3, image.params[8]);
	EXPECT_EQ(120, image.params[9]);
	EXPECT_EQ(0.07, image.outputs[0].max);
	EXPECT_EQ(2.5, image.signals[0].initial);
	EXPECT_EQ(HT_ACTION_CUT, image.interlocks[0].action);
	EXPECT_EQ(0.03, image.interlocks[1].high);
	text = hytest_experiment_text(e);
	EXPECT_EQ(0, strncmp(text, good, strlen(good)));
	EXPECT_EQ(0, strncmp(text + strlen(good), "# --set loop.rate=1000\n# --set K=60\n", 36));
	EXPECT_EQ(strlen(text), image.header->text_size);
	hytest_experiment_free(e);
}

TEST(bad_overrides_are_explained)
{
	static const struct {
		const char *set;
		const char *message;
	} cases[] = {
		{ "loop.rat=5", "bad.cfg: --set loop.rat=5: loop has no \"rat\"; did you mean rate?" },
		{ "k=5", "bad.cfg: --set k=5: the file has no \"k\"; did you mean K?" },
		{ "blocks.mds.K=5", "--set blocks.mds.K=5: blocks has no \"mds\"; did you mean msd?" },
		{ "blocks.[7].K=5", "blocks has no \"7\"" },
		{ "blocks.msd.C=5", "blocks.msd has no \"C\"" },
		{ "K.x=5", "K has no \"x\"" },
		{ "K", "--set K: it must be PATH=VALUE" },
		{ "=5", "it must be PATH=VALUE" },
		{ "K=", "it must be PATH=VALUE" },
		{ ".=5", "it names no setting" },
		{ "K=1; x = 2", "the value is malformed" },
		{ "blocks.last.A=[1.0", "the value is malformed" },
		{ "K=a\nb", "it must not contain control characters" },
		{ "loop.rate=0", "--set loop.rate=0: loop.rate is 0; it must be a number from 1 to 100000 Hz" },
		{ "K=nonsense", "--set K=nonsense: the expression \"nonsense\" is wrong" },
		{ "blocks.last.A=[1.0]", "--set blocks.last.A=[1.0]: blocks.last.A has 1 elements" },
	};
	struct hytest_message message;
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		EXPECT_EQ(NULL, hytest_experiment_parse(good, "bad.cfg", &cases[i].set, 1, &message))
			TH_LOG("accepted %s", cases[i].set);
		EXPECT_NE(NULL, strstr(message.text, cases[i].message))
			TH_LOG("said:   %s\nwanted: %s", message.text, cases[i].message);
	}
}

/* A directory of its own, removed afterwards. */
FIXTURE(files) {
	char directory[64];
	char table[96];
	char experiment[96];
};

FIXTURE_SETUP(files)
{
	strcpy(self->directory, "/tmp/hytest-experiment-XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->directory));
	snprintf(self->table, sizeof(self->table), "%s/table.txt", self->directory);
	snprintf(self->experiment, sizeof(self->experiment), "%s/test.cfg", self->directory);
}

FIXTURE_TEARDOWN(files)
{
	unlink(self->table);
	unlink(self->experiment);
	rmdir(self->directory);
}

static void write_file(const char *path, const char *text, size_t size)
{
	FILE *file = fopen(path, "w");

	fwrite(text, 1, size, file);
	fclose(file);
}

static const char with_table[] =
	"loop = { rate = 1000.0; };\n"
	"blocks = ( { name = \"t\"; type = \"table\"; out = [\"a\", \"b\"]; interval = 0.1;\n"
	"file = \"table.txt\"; columns = [3, 1]; } );\n";

TEST_F(files, table_beside_the_experiment)
{
	static const char rows[] = "# time, x, y\n1, 2, 3\n\n4\t5 6.5 # end\n7;8;-9e1;10\n";
	static const double wanted[] = { 3, 1, 6.5, 4, -90, 7 };
	struct hytest_message message;
	struct hytest_experiment *e;
	struct ht_image image;
	size_t i;

	write_file(self->table, rows, strlen(rows));
	write_file(self->experiment, with_table, strlen(with_table));
	e = hytest_experiment_read(self->experiment, NULL, 0, &message);
	ASSERT_NE(NULL, e)
		TH_LOG("%s", message.text);
	ht_image_open(&image, hytest_experiment_image(e, NULL));
	ASSERT_EQ(COUNT(wanted), image.header->n_data);
	for (i = 0; i < COUNT(wanted); i++)
		EXPECT_EQ(wanted[i], image.data[i]);
	EXPECT_EQ(COUNT(wanted), image.blocks[0].dims[0]);
	hytest_experiment_free(e);
}

TEST_F(files, bad_tables_are_explained)
{
	static const struct {
		const char *rows;
		const char *message;
	} cases[] = {
		{ "1 2 3\n1 2\n", ":2: the line has 2 columns; column 3 is wanted" },
		{ "1 2 3\n1 2 x\n", ":2: a wanted column is not a finite number" },
		{ "1 2 nan\n", ":1: a wanted column is not a finite number" },
		{ "# nothing\n\n", ": the file has no numbers" },
		{ "1 2 1e16\n", "blocks.t.file is 1e+16; it must be a number from -1e+15 to 1e+15" },
	};
	struct hytest_message message;
	char place[128];
	size_t i;

	write_file(self->experiment, with_table, strlen(with_table));
	snprintf(place, sizeof(place), "%s:3: ", self->experiment);
	for (i = 0; i < COUNT(cases); i++) {
		write_file(self->table, cases[i].rows, strlen(cases[i].rows));
		EXPECT_EQ(NULL, hytest_experiment_read(self->experiment, NULL, 0, &message));
		EXPECT_NE(NULL, strstr(message.text, cases[i].message))
			TH_LOG("said:   %s\nwanted: %s", message.text, cases[i].message);
		EXPECT_EQ(0, strncmp(message.text, place, strlen(place)))
			TH_LOG("%s", message.text);
	}
}

TEST_F(files, unreadable_files_are_explained)
{
	struct hytest_message message;
	char *large;

	EXPECT_EQ(NULL, hytest_experiment_read(self->experiment, NULL, 0, &message));
	EXPECT_NE(NULL, strstr(message.text, "test.cfg: cannot be opened: No such file"));
	EXPECT_EQ(NULL, hytest_experiment_read(self->directory, NULL, 0, &message));
	EXPECT_NE(NULL, strstr(message.text, "cannot be read: Is a directory"))
		TH_LOG("%s", message.text);
	write_file(self->experiment, "a\0b", 3);
	EXPECT_EQ(NULL, hytest_experiment_read(self->experiment, NULL, 0, &message));
	EXPECT_NE(NULL, strstr(message.text, "it contains a zero byte"));
	large = calloc(1, HT_MAX_TEXT + 1);
	ASSERT_NE(NULL, large);
	memset(large, ' ', HT_MAX_TEXT + 1);
	write_file(self->experiment, large, HT_MAX_TEXT + 1);
	free(large);
	EXPECT_EQ(NULL, hytest_experiment_read(self->experiment, NULL, 0, &message));
	EXPECT_NE(NULL, strstr(message.text, "at most 1 MiB"));
}

TEST(programs_that_need_absurd_memory_are_refused)
{
	struct hytest_message message;
	char text[4096] = "loop = { rate = 1000.0; };\nblocks = ( { name = \"n\"; type = \"noise\"; "
			  "out = [\"s\"]; sigma = 1.0; }";
	int i;

	for (i = 0; i < 12; i++)
		sprintf(text + strlen(text), ",\n{ name = \"d%d\"; type = \"delay\"; in = [\"s\"]; "
			"out = [\"s%d\"]; capacity = 4194304; }", i, i);
	strcat(text, " );");
	EXPECT_EQ(NULL, parse(text, &message));
	EXPECT_NE(NULL, strstr(message.text, "the program needs 385 MiB of memory; at most 256 MiB"))
		TH_LOG("%s", message.text);
}

static struct hytest_experiment *read_shipped(const char *name, struct hytest_message *message)
{
	char path[PATH_MAX];

	if (shipped_path(name, path, sizeof(path))) {
		snprintf(message->text, sizeof(message->text), "%s is not there", name);
		return NULL;
	}
	return hytest_experiment_read(path, NULL, 0, message);
}

/* Every input of a block is written before, unless the block reads it later. */
static int in_order(const struct ht_image *image)
{
	ht_u8 written[HT_MAX_SIGNALS] = { 0 };
	const ht_u32 *wire = image->wires;
	ht_u32 i, j;

	for (i = 0; i < image->header->n_inputs; i++)
		written[image->inputs[i].signal] = 1;
	for (i = 0; i < image->header->n_blocks; i++) {
		const struct ht_image_block *b = &image->blocks[i];

		for (j = 0; j < b->n_in; j++)
			if (!ht_block_types[b->type]->update && !written[wire[j]])
				return 0;
		for (j = 0; j < b->n_out; j++)
			written[wire[b->n_in + j]] = 1;
		wire += b->n_in + b->n_out;
	}
	return 1;
}

/* Runs it as the sim backend would; number of ticks before it tripped. */
static ht_u64 rehearse(const struct hytest_experiment *e, ht_u64 ticks, double *largest)
{
	const void *bytes = hytest_experiment_image(e, NULL);
	struct ht_loop *loop = calloc(1, ht_loop_bytes(bytes));
	const struct hytest_scheduled *scheduled;
	size_t n = hytest_experiment_schedule(e, &scheduled), next = 0;
	ht_u32 environment = ht_fpenv_enter(), i, n_values;
	struct ht_image image;
	struct ht_error error;
	double *record;
	ht_u64 tick = 0;

	ht_image_open(&image, bytes);
	n_values = image.header->n_records + image.header->n_outputs;
	record = calloc(n_values + 1, sizeof(*record));
	*largest = 0;
	if (ht_loop_init(loop, bytes, &error))
		ticks = 0;
	else
		ht_loop_start(loop);
	for (; tick < ticks; tick++) {
		if (next < n && scheduled[next].tick == tick) {
			if (ht_program_stage(ht_loop_program(loop), scheduled[next].changes,
					     scheduled[next].count, &error))
				break;
			ht_program_commit(ht_loop_program(loop));
			next++;
		}
		ht_loop_tick(loop, tick, record);
		if (ht_loop_mode(loop) != HT_MODE_RUNNING)
			break;
		for (i = 0; i < n_values; i++)
			if (!(fabs(record[i]) <= *largest))
				*largest = fabs(record[i]);
	}
	ht_fpenv_leave(environment);
	free(record);
	free(loop);
	return tick;
}

TEST(shipped_experiments_run_to_their_end)
{
	static const char *const names[] = {
		"first-loop.cfg", "empty-16.cfg", "pendulum-msd.cfg", "every-block.cfg",
	};
	size_t i;

	for (i = 0; i < COUNT(names); i++) {
		struct hytest_message message;
		struct hytest_experiment *e = read_shipped(names[i], &message);
		struct ht_image image;
		double largest, seconds;
		ht_u64 ticks;

		ASSERT_NE(NULL, e)
			TH_LOG("%s", message.text);
		ht_image_open(&image, hytest_experiment_image(e, NULL));
		EXPECT_EQ(1, in_order(&image));
		seconds = hytest_experiment_duration(e);
		ticks = (ht_u64)(seconds / ((double)image.header->period_ns / 1e9) + 0.5);
		if (!ticks)
			ticks = 1000;
		EXPECT_EQ(ticks, rehearse(e, ticks, &largest))
			TH_LOG("%s", names[i]);
		EXPECT_GT(1000, largest)
			TH_LOG("%s", names[i]);
		hytest_experiment_free(e);
	}
}

TEST(every_block_is_in_every_block)
{
	struct hytest_message message;
	struct hytest_experiment *e = read_shipped("every-block.cfg", &message);
	const struct hytest_scheduled *scheduled;
	struct ht_image image;
	ht_u32 type, i;

	ASSERT_NE(NULL, e)
		TH_LOG("%s", message.text);
	ht_image_open(&image, hytest_experiment_image(e, NULL));
	for (type = 0; type < ht_n_block_types; type++) {
		for (i = 0; i < image.header->n_blocks; i++)
			if (image.blocks[i].type == type)
				break;
		EXPECT_NE(i, image.header->n_blocks)
			TH_LOG("%s is not used", ht_block_types[type]->name);
	}
	EXPECT_LE(10, hytest_experiment_schedule(e, &scheduled));
	EXPECT_LE(100000 * 200000ull,
		  (ht_u64)(hytest_experiment_duration(e) * 1e9));
	EXPECT_EQ(200000, image.header->period_ns);
	hytest_experiment_free(e);
}

TEST(every_interlock_is_in_every_block)
{
	struct hytest_message message;
	struct hytest_experiment *e = read_shipped("every-block.cfg", &message);
	struct ht_image image;
	ht_u32 kind, i;

	ASSERT_NE(NULL, e)
		TH_LOG("%s", message.text);
	ht_image_open(&image, hytest_experiment_image(e, NULL));
	for (kind = 0; kind < HT_LOCK_KINDS; kind++) {
		for (i = 0; i < image.header->n_interlocks; i++)
			if (image.interlocks[i].kind == kind)
				break;
		EXPECT_NE(i, image.header->n_interlocks)
			TH_LOG("%s is not used", hytest_lock_kind_text(kind));
	}
	hytest_experiment_free(e);
}

/* Its values, which the issue names, reach the loop and the rig. */
TEST(coupled_pendulum_and_its_values)
{
	static const char *const sets[] = {
		"M=0.21", "C=0.11", "K=210", "m=0.12", "l=0.2", "kappa=8e-3", "a=3.5", "omega=15",
		"delay=0.012",
	};
	static const struct {
		const char *param;
		double value;
	} loop[] = {
		{ "msd.M", 0.21 }, { "msd.C", 0.11 }, { "msd.K", 210 }, { "drive.cos", 3.5 },
		{ "drive.omega", 15 },
	}, rig[] = {
		{ "pendulum.m", 0.12 }, { "pendulum.l", 0.2 }, { "pendulum.kappa", 8e-3 },
		{ "position.delay", 0.012 }, { "acceleration.delay", 0.012 },
	};
	const struct hytest_rig_program *rigs;
	struct hytest_message message;
	struct hytest_experiment *e;
	struct ht_image image;
	char path[PATH_MAX];
	uint32_t param;
	size_t i;

	ASSERT_EQ(0, shipped_path("pendulum-coupled.cfg", path, sizeof(path)));
	e = hytest_experiment_read(path, sets, COUNT(sets), &message);
	ASSERT_NE(NULL, e)
		TH_LOG("%s", message.text);
	ht_image_open(&image, hytest_experiment_image(e, NULL));
	EXPECT_EQ(1, in_order(&image));
	for (i = 0; i < COUNT(loop); i++) {
		ASSERT_EQ(0, hytest_param_find(image.header, loop[i].param, &param))
			TH_LOG("%s", loop[i].param);
		EXPECT_EQ(loop[i].value, image.params[param])
			TH_LOG("%s", loop[i].param);
	}
	ASSERT_EQ(1, hytest_experiment_rigs(e, &rigs));
	ht_image_open(&image, rigs[0].image);
	EXPECT_EQ(1, in_order(&image));
	for (i = 0; i < COUNT(rig); i++) {
		ASSERT_EQ(0, hytest_param_find(image.header, rig[i].param, &param))
			TH_LOG("%s", rig[i].param);
		EXPECT_EQ(rig[i].value, image.params[param])
			TH_LOG("%s", rig[i].param);
	}
	hytest_experiment_free(e);
}

TEST(shipped_rigs_are_in_order)
{
	struct hytest_message message;
	struct hytest_experiment *e = read_shipped("rigs.cfg", &message);
	const struct hytest_rig_program *rigs;
	struct ht_image image;
	size_t n, i;

	ASSERT_NE(NULL, e)
		TH_LOG("%s", message.text);
	EXPECT_EQ(NULL, hytest_experiment_image(e, NULL));
	n = hytest_experiment_rigs(e, &rigs);
	EXPECT_LE(2, n);
	for (i = 0; i < n; i++) {
		ht_image_open(&image, rigs[i].image);
		EXPECT_EQ(1, in_order(&image))
			TH_LOG("%s", rigs[i].name);
	}
	hytest_experiment_free(e);
}

TEST(sixteen_signals_and_no_block)
{
	struct hytest_message message;
	struct hytest_experiment *e = read_shipped("empty-16.cfg", &message);
	const struct ht_image_header *h;

	ASSERT_NE(NULL, e)
		TH_LOG("%s", message.text);
	h = hytest_experiment_image(e, NULL);
	EXPECT_EQ(0, h->n_blocks);
	EXPECT_EQ(16, h->n_records);
	EXPECT_EQ(16, h->n_signals);
	hytest_experiment_free(e);
}

/*
 * Sieber & Krauskopf, section 3: fed back with a delay, the inertia m > M is
 * unstable however short the delay is, m < M is not.
 */
TEST(heavy_pendulum_is_unstable)
{
	static const char *const heavy[] = { "m=0.27" }, *const light[] = { "m=0.19" };
	struct hytest_message message;
	struct hytest_experiment *e;
	char path[PATH_MAX];
	double largest;

	ASSERT_EQ(0, shipped_path("pendulum-msd.cfg", path, sizeof(path)));
	e = hytest_experiment_read(path, heavy, 1, &message);
	ASSERT_NE(NULL, e);
	EXPECT_GT(100, rehearse(e, 5000, &largest));
	hytest_experiment_free(e);
	e = hytest_experiment_read(path, light, 1, &message);
	ASSERT_NE(NULL, e);
	EXPECT_EQ(5000, rehearse(e, 5000, &largest));
	hytest_experiment_free(e);
}

TEST(settings_of_blocks_do_not_collide)
{
	static const char *const common[] = {
		"name", "type", "in", "out", "units", "file", "columns",
	};
	ht_u32 t, i, j;

	for (t = 0; t < ht_n_block_types; t++) {
		const struct ht_block_type *type = ht_block_types[t];

		for (i = 0; i < COUNT(common); i++) {
			for (j = 0; j < type->n_fields; j++)
				EXPECT_STRNE(common[i], type->fields[j].name);
			for (j = 0; j < type->n_dims; j++)
				EXPECT_STRNE(common[i], type->dims[j].name);
		}
		for (i = 0; i < type->n_dims; i++)
			for (j = 0; j < type->n_fields; j++)
				EXPECT_STRNE(type->dims[i].name, type->fields[j].name);
	}
}

TEST(names_of_parameters_lead_back)
{
	struct hytest_message message;
	struct hytest_experiment *e = read_shipped("every-block.cfg", &message);
	const struct ht_image_header *h;
	char name[HYTEST_PARAM_NAME_LEN];
	uint32_t i, found;

	ASSERT_NE(NULL, e)
		TH_LOG("%s", message.text);
	h = hytest_experiment_image(e, NULL);
	for (i = 0; i < h->n_params; i++) {
		ASSERT_EQ(0, hytest_param_name(h, i, name, sizeof(name)));
		ASSERT_EQ(0, hytest_param_find(h, name, &found))
			TH_LOG("%s", name);
		EXPECT_EQ(i, found)
			TH_LOG("%s", name);
	}
	EXPECT_EQ(0, hytest_param_name(h, 0, name, sizeof(name)));
	EXPECT_STREQ("clock.omega", name);
	EXPECT_EQ(-ENOENT, hytest_param_name(h, h->n_params, name, sizeof(name)));
	EXPECT_EQ(-ENOSPC, hytest_param_name(h, 0, name, 5));
	EXPECT_EQ(0, hytest_param_find(h, "demand.cos[1]", &found));
	EXPECT_EQ(0, hytest_param_find(h, "clock.omega[0]", &found));
	EXPECT_EQ(0, found);
	EXPECT_EQ(-ERANGE, hytest_param_find(h, "demand.cos", &found));
	EXPECT_EQ(-ERANGE, hytest_param_find(h, "demand.cos[4]", &found));
	EXPECT_EQ(-ERANGE, hytest_param_find(h, "demand.cos[99999999999999999999]", &found));
	EXPECT_EQ(-EINVAL, hytest_param_find(h, "demand.cos[-1]", &found));
	EXPECT_EQ(-EINVAL, hytest_param_find(h, "demand.cos[1", &found));
	EXPECT_EQ(-EINVAL, hytest_param_find(h, "demand", &found));
	EXPECT_EQ(-ENOENT, hytest_param_find(h, "demand.kos", &found));
	EXPECT_EQ(-ENOENT, hytest_param_find(h, "deman.cos", &found));
	EXPECT_EQ(-ENOENT, hytest_param_find(h, "quake.samples[0]", &found));
	hytest_experiment_free(e);
}

TEST(json_is_json)
{
	static const char wanted[] =
		"{\"a\":\"q\\\"b\\\\\\n\\t\\u0001\\ufffd\xc3\xa9\",\"n\":[1.5,null,0.1,-7,"
		"18446744073709551615,true,null],\"o\":{\"s\":null},\"e\":{}}\n";
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	struct json *json = json_new(stream);

	ASSERT_NE(NULL, json);
	json_object_begin(json, NULL);
	json_string(json, "a", "q\"b\\\n\t\001\xff\xc3\xa9");
	json_array_begin(json, "n");
	json_number(json, NULL, 1.5);
	json_number(json, NULL, NAN);
	json_number(json, NULL, 0.1);
	json_integer(json, NULL, -7);
	json_unsigned(json, NULL, UINT64_MAX);
	json_bool(json, NULL, true);
	json_null(json, NULL);
	json_array_end(json);
	json_object_begin(json, "o");
	json_string(json, "s", NULL);
	json_object_end(json);
	json_object_begin(json, "e");
	EXPECT_EQ(0, json_free(json));
	fclose(stream);
	EXPECT_STREQ(wanted, text);
	free(text);
}

TEST_HARNESS_MAIN
