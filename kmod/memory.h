/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of loops and rigs. */
#ifndef HYTEST_MEMORY_H
#define HYTEST_MEMORY_H

#include <linux/types.h>

/* Zeroed, charged to the caller, silent when there is none; for vfree(). */
void *hytest_alloc(size_t size);

#endif
