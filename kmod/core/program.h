/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A loaded program: signals, blocks and two banks of parameters.
 *
 * The caller owns two pieces of memory: the image, which must stay as it was
 * checked for as long as the program lives, and ht_program_bytes() of zeroed,
 * 8-byte aligned memory for the program itself. Functions marked FP must be
 * entered inside the floating-point guard in the kernel (kmod/fpu.h), and
 * with flushed denormals in user space (fpenv.h).
 */
#ifndef HT_CORE_PROGRAM_H
#define HT_CORE_PROGRAM_H

#include "block.h"

struct ht_program;

/*
 * Called between pieces of long work off the tick, if it is set: the kernel
 * leaves the guard there for a moment, so that others can run.
 */
extern void (*ht_pause)(void);

/* Off the tick: pauses now and then. */
void ht_fill(double *to, double value, ht_u64 n);

/* One change of a batch. */
struct ht_change {
	ht_u32 param;
	ht_u32 reserved;
	ht_u64 value;		/* bits of the double */
};

/* Bytes for the program of a checked image. */
ht_u64 ht_program_bytes(const void *image);

/*
 * FP. Builds the program in the memory, checks every parameter and prepares
 * the blocks. After an error the memory may be freed, nothing else.
 */
int ht_program_init(void *memory, const void *image, struct ht_error *error);

/* FP. Signals and states as they were in the image; parameters stay. */
void ht_program_reset(struct ht_program *program);

/* FP. One tick of all blocks. */
void ht_program_step(struct ht_program *program, ht_u64 tick);

/*
 * FP. Builds the inactive bank: the active parameters with the changes made.
 * On an error nothing has changed. A staged batch must be committed before
 * the next is staged.
 */
int ht_program_stage(struct ht_program *program, const struct ht_change *change,
		     ht_u32 n, struct ht_error *error);

/* Makes the staged bank the active one; takes no time. */
void ht_program_commit(struct ht_program *program);

/* Values of all signals, n_signals of the image. */
double *ht_program_signals(struct ht_program *program);

/* Parameters in force, n_params of the image. */
const double *ht_program_params(const struct ht_program *program);

/* Which block a parameter belongs to, which field, which element of it. */
struct ht_param_place {
	ht_u32 block;
	ht_u32 field;
	ht_u32 element;
	ht_u32 count;		/* elements of the field */
};

/* For a checked image; HT_ERR_PARAM if there is no such parameter. */
int ht_param_place(const void *image, ht_u32 param, struct ht_param_place *place);

#endif
