// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/hytestN: who may do what, and the way of structures in and out.
 */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "hytest.h"

static int hytest_open(struct inode *inode, struct file *filp)
{
	struct hytest_loop *loop = container_of(filp->private_data, struct hytest_loop, misc);
	struct hytest_file *file = kzalloc(sizeof(*file), GFP_KERNEL);

	if (!file)
		return -ENOMEM;
	file->loop = loop;
	file->writable = filp->f_mode & FMODE_WRITE;
	/* A new reader is told what happens from now on. */
	file->next_event = READ_ONCE(loop->event_head);
	mutex_init(&file->read_mutex);
	filp->private_data = file;
	return nonseekable_open(inode, filp);
}

static int hytest_release(struct inode *inode, struct file *filp)
{
	struct hytest_file *file = filp->private_data;
	struct hytest_loop *loop = file->loop;

	mutex_lock(&loop->mutex);
	hytest_leave_control(loop, file);
	mutex_unlock(&loop->mutex);
	mutex_destroy(&file->read_mutex);
	kfree(file);
	return 0;
}

static int get_info(struct hytest_file *file, struct hytest_info *info)
{
	struct hytest_loop *loop = file->loop;

	*info = (struct hytest_info){
		.version = HYTEST_UAPI_VERSION,
		.image_version = HT_IMAGE_VERSION,
		.state = hytest_state(loop),
		.loop = loop->number,
		.max_image_bytes = hytest_max_image_bytes,
		.max_loop_bytes = hytest_max_loop_bytes,
		.loop_bytes = loop->loop_bytes,
		.image_bytes = loop->image_bytes,
		.controlled = !loop->owner ? 0 : loop->owner == file ? 1 : 2,
		.block_types = ht_n_block_types,
	};
	return 0;
}

static int get_image(struct hytest_loop *loop, struct hytest_image *image)
{
	const u64 room = image->size;

	if (!loop->image)
		return -ENODATA;
	image->size = loop->image_bytes;
	if (room < loop->image_bytes)
		return -ENOSPC;
	if (copy_to_user(u64_to_user_ptr(image->buffer), loop->image, loop->image_bytes))
		return -EFAULT;
	return 0;
}

/* All structures that come and go, copied once. */
union argument {
	struct hytest_info info;
	struct hytest_image image;
	struct hytest_params params;
	struct hytest_lock lock;
	struct hytest_load load;
	struct hytest_arm arm;
	struct hytest_batch batch;
};

static int watch(struct hytest_file *file, unsigned int cmd, union argument *argument)
{
	switch (cmd) {
	case HYTEST_IOC_INFO:
		return get_info(file, &argument->info);
	case HYTEST_IOC_IMAGE:
		return get_image(file->loop, &argument->image);
	case HYTEST_IOC_GET_PARAMS:
		return hytest_get_params(file->loop, &argument->params);
	case HYTEST_IOC_GET_LOCK:
		return hytest_look_at_lock(file->loop, &argument->lock);
	default:
		return -ENOTTY;
	}
}

static int control(struct hytest_file *file, unsigned int cmd, union argument *argument)
{
	struct hytest_loop *loop = file->loop;

	switch (cmd) {
	case HYTEST_IOC_RELEASE:
		hytest_leave_control(loop, file);
		return 0;
	case HYTEST_IOC_LOAD:
		return hytest_load(loop, &argument->load);
	case HYTEST_IOC_UNLOAD:
		return hytest_unload(loop);
	case HYTEST_IOC_ARM:
		return hytest_arm(loop, &argument->arm);
	case HYTEST_IOC_DISARM:
		return hytest_disarm(loop);
	case HYTEST_IOC_START:
		return hytest_start(loop);
	case HYTEST_IOC_STOP:
		return hytest_stop(loop);
	case HYTEST_IOC_ACK:
		return hytest_acknowledge(loop);
	case HYTEST_IOC_BATCH:
		return hytest_change(loop, &argument->batch);
	default:
		return -ENOTTY;
	}
}

/* Number 0x00..: any file; 0x10..: writable files; 0x20..: the owner. */
static int dispatch(struct hytest_file *file, unsigned int cmd, union argument *argument)
{
	struct hytest_loop *loop = file->loop;

	if (_IOC_NR(cmd) < 0x10)
		return watch(file, cmd, argument);
	if (!file->writable)
		return -EPERM;
	if (cmd == HYTEST_IOC_CONTROL)
		return hytest_take_control(loop, file);
	if (_IOC_NR(cmd) < 0x20)
		return -ENOTTY;
	if (loop->owner != file)
		return -EPERM;
	return control(file, cmd, argument);
}

