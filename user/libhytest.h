/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libhytest: a loop, in the kernel or simulated, from user space.
 *
 * A struct hytest_loop is one loop: /dev/hytestN, or one that runs in this
 * process in virtual time. Both take the same calls, have the same states and
 * deliver the same records and events; linux/hytest.h describes them. Nobody
 * but this header documents the library.
 *
 * Unless said otherwise a function returns 0, or a negative errno and leaves
 * one line for people in hytest_error(). A loop belongs to one thread;
 * hytest_heartbeat() alone may be called from another one at the same time
 * (not on a simulated loop).
 */
#ifndef LIBHYTEST_H
#define LIBHYTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/hytest.h>

/* The build knows better. */
#ifndef HYTEST_VERSION
#define HYTEST_VERSION "0.1"
#endif

struct hytest_loop;
struct hytest_reader;

/*
 * Opening
 *
 * hytest_open() opens /dev/hytestN, to watch or to control it. On failure it
 * returns NULL, with the cause in errno and one line in text[size].
 *
 * hytest_open_sim() makes an empty simulated loop, which is this process's own.
 * Its time is virtual and passes only in hytest_wait(). It begins at 0 ns, so
 * that two runs of the same experiment have the same records. Lateness is zero,
 * the step time is what the step really took. NULL if there is no memory.
 *
 * hytest_sim_pace() lets virtual time pass as fast as real time from now on,
 * instead of as fast as possible.
 *
 * hytest_sim_add_rig() puts a rig, made from an image of the kind rig, before a
 * simulated loop; there can be several. From the next hytest_arm() on the
 * channels whose device has this name are those of the rig, in the same ticks
 * as with the module; a channel of any other device is bound to nothing.
 * -EEXIST: there is one of this name; -EBUSY: the loop must be empty or loaded;
 * -EINVAL: the name or the image is refused.
 *
 * hytest_sim_fault() injects a fault, in a line as linux/hytest_rig.h has them
 * for channels: stuck, dropout, spike, drift, sign, saturation, runaway, none.
 *
 * hytest_close() also gives control up, which trips a loop that is armed or
 * running.
 */
struct hytest_loop *hytest_open(unsigned int number, bool to_control, char *text, size_t size);
struct hytest_loop *hytest_open_sim(void);
void hytest_sim_pace(struct hytest_loop *sim);
int hytest_sim_add_rig(struct hytest_loop *sim, const char *name, const void *image, size_t size);
int hytest_sim_fault(struct hytest_loop *sim, const char *rig, const char *line);
void hytest_close(struct hytest_loop *loop);

/* "kernel" or "sim". */
const char *hytest_backend_name(const struct hytest_loop *loop);
/* One line on the last call that failed, "" if none has. */
const char *hytest_error(const struct hytest_loop *loop);

/*
 * Watching
 *
 * hytest_get_image() returns a copy of the loaded image for the caller to
 * free(); -ENODATA if none is loaded. The copy has been checked: the functions
 * of kmod/core/image.h may be used on it.
 *
 * hytest_get_params() reads parameters in force, by their number in the image.
 */
int hytest_get_info(struct hytest_loop *loop, struct hytest_info *info);
int hytest_get_status(struct hytest_loop *loop, struct hytest_status *status);
int hytest_get_image(struct hytest_loop *loop, void **image, size_t *size);
int hytest_get_params(struct hytest_loop *loop, uint32_t first, uint32_t count, double *values);
int hytest_get_lock(struct hytest_loop *loop, uint32_t interlock, struct hytest_lock *lock);

/*
 * Control
 *
 * One open loop can have control; -EBUSY if another has it, and the error line
 * tells which process. All but hytest_trip() need it.
 *
 * hytest_arm() measures dry_ticks ticks on the CPU and binds the channels.
 * -ETIME: slower than the budget; -ENXIO: a channel cannot be had; -EPERM: the
 * interlocks of arm->unhealthy are violated, and hytest_get_lock() tells how they
 * were. *arm (may be NULL) has the figures. A loop that is bound watches its
 * inputs from then on.
 *
 * hytest_start(): -EPERM while an interlock without latch is violated.
 *
 * hytest_change() lets a batch of parameters take effect together at the given
 * tick or as soon as possible after it. *number (may be NULL) gets its number.
 * -EBUSY while the batch before waits for its tick. -EINVAL: nothing changed.
 *
 * hytest_acknowledge(): -EBUSY until the outputs are safe; outputs that are
 * held begin to go there by the first call.
 */
