// SPDX-License-Identifier: GPL-2.0
/*
 * No floating-point register is disturbed: tasks keep patterns in all vector
 * registers, MXCSR and the x87 state and look at them all the time, and the
 * kernel's crypto computes known answers, while a loop ticks at 20 kHz with a
 * program that needs many registers.
 *
 * With a module whose guard was removed this test must fail.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "crypto.h"
#include "loop.h"

#define PERIOD_NS	50000
#define TICKS		20000
#define TASKS		2

/* What one task keeps. */
struct pattern {
	unsigned char vector[16][32];
	uint32_t mxcsr;
	uint16_t control;	/* of the x87 */
	uint16_t pad;
	double x87[4];
};

static volatile bool stop;
static bool has_avx;

/*
 * Loads the pattern, counts down, stores what is in the registers then. No
 * system call and no call in between: only an interrupt can change them.
 */
#define EACH_REGISTER(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) \
	X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define TEXT(x) #x
#define LOAD_YMM(n)	"vmovdqu 32*" TEXT(n) "(%[in]), %%ymm" TEXT(n) "\n\t"
#define STORE_YMM(n)	"vmovdqu %%ymm" TEXT(n) ", 32*" TEXT(n) "(%[out])\n\t"
#define LOAD_XMM(n)	"movdqu 32*" TEXT(n) "(%[in]), %%xmm" TEXT(n) "\n\t"
#define STORE_XMM(n)	"movdqu %%xmm" TEXT(n) ", 32*" TEXT(n) "(%[out])\n\t"
#define CLOBBER(n)	"xmm" TEXT(n),

#define HOLD(LOAD, STORE)						\
	asm volatile("stmxcsr %[old_mxcsr]\n\t"				\
		     "fnstcw %[old_control]\n\t"			\
		     "ldmxcsr %[mxcsr]\n\t"				\
		     "fldcw %[control]\n\t"				\
		     "fldl (%[x87])\n\t"				\
		     "fldl 8(%[x87])\n\t"				\
		     "fldl 16(%[x87])\n\t"				\
		     "fldl 24(%[x87])\n\t"				\
		     EACH_REGISTER(LOAD)				\
		     "1: dec %[count]\n\t"				\
		     "jnz 1b\n\t"					\
		     EACH_REGISTER(STORE)				\
		     "fstpl 24(%[back])\n\t"				\
		     "fstpl 16(%[back])\n\t"				\
		     "fstpl 8(%[back])\n\t"				\
		     "fstpl (%[back])\n\t"				\
		     "stmxcsr %[seen_mxcsr]\n\t"			\
		     "fnstcw %[seen_control]\n\t"			\
		     "ldmxcsr %[old_mxcsr]\n\t"				\
		     "fldcw %[old_control]\n\t"				\
		     : [count] "+r" (count), [old_mxcsr] "=m" (old_mxcsr), \
		       [old_control] "=m" (old_control),		\
		       [seen_mxcsr] "=m" (seen->mxcsr), [seen_control] "=m" (seen->control) \
		     : [in] "r" (kept->vector), [out] "r" (seen->vector), \
		       [mxcsr] "m" (kept->mxcsr), [control] "m" (kept->control), \
		       [x87] "r" (kept->x87), [back] "r" (seen->x87)	\
		     : EACH_REGISTER(CLOBBER) "memory", "cc")

static void hold(const struct pattern *kept, struct pattern *seen, uint64_t count)
{
	uint32_t old_mxcsr;
	uint16_t old_control;

	if (has_avx)
		HOLD(LOAD_YMM, STORE_YMM);
	else
		HOLD(LOAD_XMM, STORE_XMM);
}

static void make_pattern(struct pattern *pattern, unsigned int task, unsigned int round)
{
	unsigned int i, j;

	memset(pattern, 0, sizeof(*pattern));
	for (i = 0; i < 16; i++)
		for (j = 0; j < (has_avx ? 32 : 16); j++)
			pattern->vector[i][j] = 1 + 131 * i + 7 * j + 37 * task + 11 * round;
	/* Rounding up or down, some flags raised, precision trap masked. */
	pattern->mxcsr = 0x1f80 | (round % 2 ? 0x4000 : 0x2000) | (round % 4 ? 0x11 : 0);
	pattern->control = round % 2 ? 0x027f : 0x0b7f;
	for (i = 0; i < 4; i++)
		pattern->x87[i] = 1.5 + i + task * 16 + round % 1000;
}

struct task {
	pthread_t thread;
	unsigned int number;
	uint64_t rounds;
	uint64_t wrong_vectors;
	uint64_t wrong_mxcsr;
	uint64_t wrong_x87;
};

