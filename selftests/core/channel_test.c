// SPDX-License-Identifier: GPL-2.0
/*
 * Between codes and signals: channel.h.
 *
 * Expected values are written from the header and from IIO's documentation of
 * scan types, with other arithmetic (128-bit integers, long doubles) than the
 * code under test has.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "core/channel.h"

static double number(ht_u32 form, ht_s32 val, ht_s32 val2)
{
	const struct ht_number n = { .form = form, .val = val, .val2 = val2 };

	return ht_number_value(&n);
}

TEST(numbers_of_iio)
{
	EXPECT_EQ(-7, number(HT_NUMBER_INT, -7, 99));
	EXPECT_EQ(2147483647.0, number(HT_NUMBER_INT, 2147483647, 0));
	EXPECT_EQ(-2147483648.0, number(HT_NUMBER_INT, -2147483647 - 1, 0));
	EXPECT_EQ(1.5, number(HT_NUMBER_MICRO, 1, 500000));
	EXPECT_EQ(0.000001, number(HT_NUMBER_MICRO, 0, 1));
	EXPECT_EQ(-0.25, number(HT_NUMBER_MICRO, 0, -250000));
	/* IIO prints -1 and 500000 as -1.500000, and 1 and -500000 as well. */
	EXPECT_EQ(-1.5, number(HT_NUMBER_MICRO, -1, 500000));
	EXPECT_EQ(-1.5, number(HT_NUMBER_MICRO, 1, -500000));
	EXPECT_EQ(3.000000125, number(HT_NUMBER_NANO, 3, 125));
	EXPECT_EQ(-0.5, number(HT_NUMBER_NANO, 0, -500000000));
	EXPECT_EQ(-2.5, number(HT_NUMBER_NANO, -2, 500000000));
	EXPECT_EQ(2500.0 / 4095, number(HT_NUMBER_FRACTION, 2500, 4095));
	EXPECT_EQ(-0.125, number(HT_NUMBER_FRACTION, 1, -8));
	EXPECT_EQ(5000.0 / 65536, number(HT_NUMBER_FRACTION_LOG2, 5000, 16));
	EXPECT_EQ(-3, number(HT_NUMBER_FRACTION_LOG2, -3, 0));
	EXPECT_EQ(0x1p-31, number(HT_NUMBER_FRACTION_LOG2, 1, 31));
	EXPECT_EQ(0x1p-63, number(HT_NUMBER_FRACTION_LOG2, 1, 63));
	EXPECT_TRUE(isnan(number(HT_NUMBER_FRACTION, 1, 0)));
	EXPECT_TRUE(isnan(number(HT_NUMBER_FRACTION_LOG2, 1, -1)));
	EXPECT_TRUE(isnan(number(HT_NUMBER_FORMS, 1, 1)));
	EXPECT_TRUE(isnan(number(0xffffffff, 1, 1)));
}

static ht_s64 code_in(const char *bytes, const struct ht_scan_place *place)
{
	return ht_scan_code(place, bytes);
}