/* The two that must never wait for another system call. */
static int quick(struct hytest_file *file, unsigned int cmd)
{
	if (!file->writable)
		return -EPERM;
	if (cmd == HYTEST_IOC_TRIP) {
		hytest_trip(file->loop, HT_CAUSE_OPERATOR);
		return 0;
	}
	if (READ_ONCE(file->loop->owner) != file)
		return -EPERM;
	WRITE_ONCE(file->loop->last_heartbeat_ns, ktime_get_ns());
	return 0;
}

static long hytest_ioctl(struct file *filp, unsigned int cmd, unsigned long user)
{
	struct hytest_file *file = filp->private_data;
	const unsigned int size = _IOC_SIZE(cmd);
	union argument argument;
	int ret;

	if (_IOC_TYPE(cmd) != 'H' || size > sizeof(argument))
		return -ENOTTY;
	if (cmd == HYTEST_IOC_TRIP || cmd == HYTEST_IOC_HEARTBEAT)
		return quick(file, cmd);
	memset(&argument, 0, sizeof(argument));
	if ((_IOC_DIR(cmd) & _IOC_WRITE) && copy_from_user(&argument, (void __user *)user, size))
		return -EFAULT;
	if (mutex_lock_interruptible(&file->loop->mutex))
		return -ERESTARTSYS;
	ret = dispatch(file, cmd, &argument);
	mutex_unlock(&file->loop->mutex);
	/* Also after a refusal: the structure says why. */
	if (ret != -ENOTTY && (_IOC_DIR(cmd) & _IOC_READ) &&
	    copy_to_user((void __user *)user, &argument, size))
		return -EFAULT;
	return ret;
}

/* The oldest event that this file has not seen. */
static bool next_event(struct hytest_file *file, struct hytest_event *event)
{
	struct hytest_loop *loop = file->loop;
	unsigned long flags;
	u64 oldest;
	bool found;

	raw_spin_lock_irqsave(&loop->lock, flags);
	oldest = loop->event_head > HYTEST_EVENTS ? loop->event_head - HYTEST_EVENTS : 0;
	found = file->next_event < loop->event_head;
	if (found) {
		u64 dropped = file->next_event < oldest ? oldest - file->next_event : 0;

		file->next_event += dropped;
		*event = loop->events[file->next_event & (HYTEST_EVENTS - 1)];
		event->dropped = min_t(u64, dropped, U32_MAX);
		file->next_event++;
	}
	raw_spin_unlock_irqrestore(&loop->lock, flags);
	return found;
}

static bool has_events(struct hytest_file *file)
{
	return READ_ONCE(file->next_event) < READ_ONCE(file->loop->event_head);
}

static ssize_t hytest_read(struct file *filp, char __user *buffer, size_t size, loff_t *offset)
{
	struct hytest_file *file = filp->private_data;
	struct hytest_event event;
	ssize_t done = 0;
	int ret;

	if (size < sizeof(event))
		return -EINVAL;
	ret = mutex_lock_interruptible(&file->read_mutex);
	if (ret)
		return ret;
	if (!has_events(file) && (filp->f_flags & O_NONBLOCK))
		ret = -EAGAIN;
	else
		ret = wait_event_interruptible(file->loop->wait, has_events(file));
	while (!ret && done + sizeof(event) <= size && next_event(file, &event)) {
		if (copy_to_user(buffer + done, &event, sizeof(event)))
			ret = -EFAULT;
		else
			done += sizeof(event);
	}
	mutex_unlock(&file->read_mutex);
	return done ? done : ret;
}

static __poll_t hytest_poll(struct file *filp, struct poll_table_struct *table)
{
	struct hytest_file *file = filp->private_data;

	poll_wait(filp, &file->loop->wait, table);
	return has_events(file) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int hytest_file_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct hytest_file *file = filp->private_data;
	int ret;

	ret = mutex_lock_interruptible(&file->loop->mutex);
	if (ret)
		return ret;
	ret = hytest_mmap(file->loop, vma);
	mutex_unlock(&file->loop->mutex);
	return ret;
}

const struct file_operations hytest_fops = {
	.owner = THIS_MODULE,
	.open = hytest_open,
	.release = hytest_release,
	.unlocked_ioctl = hytest_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.read = hytest_read,
	.poll = hytest_poll,
	.mmap = hytest_file_mmap,
};
