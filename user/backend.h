/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a backend of libhytest provides.
 *
 * The requests of linux/hytest.h are the interface: call() takes them with
 * their structures whether a kernel or the simulation answers, and whatever
 * the library says to people is made from the answer in one place.
 */
#ifndef HYTEST_BACKEND_H
#define HYTEST_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "libhytest.h"

struct hytest_backend {
	const char *name;
	void (*close)(struct hytest_loop *loop);
	/* 0 or a negative errno; argument is what the request says. */
	int (*call)(struct hytest_loop *loop, unsigned long request, void *argument);
	/* Makes loop->mapping the status page and ring of the program loaded now. */
	int (*map)(struct hytest_loop *loop);
	/* See hytest_read_events() and hytest_wait(). */
	int (*events)(struct hytest_loop *loop, struct hytest_event *events, size_t n);
	int (*wait)(struct hytest_loop *loop, uint64_t timeout_ns);
	/* Only of the simulation, else NULL: see hytest_sim_add_rig(), hytest_sim_fault(). */
	int (*add_rig)(struct hytest_loop *loop, const char *name, const void *image, size_t size,
		       struct hytest_refusal *refusal);
	int (*fault)(struct hytest_loop *loop, const char *rig, const char *line, char *text,
		     size_t size);
};

/* A backend puts its own data behind it. */
struct hytest_loop {
	const struct hytest_backend *backend;
	const struct hytest_status *status;	/* always there */
	const unsigned char *mapping;		/* status and ring, or NULL */
	size_t mapping_size;
	char error[512];
};

/* The two figures that a reader needs, as they are at this moment. */
static inline uint64_t hytest_load_u64(const __u64 *from)
{
	return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

static inline uint32_t hytest_load_u32(const __u32 *from)
{
	return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

/* A consistent copy of the status page; -EAGAIN if it does not come to rest. */
int hytest_copy_status(const struct hytest_status *from, struct hytest_status *to);

#endif
