// SPDX-License-Identifier: GPL-2.0
/*
 * What goes wrong with a rig: debugfs hytest_rig/NAME/fault and reset. The words
 * are described in linux/hytest_rig.h.
 *
 * All lines of one write are read before the first of them acts; then they act
 * at the same moment.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "fpu.h"
#include "rig.h"

#define MAX_TEXT	4096	/* of one write */
#define MAX_ORDERS	64	/* lines of it */
#define MAX_LATE_US	10000000

#define ALL_CHANNELS	U32_MAX
#define NO_CHANNEL	(U32_MAX - 1)

/* One line. */
struct order {
	u32 fault;		/* enum ht_fault, or HT_FAULTS: of the converters */
	u32 channel;
	union ht_real value;
	size_t member;		/* of struct hytest_rig_faults */
	s32 count;
};

/* Faults of the converters, which have a whole number. */
static const struct {
	const char *word;
	size_t member;
	s32 min;
	s32 max;
} converter_faults[] = {
	{ "late", offsetof(struct hytest_rig_faults, late_us), 0, MAX_LATE_US },
	{ "lost", offsetof(struct hytest_rig_faults, lost), -1, S32_MAX },
	{ "read-error", offsetof(struct hytest_rig_faults, read_errors), -1, S32_MAX },
	{ "write-error", offsetof(struct hytest_rig_faults, write_errors), -1, S32_MAX },
};

static struct dentry *root;

static s32 *converter_fault(struct hytest_rig *rig, size_t member)
{
	return (void *)&rig->faults + member;
}

bool hytest_fault_strikes(s32 *left)
{
	if (*left > 0)
		return (*left)--;
	return *left;
}

static const char *fault_word(u32 fault)
{
	const char *word;

	hytest_fpu_begin();
	word = ht_fault_name(fault);
	hytest_fpu_end();
	return word;
}

static bool is_for_dac(u32 fault)
{
	bool ret;

	hytest_fpu_begin();
	ret = ht_fault_is_for_dac(fault);
	hytest_fpu_end();
	return ret;
}

static bool has_value(u32 fault)
{
	return fault == HT_FAULT_SPIKE || fault == HT_FAULT_DRIFT ||
	       fault == HT_FAULT_SATURATION || fault == HT_FAULT_RUNAWAY;
}

/* Says what is wrong with a line, and what would be right. */
static int refuse(struct hytest_rig *rig, const char *word, const char *cause)
{
	pr_warn("%s: fault \"%.40s\": %s\n", rig->name, word, cause);
	return -EINVAL;
}

/* A channel by its number or by its label. */
static u32 find_channel(struct hytest_rig *rig, bool dac, const char *text)
{
	const struct ht_image *image = &rig->parts;
	const u32 n = dac ? image->header->n_inputs : image->header->n_outputs;
	u32 i;

	if (!kstrtou32(text, 10, &i))
		return i < n ? i : NO_CHANNEL;
	for (i = 0; i < n; i++)
		if (!strcmp(text, dac ? image->inputs[i].channel.name :
				  image->outputs[i].channel.name))
			return i;
	return NO_CHANNEL;
}

static int parse_channel(struct hytest_rig *rig, struct order *order, const char *word,
			 const char *text)
{
	const bool dac = is_for_dac(order->fault);

	if (!text)
		return refuse(rig, word, "which channel? A number or a label must follow");
	order->channel = find_channel(rig, dac, text);
	if (order->channel == NO_CHANNEL && order->fault == HT_FAULT_NONE)
		order->channel = find_channel(rig, true, text);
	if (order->channel == NO_CHANNEL)
		return refuse(rig, word, dac ? "there is no such DAC channel" :
			      "there is no such ADC channel");
	return 0;
}

static int parse_value(struct hytest_rig *rig, struct order *order, const char *word,
		       const char *text)
{
	int ok;

	if (!text)
		return refuse(rig, word, "a value in V or V/s must follow the channel");
	hytest_fpu_begin();
	ok = ht_rig_number(text, &order->value.value);
	hytest_fpu_end();
	return ok ? 0 : refuse(rig, word, "the value is no number like -1.5");
}

static int parse_count(struct hytest_rig *rig, struct order *order, unsigned int which,
		       const char *text)
{
	const char *word = converter_faults[which].word;

	if (!text || kstrtos32(text, 10, &order->count) ||
	    order->count < converter_faults[which].min ||
	    order->count > converter_faults[which].max)
		return refuse(rig, word, which ? "a number must follow, or -1 for all" :
			      "microseconds must follow, 0 to 10000000");
	order->fault = HT_FAULTS;
	order->member = converter_faults[which].member;
	return 0;
}

/* The next word of a line, or NULL. */
static char *next_word(char **line)
{
	char *word;

	do
		word = strsep(line, " \t");
	while (word && !*word);
	return word;
}

static int parse_channel_fault(struct hytest_rig *rig, struct order *order, const char *word,
			       char **line)
{
	const char *channel = next_word(line);
	int ret;

	if (order->fault == HT_FAULT_NONE && !channel) {
		order->channel = ALL_CHANNELS;
		return 0;
	}
	ret = parse_channel(rig, order, word, channel);
	if (!ret && has_value(order->fault))
		ret = parse_value(rig, order, word, next_word(line));
	return ret;
}

static int parse_kind(struct hytest_rig *rig, struct order *order, const char *word, char **line)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(converter_faults); i++)
		if (!strcmp(word, converter_faults[i].word))
			return parse_count(rig, order, i, next_word(line));
	for (i = 0; i < HT_FAULTS; i++) {
		if (strcmp(word, fault_word(i)))
			continue;
		order->fault = i;
		return parse_channel_fault(rig, order, word, line);
	}
	return refuse(rig, word, "there is no such fault; linux/hytest_rig.h lists them");
}

