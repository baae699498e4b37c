// SPDX-License-Identifier: GPL-2.0
/*
 * hytest_board: what a machine with a device tree has, made of software nodes,
 * so that it can be tested where there is none.
 *
 *  - A GPIO chip "hytest-board". Its lines are inputs; debugfs has the level of each
 *    (hytest_board/line0 and so on), and whether the chip is there (plugged).
 *  - A node for the rig hytest_rig.0, the first that is made after this module was
 *    loaded, so that channels of it can be referred to. A rig that has it keeps this
 *    module.
 *  - A platform device "hytest" like a node "hytest,loop" of dts/hytest,loop.yaml: it
 *    has other names for the channels than the rig has, and two lines.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/gpio/driver.h>
#include <linux/gpio/machine.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/property.h>

#define N_LINES		8
#define ENABLE_LINE	3
#define ESTOP_LINE	5

static unsigned int loop;
module_param(loop, uint, 0444);
MODULE_PARM_DESC(loop, "that the channels and lines are for (default 0)");

/* The chip */

static bool levels[N_LINES];

static int line_direction(struct gpio_chip *chip, unsigned int line)
{
	return GPIO_LINE_DIRECTION_IN;
}

static int line_input(struct gpio_chip *chip, unsigned int line)
{
	return 0;
}

static int line_get(struct gpio_chip *chip, unsigned int line)
{
	return READ_ONCE(levels[line]);
}

static struct gpio_chip chip = {
	.label = "hytest-board",
	.owner = THIS_MODULE,
	.get_direction = line_direction,
	.direction_input = line_input,
	.get = line_get,
	.ngpio = N_LINES,
	.can_sleep = true,
};

static DEFINE_MUTEX(plug_mutex);
static bool plugged;

static int plug(bool in)
{
	int ret = 0;

	mutex_lock(&plug_mutex);
	chip.base = -1;
	if (in && !plugged)
		ret = gpiochip_add_data(&chip, NULL);
	else if (!in && plugged)
		gpiochip_remove(&chip);
	if (!ret)
		plugged = in;
	mutex_unlock(&plug_mutex);
	return ret;
}

static int plugged_get(void *data, u64 *value)
{
	*value = plugged;
	return 0;
}

static int plugged_set(void *data, u64 value)
{
	return plug(value);
}

DEFINE_DEBUGFS_ATTRIBUTE(plugged_fops, plugged_get, plugged_set, "%llu\n");

static struct dentry *folder;

static void make_folder(void)
{
	char name[16];
	unsigned int i;

	folder = debugfs_create_dir(KBUILD_MODNAME, NULL);
	for (i = 0; i < N_LINES; i++) {
		snprintf(name, sizeof(name), "line%u", i);
		debugfs_create_bool(name, 0644, folder, &levels[i]);
	}
	debugfs_create_file_unsafe("plugged", 0644, folder, NULL, &plugged_fops);
}

/* The nodes */

static const struct software_node chip_node = {
	.name = "hytest-board",		/* that of the chip: it is found so */
};

static const struct property_entry rig_properties[] = {
	PROPERTY_ENTRY_U32("#io-channel-cells", 1),
	{ }
};

static const struct software_node rig_node = {
	.name = "hytest-board-rig",
	.properties = rig_properties,
};

/* The rig of pendulum-coupled.cfg has three inputs, then two outputs. */
static const char * const names[] = {
	"load-cell", "stroke", "encoder", "servo-position", "servo-acceleration", "no-such-channel",
};

static const struct software_node_ref_args channels[] = {
	SOFTWARE_NODE_REFERENCE(&rig_node, 0),
	SOFTWARE_NODE_REFERENCE(&rig_node, 1),
	SOFTWARE_NODE_REFERENCE(&rig_node, 2),
	SOFTWARE_NODE_REFERENCE(&rig_node, 3),
	SOFTWARE_NODE_REFERENCE(&rig_node, 4),
	SOFTWARE_NODE_REFERENCE(&rig_node, 99),
};

static struct property_entry loop_properties[] = {
	PROPERTY_ENTRY_U32("hytest,loop", 0),
	PROPERTY_ENTRY_STRING_ARRAY("io-channel-names", names),
	PROPERTY_ENTRY_REF_ARRAY("io-channels", channels),
	PROPERTY_ENTRY_REF("enable-gpios", &chip_node, ENABLE_LINE, GPIO_ACTIVE_HIGH),
	PROPERTY_ENTRY_REF("estop-gpios", &chip_node, ESTOP_LINE, GPIO_ACTIVE_LOW),
	{ }
};

static const struct software_node loop_node = {
	.name = "hytest-board-loop",
	.properties = loop_properties,
};

static const struct software_node *nodes[] = { &chip_node, &rig_node, &loop_node, NULL };

static bool has_rig;

/*
 * IIO devices have the node of their parent, so it gets it before its driver. Until its
 * driver has gone, the node must stay.
 */
static int rig_event(struct notifier_block *block, unsigned long event, void *data)
{
	struct device *dev = data;

	if (strcmp(dev_name(dev), "hytest_rig.0"))
		return NOTIFY_DONE;
	if (event == BUS_NOTIFY_ADD_DEVICE && !device_add_software_node(dev, &rig_node)) {
		__module_get(THIS_MODULE);
		has_rig = true;
	} else if (event == BUS_NOTIFY_DEL_DEVICE && has_rig) {
		device_remove_software_node(dev);
	} else if (event == BUS_NOTIFY_REMOVED_DEVICE && has_rig) {
		has_rig = false;
		module_put(THIS_MODULE);
	}
	return NOTIFY_DONE;
}

static struct notifier_block rig_notifier = {
	.notifier_call = rig_event,
};

static struct platform_device *loop_device;

static int make_loop_device(void)
{
	const struct platform_device_info info = {
		.name = "hytest",
		.id = PLATFORM_DEVID_NONE,
		.fwnode = software_node_fwnode(&loop_node),
	};

	loop_device = platform_device_register_full(&info);
	return PTR_ERR_OR_ZERO(loop_device);
}

static int __init board_init(void)
{
	int ret;

	loop_properties[0] = PROPERTY_ENTRY_U32("hytest,loop", loop);
	ret = software_node_register_node_group(nodes);
	if (ret)
		return ret;
	chip.fwnode = software_node_fwnode(&chip_node);
	ret = plug(true);
	if (ret)
		goto no_chip;
	ret = bus_register_notifier(&platform_bus_type, &rig_notifier);
	if (ret)
		goto no_notifier;
	ret = make_loop_device();
	if (ret)
		goto no_device;
	make_folder();
	return 0;

no_device:
	bus_unregister_notifier(&platform_bus_type, &rig_notifier);
no_notifier:
	plug(false);
no_chip:
	software_node_unregister_node_group(nodes);
	return ret;
}
module_init(board_init);

static void __exit board_exit(void)
{
	debugfs_remove_recursive(folder);
	platform_device_unregister(loop_device);
	bus_unregister_notifier(&platform_bus_type, &rig_notifier);
	plug(false);
	software_node_unregister_node_group(nodes);
}
module_exit(board_exit);

MODULE_DESCRIPTION("A board with GPIO lines and named channels, to test hytest with");
MODULE_AUTHOR("The hytest developers");
MODULE_LICENSE("GPL");
