/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Words for what an image says: interlocks, actions, channels, and why one of
 * them could not be bound. States, events and causes are in libhytest.h.
 *
 * Images must have been checked. Texts of several words come in text[size].
 */
#ifndef HYTEST_WORDS_H
#define HYTEST_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "../kmod/core/image.h"

/* As they are called in experiment files: "range", "estop"; "ramp", "cut". */
const char *hytest_lock_kind_text(uint32_t kind);
const char *hytest_action_text(uint32_t action);

/* What an interlock compares, "|y_a - y|", and its unit. */
void hytest_lock_subject(const void *image, uint32_t interlock, char *text, size_t size,
			 char *unit, size_t unit_size);
/* How an interlock is: "'stroke': y = 0.09 m, limit 0.08 m"; bits of doubles. */
void hytest_lock_text(const void *image, uint32_t interlock, uint64_t value, uint64_t limit,
		      char *text, size_t size);

/* Where a channel leads: "device table, channel force"; "nothing". */
void hytest_channel_text(const struct ht_image_channel *channel, char *text, size_t size);

/*
 * Why a channel of the image, an input or n_inputs + an output, could not be
 * bound, and what helps; problem and error as in struct hytest_arm.
 */
void hytest_bind_text(const void *image, uint32_t problem, uint32_t channel, uint32_t error,
		      char *text, size_t size);

#endif
