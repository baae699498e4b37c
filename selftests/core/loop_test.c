// SPDX-License-Identifier: GPL-2.0
/*
 * Image validation, program executor and loop.
 *
 * Written from the headers of the core and the design alone, not from the
 * code under test: what must come out is computed here, by the definition.
 * The period is 2^-9 s, a number without rounding, so that rates times the
 * period are exact and so are most comparisons.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "core/fpenv.h"
#include "core/loop.h"
#include "program.h"

#define PERIOD_NS	1953125ull
#define DT		0x1p-9
#define MAX_INPUTS	8

#define EXPECT_NEAR(expected, seen, tolerance) do { \
	const double near_e = (expected), near_s = (seen); \
	EXPECT_TRUE(fabs(near_e - near_s) <= (tolerance)) { \
		TH_LOG("expected %.17g, seen %.17g", near_e, near_s); \
	} \
} while (0)

#define EXPECT_SAME(expected, seen) EXPECT_NEAR(expected, seen, 0.0)

/* A program under construction, then its image, then the loop on it. */
struct bench {
	struct draft *draft;
	void *image;
	size_t size;
	void *memory;
	struct ht_loop *loop;
	struct ht_program *program;	/* without a loop */
	struct ht_error error;
	double in[MAX_INPUTS];
	double *record;
	ht_u64 tick;
	ht_u32 fpenv;
};

static void *zeroed(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		abort();
	return p;
}

static ht_u32 add_input(struct bench *b, const char *name, double initial)
{
	const ht_u32 signal = draft_signal(b->draft, name, initial);

	draft_input(b->draft, signal);
	return signal;
}

/* A source that plays any values, one per tick, and holds the last. */
static ht_u32 add_sequence(struct bench *b, const char *name, const double *values, ht_u32 n)
{
	const ht_u32 signal = draft_signal(b->draft, name, 0);
	const ht_u32 block = draft_block(b->draft, "table", n, 0, NULL, 1, &signal);
	ht_u32 i;

	draft_set(b->draft, block, "interval", 0, DT);
	draft_set(b->draft, block, "interpolation", 0, 0);
	for (i = 0; i < n; i++)
		draft_set(b->draft, block, "samples", i, values[i]);
	return signal;
}

/* y = gain u + offset */
static ht_u32 add_affine(struct bench *b, const char *name, ht_u32 in, double gain,
			 double offset, ht_u32 *block)
{
	const ht_u32 signal = draft_signal(b->draft, name, 0);
	const ht_u32 number = draft_block(b->draft, "matrix", 0, 1, &in, 1, &signal);

	draft_set(b->draft, number, "A", 0, gain);
	draft_set(b->draft, number, "b", 0, offset);
	if (block)
		*block = number;
	return signal;
}

/* 1, 2, 3, ...: a matrix and a unit delay, advancing with every step only. */
static ht_u32 add_counter(struct bench *b, const char *name)
{
	ht_u32 before = draft_signal(b->draft, "before", 0);
	ht_u32 count = draft_signal(b->draft, name, 0);
	ht_u32 block;

	draft_block(b->draft, "unit_delay", 0, 1, &count, 1, &before);
	block = draft_block(b->draft, "matrix", 0, 1, &before, 1, &count);
	draft_set(b->draft, block, "A", 0, 1);
	draft_set(b->draft, block, "b", 0, 1);
	return count;
}

static void make_image(struct bench *b)
{
	free(b->image);
	b->image = draft_image(b->draft, &b->size);
}

static int make_loop(struct bench *b)
{
	int code;

	make_image(b);
	code = ht_image_check(b->image, b->size, &b->error);
	if (code)
		return code;
	free(b->memory);
	free(b->record);
	b->memory = zeroed(ht_loop_bytes(b->image));
	code = ht_loop_init(b->memory, b->image, &b->error);
	if (code)
		return code;
	b->loop = b->memory;
	b->program = ht_loop_program(b->loop);
	b->record = zeroed((b->draft->header.n_records + b->draft->header.n_outputs) *
			   sizeof(double));
	b->tick = 0;
	return HT_OK;
}

static int make_program(struct bench *b)
{
	int code;

	make_image(b);
	code = ht_image_check(b->image, b->size, &b->error);
	if (code)
		return code;
	free(b->memory);
	b->memory = zeroed(ht_program_bytes(b->image));
	code = ht_program_init(b->memory, b->image, &b->error);
	if (code)
		return code;
	b->program = b->memory;
	return HT_OK;
}

static double tick(struct bench *b)
{
	ht_loop_inputs(b->loop, b->in);
	ht_loop_tick(b->loop, b->tick++, b->record);
	return ht_loop_outputs(b->loop)[0];
}

static void start(struct bench *b)
{
	ht_loop_start(b->loop);
	b->tick = 0;
}

static double signal_of(struct bench *b, ht_u32 signal)
{
	return ht_program_signals(b->program)[signal];
}

static double real(ht_u64 bits)
{
	union ht_real r = { .bits = bits };

	return r.value;
}

static double lock_value(struct bench *b, ht_u32 lock)
{
	struct ht_lock_view view;

	ht_loop_lock(b->loop, lock, &view);
	return real(view.value);
}

static void bench_open(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	b->draft = draft_new(PERIOD_NS);
	b->fpenv = ht_fpenv_enter();
}

static void bench_close(struct bench *b)
{
	ht_fpenv_leave(b->fpenv);
	draft_free(b->draft);
	free(b->image);
	free(b->memory);
	free(b->record);
}

static ht_u64 random_state = 1;

static double random_unit(void)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(random_state >> 11) * 0x1p-53;
}

/* ------------------------------------------------------------ the image */

/*
 * Something of every kind. Wires, records and text have odd numbers, so that
 * there is padding after each of them.
 */
enum { S_IN0, S_IN1, S_CONST, S_SUM, S_DELAYED, S_TABLE, S_PRODUCT, S_FILTER, S_FREE, N_S };
enum { B_CONST, B_SUM, B_DELAY, B_TABLE, B_PRODUCT, B_FILTER, N_B };

static void full_program(struct bench *b)
{
	static const char *const names[] = {
		"in0", "in1", "const", "sum", "delayed", "table", "product", "filter", "free"
	};
	struct ht_image_interlock *lock;
	struct draft *d = b->draft;
	ht_u32 i;

	for (i = 0; i < N_S; i++)
		draft_signal(d, names[i], i * 0.5);
	memcpy(d->signals[S_SUM].unit, "m/s", 4);
	draft_input(d, S_IN0);
	draft_input(d, S_IN1);
	draft_block(d, "matrix", 0, 0, NULL, 1, (ht_u32[]){ S_CONST });
	draft_block(d, "matrix", 0, 2, (ht_u32[]){ S_IN0, S_CONST }, 1, (ht_u32[]){ S_SUM });
	draft_block(d, "unit_delay", 0, 1, (ht_u32[]){ S_SUM }, 1, (ht_u32[]){ S_DELAYED });
	draft_block(d, "table", 6, 0, NULL, 1, (ht_u32[]){ S_TABLE });
	draft_set(d, B_TABLE, "interval", 0, 0.25);
	draft_block(d, "product", 0, 3, (ht_u32[]){ S_CONST, S_DELAYED, S_TABLE }, 1,
		    (ht_u32[]){ S_PRODUCT });
	draft_block(d, "biquad", 1, 1, (ht_u32[]){ S_SUM }, 1, (ht_u32[]){ S_FILTER });
	draft_output(d, S_SUM, 0, 100);
	draft_output(d, S_PRODUCT, 2, 50);
	draft_lock(d, HT_LOCK_RANGE, HT_ACTION_RAMP, S_SUM, -5, 5);
	draft_lock(d, HT_LOCK_RATE, HT_ACTION_HOLD, S_IN0, 0, 5);
	lock = draft_lock(d, HT_LOCK_DIFFERENCE, HT_ACTION_CUT, S_IN0, 0, 5);
	lock->other = S_IN1;
	lock = draft_lock(d, HT_LOCK_RMS, HT_ACTION_CUT, S_IN1, 0, 5);
	lock->other = S_SUM;
	lock->window_ticks = 10;
	draft_record(d, S_TABLE);
	draft_record(d, S_SUM);
	draft_record(d, S_IN1);
	d->text = "hello";
}

/* The sections of an image, to be spoilt. */
struct open_image {
	struct ht_image_header *header;
	struct ht_image_signal *signals;
	struct ht_image_input *inputs;
	struct ht_image_output *outputs;
	struct ht_image_block *blocks;
	struct ht_image_interlock *interlocks;
	double *params;
	double *data;
	ht_u32 *wires;
	ht_u32 *records;
	char *text;
};

static size_t align8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* Places by the header comment of image.h, not by ht_image_open(). */
static size_t open_by_hand(struct open_image *o, void *bytes, const struct ht_image_header *h)
{
	char *p = bytes;

	o->header = bytes;
	p += sizeof(struct ht_image_header);
	o->signals = (void *)p;
	p += h->n_signals * sizeof(struct ht_image_signal);
	o->inputs = (void *)p;
	p += h->n_inputs * sizeof(struct ht_image_input);
	o->outputs = (void *)p;
	p += h->n_outputs * sizeof(struct ht_image_output);
	o->blocks = (void *)p;
	p += h->n_blocks * sizeof(struct ht_image_block);
	o->interlocks = (void *)p;
	p += h->n_interlocks * sizeof(struct ht_image_interlock);
	o->params = (void *)p;
	p += h->n_params * 8;
	o->data = (void *)p;
	p += h->n_data * 8;
	o->wires = (void *)p;
	p += align8(h->n_wires * 4);
	o->records = (void *)p;
	p += align8(h->n_records * 4);
	o->text = p;
	p += align8(h->text_size);
	return p - (char *)bytes;
}

FIXTURE(image) {
	struct bench b;
	struct open_image o;
};

FIXTURE_SETUP(image)
{
	bench_open(&self->b);
	full_program(&self->b);
	make_image(&self->b);
	open_by_hand(&self->o, self->b.image, self->b.image);
}

FIXTURE_TEARDOWN(image)
{
	bench_close(&self->b);
}

static int run_init(struct bench *b, struct ht_error *error)
{
	void *memory = zeroed(ht_program_bytes(b->image));
	int code = ht_program_init(memory, b->image, error);

	free(memory);
	return code;
}

/*
 * The image as it is now must be refused by both checks, or by init alone, for
 * this reason at this place; then it is made anew.
 */
static void refused(struct __test_metadata *_metadata, struct bench *b, struct open_image *o,
		    int line, ht_u32 by_init, ht_u32 code, ht_u32 where, ht_u32 index,
		    ht_s64 item)
{
	struct ht_error error;
	int got;

	image_repair_crc(b->image, b->size);
	memset(&error, 0xee, sizeof(error));
	got = ht_image_check(b->image, b->size, &error);
	if (by_init) {
		EXPECT_EQ(HT_OK, got) {
			TH_LOG("line %d: %s at %s %u item %u", line, ht_error_text(error.code),
			       ht_error_place(error.where), error.index, error.item);
		}
		if (!got)
			got = run_init(b, &error);
	} else {
		struct ht_error second;

		EXPECT_EQ(got, ht_image_check_structure(b->image, b->size, &second));
		if (got)
			EXPECT_EQ(0, memcmp(&error, &second, sizeof(error)));
	}
	EXPECT_EQ((int)code, got) {
		TH_LOG("line %d: seen '%s'", line, ht_error_text(got));
	}
	if (got) {
		EXPECT_EQ((ht_u32)got, error.code);
		EXPECT_EQ(where, error.where) {
			TH_LOG("line %d: place", line);
		}
		EXPECT_EQ(index, error.index) {
			TH_LOG("line %d: index", line);
		}
		if (item >= 0)
			EXPECT_EQ((ht_u32)item, error.item) {
				TH_LOG("line %d: item", line);
			}
	}
	make_image(b);
	open_by_hand(o, b->image, b->image);
}

#define REFUSED(change, code, where, index) do { \
	change; \
	refused(_metadata, &self->b, &self->o, __LINE__, 0, code, where, index, -1); \
} while (0)

#define REFUSED_ITEM(change, code, where, index, item) do { \
	change; \
	refused(_metadata, &self->b, &self->o, __LINE__, 0, code, where, index, item); \
} while (0)

#define REFUSED_BY_INIT(change, code, where, index, item) do { \
	change; \
	refused(_metadata, &self->b, &self->o, __LINE__, 1, code, where, index, item); \
} while (0)

#define ACCEPTED(change) do { \
	change; \
	accepted(_metadata, &self->b, &self->o, __LINE__); \
} while (0)

static void accepted(struct __test_metadata *_metadata, struct bench *b, struct open_image *o,
		     int line)
{
	struct ht_error error = { 0 };
	int got;

	image_repair_crc(b->image, b->size);
	got = ht_image_check(b->image, b->size, &error);
	if (!got)
		got = run_init(b, &error);
	EXPECT_EQ(HT_OK, got) {
		TH_LOG("line %d: %s at %s %u item %u", line, ht_error_text(error.code),
		       ht_error_place(error.where), error.index, error.item);
	}
	make_image(b);
	open_by_hand(o, b->image, b->image);
}

TEST_F(image, valid_one_is_accepted_and_opened)
{
	struct open_image hand;
	struct ht_image image;

	EXPECT_EQ(HT_OK, ht_image_check(self->b.image, self->b.size, &self->b.error));
	EXPECT_EQ(HT_OK, run_init(&self->b, &self->b.error));
	EXPECT_EQ(self->b.size, open_by_hand(&hand, self->b.image, self->b.image));
	EXPECT_EQ(self->b.size, ht_image_bytes(self->b.image));
	ht_image_open(&image, self->b.image);
	EXPECT_EQ((void *)hand.header, (void *)image.header);
	EXPECT_EQ((void *)hand.signals, (void *)image.signals);
	EXPECT_EQ((void *)hand.inputs, (void *)image.inputs);
	EXPECT_EQ((void *)hand.outputs, (void *)image.outputs);
	EXPECT_EQ((void *)hand.blocks, (void *)image.blocks);
	EXPECT_EQ((void *)hand.interlocks, (void *)image.interlocks);
	EXPECT_EQ((void *)hand.params, (void *)image.params);
	EXPECT_EQ((void *)hand.data, (void *)image.data);
	EXPECT_EQ((void *)hand.wires, (void *)image.wires);
	EXPECT_EQ((void *)hand.records, (void *)image.records);
	EXPECT_EQ((void *)hand.text, (void *)image.text);
}

TEST_F(image, bytes_follow_the_counts)
{
	static const size_t counts[] = {
		offsetof(struct ht_image_header, n_signals),
		offsetof(struct ht_image_header, n_inputs),
		offsetof(struct ht_image_header, n_outputs),
		offsetof(struct ht_image_header, n_blocks),
		offsetof(struct ht_image_header, n_interlocks),
		offsetof(struct ht_image_header, n_params),
		offsetof(struct ht_image_header, n_data),
		offsetof(struct ht_image_header, n_wires),
		offsetof(struct ht_image_header, n_records),
		offsetof(struct ht_image_header, text_size),
	};
	struct ht_image_header h = { 0 };
	struct open_image o;
	size_t i;
	ht_u32 n;

	EXPECT_EQ(sizeof(h), ht_image_bytes(&h));
	for (i = 0; i < HT_COUNT(counts); i++) {
		ht_u32 *count = (ht_u32 *)((char *)&h + counts[i]);

		for (n = 0; n < 20; n++) {
			*count = n;
			EXPECT_EQ(open_by_hand(&o, &h, &h), ht_image_bytes(&h));
		}
		*count = 0xffffffff;
		EXPECT_EQ(0, ht_image_bytes(&h));
		*count = 3;
	}
}

