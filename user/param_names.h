/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of parameters: "block.field", or "block.field[3]" (from 0) where a
 * field has several elements. For checked images only.
 */
#ifndef HYTEST_PARAM_NAMES_H
#define HYTEST_PARAM_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Enough for every name, with the closing zero. */
#define HYTEST_PARAM_NAME_LEN 128

/* 0, -ENOENT if there is no such parameter, -ENOSPC if the name does not fit. */
int hytest_param_name(const void *image, uint32_t param, char *name, size_t size);

/*
 * 0; -ENOENT if there is no such block or field, -ERANGE if the field has no
 * such element or needs an index and has none, -EINVAL if it is no such name.
 */
int hytest_param_find(const void *image, const char *name, uint32_t *param);

/* Number of the first element of a field, and how many; 0 or -ENOENT. */
int hytest_param_field(const void *image, uint32_t block, uint32_t field, uint32_t *first,
		       uint32_t *count);

#endif
