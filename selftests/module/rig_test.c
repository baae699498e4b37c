// SPDX-License-Identifier: GPL-2.0
/*
 * Simulated rigs: made and removed by /dev/hytest_rig, read and written as IIO
 * devices, broken through debugfs, unbound at any time.
 *
 * HYTEST_MODULES names the directory with hytest_rig.ko, else /modules.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "loop.h"
#include "rig.h"

#define STEP_NS		20000000ull
#define NAME		"wire"
#define TRIGGER		7

/* Codes of the DAC: 16 bits for +-10 V. */
#define VOLT		(32768 / 10.0)
#define COMMAND		"out_voltage0_raw"
#define MEASURED	"in_voltage0_raw"	/* 16 bits */
#define COARSE		"in_voltage1_raw"	/* 12 bits */
#define FINE		"in_voltage2_raw"	/* 24 bits */
#define STEPS		"in_voltage3_raw"	/* a code for each step */

/* What is written to the DAC is measured by three ADCs; a fourth counts steps. */
static struct draft *wire_program(uint64_t period_ns)
{
	struct draft *draft = draft_new_rig(period_ns);
	const ht_u32 u = draft_signal(draft, "u", 0);
	const ht_u32 age = draft_signal(draft, "age", 0);
	ht_u32 one, adc;

	draft_constant(draft, "one", 1, &one);
	draft_block(draft, "integrator", 0, 1, &one, 1, &age);
	draft_dac(draft, u, "command");
	draft_adc(draft, u, "measured");
	adc = draft_adc(draft, u, "coarse");
	draft->outputs[adc].channel.bits = 12;
	adc = draft_adc(draft, u, "fine");
	draft->outputs[adc].channel.bits = 24;
	adc = draft_adc(draft, age, "steps");
	draft->outputs[adc].channel.bits = 24;
	draft->outputs[adc].channel.gain = period_ns / 1e9 * (1 << 23) / 10;
	return draft;
}

/* A quarter of a step after so many more steps; in between nothing can change. */
static void wait_steps(unsigned int n)
{
	const uint64_t at = (now_ns() / STEP_NS + n) * STEP_NS + STEP_NS / 4;
	const struct timespec time = {
		.tv_sec = at / 1000000000,
		.tv_nsec = at % 1000000000,
	};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* Nearest integer, ties away from zero. */
static long nearest(double x)
{
	return x < 0 ? (long)(x - 0.5) : (long)(x + 0.5);
}

/* Areas of memory of all rigs and loops: hytest_core takes them. */
static int count_areas(void)
{
	return WEXITSTATUS(system("exit $(grep -c '\\[hytest_core\\]' /proc/vmallocinfo)"));
}

FIXTURE(rig) {
	struct draft *draft;
	unsigned int device;
	unsigned int others;	/* IIO devices before */
	int areas;		/* of memory before */
	int fd;
};

FIXTURE_SETUP(rig)
{
	self->draft = wire_program(STEP_NS);
	self->fd = rig_open(O_RDWR);
	ASSERT_LE(0, self->fd);
	/* The test before may have ended early. */
	rig_remove(self->fd, NAME);
	self->others = iio_count_devices();
	self->areas = count_areas();
	ASSERT_EQ(0, rig_create(self->fd, NAME, self->draft, &self->device));
}

FIXTURE_TEARDOWN(rig)
{
	rig_remove(self->fd, NAME);
	EXPECT_EQ(self->others, iio_count_devices());
	EXPECT_EQ(self->areas, count_areas());
	draft_free(self->draft);
	close(self->fd);
}

static long get(struct __test_metadata *_metadata, unsigned int device, const char *attribute)
{
	long value = 0;

	EXPECT_EQ(0, iio_read_int(device, attribute, &value)) {
		TH_LOG("%s cannot be read", attribute);
	}
	return value;
}

static void set(struct __test_metadata *_metadata, unsigned int device, const char *attribute,
		long value)
{
	EXPECT_EQ(0, iio_write_int(device, attribute, value)) {
		TH_LOG("%s cannot be written", attribute);
	}
}

static void expect_text(struct __test_metadata *_metadata, unsigned int device,
			const char *attribute, const char *expected)
{
	char text[128];

	EXPECT_EQ(0, iio_read(device, attribute, text, sizeof(text)));
	EXPECT_STREQ(expected, text) {
		TH_LOG("%s", attribute);
	}
}

TEST_F(rig, is_an_iio_device)
{
	EXPECT_EQ(self->others + 1, iio_count_devices());
	expect_text(_metadata, self->device, "name", NAME);
	expect_text(_metadata, self->device, "in_voltage0_label", "measured");
	expect_text(_metadata, self->device, "in_voltage1_label", "coarse");
	expect_text(_metadata, self->device, "in_voltage2_label", "fine");
	expect_text(_metadata, self->device, "out_voltage0_label", "command");
	/* mV per code: 10000 / 2^15, 2^11, 2^23 */
	expect_text(_metadata, self->device, "in_voltage0_scale", "0.305175781");
	expect_text(_metadata, self->device, "in_voltage1_scale", "4.882812500");
	expect_text(_metadata, self->device, "in_voltage2_scale", "0.001192092");
	expect_text(_metadata, self->device, "out_voltage0_scale", "0.305175781");
	expect_text(_metadata, self->device, "out_voltage0_raw_available", "[-32768 1 32767]");
	expect_text(_metadata, self->device, "scan_elements/in_voltage0_type", "le:s16/16>>0");
	expect_text(_metadata, self->device, "scan_elements/in_voltage1_type", "le:s12/16>>0");
	expect_text(_metadata, self->device, "scan_elements/in_voltage2_type", "le:s24/32>>0");
}

TEST_F(rig, measures_what_is_written)
{
	static const long codes[] = { 0, 1, -1, 7, 8, -8, 12345, -12345, 32767, -32768 };
	unsigned int i;
	long coarse;

	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		set(_metadata, self->device, COMMAND, codes[i]);
		EXPECT_EQ(codes[i], get(_metadata, self->device, COMMAND));
		wait_steps(1);
		coarse = nearest(codes[i] / 16.0);
		EXPECT_EQ(codes[i], get(_metadata, self->device, MEASURED));
		EXPECT_EQ(coarse > 2047 ? 2047 : coarse, get(_metadata, self->device, COARSE));
		EXPECT_EQ(codes[i] * 256, get(_metadata, self->device, FINE));
	}
}

