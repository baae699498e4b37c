/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /dev/hytestN for tests: thin wrappers that report an errno, a view of the
 * mapping, and waiting. Independent of libhytest, so that each can be wrong
 * alone.
 */
#ifndef SELFTESTS_LOOP_H
#define SELFTESTS_LOOP_H

#include <linux/hytest.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/loop.h"
#include "program.h"

#define WAIT_MS		20000	/* longer than anything that a test waits for */

/* 0 or the errno, like all that follow. */
int loop_ioctl(int fd, unsigned long request, void *argument);

int loop_open(unsigned int number, int flags);
/*
 * Opens for reading and writing, without blocking reads, takes control and
 * acknowledges the trip that the test before may have left. Events up to then
 * are not delivered.
 */
int loop_open_control(unsigned int number);

int loop_load_bytes(int fd, const void *image, size_t size, struct hytest_load *load);
int loop_load(int fd, const struct draft *draft);
/* Where times are not to be relied upon, tries until no dry tick was disturbed. */
int loop_arm(int fd, unsigned int cpu);
/* Load, arm, start. */
int loop_run(int fd, const struct draft *draft);

/* A batch of one or two changes; number may be NULL. */
int loop_change(int fd, uint32_t param, double value, uint64_t tick, uint32_t *number);
int loop_change2(int fd, uint32_t param, double value, uint32_t param2, double value2,
		 uint64_t tick, uint32_t *number);

struct view {
	const struct hytest_status *status;
	const char *ring;
	size_t size;
	uint32_t record_size;
	uint32_t ring_records;
	uint32_t n_values;	/* recorded signals and outputs */
};

/* Maps status page and ring of the program that is loaded now. */
int view_open(struct view *view, int fd);
void view_close(struct view *view);
/* A consistent copy of the status page. */
struct hytest_status view_status(const struct view *view);
/* One record copied; false if it is overwritten or not there yet. */
bool view_record(const struct view *view, uint64_t number, struct hytest_record *record);
/* The record of a tick: the same number unless ticks were missed. */
bool view_tick(const struct view *view, uint64_t tick, struct hytest_record *record);
/* Room for one record of this view, to be freed. */
struct hytest_record *view_room(const struct view *view);
double record_value(const struct hytest_record *record, unsigned int index);

/* Wait until it is so; false if WAIT_MS have passed. */
bool view_wait_state(const struct view *view, enum hytest_state state);
bool view_wait_tick(const struct view *view, uint64_t tick);
/* Reads events until one of this type; false if none came. */
bool loop_wait_event(int fd, enum hytest_event_type type, struct hytest_event *event);
/* Acknowledges again and again until the outputs are safe. */
bool loop_wait_ack(int fd);

/*
 * Whether time is that of the machine under test alone. Not so in the virtual
 * machine with two processors, which the host interrupts as it likes.
 */
bool time_is_exact(void);
void sleep_ms(unsigned int ms);
uint64_t now_ns(void);
double real_of(uint64_t bits);
uint64_t bits_of(double value);

#endif
