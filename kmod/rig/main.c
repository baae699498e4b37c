// SPDX-License-Identifier: GPL-2.0
/*
 * hytest_rig: simulated rigs. /dev/hytest_rig makes and removes them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/compat.h>
#include <linux/ctype.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "check.h"
#include "memory.h"
#include "rig.h"

#define MAX_IMAGE_BYTES	SZ_16M

static_assert(sizeof(struct hytest_refusal) == sizeof(struct ht_error));

static LIST_HEAD(rigs);
static DEFINE_MUTEX(rigs_mutex);	/* the list; one rig comes or goes at a time */
static DEFINE_IDA(numbers);

/* It becomes the name of a directory, too. */
static bool is_good_name(const char *name)
{
	const size_t length = strnlen(name, HYTEST_RIG_NAME_LEN);
	size_t i;

	if (!length || length == HYTEST_RIG_NAME_LEN || name[0] == '.')
		return false;
	for (i = 0; i < length; i++)
		if (!isascii(name[i]) || (!isalnum(name[i]) && !strchr("-_.", name[i])))
			return false;
	return true;
}

/* With rigs_mutex held. */
static struct hytest_rig *find_rig(const char *name)
{
	struct hytest_rig *rig;

	list_for_each_entry(rig, &rigs, list)
		if (!strncmp(rig->name, name, sizeof(rig->name)))
			return rig;
	return NULL;
}

static void pull_out(struct hytest_rig *rig)
{
	platform_device_unregister(rig->device);
	ida_free(&numbers, rig->number);
}

/* The platform device; it is probed before this returns. */
static int plug_in(struct hytest_rig *rig)
{
	rig->number = ida_alloc(&numbers, GFP_KERNEL);
	if (rig->number < 0)
		return rig->number;
	rig->iio_number = -1;
	rig->device = platform_device_register_data(NULL, HYTEST_RIG_DRIVER, rig->number, &rig,
						    sizeof(rig));
	if (IS_ERR(rig->device)) {
		ida_free(&numbers, rig->number);
		return PTR_ERR(rig->device);
	}
	if (rig->iio_number >= 0)
		return 0;
	pull_out(rig);
	return -ENODEV;
}

static void free_rig(struct hytest_rig *rig)
{
	hytest_plant_stop(rig);
	hytest_plant_free(rig);
	vfree(rig->image);
	kfree(rig);
}

/* Takes the image over, whatever happens. */
static struct hytest_rig *make_rig(const char *name, void *image, size_t size,
				   struct ht_error *error)
{
	struct hytest_rig *rig;
	int ret;

	ret = hytest_check_image(image, size, HT_IMAGE_RIG, error);
	if (ret) {
		vfree(image);
		return ERR_PTR(ret);
	}
	rig = kzalloc(sizeof(*rig), GFP_KERNEL);
	if (!rig) {
		vfree(image);
		return ERR_PTR(-ENOMEM);
	}
	strscpy(rig->name, name, sizeof(rig->name));
	rig->image = image;
	ret = hytest_plant_build(rig, error);
	if (ret) {
		free_rig(rig);
		return ERR_PTR(ret);
	}
	return rig;
}

/* From here on it is another's to remove. */
static int add_rig(struct hytest_rig *rig, u32 *iio_number)
{
	int ret;

	mutex_lock(&rigs_mutex);
	ret = find_rig(rig->name) ? -EEXIST : plug_in(rig);
	if (!ret) {
		*iio_number = rig->iio_number;
		hytest_fault_add(rig);
		list_add_tail(&rig->list, &rigs);
	}
	mutex_unlock(&rigs_mutex);
	return ret;
}

/* With rigs_mutex held. */
static void remove_rig(struct hytest_rig *rig)
{
	list_del(&rig->list);
	hytest_fault_remove(rig);
	pull_out(rig);
	free_rig(rig);
}

static int check_request(struct hytest_rig_create *create)
{
	memset(&create->refusal, 0, sizeof(create->refusal));
	if (!is_good_name(create->name))
		return hytest_refuse(&create->refusal,
				     &(struct ht_error){ .code = HT_ERR_NAME });
	if (create->reserved)
		return hytest_refuse(&create->refusal,
				     &(struct ht_error){ .code = HT_ERR_RESERVED });
	return create->size > MAX_IMAGE_BYTES ? -EFBIG : 0;
}

