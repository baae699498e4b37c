/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Triggers of a loop, given to IIO devices for as long as it runs.
 */
#ifndef HYTEST_IIO_TRIGGERS_H
#define HYTEST_IIO_TRIGGERS_H

#include "experiment.h"

struct hytest_triggers;

/*
 * Gives the triggers of a loop to every device that the image wants to be
 * scanned. Whoever calls has control of the loop: what else has its triggers was
 * left over by a supervisor that died, and is freed. Devices that do not exist, or
 * cannot be scanned, are left for ARM to complain about. NULL with a message.
 */
struct hytest_triggers *hytest_triggers_assign(unsigned int loop, const void *image,
					       struct hytest_message *message);
/*
 * Gives every device the trigger that it had before, and frees. A device that is
 * still bound to the loop is waited for; after a second it is left as it is.
 */
void hytest_triggers_restore(struct hytest_triggers *triggers);
/* Frees what has triggers of a loop that nobody controls. */
void hytest_triggers_release(unsigned int loop);

#endif