TEST_F(image, counts_are_bounded)
{
	static const struct {
		size_t place;
		ht_u32 max;
	} bounds[] = {
		{ offsetof(struct ht_image_header, n_signals), HT_MAX_SIGNALS },
		{ offsetof(struct ht_image_header, n_inputs), HT_MAX_CHANNELS },
		{ offsetof(struct ht_image_header, n_outputs), HT_MAX_CHANNELS },
		{ offsetof(struct ht_image_header, n_blocks), HT_MAX_BLOCKS },
		{ offsetof(struct ht_image_header, n_interlocks), HT_MAX_INTERLOCKS },
		{ offsetof(struct ht_image_header, n_params), HT_MAX_VALUES },
		{ offsetof(struct ht_image_header, n_data), HT_MAX_VALUES },
		{ offsetof(struct ht_image_header, text_size), HT_MAX_TEXT },
	};
	struct ht_image_header h = { 0 };
	size_t i;

	for (i = 0; i < HT_COUNT(bounds); i++) {
		ht_u32 *count = (ht_u32 *)((char *)&h + bounds[i].place);

		*count = bounds[i].max;
		EXPECT_NE(0, ht_image_bytes(&h));
		*count = bounds[i].max + 1;
		EXPECT_EQ(0, ht_image_bytes(&h));
		*count = 0;
		REFUSED(*(ht_u32 *)((char *)self->o.header + bounds[i].place) = bounds[i].max + 1,
			HT_ERR_COUNT, HT_AT_IMAGE, 0);
	}
	REFUSED(self->o.header->n_records = 0xffffffff, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	REFUSED(self->o.header->n_wires = 0xffffffff, HT_ERR_COUNT, HT_AT_IMAGE, 0);
}

TEST_F(image, size_must_be_what_the_header_says)
{
	struct bench *b = &self->b;
	char *longer = zeroed(b->size + 64);
	struct ht_error error;
	size_t n;

	for (n = 0; n < b->size; n += n < 256 ? 1 : 8) {
		char *shorter = zeroed(n);

		memcpy(shorter, b->image, n);
		memset(&error, 0, sizeof(error));
		EXPECT_EQ(HT_ERR_SIZE, ht_image_check(shorter, n, &error));
		EXPECT_EQ(HT_ERR_SIZE, error.code);
		EXPECT_EQ(HT_AT_IMAGE, error.where);
		free(shorter);
	}
	memcpy(longer, b->image, b->size);
	EXPECT_EQ(HT_OK, ht_image_check(longer, b->size, &error));
	EXPECT_EQ(HT_ERR_SIZE, ht_image_check(longer, b->size + 1, &error));
	EXPECT_EQ(HT_ERR_SIZE, ht_image_check(longer, b->size + 8, &error));
	EXPECT_EQ(HT_ERR_SIZE, ht_image_check(longer, b->size + (1ull << 32), &error));
	((struct ht_image_header *)longer)->size += 8;
	image_repair_crc(longer, b->size + 8);
	EXPECT_EQ(HT_ERR_SIZE, ht_image_check(longer, b->size + 8, &error));
	image_repair_crc(longer, b->size);
	EXPECT_EQ(HT_ERR_SIZE, ht_image_check(longer, b->size, &error));
	free(longer);
	REFUSED(self->o.header->n_params++, HT_ERR_SIZE, HT_AT_IMAGE, 0);
}

/* By the definition: reflected polynomial 0xedb88320, bit by bit. */
static ht_u32 crc_bit_by_bit(const unsigned char *bytes, size_t size)
{
	ht_u32 crc = 0xffffffff;
	size_t i;
	int bit;

	for (i = 0; i < size; i++) {
		crc ^= bytes[i];
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	return ~crc;
}

TEST_F(image, crc)
{
	struct bench *b = &self->b;
	unsigned char *copy = zeroed(b->size);
	struct ht_error error;
	size_t i, n;

	EXPECT_EQ(0xcbf43926, ht_crc32(0, "123456789", 9));
	EXPECT_EQ(0xcbf43926, ht_crc32(ht_crc32(0, "1234", 4), "56789", 5));
	EXPECT_EQ(0, ht_crc32(0, "", 0));
	for (n = 0; n < 70; n++)
		EXPECT_EQ(crc_bit_by_bit(b->image, n), ht_crc32(0, b->image, n));

	memcpy(copy, b->image, b->size);
	((struct ht_image_header *)copy)->crc = 0;
	EXPECT_EQ(crc_bit_by_bit(copy, b->size), ht_image_crc(b->image, b->size));
	EXPECT_EQ(crc_bit_by_bit(copy, b->size), self->o.header->crc);
	memcpy(copy, b->image, b->size);
	for (i = 0; i < 8 * b->size; i++) {
		copy[i / 8] ^= 1 << i % 8;
		EXPECT_NE(HT_OK, ht_image_check(copy, b->size, &error));
		copy[i / 8] ^= 1 << i % 8;
	}
	((struct ht_image_header *)copy)->crc ^= 0x100;
	EXPECT_EQ(HT_ERR_CRC, ht_image_check(copy, b->size, &error));
	EXPECT_EQ(HT_ERR_CRC, error.code);
	EXPECT_EQ(HT_AT_IMAGE, error.where);
	EXPECT_EQ(HT_OK, ht_image_check_structure(copy, b->size, &error));
	free(copy);
}

TEST_F(image, header_values)
{
	struct open_image *o = &self->o;

	REFUSED(o->header->magic ^= 1, HT_ERR_MAGIC, HT_AT_IMAGE, 0);
	REFUSED(o->header->version = 0, HT_ERR_VERSION, HT_AT_IMAGE, 0);
	REFUSED(o->header->version = HT_IMAGE_VERSION + 1, HT_ERR_VERSION, HT_AT_IMAGE, 0);
	REFUSED(o->header->reserved = 1, HT_ERR_RESERVED, HT_AT_IMAGE, 0);
	REFUSED(o->header->reserved = 0x80000000, HT_ERR_RESERVED, HT_AT_IMAGE, 0);
	REFUSED(o->header->kind = HT_IMAGE_KINDS, HT_ERR_TYPE, HT_AT_IMAGE, 0);
	REFUSED(o->header->kind = 0xffffffff, HT_ERR_TYPE, HT_AT_IMAGE, 0);
	REFUSED(o->header->flags = HT_IMAGE_HELD, HT_ERR_RESERVED, HT_AT_IMAGE, 0);
	REFUSED(o->header->flags = 0x80000000, HT_ERR_RESERVED, HT_AT_IMAGE, 0);

	REFUSED(o->header->scan_ticks = 0, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	REFUSED(o->header->scan_ticks = HT_MAX_LATE_TICKS + 1, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	ACCEPTED(o->header->scan_ticks = HT_MAX_LATE_TICKS);
	ACCEPTED(o->header->scan_ticks = 1);
	REFUSED(o->header->write_ticks = 0, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	REFUSED(o->header->write_ticks = HT_MAX_LATE_TICKS + 1, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	ACCEPTED(o->header->write_ticks = HT_MAX_LATE_TICKS);
	ACCEPTED(o->header->write_ticks = 1);

	REFUSED(o->header->ring_records = 0, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	REFUSED(o->header->ring_records = 4095, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	REFUSED(o->header->ring_records = 4097, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	REFUSED(o->header->ring_records = 6144, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	REFUSED(o->header->ring_records = 2 * HT_MAX_RING, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	REFUSED(o->header->ring_records = 0x80000000, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	ACCEPTED(o->header->ring_records = HT_MAX_RING);
	ACCEPTED(o->header->ring_records = 2048);

	REFUSED(o->header->deadline_ticks = 0, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	REFUSED(o->header->deadline_ticks = HT_MAX_LATE_TICKS + 1, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	ACCEPTED(o->header->deadline_ticks = HT_MAX_LATE_TICKS);
	ACCEPTED(o->header->missed_ticks = 0);
	REFUSED(o->header->deadline_ns = 0, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	REFUSED(o->header->budget_ns = 0, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	REFUSED(o->header->budget_ns = PERIOD_NS * 3 / 4 + 2, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	REFUSED(o->header->budget_ns = 0xffffffff, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	ACCEPTED(o->header->budget_ns = PERIOD_NS * 3 / 4);
	ACCEPTED(o->header->deadline_ns = PERIOD_NS / 10);
	REFUSED(o->header->deadline_ns = PERIOD_NS + 1, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	REFUSED(o->header->post_trip_ticks = HT_MAX_RING + 1, HT_ERR_COUNT, HT_AT_IMAGE, 0);
	ACCEPTED(o->header->post_trip_ticks = HT_MAX_RING);
	ACCEPTED(o->header->heartbeat_ms = 100);
	ACCEPTED(o->header->post_trip_ticks = 100);
	ACCEPTED(o->header->soft_start_ticks = 100);
	ACCEPTED(o->header->soft_stop_ticks = 100);
}

static int check_period(struct bench *b, ht_u64 period_ns)
{
	b->draft->header.period_ns = period_ns;
	b->draft->header.budget_ns = period_ns / 2;
	b->draft->header.deadline_ns = period_ns;
	make_image(b);
	return ht_image_check(b->image, b->size, &b->error);
}

TEST_F(image, period_is_bounded)
{
	EXPECT_EQ(HT_OK, check_period(&self->b, HT_MIN_PERIOD_NS));
	EXPECT_EQ(HT_OK, check_period(&self->b, HT_MAX_PERIOD_NS));
	EXPECT_EQ(HT_ERR_COUNT, check_period(&self->b, HT_MIN_PERIOD_NS - 1));
	EXPECT_EQ(HT_ERR_COUNT, check_period(&self->b, HT_MAX_PERIOD_NS + 1));
	EXPECT_EQ(HT_ERR_COUNT, check_period(&self->b, 0));
	EXPECT_EQ(HT_ERR_COUNT, check_period(&self->b, 1ull << 63));
	EXPECT_EQ(HT_AT_IMAGE, self->b.error.where);
}

TEST_F(image, unused_things_are_zero)
{
	struct open_image *o = &self->o;

	REFUSED(o->inputs[1].flags = 1, HT_ERR_RESERVED, HT_AT_INPUT, 1);
	REFUSED(o->outputs[1].flags = 2, HT_ERR_RESERVED, HT_AT_OUTPUT, 1);
	REFUSED(o->blocks[B_TABLE].flags = 4, HT_ERR_RESERVED, HT_AT_BLOCK, B_TABLE);
	REFUSED(o->blocks[B_TABLE].dims[1] = 1, HT_ERR_DIMS, HT_AT_BLOCK, B_TABLE);
	REFUSED(o->blocks[B_SUM].dims[0] = 1, HT_ERR_DIMS, HT_AT_BLOCK, B_SUM);
	REFUSED(o->blocks[B_SUM].dims[3] = 1, HT_ERR_DIMS, HT_AT_BLOCK, B_SUM);
	REFUSED(o->interlocks[0].window_ticks = 1, HT_ERR_COUNT, HT_AT_INTERLOCK, 0);
	REFUSED(o->interlocks[1].window_ticks = 1, HT_ERR_COUNT, HT_AT_INTERLOCK, 1);
	REFUSED(o->interlocks[2].window_ticks = 1, HT_ERR_COUNT, HT_AT_INTERLOCK, 2);
	REFUSED(o->interlocks[1].low = -1, HT_ERR_RESERVED, HT_AT_INTERLOCK, 1);
	REFUSED(o->interlocks[2].low = -1, HT_ERR_RESERVED, HT_AT_INTERLOCK, 2);
	REFUSED(o->interlocks[3].low = 1, HT_ERR_RESERVED, HT_AT_INTERLOCK, 3);
	REFUSED(o->interlocks[1].flags = 2, HT_ERR_RESERVED, HT_AT_INTERLOCK, 1);
	REFUSED(o->interlocks[1].flags = 0x80000001, HT_ERR_RESERVED, HT_AT_INTERLOCK, 1);
	ACCEPTED(o->interlocks[1].flags = HT_LOCK_LATCH);
	REFUSED(o->interlocks[2].reserved = 1, HT_ERR_RESERVED, HT_AT_INTERLOCK, 2);
	ASSERT_EQ(1, o->header->n_wires % 2);
	ASSERT_EQ(1, o->header->n_records % 2);
	REFUSED(o->wires[o->header->n_wires] = 1, HT_ERR_RESERVED, HT_AT_IMAGE, 0);
	REFUSED(o->records[o->header->n_records] = 1, HT_ERR_RESERVED, HT_AT_IMAGE, 0);
	REFUSED(o->text[5] = 1, HT_ERR_RESERVED, HT_AT_IMAGE, 0);
	REFUSED(o->text[7] = 1, HT_ERR_RESERVED, HT_AT_IMAGE, 0);
}

static void spoil_name(struct __test_metadata *_metadata, struct bench *b, struct open_image *o,
		       char *(*name)(struct open_image *), size_t length, ht_u32 where,
		       ht_u32 index)
{
	memset(name(o), 'x', length);
	refused(_metadata, b, o, __LINE__, 0, HT_ERR_NAME, where, index, -1);
	memset(name(o), 'x', length - 1);
	name(o)[length - 1] = 0;
	accepted(_metadata, b, o, __LINE__);
	name(o)[0] = '\n';
	refused(_metadata, b, o, __LINE__, 0, HT_ERR_NAME, where, index, -1);
	name(o)[0] = 0x7f;
	refused(_metadata, b, o, __LINE__, 0, HT_ERR_NAME, where, index, -1);
	name(o)[0] = 0x1f;
	refused(_metadata, b, o, __LINE__, 0, HT_ERR_NAME, where, index, -1);
	/* Behind the closing zero: unused, so it must be zero. */
	name(o)[length - 1] = 'x';
	image_repair_crc(b->image, b->size);
	EXPECT_NE(HT_OK, ht_image_check(b->image, b->size, &b->error));
	EXPECT_EQ(where, b->error.where);
	EXPECT_EQ(index, b->error.index);
	make_image(b);
	open_by_hand(o, b->image, b->image);
}

static char *signal_name(struct open_image *o)
{
	return o->signals[S_FREE].name;
}

static char *signal_unit(struct open_image *o)
{
	return o->signals[S_SUM].unit;
}

static char *block_name(struct open_image *o)
{
	return o->blocks[B_FILTER].name;
}

static char *lock_name(struct open_image *o)
{
	return o->interlocks[3].name;
}

TEST_F(image, names_are_closed_and_printable)
{
	struct bench *b = &self->b;
	struct open_image *o = &self->o;

	spoil_name(_metadata, b, o, signal_name, HT_NAME_LEN, HT_AT_SIGNAL, S_FREE);
	spoil_name(_metadata, b, o, signal_unit, HT_UNIT_LEN, HT_AT_SIGNAL, S_SUM);
	spoil_name(_metadata, b, o, block_name, HT_NAME_LEN, HT_AT_BLOCK, B_FILTER);
	spoil_name(_metadata, b, o, lock_name, HT_NAME_LEN, HT_AT_INTERLOCK, 3);
	ACCEPTED(memset(o->signals[S_SUM].unit, 0, HT_UNIT_LEN));
	REFUSED(memset(o->signals[S_SUM].name, 0, HT_NAME_LEN), HT_ERR_NAME, HT_AT_SIGNAL, S_SUM);
}

TEST_F(image, numbers_are_finite)
{
	static const double bad[] = { NAN, INFINITY, -INFINITY };
	struct open_image *o = &self->o;
	size_t i;

	for (i = 0; i < HT_COUNT(bad); i++) {
		REFUSED(o->signals[S_TABLE].initial = bad[i], HT_ERR_NOT_FINITE, HT_AT_SIGNAL,
			S_TABLE);
		REFUSED(o->outputs[1].safe = bad[i], HT_ERR_NOT_FINITE, HT_AT_OUTPUT, 1);
		REFUSED(o->outputs[1].min = bad[i], HT_ERR_NOT_FINITE, HT_AT_OUTPUT, 1);
		REFUSED(o->outputs[1].max = bad[i], HT_ERR_NOT_FINITE, HT_AT_OUTPUT, 1);
		REFUSED(o->outputs[1].slew = bad[i], HT_ERR_NOT_FINITE, HT_AT_OUTPUT, 1);
		REFUSED(o->outputs[1].ramp = bad[i], HT_ERR_NOT_FINITE, HT_AT_OUTPUT, 1);
		REFUSED(o->interlocks[0].low = bad[i], HT_ERR_NOT_FINITE, HT_AT_INTERLOCK, 0);
		REFUSED(o->interlocks[0].high = bad[i], HT_ERR_NOT_FINITE, HT_AT_INTERLOCK, 0);
		REFUSED(o->interlocks[3].high = bad[i], HT_ERR_NOT_FINITE, HT_AT_INTERLOCK, 3);
	}
}

TEST_F(image, outputs_are_in_range)
{
	struct open_image *o = &self->o;
	double span;

	REFUSED(o->outputs[1].safe = 1000.5, HT_ERR_RANGE, HT_AT_OUTPUT, 1);
	REFUSED(o->outputs[1].safe = -1000.5, HT_ERR_RANGE, HT_AT_OUTPUT, 1);
	ACCEPTED(o->outputs[1].safe = 1000);
	ACCEPTED(o->outputs[1].safe = -1000);
	REFUSED(o->outputs[0].slew = -1, HT_ERR_RANGE, HT_AT_OUTPUT, 0);
	REFUSED(o->outputs[0].ramp = 0, HT_ERR_RANGE, HT_AT_OUTPUT, 0);
	REFUSED(o->outputs[0].ramp = -1, HT_ERR_RANGE, HT_AT_OUTPUT, 0);
	REFUSED(o->outputs[0].slew = 2 * HT_MAX_OUTPUT, HT_ERR_RANGE, HT_AT_OUTPUT, 0);
	REFUSED(o->outputs[0].ramp = 2 * HT_MAX_OUTPUT, HT_ERR_RANGE, HT_AT_OUTPUT, 0);
	REFUSED(o->outputs[0].max = 2 * HT_MAX_OUTPUT; o->outputs[0].ramp = HT_MAX_OUTPUT,
		HT_ERR_RANGE, HT_AT_OUTPUT, 0);
	REFUSED(o->outputs[0].min = -2 * HT_MAX_OUTPUT; o->outputs[0].ramp = HT_MAX_OUTPUT,
		HT_ERR_RANGE, HT_AT_OUTPUT, 0);
	ACCEPTED(o->outputs[0].min = -HT_MAX_OUTPUT; o->outputs[0].max = HT_MAX_OUTPUT;
		 o->outputs[0].ramp = HT_MAX_OUTPUT);
	ACCEPTED(o->outputs[0].ramp = HT_MAX_OUTPUT);
	ACCEPTED(o->outputs[0].slew = HT_MAX_OUTPUT);
	REFUSED(o->outputs[0].min = 1001, HT_ERR_ORDER, HT_AT_OUTPUT, 0);

	/* 2000 from limit to limit */
	span = 2000;
	ACCEPTED(o->outputs[0].ramp = span / HT_MAX_RAMP_TIME * 1.001);
	REFUSED(o->outputs[0].ramp = span / HT_MAX_RAMP_TIME * 0.999, HT_ERR_RANGE,
		HT_AT_OUTPUT, 0);
	REFUSED(o->outputs[1].ramp = 1e-300, HT_ERR_RANGE, HT_AT_OUTPUT, 1);
	/* A stop must come to its end, too. */
	ACCEPTED(o->outputs[0].slew = span / HT_MAX_RAMP_TIME * 1.001);
	REFUSED(o->outputs[0].slew = span / HT_MAX_RAMP_TIME * 0.999, HT_ERR_RANGE,
		HT_AT_OUTPUT, 0);
}

/*
 * Fast enough by the clock, but a step is less than the distance of two
 * doubles up there: the ramp would stand still for ever.
 */
TEST_F(image, ramp_steps_must_move_the_output)
{
	struct open_image *o = &self->o;

	REFUSED(o->outputs[0].min = 0x1p60; o->outputs[0].safe = 0x1p60;
		o->outputs[0].max = 0x1p60 + 4096; o->outputs[0].ramp = 10,
		HT_ERR_RANGE, HT_AT_OUTPUT, 0);
	REFUSED(o->outputs[0].max = -0x1p60; o->outputs[0].safe = -0x1p60;
		o->outputs[0].min = -0x1p60 - 4096; o->outputs[0].ramp = 10,
		HT_ERR_RANGE, HT_AT_OUTPUT, 0);
	/* Fine enough at the one limit, but not at the other. */
	REFUSED(o->outputs[0].max = 10 - 0x1p52; o->outputs[0].safe = 10 - 0x1p52;
		o->outputs[0].min = -0x1p52 - 20; o->outputs[0].ramp = 0.6 / DT,
		HT_ERR_RANGE, HT_AT_OUTPUT, 0);
	/* Half a distance moves an odd number, but never an even one. */
	REFUSED(o->outputs[0].min = 0x1p52; o->outputs[0].safe = 0x1p52;
		o->outputs[0].max = 0x1p52 + 5; o->outputs[0].ramp = 0.5 / DT,
		HT_ERR_RANGE, HT_AT_OUTPUT, 0);
}

/* The slowest ramp up there that is accepted does arrive. */
TEST_F(image, accepted_ramps_arrive)
{
	struct bench *b = &self->b;
	int step, k, accepted_some = 0;

	for (step = 1; step < 40; step++) {
		b->draft->outputs[0].min = 0x1p52;
		b->draft->outputs[0].safe = 0x1p52;
		b->draft->outputs[0].max = 0x1p52 + 25;
		b->draft->outputs[0].ramp = 0.0625 * step / DT;
		b->draft->header.n_interlocks = 0;
		if (make_loop(b))
			continue;
		accepted_some = 1;
		draft_set(b->draft, B_SUM, "A", 0, 1);
		ASSERT_EQ(HT_OK, make_loop(b));
		start(b);
		b->in[0] = 0x1p52 + 25;
		EXPECT_SAME(0x1p52 + 25, tick(b));
		ht_loop_trip(b->loop, &(struct ht_trip){ .cause = HT_CAUSE_OPERATOR });
		for (k = 0; k < 1000; k++)
			tick(b);
		EXPECT_TRUE(ht_loop_safe(b->loop)) {
			TH_LOG("step %g gets stuck", 0.0625 * step);
		}
	}
	EXPECT_TRUE(accepted_some);
}

TEST_F(image, interlocks_are_in_range)
{
	struct open_image *o = &self->o;
	ht_u32 i;

	REFUSED(o->interlocks[2].kind = HT_LOCK_KINDS, HT_ERR_TYPE, HT_AT_INTERLOCK, 2);
	REFUSED(o->interlocks[2].action = HT_ACTIONS, HT_ERR_TYPE, HT_AT_INTERLOCK, 2);
	REFUSED(o->interlocks[0].low = 6, HT_ERR_ORDER, HT_AT_INTERLOCK, 0);
	ACCEPTED(o->interlocks[0].low = 5);
	for (i = 1; i < 4; i++) {
		REFUSED(o->interlocks[i].high = -1, HT_ERR_ORDER, HT_AT_INTERLOCK, i);
		ACCEPTED(o->interlocks[i].high = 0);
	}
	REFUSED(o->interlocks[3].window_ticks = 0, HT_ERR_COUNT, HT_AT_INTERLOCK, 3);
	REFUSED(o->interlocks[3].window_ticks = 0xffffffff, HT_ERR_COUNT, HT_AT_INTERLOCK, 3);
	ACCEPTED(o->interlocks[0].other = S_IN1);
	ACCEPTED(o->interlocks[1].other = S_IN1);
	REFUSED(o->interlocks[0].other = N_S, HT_ERR_SIGNAL, HT_AT_INTERLOCK, 0);
	ACCEPTED(o->interlocks[2].other = HT_NO_SIGNAL);
	ACCEPTED(o->interlocks[3].other = HT_NO_SIGNAL);
	ACCEPTED(o->interlocks[0].delay_ticks = 1000);
}

/* Locks on a line have a low limit only, those on the loop itself a high one. */
static void set_lock(struct open_image *o, ht_u32 kind, ht_u32 signal, double low, double high)
{
	o->interlocks[2].kind = kind;
	o->interlocks[2].signal = signal;
	o->interlocks[2].other = HT_NO_SIGNAL;
	o->interlocks[2].low = low;
	o->interlocks[2].high = high;
}

TEST_F(image, locks_on_lines_and_on_the_loop_itself)
{
	struct open_image *o = &self->o;
	ht_u32 kind;

	for (kind = HT_LOCK_ENABLE; kind <= HT_LOCK_ESTOP; kind++) {
		EXPECT_FALSE(HT_LOCK_IS_VITAL(kind));
		ACCEPTED(set_lock(o, kind, S_IN0, 0.5, 0));
		ACCEPTED(set_lock(o, kind, S_SUM, -0.5, 0));
		REFUSED(set_lock(o, kind, S_IN0, 0.5, 1), HT_ERR_RESERVED, HT_AT_INTERLOCK, 2);
		REFUSED(set_lock(o, kind, S_IN0, NAN, 0), HT_ERR_NOT_FINITE, HT_AT_INTERLOCK, 2);
		REFUSED(set_lock(o, kind, N_S, 0.5, 0), HT_ERR_SIGNAL, HT_AT_INTERLOCK, 2);
		REFUSED(set_lock(o, kind, HT_NO_SIGNAL, 0.5, 0), HT_ERR_SIGNAL,
			HT_AT_INTERLOCK, 2);
		REFUSED(set_lock(o, kind, S_IN0, 0.5, 0); o->interlocks[2].other = S_IN1,
			HT_ERR_SIGNAL, HT_AT_INTERLOCK, 2);
		REFUSED(set_lock(o, kind, S_IN0, 0.5, 0); o->interlocks[2].window_ticks = 1,
			HT_ERR_COUNT, HT_AT_INTERLOCK, 2);
	}
	for (kind = HT_LOCK_SCAN; kind < HT_LOCK_KINDS; kind++) {
		EXPECT_TRUE(HT_LOCK_IS_VITAL(kind));
		ACCEPTED(set_lock(o, kind, HT_NO_SIGNAL, 0, 0));
		ACCEPTED(set_lock(o, kind, HT_NO_SIGNAL, 0, 2.5));
		REFUSED(set_lock(o, kind, S_IN0, 0, 1), HT_ERR_SIGNAL, HT_AT_INTERLOCK, 2);
		REFUSED(set_lock(o, kind, HT_NO_SIGNAL, 0, -1), HT_ERR_ORDER,
			HT_AT_INTERLOCK, 2);
		REFUSED(set_lock(o, kind, HT_NO_SIGNAL, -1, 1), HT_ERR_RESERVED,
			HT_AT_INTERLOCK, 2);
		REFUSED(set_lock(o, kind, HT_NO_SIGNAL, 0, INFINITY), HT_ERR_NOT_FINITE,
			HT_AT_INTERLOCK, 2);
		REFUSED(set_lock(o, kind, HT_NO_SIGNAL, 0, 1); o->interlocks[2].other = S_IN1,
			HT_ERR_SIGNAL, HT_AT_INTERLOCK, 2);
		REFUSED(set_lock(o, kind, HT_NO_SIGNAL, 0, 1); o->interlocks[2].window_ticks = 1,
			HT_ERR_COUNT, HT_AT_INTERLOCK, 2);
	}
}

/* ---------------------------------------------------------- channels */

/* The channel of a port, bound if it is not yet. */
static struct ht_image_channel *bound(struct ht_image_channel *c, ht_u32 kind)
{
	if (c->kind)
		return c;
	c->kind = kind;
	c->gain = -0.5;
	c->offset = 3;
	strcpy(c->device, "adc");
	strcpy(c->name, "voltage0");
	return c;
}

static struct ht_image_channel *iio_input(struct open_image *o)
{
	return bound(&o->inputs[1].channel, HT_CHANNEL_IIO);
}

static struct ht_image_channel *gpio_input(struct open_image *o)
{
	return bound(&o->inputs[1].channel, HT_CHANNEL_GPIO);
}

static struct ht_image_channel *iio_output(struct open_image *o)
{
	return bound(&o->outputs[1].channel, HT_CHANNEL_IIO);
}

/* What a loop states about a channel, and nothing of a rig. */
TEST_F(image, what_a_loop_states_about_a_channel)
{
	static const struct {
		struct ht_image_channel *(*get)(struct open_image *o);
		ht_u32 where;
	} ports[] = {
		{ iio_input, HT_AT_INPUT },
		{ gpio_input, HT_AT_INPUT },
		{ iio_output, HT_AT_OUTPUT },
	};
	struct open_image *o = &self->o;
	size_t i;

	for (i = 0; i < HT_COUNT(ports); i++) {
		struct ht_image_channel *(*get)(struct open_image *o) = ports[i].get;
		const ht_u32 where = ports[i].where;

		ACCEPTED(get(o));
		ACCEPTED(memset(get(o)->device, 0, HT_DEVICE_LEN));
		REFUSED(get(o)->kind = HT_CHANNEL_KINDS, HT_ERR_CHANNEL, where, 1);
		REFUSED(get(o)->kind = 0xffffffff, HT_ERR_CHANNEL, where, 1);
		REFUSED(get(o)->gain = 0, HT_ERR_CHANNEL, where, 1);
		REFUSED(get(o)->gain = -0.0, HT_ERR_CHANNEL, where, 1);
		REFUSED(get(o)->gain = NAN, HT_ERR_NOT_FINITE, where, 1);
		REFUSED(get(o)->gain = -INFINITY, HT_ERR_NOT_FINITE, where, 1);
		REFUSED(get(o)->offset = NAN, HT_ERR_NOT_FINITE, where, 1);
		REFUSED(get(o)->offset = INFINITY, HT_ERR_NOT_FINITE, where, 1);
		REFUSED(get(o)->noise = 1e-3, HT_ERR_CHANNEL, where, 1);
		REFUSED(get(o)->noise = NAN, HT_ERR_NOT_FINITE, where, 1);
		REFUSED(get(o)->bits = 16, HT_ERR_CHANNEL, where, 1);
		REFUSED(get(o)->range_mv = 10000, HT_ERR_CHANNEL, where, 1);
		REFUSED(get(o)->reserved = 1, HT_ERR_RESERVED, where, 1);
		REFUSED(memset(get(o)->name, 0, HT_NAME_LEN), HT_ERR_NAME, where, 1);
		REFUSED(get(o)->name[3] = '\t', HT_ERR_NAME, where, 1);
		REFUSED(memset(get(o)->name, 'x', HT_NAME_LEN), HT_ERR_NAME, where, 1);
		REFUSED(get(o)->name[HT_NAME_LEN - 1] = 'x', HT_ERR_NAME, where, 1);
		REFUSED(get(o)->device[1] = 0x7f, HT_ERR_NAME, where, 1);
		REFUSED(memset(get(o)->device, 'x', HT_DEVICE_LEN), HT_ERR_NAME, where, 1);
		REFUSED(get(o)->device[HT_DEVICE_LEN - 1] = 'x', HT_ERR_NAME, where, 1);
		/* Bound to nothing: all of it must be zero. */
		REFUSED(get(o)->kind = HT_CHANNEL_NONE, HT_ERR_RESERVED, where, 1);
	}
}

TEST_F(image, unbound_gpio_and_polled_channels)
{
	struct open_image *o = &self->o;
	size_t i;

	REFUSED(iio_output(o)->kind = HT_CHANNEL_GPIO, HT_ERR_CHANNEL, HT_AT_OUTPUT, 1);
	for (i = 0; i < sizeof(struct ht_image_channel); i++) {
		REFUSED(((char *)&o->inputs[0].channel)[i] = 4, i < 4 ? HT_ERR_CHANNEL :
			HT_ERR_RESERVED, HT_AT_INPUT, 0);
		REFUSED(((char *)&o->outputs[0].channel)[i] = 4, i < 4 ? HT_ERR_CHANNEL :
			HT_ERR_RESERVED, HT_AT_OUTPUT, 0);
	}
	/* Polling is for IIO inputs. */
	ACCEPTED(iio_input(o); o->inputs[1].flags = HT_INPUT_POLL);
	REFUSED(iio_input(o); o->inputs[1].flags = 2, HT_ERR_RESERVED,
		HT_AT_INPUT, 1);
	REFUSED(gpio_input(o); o->inputs[1].flags = HT_INPUT_POLL,
		HT_ERR_RESERVED, HT_AT_INPUT, 1);
}

/* A rig: one DAC, one ADC, a wire between them. */
FIXTURE(rig_image) {
	struct bench b;
	struct open_image o;
};

FIXTURE_SETUP(rig_image)
{
	struct draft *d = draft_new_rig(PERIOD_NS);
	ht_u32 u, y;

	bench_open(&self->b);
	draft_free(self->b.draft);
	self->b.draft = d;
	u = draft_signal(d, "u", 0.25);
	y = draft_signal(d, "y", 0);
	draft_dac(d, u, "command");
	draft_adc(d, y, "position");
	draft_block(d, "matrix", 0, 1, &u, 1, &y);
	make_image(&self->b);
	open_by_hand(&self->o, self->b.image, self->b.image);
}

FIXTURE_TEARDOWN(rig_image)
{
	bench_close(&self->b);
}

TEST_F(rig_image, header)
{
	static const size_t loop_only[] = {
		offsetof(struct ht_image_header, ring_records),
		offsetof(struct ht_image_header, soft_start_ticks),
		offsetof(struct ht_image_header, soft_stop_ticks),
		offsetof(struct ht_image_header, budget_ns),
		offsetof(struct ht_image_header, deadline_ns),
		offsetof(struct ht_image_header, deadline_ticks),
		offsetof(struct ht_image_header, missed_ticks),
		offsetof(struct ht_image_header, heartbeat_ms),
		offsetof(struct ht_image_header, post_trip_ticks),
		offsetof(struct ht_image_header, scan_ticks),
		offsetof(struct ht_image_header, write_ticks),
		offsetof(struct ht_image_header, reserved),
	};
	struct open_image *o = &self->o;
	size_t i;

	ACCEPTED((void)o);
	ACCEPTED(o->header->flags = HT_IMAGE_HELD);
	REFUSED(o->header->flags = 2, HT_ERR_RESERVED, HT_AT_IMAGE, 0);
	for (i = 0; i < HT_COUNT(loop_only); i++)
		REFUSED(*(ht_u32 *)((char *)o->header + loop_only[i]) = 1, HT_ERR_RESERVED,
			HT_AT_IMAGE, 0);
	EXPECT_EQ(HT_ERR_COUNT, check_period(&self->b, 0));
	self->b.draft->header.budget_ns = 0;
	self->b.draft->header.deadline_ns = 0;
	self->b.draft->header.period_ns = PERIOD_NS;
	draft_record(self->b.draft, 0);
	make_image(&self->b);
	EXPECT_EQ(HT_ERR_RESERVED, ht_image_check(self->b.image, self->b.size, &self->b.error));
	self->b.draft->header.n_records = 0;
	draft_lock(self->b.draft, HT_LOCK_RANGE, HT_ACTION_RAMP, 0, -1, 1);
	make_image(&self->b);
	EXPECT_EQ(HT_ERR_RESERVED, ht_image_check(self->b.image, self->b.size, &self->b.error));
	EXPECT_EQ(HT_AT_IMAGE, self->b.error.where);
	/* A loop's image is none of a rig. */
	self->b.draft->header.n_interlocks = 0;
	make_image(&self->b);
	open_by_hand(o, self->b.image, self->b.image);
	REFUSED(o->header->kind = HT_IMAGE_LOOP, HT_ERR_COUNT, HT_AT_IMAGE, 0);
}

TEST_F(rig_image, channels)
{
	struct open_image *o = &self->o;
	struct ht_image_channel *c;
	ht_u32 where;

	for (where = HT_AT_INPUT; where <= HT_AT_OUTPUT; where++) {
#define C (c = where == HT_AT_INPUT ? &o->inputs[0].channel : &o->outputs[0].channel)
		REFUSED(C->kind = HT_CHANNEL_GPIO, HT_ERR_CHANNEL, where, 0);
		REFUSED(C->kind = HT_CHANNEL_NONE, HT_ERR_CHANNEL, where, 0);
		REFUSED(memset(C, 0, sizeof(*c)), HT_ERR_CHANNEL, where, 0);
		REFUSED(C->bits = 0, HT_ERR_CHANNEL, where, 0);
		REFUSED(C->bits = 1, HT_ERR_CHANNEL, where, 0);
		REFUSED(C->bits = 33, HT_ERR_CHANNEL, where, 0);
		ACCEPTED(C->bits = 2);
		ACCEPTED(C->bits = 32);
		REFUSED(C->range_mv = 0, HT_ERR_CHANNEL, where, 0);
		REFUSED(C->range_mv = 1000001, HT_ERR_CHANNEL, where, 0);
		ACCEPTED(C->range_mv = 1);
		ACCEPTED(C->range_mv = 1000000);
		REFUSED(C->gain = 0, HT_ERR_CHANNEL, where, 0);
		REFUSED(C->gain = INFINITY, HT_ERR_NOT_FINITE, where, 0);
		ACCEPTED(C->gain = -1e-3);
		REFUSED(C->offset = NAN, HT_ERR_NOT_FINITE, where, 0);
		ACCEPTED(C->offset = -7);
		REFUSED(C->noise = -1e-3, HT_ERR_CHANNEL, where, 0);
		REFUSED(C->noise = NAN, HT_ERR_NOT_FINITE, where, 0);
		REFUSED(C->reserved = 1, HT_ERR_RESERVED, where, 0);
		REFUSED(C->device[0] = 'x', HT_ERR_RESERVED, where, 0);
		REFUSED(memset(C->name, 0, HT_NAME_LEN), HT_ERR_NAME, where, 0);
		REFUSED(C->name[0] = '\n', HT_ERR_NAME, where, 0);
#undef C
	}
	ACCEPTED(o->outputs[0].channel.noise = 1e-3);
	REFUSED(o->inputs[0].channel.noise = 1e-3, HT_ERR_CHANNEL, HT_AT_INPUT, 0);
	REFUSED(o->inputs[0].flags = HT_INPUT_POLL, HT_ERR_RESERVED, HT_AT_INPUT, 0);
	REFUSED(o->outputs[0].flags = 1, HT_ERR_RESERVED, HT_AT_OUTPUT, 0);
	REFUSED(o->outputs[0].signal = 2, HT_ERR_SIGNAL, HT_AT_OUTPUT, 0);
	REFUSED(o->inputs[0].signal = 2, HT_ERR_SIGNAL, HT_AT_INPUT, 0);
	REFUSED(o->inputs[0].signal = 1, HT_ERR_WRITERS, HT_AT_BLOCK, 0);
	/* Of a loop only. */
	REFUSED(o->outputs[0].safe = 1, HT_ERR_RESERVED, HT_AT_OUTPUT, 0);
	REFUSED(o->outputs[0].min = -1, HT_ERR_RESERVED, HT_AT_OUTPUT, 0);
	REFUSED(o->outputs[0].max = 1, HT_ERR_RESERVED, HT_AT_OUTPUT, 0);
	REFUSED(o->outputs[0].slew = 1, HT_ERR_RESERVED, HT_AT_OUTPUT, 0);
	REFUSED(o->outputs[0].ramp = 1, HT_ERR_RESERVED, HT_AT_OUTPUT, 0);
}

TEST_F(image, signals_exist)
{
	struct open_image *o = &self->o;
	ht_u32 wire = 0;

	REFUSED(o->inputs[1].signal = N_S, HT_ERR_SIGNAL, HT_AT_INPUT, 1);
	REFUSED(o->outputs[1].signal = N_S, HT_ERR_SIGNAL, HT_AT_OUTPUT, 1);
	REFUSED(o->outputs[1].signal = HT_NO_SIGNAL, HT_ERR_SIGNAL, HT_AT_OUTPUT, 1);
	REFUSED(o->interlocks[2].signal = N_S, HT_ERR_SIGNAL, HT_AT_INTERLOCK, 2);
	REFUSED(o->interlocks[2].signal = HT_NO_SIGNAL, HT_ERR_SIGNAL, HT_AT_INTERLOCK, 2);
	REFUSED(o->interlocks[2].other = N_S, HT_ERR_SIGNAL, HT_AT_INTERLOCK, 2);
	REFUSED(o->interlocks[3].other = N_S, HT_ERR_SIGNAL, HT_AT_INTERLOCK, 3);
	REFUSED(o->records[2] = N_S, HT_ERR_SIGNAL, HT_AT_RECORD, 2);
	/* Wires: const has 1, sum 3, delay 2, table 1, product 4, filter 2. */
	REFUSED_ITEM(o->wires[0] = N_S, HT_ERR_SIGNAL, HT_AT_BLOCK, B_CONST, 0);
	REFUSED_ITEM(o->wires[1] = N_S, HT_ERR_SIGNAL, HT_AT_BLOCK, B_SUM, 0);
	REFUSED_ITEM(o->wires[2] = N_S, HT_ERR_SIGNAL, HT_AT_BLOCK, B_SUM, 1);
	REFUSED_ITEM(o->wires[3] = N_S, HT_ERR_SIGNAL, HT_AT_BLOCK, B_SUM, 2);
	REFUSED_ITEM(o->wires[12] = N_S, HT_ERR_SIGNAL, HT_AT_BLOCK, B_FILTER, 1);
	for (wire = 0; wire < 13; wire++) {
		o->wires[wire] = 0x80000000;
		image_repair_crc(self->b.image, self->b.size);
		EXPECT_EQ(HT_ERR_SIGNAL, ht_image_check(self->b.image, self->b.size,
							&self->b.error));
		make_image(&self->b);
		open_by_hand(o, self->b.image, self->b.image);
	}
}

TEST_F(image, one_writer_per_signal)
{
	struct open_image *o = &self->o;

	REFUSED(o->inputs[1].signal = S_IN0, HT_ERR_WRITERS, HT_AT_INPUT, 1);
	REFUSED_ITEM(o->wires[3] = S_IN0, HT_ERR_WRITERS, HT_AT_BLOCK, B_SUM, 2);
	REFUSED_ITEM(o->wires[3] = S_CONST, HT_ERR_WRITERS, HT_AT_BLOCK, B_SUM, 2);
	REFUSED(o->wires[12] = S_DELAYED, HT_ERR_WRITERS, HT_AT_BLOCK, B_FILTER);
	ACCEPTED(o->wires[12] = S_FREE);
	/* Reading is free: two outputs, records and locks of one signal. */
	ACCEPTED(o->outputs[1].signal = S_SUM);
	ACCEPTED(o->records[0] = S_SUM);
}

TEST_F(image, blocks_are_known_and_fit)
{
	struct open_image *o = &self->o;

	REFUSED(o->blocks[B_SUM].type = ht_n_block_types, HT_ERR_TYPE, HT_AT_BLOCK, B_SUM);
	REFUSED(o->blocks[B_SUM].type = 0xffffffff, HT_ERR_TYPE, HT_AT_BLOCK, B_SUM);
	REFUSED(o->blocks[B_CONST].n_out = 0, HT_ERR_PORTS, HT_AT_BLOCK, B_CONST);
	REFUSED(o->blocks[B_PRODUCT].n_in = 0, HT_ERR_PORTS, HT_AT_BLOCK, B_PRODUCT);
	REFUSED(o->blocks[B_PRODUCT].n_out = 2, HT_ERR_PORTS, HT_AT_BLOCK, B_PRODUCT);
	REFUSED(o->blocks[B_SUM].n_in = HT_MAX_PORTS + 1, HT_ERR_PORTS, HT_AT_BLOCK, B_SUM);
	REFUSED(o->blocks[B_SUM].n_in = 0xffffffff, HT_ERR_PORTS, HT_AT_BLOCK, B_SUM);
	REFUSED(o->blocks[B_TABLE].n_in = 1, HT_ERR_PORTS, HT_AT_BLOCK, B_TABLE);
	/* Within bounds, but a delay has as many outputs as inputs. */
	REFUSED(o->blocks[B_DELAY].n_in = 2, HT_ERR_PORTS, HT_AT_BLOCK, B_DELAY);
	REFUSED(o->blocks[B_FILTER].dims[0] = 0, HT_ERR_DIMS, HT_AT_BLOCK, B_FILTER);
	REFUSED(o->blocks[B_FILTER].dims[0] = 65, HT_ERR_DIMS, HT_AT_BLOCK, B_FILTER);
	REFUSED(o->blocks[B_TABLE].dims[0] = (1 << 24) + 1, HT_ERR_DIMS, HT_AT_BLOCK, B_TABLE);
	/* Within bounds, but 7 samples make no rows of 2. */
	REFUSED(o->blocks[B_TABLE].n_out = 2; o->blocks[B_TABLE].dims[0] = 7,
		HT_ERR_DIMS, HT_AT_BLOCK, B_TABLE);
}

static int check_with(struct bench *b, int params, int data, int wires)
{
	struct ht_image_header saved = b->draft->header;
	int code;

	b->draft->header.n_params += params;
	b->draft->header.n_data += data;
	b->draft->header.n_wires += wires;
	make_image(b);
	code = ht_image_check(b->image, b->size, &b->error);
	b->draft->header = saved;
	return code;
}

TEST_F(image, blocks_use_all_values_and_no_more)
{
	struct bench *b = &self->b;
	struct open_image *o = &self->o;

	EXPECT_EQ(HT_OK, check_with(b, 0, 0, 0));
	EXPECT_EQ(HT_ERR_LAYOUT, check_with(b, 1, 0, 0));
	EXPECT_EQ(HT_ERR_LAYOUT, check_with(b, -1, 0, 0));
	EXPECT_EQ(HT_ERR_LAYOUT, check_with(b, 0, 1, 0));
	EXPECT_EQ(HT_ERR_LAYOUT, check_with(b, 0, -1, 0));
	EXPECT_EQ(HT_ERR_LAYOUT, check_with(b, 0, 0, 1));
	EXPECT_EQ(HT_ERR_LAYOUT, check_with(b, 0, 0, -1));
	EXPECT_EQ(HT_ERR_LAYOUT, check_with(b, -6, 6, 0));
	make_image(b);
	open_by_hand(o, b->image, b->image);
	o->blocks[B_FILTER].dims[0] = 2;
	image_repair_crc(b->image, b->size);
	EXPECT_EQ(HT_ERR_LAYOUT, ht_image_check(b->image, b->size, &b->error));
}

TEST_F(image, parameters_are_checked_by_init)
{
	struct open_image *o = &self->o;
	/* const: b; sum: A A b; delay: initial; table: 5; filter: b0 b1 b2 a1 a2 */
	enum { CONST_B, SUM_A0, SUM_A1, SUM_B, INITIAL, INTERVAL, GAIN, INTERPOLATION, END,
	       START, B0, B1, B2, A1, A2, N_PARAMS };

	ASSERT_EQ(N_PARAMS, o->header->n_params);
	REFUSED_BY_INIT(o->params[CONST_B] = NAN, HT_ERR_NOT_FINITE, HT_AT_BLOCK, B_CONST, 1);
	REFUSED_BY_INIT(o->params[A2] = INFINITY, HT_ERR_NOT_FINITE, HT_AT_BLOCK, B_FILTER, 4);
	REFUSED_BY_INIT(o->params[SUM_A1] = 1e16, HT_ERR_RANGE, HT_AT_BLOCK, B_SUM, 0);
	REFUSED_BY_INIT(o->params[SUM_A1] = -1e16, HT_ERR_RANGE, HT_AT_BLOCK, B_SUM, 0);
	REFUSED_BY_INIT(o->params[INTERVAL] = 0, HT_ERR_RANGE, HT_AT_BLOCK, B_TABLE, 1);
	REFUSED_BY_INIT(o->params[START] = -1, HT_ERR_RANGE, HT_AT_BLOCK, B_TABLE, 5);
	REFUSED_BY_INIT(o->params[END] = 3, HT_ERR_RANGE, HT_AT_BLOCK, B_TABLE, 4);
	REFUSED_BY_INIT(o->params[END] = 0.5, HT_ERR_INTEGER, HT_AT_BLOCK, B_TABLE, 4);
	REFUSED_BY_INIT(o->params[A1] = 2.5, HT_ERR_RANGE, HT_AT_BLOCK, B_FILTER, 3);
	/* |a1| <= 1 + a2 is for the block to know; a1 is its field 3. */
	REFUSED_BY_INIT(o->params[A1] = 1.5, HT_ERR_UNSTABLE, HT_AT_BLOCK, B_FILTER, 3);
	ACCEPTED(o->params[A1] = 1);
	ACCEPTED(o->params[SUM_A1] = 1e15);
	/* The samples are field 0 of the table. */
	REFUSED_BY_INIT(o->data[4] = NAN, HT_ERR_NOT_FINITE, HT_AT_BLOCK, B_TABLE, 0);
	REFUSED_BY_INIT(o->data[5] = 1e16, HT_ERR_RANGE, HT_AT_BLOCK, B_TABLE, 0);
}

FIXTURE(loop) {
	struct bench b;
};

FIXTURE_SETUP(loop)
{
	bench_open(&self->b);
}

FIXTURE_TEARDOWN(loop)
{
	bench_close(&self->b);
}

TEST_F(loop, what_blocks_refuse_names_them)
{
	struct bench *b = &self->b;
	ht_u32 force, x, block;

	draft_constant(b->draft, "force", 1, &force);
	x = draft_signal(b->draft, "x", 0);
	block = draft_block(b->draft, "structure", 1, 1, &force, 1, &x);
	EXPECT_EQ(HT_ERR_SINGULAR, make_program(b));
	EXPECT_EQ(HT_ERR_SINGULAR, b->error.code);
	EXPECT_EQ(HT_AT_BLOCK, b->error.where);
	EXPECT_EQ(block, b->error.index);
	EXPECT_EQ(0, b->error.item);
	EXPECT_EQ(HT_ERR_SINGULAR, make_loop(b));

	/* central difference: dt < 2 / w */
	draft_set(b->draft, block, "M", 0, 1);
	draft_set(b->draft, block, "scheme", 0, 1);
	draft_set(b->draft, block, "K", 0, 4.01 / (DT * DT));
	EXPECT_EQ(HT_ERR_UNSTABLE, make_program(b));
	EXPECT_EQ(block, b->error.index);
	draft_set(b->draft, block, "K", 0, 3.99 / (DT * DT));
	EXPECT_EQ(HT_OK, make_program(b));
}

TEST(texts)
{
	ht_u32 i, j;

	for (i = 0; i < HT_ERRORS; i++) {
		ASSERT_NE(NULL, ht_error_text(i));
		EXPECT_NE(0, ht_error_text(i)[0]);
		for (j = 0; j < i; j++)
			EXPECT_STRNE(ht_error_text(i), ht_error_text(j));
	}
	for (i = 0; i < HT_PLACES; i++) {
		ASSERT_NE(NULL, ht_error_place(i));
		for (j = 0; j < i; j++)
			EXPECT_STRNE(ht_error_place(i), ht_error_place(j));
	}
	for (i = 0; i < HT_CAUSES; i++) {
		ASSERT_NE(NULL, ht_cause_text(i));
		for (j = 0; j < i; j++)
			EXPECT_STRNE(ht_cause_text(i), ht_cause_text(j));
	}
	EXPECT_NE(NULL, ht_error_text(HT_ERRORS));
	EXPECT_NE(NULL, ht_error_text(0xffffffff));
	EXPECT_NE(NULL, ht_error_place(HT_PLACES));
	EXPECT_NE(NULL, ht_error_place(0xffffffff));
	EXPECT_NE(NULL, ht_cause_text(HT_CAUSES));
	EXPECT_NE(NULL, ht_cause_text(0xffffffff));
}

TEST(small_helpers)
{
	static const ht_s64 counts[] = {
		0, 1, -1, 1000000007, -5, 1ll << 53, (1ll << 53) + 3, -(1ll << 62) - 12345,
	};
	double values[9];
	struct ht_error e;
	size_t i;

	for (i = 0; i < HT_COUNT(counts); i++)
		EXPECT_EQ(ht_bits((double)counts[i]), ht_bits_of_count(counts[i]));
	EXPECT_EQ(HT_ERR_ORDER, ht_refuse(&e, HT_ERR_ORDER, HT_AT_RECORD, 3, 4, 5));
	EXPECT_EQ(HT_ERR_ORDER, e.code);
	EXPECT_EQ(HT_AT_RECORD, e.where);
	EXPECT_EQ(3, e.index);
	EXPECT_EQ(4, e.item);
	EXPECT_EQ(5, e.value);
	values[8] = 7;
	ht_fill(values, 2.5, 8);
	for (i = 0; i < 8; i++)
		EXPECT_SAME(2.5, values[i]);
	EXPECT_SAME(7, values[8]);
}

/* ---------------------------------------------------------- the program */

TEST_F(image, place_of_every_parameter)
{
	struct ht_param_place place;
	ht_u32 b, f, e, param = 0;

	for (b = 0; b < N_B; b++) {
		const struct ht_image_block *block = &self->o.blocks[b];
		const struct ht_block_type *type = ht_block_types[block->type];
		struct ht_layout layout = { 0 };

		ASSERT_EQ(HT_OK, type->layout(block->n_in, block->n_out, block->dims, &layout));
		for (f = 0; f < type->n_fields; f++) {
			if (type->fields[f].flags & HT_FIELD_DATA)
				continue;
			for (e = 0; e < layout.count[f]; e++, param++) {
				ASSERT_EQ(HT_OK, ht_param_place(self->b.image, param, &place));
				EXPECT_EQ(b, place.block);
				EXPECT_EQ(f, place.field);
				EXPECT_EQ(e, place.element);
				EXPECT_EQ(layout.count[f], place.count);
			}
		}
	}
	EXPECT_EQ(15, param);
	EXPECT_EQ(HT_ERR_PARAM, ht_param_place(self->b.image, param, &place));
	EXPECT_EQ(HT_ERR_PARAM, ht_param_place(self->b.image, 0xffffffff, &place));
}

/* Every type at its smallest, one after the other. */
TEST_F(loop, place_of_parameters_of_all_types)
{
	struct bench *b = &self->b;
	struct ht_param_place place;
	ht_u32 in[4], out[4], t, k, param;

	for (k = 0; k < 4; k++)
		draft_constant(b->draft, "in", 1, &in[k]);
	for (t = 0; t < ht_n_block_types; t++) {
		const struct ht_block_type *type = ht_block_types[t];
		const ht_u32 n_out = type->min_out ? type->min_out : 1;

		ASSERT_LE(type->min_in, HT_COUNT(in));
		ASSERT_LE(n_out, HT_COUNT(out));
		for (k = 0; k < n_out; k++)
			out[k] = draft_signal(b->draft, "out", 0);
		draft_block(b->draft, type->name, type->n_dims ? type->dims[0].min : 0,
			    type->min_in, in, n_out, out);
	}
	make_image(b);
	ASSERT_EQ(HT_OK, ht_image_check(b->image, b->size, &b->error));
	for (param = 0; param < b->draft->header.n_params; param++) {
		const struct ht_block_type *type;

		ASSERT_EQ(HT_OK, ht_param_place(b->image, param, &place));
		ASSERT_LT(place.block, b->draft->header.n_blocks);
		type = ht_block_types[b->draft->blocks[place.block].type];
		ASSERT_LT(place.field, type->n_fields);
		EXPECT_FALSE(type->fields[place.field].flags & HT_FIELD_DATA);
		EXPECT_LT(place.element, place.count);
		EXPECT_EQ(param, draft_param(b->draft, place.block,
					     type->fields[place.field].name, place.element));
	}
	EXPECT_EQ(HT_ERR_PARAM, ht_param_place(b->image, param, &place));
}

TEST_F(loop, initial_values_before_and_after_reset)
{
	struct bench *b = &self->b;
	ht_u32 count, loose, k;

	loose = draft_signal(b->draft, "loose", 12.5);
	count = add_counter(b, "count");
	b->draft->signals[count].initial = -3;
	ASSERT_EQ(HT_OK, make_program(b));
	EXPECT_SAME(-3, signal_of(b, count));
	EXPECT_SAME(12.5, signal_of(b, loose));
	for (k = 0; k < 5; k++) {
		ht_program_step(b->program, k);
		EXPECT_SAME(k + 1, signal_of(b, count));
	}
	ht_program_signals(b->program)[loose] = 99;
	ht_program_reset(b->program);
	EXPECT_SAME(-3, signal_of(b, count));
	EXPECT_SAME(12.5, signal_of(b, loose));
	ht_program_step(b->program, 0);
	EXPECT_SAME(1, signal_of(b, count));
}

/* A chain source -> 3 delays, blocks in every order. */
TEST_F(loop, unit_delays_work_in_any_order)
{
	static const ht_u32 orders[][4] = {
		{ 0, 1, 2, 3 }, { 0, 1, 3, 2 }, { 0, 3, 2, 1 }, { 3, 2, 1, 0 },
		{ 1, 2, 3, 0 }, { 2, 0, 3, 1 }, { 2, 1, 0, 3 }, { 3, 0, 1, 2 },
	};
	double values[40];
	ht_u32 o, k, i, s[4] = { 0 };

	for (k = 0; k < HT_COUNT(values); k++)
		values[k] = k * k + 0.5;
	for (o = 0; o < HT_COUNT(orders); o++) {
		struct bench b;

		bench_open(&b);
		for (i = 1; i < 4; i++)
			s[i] = draft_signal(b.draft, "delayed", 0);
		s[0] = 3;	/* the next that will be made */
		for (i = 0; i < 4; i++) {
			const ht_u32 n = orders[o][i];
			ht_u32 block;

			if (!n) {
				ASSERT_EQ(s[0], add_sequence(&b, "source", values, 40));
				continue;
			}
			block = draft_block(b.draft, "unit_delay", 0, 1, &s[n - 1], 1, &s[n]);
			draft_set(b.draft, block, "initial", 0, -10.0 * n);
		}
		ASSERT_EQ(HT_OK, make_program(&b));
		for (k = 0; k < 40; k++) {
			ht_program_step(b.program, k);
			for (i = 0; i < 4; i++) {
				/* Until the source arrives: what the delays began with. */
				EXPECT_SAME(k < i ? -10.0 * (i - k) : values[k - i],
					    signal_of(&b, s[i]));
			}
		}
		bench_close(&b);
	}
}

/* The number of the tick is what the caller says, the period is the header's. */
TEST_F(loop, clock_is_given_from_outside)
{
	struct bench *b = &self->b;
	const double values[] = { 1, 2, 4, 8, 16, 32, 64, 128 };
	ht_u32 s = add_sequence(b, "s", values, 8);

	ASSERT_EQ(HT_OK, make_program(b));
	ht_program_step(b->program, 5);
	EXPECT_SAME(32, signal_of(b, s));
	ht_program_step(b->program, 2);
	EXPECT_SAME(4, signal_of(b, s));
	ht_program_step(b->program, 1ull << 40);
	EXPECT_SAME(128, signal_of(b, s));
}

static struct ht_change change(ht_u32 param, double value)
{
	return (struct ht_change){ .param = param, .value = ht_bits(value) };
}

TEST_F(loop, batch_waits_for_its_commit_and_comes_whole)
{
	struct bench *b = &self->b;
	ht_u32 blocks[8], signals[8], k;
	struct ht_change batch[8];
	const double *params;

	for (k = 0; k < 8; k++)
		blocks[k] = draft_constant(b->draft, "c", k, &signals[k]);
	ASSERT_EQ(HT_OK, make_program(b));
	params = ht_program_params(b->program);
	for (k = 0; k < 8; k++) {
		EXPECT_SAME(k, params[k]);
		batch[k] = change(draft_param(b->draft, blocks[k], "b", 0), 100 + k);
	}
	ht_program_step(b->program, 0);
	ASSERT_EQ(HT_OK, ht_program_stage(b->program, batch, 8, &b->error));
	params = ht_program_params(b->program);
	for (k = 0; k < 8; k++)
		EXPECT_SAME(k, params[k]);
	ht_program_step(b->program, 1);
	for (k = 0; k < 8; k++)
		EXPECT_SAME(k, signal_of(b, signals[k]));
	ht_program_commit(b->program);
	params = ht_program_params(b->program);
	for (k = 0; k < 8; k++) {
		EXPECT_SAME(100 + k, params[k]);
		EXPECT_SAME(k, signal_of(b, signals[k]));
	}
	ht_program_step(b->program, 2);
	for (k = 0; k < 8; k++)
		EXPECT_SAME(100 + k, signal_of(b, signals[k]));

	/* Later batches carry on what earlier ones set, in both banks. */
	for (k = 0; k < 6; k++) {
		batch[0] = change(k, 1000 + k);
		ASSERT_EQ(HT_OK, ht_program_stage(b->program, batch, 1, &b->error));
		ht_program_commit(b->program);
		ht_program_step(b->program, 3 + k);
	}
	for (k = 0; k < 8; k++) {
		EXPECT_SAME(k < 6 ? 1000 + k : 100 + k, ht_program_params(b->program)[k]);
		EXPECT_SAME(k < 6 ? 1000 + k : 100 + k, signal_of(b, signals[k]));
	}

	/* Twice in one batch: in its order. */
	batch[0] = change(7, 1);
	batch[1] = change(7, 2);
	ASSERT_EQ(HT_OK, ht_program_stage(b->program, batch, 2, &b->error));
	ht_program_commit(b->program);
	EXPECT_SAME(2, ht_program_params(b->program)[7]);

	/* Nothing to change is no error. */
	ASSERT_EQ(HT_OK, ht_program_stage(b->program, batch, 0, &b->error));
	ht_program_commit(b->program);
	EXPECT_SAME(2, ht_program_params(b->program)[7]);
	EXPECT_SAME(1003, ht_program_params(b->program)[3]);

	/* They outlive a reset. */
	ht_program_reset(b->program);
	EXPECT_SAME(2, ht_program_params(b->program)[7]);
	ht_program_step(b->program, 0);
	EXPECT_SAME(1005, signal_of(b, signals[5]));
}

TEST_F(loop, bad_batch_changes_nothing)
{
	struct bench *b = &self->b;
	ht_u32 gain, fixed, integer, min, max, s, out, out2, blk, phase, limit, k;
	const struct {
		ht_u32 code;
		ht_u32 which;
		double value;
	} bad[] = {
		{ HT_ERR_FIXED, 1, 3 }, { HT_ERR_NOT_FINITE, 0, NAN },
		{ HT_ERR_NOT_FINITE, 0, INFINITY }, { HT_ERR_RANGE, 0, 1e16 },
		{ HT_ERR_INTEGER, 2, 1.5 }, { HT_ERR_RANGE, 2, 0 }, { HT_ERR_RANGE, 2, 1025 },
		{ HT_ERR_PARAM, 3, 1 }, { HT_ERR_PARAM, 4, 1 },
		/* What only prepare() of the block can tell: min above max. */
		{ HT_ERR_ORDER, 5, 6 },
	};
	double before[64];
	ht_u32 n, code;

	draft_constant(b->draft, "u", 1, &s);
	out = add_affine(b, "y", s, 2, 0, &blk);
	gain = draft_param(b->draft, blk, "A", 0);
	out2 = draft_signal(b->draft, "delayed", 0);
	blk = draft_block(b->draft, "unit_delay", 0, 1, &out, 1, &out2);
	fixed = draft_param(b->draft, blk, "initial", 0);
	s = draft_signal(b->draft, "phase", 0);
	phase = draft_block(b->draft, "phase", 0, 0, NULL, 1, &s);
	integer = draft_param(b->draft, phase, "subharmonic", 0);
	s = draft_signal(b->draft, "limited", 0);
	limit = draft_block(b->draft, "limit", 0, 1, &out, 1, &s);
	draft_set(b->draft, limit, "min", 0, -5);
	draft_set(b->draft, limit, "max", 0, 5);
	min = draft_param(b->draft, limit, "min", 0);
	max = draft_param(b->draft, limit, "max", 0);
	ASSERT_EQ(HT_OK, make_program(b));
	n = b->draft->header.n_params;
	ASSERT_LE(n, 64);
	memcpy(before, ht_program_params(b->program), n * sizeof(double));

	for (k = 0; k < HT_COUNT(bad); k++) {
		const ht_u32 numbers[] = { gain, fixed, integer, n, 0xffffffff, min };
		const struct ht_change batch[] = {
			change(max, 4), change(numbers[bad[k].which], bad[k].value),
			change(gain, 7),
		};
		/* The last one is good; where the gain itself is bad, it comes last. */
		const ht_u32 length = bad[k].which ? 3 : 2;

		memset(&b->error, 0xee, sizeof(b->error));
		code = ht_program_stage(b->program, batch, length, &b->error);
		EXPECT_EQ(bad[k].code, code) {
			TH_LOG("case %u", k);
		}
		EXPECT_EQ(bad[k].code, b->error.code);
		if (bad[k].code == HT_ERR_ORDER) {
			EXPECT_EQ(HT_AT_BLOCK, b->error.where);
			EXPECT_EQ(limit, b->error.index);
		} else {
			EXPECT_EQ(HT_AT_PARAM, b->error.where);
			EXPECT_EQ(1, b->error.index);
			EXPECT_EQ(numbers[bad[k].which], b->error.item);
		}
		if (bad[k].code == HT_ERR_RANGE)
			EXPECT_EQ(ht_bits(bad[k].value), b->error.value);
		EXPECT_EQ(0, memcmp(before, ht_program_params(b->program), n * sizeof(double)));
		ht_program_step(b->program, k);
		EXPECT_SAME(2, signal_of(b, out));
	}

	/* Reserved field of a change. */
	{
		struct ht_change reserved = change(gain, 3);

		reserved.reserved = 1;
		EXPECT_EQ(HT_ERR_RESERVED, ht_program_stage(b->program, &reserved, 1, &b->error));
	}

	/* Nothing of a refused batch is left for the next good one. */
	{
		const struct ht_change good = change(gain, 3);

		ASSERT_EQ(HT_OK, ht_program_stage(b->program, &good, 1, &b->error));
		ht_program_commit(b->program);
		before[gain] = 3;
		EXPECT_EQ(0, memcmp(before, ht_program_params(b->program), n * sizeof(double)));
		ht_program_step(b->program, 100);
		EXPECT_SAME(3, signal_of(b, out));
	}

	/* min and max together: neither alone would do. */
	{
		const struct ht_change both[] = { change(min, 10), change(max, 20) };

		EXPECT_EQ(HT_ERR_ORDER, ht_program_stage(b->program, both, 1, &b->error));
		EXPECT_EQ(HT_OK, ht_program_stage(b->program, both, 2, &b->error));
		ht_program_commit(b->program);
		ht_program_step(b->program, 101);
		EXPECT_SAME(10, signal_of(b, s));
	}
}

/* Newmark from rest under a sudden load: a_0 = f / M, x_1 by the scheme. */
TEST_F(loop, derived_values_follow_the_bank)
{
	struct bench *b = &self->b;
	const double stiff = 400, soft = 100, force = 10;
	ht_u32 f, x, block, k;
	struct ht_change batch;

	draft_constant(b->draft, "f", force, &f);
	x = draft_signal(b->draft, "x", 0);
	block = draft_block(b->draft, "structure", 1, 1, &f, 1, &x);
	draft_set(b->draft, block, "M", 0, 1);
	draft_set(b->draft, block, "K", 0, stiff);
	ASSERT_EQ(HT_OK, make_program(b));
	batch = change(draft_param(b->draft, block, "K", 0), soft);
	for (k = 0; k < 3; k++) {
		const double stiffness = k < 2 ? stiff : soft;
		const double a0 = force;
		double xp, a1;

		ht_program_reset(b->program);
		if (k == 1)
			ASSERT_EQ(HT_OK, ht_program_stage(b->program, &batch, 1, &b->error));
		if (k == 2)
			ht_program_commit(b->program);
		ht_program_step(b->program, 0);
		EXPECT_SAME(0, signal_of(b, x));
		ht_program_step(b->program, 1);
		xp = DT * DT / 4 * a0;
		a1 = (force - stiffness * xp) / (1 + DT * DT / 4 * stiffness);
		EXPECT_NEAR(xp + DT * DT / 4 * a1, signal_of(b, x), 1e-16);
	}
}

/* Two structures and a constant: batches that leave them alone keep what they derived. */
TEST_F(loop, derived_values_stay_with_unchanged_blocks)
{
	static const double stiffness[] = { 400, 900 };
	struct bench *b = &self->b;
	ht_u32 f, x[2], block, constant, k, i;
	struct ht_change batch;

	constant = draft_constant(b->draft, "f", 10, &f);
	for (i = 0; i < 2; i++) {
		x[i] = draft_signal(b->draft, "x", 0);
		block = draft_block(b->draft, "structure", 1, 1, &f, 1, &x[i]);
		draft_set(b->draft, block, "M", 0, 1);
		draft_set(b->draft, block, "K", 0, stiffness[i]);
	}
	ASSERT_EQ(HT_OK, make_program(b));
	for (k = 0; k < 5; k++) {
		const double force = 10 + k;

		batch = change(draft_param(b->draft, constant, "b", 0), force);
		ASSERT_EQ(HT_OK, ht_program_stage(b->program, &batch, 1, &b->error));
		ht_program_commit(b->program);
		ht_program_reset(b->program);
		ht_program_step(b->program, 0);
		ht_program_step(b->program, 1);
		for (i = 0; i < 2; i++) {
			const double xp = DT * DT / 4 * force;
			const double a1 = (force - stiffness[i] * xp) /
					  (1 + DT * DT / 4 * stiffness[i]);

			EXPECT_NEAR(xp + DT * DT / 4 * a1, signal_of(b, x[i]), 1e-16);
		}
	}
}

/* A limit with a slew rate begins at the limit next to 0: at the one in force. */
TEST_F(loop, reset_uses_the_parameters_in_force)
{
	struct bench *b = &self->b;
	struct ht_change batch[2];
	ht_u32 u, y, block, k;

	draft_constant(b->draft, "u", 100, &u);
	y = draft_signal(b->draft, "y", 0);
	block = draft_block(b->draft, "limit", 0, 1, &u, 1, &y);
	draft_set(b->draft, block, "min", 0, 10);
	draft_set(b->draft, block, "max", 0, 50);
	draft_set(b->draft, block, "slew", 0, 512);
	ASSERT_EQ(HT_OK, make_program(b));
	for (k = 0; k < 4; k++) {
		ht_program_reset(b->program);
		ht_program_step(b->program, 0);
		EXPECT_SAME(11 + 5 * (int)k, signal_of(b, y));
		batch[0] = change(draft_param(b->draft, block, "min", 0), 15 + 5 * k);
		ASSERT_EQ(HT_OK, ht_program_stage(b->program, batch, 1, &b->error));
		ht_program_commit(b->program);
	}
}

static int pauses;

static void count_pause(void)
{
	pauses++;
}

/* The hook may be called, and nothing depends on it. */
TEST_F(loop, pause_is_harmless)
{
	struct bench *b = &self->b;
	const ht_u32 n = 200000;
	ht_u32 s = draft_signal(b->draft, "s", 0), in, block;

	draft_constant(b->draft, "in", 1, &in);
	block = draft_block(b->draft, "delay", n, 1, &in, 1, &s);
	draft_set(b->draft, block, "initial", 0, 4);
	draft_set(b->draft, block, "delay", 0, n * DT);
	ht_pause = count_pause;
	ASSERT_EQ(HT_OK, make_program(b));
	ht_program_reset(b->program);
	ht_pause = HT_NULL;
	EXPECT_GT(pauses, 0);
	ht_program_step(b->program, 0);
	EXPECT_SAME(4, signal_of(b, s));
}

/* ------------------------------------------------- the loop and its outputs */

/* A loop whose output 0 is the input itself. */
static ht_u32 follow_input(struct bench *b, double safe, double ramp)
{
	ht_u32 u = add_input(b, "u", safe);
	ht_u32 y = add_affine(b, "y", u, 1, 0, NULL);

	draft_output(b->draft, y, safe, ramp);
	return u;
}

TEST_F(loop, idle_is_safe)
{
	struct bench *b = &self->b;

	follow_input(b, 3, 100);
	draft_output(b->draft, 1, -4, 100);
	ASSERT_EQ(HT_OK, make_loop(b));
	EXPECT_EQ(HT_MODE_IDLE, ht_loop_mode(b->loop));
	EXPECT_TRUE(ht_loop_safe(b->loop));
	EXPECT_SAME(3, ht_loop_outputs(b->loop)[0]);
	EXPECT_SAME(-4, ht_loop_outputs(b->loop)[1]);
	EXPECT_EQ(HT_CAUSE_NONE, ht_loop_first_trip(b->loop)->cause);
	ht_loop_stop(b->loop);
	EXPECT_EQ(HT_MODE_IDLE, ht_loop_mode(b->loop));
	ht_loop_release(b->loop);
	EXPECT_EQ(HT_MODE_IDLE, ht_loop_mode(b->loop));
}

/* Records are written, nothing else happens. */
TEST_F(loop, ticks_while_idle)
{
	struct bench *b = &self->b;
	ht_u32 u = follow_input(b, 3, 100), count = add_counter(b, "count");
	struct ht_lock_view view;
	int k;

	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_CUT, u, -1, 1);
	draft_record(b->draft, u);
	ASSERT_EQ(HT_OK, make_loop(b));
	for (k = 0; k < 10; k++) {
		b->in[0] = 5 + k;
		EXPECT_SAME(3, tick(b));
		EXPECT_EQ(HT_MODE_IDLE, ht_loop_mode(b->loop));
		EXPECT_EQ(HT_CAUSE_NONE, ht_loop_first_trip(b->loop)->cause);
		EXPECT_TRUE(ht_loop_safe(b->loop));
		EXPECT_SAME(5 + k, b->record[0]);
		EXPECT_SAME(3, b->record[1]);
		EXPECT_SAME(0, signal_of(b, count));
		ht_loop_lock(b->loop, 0, &view);
		EXPECT_FALSE(view.healthy);
		EXPECT_EQ(0, view.violated_ticks);
	}
}

/* Passing the safe value is not being safe. */
TEST_F(loop, safe_means_for_good)
{
	struct bench *b = &self->b;
	int k;

	follow_input(b, 2, 100);
	b->draft->header.soft_stop_ticks = 16;
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	b->in[0] = 2;
	for (k = 0; k < 5; k++) {
		EXPECT_SAME(2, tick(b));
		EXPECT_FALSE(ht_loop_safe(b->loop));
	}
	ht_loop_stop(b->loop);
	for (k = 1; k <= 16; k++) {
		EXPECT_SAME(2, tick(b));
		EXPECT_EQ(k == 16, ht_loop_safe(b->loop));
	}
}

/*
 * A motion that follows the command perfectly, one tick late, has a sync error of
 * one tick's change only, also while the outputs fade and the program does not.
 */
TEST_F(loop, sync_error_while_fading)
{
	struct bench *b = &self->b;
	struct ht_image_interlock *lock;
	ht_u32 y = add_input(b, "y", 0), ya = add_input(b, "ya", 0);
	double out = 0;
	int k;

	draft_output(b->draft, y, 0, 100);
	b->draft->header.soft_start_ticks = 20;
	b->draft->header.soft_stop_ticks = 20;
	lock = draft_lock(b->draft, HT_LOCK_DIFFERENCE, HT_ACTION_RAMP, ya, 0, 0.5);
	lock->other = y;
	lock = draft_lock(b->draft, HT_LOCK_RMS, HT_ACTION_RAMP, ya, 0, 0.5);
	lock->other = y;
	lock->window_ticks = 4;
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	for (k = 0; k < 60; k++) {
		if (k == 40)
			ht_loop_stop(b->loop);
		b->in[0] = 8;
		b->in[1] = out;
		out = tick(b);
		/* Looked at after the tick: the command has moved on. */
		EXPECT_TRUE(lock_value(b, 0) < 0.61);
		/* The last step of the soft start, 8 (1 - w), in a window of 4. */
		EXPECT_TRUE(lock_value(b, 1) < 0.03);
		ASSERT_NE(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
		EXPECT_EQ(k >= 19 && k < 40, out == 8);
	}
	EXPECT_TRUE(ht_loop_safe(b->loop));
	/* And it is seen: a motion that stands is a growing error. */
	start(b);
	b->in[1] = 0;
	for (k = 0; k < 20 && ht_loop_mode(b->loop) == HT_MODE_RUNNING; k++)
		tick(b);
	EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
	EXPECT_TRUE(k > 3);
}

TEST_F(loop, without_fades_the_command_goes_out_as_it_is)
{
	struct bench *b = &self->b;
	int k;

	follow_input(b, 3, 100);
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b->loop));
	for (k = 0; k < 50; k++) {
		b->in[0] = 900 * sin(k);
		EXPECT_SAME(b->in[0], tick(b));
		EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b->loop));
	}
	EXPECT_FALSE(ht_loop_safe(b->loop));
	ht_loop_stop(b->loop);
	EXPECT_SAME(3, tick(b));
	EXPECT_TRUE(ht_loop_safe(b->loop));
	ht_loop_rest(b->loop);
	EXPECT_EQ(HT_MODE_IDLE, ht_loop_mode(b->loop));
	EXPECT_TRUE(ht_loop_safe(b->loop));
}

TEST_F(loop, record_is_signals_then_outputs)
{
	struct bench *b = &self->b;
	ht_u32 u = follow_input(b, 0, 100), y, count;
	int k;

	y = add_affine(b, "2u", u, 2, 0, NULL);
	count = add_counter(b, "count");
	draft_output(b->draft, y, 0, 100);
	draft_output(b->draft, count, 0, 100);
	b->draft->outputs[1].max = 5;
	draft_record(b->draft, count);
	draft_record(b->draft, u);
	draft_record(b->draft, y);
	draft_record(b->draft, u);
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	for (k = 0; k < 10; k++) {
		b->in[0] = k * 1.25;
		tick(b);
		EXPECT_SAME(k + 1, b->record[0]);
		EXPECT_SAME(k * 1.25, b->record[1]);
		EXPECT_SAME(k * 2.5, b->record[2]);
		EXPECT_SAME(k * 1.25, b->record[3]);
		EXPECT_SAME(k * 1.25, b->record[4]);
		EXPECT_SAME(fmin(k * 2.5, 5), b->record[5]);
		EXPECT_SAME(k + 1, b->record[6]);
		EXPECT_EQ(0, memcmp(b->record + 4, ht_loop_outputs(b->loop), 24));
	}
}

TEST_F(loop, soft_start_rises_smoothly_from_safe)
{
	struct bench *b = &self->b;
	const int n = 64;
	double last, y;
	int k;

	follow_input(b, 2, 100);
	b->draft->header.soft_start_ticks = n;
	ASSERT_EQ(HT_OK, make_loop(b));
	b->in[0] = 10;
	start(b);
	last = 2;
	for (k = 0; k < n; k++) {
		y = tick(b);
		EXPECT_GE(y, last);
		EXPECT_LE(y, 10);
		/* No shape of a fade needs more than twice the mean slope. */
		EXPECT_LE(y - last, 8 * 2.01 / n);
		/* Smooth at both ends. */
		if (k == 0)
			EXPECT_LE(y - 2, 8 * 0.5 / n);
		if (k > 2 && k < n - 3)
			EXPECT_GT(y, last);
		if (k == n / 2)
			EXPECT_NEAR(6, y, 8 * 2.01 / n);
		last = y;
	}
	/* Over so many ticks, the last of them included. */
	EXPECT_SAME(10, last);
	for (k = 0; k < 20; k++) {
		b->in[0] = 0.1 * k;
		EXPECT_SAME(0.1 * k, tick(b));
	}
}

TEST_F(loop, soft_stop_ends_exactly_at_safe)
{
	struct bench *b = &self->b;
	ht_u32 count;
	const int n = 32;
	double last, y;
	int k;

	follow_input(b, 0.1, 100);
	count = add_counter(b, "count");
	b->draft->header.soft_stop_ticks = n;
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	b->in[0] = 7.7;
	for (k = 0; k < 5; k++)
		last = tick(b);
	EXPECT_SAME(7.7, last);
	ht_loop_stop(b->loop);
	EXPECT_EQ(HT_MODE_STOPPING, ht_loop_mode(b->loop));
	for (k = 0; k < 2 * n && !ht_loop_safe(b->loop); k++) {
		y = tick(b);
		EXPECT_LE(y, last);
		EXPECT_GE(y, 0.1);
		EXPECT_LE(last - y, 7.6 * 2.01 / n);
		/* The program runs on. */
		EXPECT_SAME(6 + k, signal_of(b, count));
		last = y;
	}
	EXPECT_TRUE(ht_loop_safe(b->loop));
	EXPECT_EQ(k, n);
	EXPECT_SAME(0.1, last);
	/* It stays there, whatever the program says. */
	b->in[0] = -5;
	for (k = 0; k < 10; k++)
		EXPECT_SAME(0.1, tick(b));
	EXPECT_TRUE(ht_loop_safe(b->loop));
	EXPECT_EQ(HT_MODE_STOPPING, ht_loop_mode(b->loop));
	EXPECT_EQ(HT_CAUSE_NONE, ht_loop_first_trip(b->loop)->cause);
}

TEST_F(loop, stop_amid_the_start_does_not_jump)
{
	struct bench *b = &self->b;
	const int n = 100;
	int when, k;

	follow_input(b, -1, 100);
	b->draft->header.soft_start_ticks = n;
	b->draft->header.soft_stop_ticks = n;
	ASSERT_EQ(HT_OK, make_loop(b));
	b->in[0] = 9;
	for (when = 0; when <= n + 1; when++) {
		double last = -1, y;

		start(b);
		for (k = 0; k < when; k++)
			last = tick(b);
		ht_loop_stop(b->loop);
		for (k = 0; k < 3 * n; k++) {
			y = tick(b);
			/* It may still rise a little, but never jump. */
			EXPECT_LE(fabs(y - last), 10 * 2.01 / n);
			EXPECT_GE(y, -1);
			last = y;
			if (ht_loop_safe(b->loop))
				break;
		}
		EXPECT_SAME(-1, ht_loop_outputs(b->loop)[0]);
		EXPECT_LE(k, n);
	}
}

TEST_F(loop, limits_hold)
{
	struct bench *b = &self->b;
	int k;

	follow_input(b, 0, 100);
	b->draft->outputs[0].min = -2;
	b->draft->outputs[0].max = 3;
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	for (k = -100; k < 100; k++) {
		b->in[0] = 0.1 * k;
		EXPECT_SAME(fmax(-2, fmin(3, 0.1 * k)), tick(b));
	}
	EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b->loop));
}

/* y_k = y_(k-1) + what is missing, at most slew dt; from safe on, tick 0 too. */
TEST_F(loop, slew_holds_at_every_tick)
{
	struct bench *b = &self->b;
	const double slew = 32, step = 32 * DT;
	double y = 1;
	int k;

	follow_input(b, 1, 100);
	b->draft->outputs[0].slew = slew;
	b->draft->outputs[0].max = 4;
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	for (k = 0; k < 2000; k++) {
		double wanted;

		b->in[0] = 5 * sin(0.0001 * k * k);
		wanted = fmin(b->in[0], 4);
		y += fmax(-step, fmin(step, wanted - y));
		EXPECT_NEAR(y, tick(b), 1e-14);
		y = ht_loop_outputs(b->loop)[0];
	}
	/* Down again: a stop is no reason to slew faster, and it arrives. */
	b->in[0] = 4;
	for (k = 0; k < 200; k++)
		y = tick(b);
	EXPECT_SAME(4, y);
	ht_loop_stop(b->loop);
	for (k = 0; k < 1000 && !ht_loop_safe(b->loop); k++) {
		EXPECT_LE(fabs(tick(b) - y), step);
		y = ht_loop_outputs(b->loop)[0];
	}
	EXPECT_SAME(1, y);
	EXPECT_EQ(48, k);
}

TEST_F(loop, starts_again_as_new_with_the_parameters_in_force)
{
	struct bench *b = &self->b;
	ht_u32 block, s, count, k;
	struct ht_change batch;

	block = draft_constant(b->draft, "c", 5, &s);
	draft_output(b->draft, s, 0, 1e6);
	count = add_counter(b, "count");
	b->draft->header.soft_start_ticks = 4;
	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_RAMP, count, 0, 20)->delay_ticks = 2;
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	for (k = 0; k < 22; k++)
		tick(b);
	EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b->loop));
	batch = change(draft_param(b->draft, block, "b", 0), 6);
	ASSERT_EQ(HT_OK, ht_program_stage(b->program, &batch, 1, &b->error));
	ht_program_commit(b->program);
	start(b);
	EXPECT_SAME(0, ht_loop_outputs(b->loop)[0]);
	for (k = 0; k < 22; k++)
		tick(b);
	EXPECT_SAME(6, ht_loop_outputs(b->loop)[0]);
	EXPECT_SAME(22, signal_of(b, count));
	EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b->loop));
	tick(b);
	EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
	start(b);
	EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b->loop));
	EXPECT_EQ(HT_CAUSE_NONE, ht_loop_first_trip(b->loop)->cause);
	EXPECT_SAME(6, ht_program_params(b->program)[0]);
}

/* --------------------------------------------------------------- trips */

static const struct ht_trip operator_ramp = {
	.cause = HT_CAUSE_OPERATOR, .action = HT_ACTION_RAMP
};

static const struct ht_trip operator_hold = {
	.cause = HT_CAUSE_OPERATOR, .action = HT_ACTION_HOLD
};

static const struct ht_trip owner_cut = {
	.cause = HT_CAUSE_OWNER, .action = HT_ACTION_CUT, .index = 3
};

TEST_F(loop, trip_ramps_by_exact_steps)
{
	struct bench *b = &self->b;
	double y0 = 10, y1 = -20;
	int k;

	follow_input(b, 1.5, 256);
	draft_output(b->draft, add_affine(b, "-2u", 0, -2, 0, NULL), 0.25, 512);
	draft_record(b->draft, 0);
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	b->in[0] = 10;
	EXPECT_SAME(10, tick(b));
	ht_loop_trip(b->loop, &operator_ramp);
	EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
	EXPECT_SAME(10, ht_loop_outputs(b->loop)[0]);
	/* 0.5 and 1 per tick. */
	for (k = 0; k < 30; k++) {
		y0 = fmax(y0 - 0.5, 1.5);
		y1 = fmin(y1 + 1, 0.25);
		b->in[0] = 100 + k;
		EXPECT_SAME(y0, tick(b));
		EXPECT_SAME(y1, ht_loop_outputs(b->loop)[1]);
		/* Measured signals are recorded on, with the outputs. */
		EXPECT_SAME(100 + k, b->record[0]);
		EXPECT_SAME(y0, b->record[1]);
		EXPECT_EQ(y0 == 1.5 && y1 == 0.25, ht_loop_safe(b->loop));
		EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
	}
	EXPECT_EQ(HT_CAUSE_OPERATOR, ht_loop_first_trip(b->loop)->cause);
}

TEST_F(loop, trip_holds_until_released)
{
	struct bench *b = &self->b;
	double y = 8.25;
	int k;

	follow_input(b, 0, 512);
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	b->in[0] = y;
	tick(b);
	ht_loop_trip(b->loop, &operator_hold);
	for (k = 0; k < 100; k++) {
		b->in[0] = k;
		EXPECT_SAME(y, tick(b));
		EXPECT_FALSE(ht_loop_safe(b->loop));
	}
	ht_loop_release(b->loop);
	for (k = 0; k < 12; k++) {
		y = fmax(y - 1, 0);
		EXPECT_SAME(y, tick(b));
	}
	EXPECT_TRUE(ht_loop_safe(b->loop));
	EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
	EXPECT_EQ(HT_CAUSE_OPERATOR, ht_loop_first_trip(b->loop)->cause);
	EXPECT_EQ(HT_ACTION_RAMP, ht_loop_first_trip(b->loop)->action);
}

TEST_F(loop, trip_cuts_at_once)
{
	struct bench *b = &self->b;

	follow_input(b, 0.75, 1);
	b->draft->outputs[0].slew = 1e4;
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	b->in[0] = 15;
	EXPECT_SAME(15, tick(b));
	ht_loop_trip(b->loop, &owner_cut);
	EXPECT_SAME(0.75, tick(b));
	EXPECT_TRUE(ht_loop_safe(b->loop));
	EXPECT_EQ(HT_CAUSE_OWNER, ht_loop_first_trip(b->loop)->cause);
	EXPECT_EQ(HT_ACTION_CUT, ht_loop_first_trip(b->loop)->action);
	EXPECT_EQ(3, ht_loop_first_trip(b->loop)->index);
}

/*
 * A firmer action takes over, a weaker one does not; the first cause stays.
 * Where it leads: 9 before, then a tick of the first, then one of both.
 */
TEST_F(loop, firmer_action_takes_over)
{
	static const struct {
		enum ht_action first, second, in_force;
		double then, later;
	} cases[] = {
		{ HT_ACTION_HOLD, HT_ACTION_HOLD, HT_ACTION_HOLD, 9, 9 },
		{ HT_ACTION_HOLD, HT_ACTION_RAMP, HT_ACTION_RAMP, 9, 8 },
		{ HT_ACTION_HOLD, HT_ACTION_CUT, HT_ACTION_CUT, 9, 0 },
		{ HT_ACTION_RAMP, HT_ACTION_HOLD, HT_ACTION_RAMP, 8, 7 },
		{ HT_ACTION_RAMP, HT_ACTION_RAMP, HT_ACTION_RAMP, 8, 7 },
		{ HT_ACTION_RAMP, HT_ACTION_CUT, HT_ACTION_CUT, 8, 0 },
		{ HT_ACTION_CUT, HT_ACTION_HOLD, HT_ACTION_CUT, 0, 0 },
		{ HT_ACTION_CUT, HT_ACTION_RAMP, HT_ACTION_CUT, 0, 0 },
		{ HT_ACTION_CUT, HT_ACTION_CUT, HT_ACTION_CUT, 0, 0 },
	};
	struct bench *b = &self->b;
	const struct ht_trip *trip;
	size_t i;

	follow_input(b, 0, 512);
	ASSERT_EQ(HT_OK, make_loop(b));
	trip = ht_loop_first_trip(b->loop);
	for (i = 0; i < HT_COUNT(cases); i++) {
		start(b);
		b->in[0] = 9;
		EXPECT_SAME(9, tick(b));
		ht_loop_trip(b->loop, &(struct ht_trip){
			.cause = HT_CAUSE_MISSED, .action = cases[i].first, .index = 4,
			.value = ht_bits(5), .limit = ht_bits(6) });
		EXPECT_SAME(cases[i].then, tick(b));
		ht_loop_trip(b->loop, &(struct ht_trip){
			.cause = HT_CAUSE_OPERATOR, .action = cases[i].second, .index = 7 });
		EXPECT_SAME(cases[i].later, tick(b));
		EXPECT_EQ(HT_CAUSE_MISSED, trip->cause);
		EXPECT_EQ(4, trip->index);
		EXPECT_SAME(5, real(trip->value));
		EXPECT_SAME(6, real(trip->limit));
		EXPECT_EQ(cases[i].in_force, trip->action);
	}
}

TEST_F(loop, trip_outranks_stop_and_stop_does_not_undo_it)
{
	struct bench *b = &self->b;
	double y;

	follow_input(b, 0, 512);
	b->draft->header.soft_stop_ticks = 50;
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	b->in[0] = 9;
	tick(b);
	ht_loop_stop(b->loop);
	tick(b);
	y = tick(b);
	ht_loop_trip(b->loop, &operator_ramp);
	EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
	EXPECT_NEAR(y - 1, tick(b), 1e-15);
	ht_loop_stop(b->loop);
	EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
	EXPECT_NEAR(y - 2, tick(b), 1e-15);
}

TEST_F(loop, program_stands_still_after_a_trip)
{
	struct bench *b = &self->b;
	ht_u32 count;
	int k;

	follow_input(b, 0, 100);
	count = add_counter(b, "count");
	draft_record(b->draft, count);
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	for (k = 0; k < 7; k++)
		tick(b);
	ht_loop_trip(b->loop, &operator_ramp);
	for (k = 0; k < 10; k++) {
		tick(b);
		EXPECT_SAME(7, b->record[0]);
	}
	start(b);
	tick(b);
	EXPECT_SAME(1, b->record[0]);
}

/* ---------------------------------------------------------- interlocks */

TEST_F(loop, range_lock_trips_where_it_must)
{
	struct bench *b = &self->b;
	const struct ht_trip *trip;
	struct ht_lock_view view;
	ht_u32 u = follow_input(b, 0, 512);

	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_RAMP, u, -4, 6);
	ASSERT_EQ(HT_OK, make_loop(b));
	trip = ht_loop_first_trip(b->loop);
	start(b);
	b->in[0] = 6;
	EXPECT_SAME(6, tick(b));
	ht_loop_lock(b->loop, 0, &view);
	EXPECT_SAME(6, real(view.value));
	EXPECT_SAME(6, real(view.limit));
	EXPECT_EQ(0, view.violated_ticks);
	EXPECT_TRUE(view.healthy);
	b->in[0] = -4;
	EXPECT_SAME(-4, tick(b));
	ht_loop_lock(b->loop, 0, &view);
	EXPECT_SAME(-4, real(view.limit));
	b->in[0] = 2;
	EXPECT_SAME(2, tick(b));
	ht_loop_lock(b->loop, 0, &view);
	EXPECT_SAME(6, real(view.limit));
	b->in[0] = nextafter(6, 7);
	EXPECT_SAME(1, tick(b));
	EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
	EXPECT_EQ(HT_CAUSE_INTERLOCK, trip->cause);
	EXPECT_EQ(HT_ACTION_RAMP, trip->action);
	EXPECT_EQ(0, trip->index);
	EXPECT_SAME(b->in[0], real(trip->value));
	EXPECT_SAME(6, real(trip->limit));
	ht_loop_lock(b->loop, 0, &view);
	EXPECT_EQ(1, view.violated_ticks);
	EXPECT_FALSE(view.healthy);

	start(b);
	b->in[0] = -3;
	EXPECT_SAME(-3, tick(b));
	b->in[0] = nextafter(-4, -5);
	EXPECT_SAME(-2, tick(b));
	EXPECT_SAME(b->in[0], real(trip->value));
	EXPECT_SAME(-4, real(trip->limit));
}

TEST_F(loop, rate_lock)
{
	struct bench *b = &self->b;
	ht_u32 u = follow_input(b, 0, 512);
	const struct ht_trip *trip;

	draft_lock(b->draft, HT_LOCK_RATE, HT_ACTION_CUT, u, 0, 1024);
	ASSERT_EQ(HT_OK, make_loop(b));
	trip = ht_loop_first_trip(b->loop);
	start(b);
	/* Nothing to compare with at tick 0; then 2 per tick is the limit. */
	b->in[0] = 500;
	EXPECT_SAME(500, tick(b));
	b->in[0] = 502;
	EXPECT_SAME(502, tick(b));
	EXPECT_SAME(1024, fabs(lock_value(b, 0)));
	b->in[0] = 500;
	EXPECT_SAME(500, tick(b));
	EXPECT_SAME(1024, fabs(lock_value(b, 0)));
	b->in[0] = 500.25;
	tick(b);
	EXPECT_SAME(128, fabs(lock_value(b, 0)));
	EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b->loop));
	b->in[0] = 498;
	EXPECT_SAME(0, tick(b));
	EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
	EXPECT_SAME(1152, fabs(real(trip->value)));
	EXPECT_SAME(1024, real(trip->limit));
	EXPECT_EQ(HT_ACTION_CUT, trip->action);

	/* As new after a start: no rate from the last run. */
	start(b);
	b->in[0] = -700;
	EXPECT_SAME(-700, tick(b));
}

TEST_F(loop, difference_lock)
{
	struct bench *b = &self->b;
	ht_u32 u = follow_input(b, 0, 512), v = add_input(b, "v", 0);
	const struct ht_trip *trip;

	draft_lock(b->draft, HT_LOCK_DIFFERENCE, HT_ACTION_HOLD, u, 0, 0.5)->other = v;
	draft_lock(b->draft, HT_LOCK_DIFFERENCE, HT_ACTION_CUT, u, 0, 20);
	ASSERT_EQ(HT_OK, make_loop(b));
	trip = ht_loop_first_trip(b->loop);
	start(b);
	b->in[0] = 5;
	b->in[1] = 5.5;
	EXPECT_SAME(5, tick(b));
	b->in[1] = 4.5;
	EXPECT_SAME(5, tick(b));
	EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b->loop));
	EXPECT_SAME(0.5, fabs(lock_value(b, 0)));
	EXPECT_SAME(5, fabs(lock_value(b, 1)));
	b->in[0] = 6;
	b->in[1] = 6.75;
	EXPECT_SAME(5, tick(b));
	EXPECT_EQ(0, trip->index);
	EXPECT_SAME(0.75, fabs(real(trip->value)));
	EXPECT_SAME(0.5, real(trip->limit));
	/* Without another signal it is the distance from zero. */
	start(b);
	b->in[0] = -20;
	b->in[1] = -20;
	EXPECT_SAME(-20, tick(b));
	b->in[0] = -20.25;
	b->in[1] = -20.25;
	EXPECT_SAME(0, tick(b));
	EXPECT_EQ(1, trip->index);
	EXPECT_SAME(20, real(trip->limit));
}

static double rms_by_hand(const double *values, int k, int window)
{
	long double sum = 0;
	int i;

	for (i = k > window - 1 ? k - window + 1 : 0; i <= k; i++)
		sum += (long double)values[i] * values[i];
	return sqrtl(sum / window);
}

/*
 * Before tick 0 the window is full of zeros. Rounding may leave 1e-7 of what
 * was seen in the last three windows, not more and not longer.
 */
TEST_F(loop, rms_lock_against_the_definition)
{
	static const int windows[] = { 1, 2, 3, 7, 64, 100 };
	double e[1000];
	size_t w;
	int k;

	random_state = 5;
	for (k = 0; k < 1000; k++) {
		double size = 1;

		/* Bursts of 1e8 and quiet of 1e-6 after them. */
		if (k % 330 >= 150 && k % 330 < 160)
			size = 1e8;
		else if (k % 330 >= 160)
			size = 1e-6;
		e[k] = size * (2 * random_unit() - 1);
	}
	for (w = 0; w < HT_COUNT(windows); w++) {
		struct ht_image_interlock *lock;
		struct bench b;
		ht_u32 u, v;

		bench_open(&b);
		u = add_input(&b, "u", 0);
		v = add_input(&b, "v", 0);
		lock = draft_lock(b.draft, HT_LOCK_RMS, HT_ACTION_RAMP, u, 0, 1e12);
		lock->other = v;
		lock->window_ticks = windows[w];
		lock = draft_lock(b.draft, HT_LOCK_RMS, HT_ACTION_RAMP, u, 0, 1e12);
		lock->window_ticks = windows[w];
		draft_output(b.draft, u, 0, 1000);
		ASSERT_EQ(HT_OK, make_loop(&b));
		start(&b);
		for (k = 0; k < 1000; k++) {
			const double expected = rms_by_hand(e, k, windows[w]);
			const double seen = rms_by_hand(e, k, 3 * windows[w]);

			b.in[0] = e[k];
			b.in[1] = 0;
			tick(&b);
			EXPECT_NEAR(expected, lock_value(&b, 0), 1e-7 * seen + 1e-12 * expected);
			EXPECT_SAME(lock_value(&b, 0), lock_value(&b, 1));
		}
		/* Both far from zero: only the difference counts. */
		start(&b);
		for (k = 0; k < 1000; k++) {
			const double d = k % 2 ? 0.25 : -0.25;

			b.in[0] = 0x1p40 + d;
			b.in[1] = 0x1p40;
			tick(&b);
			EXPECT_NEAR(k < windows[w] ? 0.25 * sqrt((k + 1.0) / windows[w]) : 0.25,
				    lock_value(&b, 0), 1e-12);
		}
		bench_close(&b);
	}
}

TEST_F(loop, rms_lock_trips_at_the_first_tick_above)
{
	struct bench *b = &self->b;
	ht_u32 u = follow_input(b, 0, 512);
	const struct ht_trip *trip;
	int k;

	/* Ones in a window of 16 that was full of zeros: rms = sqrt(n / 16). */
	draft_lock(b->draft, HT_LOCK_RMS, HT_ACTION_RAMP, u, 0, 0.75)->window_ticks = 16;
	ASSERT_EQ(HT_OK, make_loop(b));
	trip = ht_loop_first_trip(b->loop);
	start(b);
	for (k = 0; k < 40; k++)
		tick(b);
	b->in[0] = 1;
	for (k = 1; k <= 9; k++) {
		tick(b);
		EXPECT_NEAR(sqrt(k / 16.0), lock_value(b, 0), 1e-15);
		EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b->loop));
	}
	tick(b);
	EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
	EXPECT_NEAR(sqrt(10 / 16.0), real(trip->value), 1e-15);
	EXPECT_SAME(0.75, real(trip->limit));
	/* The window is empty after a start. */
	start(b);
	b->in[0] = 0;
	tick(b);
	EXPECT_SAME(0, lock_value(b, 0));
	EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b->loop));
}

