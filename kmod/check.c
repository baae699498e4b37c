// SPDX-License-Identifier: GPL-2.0
/*
 * Checks a program image: size, CRC, structure, kind.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/stddef.h>

#include "check.h"
#include "fpu.h"

/* The CRC is made in pieces, so that preemption is never off for long. */
#define CRC_PIECE	SZ_64K

static u32 image_crc(const void *image, size_t size)
{
	const size_t at = offsetof(struct ht_image_header, crc);
	const u32 zero = 0;
	u32 crc;

	hytest_fpu_begin();
	crc = ht_crc32(0, image, at);
	crc = ht_crc32(crc, &zero, sizeof(zero));
	hytest_fpu_end();
	image += at + sizeof(zero);
	size -= at + sizeof(zero);
	while (size) {
		size_t piece = min_t(size_t, size, CRC_PIECE);

		hytest_fpu_begin();
		crc = ht_crc32(crc, image, piece);
		hytest_fpu_end();
		image += piece;
		size -= piece;
		cond_resched();
	}
	return crc;
}

static int refuse(struct ht_error *error, u32 code, u64 value)
{
	*error = (struct ht_error){ .code = code, .value = value };
	return -EINVAL;
}

int hytest_check_image(const void *image, size_t size, u32 kind, struct ht_error *error)
{
	const struct ht_image_header *h = image;
	int code;

	if (size < sizeof(*h) || h->size != size)
		return refuse(error, HT_ERR_SIZE, size);
	/* What is no image at all, or a newer one, is told so below. */
	if (h->magic == HT_IMAGE_MAGIC && image_crc(image, size) != h->crc)
		return refuse(error, HT_ERR_CRC, h->crc);
	hytest_fpu_begin();
	code = ht_image_check_structure(image, size, error);
	hytest_fpu_end();
	if (code)
		return -EINVAL;
	if (h->kind != kind)
		return refuse(error, HT_ERR_KIND, h->kind);
	return 0;
}
EXPORT_SYMBOL_GPL(hytest_check_image);

static_assert(sizeof(struct hytest_refusal) == sizeof(struct ht_error));

int hytest_refuse(struct hytest_refusal *refusal, const struct ht_error *error)
{
	*refusal = (struct hytest_refusal){
		.code = error->code,
		.where = error->where,
		.index = error->index,
		.item = error->item,
		.value = error->value,
	};
	return -EINVAL;
}
EXPORT_SYMBOL_GPL(hytest_refuse);
