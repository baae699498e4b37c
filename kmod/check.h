/* SPDX-License-Identifier: GPL-2.0 */
/* Checking a program image that came from user space, for the loop and the rig. */
#ifndef HYTEST_CHECK_H
#define HYTEST_CHECK_H

#include <linux/types.h>
#include <uapi/linux/hytest.h>

#include "core/image.h"

/*
 * In process context, outside the guard. The image has room for a header, whatever
 * its size. Returns 0, or -EINVAL and says why in *error.
 */
int hytest_check_image(const void *image, size_t size, u32 kind, struct ht_error *error);

/* Tells the caller of a system call why; returns -EINVAL. */
int hytest_refuse(struct hytest_refusal *refusal, const struct ht_error *error);

#endif
