// SPDX-License-Identifier: GPL-2.0
/*
 * The simulated rig: rig.h.
 *
 * Written from the header. The period is 2^-9 s and the range of converters 8.192 V
 * for 2^13 codes to each side: a code is 1 mV.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "core/fpenv.h"
#include "core/rig.h"
#include "program.h"

#define PERIOD_NS	1953125ull
#define DT		0x1p-9
#define BITS		14
#define RANGE_MV	8192
#define LOW		(-8192)
#define HIGH		8191

/* DACs and ADCs of the rig under test. */
enum { DAC_A, DAC_B };
enum { ADC_WIRE, ADC_COUNT, ADC_SUM, N_ADC };

struct bench {
	struct draft *draft;
	void *image;
	struct ht_rig *rig;
	struct ht_error error;
	ht_u32 fpenv;
};

static void set_range(struct ht_image_channel *c)
{
	c->bits = BITS;
	c->range_mv = RANGE_MV;
}

/*
 * wire = a; count = 1 V at own step 0, 1 V and 1 mV at step 1, ...; sum = a + b of
 * all steps.
 */
static void draft_rig(struct bench *b)
{
	struct draft *d = draft_new_rig(PERIOD_NS);
	ht_u32 a, bb, wire, count, before, sum, sum_before, block, i;

	b->draft = d;
	a = draft_signal(d, "a", 0);
	bb = draft_signal(d, "b", 0.25);
	wire = draft_signal(d, "wire", 0);
	count = draft_signal(d, "count", 0);
	before = draft_signal(d, "before", 0.999);
	sum = draft_signal(d, "sum", 0);
	sum_before = draft_signal(d, "sum-before", 0);
	draft_dac(d, a, "a");
	draft_dac(d, bb, "b");
	draft_adc(d, wire, "wire");
	draft_adc(d, count, "count");
	draft_adc(d, sum, "sum");
	for (i = 0; i < 2; i++)
		set_range(&d->inputs[i].channel);
	for (i = 0; i < N_ADC; i++)
		set_range(&d->outputs[i].channel);
	block = draft_block(d, "matrix", 0, 1, &a, 1, &wire);
	draft_set(d, block, "A", 0, 1);
	block = draft_block(d, "unit_delay", 0, 1, &count, 1, &before);
	draft_set(d, block, "initial", 0, 0.999);
	block = draft_block(d, "matrix", 0, 1, &before, 1, &count);
	draft_set(d, block, "A", 0, 1);
	draft_set(d, block, "b", 0, 0.001);
	draft_block(d, "unit_delay", 0, 1, &sum, 1, &sum_before);
	block = draft_block(d, "matrix", 0, 3, (ht_u32[]){ a, bb, sum_before }, 1, &sum);
	for (i = 0; i < 3; i++)
		draft_set(d, block, "A", i, 1);
}

static int make_rig(struct bench *b)
{
	size_t size;
	int code;

	free(b->image);
	free(b->rig);
	b->rig = NULL;
	b->image = draft_image(b->draft, &size);
	code = ht_image_check(b->image, size, &b->error);
	if (code)
		return code;
	b->rig = calloc(1, ht_rig_bytes(b->image));
	if (!b->rig)
		abort();
	return ht_rig_init(b->rig, b->image, &b->error);
}

FIXTURE(rig) {
	struct bench b;
};

FIXTURE_SETUP(rig)
{
	memset(&self->b, 0, sizeof(self->b));
	self->b.fpenv = ht_fpenv_enter();
	draft_rig(&self->b);
}

FIXTURE_TEARDOWN(rig)
{
	ht_fpenv_leave(self->b.fpenv);
	draft_free(self->b.draft);
	free(self->b.image);
	free(self->b.rig);
}

#define MAKE() do { \
	ASSERT_EQ(HT_OK, make_rig(&self->b)); \
	rig = self->b.rig; \
} while (0)

static void advance(struct ht_rig *rig, ht_u64 step)
{
	while (ht_rig_advance(rig, step, 1000))
		;
}

static ht_s64 read_once(struct ht_rig *rig, ht_u32 output)
{
	const ht_s64 code = ht_rig_read(rig, output);

	ht_rig_end_scan(rig);
	return code;
}

static void fault(struct ht_rig *rig, ht_u32 kind, ht_u32 channel, double value)
{
	ht_rig_fault(rig, kind, channel, &value);
}

