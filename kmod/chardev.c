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
#include <linux/vmalloc.h>
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

/*
 * Whenever a process closes a descriptor of this file, also when it dies. The
 * file may live on in a mapping or in a child; its owner is gone all the same.
 */
static int hytest_flush(struct file *filp, fl_owner_t files)
{
	struct hytest_file *file = filp->private_data;

	if (READ_ONCE(file->loop->owner) == file && READ_ONCE(file->owner_files) == files)
		hytest_trip(file->loop, HT_CAUSE_OWNER);
	return 0;
}

static int hytest_release(struct inode *inode, struct file *filp)
{
	struct hytest_file *file = filp->private_data;
	struct hytest_loop *loop = file->loop;

	/* Before anything that may wait: nobody minds the loop any more. */
	if (READ_ONCE(loop->owner) == file)
		hytest_trip(loop, HT_CAUSE_OWNER);
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

/*
 * What an argument points to. It is copied in before the mutex is taken and
 * out after it was left, because user memory may take as long as it likes.
 */
struct payload {
	void *data;		/* kvfree() */
	size_t size;
	u64 to;			/* where user space wants it */
};

static int copy_in(union argument *argument, unsigned int cmd, struct payload *payload)
{
	u64 from;

	switch (cmd) {
	case HYTEST_IOC_LOAD:
		memset(&argument->load.refusal, 0, sizeof(argument->load.refusal));
		argument->load.needed_bytes = argument->load.size;
		if (argument->load.size > hytest_max_image_bytes)
			return -EFBIG;
		from = argument->load.image;
		payload->size = argument->load.size;
		break;
	case HYTEST_IOC_BATCH:
		memset(&argument->batch.refusal, 0, sizeof(argument->batch.refusal));
		if (!argument->batch.count || argument->batch.count > HYTEST_MAX_CHANGES)
			return -EINVAL;
		from = argument->batch.changes;
		payload->size = argument->batch.count * sizeof(struct ht_change);
		break;
	default:
		return 0;
	}
	/* Never less than a header, so that its fields are there to look at. */
	payload->data = hytest_alloc(max(payload->size, sizeof(struct ht_image_header)));
	if (!payload->data)
		return -ENOMEM;
	if (copy_from_user(payload->data, u64_to_user_ptr(from), payload->size))
		return -EFAULT;
	return 0;
}

static int copy_out(const struct payload *payload)
{
	if (payload->to && copy_to_user(u64_to_user_ptr(payload->to), payload->data, payload->size))
		return -EFAULT;
	return 0;
}

/* Hands something of the loop out, as it is now. */
static int give(struct payload *payload, u64 to, const void *data, size_t size)
{
	payload->data = hytest_alloc(max_t(size_t, size, 1));
	if (!payload->data)
		return -ENOMEM;
	memcpy(payload->data, data, size);
	payload->size = size;
	payload->to = to;
	return 0;
}

static int get_image(struct hytest_loop *loop, struct hytest_image *image,
		     struct payload *payload)
{
	const u64 room = image->size;

	if (!loop->image)
		return -ENODATA;
	image->size = loop->image_bytes;
	if (room < loop->image_bytes)
		return -ENOSPC;
	return give(payload, image->buffer, loop->image, loop->image_bytes);
}

static int get_params(struct hytest_loop *loop, const struct hytest_params *params,
		      struct payload *payload)
{
	const struct ht_image_header *h = loop->image;

	if (!h)
		return -ENODATA;
	if (params->first > h->n_params || params->count > h->n_params - params->first)
		return -EINVAL;
	return give(payload, params->values, hytest_params(loop) + params->first,
		    (size_t)params->count * sizeof(u64));
}

static int watch(struct hytest_file *file, unsigned int cmd, union argument *argument,
		 struct payload *payload)
{
	switch (cmd) {
	case HYTEST_IOC_INFO:
		return get_info(file, &argument->info);
	case HYTEST_IOC_IMAGE:
		return get_image(file->loop, &argument->image, payload);
	case HYTEST_IOC_GET_PARAMS:
		return get_params(file->loop, &argument->params, payload);
	case HYTEST_IOC_GET_LOCK:
		return hytest_look_at_lock(file->loop, &argument->lock);
	case HYTEST_IOC_REWIND:
		WRITE_ONCE(file->next_event, 0);
		return 0;
	default:
		return -ENOTTY;
	}
}

static int control(struct hytest_file *file, unsigned int cmd, union argument *argument,
		   struct payload *payload)
{
	struct hytest_loop *loop = file->loop;

	switch (cmd) {
	case HYTEST_IOC_RELEASE:
		hytest_leave_control(loop, file);
		return 0;
	case HYTEST_IOC_LOAD:
		return hytest_load(loop, &argument->load, &payload->data);
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
		return hytest_change(loop, &argument->batch, payload->data);
	default:
		return -ENOTTY;
	}
}

/* Number 0x00..: any file; 0x10..: writable files; 0x20..: the owner. */
static int permitted(struct hytest_file *file, unsigned int cmd)
{
	if (_IOC_NR(cmd) >= 0x10 && !file->writable)
		return -EPERM;
	if (_IOC_NR(cmd) >= 0x20 && READ_ONCE(file->loop->owner) != file)
		return -EPERM;
	return 0;
}

static int dispatch(struct hytest_file *file, unsigned int cmd, union argument *argument,
		    struct payload *payload)
{
	int ret = permitted(file, cmd);

	if (ret)
		return ret;
	if (_IOC_NR(cmd) < 0x10)
		return watch(file, cmd, argument, payload);
	if (cmd == HYTEST_IOC_CONTROL)
		return hytest_take_control(file->loop, file);
	return control(file, cmd, argument, payload);
}

/* The two that must never wait for another system call. */
static int quick(struct hytest_file *file, unsigned int cmd)
{
	int ret = permitted(file, cmd);

	if (ret)
		return ret;
	if (cmd == HYTEST_IOC_TRIP)
		hytest_trip(file->loop, HT_CAUSE_OPERATOR);
	else
		WRITE_ONCE(file->loop->last_heartbeat_ns, ktime_get_ns());
	return 0;
}

static int slow(struct hytest_file *file, unsigned int cmd, union argument *argument)
{
	struct payload payload = { 0 };
	int ret;

	/* Once more under the mutex; here it saves the copy. */
	ret = permitted(file, cmd);
	if (!ret)
		ret = copy_in(argument, cmd, &payload);
	if (ret)
		goto out;
	ret = mutex_lock_interruptible(&file->loop->mutex);
	if (ret)
		goto out;
	ret = dispatch(file, cmd, argument, &payload);
	mutex_unlock(&file->loop->mutex);
	if (!ret)
		ret = copy_out(&payload);
out:
	kvfree(payload.data);
	return ret;
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
	ret = slow(file, cmd, &argument);
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
	u64 next = file->next_event;
	u64 oldest;
	bool found;

	raw_spin_lock_irqsave(&loop->lock, flags);
	oldest = loop->event_head > HYTEST_EVENTS ? loop->event_head - HYTEST_EVENTS : 0;
	found = next < loop->event_head;
	if (found) {
		next = max(next, oldest);
		*event = loop->events[next & (HYTEST_EVENTS - 1)];
		event->dropped = min_t(u64, next - file->next_event, U32_MAX);
	}
	raw_spin_unlock_irqrestore(&loop->lock, flags);
	return found;
}

static bool has_events(struct hytest_file *file)
{
	return READ_ONCE(file->next_event) < READ_ONCE(file->loop->event_head);
}

/* With file->read_mutex held. */
static ssize_t read_events(struct hytest_file *file, char __user *buffer, size_t size)
{
	struct hytest_event event;
	ssize_t done = 0;

	while (done + sizeof(event) <= size && next_event(file, &event)) {
		if (copy_to_user(buffer + done, &event, sizeof(event)))
			return done ? done : -EFAULT;
		done += sizeof(event);
		/* Only what has arrived counts as seen. */
		WRITE_ONCE(file->next_event, event.sequence);
	}
	return done;
}

static ssize_t hytest_read(struct file *filp, char __user *buffer, size_t size, loff_t *offset)
{
	const bool wait = !(filp->f_flags & O_NONBLOCK);
	struct hytest_file *file = filp->private_data;
	ssize_t ret;

	if (size < sizeof(struct hytest_event))
		return -EINVAL;
	do {
		if (wait)
			ret = wait_event_interruptible(file->loop->wait, has_events(file));
		else
			ret = has_events(file) ? 0 : -EAGAIN;
		if (ret)
			return ret;
		ret = mutex_lock_interruptible(&file->read_mutex);
		if (ret)
			return ret;
		ret = read_events(file, buffer, size);
		mutex_unlock(&file->read_mutex);
		/* Another thread may have been faster. */
	} while (!ret);
	return ret;
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

	return hytest_mmap(file->loop, vma);
}

const struct file_operations hytest_fops = {
	.owner = THIS_MODULE,
	.open = hytest_open,
	.flush = hytest_flush,
	.release = hytest_release,
	.unlocked_ioctl = hytest_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.read = hytest_read,
	.poll = hytest_poll,
	.mmap = hytest_file_mmap,
};
