/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counter-based random numbers: the same counter and key give the same four
 * words, whatever was asked before.
 */
#ifndef HT_CORE_PHILOX_H
#define HT_CORE_PHILOX_H

#include "types.h"

void ht_philox(const ht_u32 counter[4], const ht_u32 key[2], ht_u32 random[4]);

/* 53 random bits as a number within 0 < r <= 1. FP, as the next. */
double ht_random_unit(ht_u32 high, ht_u32 low);
/* Mean 0, standard deviation 1, from four words (Box and Muller, 1958). */
double ht_random_normal(const ht_u32 random[4]);

#endif
