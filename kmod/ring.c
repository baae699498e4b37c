// SPDX-License-Identifier: GPL-2.0
/*
 * The ring of records and its mapping.
 *
 * A file maps the status page at offset 0 and the ring behind it, read-only.
 * Pages are handed out as they are touched; a mapping keeps its ring alive
 * when another program is loaded.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "hytest.h"

struct hytest_ring *hytest_ring_alloc(struct hytest_loop *loop, u32 record_size, u32 capacity)
{
	struct hytest_ring *ring = kzalloc(sizeof(*ring), GFP_KERNEL);

	if (!ring)
		return NULL;
	kref_init(&ring->kref);
	ring->loop = loop;
	ring->record_size = record_size;
	ring->capacity = capacity;
	ring->size = PAGE_ALIGN((size_t)record_size * capacity);
	ring->records = hytest_alloc(ring->size);
	if (!ring->records) {
		kfree(ring);
		return NULL;
	}
	return ring;
}

static void ring_free(struct kref *kref)
{
	struct hytest_ring *ring = container_of(kref, struct hytest_ring, kref);

	atomic64_sub(ring->size, &ring->loop->retired_bytes);
	vfree(ring->records);
	kfree(ring);
}

/* The loop has no more use for it; it counts until nobody maps it any more. */
void hytest_ring_retire(struct hytest_ring *ring)
{
	if (!ring)
		return;
	atomic64_add(ring->size, &ring->loop->retired_bytes);
	kref_put(&ring->kref, ring_free);
}

/* What a mapping shows. The loop outlives it: the file holds the module. */
struct view {
	struct kref kref;
	struct hytest_loop *loop;
	struct hytest_ring *ring;	/* NULL: there was no program */
};

static void view_free(struct kref *kref)
{
	struct view *view = container_of(kref, struct view, kref);

	if (view->ring)
		kref_put(&view->ring->kref, ring_free);
	kfree(view);
}

static void view_open(struct vm_area_struct *vma)
{
	struct view *view = vma->vm_private_data;

	kref_get(&view->kref);
}

static void view_close(struct vm_area_struct *vma)
{
	struct view *view = vma->vm_private_data;

	kref_put(&view->kref, view_free);
}

static vm_fault_t view_fault(struct vm_fault *vmf)
{
	struct view *view = vmf->vma->vm_private_data;
	size_t offset = vmf->pgoff << PAGE_SHIFT;

	if (offset < PAGE_SIZE)
		vmf->page = virt_to_page(view->loop->status);
	else if (view->ring && offset - PAGE_SIZE < view->ring->size)
		vmf->page = vmalloc_to_page(view->ring->records + offset - PAGE_SIZE);
	else
		return VM_FAULT_SIGBUS;
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct view_ops = {
	.open = view_open,
	.close = view_close,
	.fault = view_fault,
};

static struct view *make_view(struct hytest_loop *loop)
{
	struct view *view = kzalloc(sizeof(*view), GFP_KERNEL);
	unsigned long flags;

	if (!view)
		return NULL;
	kref_init(&view->kref);
	view->loop = loop;
	raw_spin_lock_irqsave(&loop->lock, flags);
	view->ring = loop->ring;
	if (view->ring)
		kref_get(&view->ring->kref);
	raw_spin_unlock_irqrestore(&loop->lock, flags);
	return view;
}

/* Called with the caller's mmap lock held, so it must not take loop->mutex. */
int hytest_mmap(struct hytest_loop *loop, struct vm_area_struct *vma)
{
	struct view *view;
	size_t pages;

	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	view = make_view(loop);
	if (!view)
		return -ENOMEM;
	pages = 1 + (view->ring ? view->ring->size >> PAGE_SHIFT : 0);
	if (vma->vm_pgoff >= pages || vma_pages(vma) > pages - vma->vm_pgoff) {
		kref_put(&view->kref, view_free);
		return -ENXIO;
	}
	hytest_restrict_mapping(vma);
	vma->vm_private_data = view;
	vma->vm_ops = &view_ops;
	return 0;
}