/* Written out by hand. */
TEST(codes_in_a_scan)
{
	static const char scan[] = "\x12\x34\x56\x78\x9a\xbc\xde\xf0";
	struct ht_scan_place p = { .bytes = 1, .bits = 8 };

	EXPECT_EQ(0x12, code_in(scan, &p));
	p.offset = 4;
	EXPECT_EQ(0x9a, code_in(scan, &p));
	p.is_signed = 1;
	EXPECT_EQ(0x9a - 256, code_in(scan, &p));
	p = (struct ht_scan_place){ .bytes = 2, .bits = 16, .offset = 2 };
	EXPECT_EQ(0x7856, code_in(scan, &p));
	p.big_endian = 1;
	EXPECT_EQ(0x5678, code_in(scan, &p));
	/* be:s12/16>>4, as of many converters */
	p = (struct ht_scan_place){ .bytes = 2, .bits = 12, .shift = 4, .offset = 6,
				    .is_signed = 1, .big_endian = 1 };
	EXPECT_EQ(0xdef - 0x1000, code_in(scan, &p));
	/* le:u24/32>>8 */
	p = (struct ht_scan_place){ .bytes = 4, .bits = 24, .shift = 8 };
	EXPECT_EQ(0x785634, code_in(scan, &p));
	/* Status bits above the code are cut off. */
	p = (struct ht_scan_place){ .bytes = 4, .bits = 10, .big_endian = 1 };
	EXPECT_EQ(0x278, code_in(scan, &p));
	p = (struct ht_scan_place){ .bytes = 8, .bits = 64, .big_endian = 1 };
	EXPECT_EQ(0x123456789abcdef0, code_in(scan, &p));
	p.big_endian = 0;
	EXPECT_EQ((ht_s64)0xf0debc9a78563412, code_in(scan, &p));
	p = (struct ht_scan_place){ .bytes = 8, .bits = 1, .shift = 63, .is_signed = 1 };
	EXPECT_EQ(-1, code_in(scan, &p));
}

static ht_u64 random_state = 1;

static ht_u64 random_word(void)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return random_state ^ random_state >> 29;
}

static void put(unsigned char *at, ht_u64 word, ht_u32 bytes, int big_endian)
{
	ht_u32 i;

	for (i = 0; i < bytes; i++)
		at[big_endian ? bytes - 1 - i : i] = word >> 8 * i;
}

/* Any code that fits comes back, whatever lies around it. */
TEST(every_place_gives_its_code_back)
{
	static const ht_u32 sizes[] = { 1, 2, 4, 8 };
	ht_u32 s, bits, shift, kind, wrong = 0;

	for (s = 0; s < HT_COUNT(sizes); s++) {
		const ht_u32 width = 8 * sizes[s];

		for (bits = 1; bits <= width; bits++) {
			for (shift = 0; shift + bits <= width; shift++) {
				for (kind = 0; kind < 4; kind++) {
					const ht_u64 mask = ~0ull >> (64 - bits);
					const ht_u64 code = random_word() & mask;
					unsigned char scan[24];
					struct ht_scan_place p = {
						.offset = random_word() % 16,
						.bytes = sizes[s], .shift = shift, .bits = bits,
						.is_signed = kind & 1, .big_endian = kind >> 1,
					};
					__int128 expected = code;

					if (p.is_signed && code >> (bits - 1))
						expected -= (__int128)1 << bits;
					memset(scan, random_word(), sizeof(scan));
					put(scan + p.offset, (random_word() & ~(mask << shift)) |
					    code << shift, sizes[s], p.big_endian);
					wrong += ht_scan_code(&p, scan) != (ht_s64)expected;
				}
			}
		}
	}
	EXPECT_EQ(0, wrong);
}

/* ------------------------------------------------------- codes and signals */

static const struct ht_number one = { .form = HT_NUMBER_INT, .val = 1 };
static const struct ht_number zero = { .form = HT_NUMBER_INT, .val = 0 };
static const struct ht_number milli = { .form = HT_NUMBER_FRACTION, .val = 1, .val2 = 1000 };

/* 16 bits for +-10 V as IIO tells it: mV. */
static const struct ht_converter sixteen = {
	.scale = { .form = HT_NUMBER_FRACTION_LOG2, .val = 10000, .val2 = 15 },
	.offset = { .form = HT_NUMBER_INT },
	.unit = { .form = HT_NUMBER_FRACTION, .val = 1, .val2 = 1000 },
	.low_code = -32768,
	.high_code = 32767,
};

static void expect_close(struct __test_metadata *_metadata, double expected, double seen)
{
	EXPECT_TRUE(fabs(expected - seen) <= 4e-16 * fabs(expected)) {
		TH_LOG("expected %.17g, seen %.17g", expected, seen);
	}
}