/* One copy, so that nobody can change it after it was checked. */
static void *copy_image(const struct hytest_rig_create *create)
{
	/* Never less than a header, so that its fields are there to look at. */
	const size_t room = max_t(size_t, create->size, sizeof(struct ht_image_header));
	void *image = hytest_alloc(room);

	if (!image)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(image, u64_to_user_ptr(create->image), create->size)) {
		vfree(image);
		return ERR_PTR(-EFAULT);
	}
	return image;
}

static int create_rig(struct hytest_rig_create *create)
{
	struct ht_error error = { 0 };
	struct hytest_rig *rig;
	void *image;
	int ret;

	ret = check_request(create);
	if (ret)
		return ret;
	image = copy_image(create);
	if (IS_ERR(image))
		return PTR_ERR(image);
	rig = make_rig(create->name, image, create->size, &error);
	if (IS_ERR(rig))
		return error.code ? hytest_refuse(&create->refusal, &error) : PTR_ERR(rig);
	ret = add_rig(rig, &create->device);
	if (ret)
		free_rig(rig);
	return ret;
}

static int create(void __user *user)
{
	struct hytest_rig_create argument;
	int ret;

	if (copy_from_user(&argument, user, sizeof(argument)))
		return -EFAULT;
	ret = create_rig(&argument);
	/* Also after a refusal: the structure says why. */
	if (copy_to_user(user, &argument, sizeof(argument)))
		return -EFAULT;
	return ret;
}

static int change(void __user *user, void (*action)(struct hytest_rig *rig))
{
	struct hytest_rig_name argument;
	struct hytest_rig *rig;

	if (copy_from_user(&argument, user, sizeof(argument)))
		return -EFAULT;
	mutex_lock(&rigs_mutex);
	rig = find_rig(argument.name);
	if (rig)
		action(rig);
	mutex_unlock(&rigs_mutex);
	return rig ? 0 : -ENOENT;
}

static void reset_rig(struct hytest_rig *rig)
{
	mutex_lock(&rig->mutex);
	hytest_plant_reset(rig);
	mutex_unlock(&rig->mutex);
}

static long rig_ioctl(struct file *file, unsigned int cmd, unsigned long argument)
{
	void __user *user = (void __user *)argument;

	if (!(file->f_mode & FMODE_WRITE))
		return -EPERM;
	switch (cmd) {
	case HYTEST_RIG_IOC_CREATE:
		return create(user);
	case HYTEST_RIG_IOC_REMOVE:
		return change(user, remove_rig);
	case HYTEST_RIG_IOC_RESET:
		return change(user, reset_rig);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations rig_fops = {
	.owner = THIS_MODULE,
	.open = nonseekable_open,
	.unlocked_ioctl = rig_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice rig_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = HYTEST_RIG_DRIVER,
	.fops = &rig_fops,
	.mode = 0660,
};

static int __init rig_init(void)
{
	int ret;

	hytest_fault_init();
	ret = platform_driver_register(&hytest_rig_driver);
	if (ret)
		goto no_driver;
	ret = misc_register(&rig_misc);
	if (ret)
		goto no_device;
	return 0;

no_device:
	platform_driver_unregister(&hytest_rig_driver);
no_driver:
	hytest_fault_exit();
	return ret;
}
module_init(rig_init);

static void __exit rig_exit(void)
{
	struct hytest_rig *rig, *next;

	misc_deregister(&rig_misc);
	mutex_lock(&rigs_mutex);
	list_for_each_entry_safe(rig, next, &rigs, list)
		remove_rig(rig);
	mutex_unlock(&rigs_mutex);
	platform_driver_unregister(&hytest_rig_driver);
	hytest_fault_exit();
	ida_destroy(&numbers);
}
module_exit(rig_exit);

MODULE_DESCRIPTION("Simulated rigs for real-time hybrid testing");
MODULE_AUTHOR("The hytest developers");
MODULE_LICENSE("GPL");
