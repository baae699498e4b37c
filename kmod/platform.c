// SPDX-License-Identifier: GPL-2.0
/*
 * A node "hytest,loop" of the device tree: names channels and lines for a loop,
 * so that an experiment need not know which device has them. The binding is in
 * dts/.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/device.h>
#include <linux/err.h>
#include <linux/gpio/consumer.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/property.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

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

bool hytest_is_node(const struct hytest_loop *loop, const struct device *dev)
{
	bool is_node;

	mutex_lock(&nodes_mutex);
	is_node = nodes[loop->number] == dev;
	mutex_unlock(&nodes_mutex);
	return is_node;
}

/* The node stays while somebody looks into it. */
struct iio_channel *hytest_tree_channel(const struct hytest_loop *loop, const char *name,
					struct device **node)
{
	struct iio_channel *channel = ERR_PTR(-ENODEV);

	mutex_lock(&nodes_mutex);
	*node = get_device(nodes[loop->number]);
	if (*node)
		channel = iio_channel_get(*node, name);
	mutex_unlock(&nodes_mutex);
	return channel;
}

struct gpio_desc *hytest_tree_line(const struct hytest_loop *loop, const char *name,
				   struct device **node)
{
	struct gpio_desc *line = ERR_PTR(-ENODEV);

	mutex_lock(&nodes_mutex);
	*node = get_device(nodes[loop->number]);
	if (*node)
		line = gpiod_get(*node, name, GPIOD_IN);
	mutex_unlock(&nodes_mutex);
	return line;
}

/* A line for each name whose device is there. */
static int show_names(struct device *node, char *page)
{
	int n = device_property_string_array_count(node, "io-channel-names");
	struct iio_channel *channel;
	const char **names;
	int i, used = 0;

	if (n <= 0)
		return 0;
	names = kcalloc(n, sizeof(*names), GFP_KERNEL);
	if (!names)
		return -ENOMEM;
	n = device_property_read_string_array(node, "io-channel-names", names, n);
	for (i = 0; i < n; i++) {
		channel = iio_channel_get(node, names[i]);
		if (IS_ERR(channel))
			continue;
		used += sysfs_emit_at(page, used, "%s %s\n", dev_name(&channel->indio_dev->dev),
				      names[i]);
		iio_channel_release(channel);
	}
	kfree(names);
	return used;
}

/*
 * /sys/class/misc/hytestN/channels, for whoever assigns the triggers: "iio:device0 force"
 * for each name that an experiment can use without a device.
 */
static ssize_t channels_show(struct device *dev, struct device_attribute *attr, char *page)
{
	const struct miscdevice *misc = dev_get_drvdata(dev);
	const struct hytest_loop *loop = container_of(misc, struct hytest_loop, misc);
	int ret = 0;

	mutex_lock(&nodes_mutex);
	if (nodes[loop->number])
		ret = show_names(nodes[loop->number], page);
	mutex_unlock(&nodes_mutex);
	return ret;
}
static DEVICE_ATTR_RO(channels);

static struct attribute *tree_attrs[] = {
	&dev_attr_channels.attr,
	NULL
};

static const struct attribute_group tree_group = {
	.attrs = tree_attrs,
};

const struct attribute_group *hytest_groups[] = {
	&tree_group,
	NULL
};

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
