/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inputs and outputs of a loop, bound to IIO channels and GPIO lines.
 *
 * IIO calls sleep, so the tick makes none. A binding has
 *  - sources (source.c): an IIO device that is scanned when the tick fires its
 *    trigger; the driver's handler pushes into a buffer of ours;
 *  - an input worker (worker.c) for channels and lines that can only be read;
 *  - an output worker (worker.c) that writes what the tick has left for it.
 * A device that goes is noticed by a notifier on the IIO bus (bind.c) and trips.
 *
 * A binding is made by ARM and lives until the loop rests again.
 */
#ifndef HYTEST_BIND_H
#define HYTEST_BIND_H

#include "hytest.h"

struct attribute_group;
struct hytest_binding;

/* platform.c: what a loop has in sysfs. */
extern const struct attribute_group *hytest_groups[];

/* bind.c. Once for the module: triggers of every loop, notifier. */
int hytest_bind_init(void);
void hytest_bind_exit(void);
/* Tells in the kernel's log who has a trigger of ours, so that rmmod is refused. */
void hytest_say_who_holds_triggers(void);

/*
 * With loop->mutex held, nothing ticking. Fills arm->problem, channel and error and
 * returns -ENXIO if a channel cannot be had; writes the safe values to the outputs.
 * An image without channels is bound to nothing: loop->binding stays NULL.
 */
int hytest_bind(struct hytest_loop *loop, struct hytest_arm *arm);
/* With loop->mutex held, nothing ticking: lets the last outputs go out first. */
void hytest_unbind(struct hytest_loop *loop);
bool hytest_is_bound(const struct hytest_loop *loop);
/*
 * Inside the guard, nothing ticking: the newest inputs, n_inputs doubles in memory of
 * the binding (initial values where nothing is bound), and the vitals that belong to them.
 */
const double *hytest_read_inputs(struct hytest_binding *binding, struct ht_vitals *vitals);

/* On the tick. */
/* Inside the guard, before the step: newest scans to the core, vitals updated. */
void hytest_take_inputs(struct hytest_binding *binding, struct ht_loop *core,
			struct ht_vitals *vitals);
/* Inside the guard, after the step: outputs of the core become codes. */
void hytest_leave_outputs(struct hytest_binding *binding, const struct ht_loop *core);
/*
 * Outside guard and lock, at the end of the tick: wakes workers, fires triggers. Also once
 * alone, a period before the first tick, so that it has a scan to take.
 */
void hytest_fire(struct hytest_binding *binding);
/* Before the first fire of a run, nothing ticking: what was late or lost does not count. */
void hytest_binding_start(struct hytest_binding *binding);

#endif
