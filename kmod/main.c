// SPDX-License-Identifier: GPL-2.0
/*
 * hytest: real-time hybrid testing. The module makes /dev/hytest0 and so on,
 * one for each loop.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "bind.h"
#include "compat.h"

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

static void wake_readers(struct work_struct *work)
{
	struct hytest_loop *loop = container_of(work, struct hytest_loop, wake_work);

	wake_up_all(&loop->wait);
}

/* There may be many readers, and this is the loop's CPU: let another do it. */
static void ask_to_wake(struct irq_work *work)
{
	struct hytest_loop *loop = container_of(work, struct hytest_loop, wake);

	queue_work(system_unbound_wq, &loop->wake_work);
	if (READ_ONCE(loop->binding) && !READ_ONCE(loop->ticking))
		queue_work(system_unbound_wq, &loop->rest_work);
}

/* The last tick was made, and no system call has come since. */
static void let_go(struct work_struct *work)
{
	struct hytest_loop *loop = container_of(work, struct hytest_loop, rest_work);

	mutex_lock(&loop->mutex);
	hytest_let_go(loop);
	mutex_unlock(&loop->mutex);
}

static void free_loop(struct hytest_loop *loop)
{
	if (!loop)
		return;
	hytest_ring_retire(loop->ring);
	vfree(loop->refused);
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
	init_irq_work(&loop->wake, ask_to_wake);
	INIT_WORK(&loop->wake_work, wake_readers);
	INIT_WORK(&loop->rest_work, let_go);
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
	hytest_histogram_reset(&loop->status->lateness);
	hytest_histogram_reset(&loop->status->step);
	loop->misc = (struct miscdevice){
		.minor = MISC_DYNAMIC_MINOR,
		.name = loop->name,
		.fops = &hytest_fops,
		.groups = hytest_groups,
		.mode = 0660,
	};
	return loop;
}

bool hytest_at_rest(struct hytest_loop *loop)
{
	unsigned long flags;
	bool ticking;

	raw_spin_lock_irqsave(&loop->lock, flags);
	ticking = loop->ticking;
	raw_spin_unlock_irqrestore(&loop->lock, flags);
	return !ticking;
}

/* Lets go of outputs that are held and cuts short what still runs. */
void hytest_ask_to_rest(struct hytest_loop *loop, enum ht_action action)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&loop->lock, flags);
	if (loop->ticking) {
		loop->request.release = true;
		loop->request.trip = true;
		loop->request.trip_cause = (struct ht_trip){
			.cause = HT_CAUSE_UNLOAD,
			.action = action,
		};
	}
	raw_spin_unlock_irqrestore(&loop->lock, flags);
}

/* After hytest_ask_to_rest(): a trip is taking the outputs to safe. */
void hytest_await_rest(struct hytest_loop *loop, unsigned int timeout)
{
	if (wait_event_timeout(loop->wait, hytest_at_rest(loop), timeout))
		return;
	pr_err("%s: not at rest after %u s: cutting outputs\n", loop->name, timeout / HZ);
	hytest_ask_to_rest(loop, HT_ACTION_CUT);
	wait_event_timeout(loop->wait, hytest_at_rest(loop), 3 * HZ);
}

static void free_loops(void)
{
	unsigned int i;

	for (i = 0; i < hytest_n_loops; i++)
		free_loop(hytest_loops[i]);
	kfree(hytest_loops);
}

static int make_loops(void)
{
	unsigned int i;

	hytest_loops = kcalloc(hytest_n_loops, sizeof(*hytest_loops), GFP_KERNEL);
	if (!hytest_loops)
		return -ENOMEM;
	for (i = 0; i < hytest_n_loops; i++) {
		hytest_loops[i] = make_loop(i);
		if (!hytest_loops[i]) {
			free_loops();
			return -ENOMEM;
		}
	}
	return 0;
}

static void deregister(unsigned int n)
{
	while (n--)
		misc_deregister(&hytest_loops[n]->misc);
}

/* From here on user space can come in, so it is the last step. */
static int register_loops(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < hytest_n_loops; i++) {
		ret = misc_register(&hytest_loops[i]->misc);
		if (ret) {
			deregister(i);
			return ret;
		}
	}
	return 0;
}

static int __init hytest_init(void)
{
	int ret;

	if (!hytest_n_loops || hytest_n_loops > MAX_LOOPS) {
		pr_err("loops=%u must be 1 to %u\n", hytest_n_loops, MAX_LOOPS);
		return -EINVAL;
	}
	ret = make_loops();
	if (ret)
		return ret;
	ret = hytest_bind_init();
	if (ret)
		goto free;
	ret = hytest_guard_init();
	if (ret)
		goto bind;
	ret = register_loops();
	if (ret)
		goto guard;
	hytest_watch_removal();
	return 0;
guard:
	hytest_guard_exit();
bind:
	hytest_bind_exit();
free:
	free_loops();
	return ret;
}
module_init(hytest_init);

/* Nothing of it is at work any more: timer, wake-ups, channels. */
static void put_away(struct hytest_loop *loop)
{
	hytest_await_rest(loop, RAMP_TIMEOUT);
	hrtimer_cancel(&loop->timer);
	raw_spin_lock_irq(&loop->lock);
	loop->ticking = false;	/* even if it was not yet done */
	raw_spin_unlock_irq(&loop->lock);
	mutex_lock(&loop->mutex);
	hytest_let_go(loop);
	mutex_unlock(&loop->mutex);
	irq_work_sync(&loop->wake);
	cancel_work_sync(&loop->wake_work);
	cancel_work_sync(&loop->rest_work);
}

static void __exit hytest_exit(void)
{
	unsigned int i;

	hytest_unwatch_removal();
	deregister(hytest_n_loops);
	for (i = 0; i < hytest_n_loops; i++)
		hytest_ask_to_rest(hytest_loops[i], HT_ACTION_RAMP);
	for (i = 0; i < hytest_n_loops; i++)
		put_away(hytest_loops[i]);
	hytest_guard_exit();
	hytest_bind_exit();
	free_loops();
}
module_exit(hytest_exit);

MODULE_DESCRIPTION("Real-time hybrid testing: the loop");
MODULE_AUTHOR("The hytest developers");
MODULE_LICENSE("GPL");
