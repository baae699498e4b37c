/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Replay: runs the program of a log again and compares bit for bit.
 */
#ifndef HYTEST_REPLAY_H
#define HYTEST_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "experiment.h"

/* Outcome of a replay. */
struct hytest_replay {
	uint64_t ticks;		/* identical, up to the difference if there is one */
	uint64_t missed;	/* ticks that the loop had missed */
	uint32_t signals;	/* compared at each tick */
	uint32_t outputs;
	uint32_t batches;	/* applied while running */
	bool complete;		/* the log was closed by its writer */
	bool differs;
	/* The first difference. */
	uint64_t tick;
	char name[64];		/* of the signal or output, or "state", "cause" */
	char unit[16];
	bool is_number;		/* logged and replayed are bits of doubles */
	uint64_t logged;
	uint64_t replayed;
};

/*
 * 0 if it was compared to the end or to the first difference. With a message:
 * -1 if the log cannot be replayed, -2 if it cannot be read.
 */
int hytest_replay_log(const char *path, struct hytest_replay *replay,
		      struct hytest_message *message);

#endif
