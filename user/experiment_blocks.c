// SPDX-License-Identifier: GPL-2.0
/*
 * Blocks of an experiment file. What a block may contain is told by its type
 * (kmod/core/block.h): fields, dimensions and ports; nothing here knows any
 * type by name.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_model.h"

/* Values of all fields together: an image of 64 MiB. */
#define MAX_VALUES (8u << 20)

static const char *const common_keys[] = { "name", "type", "in", "out", "units" };
static const char *const file_keys[] = { "file", "columns" };

#define N_COMMON HT_COUNT(common_keys)

/* The field that a file of numbers can fill; NULL if the type has none. */
static const struct ht_field *file_field(const struct ht_block_type *type)
{
	ht_u32 i;

	for (i = 0; i < type->n_fields; i++)
		if (type->fields[i].flags & HT_FIELD_DATA)
			return &type->fields[i];
	return NULL;
}

static int check_block_keys(const struct model *m, const struct model_block *b)
{
	const char *keys[N_COMMON + 2 + HT_MAX_DIMS + HT_MAX_FIELDS];
	size_t n = 0;
	ht_u32 i;

	/* What the type knows is suggested before what all have. */
	for (i = 0; i < b->type->n_fields; i++)
		keys[n++] = b->type->fields[i].name;
	for (i = 0; i < b->type->n_dims; i++)
		keys[n++] = b->type->dims[i].name;
	for (i = 0; i < N_COMMON; i++)
		keys[n++] = common_keys[i];
	for (i = 0; i < 2 && file_field(b->type); i++)
		keys[n++] = file_keys[i];
	return reader_check_keys(m->reader, b->setting, keys, n);
}

static int find_type(const struct model *m, struct model_block *b)
{
	const struct reader *r = m->reader;
	struct suggestion suggestion;
	char hint[96], quoted[48];
	const char *name;
	ht_u32 i;

	if (reader_text(r, b->setting, "type", true, &name))
		return -1;
	suggest_begin(&suggestion, name);
	for (i = 0; i < ht_n_block_types; i++) {
		if (!strcmp(ht_block_types[i]->name, name)) {
			b->image.type = i;
			b->type = ht_block_types[i];
			return 0;
		}
		suggest_offer(&suggestion, ht_block_types[i]->name);
	}
	return reader_fail(r, config_setting_get_member(b->setting, "type"),
			   "there is no block type \"%s\"%s",
			   reader_quote(name, quoted, sizeof(quoted)),
			   suggest_text(&suggestion, hint, sizeof(hint)));
}

static int check_ports(const struct model *m, const struct model_block *b, const char *key,
		       uint32_t n, uint32_t min, uint32_t max)
{
	const config_setting_t *s = config_setting_get_member(b->setting, key);
	char range[48];

	if (n >= min && n <= max)
		return 0;
	if (min == max)
		snprintf(range, sizeof(range), "%u", min);
	else if (max >= HT_MAX_PORTS)
		snprintf(range, sizeof(range), "%u or more", min);
	else
		snprintf(range, sizeof(range), "%u to %u", min, max);
	return reader_fail(m->reader, s ? s : b->setting, "block %s has %u signals in \"%s\"; %s needs %s",
			   b->image.name, n, key, b->type->name, range);
}

static int count_ports(const struct model *m, const struct model_block *b, const char *key,
		       uint32_t *n)
{
	const config_setting_t *s = config_setting_get_member(b->setting, key);
	unsigned int length;

	*n = 0;
	if (!s)
		return 0;
	if (reader_strings(m->reader, s, &length))
		return -1;
	if (length > HT_MAX_PORTS)
		return reader_fail(m->reader, s, "block %s has %u signals in \"%s\"; at most %u",
				   b->image.name, length, key, HT_MAX_PORTS);
	*n = length;
	return 0;
}

static int read_units(struct model *m, const struct model_block *b,
		      const struct model_signal *first)
{
	const config_setting_t *s = config_setting_get_member(b->setting, "units");
	struct model_signal *signal = (struct model_signal *)first;
	unsigned int length, i;

	if (!s)
		return 0;
	if (reader_strings(m->reader, s, &length))
		return -1;
	if (length != b->image.n_out)
		return reader_fail(m->reader, s, "block %s has %u units for %u outputs; give one for each",
				   b->image.name, length, b->image.n_out);
	for (i = 0; i < length; i++)
		if (reader_unit(m->reader, reader_element(s, i), signal[i].image.unit,
				sizeof(signal[i].image.unit)))
			return -1;
	return 0;
}

