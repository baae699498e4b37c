/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Simulated rigs of an experiment file.
 */
#ifndef HYTEST_EXPERIMENT_RIGS_H
#define HYTEST_EXPERIMENT_RIGS_H

#include "experiment_model.h"

struct rigs {
	struct hytest_rig_program *programs;	/* names and images are owned */
	size_t n_programs;
};

/* Reads and compiles "rigs". */
int rigs_read(struct rigs *rigs, struct reader *r);
void rigs_free(struct rigs *rigs);

/* Whether what the loop binds to a rig of its file is there, and reaches its limits. */
int rigs_check_binding(const struct rigs *rigs, const struct model *loop);

#endif