TEST_F(rig, refuses_codes_that_do_not_exist)
{
	set(_metadata, self->device, COMMAND, 5);
	EXPECT_EQ(EINVAL, iio_write_int(self->device, COMMAND, 32768));
	EXPECT_EQ(EINVAL, iio_write_int(self->device, COMMAND, -32769));
	EXPECT_EQ(EINVAL, iio_write(self->device, COMMAND, "0.5"));
	EXPECT_EQ(EINVAL, iio_write(self->device, COMMAND, "one"));
	EXPECT_NE(0, iio_write_int(self->device, MEASURED, 1));
	EXPECT_NE(0, iio_write(self->device, "out_voltage0_scale", "1"));
	EXPECT_EQ(5, get(_metadata, self->device, COMMAND));
}

/* A code that is written acts from the next step on, however often one looks. */
TEST_F(rig, acts_from_the_next_step_on)
{
	if (!time_is_exact())
		SKIP(return, "needs exact time");
	wait_steps(1);
	set(_metadata, self->device, COMMAND, 1000);
	EXPECT_EQ(0, get(_metadata, self->device, MEASURED));
	sleep_ms(STEP_NS / 1000000 / 2);
	EXPECT_EQ(0, get(_metadata, self->device, MEASURED));
	wait_steps(1);
	EXPECT_EQ(1000, get(_metadata, self->device, MEASURED));
	/* The last one before the step counts. */
	set(_metadata, self->device, COMMAND, 2000);
	set(_metadata, self->device, COMMAND, 3000);
	EXPECT_EQ(1000, get(_metadata, self->device, MEASURED));
	wait_steps(1);
	EXPECT_EQ(3000, get(_metadata, self->device, MEASURED));
}

/* As many steps as time has passed, whether somebody looks or not. */
TEST_F(rig, keeps_time)
{
	static const unsigned int waits[] = { 1, 2, 100, 3, 7 };
	long before, after;
	unsigned int i;

	if (!time_is_exact())
		SKIP(return, "needs exact time");
	wait_steps(1);
	before = get(_metadata, self->device, STEPS);
	for (i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		wait_steps(waits[i]);
		after = get(_metadata, self->device, STEPS);
		EXPECT_EQ(waits[i], after - before);
		before = after;
	}
}

/* Nobody looks for two seconds of 100,000 steps each: little is left to do. */
TEST_F(rig, does_not_fall_behind)
{
	struct draft *draft = wire_program(HT_MIN_PERIOD_NS);
	unsigned int device;
	uint64_t begin;

	if (!time_is_exact())
		SKIP(return, "needs exact time");
	ASSERT_EQ(0, rig_create(self->fd, "quick", draft, &device));
	draft_free(draft);
	sleep_ms(2000);
	begin = now_ns();
	EXPECT_LE(200000, get(_metadata, device, STEPS));
	/* 45 ms are 4500 steps; all of them would be 200,000. */
	EXPECT_GT(20000000, now_ns() - begin) {
		TH_LOG("the first look took %lu us", (unsigned long)(now_ns() - begin) / 1000);
	}
	EXPECT_EQ(0, rig_remove(self->fd, "quick"));
}

/* A held rig stands still until a code differs from the first one. */
TEST_F(rig, held_until_it_is_moved)
{
	struct draft *draft = wire_program(STEP_NS);
	unsigned int device;
	long steps;

	draft->header.flags = HT_IMAGE_HELD;
	ASSERT_EQ(0, rig_create(self->fd, "held", draft, &device));
	draft_free(draft);
	wait_steps(5);
	EXPECT_EQ(0, get(_metadata, device, STEPS));
	set(_metadata, device, COMMAND, 0);
	wait_steps(5);
	EXPECT_EQ(0, get(_metadata, device, STEPS));
	set(_metadata, device, COMMAND, 1);
	wait_steps(5);
	steps = get(_metadata, device, STEPS);
	EXPECT_LE(5, steps);
	if (time_is_exact())
		EXPECT_EQ(5, steps);
	EXPECT_EQ(0, rig_remove(self->fd, "held"));
}