/* ----------------------------------------------------------------- time */

TEST_F(rig, new_one_has_step_zero_behind_it)
{
	struct ht_rig *rig;

	MAKE();
	EXPECT_EQ(0, ht_rig_written(rig, DAC_A));
	EXPECT_EQ(250, ht_rig_written(rig, DAC_B));
	EXPECT_EQ(0, read_once(rig, ADC_WIRE));
	EXPECT_EQ(1000, read_once(rig, ADC_COUNT));
	EXPECT_EQ(250, read_once(rig, ADC_SUM));
	/* The first call only sets the clock. */
	EXPECT_EQ(0, ht_rig_advance(rig, 1000000000000ull, 10));
	EXPECT_EQ(1000, read_once(rig, ADC_COUNT));
	EXPECT_EQ(0, ht_rig_advance(rig, 1000000000001ull, 10));
	EXPECT_EQ(1001, read_once(rig, ADC_COUNT));
	/* Time never goes back. */
	EXPECT_EQ(0, ht_rig_advance(rig, 1000000000000ull, 10));
	EXPECT_EQ(0, ht_rig_advance(rig, 0, 10));
	EXPECT_EQ(1001, read_once(rig, ADC_COUNT));
	EXPECT_EQ(0, ht_rig_advance(rig, 1000000000003ull, 10));
	EXPECT_EQ(1003, read_once(rig, ADC_COUNT));
}

TEST_F(rig, a_code_acts_from_the_next_step_on)
{
	struct ht_rig *rig;

	MAKE();
	advance(rig, 100);
	ht_rig_write(rig, DAC_A, 700);
	EXPECT_EQ(700, ht_rig_written(rig, DAC_A));
	EXPECT_EQ(0, read_once(rig, ADC_WIRE));
	advance(rig, 100);
	EXPECT_EQ(0, read_once(rig, ADC_WIRE));
	advance(rig, 101);
	EXPECT_EQ(700, read_once(rig, ADC_WIRE));
	/* Only the last of a step counts. */
	ht_rig_write(rig, DAC_A, 1);
	ht_rig_write(rig, DAC_A, -5);
	EXPECT_EQ(700, read_once(rig, ADC_WIRE));
	advance(rig, 105);
	EXPECT_EQ(-5, read_once(rig, ADC_WIRE));
	/* 250 at steps 0 to 5, 700 at step 1, -5 at steps 2 to 5 */
	EXPECT_EQ(6 * 250 + 700 - 4 * 5, read_once(rig, ADC_SUM));
	EXPECT_EQ(1005, read_once(rig, ADC_COUNT));
}

TEST_F(rig, advances_in_pieces_as_at_once)
{
	struct ht_rig *rig;
	ht_s64 code[2][N_ADC];
	ht_u32 i, way, n;

	for (way = 0; way < 2; way++) {
		MAKE();
		advance(rig, 50);
		ht_rig_write(rig, DAC_A, 3);
		ht_rig_write(rig, DAC_B, -2);
		if (way) {
			EXPECT_EQ(0, ht_rig_advance(rig, 1050, ~0ull));
		} else {
			for (n = 993; n > 7; n -= 7)
				EXPECT_EQ(n, ht_rig_advance(rig, 1050, 7));
			EXPECT_EQ(n, ht_rig_advance(rig, 1050, 7));
			EXPECT_EQ(n, ht_rig_advance(rig, 1050, 0));
			EXPECT_EQ(0, ht_rig_advance(rig, 1050, 7));
		}
		for (i = 0; i < N_ADC; i++)
			code[way][i] = ht_rig_read(rig, i);
	}
	EXPECT_EQ(2000, code[0][ADC_COUNT]);
	EXPECT_EQ(250 + 1000, code[0][ADC_SUM]);
	EXPECT_EQ(0, memcmp(code[0], code[1], sizeof(code[0])));
}

