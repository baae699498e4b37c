// SPDX-License-Identifier: GPL-2.0
/*
 * Product of all inputs, multiplied in their order.
 */
#include "block_types.h"

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	(void)n_in;
	(void)n_out;
	(void)dim;
	(void)l;
	return HT_OK;
}

static void step(const struct ht_block *b)
{
	double product = ht_in(b, 0);
	ht_u32 i;

	for (i = 1; i < b->n_in; i++)
		product *= ht_in(b, i);
	ht_out(b, 0, product);
}

const struct ht_block_type ht_type_product = {
	.name = "product",
	.summary = "product of the inputs",
	.min_in = 1,
	.max_in = HT_MAX_PORTS,
	.min_out = 1,
	.max_out = 1,
	.layout = layout,
	.step = step,
};