TEST_F(rig, reset_makes_it_new)
{
	char text[256];

	set(_metadata, self->device, COMMAND, 1000);
	EXPECT_EQ(0, rig_fault(NAME, "sign 0\nlate 5"));
	wait_steps(10);
	EXPECT_EQ(-1000, get(_metadata, self->device, MEASURED));
	EXPECT_EQ(0, rig_reset(self->fd, NAME));
	EXPECT_EQ(0, get(_metadata, self->device, COMMAND));
	EXPECT_GT(3, get(_metadata, self->device, STEPS));
	EXPECT_EQ(0, rig_show_faults(NAME, text, sizeof(text)));
	EXPECT_STREQ("", text);
	wait_steps(1);
	EXPECT_EQ(0, get(_metadata, self->device, MEASURED));
	set(_metadata, self->device, COMMAND, 1000);
	EXPECT_EQ(0, file_write("/sys/kernel/debug/hytest_rig/" NAME "/reset", "1"));
	EXPECT_EQ(0, get(_metadata, self->device, COMMAND));
}

TEST_F(rig, several_at_once)
{
	char name[16];
	unsigned int device[8];
	int i;

	for (i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "rig-%d", i);
		ASSERT_EQ(0, rig_create(self->fd, name, self->draft, &device[i]));
		set(_metadata, device[i], COMMAND, 100 * i);
	}
	wait_steps(1);
	for (i = 0; i < 8; i++) {
		EXPECT_EQ(100 * i, get(_metadata, device[i], MEASURED));
		snprintf(name, sizeof(name), "rig-%d", i);
		expect_text(_metadata, device[i], "name", name);
		EXPECT_EQ(0, rig_remove(self->fd, name));
	}
	EXPECT_EQ(0, get(_metadata, self->device, MEASURED));
}

/* Without an ADC there is nothing to scan, without a DAC nothing to write. */
TEST_F(rig, one_sided)
{
	struct draft *draft = wire_program(STEP_NS);
	unsigned int device;
	long value;

	draft->header.n_outputs = 0;
	ASSERT_EQ(0, rig_create(self->fd, "dac", draft, &device));
	set(_metadata, device, COMMAND, 5);
	EXPECT_EQ(ENOENT, iio_read_int(device, MEASURED, &value));
	EXPECT_EQ(ENOENT, iio_write(device, "buffer/enable", "1"));
	EXPECT_EQ(0, rig_remove(self->fd, "dac"));
	draft_free(draft);

	draft = wire_program(STEP_NS);
	draft->header.n_inputs = 0;
	ASSERT_EQ(0, rig_create(self->fd, "adc", draft, &device));
	EXPECT_EQ(0, get(_metadata, device, MEASURED));
	EXPECT_EQ(ENOENT, iio_write_int(device, COMMAND, 5));
	EXPECT_EQ(0, rig_remove(self->fd, "adc"));
	draft_free(draft);
}

TEST_F(rig, refuses_names)
{
	static const char *const names[] = {
		"", ".", "..", ".hidden", "a/b", "a b", "a\n", "\xc3\xa4", "%s",
		"12345678901234567890123456789012",
	};
	struct hytest_rig_create create;
	size_t size, i;
	void *image = draft_image(self->draft, &size);

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		EXPECT_EQ(EINVAL, rig_create_bytes(self->fd, names[i], image, size, &create)) {
			TH_LOG("'%s'", names[i]);
		}
		EXPECT_EQ(HT_ERR_NAME, create.refusal.code);
	}
	EXPECT_EQ(EEXIST, rig_create_bytes(self->fd, NAME, image, size, &create));
	EXPECT_EQ(0, rig_create_bytes(self->fd, "Aa0-_.", image, size, &create));
	EXPECT_EQ(self->others + 2, iio_count_devices());
	EXPECT_EQ(0, rig_remove(self->fd, "Aa0-_."));
	EXPECT_EQ(ENOENT, rig_remove(self->fd, "Aa0-_."));
	EXPECT_EQ(ENOENT, rig_remove(self->fd, "12345678901234567890123456789012"));
	EXPECT_EQ(ENOENT, rig_reset(self->fd, "nobody"));
	free(image);
}

/* An image changed at one place; the CRC is right unless that is the point. */
static void expect_refusal(struct __test_metadata *_metadata, int fd, const struct draft *draft,
			   uint32_t code)
{
	struct hytest_rig_create create;
	size_t size;
	void *image = draft_image(draft, &size);

	EXPECT_EQ(EINVAL, rig_create_bytes(fd, "bad", image, size, &create));
	EXPECT_EQ(code, create.refusal.code);
	free(image);
}