TEST_F(rig, reset_is_new_but_for_the_clock)
{
	struct ht_rig *rig;

	MAKE();
	advance(rig, 10);
	ht_rig_write(rig, DAC_A, 5);
	ht_rig_write(rig, DAC_B, 6);
	advance(rig, 20);
	fault(rig, HT_FAULT_STUCK, ADC_SUM, 0);
	fault(rig, HT_FAULT_RUNAWAY, DAC_A, 1);
	ht_rig_reset(rig);
	EXPECT_EQ(HT_FAULT_NONE, ht_rig_adc_fault(rig, ADC_SUM));
	EXPECT_EQ(HT_FAULT_NONE, ht_rig_dac_fault(rig, DAC_A));
	EXPECT_EQ(0, ht_rig_written(rig, DAC_A));
	EXPECT_EQ(250, ht_rig_written(rig, DAC_B));
	EXPECT_EQ(1000, read_once(rig, ADC_COUNT));
	EXPECT_EQ(250, read_once(rig, ADC_SUM));
	advance(rig, 20);
	EXPECT_EQ(1000, read_once(rig, ADC_COUNT));
	advance(rig, 22);
	EXPECT_EQ(1002, read_once(rig, ADC_COUNT));
	EXPECT_EQ(750, read_once(rig, ADC_SUM));
}

/* ----------------------------------------------------------------- held */

TEST_F(rig, held_until_a_code_differs_from_the_first)
{
	struct ht_rig *rig;
	int round;

	self->b.draft->header.flags = HT_IMAGE_HELD;
	MAKE();
	for (round = 0; round < 2; round++) {
		const ht_u64 t = 1000 * round;

		EXPECT_EQ(0, ht_rig_advance(rig, t + 10, 1));
		/* However long: it takes no work. */
		EXPECT_EQ(0, ht_rig_advance(rig, t + 500, 1));
		EXPECT_EQ(1000, read_once(rig, ADC_COUNT));
		EXPECT_EQ(250, read_once(rig, ADC_SUM));
		/* The first write of each is where it waits. */
		ht_rig_write(rig, DAC_A, 40);
		EXPECT_EQ(40, read_once(rig, ADC_WIRE));
		EXPECT_EQ(290, read_once(rig, ADC_SUM));
		advance(rig, t + 510);
		ht_rig_write(rig, DAC_A, 40);
		ht_rig_write(rig, DAC_B, 3);
		EXPECT_EQ(43, read_once(rig, ADC_SUM));
		advance(rig, t + 520);
		ht_rig_write(rig, DAC_B, 3);
		advance(rig, t + 530);
		EXPECT_EQ(1000, read_once(rig, ADC_COUNT));
		EXPECT_EQ(43, read_once(rig, ADC_SUM));
		/* It goes. Own step 0 is that of the clock now. */
		ht_rig_write(rig, DAC_B, 4);
		EXPECT_EQ(1000, read_once(rig, ADC_COUNT));
		EXPECT_EQ(43, read_once(rig, ADC_SUM));
		advance(rig, t + 531);
		EXPECT_EQ(1001, read_once(rig, ADC_COUNT));
		EXPECT_EQ(43 + 44, read_once(rig, ADC_SUM));
		/* It does not stop where it began. */
		ht_rig_write(rig, DAC_B, 3);
		EXPECT_EQ(2, ht_rig_advance(rig, t + 535, 2));
		EXPECT_EQ(1003, read_once(rig, ADC_COUNT));
		EXPECT_EQ(0, ht_rig_advance(rig, t + 535, 2));
		EXPECT_EQ(1005, read_once(rig, ADC_COUNT));
		ht_rig_reset(rig);
	}
}

/* A first write that is what it has already is a first write. */
TEST_F(rig, held_by_the_initial_code)
{
	struct ht_rig *rig;

	self->b.draft->header.flags = HT_IMAGE_HELD;
	MAKE();
	advance(rig, 10);
	ht_rig_write(rig, DAC_B, 250);
	advance(rig, 20);
	EXPECT_EQ(1000, read_once(rig, ADC_COUNT));
	ht_rig_write(rig, DAC_B, 251);
	advance(rig, 30);
	EXPECT_EQ(1010, read_once(rig, ADC_COUNT));
	/* The first write of another is an ordinary one now. */
	ht_rig_write(rig, DAC_A, 8);
	advance(rig, 31);
	EXPECT_EQ(8, read_once(rig, ADC_WIRE));
	EXPECT_EQ(1011, read_once(rig, ADC_COUNT));
}

/* ----------------------------------------------------------- converters */

