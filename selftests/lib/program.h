/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Makes small program images for tests, straight from the headers of the core
 * and independent of the experiment reader.
 *
 * A draft has room for what tests need and no more; what does not fit, or
 * names a block type or field that does not exist, ends the test program.
 */
#ifndef SELFTESTS_PROGRAM_H
#define SELFTESTS_PROGRAM_H

#include <stddef.h>

#include "core/block.h"

#define DRAFT_SIGNALS		512
#define DRAFT_BLOCKS		512
#define DRAFT_INPUTS		16
#define DRAFT_OUTPUTS		16
#define DRAFT_LOCKS		16
#define DRAFT_VALUES		262144
#define DRAFT_WIRES		4096

struct draft {
	struct ht_image_header header;	/* counts are set by draft_image() */
	struct ht_image_signal signals[DRAFT_SIGNALS];
	struct ht_image_input inputs[DRAFT_INPUTS];
	struct ht_image_output outputs[DRAFT_OUTPUTS];
	struct ht_image_block blocks[DRAFT_BLOCKS];
	struct ht_image_interlock locks[DRAFT_LOCKS];
	double params[DRAFT_VALUES];
	double data[DRAFT_VALUES];
	ht_u32 wires[DRAFT_WIRES];
	ht_u32 records[DRAFT_SIGNALS];
	const char *text;
};

/*
 * An empty program: ring of 4096 records, budget of half a period, deadline of
 * a whole one, 1 late tick and 1 missed one trip, no heartbeat, 2 ticks without a
 * scan or a write trip.
 */
struct draft *draft_new(ht_u64 period_ns);
/* An empty rig. */
struct draft *draft_new_rig(ht_u64 period_ns);
void draft_free(struct draft *draft);

ht_u32 draft_signal(struct draft *draft, const char *name, double initial);
/* Fields not given are set to their presets. dim is the first dimension. */
ht_u32 draft_block(struct draft *draft, const char *type, ht_u32 dim, ht_u32 n_in,
		   const ht_u32 *in, ht_u32 n_out, const ht_u32 *out);
/* Number of a parameter, for batches. */
ht_u32 draft_param(const struct draft *draft, ht_u32 block, const char *field, ht_u32 element);
void draft_set(struct draft *draft, ht_u32 block, const char *field, ht_u32 element,
	       double value);
/* Bound to nothing; more can be set in draft->inputs. */
ht_u32 draft_input(struct draft *draft, ht_u32 signal);
/* Limits are +-1000, ramp per second; more can be set in draft->outputs. */
ht_u32 draft_output(struct draft *draft, ht_u32 signal, double safe, double ramp);
/* An input or output of a loop to an IIO channel, gain 1. */
void draft_bind(struct ht_image_channel *channel, const char *device, const char *name);
/* Converters of a rig: 16 bits, +-10 V, 1 V for one unit of the signal. */
ht_u32 draft_dac(struct draft *draft, ht_u32 signal, const char *name);
ht_u32 draft_adc(struct draft *draft, ht_u32 signal, const char *name);
/* Without latch. The kinds that watch the loop itself take HT_NO_SIGNAL. */
struct ht_image_interlock *draft_lock(struct draft *draft, enum ht_interlock_kind kind,
				      enum ht_action action, ht_u32 signal, double low,
				      double high);
void draft_record(struct draft *draft, ht_u32 signal);
/* Source of one constant: block and its signal. */
ht_u32 draft_constant(struct draft *draft, const char *name, double value, ht_u32 *signal);

/* The finished image, to be freed. */
void *draft_image(const struct draft *draft, size_t *size);
/* After a change of the bytes of an image. */
void image_repair_crc(void *image, size_t size);

#endif