TEST_F(rig, refuses_bytes_that_are_no_image)
{
	struct hytest_rig_create create;
	size_t size, cut;
	char *image = draft_image(self->draft, &size);

	for (cut = 0; cut < size; cut += 97) {
		EXPECT_EQ(EINVAL, rig_create_bytes(self->fd, "bad", image, cut, &create));
		EXPECT_EQ(HT_ERR_SIZE, create.refusal.code);
	}
	image[size - 1] ^= 1;
	EXPECT_EQ(EINVAL, rig_create_bytes(self->fd, "bad", image, size, &create));
	EXPECT_EQ(HT_ERR_CRC, create.refusal.code);
	image[size - 1] ^= 1;
	image[0] ^= 1;
	EXPECT_EQ(EINVAL, rig_create_bytes(self->fd, "bad", image, size, &create));
	EXPECT_EQ(HT_ERR_MAGIC, create.refusal.code);
	EXPECT_EQ(self->others + 1, iio_count_devices());
	free(image);
}

TEST_F(rig, refuses_programs)
{
	struct draft *draft = draft_new(STEP_NS);
	ht_u32 block;

	expect_refusal(_metadata, self->fd, draft, HT_ERR_KIND);
	draft_free(draft);

	draft = wire_program(STEP_NS);
	draft->header.version++;
	expect_refusal(_metadata, self->fd, draft, HT_ERR_VERSION);
	draft_free(draft);

	draft = wire_program(STEP_NS);
	draft->outputs[0].channel.bits = 33;
	expect_refusal(_metadata, self->fd, draft, HT_ERR_CHANNEL);
	draft_free(draft);

	draft = wire_program(STEP_NS);
	draft->inputs[0].channel.gain = 0;
	expect_refusal(_metadata, self->fd, draft, HT_ERR_CHANNEL);
	draft_free(draft);

	/* What only the block itself can tell. */
	draft = wire_program(STEP_NS);
	block = draft->header.n_blocks - 1;
	draft_set(draft, block, "min", 0, 2);
	draft_set(draft, block, "max", 0, 1);
	expect_refusal(_metadata, self->fd, draft, HT_ERR_ORDER);
	draft_free(draft);
	EXPECT_EQ(self->others + 1, iio_count_devices());
}

/* A small image that asks for much. */
TEST_F(rig, refuses_what_needs_too_much_memory)
{
	struct draft *draft = wire_program(STEP_NS);
	const ht_u32 in = 0;
	unsigned int device;
	ht_u32 out, i;
	char name[16];

	for (i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "late-%u", i);
		out = draft_signal(draft, name, 0);
		draft_block(draft, "delay", 1000000, 1, &in, 1, &out);
	}
	EXPECT_EQ(E2BIG, rig_create(self->fd, "bad", draft, &device));
	draft_free(draft);
	EXPECT_EQ(self->others + 1, iio_count_devices());
}

TEST_F(rig, refuses_bad_calls)
{
	struct hytest_rig_create create;
	size_t size;
	void *image = draft_image(self->draft, &size);
	int fd;

	EXPECT_EQ(EFAULT, rig_create_bytes(self->fd, "bad", (void *)8, size, &create));
	EXPECT_EQ(EFBIG, rig_create_bytes(self->fd, "bad", image, (16 << 20) + 1, &create));
	EXPECT_EQ(EFBIG, rig_create_bytes(self->fd, "bad", image, SIZE_MAX, &create));
	EXPECT_EQ(EFAULT, loop_ioctl(self->fd, HYTEST_RIG_IOC_CREATE, (void *)8));
	EXPECT_EQ(EFAULT, loop_ioctl(self->fd, HYTEST_RIG_IOC_REMOVE, (void *)8));
	EXPECT_EQ(EFAULT, loop_ioctl(self->fd, HYTEST_RIG_IOC_RESET, (void *)8));
	EXPECT_EQ(ENOTTY, loop_ioctl(self->fd, HYTEST_IOC_INFO, &create));
	create = (struct hytest_rig_create){
		.name = "bad", .image = (uintptr_t)image, .size = size, .reserved = 1,
	};
	EXPECT_EQ(EINVAL, loop_ioctl(self->fd, HYTEST_RIG_IOC_CREATE, &create));
	EXPECT_EQ(HT_ERR_RESERVED, create.refusal.code);
	fd = rig_open(O_RDONLY);
	EXPECT_LE(0, fd);
	EXPECT_EQ(EPERM, rig_create_bytes(fd, "bad", image, size, &create));
	EXPECT_EQ(EPERM, rig_remove(fd, NAME));
	close(fd);
	EXPECT_EQ(self->others + 1, iio_count_devices());
	free(image);
}

static void inject(struct __test_metadata *_metadata, const char *lines)
{
	EXPECT_EQ(0, rig_fault(NAME, lines)) {
		TH_LOG("%s", lines);
	}
}

