/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The black box: what is known of a trip, saved as one HDF5 file.
 *
 * It is a log as log.h has it (the records that the ring holds, events that the
 * module keeps, image, experiment, histograms) with
 *
 *	/trip			one row: cause in words, value, limit, tick, time
 *	/status			one row: state and counters when it was saved
 *	/interlocks		a row for each: name, value, limit, healthy
 *	/parameters_in_force	a row for each: name, value
 *
 * The attribute lost_records counts those of the run that are older than the ring.
 * If it is 0, hytest replay can repeat the run. /parameters has what differs from
 * the image, as one batch.
 */
#ifndef HYTEST_BLACKBOX_H
#define HYTEST_BLACKBOX_H

#include <limits.h>
#include <stdbool.h>

#include "experiment.h"
#include "libhytest.h"

struct hytest_black_box {
	char path[PATH_MAX];		/* where it is */
	struct hytest_message message;	/* why it is nowhere */
};

enum hytest_black_box_result {
	HYTEST_BLACK_BOX_SAVED,
	HYTEST_BLACK_BOX_KNOWN,		/* this trip had been saved before */
	HYTEST_BLACK_BOX_FAILED
};

/*
 * Saves that of a tripped loop in a directory, which is made if it is not there;
 * NULL: $HYTEST_BLACK_BOX, or else /var/lib/hytest/black-box. No file is ever
 * overwritten, no trip saved twice in a directory.
 */
enum hytest_black_box_result hytest_black_box_save(struct hytest_loop *loop,
						   const char *directory,
						   struct hytest_black_box *box);

/*
 * Waits until the loop in the kernel writes no more records: outputs safe, and the
 * records made that the image wants after that. Not if outputs are held, and not
 * for ever.
 */
void hytest_black_box_wait(struct hytest_loop *loop);

/* Whether the trip holds the outputs where they are. */
bool hytest_is_held(const void *image, const struct hytest_status *status);
/* "Outputs are ..." */
const char *hytest_safety_text(const void *image, const struct hytest_status *status);

#endif