/* Name, type and outputs; the inputs may be outputs of blocks yet to come. */
static int read_outside(struct model *m, uint32_t number)
{
	struct model_block *b = &m->blocks[number];
	const config_setting_t *out;
	struct model_signal *signal;
	uint32_t i;

	if (reader_name(m->reader, b->setting, "name", b->image.name, sizeof(b->image.name)))
		return -1;
	for (i = 0; i < number; i++)
		if (!strcmp(m->blocks[i].image.name, b->image.name))
			return reader_fail(m->reader, b->setting,
					   "a second block is called %s; choose another name",
					   b->image.name);
	if (find_type(m, b) || check_block_keys(m, b))
		return -1;
	if (count_ports(m, b, "in", &b->image.n_in) || count_ports(m, b, "out", &b->image.n_out))
		return -1;
	if (check_ports(m, b, "in", b->image.n_in, b->type->min_in, b->type->max_in) ||
	    check_ports(m, b, "out", b->image.n_out, b->type->min_out, b->type->max_out))
		return -1;
	b->wires = calloc(b->image.n_in + b->image.n_out + 1, sizeof(*b->wires));
	if (!b->wires)
		return reader_no_memory(m->reader);
	out = config_setting_get_member(b->setting, "out");
	for (i = 0; i < b->image.n_out; i++) {
		const config_setting_t *name = reader_element(out, i);

		if (reader_check_name(m->reader, name, name->value.sval, HT_NAME_LEN) ||
		    model_add_signal(m, name, name->value.sval, number, &signal))
			return -1;
		b->wires[b->image.n_in + i] = signal - m->signals;
	}
	return read_units(m, b, m->signals + m->n_signals - b->image.n_out);
}

static int read_inputs(struct model *m, struct model_block *b)
{
	const config_setting_t *in = config_setting_get_member(b->setting, "in");
	uint32_t i;

	for (i = 0; i < b->image.n_in; i++) {
		const config_setting_t *name = reader_element(in, i);

		if (model_find_signal(m, name, name->value.sval, &b->wires[i]))
			return -1;
	}
	return 0;
}

/* Values of a field as they are collected. */
struct values {
	double *value;
	uint32_t n;
	uint32_t room;
};

static int add_value(const struct model *m, struct values *values, double value)
{
	if (values->n == values->room) {
		uint32_t room = values->room ? 2 * values->room : 8;
		double *grown = realloc(values->value, room * sizeof(*grown));

		if (!grown)
			return reader_no_memory(m->reader);
		values->value = grown;
		values->room = room;
	}
	values->value[values->n++] = value;
	return 0;
}

static int read_word(const struct model *m, const struct ht_field *field,
		     const config_setting_t *s, double *value)
{
	struct suggestion suggestion;
	char all[160] = "", hint[96], quoted[48], path[128];
	ht_u32 i;

	suggest_begin(&suggestion, s->value.sval);
	for (i = 0; field->words[i]; i++) {
		if (!strcmp(field->words[i], s->value.sval)) {
			*value = i;
			return 0;
		}
		suggest_offer(&suggestion, field->words[i]);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), " %s", field->words[i]);
	}
	reader_path(s, path, sizeof(path));
	return reader_fail(m->reader, s, "%s is \"%s\"; it must be one of%s%s", path,
			   reader_quote(s->value.sval, quoted, sizeof(quoted)), all,
			   suggest_text(&suggestion, hint, sizeof(hint)));
}

static int check_value(const struct model *m, const struct ht_field *field,
		       const config_setting_t *s, double value)
{
	const bool integer = field->flags & HT_FIELD_INTEGER;
	char path[128];

	if (value >= field->min && value <= field->max && (!integer || floor(value) == value))
		return 0;
	reader_path(s, path, sizeof(path));
	return reader_fail(m->reader, s, "%s is %.9g; it must be %s from %.9g to %.9g%s%s", path,
			   value, integer ? "an integer" : "a number", field->min, field->max,
			   *field->unit ? " " : "", field->unit);
}

static int read_element(struct model *m, const struct ht_field *field,
			const config_setting_t *s, struct values *values)
{
	double value;

	if (field->words && s->type == CONFIG_TYPE_STRING) {
		if (read_word(m, field, s, &value))
			return -1;
	} else if (field->words && s->type == CONFIG_TYPE_BOOL && !strcmp(field->words[0], "no")) {
		value = s->value.ival;
	} else if (reader_number(m->reader, s, &value)) {
		return -1;
	}
	if (check_value(m, field, s, value))
		return -1;
	return add_value(m, values, value);
}

/* A number, a row, or rows of equal length. */
static int read_values(struct model *m, const struct ht_field *field, const config_setting_t *s,
		       struct values *values)
{
	int i, j, rows = 0, width = 0;