TEST_F(rig, sensor_faults)
{
	set(_metadata, self->device, COMMAND, 1000);
	wait_steps(1);
	inject(_metadata, "stuck 0");
	set(_metadata, self->device, COMMAND, 2000);
	wait_steps(1);
	EXPECT_EQ(1000, get(_metadata, self->device, MEASURED));
	EXPECT_EQ(2000 * 256, get(_metadata, self->device, FINE));
	inject(_metadata, "dropout 0");
	EXPECT_EQ(0, get(_metadata, self->device, MEASURED));
	inject(_metadata, "sign 0\n");
	EXPECT_EQ(-2000, get(_metadata, self->device, MEASURED));
	inject(_metadata, "spike 0 -1.5");
	EXPECT_EQ(nearest(2000 - 1.5 * VOLT), get(_metadata, self->device, MEASURED));
	EXPECT_EQ(2000, get(_metadata, self->device, MEASURED));
	inject(_metadata, "sign 0\nsign 2\n");
	inject(_metadata, "none 0");
	EXPECT_EQ(2000, get(_metadata, self->device, MEASURED));
	EXPECT_EQ(-2000 * 256, get(_metadata, self->device, FINE));
	inject(_metadata, "none");
	EXPECT_EQ(2000 * 256, get(_metadata, self->device, FINE));
	inject(_metadata, "dropout fine\nsaturation command 0.25");
	EXPECT_EQ(0, get(_metadata, self->device, FINE));
	wait_steps(1);
	EXPECT_EQ(nearest(VOLT / 4), get(_metadata, self->device, MEASURED));
	inject(_metadata, "none fine\nnone command");
	wait_steps(1);
	EXPECT_EQ(2000 * 256, get(_metadata, self->device, FINE));
}

/* What grows with time. */
TEST_F(rig, drift_and_runaway)
{
	const double seconds = 10 * STEP_NS / 1e9;

	if (!time_is_exact())
		SKIP(return, "needs exact time");
	set(_metadata, self->device, COMMAND, 1000);
	wait_steps(1);
	inject(_metadata, "drift 0 0.5");
	wait_steps(10);
	EXPECT_EQ(nearest(1000 + 0.5 * seconds * VOLT), get(_metadata, self->device, MEASURED));
	inject(_metadata, "none\nrunaway 0 -2");
	set(_metadata, self->device, COMMAND, 5000);
	wait_steps(10);
	EXPECT_EQ(nearest(1000 - 2 * seconds * VOLT), get(_metadata, self->device, MEASURED));
	inject(_metadata, "none");
	wait_steps(1);
	EXPECT_EQ(5000, get(_metadata, self->device, MEASURED));
}

TEST_F(rig, saturation)
{
	inject(_metadata, "saturation 0 2.5");
	set(_metadata, self->device, COMMAND, 20000);
	wait_steps(1);
	EXPECT_EQ(nearest(2.5 * VOLT), get(_metadata, self->device, MEASURED));
	EXPECT_EQ(20000, get(_metadata, self->device, COMMAND));
	set(_metadata, self->device, COMMAND, -20000);
	wait_steps(1);
	EXPECT_EQ(nearest(-2.5 * VOLT), get(_metadata, self->device, MEASURED));
	set(_metadata, self->device, COMMAND, 100);
	wait_steps(1);
	EXPECT_EQ(100, get(_metadata, self->device, MEASURED));
}

TEST_F(rig, bus_errors)
{
	char text[256];
	long value;
	int i;

	set(_metadata, self->device, COMMAND, 10);
	wait_steps(1);
	inject(_metadata, "read-error 2");
	EXPECT_EQ(EIO, iio_read_int(self->device, MEASURED, &value));
	EXPECT_EQ(EIO, iio_read_int(self->device, COMMAND, &value));
	EXPECT_EQ(10, get(_metadata, self->device, MEASURED));
	inject(_metadata, "write-error 2");
	EXPECT_EQ(EIO, iio_write_int(self->device, COMMAND, 20));
	EXPECT_EQ(EIO, iio_write_int(self->device, COMMAND, 20));
	EXPECT_EQ(10, get(_metadata, self->device, COMMAND));
	set(_metadata, self->device, COMMAND, 30);
	inject(_metadata, "read-error -1\nwrite-error -1");
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(EIO, iio_read_int(self->device, MEASURED, &value));
		EXPECT_EQ(EIO, iio_write_int(self->device, COMMAND, 40));
	}
	EXPECT_EQ(0, rig_show_faults(NAME, text, sizeof(text)));
	EXPECT_STREQ("read-error -1\nwrite-error -1", text);
	inject(_metadata, "none");
	EXPECT_EQ(30, get(_metadata, self->device, COMMAND));
}

TEST_F(rig, shows_its_faults)
{
	char text[256];

	EXPECT_EQ(0, rig_show_faults(NAME, text, sizeof(text)));
	EXPECT_STREQ("", text);
	inject(_metadata, "  stuck \t1\n\nrunaway 0 -0.25\nlate 300\nlost 4\n");
	EXPECT_EQ(0, rig_show_faults(NAME, text, sizeof(text)));
	EXPECT_STREQ("stuck 1\nrunaway 0\nlate 300\nlost 4", text);
}