TEST_F(rig, codes_are_clamped)
{
	struct ht_rig *rig;

	/* The wire in the middle gets 10 times as much as the ADC can show. */
	self->b.draft->inputs[DAC_A].channel.gain = 10;
	MAKE();
	advance(rig, 1);
	ht_rig_write(rig, DAC_A, HIGH + 1);
	EXPECT_EQ(HIGH, ht_rig_written(rig, DAC_A));
	advance(rig, 2);
	EXPECT_EQ(HIGH, read_once(rig, ADC_WIRE));
	ht_rig_write(rig, DAC_A, LOW - 1);
	EXPECT_EQ(LOW, ht_rig_written(rig, DAC_A));
	advance(rig, 3);
	EXPECT_EQ(LOW, read_once(rig, ADC_WIRE));
	ht_rig_write(rig, DAC_A, 0x7fffffffffffffffll);
	EXPECT_EQ(HIGH, ht_rig_written(rig, DAC_A));
	ht_rig_write(rig, DAC_A, 800);
	advance(rig, 4);
	EXPECT_EQ(8000, read_once(rig, ADC_WIRE));
}

/* signal = gain * V + offset at both ends. */
TEST_F(rig, calibration_of_both_sides)
{
	struct ht_image_channel *dac = &self->b.draft->inputs[DAC_A].channel;
	struct ht_image_channel *adc = &self->b.draft->outputs[ADC_WIRE].channel;
	struct ht_rig *rig;
	ht_s64 code;

	dac->gain = -0.01;
	dac->offset = 0.3;
	adc->gain = 0.05;
	adc->offset = -0.1;
	self->b.draft->signals[0].initial = 0.31;	/* -1 V */
	MAKE();
	EXPECT_EQ(-1000, ht_rig_written(rig, DAC_A));
	/* (0.31 + 0.1) / 0.05 = 8.2, beyond the range */
	EXPECT_EQ(HIGH, read_once(rig, ADC_WIRE));
	advance(rig, 0);
	for (code = 0; code <= 8000; code += 500) {
		const double position = 0.3 - 0.01 * code / 1000;

		ht_rig_write(rig, DAC_A, code);
		advance(rig, 1 + code);
		EXPECT_EQ(lround((position + 0.1) / 0.05 * 1000), read_once(rig, ADC_WIRE));
	}
}

TEST_F(rig, every_resolution)
{
	struct ht_rig *rig;
	ht_u32 bits;

	for (bits = 2; bits <= 32; bits++) {
		const ht_s64 half = 1ll << (bits - 1);

		self->b.draft->inputs[DAC_A].channel.bits = bits;
		self->b.draft->outputs[ADC_WIRE].channel.bits = bits;
		MAKE();
		advance(rig, 0);
		ht_rig_write(rig, DAC_A, 1ll << 40);
		EXPECT_EQ(half - 1, ht_rig_written(rig, DAC_A));
		advance(rig, 1);
		EXPECT_EQ(half - 1, read_once(rig, ADC_WIRE));
		ht_rig_write(rig, DAC_A, -(1ll << 40));
		advance(rig, 2);
		EXPECT_EQ(-half, read_once(rig, ADC_WIRE));
		ht_rig_write(rig, DAC_A, half / 3);
		advance(rig, 3);
		EXPECT_EQ(half / 3, read_once(rig, ADC_WIRE));
	}
}

TEST_F(rig, tells_iio_its_scale)
{
	const struct ht_image_channel image = { .bits = 16, .range_mv = 10000, .gain = 7 };
	const struct ht_image_channel volts = { .gain = 1 };
	struct ht_converter c;
	struct ht_channel channel;

	ht_rig_converter(&image, &c);
	EXPECT_EQ(-32768, c.low_code);
	EXPECT_EQ(32767, c.high_code);
	EXPECT_EQ(10000.0 / 32768, ht_number_value(&c.scale));
	EXPECT_EQ(0, ht_number_value(&c.offset));
	EXPECT_EQ(0.001, ht_number_value(&c.unit));
	ASSERT_EQ(HT_OK, ht_channel_init(&channel, &c, &volts));
	EXPECT_TRUE(fabs(10 - ht_channel_signal(&channel, 32768)) < 1e-14);
}

