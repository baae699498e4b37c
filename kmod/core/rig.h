/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A simulated rig: transfer system and specimen as a program, with converters
 * in front of it. The rig module makes an IIO device of it, the sim backend
 * runs it in process; both see the same codes.
 *
 * Time is the number of a step: step s happens at s * period on the clock of
 * the loop (CLOCK_MONOTONIC), so the steps of a rig fall on the ticks of any
 * loop whose period is a multiple of the rig's. Before a rig is written or read
 * it is advanced to the step of that moment. A code that is written acts from
 * the next step on; a sample is the state after the newest step. So a rig does
 * the same whoever looks at it, and when.
 *
 * A new rig is in its initial state with its own step 0 behind it; each step of
 * the clock that follows is one of its own. A held rig (HT_IMAGE_HELD) stays there,
 * as if clamped, until a DAC code differs from what was written first. Until the
 * first write DAC codes are those of the initial values of their signals.
 */
#ifndef HT_CORE_RIG_H
#define HT_CORE_RIG_H

#include "channel.h"
#include "program.h"

/* What can go wrong with a channel. Values are SI at the channel: V, V/s. */
enum ht_fault {
	HT_FAULT_NONE,
	HT_FAULT_STUCK,		/* ADC: the code stays as it is now */
	HT_FAULT_DROPOUT,	/* ADC: reads 0 V */
	HT_FAULT_SPIKE,		/* ADC: value is added to one sample, then over */
	HT_FAULT_DRIFT,		/* ADC: grows by value per second from now on, held or not */
	HT_FAULT_SIGN,		/* ADC: turned about 0 V */
	HT_FAULT_SATURATION,	/* DAC: the actuator gets no more than +-value */
	HT_FAULT_RUNAWAY,	/* DAC: the actuator leaves by value per second, whatever is */
				/* written, as far as the converter's range */
	HT_FAULTS
};

/* Words as in the fault file of the rig: none, stuck, dropout, ... */
const char *ht_fault_name(ht_u32 fault);
int ht_fault_is_for_dac(ht_u32 fault);

struct ht_rig;

/* For an image of the kind HT_IMAGE_RIG that was checked. */
ht_u64 ht_rig_bytes(const void *image);
/* FP. As ht_program_init(). */
int ht_rig_init(void *memory, const void *image, struct ht_error *error);
/* FP. As new, without faults; its clock goes on. */
void ht_rig_reset(struct ht_rig *rig);

/*
 * FP. Up to this step, at most so many. Returns how many are left. The first
 * call after ht_rig_init() only sets the clock.
 */
ht_u64 ht_rig_advance(struct ht_rig *rig, ht_u64 step, ht_u64 most);

/* DAC. FP. Codes outside the converter's are clamped. */
void ht_rig_write(struct ht_rig *rig, ht_u32 input, ht_s64 code);
/* DAC: what was written last. */
ht_s64 ht_rig_written(const struct ht_rig *rig, ht_u32 input);
/* ADC. FP. A spike ends with the sample of which it was part. */
ht_s64 ht_rig_read(struct ht_rig *rig, ht_u32 output);
/* FP. The sample is over: called once after the reads that belong together. */
void ht_rig_end_scan(struct ht_rig *rig);

/* What IIO shall say of a channel: scale in mV per code, no offset. */
void ht_rig_converter(const struct ht_image_channel *channel, struct ht_converter *converter);

/*
 * FP. channel: ADC number, or DAC number for the faults of DACs. A new fault of a
 * channel replaces the one before; FAULT_NONE ends those of the ADC and of the DAC
 * with this number. A pointer, because the kernel outside the core can pass no double.
 */
void ht_rig_fault(struct ht_rig *rig, ht_u32 fault, ht_u32 channel, const double *value);
ht_u32 ht_rig_adc_fault(const struct ht_rig *rig, ht_u32 output);
ht_u32 ht_rig_dac_fault(const struct ht_rig *rig, ht_u32 input);
/*
 * FP. From text "-1.5", "0.02" or "1e-3", up to 18 digits; 0 if it is no number. The
 * kernel has no strtod.
 */
int ht_rig_number(const char *text, double *value);

struct ht_program *ht_rig_program(struct ht_rig *rig);

#endif