TEST_F(rig, refuses_faults)
{
	static const char *const lines[] = {
		"nonsense", "stuck", "stuck 4", "stuck -1", "stuck x", "stuck 0 1", "stuck 0x1",
		"stuck command", "saturation measured 1", "none nothing", "spike 0", "spike 0 x", "spike 0 1 2", "drift 0 nan", "sign",
		"saturation 1 2", "runaway 0", "runaway 1 1", "late", "late -1", "late 1.5",
		"late 10000001", "lost -2", "lost", "lost x", "read-error 99999999999",
		"write-error", "none 9", "none 0 0", "STUCK 0", "stuck 0\nnonsense",
	};
	char text[256], *many = malloc(8192);
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		EXPECT_EQ(EINVAL, rig_fault(NAME, lines[i])) {
			TH_LOG("'%s'", lines[i]);
		}
	}
	memset(many, '\n', 8191);
	many[8191] = '\0';
	EXPECT_EQ(EINVAL, rig_fault(NAME, many));
	for (i = 0; i < 65; i++)
		memcpy(many + 8 * i, "lost 01\n", 8);
	many[8 * i] = '\0';
	EXPECT_EQ(EINVAL, rig_fault(NAME, many));
	free(many);
	EXPECT_EQ(0, rig_show_faults(NAME, text, sizeof(text)));
	EXPECT_STREQ("", text);
}

/* Scans need a trigger that a test can fire. */
FIXTURE(scan) {
	struct draft *draft;
	unsigned int device;
	int fd;
	int buffer;
	bool can_scan;
	char trigger[32];
};

FIXTURE_SETUP(scan)
{
	self->fd = rig_open(O_RDWR);
	self->buffer = -1;
	ASSERT_LE(0, self->fd);
	rig_remove(self->fd, NAME);
	iio_remove_trigger(TRIGGER);
	self->draft = wire_program(STEP_NS);
	ASSERT_EQ(0, rig_create(self->fd, NAME, self->draft, &self->device));
	self->can_scan = !iio_make_trigger(TRIGGER, self->trigger, sizeof(self->trigger));
}

FIXTURE_TEARDOWN(scan)
{
	if (self->buffer >= 0)
		close(self->buffer);
	rig_remove(self->fd, NAME);
	iio_remove_trigger(TRIGGER);
	draft_free(self->draft);
	close(self->fd);
}

#define NO_TRIGGER	"this kernel has no trigger that can be fired by hand"

static bool start_scans(struct __test_metadata *_metadata, struct _test_data_scan *self,
			const char *const *elements)
{
	char path[64];

	if (!self->can_scan)
		return false;
	EXPECT_EQ(0, iio_write(self->device, "trigger/current_trigger", self->trigger));
	for (; *elements; elements++) {
		snprintf(path, sizeof(path), "scan_elements/%s_en", *elements);
		EXPECT_EQ(0, iio_write(self->device, path, "1"));
	}
	EXPECT_EQ(0, iio_write(self->device, "current_timestamp_clock", "monotonic\n"));
	EXPECT_EQ(0, iio_write(self->device, "buffer/enable", "1"));
	snprintf(path, sizeof(path), "/dev/iio:device%u", self->device);
	self->buffer = open(path, O_RDONLY | O_CLOEXEC);
	EXPECT_LE(0, self->buffer);
	return true;
}

/* Bytes of the next scan, 0 if none came in that time. */
static ssize_t next_scan(int buffer, void *scan, size_t size, int ms)
{
	struct pollfd fd = { .fd = buffer, .events = POLLIN };

	if (poll(&fd, 1, ms) <= 0)
		return 0;
	return read(buffer, scan, size);
}

TEST_F(scan, holds_the_channels_wanted)
{
	static const char *const elements[] = {
		"in_voltage0", "in_voltage1", "in_voltage2", "in_timestamp", NULL
	};
	struct {
		int16_t measured;
		int16_t coarse;
		int32_t fine;
		uint64_t time;
	} scan;
	uint64_t before;

	set(_metadata, self->device, COMMAND, -1600);
	if (!start_scans(_metadata, self, elements))
		SKIP(return, NO_TRIGGER);
	wait_steps(1);
	before = now_ns();
	ASSERT_EQ(0, iio_fire(self->trigger));
	ASSERT_EQ(sizeof(scan), next_scan(self->buffer, &scan, sizeof(scan), 1000));
	EXPECT_EQ(-1600, scan.measured);
	EXPECT_EQ(-100, scan.coarse);
	EXPECT_EQ(-1600 * 256, scan.fine);
	EXPECT_LE(before, scan.time);
	EXPECT_GE(now_ns(), scan.time);
	/* Direct reads go on. */
	EXPECT_EQ(-1600, get(_metadata, self->device, MEASURED));
}