/* A loop that reads what the rig says gets what the rig meant. */
TEST_F(rig, loop_and_rig_agree)
{
	struct ht_image_channel image = self->b.draft->outputs[ADC_WIRE].channel;
	struct ht_converter converter;
	struct ht_channel channel;
	struct ht_rig *rig;
	double signal;
	int k;

	MAKE();
	ht_rig_converter(&image, &converter);
	ASSERT_EQ(HT_OK, ht_channel_init(&channel, &converter, &image));
	advance(rig, 0);
	for (k = 0; k < 1000; k++) {
		const double command = 7 * sin(k);
		const ht_s64 code = ht_channel_code(&channel, command);

		ht_rig_write(rig, DAC_A, code);
		advance(rig, k + 1);
		signal = ht_channel_signal(&channel, read_once(rig, ADC_WIRE));
		EXPECT_EQ(ht_channel_signal(&channel, code), signal);
		EXPECT_TRUE(fabs(command - signal) <= 0.0005 + 1e-12);
	}
}

/* ---------------------------------------------------------------- noise */

#define N_NOISE	20000

TEST_F(rig, noise_has_its_rms_and_is_white)
{
	struct ht_image_channel *adc = &self->b.draft->outputs[ADC_WIRE].channel;
	double sum = 0, squares = 0, products = 0, across = 0, before = 0, value, other;
	struct ht_rig *rig;
	int k, beyond = 0;

	adc->noise = 0.1;
	self->b.draft->outputs[ADC_SUM].channel.noise = 0.1;
	self->b.draft->signals[1].initial = 0;
	MAKE();
	for (k = 0; k < N_NOISE; k++) {
		advance(rig, k);
		value = ht_rig_read(rig, ADC_WIRE) / 1000.0;
		other = ht_rig_read(rig, ADC_SUM) / 1000.0;
		ht_rig_end_scan(rig);
		sum += value;
		squares += value * value;
		products += value * before;
		across += value * other;
		before = value;
		beyond += fabs(value) > 0.2;
	}
	/* Five standard deviations of each estimate. */
	EXPECT_TRUE(fabs(sum / N_NOISE) < 5 * 0.1 / sqrt(N_NOISE));
	EXPECT_TRUE(fabs(sqrt(squares / N_NOISE) - 0.1) < 5 * 0.1 / sqrt(2.0 * N_NOISE));
	EXPECT_TRUE(fabs(products / N_NOISE) < 5 * 0.01 / sqrt(N_NOISE));
	EXPECT_TRUE(fabs(across / N_NOISE) < 5 * 0.01 / sqrt(N_NOISE));
	/* 4.55 % of a normal distribution */
	EXPECT_TRUE(fabs((double)beyond / N_NOISE - 0.0455) < 5 * sqrt(0.0455 / N_NOISE));
}

/* The same sample, whoever reads it, how often, and after what. */
TEST_F(rig, noise_belongs_to_the_sample)
{
	ht_s64 code[100];
	struct ht_rig *rig;
	int k, differ = 0;

	self->b.draft->outputs[ADC_WIRE].channel.noise = 0.1;
	MAKE();
	for (k = 0; k < 100; k++) {
		advance(rig, 70 + k);
		code[k] = read_once(rig, ADC_WIRE);
		EXPECT_EQ(code[k], read_once(rig, ADC_WIRE));
		differ += k && code[k] != code[k - 1];
	}
	EXPECT_GT(differ, 90);
	/* By its own steps, not by the clock. */
	MAKE();
	advance(rig, 123456789);
	for (k = 0; k < 100; k += 3) {
		advance(rig, 123456789 + k);
		EXPECT_EQ(code[k], read_once(rig, ADC_WIRE));
	}
	ht_rig_reset(rig);
	EXPECT_EQ(code[0], read_once(rig, ADC_WIRE));
	/* While it is held the sample stays the same. */
	self->b.draft->header.flags = HT_IMAGE_HELD;
	MAKE();
	advance(rig, 5);
	code[0] = read_once(rig, ADC_WIRE);
	advance(rig, 5000);
	EXPECT_EQ(code[0], read_once(rig, ADC_WIRE));
}

/* --------------------------------------------------------------- faults */

static void prepare(struct ht_rig *rig)
{
	advance(rig, 0);
	ht_rig_write(rig, DAC_A, 2000);
	advance(rig, 10);
}