/* Violated at delay + 1 ticks in a row trips at the last of them. */
TEST_F(loop, delay_of_a_lock_counts_exactly)
{
	static const ht_u32 delays[] = { 0, 1, 2, 5, 100 };
	size_t i;
	ht_u32 k;

	for (i = 0; i < HT_COUNT(delays); i++) {
		struct ht_lock_view view;
		struct bench b;
		ht_u32 u;

		bench_open(&b);
		u = follow_input(&b, 0, 512);
		draft_lock(b.draft, HT_LOCK_RANGE, HT_ACTION_RAMP, u, -1, 1)->delay_ticks =
			delays[i];
		ASSERT_EQ(HT_OK, make_loop(&b));
		start(&b);
		/* Once too few, then a breath, then enough. */
		b.in[0] = 2;
		for (k = 0; k < delays[i]; k++) {
			EXPECT_SAME(2, tick(&b));
			ht_loop_lock(b.loop, 0, &view);
			EXPECT_EQ(k + 1, view.violated_ticks);
		}
		b.in[0] = 0;
		tick(&b);
		ht_loop_lock(b.loop, 0, &view);
		EXPECT_EQ(0, view.violated_ticks);
		b.in[0] = -2;
		for (k = 0; k < delays[i]; k++)
			EXPECT_SAME(-2, tick(&b));
		EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b.loop));
		tick(&b);
		EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b.loop));
		EXPECT_SAME(-2, real(ht_loop_first_trip(b.loop)->value));
		EXPECT_SAME(-1, real(ht_loop_first_trip(b.loop)->limit));
		/* As new: the count begins at the start. */
		start(&b);
		for (k = 0; k < delays[i]; k++)
			EXPECT_SAME(-2, tick(&b));
		EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b.loop));
		tick(&b);
		EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b.loop));
		bench_close(&b);
	}
}