TEST(signal_of_a_code)
{
	const struct ht_image_channel image = { .gain = -0.01, .offset = 2 };
	struct ht_converter shifted = sixteen;
	struct ht_channel c;

	ASSERT_EQ(HT_OK, ht_channel_init(&c, &sixteen, &image));
	EXPECT_EQ(2, ht_channel_signal(&c, 0));
	/* 10 V at 32768: 2 - 0.01 * 10 */
	expect_close(_metadata, 1.9, ht_channel_signal(&c, 32768));
	expect_close(_metadata, 2.1, ht_channel_signal(&c, -32768));
	expect_close(_metadata, 2 - 0.01 * 5, ht_channel_signal(&c, 16384));
	/* (code + offset) * scale: an offset binary converter */
	shifted.offset.val = -32768;
	shifted.low_code = 0;
	shifted.high_code = 65535;
	ASSERT_EQ(HT_OK, ht_channel_init(&c, &shifted, &image));
	expect_close(_metadata, 2, ht_channel_signal(&c, 32768));
	expect_close(_metadata, 2.1, ht_channel_signal(&c, 0));
}

TEST(code_of_a_signal)
{
	const struct ht_image_channel image = { .gain = 1 };
	struct ht_converter plain = { one, zero, one, -5, 9 };
	struct ht_channel c;

	ASSERT_EQ(HT_OK, ht_channel_init(&c, &plain, &image));
	EXPECT_EQ(0, ht_channel_code(&c, 0));
	EXPECT_EQ(0, ht_channel_code(&c, 0.49999999999999994));
	EXPECT_EQ(1, ht_channel_code(&c, 0.5));
	EXPECT_EQ(-1, ht_channel_code(&c, -0.5));
	EXPECT_EQ(2, ht_channel_code(&c, 1.5));
	EXPECT_EQ(3, ht_channel_code(&c, 2.5));
	EXPECT_EQ(-3, ht_channel_code(&c, -2.5));
	EXPECT_EQ(-2, ht_channel_code(&c, -2.4));
	EXPECT_EQ(9, ht_channel_code(&c, 9.4));
	EXPECT_EQ(9, ht_channel_code(&c, 10));
	EXPECT_EQ(9, ht_channel_code(&c, 1e300));
	EXPECT_EQ(9, ht_channel_code(&c, INFINITY));
	EXPECT_EQ(-5, ht_channel_code(&c, -5.6));
	EXPECT_EQ(-5, ht_channel_code(&c, -INFINITY));
	EXPECT_EQ(0, ht_channel_code(&c, NAN));
}

/* NaN gives the code of the signal 0, which need not be code 0. */
TEST(nan_is_the_signal_zero)
{
	const struct ht_image_channel image = { .gain = 1, .offset = 3 };
	const struct ht_converter plain = { one, zero, one, -5, 9 };
	struct ht_channel c;

	ASSERT_EQ(HT_OK, ht_channel_init(&c, &plain, &image));
	EXPECT_EQ(-3, ht_channel_code(&c, 0));
	EXPECT_EQ(-3, ht_channel_code(&c, NAN));
}

TEST(round_trip_of_every_code)
{
	static const struct ht_image_channel images[] = {
		{ .gain = 1 }, { .gain = -1 }, { .gain = 0.01, .offset = 5 },
		{ .gain = -1e-6, .offset = -1e-3 }, { .gain = 1e9, .offset = 1e9 / 3 },
	};
	struct ht_channel c;
	ht_u32 i, wrong = 0;
	ht_s64 code;

	for (i = 0; i < HT_COUNT(images); i++) {
		ASSERT_EQ(HT_OK, ht_channel_init(&c, &sixteen, &images[i]));
		for (code = -32768; code <= 32767; code++)
			wrong += ht_channel_code(&c, ht_channel_signal(&c, code)) != code;
		/* A little less than half a code to either side. */
		for (code = -32768; code <= 32767; code += 17) {
			const double half = 0.499 * fabs(c.slope);

			wrong += ht_channel_code(&c, ht_channel_signal(&c, code) + half) != code;
			wrong += ht_channel_code(&c, ht_channel_signal(&c, code) - half) != code;
		}
	}
	EXPECT_EQ(0, wrong);
}

