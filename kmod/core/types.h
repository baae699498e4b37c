/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Plain types of the core.
 *
 * The core is compiled into the kernel module and into user space, so it
 * includes neither kernel nor libc headers. These are all the types it needs.
 */
#ifndef HT_CORE_TYPES_H
#define HT_CORE_TYPES_H

typedef unsigned char ht_u8;
typedef unsigned int ht_u32;
typedef int ht_s32;
typedef unsigned long long ht_u64;
typedef long long ht_s64;

#define HT_NULL ((void *)0)

#define HT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A double and its 64 bits: the kernel outside the core only sees the bits. */
union ht_real {
	double value;
	ht_u64 bits;
};

static inline ht_u64 ht_bits(double value)
{
	union ht_real r = { .value = value };

	return r.bits;
}

/* Finite by its bits: exact whatever the compiler thinks of NaN. */
static inline int ht_finite(const double *value)
{
	const union ht_real *r = (const union ht_real *)value;

	return ((r->bits >> 52) & 0x7ff) != 0x7ff;
}

#endif
