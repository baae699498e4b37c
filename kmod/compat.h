/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between the kernels from 6.1 on that hytest is built for. */
#ifndef HYTEST_COMPAT_H
#define HYTEST_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/version.h>

static inline void hytest_timer_setup(struct hrtimer *timer,
				      enum hrtimer_restart (*function)(struct hrtimer *))
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	timer->function = function;
#else
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
#endif
}

static inline void hytest_map_read_only(struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vma->vm_flags &= ~VM_MAYWRITE;
#else
	vm_flags_clear(vma, VM_MAYWRITE);
#endif
}

#endif