TEST(wide_codes_fit)
{
	const struct ht_image_channel image = { .gain = 1 };
	struct ht_converter wide = { one, zero, one, -0x7fffffffffffffffll - 1,
				     0x7fffffffffffffffll };
	struct ht_channel c;

	ASSERT_EQ(HT_OK, ht_channel_init(&c, &wide, &image));
	EXPECT_GT(ht_channel_code(&c, 1e300), 0x7ffffffffffff000ll);
	EXPECT_LT(ht_channel_code(&c, -1e300), -0x7ffffffffffff000ll);
	EXPECT_EQ(1ll << 62, ht_channel_code(&c, 0x1p62));
	EXPECT_EQ((1ll << 52) + 1, ht_channel_code(&c, 0x1p52 + 1));
	wide.low_code = -(1ll << 31);
	wide.high_code = (1ll << 31) - 1;
	ASSERT_EQ(HT_OK, ht_channel_init(&c, &wide, &image));
	EXPECT_EQ(2147483647, ht_channel_code(&c, 1e300));
	EXPECT_EQ(-2147483648ll, ht_channel_code(&c, -1e300));
}

TEST(what_makes_no_channel)
{
	struct ht_image_channel image = { .gain = 1 };
	struct ht_converter bad = sixteen;
	struct ht_channel c;

	bad.scale = zero;
	EXPECT_EQ(HT_ERR_CHANNEL, ht_channel_init(&c, &bad, &image));
	bad.scale = (struct ht_number){ .form = HT_NUMBER_FRACTION, .val = 1, .val2 = 0 };
	EXPECT_EQ(HT_ERR_CHANNEL, ht_channel_init(&c, &bad, &image));
	bad = sixteen;
	bad.offset.form = HT_NUMBER_FORMS;
	EXPECT_EQ(HT_ERR_CHANNEL, ht_channel_init(&c, &bad, &image));
	bad = sixteen;
	bad.unit.form = HT_NUMBER_FORMS;
	EXPECT_EQ(HT_ERR_CHANNEL, ht_channel_init(&c, &bad, &image));
	bad = sixteen;
	bad.low_code = 40000;
	EXPECT_EQ(HT_ERR_CHANNEL, ht_channel_init(&c, &bad, &image));
	/* Beyond the doubles, though scale and gain are not. */
	bad = sixteen;
	bad.scale = (struct ht_number){ .form = HT_NUMBER_INT, .val = 1000 };
	bad.unit = one;
	image.gain = 1e307;
	EXPECT_EQ(HT_ERR_CHANNEL, ht_channel_init(&c, &bad, &image));
	image.gain = 1;
	image.offset = INFINITY;
	EXPECT_EQ(HT_ERR_CHANNEL, ht_channel_init(&c, &sixteen, &image));
	image.offset = 0;
	EXPECT_EQ(HT_OK, ht_channel_init(&c, &sixteen, &image));
}

/* A thermometer: milli degrees, an offset of its own, read as degrees. */
TEST(units_are_si)
{
	const struct ht_image_channel image = { .gain = 1, .offset = 273.15 };
	const struct ht_converter c = {
		.scale = { .form = HT_NUMBER_MICRO, .val = 62, .val2 = 500000 },
		.offset = { .form = HT_NUMBER_INT, .val = -16 },
		.unit = milli,
		.low_code = 0,
		.high_code = 4095,
	};
	struct ht_channel channel;
	double signal;

	ASSERT_EQ(HT_OK, ht_channel_init(&channel, &c, &image));
	expect_close(_metadata, 20 + 273.15, ht_channel_signal(&channel, 336));
	EXPECT_EQ(336, ht_channel_code(&channel, 20 + 273.15));
	ht_channel_read(&channel, 336, &signal);
	EXPECT_EQ(ht_channel_signal(&channel, 336), signal);
	EXPECT_EQ(336, ht_channel_write(&channel, &signal));
}

TEST_HARNESS_MAIN
