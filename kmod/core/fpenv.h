/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Floating-point environment of the core: round to nearest, no traps,
 * denormals flushed (they cost determinism). Set around every FP call, in
 * the kernel by the guard of kmod/fpu.h, in user space by these two.
 */
#ifndef HT_CORE_FPENV_H
#define HT_CORE_FPENV_H

#include "types.h"

#if defined(__x86_64__)

/* Masks of all exceptions, flush to zero, denormals are zero. */
#define HT_MXCSR 0x9fc0u

static inline ht_u32 ht_fpenv_enter(void)
{
	ht_u32 old, ours = HT_MXCSR;

	__asm__ volatile("stmxcsr %0" : "=m" (old));
	__asm__ volatile("ldmxcsr %0" : : "m" (ours) : "memory");
	return old;
}

static inline void ht_fpenv_leave(ht_u32 old)
{
	__asm__ volatile("ldmxcsr %0" : : "m" (old) : "memory");
}

#else
#error "hytest: the floating-point environment of this processor is not known yet"
#endif

#endif