TEST_F(loop, first_cause_stays_and_locks_watch_on)
{
	struct bench *b = &self->b;
	ht_u32 u = follow_input(b, 0, 512);
	const struct ht_trip *trip;

	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_CUT, u, -20, 20);
	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_RAMP, u, -10, 10);
	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_RAMP, u, -5, 10);
	ASSERT_EQ(HT_OK, make_loop(b));
	trip = ht_loop_first_trip(b->loop);
	start(b);
	b->in[0] = 10;
	EXPECT_SAME(10, tick(b));
	b->in[0] = 11;
	EXPECT_SAME(9, tick(b));
	EXPECT_EQ(1, trip->index);
	b->in[0] = 12;
	EXPECT_SAME(8, tick(b));
	EXPECT_SAME(11, real(trip->value));
	/* What is measured can still get worse: the firmer lock cuts. */
	b->in[0] = 21;
	EXPECT_SAME(0, tick(b));
	EXPECT_EQ(1, trip->index);
	EXPECT_SAME(11, real(trip->value));
	EXPECT_EQ(HT_ACTION_CUT, trip->action);
}

/* A hold that was released is not held again by the lock that still complains. */
TEST_F(loop, released_hold_stays_released)
{
	struct bench *b = &self->b;
	ht_u32 u = follow_input(b, 0, 512), k;

	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_HOLD, u, -10, 10);
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	b->in[0] = 10;
	tick(b);
	b->in[0] = 11;
	for (k = 0; k < 10; k++)
		EXPECT_SAME(10, tick(b));
	ht_loop_release(b->loop);
	for (k = 0; k < 10; k++)
		EXPECT_SAME(9 - (int)k, tick(b));
	EXPECT_TRUE(ht_loop_safe(b->loop));
	/* Neither a cut nor a ramp is changed by a release. */
	start(b);
	b->in[0] = 9;
	tick(b);
	ht_loop_trip(b->loop, &owner_cut);
	ht_loop_release(b->loop);
	EXPECT_SAME(0, tick(b));
}

