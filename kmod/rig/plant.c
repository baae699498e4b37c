// SPDX-License-Identifier: GPL-2.0
/*
 * The plant of a rig: transfer system and specimen, a program of the core that
 * is kept at the present.
 *
 * Nothing of it runs by itself. Whoever looks at it or moves it advances it to
 * that moment first. Where nobody has looked for a while a worker does, so that
 * there is never much to catch up with.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>

#include "fpu.h"
#include "memory.h"
#include "rig.h"

/* Between two points at which others can run. */
#define STEPS_AT_A_TIME	32
#define KEEP_UP_MS	20
#define MAX_BYTES	SZ_256M
/* A plant that takes longer to catch up is too slow for this machine. */
#define PATIENCE_NS	NSEC_PER_SEC

static void keep_up(struct work_struct *work)
{
	struct hytest_rig *rig = container_of(to_delayed_work(work), struct hytest_rig, keep_up);
	const u64 now = ktime_get_ns();

	if (now - READ_ONCE(rig->looked_ns) >= KEEP_UP_MS * NSEC_PER_MSEC) {
		mutex_lock(&rig->mutex);
		hytest_plant_advance(rig, now);
		mutex_unlock(&rig->mutex);
	}
	queue_delayed_work(system_unbound_wq, &rig->keep_up, msecs_to_jiffies(KEEP_UP_MS));
}

/* Builds the plant of a checked image and lets its time begin. */
int hytest_plant_build(struct hytest_rig *rig, struct ht_error *error)
{
	u64 bytes;
	int code;

	mutex_init(&rig->mutex);
	INIT_DELAYED_WORK(&rig->keep_up, keep_up);
	hytest_fpu_begin();
	ht_image_open(&rig->parts, rig->image);
	bytes = ht_rig_bytes(rig->image);
	hytest_fpu_end();
	if (bytes > MAX_BYTES)
		return -E2BIG;
	rig->core = hytest_alloc(bytes);
	if (!rig->core)
		return -ENOMEM;
	hytest_fpu_begin();
	code = ht_rig_init(rig->core, rig->image, error);
	hytest_fpu_end();
	if (code)
		return -EINVAL;
	mutex_lock(&rig->mutex);
	hytest_plant_advance(rig, ktime_get_ns());
	mutex_unlock(&rig->mutex);
	queue_delayed_work(system_unbound_wq, &rig->keep_up, msecs_to_jiffies(KEEP_UP_MS));
	return 0;
}

void hytest_plant_stop(struct hytest_rig *rig)
{
	cancel_delayed_work_sync(&rig->keep_up);
}

void hytest_plant_free(struct hytest_rig *rig)
{
	vfree(rig->core);
	mutex_destroy(&rig->mutex);
}

int hytest_plant_advance(struct hytest_rig *rig, u64 now_ns)
{
	const u64 step = div64_u64(now_ns, rig->parts.header->period_ns);
	const u64 begin_ns = ktime_get_ns();
	u64 left;

	lockdep_assert_held(&rig->mutex);
	WRITE_ONCE(rig->looked_ns, begin_ns);
	do {
		hytest_fpu_begin();
		left = ht_rig_advance(rig->core, step, STEPS_AT_A_TIME);
		hytest_fpu_end();
		cond_resched();
	} while (left && ktime_get_ns() - begin_ns < PATIENCE_NS);
	if (!left)
		return 0;
	pr_warn_ratelimited("%s: %llu steps behind: too slow for this machine\n", rig->name, left);
	return -ETIME;
}

void hytest_plant_reset(struct hytest_rig *rig)
{
	lockdep_assert_held(&rig->mutex);
	hytest_plant_advance(rig, ktime_get_ns());
	hytest_fpu_begin();
	ht_rig_reset(rig->core);
	hytest_fpu_end();
	memset(&rig->faults, 0, sizeof(rig->faults));
}
