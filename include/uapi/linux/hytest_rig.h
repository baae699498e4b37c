/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * hytest_rig: simulated rigs. /dev/hytest_rig makes and removes them; each is an
 * IIO device that lives until it is removed or the module is.
 *
 * Faults are injected through debugfs, in hytest_rig/NAME/:
 *
 *	fault	write "KIND [CHANNEL] [VALUE]", one fault a line; read what is wrong now
 *	reset	write anything: as new, no fault
 *
 *	stuck CH | dropout CH | spike CH V | drift CH V/s | sign CH	sensor
 *	saturation CH V | runaway CH V/s				actuator
 *	late US		each scan comes so many microseconds late
 *	lost N		the next N scans do not come; -1: none comes any more
 *	read-error N	the next N reads or scans fail (EIO); -1: all
 *	write-error N	the next N writes fail (EIO); -1: all
 *	none [CH]	all faults, or those of a channel, are over
 *
 * CH is the number or the label of an ADC or DAC channel; "none" with a number is
 * for both.
 *
 * A rig is a platform device: it can be unbound from its driver like any other, and
 * bound again. Its IIO device goes then; transfer system and specimen move on.
 */
#ifndef _UAPI_LINUX_HYTEST_RIG_H
#define _UAPI_LINUX_HYTEST_RIG_H

#include <linux/hytest.h>

#define HYTEST_RIG_NAME_LEN	32

/**
 * struct hytest_rig_create - make a rig
 * @name: of the IIO device: letters, digits, '-', '_', '.'; EEXIST if there is one
 * @image: address of a program image of the kind rig
 * @size: of the image in bytes; EFBIG above 16 MiB, E2BIG if the program needs more
 *	than 256 MiB
 * @device: out: N of iio:deviceN
 * @reserved: zero
 * @refusal: out: with EINVAL
 */
struct hytest_rig_create {
	char name[HYTEST_RIG_NAME_LEN];
	__aligned_u64 image;
	__aligned_u64 size;
	__u32 device;
	__u32 reserved;
	struct hytest_refusal refusal;
};

/**
 * struct hytest_rig_name - one of them
 * @name: ENOENT if there is none
 */
struct hytest_rig_name {
	char name[HYTEST_RIG_NAME_LEN];
};

/* For files opened for writing, EPERM for others */
#define HYTEST_RIG_IOC_CREATE	_IOWR('H', 0x40, struct hytest_rig_create)
#define HYTEST_RIG_IOC_REMOVE	_IOW('H', 0x41, struct hytest_rig_name)
#define HYTEST_RIG_IOC_RESET	_IOW('H', 0x42, struct hytest_rig_name)

#endif
