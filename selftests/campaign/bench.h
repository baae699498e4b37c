/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The bench of the fault campaign: loop 0 and the simulated rig of campaign.cfg,
 * from the making of the rig to its removal, and the faults between.
 *
 * What returns int gives 0, or -1 with one line in problem.
 */
#ifndef CAMPAIGN_BENCH_H
#define CAMPAIGN_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/image.h"
#include "experiment.h"
#include "iio_triggers.h"
#include "libhytest.h"

struct bench {
	const char *file;		/* campaign.cfg */
	struct hytest_loop *loop;	/* we have control */
	int rigs;			/* /dev/hytest_rig */
	int kernel_log;
	int hog;			/* another loop on our processor, -1: none */
	bool silent;			/* the owner sends no heartbeats */
	struct hytest_experiment *experiment;
	const void *image;
	struct ht_image parts;
	struct ht_image rig_parts;
	struct hytest_triggers *triggers;
	unsigned int device;		/* N of iio:deviceN */
	char platform[64];		/* its name on the platform bus */
	struct hytest_status status;	/* when it was last asked for */
	char problem[512];
};

#define BENCH_RIG	"bench"
#define MAX_SETTINGS	8		/* overrides of a case, the last one NULL */

__attribute__((format(printf, 2, 3)))
int bench_fail(struct bench *bench, const char *format, ...);

/* Once for all cases. */
int bench_open(struct bench *bench, const char *file);
void bench_close(struct bench *bench);

/* The rig is made, the program loaded, with the overrides of a case. */
int bench_load(struct bench *bench, const char *const *settings);
/* As hytest_arm(), a negative errno. */
int bench_arm(struct bench *bench, struct hytest_arm *arm);
int bench_start(struct bench *bench);
/* Whatever state the loop is in: to rest, and the rig is gone. */
int bench_unload(struct bench *bench);

int bench_look(struct bench *bench);
/* Until the middle between this tick and the next, with heartbeats on the way. */
int bench_sleep(struct bench *bench, uint64_t tick);
/* Until the loop has tripped; it must happen before this tick. */
int bench_wait_trip(struct bench *bench, uint64_t last_tick);
/* Until nothing ticks any more and the channels are let go. */
int bench_wait_rest(struct bench *bench);

/*
 * A line as linux/hytest_rig.h has it, or
 *
 *	unbind		the device is unbound from its driver
 *	overload N	another loop, of N states, shares the processor
 *	silence		the owner's heartbeats end
 *	nothing
 *
 * What takes time is prepared before.
 */
int bench_prepare(struct bench *bench, const char *fault);
int bench_inject(struct bench *bench, const char *fault);
int bench_clear(struct bench *bench);

/* The code that the converter of an output has, and that of its safe value. */
int bench_output_code(struct bench *bench, uint32_t output, long *code, long *safe_code);
/* By hand; the loop is not armed. */
int bench_write_output(struct bench *bench, uint32_t output, long code);

/* Number of an interlock of the image, or -1. */
int bench_lock(const struct bench *bench, const char *name);
/* Whether the kernel has complained since the last call; which is the problem. */
int bench_check_kernel(struct bench *bench);

#endif
