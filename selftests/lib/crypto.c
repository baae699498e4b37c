// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel crypto through AF_ALG: see crypto.h.
 */
#include <linux/if_alg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "crypto.h"

/* NIST SP 800-38A, F.5.1: CTR-AES128.Encrypt. */
static const unsigned char key[16] = {
	0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
	0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c,
};

static const unsigned char counter[16] = {
	0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7,
	0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff,
};

static const unsigned char nist_plain[16] = {
	0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96,
	0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a,
};

static const unsigned char nist_cipher[16] = {
	0x87, 0x4d, 0x61, 0x91, 0xb6, 0x20, 0xe3, 0x26,
	0x1b, 0xef, 0x68, 0x64, 0x99, 0x0d, 0xb6, 0xce,
};

/* FIPS 180-2, appendix B.1: SHA-256 of "abc". */
static const unsigned char abc_hash[32] = {
	0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea,
	0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
	0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c,
	0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
};

static int bind_algorithm(const char *type, const char *name)
{
	struct sockaddr_alg address = { .salg_family = AF_ALG };
	int fd = socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf((char *)address.salg_type, sizeof(address.salg_type), "%s", type);
	snprintf((char *)address.salg_name, sizeof(address.salg_name), "%s", name);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The driver of highest priority of an algorithm, from /proc/crypto. */
static void find_driver(const char *wanted, char *driver, size_t size)
{
	char line[256], name[128] = "", candidate[128] = "";
	int priority, best = -1;
	FILE *file = fopen("/proc/crypto", "re");

	driver[0] = '\0';
	while (file && fgets(line, sizeof(line), file)) {
		sscanf(line, "name : %127s", name);
		sscanf(line, "driver : %127s", candidate);
		if (sscanf(line, "priority : %d", &priority) != 1 || strcmp(name, wanted))
			continue;
		if (priority > best) {
			best = priority;
			snprintf(driver, size, "%s", candidate);
		}
	}
	if (file)
		fclose(file);
}

static bool encrypt(int bound, const unsigned char *in, unsigned char *out, size_t size)
{
	union {
		char bytes[CMSG_SPACE(sizeof(uint32_t)) +
			   CMSG_SPACE(sizeof(struct af_alg_iv) + sizeof(counter))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec piece = { .iov_base = (void *)in, .iov_len = size };
	struct msghdr message = {
		.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	const uint32_t direction = ALG_OP_ENCRYPT;
	struct af_alg_iv *iv;
	int fd = accept(bound, NULL, NULL);
	bool good;

	header->cmsg_level = SOL_ALG;
	header->cmsg_type = ALG_SET_OP;
	header->cmsg_len = CMSG_LEN(sizeof(direction));
	memcpy(CMSG_DATA(header), &direction, sizeof(direction));
	header = CMSG_NXTHDR(&message, header);
	header->cmsg_level = SOL_ALG;
	header->cmsg_type = ALG_SET_IV;
	header->cmsg_len = CMSG_LEN(sizeof(*iv) + sizeof(counter));
	iv = (struct af_alg_iv *)CMSG_DATA(header);
	iv->ivlen = sizeof(counter);
	memcpy(iv->iv, counter, sizeof(counter));
	good = fd >= 0 && sendmsg(fd, &message, 0) == (ssize_t)size &&
	       read(fd, out, size) == (ssize_t)size;
	if (fd >= 0)
		close(fd);
	return good;
}

static bool digest(int bound, const void *in, size_t size, unsigned char out[32])
{
	int fd = accept(bound, NULL, NULL);
	bool good = fd >= 0 && send(fd, in, size, 0) == (ssize_t)size && read(fd, out, 32) == 32;

	if (fd >= 0)
		close(fd);
	return good;
}

static bool known_answers(const struct crypto *crypto)
{
	unsigned char out[32];

	if (!encrypt(crypto->cipher, nist_plain, out, 16) || memcmp(out, nist_cipher, 16)) {
		printf("# crypto: %s gives a wrong answer\n", crypto->cipher_driver);
		return false;
	}
	if (!digest(crypto->hash, "abc", 3, out) || memcmp(out, abc_hash, 32)) {
		printf("# crypto: %s gives a wrong answer\n", crypto->hash_driver);
		return false;
	}
	return true;
}

bool crypto_open(struct crypto *crypto)
{
	size_t i;

	memset(crypto, 0, sizeof(*crypto));
	crypto->cipher = bind_algorithm("skcipher", "ctr(aes)");
	crypto->hash = bind_algorithm("hash", "sha256");
	if (crypto->cipher < 0 || crypto->hash < 0 ||
	    setsockopt(crypto->cipher, SOL_ALG, ALG_SET_KEY, key, sizeof(key))) {
		puts("# crypto: ctr(aes) or sha256 is not there");
		return false;
	}
	find_driver("ctr(aes)", crypto->cipher_driver, sizeof(crypto->cipher_driver));
	find_driver("sha256", crypto->hash_driver, sizeof(crypto->hash_driver));
	if (!strstr(crypto->cipher_driver, "aesni") && !strstr(crypto->cipher_driver, "avx")) {
		printf("# crypto: %s does not use the FPU\n", crypto->cipher_driver);
		return false;
	}
	for (i = 0; i < CRYPTO_BYTES; i++)
		crypto->plain[i] = i * 7 + (i >> 8);
	return known_answers(crypto) &&
	       encrypt(crypto->cipher, crypto->plain, crypto->expected, CRYPTO_BYTES) &&
	       digest(crypto->hash, crypto->plain, CRYPTO_BYTES, crypto->expected_hash) &&
	       crypto_check(crypto);
}

void crypto_close(struct crypto *crypto)
{
	close(crypto->cipher);
	close(crypto->hash);
}

bool crypto_check(const struct crypto *crypto)
{
	unsigned char out[CRYPTO_BYTES], hash[32];

	return encrypt(crypto->cipher, crypto->plain, out, CRYPTO_BYTES) &&
	       digest(crypto->hash, crypto->plain, CRYPTO_BYTES, hash) &&
	       !memcmp(out, crypto->expected, CRYPTO_BYTES) &&
	       !memcmp(hash, crypto->expected_hash, 32);
}
