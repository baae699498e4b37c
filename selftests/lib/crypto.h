/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel crypto through AF_ALG: a kernel user of the FPU that a test can call.
 */
#ifndef SELFTESTS_CRYPTO_H
#define SELFTESTS_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>

#define CRYPTO_BYTES	16384	/* of one computation */

struct crypto {
	int cipher;		/* bound sockets */
	int hash;
	unsigned char plain[CRYPTO_BYTES];
	unsigned char expected[CRYPTO_BYTES];
	unsigned char expected_hash[32];
	char cipher_driver[64];
	char hash_driver[64];
};

/*
 * Binds ctr(aes) and sha256, checks them against published answers and keeps
 * the first results. Call it while no loop runs. False with a message if the
 * cipher's driver does not use the FPU or an answer is wrong.
 */
bool crypto_open(struct crypto *crypto);
void crypto_close(struct crypto *crypto);
/* Computes both again; false if a result differs from the first one. */
bool crypto_check(const struct crypto *crypto);

#endif