static int parse_line(struct hytest_rig *rig, struct order *order, char *line)
{
	const char *word = next_word(&line);
	int ret = parse_kind(rig, order, word, &line);

	if (!ret && next_word(&line))
		ret = refuse(rig, word, "there is more on the line than belongs to it");
	return ret;
}

/* Returns how many there are. */
static int parse(struct hytest_rig *rig, struct order *orders, char *text)
{
	int n = 0, ret;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		line = strim(line);
		if (!*line)
			continue;
		if (n == MAX_ORDERS)
			return refuse(rig, line, "too many lines at once");
		ret = parse_line(rig, &orders[n++], line);
		if (ret)
			return ret;
	}
	return n;
}

static void set_channel_fault(struct hytest_rig *rig, u32 fault, u32 channel,
			      const union ht_real *value)
{
	hytest_fpu_begin();
	ht_rig_fault(rig->core, fault, channel, &value->value);
	hytest_fpu_end();
}

static void end_all(struct hytest_rig *rig)
{
	const struct ht_image_header *h = rig->parts.header;
	const union ht_real zero = { .bits = 0 };
	u32 i;

	memset(&rig->faults, 0, sizeof(rig->faults));
	for (i = 0; i < max(h->n_inputs, h->n_outputs); i++)
		set_channel_fault(rig, HT_FAULT_NONE, i, &zero);
}

static void obey(struct hytest_rig *rig, const struct order *order)
{
	if (order->fault == HT_FAULTS)
		*converter_fault(rig, order->member) = order->count;
	else if (order->channel == ALL_CHANNELS)
		end_all(rig);
	else
		set_channel_fault(rig, order->fault, order->channel, &order->value);
}

static int inject(struct hytest_rig *rig, char *text)
{
	struct order *orders = kcalloc(MAX_ORDERS, sizeof(*orders), GFP_KERNEL);
	int i, n, ret;

	if (!orders)
		return -ENOMEM;
	n = parse(rig, orders, text);
	ret = min(n, 0);
	if (!ret) {
		mutex_lock(&rig->mutex);
		ret = hytest_plant_advance(rig, ktime_get_ns());
		for (i = 0; !ret && i < n; i++)
			obey(rig, &orders[i]);
		mutex_unlock(&rig->mutex);
	}
	kfree(orders);
	return ret;
}

static ssize_t fault_write(struct file *file, const char __user *user, size_t size, loff_t *at)
{
	struct hytest_rig *rig = file_inode(file)->i_private;
	char *text;
	int ret;

	if (size >= MAX_TEXT)
		return -EINVAL;
	text = memdup_user_nul(user, size);
	if (IS_ERR(text))
		return PTR_ERR(text);
	ret = strlen(text) == size ? inject(rig, text) : -EINVAL;
	kfree(text);
	return ret ? ret : size;
}

static void show_channel_faults(struct seq_file *seq, struct hytest_rig *rig)
{
	const struct ht_image_header *h = rig->parts.header;
	u32 i, fault;

	for (i = 0; i < h->n_outputs; i++) {
		hytest_fpu_begin();
		fault = ht_rig_adc_fault(rig->core, i);
		hytest_fpu_end();
		if (fault)
			seq_printf(seq, "%s %u\n", fault_word(fault), i);
	}
	for (i = 0; i < h->n_inputs; i++) {
		hytest_fpu_begin();
		fault = ht_rig_dac_fault(rig->core, i);
		hytest_fpu_end();
		if (fault)
			seq_printf(seq, "%s %u\n", fault_word(fault), i);
	}
}

static int fault_show(struct seq_file *seq, void *unused)
{
	struct hytest_rig *rig = seq->private;
	unsigned int i;

	mutex_lock(&rig->mutex);
	show_channel_faults(seq, rig);
	for (i = 0; i < ARRAY_SIZE(converter_faults); i++) {
		const s32 count = *converter_fault(rig, converter_faults[i].member);

		if (count)
			seq_printf(seq, "%s %d\n", converter_faults[i].word, count);
	}
	mutex_unlock(&rig->mutex);
	return 0;
}

static int fault_open(struct inode *inode, struct file *file)
{
	return single_open(file, fault_show, inode->i_private);
}

static const struct file_operations fault_fops = {
	.owner = THIS_MODULE,
	.open = fault_open,
	.read = seq_read,
	.write = fault_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static ssize_t reset_write(struct file *file, const char __user *user, size_t size, loff_t *at)
{
	struct hytest_rig *rig = file_inode(file)->i_private;

	mutex_lock(&rig->mutex);
	hytest_plant_reset(rig);
	mutex_unlock(&rig->mutex);
	return size;
}

static const struct file_operations reset_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = reset_write,
};

void hytest_fault_add(struct hytest_rig *rig)
{
	rig->directory = debugfs_create_dir(rig->name, root);
	debugfs_create_file("fault", 0600, rig->directory, rig, &fault_fops);
	debugfs_create_file("reset", 0200, rig->directory, rig, &reset_fops);
}

/* Waits for those who are reading or writing right now. */
void hytest_fault_remove(struct hytest_rig *rig)
{
	debugfs_remove_recursive(rig->directory);
}

void hytest_fault_init(void)
{
	root = debugfs_create_dir(HYTEST_RIG_DRIVER, NULL);
}

void hytest_fault_exit(void)
{
	debugfs_remove_recursive(root);
}
