// SPDX-License-Identifier: GPL-2.0
/*
 * Names of parameters: "block.field" and "block.field[3]".
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kmod/core/program.h"
#include "param_names.h"

int hytest_param_name(const void *bytes, uint32_t param, char *name, size_t size)
{
	struct ht_param_place place;
	struct ht_image image;
	const struct ht_image_block *block;
	const char *field;
	int length;

	if (ht_param_place(bytes, param, &place))
		return -ENOENT;
	ht_image_open(&image, bytes);
	block = &image.blocks[place.block];
	field = ht_block_types[block->type]->fields[place.field].name;
	if (place.count == 1)
		length = snprintf(name, size, "%s.%s", block->name, field);
	else
		length = snprintf(name, size, "%s.%s[%u]", block->name, field, place.element);
	return length < 0 || (size_t)length >= size ? -ENOSPC : 0;
}

/* Places of parameters rise with their numbers: block, field, element. */
static int compare_place(const struct ht_param_place *place, uint32_t block, uint32_t field)
{
	if (place->block != block)
		return place->block < block ? -1 : 1;
	if (place->field != field)
		return place->field < field ? -1 : 1;
	return 0;
}

int hytest_param_field(const void *bytes, uint32_t block, uint32_t field, uint32_t *first,
		       uint32_t *count)
{
	struct ht_param_place place;
	struct ht_image image;
	uint32_t low = 0, high, middle;

	ht_image_open(&image, bytes);
	high = image.header->n_params;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (ht_param_place(bytes, middle, &place))
			return -ENOENT;
		if (compare_place(&place, block, field) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (ht_param_place(bytes, low, &place) || compare_place(&place, block, field))
		return -ENOENT;
	*first = low;
	*count = place.count;
	return 0;
}

static int find_block(const struct ht_image *image, const char *name, size_t length,
		      uint32_t *block)
{
	uint32_t i;

	for (i = 0; i < image->header->n_blocks; i++) {
		if (strlen(image->blocks[i].name) == length &&
		    !memcmp(image->blocks[i].name, name, length)) {
			*block = i;
			return 0;
		}
	}
	return -ENOENT;
}

static int find_field(const struct ht_block_type *type, const char *name, size_t length,
		      uint32_t *field)
{
	uint32_t i;

	for (i = 0; i < type->n_fields; i++) {
		if (strlen(type->fields[i].name) == length &&
		    !memcmp(type->fields[i].name, name, length)) {
			*field = i;
			return 0;
		}
	}
	return -ENOENT;
}

/* "" or "[3]". */
static int read_index(const char *text, uint32_t *index)
{
	unsigned long value;
	char *end;

	if (*text != '[' || !isdigit((unsigned char)text[1]))
		return -EINVAL;
	errno = 0;
	value = strtoul(text + 1, &end, 10);
	if (strcmp(end, "]"))
		return -EINVAL;
	if (errno || value > UINT32_MAX)
		return -ERANGE;
	*index = value;
	return 0;
}

int hytest_param_find(const void *bytes, const char *name, uint32_t *param)
{
	const char *dot = strchr(name, '.');
	uint32_t block, field, first, count, index = 0;
	struct ht_image image;
	size_t length;
	int error;

	if (!dot)
		return -EINVAL;
	ht_image_open(&image, bytes);
	error = find_block(&image, name, dot - name, &block);
	if (error)
		return error;
	length = strcspn(dot + 1, "[");
	error = find_field(ht_block_types[image.blocks[block].type], dot + 1, length, &field);
	if (error)
		return error;
	error = hytest_param_field(bytes, block, field, &first, &count);
	if (error)
		return error;
	if (dot[1 + length]) {
		error = read_index(dot + 1 + length, &index);
		if (error)
			return error;
	} else if (count > 1) {
		return -ERANGE;
	}
	if (index >= count)
		return -ERANGE;
	*param = first + index;
	return 0;
}