	if (s->type != CONFIG_TYPE_ARRAY && s->type != CONFIG_TYPE_LIST)
		return read_element(m, field, s, values);
	for (i = 0; i < config_setting_length(s); i++) {
		const config_setting_t *row = config_setting_get_elem(s, i);

		if (row->type != CONFIG_TYPE_ARRAY && row->type != CONFIG_TYPE_LIST) {
			if (rows)
				return reader_fail(m->reader, row, "%s mixes rows and numbers",
						   s->name);
			if (read_element(m, field, row, values))
				return -1;
			continue;
		}
		if (rows++ == 0)
			width = config_setting_length(row);
		if (rows != i + 1)
			return reader_fail(m->reader, row, "%s mixes rows and numbers", s->name);
		if (config_setting_length(row) != width)
			return reader_fail(m->reader, row,
					   "row %d of %s has %d elements; the first row has %d",
					   i + 1, s->name, config_setting_length(row), width);
		for (j = 0; j < width; j++)
			if (read_element(m, field, config_setting_get_elem(row, j), values))
				return -1;
	}
	return 0;
}

static int read_columns(const struct model *m, const struct model_block *b, uint32_t *columns)
{
	const config_setting_t *s = config_setting_get_member(b->setting, "columns");
	const struct number_key key = { .name = "columns", .unit = "", .min = 1, .max = 4096,
					.integer = true };
	int i;

	if (!s) {
		for (i = 0; i < (int)b->image.n_out; i++)
			columns[i] = i + 1;
		return 0;
	}
	if ((s->type != CONFIG_TYPE_ARRAY && s->type != CONFIG_TYPE_LIST) ||
	    config_setting_length(s) != (int)b->image.n_out)
		return reader_fail(m->reader, s,
				   "columns must be an array of %u integers, one for each output",
				   b->image.n_out);
	for (i = 0; i < config_setting_length(s); i++) {
		const config_setting_t *element = config_setting_get_elem(s, i);
		double value;

		if (reader_number(m->reader, element, &value))
			return -1;
		if (value < key.min || value > key.max || floor(value) != value)
			return reader_fail(m->reader, element,
					   "a column is %.9g; columns count from 1 to %.0f", value,
					   key.max);
		columns[i] = value;
	}
	return 0;
}

static int read_file(struct model *m, struct model_block *b, ht_u32 f)
{
	const struct ht_field *field = &b->type->fields[f];
	const config_setting_t *s = config_setting_get_member(b->setting, "file");
	uint32_t columns[HT_MAX_PORTS], i;
	struct column_file file;
	const char *path;

	if (b->field_setting[f])
		return reader_fail(m->reader, s, "block %s has both file and %s; remove one of them",
				   b->image.name, field->name);
	if (reader_text(m->reader, b->setting, "file", true, &path) ||
	    read_columns(m, b, columns) ||
	    column_file_read(m->reader, s, path, columns, b->image.n_out, &file))
		return -1;
	b->field_setting[f] = s;
	b->field[f] = file.values;
	b->count[f] = file.n_values;
	for (i = 0; i < file.n_values; i++)
		if (check_value(m, field, s, file.values[i]))
			return -1;
	return 0;
}

static int read_fields(struct model *m, struct model_block *b)
{
	const config_setting_t *columns = config_setting_get_member(b->setting, "columns");
	ht_u32 f;

	for (f = 0; f < b->type->n_fields; f++) {
		const struct ht_field *field = &b->type->fields[f];
		const config_setting_t *s = config_setting_get_member(b->setting, field->name);
		struct values values = { 0 };
		int failed;

		b->field_setting[f] = s;
		if (s) {
			failed = read_values(m, field, s, &values);
			b->field[f] = values.value;
			b->count[f] = values.n;
			if (failed)
				return -1;
		}
		if (field != file_field(b->type))
			continue;
		if (config_setting_get_member(b->setting, "file")) {
			if (read_file(m, b, f))
				return -1;
		} else if (columns) {
			return reader_fail(m->reader, columns, "columns needs file = \"...\"");
		}
	}
	return 0;
}

/* Length of the field that a dimension is taken from. */
static int dim_from_field(const struct model *m, const struct model_block *b,
			  const struct ht_dim *dim, uint32_t *value)
{
	const struct ht_field *field = &b->type->fields[dim->field];
	const config_setting_t *s = b->field_setting[dim->field];
	const uint32_t count = b->count[dim->field];
	uint32_t per = dim->per ? dim->per : 1;

	*value = dim->preset;
	if (!s && ((field->flags & HT_FIELD_OPTIONAL) || dim->preset))
		return 0;
	if (!s)
		return reader_fail(m->reader, b->setting, "block %s needs %s: %s", b->image.name,
				   field->name, field->help);
	if (dim->source == HT_DIM_SQUARE) {
		*value = (uint32_t)(sqrt((double)count) + 0.5);
		if (*value * *value == count)
			return 0;
		return reader_fail(m->reader, s, "%s of block %s has %u elements; it must be a square matrix",
				   field->name, b->image.name, count);
	}
	*value = count / per;
	if (*value * per == count)
		return 0;
	return reader_fail(m->reader, s, "%s of block %s has %u elements; it needs a multiple of %u",
			   field->name, b->image.name, count, per);
}