int hytest_take_control(struct hytest_loop *loop);
int hytest_release_control(struct hytest_loop *loop);
int hytest_load(struct hytest_loop *loop, const void *image, size_t size);
int hytest_unload(struct hytest_loop *loop);
int hytest_arm(struct hytest_loop *loop, unsigned int cpu, unsigned int dry_ticks,
	       struct hytest_arm *arm);
int hytest_disarm(struct hytest_loop *loop);
int hytest_start(struct hytest_loop *loop);
int hytest_stop(struct hytest_loop *loop);
int hytest_trip(struct hytest_loop *loop);
int hytest_acknowledge(struct hytest_loop *loop);
int hytest_heartbeat(struct hytest_loop *loop);
int hytest_change(struct hytest_loop *loop, const struct hytest_change *changes, uint32_t count,
		  uint64_t tick, uint32_t *number);

/*
 * Events
 *
 * hytest_wait() returns 1 as soon as there is an event, 0 when the time is over
 * or a signal came. A simulated loop runs meanwhile; there it also returns 0
 * when half the ring has been filled, so that no record is lost.
 *
 * hytest_read_events() returns how many events it delivered, 0 if there are
 * none; it does not wait.
 *
 * hytest_rewind_events() lets the next one begin with the oldest event that is
 * kept, however long ago and whoever was in control then.
 */
int hytest_wait(struct hytest_loop *loop, uint64_t timeout_ns);
int hytest_read_events(struct hytest_loop *loop, struct hytest_event *events, size_t n);
int hytest_rewind_events(struct hytest_loop *loop);

/*
 * Records
 *
 * A reader goes through the records of a loop from the oldest that the ring
 * holds. It does not disturb other readers. When a new run starts it begins
 * with its first record.
 *
 * hytest_reader_read() copies up to n records of hytest_reader_record_size()
 * bytes, one behind the other, and returns how many; 0 if there is nothing new.
 * The size is 0 while no program is loaded and changes with the program, which
 * hytest_reader_read() tells with -ESTALE once: then ask for the size again.
 *
 * hytest_reader_lost() counts the records that were overwritten before this
 * reader came, in this run. Those that were gone when the reader was made
 * do not count.
 *
 * hytest_reader_skip() goes to the end: the next record is the next that will
 * be written.
 */
struct hytest_reader *hytest_reader_new(struct hytest_loop *loop);
void hytest_reader_free(struct hytest_reader *reader);
size_t hytest_reader_record_size(struct hytest_reader *reader);
long hytest_reader_read(struct hytest_reader *reader, void *records, size_t n);
uint64_t hytest_reader_lost(const struct hytest_reader *reader);
void hytest_reader_skip(struct hytest_reader *reader);

/*
 * Words
 *
 * hytest_trip_text() tells in one line what tripped: cause, signal or interlock
 * by name, value, limit, unit, tick. The image may be NULL: then by number.
 *
 * hytest_refusal_text() tells why an image or a batch was refused.
 */
const char *hytest_state_text(uint32_t state);
const char *hytest_event_text(uint32_t type);
const char *hytest_cause_text(uint32_t cause);
void hytest_trip_text(const void *image, const struct hytest_trip *trip, char *text, size_t size);
void hytest_refusal_text(const void *image, size_t image_size,
			 const struct hytest_refusal *refusal, char *text, size_t size);

/* A double and its 64 bits, which is how linux/hytest.h carries it. */
static inline double hytest_double(uint64_t bits)
{
	double value;

	__builtin_memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint64_t hytest_bits(double value)
{
	uint64_t bits;

	__builtin_memcpy(&bits, &value, sizeof(bits));
	return bits;
}

#endif
