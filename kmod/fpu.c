// SPDX-License-Identifier: GPL-2.0
/*
 * Floating-point guard for x86-64.
 *
 * The core is compiled for SSE2 without VEX encodings: it changes the XMM
 * registers and MXCSR and leaves the upper halves of YMM and ZMM alone. They
 * are saved all the same and cleared, because dirty upper halves slow SSE code
 * down, and the time of a tick must not depend on what it interrupted.
 *
 * XRSTOR from a buffer of ours also makes the processor forget that the
 * registers are unmodified since the kernel's last XRSTORS, so that the
 * kernel's next XSAVES writes them in full.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#include <asm/processor.h>

#include "core/fpenv.h"
#include "fpu.h"

#define STATE_SSE	BIT(1)
#define STATE_YMM	BIT(2)
#define STATE_ZMM_HIGH	BIT(6)

/* Standard format, zeroed once: XRSTOR wants the header zero. */
struct hytest_fpu {
	u8 area[PAGE_SIZE];
};

static u64 saved_states;	/* 0: no XSAVE, use FXSAVE */

int hytest_fpu_init(void)
{
	const u64 wanted = STATE_SSE | STATE_YMM | STATE_ZMM_HIGH;
	u32 eax, ebx, ecx, edx, enabled, high;
	unsigned int i;

	if (!boot_cpu_has(X86_FEATURE_OSXSAVE))
		return 0;
	asm volatile("xgetbv" : "=a" (enabled), "=d" (high) : "c" (0));
	for (i = 2; i <= 6; i++) {
		if (!(wanted & enabled & BIT(i)))
			continue;
		cpuid_count(0xd, i, &eax, &ebx, &ecx, &edx);
		if (ebx + eax > sizeof(struct hytest_fpu)) {
			pr_err("register state %u ends at byte %u, room for %zu\n",
			       i, ebx + eax, sizeof(struct hytest_fpu));
			return -EOPNOTSUPP;
		}
	}
	saved_states = wanted & enabled;
	return 0;
}

struct hytest_fpu *hytest_fpu_alloc(void)
{
	BUILD_BUG_ON(sizeof(struct hytest_fpu) != PAGE_SIZE);
	return (struct hytest_fpu *)get_zeroed_page(GFP_KERNEL);
}

void hytest_fpu_free(struct hytest_fpu *fpu)
{
	free_page((unsigned long)fpu);
}

static void set_mxcsr(void)
{
	const u32 ours = HT_MXCSR;

	asm volatile("ldmxcsr %0" : : "m" (ours));
}

void hytest_fpu_enter(struct hytest_fpu *fpu)
{
	lockdep_assert_irqs_disabled();
	if (saved_states)
		asm volatile("xsave64 %0"
			     : "+m" (*fpu)
			     : "a" ((u32)saved_states), "d" ((u32)(saved_states >> 32))
			     : "memory");
	else
		asm volatile("fxsave64 %0" : "=m" (*fpu));
	if (saved_states & STATE_YMM)
		asm volatile("vzeroupper");
	set_mxcsr();
}

void hytest_fpu_leave(struct hytest_fpu *fpu)
{
	lockdep_assert_irqs_disabled();
	if (saved_states)
		asm volatile("xrstor64 %0"
			     : : "m" (*fpu), "a" ((u32)saved_states),
				 "d" ((u32)(saved_states >> 32))
			     : "memory");
	else
		asm volatile("fxrstor64 %0" : : "m" (*fpu));
}

void hytest_fpu_begin(void)
{
	kernel_fpu_begin();
	set_mxcsr();
}

void hytest_fpu_end(void)
{
	kernel_fpu_end();
}

void hytest_fpu_pause(void)
{
	hytest_fpu_end();
	cond_resched();
	hytest_fpu_begin();
}