TEST_F(scan, leaves_others_out)
{
	static const char *const elements[] = { "in_voltage1", "in_voltage2", NULL };
	struct {
		int16_t coarse;
		int16_t nothing;
		int32_t fine;
	} scan;

	set(_metadata, self->device, COMMAND, 1600);
	if (!start_scans(_metadata, self, elements))
		SKIP(return, NO_TRIGGER);
	wait_steps(1);
	ASSERT_EQ(0, iio_fire(self->trigger));
	ASSERT_EQ(sizeof(scan), next_scan(self->buffer, &scan, sizeof(scan), 1000));
	EXPECT_EQ(100, scan.coarse);
	EXPECT_EQ(0, scan.nothing);
	EXPECT_EQ(1600 * 256, scan.fine);
}

static const char *const measured_only[] = { "in_voltage0", NULL };

TEST_F(scan, late_but_of_its_moment)
{
	int16_t scan = -1;
	uint64_t begin;

	if (!start_scans(_metadata, self, measured_only))
		SKIP(return, NO_TRIGGER);
	inject(_metadata, "late 50000");
	wait_steps(1);
	begin = now_ns();
	ASSERT_EQ(0, iio_fire(self->trigger));
	set(_metadata, self->device, COMMAND, 1000);
	ASSERT_EQ(sizeof(scan), next_scan(self->buffer, &scan, sizeof(scan), 1000));
	EXPECT_LE(50000000, now_ns() - begin);
	if (time_is_exact()) {
		EXPECT_EQ(0, scan);
		EXPECT_GE(55000000, now_ns() - begin);
	}
	EXPECT_EQ(1000, get(_metadata, self->device, MEASURED));
}

TEST_F(scan, lost)
{
	int16_t scan;

	if (!start_scans(_metadata, self, measured_only))
		SKIP(return, NO_TRIGGER);
	inject(_metadata, "lost 2");
	ASSERT_EQ(0, iio_fire(self->trigger));
	EXPECT_EQ(0, next_scan(self->buffer, &scan, sizeof(scan), 50));
	ASSERT_EQ(0, iio_fire(self->trigger));
	EXPECT_EQ(0, next_scan(self->buffer, &scan, sizeof(scan), 50));
	ASSERT_EQ(0, iio_fire(self->trigger));
	EXPECT_EQ(sizeof(scan), next_scan(self->buffer, &scan, sizeof(scan), 1000));
	inject(_metadata, "read-error 1");
	ASSERT_EQ(0, iio_fire(self->trigger));
	EXPECT_EQ(0, next_scan(self->buffer, &scan, sizeof(scan), 50));
	ASSERT_EQ(0, iio_fire(self->trigger));
	EXPECT_EQ(sizeof(scan), next_scan(self->buffer, &scan, sizeof(scan), 1000));
}

/* A spike is in one scan, in no direct read of another channel, and then over. */
TEST_F(scan, spike)
{
	int16_t scan;

	if (!start_scans(_metadata, self, measured_only))
		SKIP(return, NO_TRIGGER);
	inject(_metadata, "spike 0 1");
	EXPECT_EQ(0, get(_metadata, self->device, FINE));
	ASSERT_EQ(0, iio_fire(self->trigger));
	ASSERT_EQ(sizeof(scan), next_scan(self->buffer, &scan, sizeof(scan), 1000));
	EXPECT_EQ(nearest(VOLT), scan);
	ASSERT_EQ(0, iio_fire(self->trigger));
	ASSERT_EQ(sizeof(scan), next_scan(self->buffer, &scan, sizeof(scan), 1000));
	EXPECT_EQ(0, scan);
}

/* What a reader that waits is told: errno, or -1 for data. */
static void *wait_for_scan(void *buffer)
{
	char scan[64];

	return (void *)(long)(read(*(int *)buffer, scan, sizeof(scan)) < 0 ? errno : -1);
}

TEST_F(scan, unbound_while_a_reader_waits)
{
	pthread_t reader;
	void *error = NULL;
	char name[64];

	if (!start_scans(_metadata, self, measured_only))
		SKIP(return, NO_TRIGGER);
	ASSERT_EQ(0, rig_device_name(self->device, name, sizeof(name)));
	ASSERT_EQ(0, pthread_create(&reader, NULL, wait_for_scan, &self->buffer));
	sleep_ms(50);
	EXPECT_EQ(0, file_write(RIG_DRIVER "/unbind", name));
	ASSERT_EQ(0, pthread_join(reader, &error));
	EXPECT_EQ(ENODEV, (long)error);
	EXPECT_EQ(0, rig_remove(self->fd, NAME));
	EXPECT_EQ(0, next_scan(self->buffer, name, sizeof(name), 0) > 0);
}

TEST_F(scan, removed_while_scanning)
{
	char scan[64];

	if (!start_scans(_metadata, self, measured_only))
		SKIP(return, NO_TRIGGER);
	inject(_metadata, "late 30000");
	ASSERT_EQ(0, iio_fire(self->trigger));
	EXPECT_EQ(0, rig_remove(self->fd, NAME));
	errno = 0;
	EXPECT_EQ(-1, read(self->buffer, scan, sizeof(scan)));
	EXPECT_EQ(ENODEV, errno);
}

