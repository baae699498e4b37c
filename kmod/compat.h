/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between the kernels from 6.1 on that hytest is built for. */
#ifndef HYTEST_COMPAT_H
#define HYTEST_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/iio/iio.h>
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

/* Never writable, and not inherited: a child must not keep the owner's file. */
static inline void hytest_restrict_mapping(struct vm_area_struct *vma)
{
	const unsigned long set = VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vma->vm_flags = (vma->vm_flags & ~VM_MAYWRITE) | set;
#else
	vm_flags_mod(vma, set, VM_MAYWRITE);
#endif
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
/* Later kernels have a name for it, and more than one for some channels. */
struct iio_scan_type {
	char sign;
	u8 realbits;
	u8 storagebits;
	u8 shift;
	u8 repeat;
	enum iio_endian endianness;
};

static_assert(sizeof(struct iio_scan_type) == sizeof_field(struct iio_chan_spec, scan_type));

static inline const struct iio_scan_type *
iio_get_current_scan_type(const struct iio_dev *indio_dev, const struct iio_chan_spec *chan)
{
	return (const struct iio_scan_type *)&chan->scan_type;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
static inline unsigned int iio_get_masklength(const struct iio_dev *indio_dev)
{
	return indio_dev->masklength;
}
#endif

#endif