TEST_F(rig, stuck_keeps_the_code)
{
	struct ht_rig *rig;

	MAKE();
	prepare(rig);
	fault(rig, HT_FAULT_STUCK, ADC_COUNT, 0);
	EXPECT_EQ(HT_FAULT_STUCK, ht_rig_adc_fault(rig, ADC_COUNT));
	EXPECT_EQ(HT_FAULT_NONE, ht_rig_adc_fault(rig, ADC_WIRE));
	advance(rig, 50);
	EXPECT_EQ(1010, read_once(rig, ADC_COUNT));
	EXPECT_EQ(2000, read_once(rig, ADC_WIRE));
	/* Once more, where it is. */
	fault(rig, HT_FAULT_STUCK, ADC_COUNT, 0);
	EXPECT_EQ(1010, read_once(rig, ADC_COUNT));
	ht_rig_fault(rig, HT_FAULT_NONE, ADC_COUNT, NULL);
	EXPECT_EQ(1050, read_once(rig, ADC_COUNT));
	/* With noise, too. */
	self->b.draft->outputs[ADC_COUNT].channel.noise = 0.1;
	MAKE();
	prepare(rig);
	fault(rig, HT_FAULT_STUCK, ADC_COUNT, 0);
	EXPECT_EQ(read_once(rig, ADC_COUNT), (advance(rig, 11), read_once(rig, ADC_COUNT)));
}

TEST_F(rig, dropout_reads_zero_volts)
{
	struct ht_rig *rig;

	self->b.draft->outputs[ADC_WIRE].channel.offset = 0.5;
	self->b.draft->outputs[ADC_WIRE].channel.noise = 0.1;
	MAKE();
	prepare(rig);
	fault(rig, HT_FAULT_DROPOUT, ADC_WIRE, 0);
	EXPECT_EQ(0, read_once(rig, ADC_WIRE));
	advance(rig, 11);
	EXPECT_EQ(0, read_once(rig, ADC_WIRE));
	ht_rig_fault(rig, HT_FAULT_NONE, ADC_WIRE, NULL);
	EXPECT_NE(0, read_once(rig, ADC_WIRE));
}

TEST_F(rig, spike_is_part_of_one_sample)
{
	struct ht_rig *rig;

	MAKE();
	prepare(rig);
	fault(rig, HT_FAULT_SPIKE, ADC_WIRE, -3.5);
	/* A scan without this channel does not end it. */
	EXPECT_EQ(1010, read_once(rig, ADC_COUNT));
	EXPECT_EQ(HT_FAULT_SPIKE, ht_rig_adc_fault(rig, ADC_WIRE));
	EXPECT_EQ(-1500, ht_rig_read(rig, ADC_WIRE));
	EXPECT_EQ(-1500, ht_rig_read(rig, ADC_WIRE));
	ht_rig_end_scan(rig);
	EXPECT_EQ(HT_FAULT_NONE, ht_rig_adc_fault(rig, ADC_WIRE));
	EXPECT_EQ(2000, read_once(rig, ADC_WIRE));
	fault(rig, HT_FAULT_SPIKE, ADC_WIRE, 100);
	EXPECT_EQ(HIGH, read_once(rig, ADC_WIRE));
	EXPECT_EQ(2000, read_once(rig, ADC_WIRE));
	/* One that comes amid a scan, too late for it, is part of the next. */
	EXPECT_EQ(2000, ht_rig_read(rig, ADC_WIRE));
	fault(rig, HT_FAULT_SPIKE, ADC_WIRE, 1);
	ht_rig_end_scan(rig);
	EXPECT_EQ(3000, read_once(rig, ADC_WIRE));
	EXPECT_EQ(2000, read_once(rig, ADC_WIRE));
}

TEST_F(rig, drift_grows)
{
	struct ht_rig *rig;

	MAKE();
	prepare(rig);
	fault(rig, HT_FAULT_DRIFT, ADC_WIRE, 0.512);	/* 1 mV a step */
	EXPECT_EQ(2000, read_once(rig, ADC_WIRE));
	advance(rig, 11);
	EXPECT_EQ(2001, read_once(rig, ADC_WIRE));
	advance(rig, 110);
	EXPECT_EQ(2100, read_once(rig, ADC_WIRE));
	fault(rig, HT_FAULT_DRIFT, ADC_WIRE, -1.024);
	advance(rig, 210);
	EXPECT_EQ(1800, read_once(rig, ADC_WIRE));
	/* A sensor drifts while the rig is held, too. */
	self->b.draft->header.flags = HT_IMAGE_HELD;
	MAKE();
	fault(rig, HT_FAULT_DRIFT, ADC_WIRE, 0.512);
	advance(rig, 100000);
	EXPECT_EQ(0, read_once(rig, ADC_WIRE));
	advance(rig, 100007);
	EXPECT_EQ(7, read_once(rig, ADC_WIRE));
}

