// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of loops and rigs: megabytes, while other loops run.
 *
 * vmalloc() takes and clears a hundred pages at a time with preemption off, and
 * the threads of a loop that runs would have to wait for that. So take one page
 * at a time.
 */
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "memory.h"

static struct page **take_pages(unsigned long n)
{
	struct page **pages = kvmalloc_array(n, sizeof(*pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	unsigned long i;

	if (!pages)
		return NULL;
	for (i = 0; i < n; i++) {
		pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
		if (!pages[i])
			goto free;
		cond_resched();
	}
	return pages;
free:
	while (i--)
		__free_page(pages[i]);
	kvfree(pages);
	return NULL;
}

void *hytest_alloc(size_t size)
{
	const unsigned long n = DIV_ROUND_UP(size, PAGE_SIZE);
	struct page **pages = take_pages(n);
	unsigned long i;
	void *memory;

	if (!pages)
		return NULL;
	/* From here on the pages and their array belong to the mapping. */
	memory = vmap(pages, n, VM_MAP | VM_MAP_PUT_PAGES, PAGE_KERNEL);
	if (memory)
		return memory;
	for (i = 0; i < n; i++)
		__free_page(pages[i]);
	kvfree(pages);
	return NULL;
}
EXPORT_SYMBOL_GPL(hytest_alloc);
