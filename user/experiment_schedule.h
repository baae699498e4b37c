/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Timed parameter changes of an experiment file.
 */
#ifndef HYTEST_EXPERIMENT_SCHEDULE_H
#define HYTEST_EXPERIMENT_SCHEDULE_H

#include "experiment_model.h"

struct schedule {
	struct hytest_scheduled *batches;
	size_t n_batches;
	struct ht_change *changes;	/* of all batches */
};

/* Reads "changes" and tries each batch on the loop, which is changed by it. */
int schedule_read(struct schedule *schedule, const struct model *m, const void *image,
		  struct ht_loop *loop);
void schedule_free(struct schedule *schedule);

#endif
