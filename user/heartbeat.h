/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Heartbeats from a thread of their own, so that neither a slow disk nor a
 * slow terminal can keep them from the loop.
 */
#ifndef HYTEST_HEARTBEAT_H
#define HYTEST_HEARTBEAT_H

#include "libhytest.h"

struct hytest_heart;

/* Beats well within the period that the loop allows. NULL if it cannot. */
struct hytest_heart *hytest_heart_start(struct hytest_loop *loop, unsigned int heartbeat_ms);
void hytest_heart_stop(struct hytest_heart *heart);

#endif
