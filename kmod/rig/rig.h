/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A simulated rig inside the module.
 *
 * A rig consists of a plant (plant.c), which lives from CREATE to REMOVE and
 * advances in time like a real one, and of the converters in front of it
 * (device.c): an IIO device that comes and goes as the platform device is bound
 * and unbound. What is wrong with either is told through debugfs (fault.c).
 */
#ifndef HYTEST_RIG_H
#define HYTEST_RIG_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/workqueue.h>
#include <uapi/linux/hytest_rig.h>

#include "core/rig.h"

#define HYTEST_RIG_DRIVER	"hytest_rig"

struct dentry;

/* What is wrong with the converters. Counts: so many more; -1: from now on all. */
struct hytest_rig_faults {
	s32 late_us;
	s32 lost;
	s32 read_errors;
	s32 write_errors;
};

struct hytest_rig {
	char name[HYTEST_RIG_NAME_LEN];
	struct list_head list;
	int number;			/* of hytest_rig.N */
	struct platform_device *device;
	int iio_number;			/* of iio:deviceN, when it was bound last */
	struct dentry *directory;	/* debugfs */

	void *image;
	struct ht_image parts;		/* of the image */

	struct mutex mutex;		/* for all that follows */
	struct ht_rig *core;
	struct hytest_rig_faults faults;
	u64 looked_ns;			/* read without the mutex */
	struct delayed_work keep_up;
};

/* plant.c */
int hytest_plant_build(struct hytest_rig *rig, struct ht_error *error);
void hytest_plant_stop(struct hytest_rig *rig);
void hytest_plant_free(struct hytest_rig *rig);
/* With rig->mutex held. */
int hytest_plant_advance(struct hytest_rig *rig, u64 now_ns);
void hytest_plant_reset(struct hytest_rig *rig);

/* device.c */
extern struct platform_driver hytest_rig_driver;

/* fault.c */
void hytest_fault_init(void);
void hytest_fault_exit(void);
void hytest_fault_add(struct hytest_rig *rig);
void hytest_fault_remove(struct hytest_rig *rig);
/* With rig->mutex held: whether it happens this time. */
bool hytest_fault_strikes(s32 *left);

#endif