/* Every kind of lock looks at the difference if there is another signal. */
TEST_F(loop, range_and_rate_of_a_difference)
{
	struct bench *b = &self->b;
	ht_u32 u = follow_input(b, 0, 512), v = add_input(b, "v", 0);

	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_HOLD, u, -1, 3)->other = v;
	draft_lock(b->draft, HT_LOCK_RATE, HT_ACTION_HOLD, u, 0, 1024)->other = v;
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	b->in[0] = 100;
	b->in[1] = 97;
	tick(b);
	EXPECT_SAME(3, lock_value(b, 0));
	EXPECT_SAME(0, lock_value(b, 1));
	b->in[0] = 200;
	b->in[1] = 199;
	tick(b);
	EXPECT_SAME(1, lock_value(b, 0));
	EXPECT_SAME(1024, lock_value(b, 1));
	EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b->loop));
	b->in[0] = 198.5;
	b->in[1] = 200;
	EXPECT_SAME(200, tick(b));
	EXPECT_EQ(0, ht_loop_first_trip(b->loop)->index);
	EXPECT_SAME(-1.5, real(ht_loop_first_trip(b->loop)->value));
	EXPECT_SAME(-1, real(ht_loop_first_trip(b->loop)->limit));
}

/* Two at the same tick: the first in the list is the cause, the firmer acts. */
TEST_F(loop, two_locks_at_one_tick)
{
	struct bench *b = &self->b;
	ht_u32 u = follow_input(b, 0, 512);

	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_RAMP, u, -10, 10);
	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_CUT, u, -10, 10);
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	b->in[0] = 10;
	EXPECT_SAME(10, tick(b));
	b->in[0] = 11;
	EXPECT_SAME(0, tick(b));
	EXPECT_EQ(0, ht_loop_first_trip(b->loop)->index);
}

