// SPDX-License-Identifier: GPL-2.0
/*
 * Philox4x32-10 of Salmon, Moraes, Dror and Shaw, Parallel Random Numbers: As
 * Easy as 1, 2, 3, SC'11. Its known answers are in selftests/core.
 */
#include "math.h"
#include "philox.h"

#define ROUNDS	10

void ht_philox(const ht_u32 counter[4], const ht_u32 key[2], ht_u32 random[4])
{
	ht_u32 c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
	ht_u32 k0 = key[0], k1 = key[1];
	ht_u32 i;

	for (i = 0; i < ROUNDS; i++) {
		ht_u64 p0 = (ht_u64)0xd2511f53u * c0;
		ht_u64 p1 = (ht_u64)0xcd9e8d57u * c2;

		c0 = (ht_u32)(p1 >> 32) ^ c1 ^ k0;
		c1 = (ht_u32)p1;
		c2 = (ht_u32)(p0 >> 32) ^ c3 ^ k1;
		c3 = (ht_u32)p0;
		k0 += 0x9e3779b9u;
		k1 += 0xbb67ae85u;
	}
	random[0] = c0;
	random[1] = c1;
	random[2] = c2;
	random[3] = c3;
}

double ht_random_unit(ht_u32 high, ht_u32 low)
{
	ht_u64 bits = (ht_u64)high << 21 ^ low >> 11;

	return ((double)(ht_s64)bits + 1.0) * 0x1p-53;
}

double ht_random_normal(const ht_u32 random[4])
{
	double sine, cosine;

	ht_sincos_turns(ht_random_unit(random[2], random[3]), &sine, &cosine);
	return ht_sqrt(-2.0 * ht_log(ht_random_unit(random[0], random[1]))) * cosine;
}