static void *keep(void *argument)
{
	struct task *task = argument;
	struct pattern kept, seen;

	while (!stop) {
		make_pattern(&kept, task->number, task->rounds);
		memset(&seen, 0, sizeof(seen));
		hold(&kept, &seen, 100000);
		task->rounds++;
		task->wrong_vectors += !!memcmp(kept.vector, seen.vector, sizeof(kept.vector));
		task->wrong_mxcsr += kept.mxcsr != seen.mxcsr;
		task->wrong_x87 += kept.control != seen.control ||
				   !!memcmp(kept.x87, seen.x87, sizeof(kept.x87));
	}
	return NULL;
}

struct crypto_task {
	pthread_t thread;
	struct crypto crypto;
	uint64_t rounds;
	uint64_t wrong;
};

static void *compute(void *argument)
{
	struct crypto_task *task = argument;

	while (!stop) {
		task->wrong += !crypto_check(&task->crypto);
		task->rounds++;
	}
	return NULL;
}

/* Structures and filters: their sums keep many registers busy. */
static struct draft *busy_program(void)
{
	struct draft *draft = draft_new(PERIOD_NS);
	ht_u32 signal[32], block, i;
	char name[16];

	for (i = 0; i < 32; i++) {
		snprintf(name, sizeof(name), "signal%u", i);
		signal[i] = draft_signal(draft, name, 0);
		draft_record(draft, signal[i]);
	}
	block = draft_block(draft, "fourier", 4, 0, NULL, 3, signal);
	draft_set(draft, block, "omega", 0, 100);
	for (i = 0; i < 4; i++) {
		draft_set(draft, block, "cos", i, 0.1 + i);
		draft_set(draft, block, "sin", i, 0.2 * i);
	}
	block = draft_block(draft, "matrix", 0, 3, signal, 8, signal + 3);
	for (i = 0; i < 24; i++)
		draft_set(draft, block, "A", i, 0.01 * i - 0.1);
	block = draft_block(draft, "noise", 0, 0, NULL, 1, signal + 12);
	block = draft_block(draft, "matrix", 0, 8, signal + 3, 8, signal + 16);
	for (i = 0; i < 64; i++)
		draft_set(draft, block, "A", i, 0.3 * i - 7);
	draft->header.missed_ticks = 0;
	draft->header.deadline_ticks = HT_MAX_LATE_TICKS;
	return draft;
}

TEST(registers_stay)
{
	struct task tasks[TASKS] = { 0 };
	struct crypto_task crypto = { 0 };
	struct draft *draft = busy_program();
	struct hytest_status status;
	struct view view;
	int fd = loop_open_control(0);
	int i;

	has_avx = __builtin_cpu_supports("avx");
	ASSERT_LE(0, fd);
	ASSERT_TRUE(crypto_open(&crypto.crypto));
	ASSERT_EQ(0, loop_run(fd, draft));
	ASSERT_EQ(0, view_open(&view, fd));
	ASSERT_EQ(0, pthread_create(&crypto.thread, NULL, compute, &crypto));
	for (i = 0; i < TASKS; i++) {
		tasks[i].number = i + 1;
		ASSERT_EQ(0, pthread_create(&tasks[i].thread, NULL, keep, &tasks[i]));
	}
	do {
		sleep_ms(20);
		status = view_status(&view);
	} while (status.state == HYTEST_RUNNING && status.tick < TICKS);
	stop = true;
	EXPECT_EQ(HYTEST_RUNNING, status.state);
	for (i = 0; i < TASKS; i++) {
		pthread_join(tasks[i].thread, NULL);
		printf("# task %d: %llu rounds of %s, wrong: %llu vectors, %llu MXCSR, %llu x87\n",
		       i, (unsigned long long)tasks[i].rounds, has_avx ? "AVX" : "SSE",
		       (unsigned long long)tasks[i].wrong_vectors,
		       (unsigned long long)tasks[i].wrong_mxcsr,
		       (unsigned long long)tasks[i].wrong_x87);
		EXPECT_LT(20, tasks[i].rounds);
		EXPECT_EQ(0, tasks[i].wrong_vectors);
		EXPECT_EQ(0, tasks[i].wrong_mxcsr);
		EXPECT_EQ(0, tasks[i].wrong_x87);
	}
	pthread_join(crypto.thread, NULL);
	printf("# %s, %s: %llu rounds, %llu wrong; %llu ticks, %llu missed\n",
	       crypto.crypto.cipher_driver, crypto.crypto.hash_driver,
	       (unsigned long long)crypto.rounds, (unsigned long long)crypto.wrong,
	       (unsigned long long)status.tick, (unsigned long long)status.missed);
	/* The harness ends the test without it, and here it may be a file. */
	fflush(stdout);
	EXPECT_LT(20, crypto.rounds);
	EXPECT_EQ(0, crypto.wrong);
	loop_ioctl(fd, HYTEST_IOC_STOP, NULL);
	view_wait_state(&view, HYTEST_LOADED);
	view_close(&view);
	close(fd);
	crypto_close(&crypto.crypto);
	draft_free(draft);
}

TEST_HARNESS_MAIN
