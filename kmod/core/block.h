/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a block is: the contract between the executor and the block types.
 *
 * A block type is one file and one line in the table of types.c. It describes
 * itself (ports, dimensions, fields), so that the reader of experiment files,
 * the validator and the console need to know nothing about it.
 *
 * Rules for the code of a block: no allocation, no loop that is not bounded
 * by its dimensions, no state outside b->state, sums in a fixed order, all
 * arithmetic in double, functions of math.h only. The same bits must come out
 * in the kernel and in user space.
 */
#ifndef HT_CORE_BLOCK_H
#define HT_CORE_BLOCK_H

#include "image.h"

/* Flags of a field. */
#define HT_FIELD_FIXED		0x1	/* cannot change while running */
#define HT_FIELD_INTEGER	0x2
#define HT_FIELD_DATA		0x4	/* constant table, implies FIXED */
#define HT_FIELD_OPTIONAL	0x8	/* every element is preset if absent */

/* A named array of parameters as it stands in an experiment file. */
struct ht_field {
	const char *name;
	const char *unit;	/* for people; "" if it depends on the wiring */
	double min;		/* every element within [min, max] */
	double max;
	double preset;
	ht_u32 flags;
	const char *const *words;	/* optional: names of 0, 1, 2, ... */
	const char *help;
};

/* Where the reader takes a dimension from if the file does not state it. */
enum ht_dim_source {
	HT_DIM_STATED,		/* must be stated (or preset, if preset > 0) */
	HT_DIM_INPUTS,		/* number of inputs */
	HT_DIM_OUTPUTS,		/* number of outputs */
	HT_DIM_LENGTH,		/* length of a field / per */
	HT_DIM_SQUARE		/* square root of the length of a field */
};

struct ht_dim {
	const char *name;
	ht_u32 min;
	ht_u32 max;
	ht_u32 preset;
	enum ht_dim_source source;
	ht_u32 field;		/* LENGTH and SQUARE: which one */
	ht_u32 per;		/* LENGTH: elements for one */
	const char *help;
};

#define HT_MAX_FIELDS 16

/* What a block of given ports and dimensions needs. */
struct ht_layout {
	ht_u32 count[HT_MAX_FIELDS];	/* elements of each field */
	ht_u32 n_state;			/* doubles kept from tick to tick */
	ht_u32 n_derived;		/* doubles computed from parameters */
};

struct ht_clock {
	ht_u64 tick;		/* number of this tick since start, from 0 */
	double dt;		/* s */
};

/*
 * A block of a loaded program. There is one for each of the two banks of
 * parameters; they differ in param and derived only.
 */
struct ht_block {
	const struct ht_block_type *type;
	const struct ht_clock *clock;
	double *signal;			/* all signals of the program */
	const ht_u32 *in;		/* numbers of the input signals */
	const ht_u32 *out;
	ht_u32 n_in;
	ht_u32 n_out;
	ht_u32 dims[HT_MAX_DIMS];
	const double *field[HT_MAX_FIELDS];	/* in the bank, or in data */
	double *derived;
	double *state;
};

struct ht_block_type {
	const char *name;		/* as in the experiment file */
	const char *summary;		/* one line for people */
	const struct ht_dim *dims;
	const struct ht_field *fields;
	ht_u32 n_dims;
	ht_u32 n_fields;
	ht_u32 min_in, max_in;
	ht_u32 min_out, max_out;

	/*
	 * Number of elements of each field, state and derived values. Ports and
	 * dims are within their bounds already; returns HT_OK, HT_ERR_PORTS or
	 * HT_ERR_DIMS if they do not fit together. Counts are below
	 * HT_MAX_VALUES or it is HT_ERR_DIMS.
	 */
	int (*layout)(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dims,
		      struct ht_layout *layout);
	/*
	 * Optional. Checks what the ranges of the fields cannot tell and
	 * computes the derived values. Not on the tick. Sets *item to the field
	 * to blame.
	 */
	int (*prepare)(const struct ht_block *b, ht_u32 *item);
	/* Optional. State before tick 0; it is all zero when called. */
	void (*reset)(const struct ht_block *b);
	/* Reads inputs (unless there is an update), writes outputs. */
	void (*step)(const struct ht_block *b);
	/*
	 * Optional. Runs after every block has stepped. A type that has it must
	 * not read inputs in step(): it is what may break an algebraic loop.
	 */
	void (*update)(const struct ht_block *b);
};

static inline double ht_in(const struct ht_block *b, ht_u32 port)
{
	return b->signal[b->in[port]];
}

static inline void ht_out(const struct ht_block *b, ht_u32 port, double value)
{
	b->signal[b->out[port]] = value;
}

/* The table of types: the number of a type in an image is its place here. */
extern const struct ht_block_type *const ht_block_types[];
extern const ht_u32 ht_n_block_types;

#endif