/* What was measured is judged before the program steps on it. */
TEST_F(loop, measured_lock_trips_before_the_program_steps)
{
	struct bench *b = &self->b;
	ht_u32 u = follow_input(b, 0, 512), v, count;
	int k;

	v = add_input(b, "v", 0);
	count = add_counter(b, "count");
	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_HOLD, u, -10, 10);
	draft_lock(b->draft, HT_LOCK_DIFFERENCE, HT_ACTION_HOLD, u, 0, 10)->other = v;
	ASSERT_EQ(HT_OK, make_loop(b));
	for (k = 0; k < 2; k++) {
		start(b);
		b->in[0] = 5;
		b->in[1] = 0;
		tick(b);
		tick(b);
		EXPECT_SAME(2, signal_of(b, count));
		b->in[k] = k ? 16 : 11;
		EXPECT_SAME(5, tick(b));
		EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
		EXPECT_SAME(2, signal_of(b, count));
		/* y is still of the tick before. */
		EXPECT_SAME(5, signal_of(b, 1));
	}
}

/* What would be commanded is judged after the step and does not go out. */
TEST_F(loop, commanded_lock_trips_before_the_command_goes_out)
{
	struct bench *b = &self->b;
	ht_u32 u = follow_input(b, 0, 512), far, count;
	const struct ht_trip *trip;

	far = add_affine(b, "10u", u, 10, 0, NULL);
	draft_output(b->draft, far, 0, 512);
	count = add_counter(b, "count");
	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_RAMP, far, -100, 100);
	ASSERT_EQ(HT_OK, make_loop(b));
	trip = ht_loop_first_trip(b->loop);
	start(b);
	b->in[0] = 10;
	tick(b);
	EXPECT_SAME(100, ht_loop_outputs(b->loop)[1]);
	b->in[0] = 10.5;
	EXPECT_SAME(9, tick(b));
	EXPECT_SAME(99, ht_loop_outputs(b->loop)[1]);
	EXPECT_SAME(2, signal_of(b, count));
	EXPECT_EQ(HT_CAUSE_INTERLOCK, trip->cause);
	EXPECT_SAME(105, real(trip->value));
	EXPECT_SAME(100, real(trip->limit));
}