TEST_F(rig, sign_turns_about_zero_volts)
{
	struct ht_rig *rig;

	self->b.draft->outputs[ADC_WIRE].channel.offset = 0.5;
	MAKE();
	prepare(rig);
	EXPECT_EQ(1500, read_once(rig, ADC_WIRE));
	fault(rig, HT_FAULT_SIGN, ADC_WIRE, 0);
	EXPECT_EQ(-1500, read_once(rig, ADC_WIRE));
	advance(rig, 20);
	EXPECT_EQ(-1500, read_once(rig, ADC_WIRE));
}

TEST_F(rig, saturation_limits_the_actuator)
{
	struct ht_rig *rig;
	ht_s64 code;

	MAKE();
	prepare(rig);
	fault(rig, HT_FAULT_SATURATION, DAC_A, 1.5);
	EXPECT_EQ(HT_FAULT_SATURATION, ht_rig_dac_fault(rig, DAC_A));
	EXPECT_EQ(HT_FAULT_NONE, ht_rig_dac_fault(rig, DAC_B));
	EXPECT_EQ(2000, read_once(rig, ADC_WIRE));
	for (code = -3000; code <= 3000; code += 100) {
		ht_rig_write(rig, DAC_A, code);
		EXPECT_EQ(code, ht_rig_written(rig, DAC_A));
		advance(rig, 5000 + code);
		EXPECT_EQ(code > 1500 ? 1500 : code < -1500 ? -1500 : code,
			  read_once(rig, ADC_WIRE));
	}
	ht_rig_fault(rig, HT_FAULT_NONE, DAC_A, NULL);
	EXPECT_EQ(HT_FAULT_NONE, ht_rig_dac_fault(rig, DAC_A));
	advance(rig, 8001);
	EXPECT_EQ(3000, read_once(rig, ADC_WIRE));
}

TEST_F(rig, runaway_leaves_whatever_is_written)
{
	struct ht_rig *rig;
	ht_u32 k;

	self->b.draft->inputs[DAC_A].channel.gain = 0.5;
	MAKE();
	prepare(rig);
	EXPECT_EQ(1000, read_once(rig, ADC_WIRE));
	fault(rig, HT_FAULT_RUNAWAY, DAC_A, 5.12);	/* 10 mV a step, half of it at the ADC */
	EXPECT_EQ(1000, read_once(rig, ADC_WIRE));
	for (k = 1; k < 200; k++) {
		ht_rig_write(rig, DAC_A, -100 * (ht_s64)k);
		advance(rig, 10 + k);
		EXPECT_EQ(1000 + 5 * k, read_once(rig, ADC_WIRE));
	}
	/* As far as the converter's range. */
	advance(rig, 10000);
	EXPECT_EQ(4096, read_once(rig, ADC_WIRE));
	/* A second one begins where the actuator is; then it obeys again. */
	fault(rig, HT_FAULT_RUNAWAY, DAC_A, -5.12);
	advance(rig, 10010);
	EXPECT_EQ(4096 - 50, read_once(rig, ADC_WIRE));
	ht_rig_write(rig, DAC_A, 600);
	ht_rig_fault(rig, HT_FAULT_NONE, DAC_A, NULL);
	advance(rig, 10011);
	EXPECT_EQ(300, read_once(rig, ADC_WIRE));
}

/* Somebody holds it: an actuator cannot run away either. */
TEST_F(rig, runaway_begins_when_the_rig_is_let_go)
{
	struct ht_rig *rig;

	self->b.draft->header.flags = HT_IMAGE_HELD;
	MAKE();
	advance(rig, 0);
	fault(rig, HT_FAULT_RUNAWAY, DAC_A, 0.512);
	advance(rig, 100);
	ht_rig_write(rig, DAC_A, 0);
	ht_rig_write(rig, DAC_B, 0);
	advance(rig, 200);
	EXPECT_EQ(0, read_once(rig, ADC_WIRE));
	ht_rig_write(rig, DAC_B, 1);
	advance(rig, 203);
	EXPECT_EQ(3, read_once(rig, ADC_WIRE));
}