static int read_dim(struct model *m, struct model_block *b, ht_u32 d)
{
	const struct ht_dim *dim = &b->type->dims[d];
	const struct number_key key = { .name = dim->name, .unit = "", .min = dim->min,
					.max = dim->max, .preset = dim->preset, .integer = true,
					.required = dim->source == HT_DIM_STATED && !dim->preset };
	uint32_t *value = &b->image.dims[d];
	double number;

	if (config_setting_get_member(b->setting, dim->name) || dim->source == HT_DIM_STATED) {
		if (reader_number_key(m->reader, b->setting, &key, &number))
			return -1;
		*value = number;
		return 0;
	}
	if (dim->source == HT_DIM_INPUTS)
		*value = b->image.n_in;
	else if (dim->source == HT_DIM_OUTPUTS)
		*value = b->image.n_out;
	else if (dim_from_field(m, b, dim, value))
		return -1;
	if (*value >= dim->min && *value <= dim->max)
		return 0;
	return reader_fail(m->reader, b->setting, "block %s has %s = %u (%s); it must be from %u to %u",
			   b->image.name, dim->name, *value, dim->help, dim->min, dim->max);
}

/* The dimensions in words, for messages: "with sections = 2". */
static const char *dims_text(const struct model_block *b, char *text, size_t size)
{
	ht_u32 d;

	snprintf(text, size, "with %u inputs, %u outputs", b->image.n_in, b->image.n_out);
	for (d = 0; d < b->type->n_dims; d++)
		snprintf(text + strlen(text), size - strlen(text), ", %s = %u",
			 b->type->dims[d].name, b->image.dims[d]);
	return text;
}

/* Compares what a field has with what it needs; fills in presets. */
static int complete_field(struct model *m, struct model_block *b, ht_u32 f, uint32_t needed)
{
	const struct ht_field *field = &b->type->fields[f];
	const config_setting_t *s = b->field_setting[f];
	char text[160], path[128];
	uint32_t i;

	m->n_values += needed;
	if (m->n_values > MAX_VALUES)
		return reader_fail(m->reader, s ? s : b->setting,
				   "the blocks have more than %u parameters and samples; at most so many",
				   MAX_VALUES);
	if (s) {
		if (b->count[f] == needed)
			return 0;
		reader_path(s, path, sizeof(path));
		return reader_fail(m->reader, s, "%s has %u elements; %s it needs %u", path,
				   b->count[f], dims_text(b, text, sizeof(text)), needed);
	}
	if (needed && !(field->flags & HT_FIELD_OPTIONAL))
		return reader_fail(m->reader, b->setting, "block %s needs %s%s%s%s: %s",
				   b->image.name, field->name, *field->unit ? " (" : "",
				   field->unit, *field->unit ? ")" : "", field->help);
	b->count[f] = needed;
	if (!needed)
		return 0;
	b->field[f] = malloc(needed * sizeof(double));
	if (!b->field[f])
		return reader_no_memory(m->reader);
	for (i = 0; i < needed; i++)
		b->field[f][i] = field->preset;
	return 0;
}

static int read_inside(struct model *m, struct model_block *b)
{
	struct ht_layout layout = { .n_state = 0 };
	char text[160];
	ht_u32 i;
	int code;

	if (read_inputs(m, b) || read_fields(m, b))
		return -1;
	for (i = 0; i < b->type->n_dims; i++)
		if (read_dim(m, b, i))
			return -1;
	code = b->type->layout(b->image.n_in, b->image.n_out, b->image.dims, &layout);
	if (code)
		return reader_fail(m->reader, b->setting, "block %s: %s; %s they do not fit together (%s: %s)",
				   b->image.name, ht_error_text(code),
				   dims_text(b, text, sizeof(text)), b->type->name,
				   b->type->summary);
	for (i = 0; i < b->type->n_fields; i++)
		if (complete_field(m, b, i, layout.count[i]))
			return -1;
	return 0;
}

int model_read_blocks(struct model *m)
{
	const config_setting_t *list;
	unsigned int length, i;

	if (reader_list(m->reader, m->group, "blocks", HT_MAX_BLOCKS, &list, &length))
		return -1;
	m->blocks = calloc(length + 1, sizeof(*m->blocks));
	if (!m->blocks)
		return reader_no_memory(m->reader);
	m->n_blocks = length;
	for (i = 0; i < length; i++) {
		m->blocks[i].setting = reader_group(m->reader, list, i);
		if (!m->blocks[i].setting || read_outside(m, i))
			return -1;
	}
	for (i = 0; i < length; i++)
		if (read_inside(m, &m->blocks[i]))
			return -1;
	return 0;
}
