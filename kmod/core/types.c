// SPDX-License-Identifier: GPL-2.0
/*
 * Table of block types. An image names a type by its place here: new types
 * are added at the end, or HT_IMAGE_VERSION rises.
 */
#include "block_types.h"

const struct ht_block_type *const ht_block_types[] = {
	&ht_type_fourier,
	&ht_type_phase,
	&ht_type_step_sine,
	&ht_type_chirp,
	&ht_type_table,
	&ht_type_matrix,
	&ht_type_product,
	&ht_type_biquad,
	&ht_type_state_space,
	&ht_type_delay,
	&ht_type_unit_delay,
	&ht_type_pd,
	&ht_type_pid,
	&ht_type_limit,
	&ht_type_structure,
	&ht_type_pendulum,
	&ht_type_actuator,
	&ht_type_quantiser,
	&ht_type_noise,
	&ht_type_integrator,
	&ht_type_derivative,
	&ht_type_lag,
	&ht_type_spring,
	&ht_type_oscillator,
	&ht_type_girder,
};

const ht_u32 ht_n_block_types = HT_COUNT(ht_block_types);
