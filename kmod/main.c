// SPDX-License-Identifier: GPL-2.0
/*
 * hytest: real-time hybrid testing. The module makes /dev/hytest0 and so on,
 * one for each loop.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "hytest.h"

#define MAX_LOOPS	16
/* How long removal waits for a ramp before it goes without. */
#define RAMP_TIMEOUT	(60 * HZ)

unsigned int hytest_n_loops = 2;
module_param_named(loops, hytest_n_loops, uint, 0444);
MODULE_PARM_DESC(loops, "number of loops, 1 to 16 (default 2)");

unsigned long hytest_max_image_bytes = 16UL << 20;
module_param_named(max_image_bytes, hytest_max_image_bytes, ulong, 0644);
MODULE_PARM_DESC(max_image_bytes, "largest program image (default 16 MiB)");

unsigned long hytest_max_loop_bytes = 256UL << 20;
module_param_named(max_loop_bytes, hytest_max_loop_bytes, ulong, 0644);
MODULE_PARM_DESC(max_loop_bytes, "most memory of a loop: image, program, ring (default 256 MiB)");

struct hytest_loop **hytest_loops;

static_assert(sizeof(struct hytest_status) <= PAGE_SIZE);

static void wake_readers(struct irq_work *work)
{
	struct hytest_loop *loop = container_of(work, struct hytest_loop, wake);

	wake_up_all(&loop->wait);
}

static void free_loop(struct hytest_loop *loop)
{
	hytest_ring_put(loop->ring);
	vfree(loop->core);
	vfree(loop->image);
	if (loop->fpu)
		hytest_fpu_free(loop->fpu);
	free_page((unsigned long)loop->status);
	mutex_destroy(&loop->mutex);
	kvfree(loop);
}

static struct hytest_loop *make_loop(unsigned int number)
{
	struct hytest_loop *loop = kvzalloc(sizeof(*loop), GFP_KERNEL);

	if (!loop)
		return NULL;
	loop->number = number;
	snprintf(loop->name, sizeof(loop->name), "hytest%u", number);
	mutex_init(&loop->mutex);
	raw_spin_lock_init(&loop->lock);
	init_waitqueue_head(&loop->wait);
	init_irq_work(&loop->wake, wake_readers);
	hytest_timer_setup(&loop->timer, hytest_tick);
	loop->fpu = hytest_fpu_alloc();
	loop->status = (struct hytest_status *)get_zeroed_page(GFP_KERNEL);
	if (!loop->fpu || !loop->status) {
		free_loop(loop);
		return NULL;
	}
	loop->status->version = HYTEST_UAPI_VERSION;
	loop->status->ring_offset = PAGE_SIZE;
	loop->status->mapping_size = PAGE_SIZE;
	loop->status->safe = 1;
	loop->misc = (struct miscdevice){
		.minor = MISC_DYNAMIC_MINOR,
		.name = loop->name,
		.fops = &hytest_fops,
		.mode = 0660,
	};
	return loop;
}

static bool at_rest(struct hytest_loop *loop)
{
	unsigned long flags;
	bool ticking;

	raw_spin_lock_irqsave(&loop->lock, flags);
	ticking = loop->ticking;
	loop->request.release_hold = ticking;
	raw_spin_unlock_irqrestore(&loop->lock, flags);
	return !ticking;
}

/*
 * No file is open any more, so the loop is at rest or a trip is taking its
 * outputs to safe: that comes first.
 */
static void end_loop(struct hytest_loop *loop)
{
	misc_deregister(&loop->misc);
	if (!wait_event_timeout(loop->wait, at_rest(loop), RAMP_TIMEOUT))
		pr_err("hytest: %s: outputs are not safe after %u s, giving up\n", loop->name,
		       RAMP_TIMEOUT / HZ);
	hrtimer_cancel(&loop->timer);
	irq_work_sync(&loop->wake);
	free_loop(loop);
}

static void end_loops(unsigned int n)
{
	while (n--)
		end_loop(hytest_loops[n]);
	kfree(hytest_loops);
}

static int __init hytest_init(void)
{
	unsigned int i;
	int ret;

	if (!hytest_n_loops || hytest_n_loops > MAX_LOOPS) {
		pr_err("hytest: loops=%u must be 1 to %u\n", hytest_n_loops, MAX_LOOPS);
		return -EINVAL;
	}
	ret = hytest_fpu_init();
	if (ret)
		return ret;
	hytest_loops = kcalloc(hytest_n_loops, sizeof(*hytest_loops), GFP_KERNEL);
	if (!hytest_loops)
		return -ENOMEM;
	for (i = 0; i < hytest_n_loops; i++) {
		hytest_loops[i] = make_loop(i);
		if (!hytest_loops[i]) {
			ret = -ENOMEM;
			goto end;
		}
		ret = misc_register(&hytest_loops[i]->misc);
		if (ret) {
			free_loop(hytest_loops[i]);
			goto end;
		}
	}
	ret = hytest_guard_init();
	if (ret)
		goto end;
	return 0;
end:
	end_loops(i);
	return ret;
}
module_init(hytest_init);

static void __exit hytest_exit(void)
{
	hytest_guard_exit();
	end_loops(hytest_n_loops);
}
module_exit(hytest_exit);

MODULE_DESCRIPTION("Real-time hybrid testing: the loop");
MODULE_AUTHOR("The hytest developers");
MODULE_LICENSE("GPL");
