/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The block types, one per file block_*.c, and what their files share.
 */
#ifndef HT_CORE_BLOCK_TYPES_H
#define HT_CORE_BLOCK_TYPES_H

#include "block.h"
#include "math.h"

/* Bound of fields that have no other one: finite sums stay finite. */
#define HT_ANY		1e15

extern const struct ht_block_type ht_type_fourier;
extern const struct ht_block_type ht_type_phase;
extern const struct ht_block_type ht_type_step_sine;
extern const struct ht_block_type ht_type_chirp;
extern const struct ht_block_type ht_type_table;
extern const struct ht_block_type ht_type_matrix;
extern const struct ht_block_type ht_type_product;
extern const struct ht_block_type ht_type_biquad;
extern const struct ht_block_type ht_type_state_space;
extern const struct ht_block_type ht_type_delay;
extern const struct ht_block_type ht_type_unit_delay;
extern const struct ht_block_type ht_type_pd;
extern const struct ht_block_type ht_type_pid;
extern const struct ht_block_type ht_type_limit;
extern const struct ht_block_type ht_type_structure;
extern const struct ht_block_type ht_type_pendulum;
extern const struct ht_block_type ht_type_actuator;
extern const struct ht_block_type ht_type_quantiser;
extern const struct ht_block_type ht_type_noise;
extern const struct ht_block_type ht_type_integrator;
extern const struct ht_block_type ht_type_derivative;
extern const struct ht_block_type ht_type_lag;
extern const struct ht_block_type ht_type_spring;
extern const struct ht_block_type ht_type_oscillator;
extern const struct ht_block_type ht_type_girder;

/* A choice among words. */
static inline ht_u32 ht_choice(const struct ht_block *b, ht_u32 field)
{
	return (ht_u32)b->field[field][0];
}

/* Seconds since tick 0. */
static inline double ht_time(const struct ht_block *b)
{
	return (double)(ht_s64)b->clock->tick * b->clock->dt;
}

/*
 * Filtered derivative s / (1 + T s), backward difference:
 *
 *	d_k = (T d_(k-1) + x_k - x_(k-1)) / (T + dt)
 *
 * with d = 0 at the first call. Keeps x, d and whether it was called.
 */
struct ht_derivative {
	double x;
	double rate;
	double started;
};

#define HT_DERIVATIVE_STATE	3

static inline double ht_derivative_step(double *state, double x, double filter,
					double dt)
{
	struct ht_derivative *d = (struct ht_derivative *)state;

	if (d->started != 0.0)
		d->rate = (filter * d->rate + (x - d->x)) / (filter + dt);
	d->started = 1.0;
	d->x = x;
	return d->rate;
}

#endif
