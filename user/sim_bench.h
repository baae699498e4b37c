/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rigs that stand before a simulated loop, and the lines between them: what
 * IIO is to the module. Codes and their moments are the same.
 *
 * Everything here is called with the floating point of the core (fpenv.h).
 */
#ifndef HYTEST_SIM_BENCH_H
#define HYTEST_SIM_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include "libhytest.h"

struct sim_line;
struct sim_rig;

/* All zero: no rig, bound to nothing. */
struct sim_bench {
	struct sim_rig *rigs;
	struct sim_line *inputs;	/* of the loop's image; NULL unless bound */
	struct sim_line *outputs;
	double *values;			/* of the inputs, as sampled last */
	uint32_t n_inputs;
	uint32_t n_outputs;
	uint32_t bound_inputs;
	uint32_t bound_outputs;
};

/* Negative errno; of -EINVAL *refusal tells more, if its code is not 0. */
int sim_bench_add(struct sim_bench *bench, const char *name, const void *image, size_t size,
		  struct hytest_refusal *refusal);
/* A line of the fault file; 0, or a negative errno with the cause in text[size]. */
int sim_bench_fault(struct sim_bench *bench, const char *rig, const char *line, uint64_t now_ns,
		    char *text, size_t size);
void sim_bench_free(struct sim_bench *bench);

/*
 * Binds the channels of a loop's image, writes the safe values and takes the
 * first sample; -ENXIO with arm->problem and arm->channel. Inputs that no rig has
 * get their initial values for good.
 */
int sim_bench_bind(struct sim_bench *bench, const void *image, uint64_t now_ns,
		   struct hytest_arm *arm);
void sim_bench_unbind(struct sim_bench *bench);
static inline uint32_t sim_bench_bound(const struct sim_bench *bench)
{
	return bench->bound_inputs + bench->bound_outputs;
}

/* What the output worker does at this moment. */
void sim_bench_write(struct sim_bench *bench, uint64_t now_ns, const double *outputs);
/* What a scan that is triggered at this moment finds. */
void sim_bench_sample(struct sim_bench *bench, uint64_t now_ns);

#endif
