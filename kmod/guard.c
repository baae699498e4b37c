// SPDX-License-Identifier: GPL-2.0
/*
 * What the machine must not do while a loop moves something.
 *
 *  - Taking the loop's CPU offline or suspending is refused.
 *  - An attempt to remove the module is refused by the kernel, because the
 *    file of the owner holds it. The kernel does not tell the module; but
 *    whoever tries it believes that no test is running, so the safe answer is
 *    a trip. A probe on the system call sees it.
 */
#include <linux/capability.h>
#include <linux/cpuhotplug.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/suspend.h>
#include <linux/uaccess.h>

#include "hytest.h"

static bool is_ticking(struct hytest_loop *loop)
{
	return READ_ONCE(loop->ticking);
}

static int cpu_leaves(unsigned int cpu)
{
	unsigned int i;

	for (i = 0; i < hytest_n_loops; i++) {
		struct hytest_loop *loop = hytest_loops[i];

		if (!is_ticking(loop) || loop->cpu != cpu)
			continue;
		pr_warn("hytest: %s is running on CPU %u, which stays online\n", loop->name, cpu);
		return -EBUSY;
	}
	return 0;
}

static int power_event(struct notifier_block *block, unsigned long event, void *data)
{
	unsigned int i;

	if (event != PM_SUSPEND_PREPARE && event != PM_HIBERNATION_PREPARE)
		return NOTIFY_DONE;
	for (i = 0; i < hytest_n_loops; i++) {
		if (!is_ticking(hytest_loops[i]))
			continue;
		pr_warn("hytest: %s is running, no suspend\n", hytest_loops[i]->name);
		return NOTIFY_BAD;
	}
	return NOTIFY_OK;
}

static struct notifier_block power_notifier = {
	.notifier_call = power_event,
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

static int removal_tried(struct kprobe *probe, struct pt_regs *regs)
{
	const struct pt_regs *call = (const struct pt_regs *)regs->di;
	unsigned int i;

	if (!capable(CAP_SYS_MODULE) || !names_us((const char __user *)call->di))
		return 0;
	for (i = 0; i < hytest_n_loops; i++)
		hytest_trip(hytest_loops[i], HT_CAUSE_UNLOAD);
	return 0;
}

static struct kprobe removal_probe = {
	.symbol_name = "__x64_sys_delete_module",
	.pre_handler = removal_tried,
};

static bool probing;

static void watch_removal(void)
{
	int ret = register_kprobe(&removal_probe);

	probing = !ret;
	if (ret)
		pr_warn("hytest: an attempt to remove the module will not trip (%d)\n", ret);
}

static void unwatch_removal(void)
{
	if (probing)
		unregister_kprobe(&removal_probe);
}

#else

static void watch_removal(void)
{
}

static void unwatch_removal(void)
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
	if (ret) {
		cpuhp_remove_state_nocalls(hotplug_state);
		return ret;
	}
	watch_removal();
	return 0;
}

void hytest_guard_exit(void)
{
	unwatch_removal();
	unregister_pm_notifier(&power_notifier);
	cpuhp_remove_state_nocalls(hotplug_state);
}
