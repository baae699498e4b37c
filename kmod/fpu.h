/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Floating point in the kernel: the only doors to the code of kmod/core.
 *
 * On the tick irq_fpu_usable() is not to be had for certain, so the guard
 * saves the registers that the core disturbs, as they are, and puts them back:
 * interrupts are off, nothing else can run on this CPU in between. In process
 * context the kernel's own way is right.
 */
#ifndef HYTEST_FPU_H
#define HYTEST_FPU_H

struct hytest_fpu;

int hytest_fpu_init(void);
struct hytest_fpu *hytest_fpu_alloc(void);
void hytest_fpu_free(struct hytest_fpu *fpu);

/* With interrupts off. Not nested. */
void hytest_fpu_enter(struct hytest_fpu *fpu);
void hytest_fpu_leave(struct hytest_fpu *fpu);

/*
 * In process context; neither preemption nor softirqs in between, so long work
 * pauses now and then.
 */
void hytest_fpu_begin(void);
void hytest_fpu_end(void);
void hytest_fpu_pause(void);

#endif