/* A lock between a measured and a computed signal compares the same tick. */
TEST_F(loop, lock_on_both_kinds_of_signals_compares_one_tick)
{
	struct bench *b = &self->b;
	ht_u32 u = follow_input(b, 0, 512), v = add_input(b, "v", 0);
	int k;

	(void)u;
	draft_lock(b->draft, HT_LOCK_DIFFERENCE, HT_ACTION_RAMP, v, 0, 0.5)->other = 1;
	draft_lock(b->draft, HT_LOCK_DIFFERENCE, HT_ACTION_RAMP, 1, 0, 0.5)->other = v;
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	for (k = 0; k < 50; k++) {
		b->in[0] = 100 * sin(k);
		b->in[1] = b->in[0] + 0.25;
		EXPECT_SAME(b->in[0], tick(b));
		EXPECT_NEAR(0.25, fabs(lock_value(b, 0)), 1e-12);
		EXPECT_NEAR(0.25, fabs(lock_value(b, 1)), 1e-12);
	}
	EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b->loop));
}

TEST_F(loop, nan_violates_every_kind_of_lock_on_numbers)
{
	static const double bad[] = { NAN, INFINITY, -INFINITY };
	ht_u32 kind, k;

	for (kind = 0; kind < HT_LOCK_ENABLE; kind++) {
		for (k = 0; k < 3 * HT_COUNT(bad); k++) {
			struct ht_image_interlock *lock;
			struct ht_lock_view view;
			struct bench b;
			ht_u32 u;

			bench_open(&b);
			u = follow_input(&b, 0, 512);
			lock = draft_lock(b.draft, kind, HT_ACTION_HOLD, u,
					  kind == HT_LOCK_RANGE ? -1e9 : 0, 1e9);
			if (kind == HT_LOCK_RMS)
				lock->window_ticks = 4;
			/* Also with a delay: not finite does not wait for it. */
			lock->delay_ticks = k / HT_COUNT(bad) == 1 ? 10 : 0;
			ASSERT_EQ(HT_OK, make_loop(&b));
			start(&b);
			b.in[0] = 5;
			tick(&b);
			EXPECT_SAME(5, tick(&b));
			b.in[0] = bad[k % 3];
			tick(&b);
			EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b.loop));
			EXPECT_TRUE(isfinite(ht_loop_outputs(b.loop)[0]));
			ht_loop_lock(b.loop, 0, &view);
			EXPECT_FALSE(view.healthy);
			/* Fresh again after a start: nothing of it stays behind. */
			b.in[0] = 6;
			start(&b);
			EXPECT_SAME(6, tick(&b));
			EXPECT_SAME(6, tick(&b));
			EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b.loop));
			bench_close(&b);
		}
	}
}

/* ------------------------------------------------------- not finite */

TEST_F(loop, input_that_is_not_finite_trips_and_is_named)
{
	static const double bad[] = { NAN, INFINITY, -INFINITY };
	struct bench *b = &self->b;
	const struct ht_trip *trip;
	ht_u32 count, v;
	size_t i;
	int k;

	follow_input(b, 0, 512);
	v = add_input(b, "v", 0);
	count = add_counter(b, "count");
	ASSERT_EQ(HT_OK, make_loop(b));
	trip = ht_loop_first_trip(b->loop);
	for (i = 0; i < HT_COUNT(bad); i++) {
		start(b);
		b->in[0] = 8;
		b->in[1] = 0;
		EXPECT_SAME(8, tick(b));
		b->in[1] = bad[i];
		EXPECT_SAME(7, tick(b));
		EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
		EXPECT_EQ(HT_CAUSE_NOT_FINITE, trip->cause);
		EXPECT_EQ(v, trip->index);
		EXPECT_EQ(ht_bits(bad[i]), trip->value);
		EXPECT_SAME(1, signal_of(b, count));
		b->in[0] = bad[i];
		for (k = 6; k > -3; k--)
			EXPECT_SAME(k < 0 ? 0 : k, tick(b));
		EXPECT_EQ(v, trip->index);
	}
}

/* The input is to blame, not what the program made of it. */
TEST_F(loop, input_is_named_before_what_follows_from_it)
{
	struct bench *b = &self->b;
	ht_u32 y = draft_signal(b->draft, "y", 0), u = add_input(b, "u", 0), block;

	block = draft_block(b->draft, "matrix", 0, 1, &u, 1, &y);
	draft_set(b->draft, block, "A", 0, 1);
	draft_output(b->draft, y, 0, 512);
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	b->in[0] = NAN;
	EXPECT_SAME(0, tick(b));
	EXPECT_EQ(HT_CAUSE_NOT_FINITE, ht_loop_first_trip(b->loop)->cause);
	EXPECT_EQ(u, ht_loop_first_trip(b->loop)->index);
	EXPECT_SAME(0, signal_of(b, y));
}

TEST_F(loop, computed_signal_that_is_not_finite_trips_and_is_named)
{
	struct bench *b = &self->b;
	const struct ht_trip *trip;
	ht_u32 u, squared, spare, nan, free_signal;
	int k;

	u = follow_input(b, 0, 512);
	free_signal = draft_signal(b->draft, "free", 0);
	squared = draft_signal(b->draft, "squared", 0);
	draft_block(b->draft, "product", 0, 2, (ht_u32[]){ u, u }, 1, &squared);
	spare = draft_signal(b->draft, "spare", 0);
	draft_block(b->draft, "product", 0, 2, (ht_u32[]){ squared, squared }, 1, &spare);
	nan = add_affine(b, "nan", spare, 0, 0, NULL);
	draft_output(b->draft, nan, 0, 512);
	draft_output(b->draft, spare, 0, 512);
	(void)free_signal;
	ASSERT_EQ(HT_OK, make_loop(b));
	trip = ht_loop_first_trip(b->loop);
	start(b);
	b->in[0] = 8;
	EXPECT_SAME(8, tick(b));
	/* Its fourth power is beyond the doubles, and zero times that is NaN. */
	b->in[0] = 1e90;
	EXPECT_SAME(7, tick(b));
	EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
	EXPECT_EQ(HT_CAUSE_NOT_FINITE, trip->cause);
	EXPECT_EQ(spare, trip->index);
	EXPECT_EQ(ht_bits(INFINITY), trip->value);
	for (k = 0; k < 5000; k++) {
		tick(b);
		EXPECT_TRUE(isfinite(ht_loop_outputs(b->loop)[0]));
		EXPECT_TRUE(isfinite(ht_loop_outputs(b->loop)[1]));
		EXPECT_TRUE(isfinite(ht_loop_outputs(b->loop)[2]));
	}
	EXPECT_TRUE(ht_loop_safe(b->loop));
	/* And all is well after a start. */
	start(b);
	b->in[0] = 2;
	EXPECT_SAME(2, tick(b));
	EXPECT_SAME(16, ht_loop_outputs(b->loop)[2]);
	EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b->loop));
}

/* Every signal is watched, the first and the last; locks may act more firmly. */
TEST_F(loop, last_signal_is_watched_and_locks_act_on_it)
{
	struct bench *b = &self->b;
	ht_u32 u = follow_input(b, 0, 512), last;
	const struct ht_trip *trip;
	int with_lock;

	last = draft_signal(b->draft, "last", 0);
	draft_block(b->draft, "product", 0, 2, (ht_u32[]){ u, u }, 1, &last);
	for (with_lock = 0; with_lock < 2; with_lock++) {
		if (with_lock)
			draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_CUT, last, -1e300, 1e300);
		ASSERT_EQ(HT_OK, make_loop(b));
		trip = ht_loop_first_trip(b->loop);
		start(b);
		b->in[0] = 8;
		EXPECT_SAME(8, tick(b));
		b->in[0] = 1e200;
		EXPECT_SAME(with_lock ? 0 : 7, tick(b));
		EXPECT_EQ(HT_CAUSE_NOT_FINITE, trip->cause);
		EXPECT_EQ(last, trip->index);
	}
}

/* ------------------------------------------------- arming and dry ticks */

static ht_u32 watched_program(struct bench *b)
{
	ht_u32 u = follow_input(b, 1, 512), v = add_input(b, "v", 0), s;
	struct ht_image_interlock *lock;

	s = add_affine(b, "u+5", u, 1, 5, NULL);
	add_counter(b, "count");
	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_HOLD, v, -1, 1);
	draft_lock(b->draft, HT_LOCK_RATE, HT_ACTION_HOLD, v, 0, 1e5);
	lock = draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_HOLD, s, 0, 10);
	lock->delay_ticks = 3;
	lock = draft_lock(b->draft, HT_LOCK_RMS, HT_ACTION_HOLD, s, 0, 20);
	lock->window_ticks = 5;
	return u;
}

static const struct ht_vitals well;

/* Bits of the locks that are not healthy with these inputs. */
static ht_u32 unhealthy(struct bench *b, const double *inputs, const struct ht_vitals *vitals)
{
	const ht_u32 n = b->draft->header.n_interlocks;
	struct ht_lock_view views[DRAFT_LOCKS];
	ht_u32 i, count, seen = 0, bits = 0;

	memset(views, 0xee, sizeof(views));
	count = ht_loop_check_health(b->loop, inputs, vitals, views);
	for (i = 0; i < n; i++) {
		if (views[i].healthy > 1)
			return ~0u;
		if (!views[i].healthy) {
			seen++;
			bits |= 1u << i;
		}
	}
	return seen == count ? bits : ~0u;
}

TEST_F(loop, health_is_that_of_tick_zero)
{
	struct bench *b = &self->b;
	const ht_u32 count = 5;
	int k;

	watched_program(b);
	ASSERT_EQ(HT_OK, make_loop(b));
	for (k = 0; k < 3; k++) {
		EXPECT_EQ(0, unhealthy(b, NULL, &well));
		EXPECT_EQ(0, unhealthy(b, (double[]){ 0, 0 }, &well));
		EXPECT_EQ(0, unhealthy(b, (double[]){ 5, 1 }, &well));
		EXPECT_EQ(1, unhealthy(b, (double[]){ 0, 1.5 }, &well));
		/* Of a computed signal, and a delay is no excuse. */
		EXPECT_EQ(4, unhealthy(b, (double[]){ 6, 0 }, &well));
		/* sqrt(45^2 / 5) > 20 */
		EXPECT_EQ(12, unhealthy(b, (double[]){ 40, 0 }, &well));
		EXPECT_EQ(4, unhealthy(b, (double[]){ -26, 0 }, &well));
		EXPECT_EQ(5, unhealthy(b, (double[]){ 6, -1.5 }, &well));
		EXPECT_EQ(1, unhealthy(b, (double[]){ 0, NAN }, &well) & 1);
		EXPECT_EQ(0, unhealthy(b, NULL, &well));
		EXPECT_EQ(HT_MODE_IDLE, ht_loop_mode(b->loop));
		EXPECT_TRUE(ht_loop_safe(b->loop));
		EXPECT_SAME(1, ht_loop_outputs(b->loop)[0]);
		EXPECT_EQ(HT_CAUSE_NONE, ht_loop_first_trip(b->loop)->cause);
		EXPECT_SAME(0, signal_of(b, count));
		/* The run after it begins at the beginning. */
		start(b);
		b->in[0] = 3;
		b->in[1] = 0.5;
		EXPECT_SAME(3, tick(b));
		EXPECT_SAME(1, signal_of(b, count));
		EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b->loop));
		ht_loop_rest(b->loop);
	}
}

/* Tick 0 itself, not the one after. */
TEST_F(loop, health_looks_at_tick_zero_only)
{
	static const double values[] = { 1, 9, 1 }, reversed[] = { 9, 1, 1 };
	struct bench *b = &self->b;

	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_CUT, add_sequence(b, "s", values, 3), 0, 5);
	ASSERT_EQ(HT_OK, make_loop(b));
	EXPECT_EQ(0, unhealthy(b, NULL, &well));
	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_CUT, add_sequence(b, "r", reversed, 3), 0, 5);
	ASSERT_EQ(HT_OK, make_loop(b));
	EXPECT_EQ(2, unhealthy(b, NULL, &well));
}

TEST_F(loop, health_tells_value_and_limit)
{
	struct bench *b = &self->b;
	struct ht_vitals vitals = { .scan_age = 4, .silence_ns = 1500000000 };
	struct ht_lock_view views[5];
	ht_u32 u = follow_input(b, 0, 512);

	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_CUT, u, -1, 2);
	draft_lock(b->draft, HT_LOCK_ENABLE, HT_ACTION_CUT, u, 0.5, 0);
	draft_lock(b->draft, HT_LOCK_SCAN, HT_ACTION_CUT, HT_NO_SIGNAL, 0, 3);
	draft_lock(b->draft, HT_LOCK_HEARTBEAT, HT_ACTION_CUT, HT_NO_SIGNAL, 0, 2);
	draft_lock(b->draft, HT_LOCK_MISSED, HT_ACTION_CUT, HT_NO_SIGNAL, 0, 0);
	ASSERT_EQ(HT_OK, make_loop(b));
	EXPECT_EQ(3, ht_loop_check_health(b->loop, (double[]){ -3 }, &vitals, views));
	EXPECT_SAME(-3, real(views[0].value));
	EXPECT_SAME(-1, real(views[0].limit));
	EXPECT_FALSE(views[0].healthy);
	EXPECT_SAME(-3, real(views[1].value));
	EXPECT_SAME(0.5, real(views[1].limit));
	EXPECT_FALSE(views[1].healthy);
	EXPECT_SAME(4, real(views[2].value));
	EXPECT_SAME(3, real(views[2].limit));
	EXPECT_FALSE(views[2].healthy);
	EXPECT_SAME(1.5, real(views[3].value));
	EXPECT_SAME(2, real(views[3].limit));
	EXPECT_TRUE(views[3].healthy);
	EXPECT_SAME(0, real(views[4].value));
	EXPECT_TRUE(views[4].healthy);
	/* Nothing of it stays behind. */
	EXPECT_EQ(2, unhealthy(b, NULL, &well));
	EXPECT_SAME(0, lock_value(b, 2));
}

/* A run of everything that has a memory: soft start, slew, locks, program. */
#define N_PLAY	203	/* no multiple of the window */

static void play(struct bench *b, double *trace)
{
	int k;

	start(b);
	for (k = 0; k < N_PLAY; k++) {
		b->in[0] = 4 * sin(0.1 * k);
		b->in[1] = 0.9 * sin(0.07 * k);
		trace[4 * k] = tick(b);
		trace[4 * k + 1] = lock_value(b, 1);
		trace[4 * k + 2] = lock_value(b, 3);
		trace[4 * k + 3] = signal_of(b, 5);
	}
}

