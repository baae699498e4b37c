/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a black box must hold, and that the outputs did what the action says.
 */
#ifndef CAMPAIGN_BOX_H
#define CAMPAIGN_BOX_H

#include "bench.h"

struct box_wanted {
	uint32_t action;	/* enum ht_action */
	uint64_t released;	/* tick of the acknowledgement that ends a hold */
};

/*
 * Saves the black box of the bench, whose status is that of the trip, reads it back
 * and checks it. -1 with the problem. *n_records: how many it has.
 */
int box_check(struct bench *bench, const struct box_wanted *wanted, uint64_t *n_records);

#endif
