// SPDX-License-Identifier: GPL-2.0
/*
 * A node "hytest,loop" of the device tree: names channels and lines for a loop,
 * so that an experiment need not know which device has them. The binding is in
 * dts/.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/device.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/property.h>
#include <linux/slab.h>

#include "binding.h"

static DEFINE_MUTEX(nodes_mutex);
static struct device **nodes;		/* of each loop, or NULL */

static void forget_node(void *data)
{
	struct device *dev = data;
	unsigned int i;

	mutex_lock(&nodes_mutex);
	for (i = 0; i < hytest_n_loops; i++)
		if (nodes[i] == dev)
			nodes[i] = NULL;
	mutex_unlock(&nodes_mutex);
	hytest_device_goes(dev);
}

static int node_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	u32 number = 0;
	int ret = 0;

	device_property_read_u32(dev, "hytest,loop", &number);
	if (number >= hytest_n_loops)
		return dev_err_probe(dev, -EINVAL, "hytest,loop = <%u>: there are %u loops\n",
				     number, hytest_n_loops);
	mutex_lock(&nodes_mutex);
	if (nodes[number])
		ret = -EBUSY;
	else
		nodes[number] = dev;
	mutex_unlock(&nodes_mutex);
	if (ret)
		return dev_err_probe(dev, ret, "loop %u has another node\n", number);
	return devm_add_action_or_reset(dev, forget_node, dev);
}

static const struct of_device_id node_ids[] = {
	{ .compatible = "hytest,loop" },
	{ }
};
MODULE_DEVICE_TABLE(of, node_ids);

static struct platform_driver node_driver = {
	.probe = node_probe,
	.driver = {
		.name = "hytest",
		.of_match_table = node_ids,
	},
};

struct device *hytest_tree_device(const struct hytest_loop *loop)
{
	struct device *dev;

	mutex_lock(&nodes_mutex);
	dev = get_device(nodes[loop->number]);
	mutex_unlock(&nodes_mutex);
	return dev;
}

int hytest_platform_init(void)
{
	int ret;

	nodes = kcalloc(hytest_n_loops, sizeof(*nodes), GFP_KERNEL);
	if (!nodes)
		return -ENOMEM;
	ret = platform_driver_register(&node_driver);
	if (ret)
		kfree(nodes);
	return ret;
}

void hytest_platform_exit(void)
{
	platform_driver_unregister(&node_driver);
	kfree(nodes);
}
