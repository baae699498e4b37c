// SPDX-License-Identifier: GPL-2.0
/*
 * flip_bit LOG SIGNAL RECORD BIT: changes one bit of one sample in a log, by
 * way of HDF5, so that the file stays sound and only the replay can tell.
 * SIGNAL is the name of a recorded signal, or the path of a dataset.
 */
#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads or writes the one sample. */
static int transfer(hid_t dataset, hsize_t record, void *bits, int write)
{
	const hsize_t one = 1;
	hid_t file_space = H5Dget_space(dataset);
	hid_t memory_space = H5Screate_simple(1, &one, NULL);
	hid_t type = H5Dget_type(dataset);
	herr_t result = -1;

	if (H5Sselect_hyperslab(file_space, H5S_SELECT_SET, &record, NULL, &one, NULL) >= 0) {
		if (write)
			result = H5Dwrite(dataset, type, memory_space, file_space, H5P_DEFAULT,
					  bits);
		else
			result = H5Dread(dataset, type, memory_space, file_space, H5P_DEFAULT,
					 bits);
	}
	H5Tclose(type);
	H5Sclose(memory_space);
	H5Sclose(file_space);
	return result < 0 ? -1 : 0;
}

static int flip(hid_t file, const char *path, hsize_t record, unsigned int bit)
{
	hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
	uint64_t bits = 0;
	int result;

	if (dataset < 0)
		return -1;
	result = transfer(dataset, record, &bits, 0);
	bits ^= (uint64_t)1 << bit;
	if (!result)
		result = transfer(dataset, record, &bits, 1);
	H5Dclose(dataset);
	return result;
}

int main(int argc, char **argv)
{
	unsigned long record, bit;
	char path[256];
	hid_t file;
	int result;

	if (argc != 5) {
		fprintf(stderr, "usage: flip_bit LOG SIGNAL RECORD BIT\n");
		return 2;
	}
	record = strtoul(argv[3], NULL, 10);
	bit = strtoul(argv[4], NULL, 10);
	if (bit > 63) {
		fprintf(stderr, "flip_bit: bit %lu: must be 0 to 63\n", bit);
		return 2;
	}
	snprintf(path, sizeof(path), "%s%s", argv[2][0] == '/' ? "" : "/signals/", argv[2]);
	file = H5Fopen(argv[1], H5F_ACC_RDWR, H5P_DEFAULT);
	if (file < 0) {
		fprintf(stderr, "flip_bit: cannot open %s\n", argv[1]);
		return 1;
	}
	result = flip(file, path, record, bit);
	if (H5Fclose(file) < 0 || result) {
		fprintf(stderr, "flip_bit: cannot change record %lu of %s\n", record, path);
		return 1;
	}
	return 0;
}
