/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Load for the guest: tasks that do what hurts determinism.
 */
#ifndef SELFTESTS_LOAD_H
#define SELFTESTS_LOAD_H

#include <stdbool.h>
#include <stdint.h>

enum load_kind {
	LOAD_SYSCALLS,		/* getpid, pipes, open, page faults, fork */
	LOAD_SOFTIRQS,		/* UDP over the loopback, timers */
	LOAD_CRYPTO,		/* ctr(aes) and sha256 of the kernel */
	LOAD_KINDS
};

/* What a task has done, shared with its parent. */
struct load_count {
	uint64_t rounds;
	uint64_t wrong;		/* results of the crypto */
};

struct load {
	int pid[LOAD_KINDS];
	struct load_count *count;	/* LOAD_KINDS of them */
};

/*
 * Starts a task of each kind; together they are to use so many percent of one
 * processor, in bursts of some milliseconds. False if one cannot work.
 */
bool load_start(struct load *load, unsigned int percent);
/* Ends the tasks; the counts stay. */
void load_stop(struct load *load);
void load_free(struct load *load);

#endif