/* The plant does not mind whether its converters are there. */
TEST_F(rig, bound_again_it_goes_on)
{
	char name[64];
	long before;

	if (!time_is_exact())
		SKIP(return, "needs exact time");
	set(_metadata, self->device, COMMAND, 1000);
	wait_steps(1);
	before = get(_metadata, self->device, STEPS);
	ASSERT_EQ(0, rig_device_name(self->device, name, sizeof(name)));
	EXPECT_EQ(0, file_write(RIG_DRIVER "/unbind", name));
	EXPECT_EQ(self->others, iio_count_devices());
	inject(_metadata, "sign 0");
	wait_steps(20);
	EXPECT_EQ(0, file_write(RIG_DRIVER "/bind", name));
	EXPECT_EQ(self->others + 1, iio_count_devices());
	EXPECT_EQ(20, get(_metadata, self->device, STEPS) - before);
	EXPECT_EQ(-1000, get(_metadata, self->device, MEASURED));
}

static int remove_module(void)
{
	return syscall(SYS_delete_module, "hytest_rig", O_NONBLOCK) ? errno : 0;
}

static int insert_module(void)
{
	const char *directory = getenv("HYTEST_MODULES");
	char path[256];
	int fd, ret;

	snprintf(path, sizeof(path), "%s/hytest_rig.ko", directory ? directory : "/modules");
	fd = open(path, O_RDONLY);
	ret = syscall(SYS_finit_module, fd, "", 0) ? errno : 0;
	close(fd);
	return ret;
}

TEST_F(rig, module_goes_with_its_rigs)
{
	char path[64];
	int buffer;

	EXPECT_EQ(EWOULDBLOCK, remove_module());
	snprintf(path, sizeof(path), "/dev/iio:device%u", self->device);
	buffer = open(path, O_RDONLY);
	ASSERT_LE(0, buffer);
	close(self->fd);
	EXPECT_EQ(EWOULDBLOCK, remove_module());
	close(buffer);
	EXPECT_LT(self->areas, count_areas());
	EXPECT_EQ(0, remove_module());
	EXPECT_EQ(self->areas, count_areas());
	EXPECT_EQ(self->others, iio_count_devices());
	EXPECT_EQ(ENOENT, access("/dev/hytest_rig", F_OK) ? errno : 0);
	ASSERT_EQ(0, insert_module());
	self->fd = rig_open(O_RDWR);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(ENOENT, rig_remove(self->fd, NAME));
}

/* Everything at once, by several tasks, for two seconds. */
static volatile bool racing;

struct racer {
	unsigned int device;
	int fd;
	char platform_name[64];
	struct draft *draft;
	unsigned long rounds;
};

static void *race_to_bind(void *data)
{
	struct racer *racer = data;

	while (racing) {
		file_write(RIG_DRIVER "/unbind", racer->platform_name);
		file_write(RIG_DRIVER "/bind", racer->platform_name);
		racer->rounds++;
	}
	return NULL;
}

static void *race_to_use(void *data)
{
	struct racer *racer = data;
	char text[256];
	long value;

	while (racing) {
		iio_write_int(racer->device, COMMAND, racer->rounds % 1000);
		iio_read_int(racer->device, MEASURED, &value);
		iio_write(racer->device, "scan_elements/in_voltage0_en", "1");
		iio_write(racer->device, "trigger/current_trigger", "sysfstrig7");
		iio_write(racer->device, "buffer/enable", racer->rounds % 2 ? "1" : "0");
		iio_fire("sysfstrig7");
		rig_fault(NAME, "spike 0 1\nlost 1");
		rig_show_faults(NAME, text, sizeof(text));
		racer->rounds++;
	}
	return NULL;
}

static void *race_to_create(void *data)
{
	struct racer *racer = data;
	unsigned int device;

	while (racing) {
		rig_create(racer->fd, "brief", racer->draft, &device);
		rig_reset(racer->fd, NAME);
		rig_remove(racer->fd, "brief");
		racer->rounds++;
	}
	return NULL;
}

TEST_F(rig, races)
{
	void *(*const tasks[])(void *) = {
		race_to_bind, race_to_use, race_to_use, race_to_create
	};
	struct racer racers[4];
	pthread_t threads[4];
	char trigger[32];
	int i;

	iio_make_trigger(TRIGGER, trigger, sizeof(trigger));
	racing = true;
	for (i = 0; i < 4; i++) {
		racers[i] = (struct racer){
			.device = self->device, .fd = self->fd, .draft = self->draft,
		};
		ASSERT_EQ(0, rig_device_name(self->device, racers[i].platform_name,
					     sizeof(racers[i].platform_name)));
	}
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, tasks[i], &racers[i]));
	sleep_ms(2000);
	racing = false;
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
		EXPECT_LT(5, racers[i].rounds);
	}
	EXPECT_EQ(0, rig_remove(self->fd, NAME));
	rig_remove(self->fd, "brief");
	EXPECT_EQ(self->others, iio_count_devices());
	iio_remove_trigger(TRIGGER);
}

TEST_HARNESS_MAIN
