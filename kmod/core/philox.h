/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counter-based random numbers: the same counter and key give the same four
 * words, whatever was asked before.
 */
#ifndef HT_CORE_PHILOX_H
#define HT_CORE_PHILOX_H

#include "types.h"

void ht_philox(const ht_u32 counter[4], const ht_u32 key[2], ht_u32 random[4]);

#endif
