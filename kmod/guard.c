// SPDX-License-Identifier: GPL-2.0
/*
 * What the machine must not do while a loop moves something.
 *
 *  - Taking the loop's CPU offline or suspending is refused.
 *  - A reboot waits until the outputs are safe.
 *  - An attempt to remove the module is refused by the kernel, because the
 *    file of the owner holds it. The kernel does not tell the module; but
 *    whoever tries it believes that no test is running, so the safe answer is
 *    a trip. A probe on the system call sees it; without it the attempt is
 *    still refused. The log then says who holds the module.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/cpuhotplug.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/reboot.h>
#include <linux/suspend.h>
#include <linux/user_namespace.h>
#include <linux/uaccess.h>

#include "bind.h"

#define REBOOT_TIMEOUT	(30 * HZ)

static int cpu_leaves(unsigned int cpu)
{
	unsigned int i;

	for (i = 0; i < hytest_n_loops; i++) {
		struct hytest_loop *loop = hytest_loops[i];

		if (hytest_at_rest(loop) || loop->cpu != cpu)
			continue;
		pr_warn("%s is armed or running on CPU %u, which stays online\n", loop->name, cpu);
		return -EBUSY;
	}
	return 0;
}

bool hytest_going_down;

static struct hytest_loop *ticking_loop(void)
{
	unsigned int i;

	for (i = 0; i < hytest_n_loops; i++)
		if (!hytest_at_rest(hytest_loops[i]))
			return hytest_loops[i];
	return NULL;
}

static int power_event(struct notifier_block *block, unsigned long event, void *data)
{
	struct hytest_loop *loop;

	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		/* First, so that none starts behind our back. */
		WRITE_ONCE(hytest_going_down, true);
		loop = ticking_loop();
		if (!loop)
			return NOTIFY_OK;
		WRITE_ONCE(hytest_going_down, false);
		pr_warn("%s is armed or running, no suspend\n", loop->name);
		return NOTIFY_BAD;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		WRITE_ONCE(hytest_going_down, false);
		return NOTIFY_OK;
	default:
		return NOTIFY_DONE;
	}
}

static struct notifier_block power_notifier = {
	.notifier_call = power_event,
};

static int reboot_event(struct notifier_block *block, unsigned long event, void *data)
{
	unsigned int i;

	WRITE_ONCE(hytest_going_down, true);
	for (i = 0; i < hytest_n_loops; i++)
		hytest_ask_to_rest(hytest_loops[i], HT_ACTION_RAMP);
	for (i = 0; i < hytest_n_loops; i++) {
		struct hytest_loop *loop = hytest_loops[i];

		hytest_await_rest(loop, REBOOT_TIMEOUT);
		/* With the channels the last outputs go. */
		mutex_lock(&loop->mutex);
		hytest_let_go(loop);
		mutex_unlock(&loop->mutex);
	}
	return NOTIFY_DONE;
}

static struct notifier_block reboot_notifier = {
	.notifier_call = reboot_event,
};

static int hotplug_state;

#if defined(CONFIG_KPROBES) && defined(CONFIG_X86_64)

/* delete_module(name, flags): is it our name? */
static bool names_us(const char __user *name)
{
	const char *ours = THIS_MODULE->name;
	char c;
	size_t i;

	for (i = 0; ; i++) {
		if (copy_from_user_nofault(&c, name + i, 1))
			return false;
		if (c != ours[i])
			return false;
		if (!c)
			return true;
	}
}

/* Whoever may not remove modules may not trip loops this way either. */
static bool may_remove_modules(void)
{
	return cap_raised(current_cred()->cap_effective, CAP_SYS_MODULE) &&
	       current_user_ns() == &init_user_ns;
}

/* A probe may not sleep, and who asks gets the answer of the kernel anyway. */
static void say_who_holds_us(struct work_struct *work)
{
	unsigned int i;

	if (module_refcount(THIS_MODULE) <= 0)
		return;
	pr_info("not removed: open files and IIO devices hold it, %d in all\n",
		module_refcount(THIS_MODULE));
	for (i = 0; i < hytest_n_loops; i++) {
		const u32 owner = READ_ONCE(hytest_loops[i]->status->owner);

		if (owner)
			pr_info("%s: process %u has control\n", hytest_loops[i]->name, owner);
	}
	hytest_say_who_holds_triggers();
}

static DECLARE_WORK(say_work, say_who_holds_us);

static void removal_tried(const char __user *name)
{
	unsigned int i;

	if (!may_remove_modules() || !names_us(name))
		return;
	for (i = 0; i < hytest_n_loops; i++)
		hytest_trip(hytest_loops[i], HT_CAUSE_UNLOAD);
	schedule_work(&say_work);
}

/* The probed function gets the registers of the system call. */
static int removal_tried_64(struct kprobe *probe, struct pt_regs *regs)
{
	removal_tried((const char __user *)((const struct pt_regs *)regs->di)->di);
	return 0;
}

static int removal_tried_32(struct kprobe *probe, struct pt_regs *regs)
{
	removal_tried((const char __user *)((const struct pt_regs *)regs->di)->bx);
	return 0;
}

static struct kprobe removal_probes[] = {
	{
		.symbol_name = "__x64_sys_delete_module",
		.pre_handler = removal_tried_64,
	},
	{
		.symbol_name = "__ia32_sys_delete_module",
		.pre_handler = removal_tried_32,
	},
};

static bool probing[ARRAY_SIZE(removal_probes)];

void hytest_watch_removal(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(removal_probes); i++) {
		ret = register_kprobe(&removal_probes[i]);
		probing[i] = !ret;
		if (ret)
			pr_info("no probe on %s (%d)\n", removal_probes[i].symbol_name, ret);
	}
}

void hytest_unwatch_removal(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(removal_probes); i++)
		if (probing[i])
			unregister_kprobe(&removal_probes[i]);
	flush_work(&say_work);
}

#else

void hytest_watch_removal(void)
{
}

void hytest_unwatch_removal(void)
{
}

#endif

int hytest_guard_init(void)
{
	int ret;

	hotplug_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "hytest:loop", NULL,
						  cpu_leaves);
	if (hotplug_state < 0)
		return hotplug_state;
	ret = register_pm_notifier(&power_notifier);
	if (ret)
		goto hotplug;
	ret = register_reboot_notifier(&reboot_notifier);
	if (ret)
		goto power;
	return 0;
power:
	unregister_pm_notifier(&power_notifier);
hotplug:
	cpuhp_remove_state_nocalls(hotplug_state);
	return ret;
}

void hytest_guard_exit(void)
{
	unregister_reboot_notifier(&reboot_notifier);
	unregister_pm_notifier(&power_notifier);
	cpuhp_remove_state_nocalls(hotplug_state);
}