TEST_F(rig, faults_of_channels_that_do_not_exist)
{
	struct ht_rig *rig;
	ht_u32 kind;

	MAKE();
	prepare(rig);
	for (kind = 0; kind < HT_FAULTS; kind++) {
		fault(rig, kind, 3, 1);
		fault(rig, kind, 0xffffffff, 1);
	}
	EXPECT_EQ(2000, read_once(rig, ADC_WIRE));
	/* None: of the ADC and of the DAC with this number. */
	fault(rig, HT_FAULT_SATURATION, 1, 1);
	fault(rig, HT_FAULT_STUCK, 1, 1);
	fault(rig, HT_FAULT_STUCK, 2, 1);
	ht_rig_fault(rig, HT_FAULT_NONE, 1, NULL);
	EXPECT_EQ(HT_FAULT_NONE, ht_rig_dac_fault(rig, 1));
	EXPECT_EQ(HT_FAULT_NONE, ht_rig_adc_fault(rig, 1));
	EXPECT_EQ(HT_FAULT_STUCK, ht_rig_adc_fault(rig, 2));
}

TEST_F(rig, bad_parameters_are_refused_by_init)
{
	draft_set(self->b.draft, 0, "A", 0, NAN);
	EXPECT_EQ(HT_ERR_NOT_FINITE, make_rig(&self->b));
	EXPECT_EQ(HT_AT_BLOCK, self->b.error.where);
}

TEST_F(rig, its_program_can_be_seen)
{
	struct ht_rig *rig;

	MAKE();
	prepare(rig);
	EXPECT_EQ(2.0, ht_program_signals(ht_rig_program(rig))[0]);
}

TEST(words_of_faults)
{
	static const char *const words[HT_FAULTS] = {
		"none", "stuck", "dropout", "spike", "drift", "sign", "saturation", "runaway"
	};
	ht_u32 i;

	for (i = 0; i < HT_FAULTS; i++) {
		EXPECT_STREQ(words[i], ht_fault_name(i));
		EXPECT_EQ(i == HT_FAULT_SATURATION || i == HT_FAULT_RUNAWAY,
			  ht_fault_is_for_dac(i));
	}
	EXPECT_NE(NULL, ht_fault_name(HT_FAULTS));
	EXPECT_FALSE(ht_fault_is_for_dac(HT_FAULTS));
}

TEST(numbers_without_strtod)
{
	static const char *const good[] = {
		"0", "-0", "1", "-1.5", "+2.25", "0.02", ".5", "5.", "-.125", "1e-3", "1E3", "2e+2",
		"123456789012345678", "0.1", "3.141592653589793", "00000000000000000000001.5",
		"-0.000001", "9007199254740993", "1.5e-10", "1e22", "0.30000000000000004",
	};
	static const char *const bad[] = {
		"", "-", "+", ".", "-.", "e3", "1e", "1e-", "1x", " 1", "1 ", "--1", "1..2", "1.2.3",
		"nan", "inf", "0x10", "1e99", "1e-99", "1e23", "1,5", "1e1.5",
		"1234567890123456789012", "1e4294967297",
	};
	double value;
	ht_u32 i;

	for (i = 0; i < HT_COUNT(good); i++) {
		const double expected = strtod(good[i], NULL);

		value = 77;
		EXPECT_EQ(1, ht_rig_number(good[i], &value)) {
			TH_LOG("'%s'", good[i]);
		}
		EXPECT_TRUE(fabs(value - expected) <= 0x1p-52 * fabs(expected)) {
			TH_LOG("'%s' is %.17g", good[i], value);
		}
	}
	for (i = 0; i < HT_COUNT(bad); i++) {
		value = 77;
		EXPECT_EQ(0, ht_rig_number(bad[i], &value)) {
			TH_LOG("'%s'", bad[i]);
		}
		EXPECT_EQ(77, value);
	}
	/* Up to 15 digits it is the nearest double. */
	EXPECT_EQ(1, ht_rig_number("-1234.56789", &value));
	EXPECT_EQ(-1234.56789, value);
	EXPECT_EQ(1, ht_rig_number("0.000000001", &value));
	EXPECT_EQ(1e-9, value);
}

TEST_HARNESS_MAIN
