// SPDX-License-Identifier: GPL-2.0
/*
 * Heartbeats from a thread of their own.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "heartbeat.h"

#define BEATS_PER_PERIOD	5
#define LONGEST_PAUSE_MS	50	/* stopping must not take long either */

struct hytest_heart {
	struct hytest_loop *loop;
	pthread_t thread;
	struct timespec pause;
	bool ended;
};

static void *beat(void *argument)
{
	struct hytest_heart *heart = argument;

	while (!__atomic_load_n(&heart->ended, __ATOMIC_ACQUIRE)) {
		hytest_heartbeat(heart->loop);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &heart->pause, NULL);
	}
	return NULL;
}

struct hytest_heart *hytest_heart_start(struct hytest_loop *loop, unsigned int heartbeat_ms)
{
	struct hytest_heart *heart = calloc(1, sizeof(*heart));
	uint64_t pause_ns = heartbeat_ms * 1000000ull / BEATS_PER_PERIOD;
	sigset_t all, old;
	int result;

	if (!heart)
		return NULL;
	if (pause_ns > LONGEST_PAUSE_MS * 1000000ull)
		pause_ns = LONGEST_PAUSE_MS * 1000000ull;
	heart->loop = loop;
	heart->pause.tv_nsec = pause_ns;
	/* Signals are for the thread that started it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	result = pthread_create(&heart->thread, NULL, beat, heart);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (result) {
		free(heart);
		return NULL;
	}
	return heart;
}

void hytest_heart_stop(struct hytest_heart *heart)
{
	if (!heart)
		return;
	__atomic_store_n(&heart->ended, true, __ATOMIC_RELEASE);
	pthread_join(heart->thread, NULL);
	free(heart);
}
