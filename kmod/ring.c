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

struct hytest_ring *hytest_ring_alloc(u32 record_size, u32 capacity)
{
	struct hytest_ring *ring = kzalloc(sizeof(*ring), GFP_KERNEL);

	if (!ring)
		return NULL;
	kref_init(&ring->kref);
	ring->record_size = record_size;
	ring->capacity = capacity;
	ring->size = PAGE_ALIGN((size_t)record_size * capacity);
	ring->records = vzalloc(ring->size);
	if (!ring->records) {
		kfree(ring);
		return NULL;
	}
	return ring;
}

static void ring_free(struct kref *kref)
{
	struct hytest_ring *ring = container_of(kref, struct hytest_ring, kref);

	vfree(ring->records);
	kfree(ring);
}

void hytest_ring_put(struct hytest_ring *ring)
{
	if (ring)
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

	hytest_ring_put(view->ring);
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

/* With loop->mutex held. */
int hytest_mmap(struct hytest_loop *loop, struct vm_area_struct *vma)
{
	size_t mapping = PAGE_SIZE + (loop->ring ? loop->ring->size : 0);
	struct view *view;

	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	if (vma->vm_pgoff >= mapping >> PAGE_SHIFT ||
	    vma_pages(vma) > (mapping >> PAGE_SHIFT) - vma->vm_pgoff)
		return -ENXIO;
	view = kzalloc(sizeof(*view), GFP_KERNEL);
	if (!view)
		return -ENOMEM;
	kref_init(&view->kref);
	view->loop = loop;
	view->ring = loop->ring;
	if (view->ring)
		kref_get(&view->ring->kref);
	hytest_map_read_only(vma);
	vma->vm_private_data = view;
	vma->vm_ops = &view_ops;
	return 0;
}