TEST_F(loop, dry_ticks_leave_no_trace)
{
	struct bench *b = &self->b;
	double first[4 * N_PLAY], second[4 * N_PLAY];
	int k, round;

	watched_program(b);
	b->draft->header.soft_start_ticks = 30;
	b->draft->outputs[0].slew = 40;
	ASSERT_EQ(HT_OK, make_loop(b));
	play(b, first);
	ht_loop_rest(b->loop);
	EXPECT_SAME(0, lock_value(b, 1));
	EXPECT_SAME(0, lock_value(b, 3));
	EXPECT_EQ(HT_MODE_IDLE, ht_loop_mode(b->loop));
	EXPECT_SAME(1, ht_loop_outputs(b->loop)[0]);
	EXPECT_SAME(0, signal_of(b, 5));
	for (round = 0; round < 3; round++) {
		for (k = 0; k < 51; k++) {
			/* Inputs that would trip. */
			ht_loop_inputs(b->loop, (double[]){ 50, round == 1 ? NAN : 5 });
			ht_loop_dry_tick(b->loop, k);
		}
		if (round < 2) {
			ht_loop_rest(b->loop);
			EXPECT_EQ(HT_MODE_IDLE, ht_loop_mode(b->loop));
			EXPECT_TRUE(ht_loop_safe(b->loop));
			EXPECT_SAME(1, ht_loop_outputs(b->loop)[0]);
			EXPECT_SAME(0, signal_of(b, 5));
			EXPECT_EQ(HT_CAUSE_NONE, ht_loop_first_trip(b->loop)->cause);
		}
		memset(second, 0xff, sizeof(second));
		play(b, second);
		EXPECT_EQ(0, memcmp(first, second, sizeof(first)));
	}
}

/* ------------------------------------------------ the loop itself */

/* The field of the vitals that a lock of this kind watches, set to n of its units. */
static struct ht_vitals ailing(ht_u32 kind, ht_u32 n)
{
	struct ht_vitals v = { 0 };

	switch (kind) {
	case HT_LOCK_SCAN:
		v.scan_age = n;
		break;
	case HT_LOCK_LOST:
		v.lost_scans = n;
		break;
	case HT_LOCK_WRITE:
		v.write_age = n;
		break;
	case HT_LOCK_STEP:
		v.step_ns = n * 500000000ull;
		break;
	case HT_LOCK_MISSED:
		v.missed = n;
		break;
	default:
		v.silence_ns = n * 500000000ull;
	}
	return v;
}

/* Seconds for two of them, counts for the others. */
static double unit_of(ht_u32 kind)
{
	return kind == HT_LOCK_STEP || kind == HT_LOCK_HEARTBEAT ? 0.5 : 1;
}

static void tell(struct bench *b, struct ht_vitals vitals)
{
	ht_loop_vitals(b->loop, &vitals);
}

/* Limit 4 units, a delay of 2 ticks: trips at the third tick with 5. */
TEST_F(loop, locks_on_the_loop_itself)
{
	static const double after[HT_ACTIONS] = {
		[HT_ACTION_RAMP] = 7, [HT_ACTION_HOLD] = 8, [HT_ACTION_CUT] = 0,
	};
	ht_u32 kind, action, k;

	for (kind = HT_LOCK_SCAN; kind < HT_LOCK_KINDS; kind++) {
		for (action = 0; action < HT_ACTIONS; action++) {
			const struct ht_trip *trip;
			struct ht_lock_view view;
			struct bench b;
			ht_u32 count;

			bench_open(&b);
			b.draft->header.scan_ticks = 100;
			b.draft->header.write_ticks = 100;
			follow_input(&b, 0, 512);
			count = add_counter(&b, "count");
			draft_lock(b.draft, kind, action, HT_NO_SIGNAL, 0, 4 * unit_of(kind))
				->delay_ticks = 2;
			ASSERT_EQ(HT_OK, make_loop(&b));
			trip = ht_loop_first_trip(b.loop);
			start(&b);
			b.in[0] = 8;
			tell(&b, ailing(kind, 4));
			for (k = 0; k < 5; k++)
				EXPECT_SAME(8, tick(&b));
			ht_loop_lock(b.loop, 0, &view);
			EXPECT_TRUE(view.healthy);
			EXPECT_SAME(4 * unit_of(kind), real(view.value));
			tell(&b, ailing(kind, 5));
			EXPECT_SAME(8, tick(&b));
			EXPECT_SAME(8, tick(&b));
			EXPECT_SAME(7, signal_of(&b, count));
			EXPECT_EQ(HT_MODE_RUNNING, ht_loop_mode(b.loop));
			EXPECT_SAME(after[action], tick(&b));
			EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b.loop));
			/* Before the step. */
			EXPECT_SAME(7, signal_of(&b, count));
			EXPECT_EQ(HT_CAUSE_INTERLOCK, trip->cause);
			EXPECT_EQ(0, trip->index);
			EXPECT_EQ(action, trip->action);
			EXPECT_SAME(5 * unit_of(kind), real(trip->value));
			EXPECT_SAME(4 * unit_of(kind), real(trip->limit));
			ht_loop_lock(b.loop, 0, &view);
			EXPECT_FALSE(view.healthy);
			EXPECT_EQ(3, view.violated_ticks);
			/* A start forgets it. */
			start(&b);
			for (k = 0; k < 5; k++)
				EXPECT_SAME(8, tick(&b));
			EXPECT_SAME(0, lock_value(&b, 0));
			bench_close(&b);
		}
	}
}

/* Each looks at its own part of the vitals only. */
TEST_F(loop, locks_on_the_loop_do_not_mix)
{
	struct bench *b = &self->b;
	ht_u32 kind, sick;

	b->draft->header.scan_ticks = 100;
	b->draft->header.write_ticks = 100;
	follow_input(b, 0, 512);
	for (kind = HT_LOCK_SCAN; kind < HT_LOCK_KINDS; kind++)
		draft_lock(b->draft, kind, HT_ACTION_CUT, HT_NO_SIGNAL, 0, unit_of(kind));
	ASSERT_EQ(HT_OK, make_loop(b));
	for (sick = HT_LOCK_SCAN; sick < HT_LOCK_KINDS; sick++) {
		const struct ht_vitals vitals = ailing(sick, 7);

		EXPECT_EQ(1u << (sick - HT_LOCK_SCAN), unhealthy(b, NULL, &vitals));
	}
}

TEST_F(loop, locks_on_the_loop_watch_on_after_a_trip)
{
	struct bench *b = &self->b;

	follow_input(b, 0, 512);
	draft_lock(b->draft, HT_LOCK_LOST, HT_ACTION_HOLD, HT_NO_SIGNAL, 0, 1);
	draft_lock(b->draft, HT_LOCK_MISSED, HT_ACTION_CUT, HT_NO_SIGNAL, 0, 1);
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	b->in[0] = 8;
	tick(b);
	tell(b, (struct ht_vitals){ .lost_scans = 2 });
	EXPECT_SAME(8, tick(b));
	EXPECT_SAME(8, tick(b));
	tell(b, (struct ht_vitals){ .lost_scans = 2, .missed = 2 });
	EXPECT_SAME(0, tick(b));
	EXPECT_EQ(0, ht_loop_first_trip(b->loop)->index);
}

static void expect_builtin(struct __test_metadata *_metadata, struct bench *b, ht_u32 cause,
			   ht_u32 index, double value, double limit)
{
	const struct ht_trip *trip = ht_loop_first_trip(b->loop);

	EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
	EXPECT_EQ(cause, trip->cause);
	EXPECT_EQ(index, trip->index);
	EXPECT_EQ(HT_ACTION_RAMP, trip->action);
	EXPECT_SAME(value, real(trip->value));
	EXPECT_SAME(limit, real(trip->limit));
}

TEST_F(loop, old_scans_trip_without_an_interlock)
{
	struct bench *b = &self->b;
	ht_u32 limit;

	follow_input(b, 0, 512);
	for (limit = 1; limit < 5; limit++) {
		b->draft->header.scan_ticks = limit;
		ASSERT_EQ(HT_OK, make_loop(b));
		start(b);
		b->in[0] = 8;
		tell(b, (struct ht_vitals){ .scan_age = limit - 1, .scan_input = 5 });
		EXPECT_SAME(8, tick(b));
		EXPECT_SAME(8, tick(b));
		tell(b, (struct ht_vitals){ .scan_age = limit, .scan_input = 6 });
		EXPECT_SAME(7, tick(b));
		expect_builtin(_metadata, b, HT_CAUSE_SCAN, 6, limit, limit);
		/* While stopping, too. */
		b->draft->header.soft_stop_ticks = 1000;
		ASSERT_EQ(HT_OK, make_loop(b));
		start(b);
		tick(b);
		ht_loop_stop(b->loop);
		tick(b);
		tell(b, (struct ht_vitals){ .scan_age = limit + 3 });
		tick(b);
		expect_builtin(_metadata, b, HT_CAUSE_SCAN, 0, limit + 3, limit);
	}
}

TEST_F(loop, failed_writes_trip_without_an_interlock)
{
	struct bench *b = &self->b;
	ht_u32 limit;

	follow_input(b, 0, 512);
	for (limit = 1; limit < 5; limit++) {
		b->draft->header.write_ticks = limit;
		ASSERT_EQ(HT_OK, make_loop(b));
		start(b);
		b->in[0] = 8;
		tell(b, (struct ht_vitals){ .write_age = limit - 1, .write_output = 5 });
		EXPECT_SAME(8, tick(b));
		EXPECT_SAME(8, tick(b));
		tell(b, (struct ht_vitals){ .write_age = limit, .write_output = 4 });
		EXPECT_SAME(7, tick(b));
		expect_builtin(_metadata, b, HT_CAUSE_WRITE, 4, limit, limit);
		b->draft->header.soft_stop_ticks = 1000;
		ASSERT_EQ(HT_OK, make_loop(b));
		start(b);
		tick(b);
		ht_loop_stop(b->loop);
		tick(b);
		tell(b, (struct ht_vitals){ .write_age = limit + 3 });
		tick(b);
		expect_builtin(_metadata, b, HT_CAUSE_WRITE, 0, limit + 3, limit);
	}
}

/* Scan before write before interlocks before NaN; a lock may still be firmer. */
TEST_F(loop, old_scan_is_the_first_cause)
{
	struct bench *b = &self->b;
	ht_u32 u = follow_input(b, 0, 512);

	draft_lock(b->draft, HT_LOCK_SCAN, HT_ACTION_CUT, HT_NO_SIGNAL, 0, 0);
	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_HOLD, u, -10, 10);
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	b->in[0] = 8;
	tick(b);
	b->in[0] = NAN;
	tell(b, (struct ht_vitals){ .scan_age = 2, .write_age = 2 });
	EXPECT_SAME(0, tick(b));
	EXPECT_EQ(HT_CAUSE_SCAN, ht_loop_first_trip(b->loop)->cause);
	EXPECT_EQ(HT_ACTION_CUT, ht_loop_first_trip(b->loop)->action);
	start(b);
	b->in[0] = 8;
	tick(b);
	b->in[0] = 11;
	tell(b, (struct ht_vitals){ .write_age = 2 });
	EXPECT_SAME(7, tick(b));
	EXPECT_EQ(HT_CAUSE_WRITE, ht_loop_first_trip(b->loop)->cause);
}

/* ------------------------------------------------------------ lines */

TEST_F(loop, enable_and_estop_want_their_line_high)
{
	static const double bad[] = { 0.4999, 0, -1, -INFINITY, NAN };
	struct bench *b = &self->b;
	ht_u32 line, kind, i;
	struct ht_lock_view view;

	follow_input(b, 0, 512);
	line = add_input(b, "line", 1);
	draft_lock(b->draft, HT_LOCK_ENABLE, HT_ACTION_CUT, line, 0.5, 0);
	for (kind = HT_LOCK_ENABLE; kind <= HT_LOCK_ESTOP; kind++) {
		b->draft->locks[0].kind = kind;
		ASSERT_EQ(HT_OK, make_loop(b));
		for (i = 0; i < HT_COUNT(bad); i++) {
			start(b);
			b->in[0] = 8;
			b->in[1] = 1;
			EXPECT_SAME(8, tick(b));
			b->in[1] = 0.5;
			EXPECT_SAME(8, tick(b));
			b->in[1] = 1e9;
			EXPECT_SAME(8, tick(b));
			ht_loop_lock(b->loop, 0, &view);
			EXPECT_TRUE(view.healthy);
			EXPECT_SAME(1e9, real(view.value));
			EXPECT_SAME(0.5, real(view.limit));
			b->in[1] = bad[i];
			EXPECT_SAME(0, tick(b));
			EXPECT_EQ(HT_CAUSE_INTERLOCK, ht_loop_first_trip(b->loop)->cause);
			EXPECT_EQ(ht_bits(bad[i]), ht_loop_first_trip(b->loop)->value);
			EXPECT_SAME(0.5, real(ht_loop_first_trip(b->loop)->limit));
			ht_loop_lock(b->loop, 0, &view);
			EXPECT_FALSE(view.healthy);
		}
	}
}

/* ------------------------------------------------------------ armed */

static void arm(struct bench *b)
{
	ht_loop_arm(b->loop);
	b->tick = 0;
}

TEST_F(loop, armed_watches_and_nothing_moves)
{
	struct bench *b = &self->b;
	ht_u32 count;
	int k;

	follow_input(b, 1, 512);
	count = add_counter(b, "count");
	draft_record(b->draft, 0);
	ASSERT_EQ(HT_OK, make_loop(b));
	EXPECT_FALSE(ht_loop_ready(b->loop));
	arm(b);
	EXPECT_EQ(HT_MODE_ARMED, ht_loop_mode(b->loop));
	EXPECT_TRUE(ht_loop_ready(b->loop));
	b->in[0] = 8;
	for (k = 0; k < 5; k++) {
		EXPECT_SAME(1, tick(b));
		EXPECT_SAME(8, b->record[0]);
		EXPECT_SAME(1, b->record[1]);
		EXPECT_TRUE(ht_loop_safe(b->loop));
		EXPECT_TRUE(ht_loop_ready(b->loop));
	}
	EXPECT_SAME(0, signal_of(b, count));
	ht_loop_stop(b->loop);
	EXPECT_EQ(HT_MODE_ARMED, ht_loop_mode(b->loop));
	start(b);
	EXPECT_FALSE(ht_loop_ready(b->loop));
	EXPECT_SAME(8, tick(b));
	EXPECT_SAME(1, signal_of(b, count));
	ht_loop_rest(b->loop);
	EXPECT_FALSE(ht_loop_ready(b->loop));
}

/* Without a latch: START waits, nothing trips, and it may come and go. */
TEST_F(loop, armed_without_latch_is_not_ready)
{
	struct bench *b = &self->b;
	struct ht_lock_view view;
	ht_u32 u = follow_input(b, 0, 512), k;

	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_CUT, u, -10, 10)->delay_ticks = 3;
	draft_lock(b->draft, HT_LOCK_MISSED, HT_ACTION_CUT, HT_NO_SIGNAL, 0, 1);
	/* On what the program computes: not looked at while it stands. */
	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_CUT, add_affine(b, "far", u, 1, 100, NULL),
		   -200, -50);
	ASSERT_EQ(HT_OK, make_loop(b));
	arm(b);
	for (k = 0; k < 10; k++) {
		b->in[0] = 11;
		tick(b);
		EXPECT_EQ(HT_MODE_ARMED, ht_loop_mode(b->loop));
		EXPECT_FALSE(ht_loop_ready(b->loop));
		ht_loop_lock(b->loop, 0, &view);
		EXPECT_EQ(k + 1, view.violated_ticks);
	}
	b->in[0] = 9;
	tick(b);
	EXPECT_TRUE(ht_loop_ready(b->loop));
	tell(b, (struct ht_vitals){ .missed = 2 });
	tick(b);
	EXPECT_FALSE(ht_loop_ready(b->loop));
	EXPECT_EQ(HT_MODE_ARMED, ht_loop_mode(b->loop));
	tell(b, well);
	tick(b);
	EXPECT_TRUE(ht_loop_ready(b->loop));
	EXPECT_EQ(HT_CAUSE_NONE, ht_loop_first_trip(b->loop)->cause);
	/* What was violated while armed does not count when it runs. */
	b->in[0] = 11;
	tick(b);
	tick(b);
	EXPECT_FALSE(ht_loop_ready(b->loop));
	arm(b);
	EXPECT_TRUE(ht_loop_ready(b->loop));
}

TEST_F(loop, armed_with_latch_trips_after_its_delay)
{
	struct bench *b = &self->b;
	ht_u32 u = follow_input(b, 1, 512), action;

	draft_lock(b->draft, HT_LOCK_RANGE, HT_ACTION_CUT, u, -10, 10);
	b->draft->locks[0].flags = HT_LOCK_LATCH;
	b->draft->locks[0].delay_ticks = 2;
	draft_lock(b->draft, HT_LOCK_LOST, HT_ACTION_CUT, HT_NO_SIGNAL, 0, 1);
	b->draft->locks[1].flags = HT_LOCK_LATCH;
	for (action = 0; action < HT_ACTIONS; action++) {
		b->draft->locks[0].action = action;
		ASSERT_EQ(HT_OK, make_loop(b));
		arm(b);
		b->in[0] = 11;
		tick(b);
		tick(b);
		EXPECT_EQ(HT_MODE_ARMED, ht_loop_mode(b->loop));
		EXPECT_FALSE(ht_loop_ready(b->loop));
		EXPECT_SAME(1, tick(b));
		EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
		EXPECT_FALSE(ht_loop_ready(b->loop));
		EXPECT_TRUE(ht_loop_safe(b->loop));
		EXPECT_EQ(HT_CAUSE_INTERLOCK, ht_loop_first_trip(b->loop)->cause);
		EXPECT_EQ(0, ht_loop_first_trip(b->loop)->index);
		/* It stays. */
		b->in[0] = 0;
		EXPECT_SAME(1, tick(b));
		EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
		arm(b);
		tell(b, (struct ht_vitals){ .lost_scans = 2 });
		EXPECT_SAME(1, tick(b));
		EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
		EXPECT_EQ(1, ht_loop_first_trip(b->loop)->index);
	}
}

TEST_F(loop, armed_needs_scans_and_numbers_but_no_writes)
{
	struct bench *b = &self->b;
	ht_u32 u = follow_input(b, 1, 512);

	ASSERT_EQ(HT_OK, make_loop(b));
	arm(b);
	tell(b, (struct ht_vitals){ .write_age = 50 });
	EXPECT_SAME(1, tick(b));
	EXPECT_TRUE(ht_loop_ready(b->loop));
	tell(b, (struct ht_vitals){ .scan_age = 1 });
	EXPECT_SAME(1, tick(b));
	EXPECT_TRUE(ht_loop_ready(b->loop));
	tell(b, (struct ht_vitals){ .scan_age = 2, .scan_input = 3 });
	EXPECT_SAME(1, tick(b));
	expect_builtin(_metadata, b, HT_CAUSE_SCAN, 3, 2, 2);
	EXPECT_TRUE(ht_loop_safe(b->loop));
	arm(b);
	b->in[0] = INFINITY;
	EXPECT_SAME(1, tick(b));
	EXPECT_EQ(HT_CAUSE_NOT_FINITE, ht_loop_first_trip(b->loop)->cause);
	EXPECT_EQ(u, ht_loop_first_trip(b->loop)->index);
	EXPECT_TRUE(ht_loop_safe(b->loop));
}

TEST_F(loop, armed_can_be_tripped_from_outside)
{
	struct bench *b = &self->b;

	follow_input(b, 1, 512);
	ASSERT_EQ(HT_OK, make_loop(b));
	arm(b);
	tick(b);
	ht_loop_trip(b->loop, &(struct ht_trip){
		.cause = HT_CAUSE_DEVICE,
		.action = HT_ACTION_HOLD,
	});
	EXPECT_SAME(1, tick(b));
	EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
	EXPECT_TRUE(ht_loop_safe(b->loop));
	EXPECT_FALSE(ht_loop_ready(b->loop));
}

TEST_F(loop, rest_ends_a_trip)
{
	struct bench *b = &self->b;

	watched_program(b);
	ASSERT_EQ(HT_OK, make_loop(b));
	start(b);
	b->in[0] = 4;
	tick(b);
	b->in[1] = 2;
	tick(b);
	EXPECT_EQ(HT_MODE_TRIPPED, ht_loop_mode(b->loop));
	EXPECT_SAME(4, ht_loop_outputs(b->loop)[0]);
	ht_loop_rest(b->loop);
	EXPECT_EQ(HT_MODE_IDLE, ht_loop_mode(b->loop));
	EXPECT_TRUE(ht_loop_safe(b->loop));
	EXPECT_SAME(1, ht_loop_outputs(b->loop)[0]);
}

TEST_HARNESS_MAIN
