// SPDX-License-Identifier: GPL-2.0
/*
 * From the model of an experiment to its image, and from what the core says of
 * the image back to the line of the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kmod/core/fpenv.h"
#include "experiment_model.h"

/* What needs more is most likely a slip of the pen. */
#define MAX_PROGRAM_BYTES (256ull << 20)

static void count_values(const struct model *m, struct ht_image_header *h)
{
	uint32_t i;
	ht_u32 f;

	for (i = 0; i < m->n_blocks; i++) {
		const struct model_block *b = &m->blocks[i];

		for (f = 0; f < b->type->n_fields; f++) {
			if (b->type->fields[f].flags & HT_FIELD_DATA)
				h->n_data += b->count[f];
			else
				h->n_params += b->count[f];
		}
		h->n_wires += b->image.n_in + b->image.n_out;
	}
}

static void put_blocks(const struct model *m, const struct ht_image *image)
{
	struct ht_image_block *block = (struct ht_image_block *)image->blocks;
	double *param = (double *)image->params;
	double *data = (double *)image->data;
	ht_u32 *wire = (ht_u32 *)image->wires;
	uint32_t i, n;
	ht_u32 f;

	for (i = 0; i < m->n_blocks; i++) {
		const struct model_block *b = &m->blocks[m->order[i]];

		*block++ = b->image;
		for (f = 0; f < b->type->n_fields; f++) {
			double **to = b->type->fields[f].flags & HT_FIELD_DATA ? &data : &param;

			if (b->count[f])
				memcpy(*to, b->field[f], b->count[f] * sizeof(double));
			*to += b->count[f];
		}
		n = b->image.n_in + b->image.n_out;
		memcpy(wire, b->wires, n * sizeof(*wire));
		wire += n;
	}
}

/* Sections that a program does not have are NULL. */
static void put(const void *section, const void *from, size_t size)
{
	if (size)
		memcpy((void *)section, from, size);
}

static void put_others(const struct model *m, const struct ht_image *image)
{
	uint32_t i;

	for (i = 0; i < m->n_signals; i++)
		put(&image->signals[i], &m->signals[i].image, sizeof(m->signals[i].image));
	put(image->inputs, m->inputs, m->n_inputs * sizeof(*m->inputs));
	put(image->outputs, m->outputs, m->n_outputs * sizeof(*m->outputs));
	put(image->interlocks, m->interlocks, m->n_interlocks * sizeof(*m->interlocks));
	put(image->records, m->records, m->n_records * sizeof(*m->records));
}

int model_make_image(const struct model *m, const char *text, void **bytes, uint32_t *size)
{
	struct ht_image_header h = m->header, *header;
	struct ht_image image;
	struct ht_error error;
	ht_u64 total;

	if (strlen(text) > HT_MAX_TEXT)
		return reader_fail(m->reader, NULL, "the file has %zu bytes; at most %u",
				   strlen(text), HT_MAX_TEXT);
	h.magic = HT_IMAGE_MAGIC;
	h.version = HT_IMAGE_VERSION;
	h.n_signals = m->n_signals;
	h.n_inputs = m->n_inputs;
	h.n_outputs = m->n_outputs;
	h.n_blocks = m->n_blocks;
	h.n_interlocks = m->n_interlocks;
	h.n_records = m->n_records;
	h.text_size = strlen(text);
	count_values(m, &h);
	total = ht_image_bytes(&h);
	if (!total || total > UINT32_MAX)
		return reader_fail(m->reader, NULL, "the program is too large for an image");
	h.size = total;
	*size = total;
	*bytes = calloc(1, total);
	if (!*bytes)
		return reader_no_memory(m->reader);
	header = *bytes;
	*header = h;
	ht_image_open(&image, *bytes);
	put_others(m, &image);
	put_blocks(m, &image);
	memcpy((void *)image.text, text, h.text_size);
	header->crc = ht_image_crc(*bytes, h.size);
	if (ht_image_check(*bytes, total, &error))
		return model_explain(m, &error);
	return 0;
}

/* Memory of so many bytes, made a loop or rig by init; NULL after a message. */
static void *make(const struct model *m, const void *image, ht_u64 bytes,
		  int (*init)(void *memory, const void *image, struct ht_error *error))
{
	struct ht_error error;
	ht_u32 environment;
	void *memory;
	int code;

	if (bytes > MAX_PROGRAM_BYTES) {
		reader_fail(m->reader, NULL, "the program needs %llu MiB of memory; at most %llu MiB",
			    (bytes >> 20) + 1, MAX_PROGRAM_BYTES >> 20);
		return NULL;
	}
	memory = calloc(1, bytes);
	if (!memory) {
		reader_no_memory(m->reader);
		return NULL;
	}
	environment = ht_fpenv_enter();
	code = init(memory, image, &error);
	ht_fpenv_leave(environment);
	if (!code)
		return memory;
	model_explain(m, &error);
	free(memory);
	return NULL;
}

struct ht_loop *model_make_loop(const struct model *m, const void *image)
{
	return make(m, image, ht_loop_bytes(image), ht_loop_init);
}

struct ht_rig *model_make_rig(const struct model *m, const void *image)
{
	return make(m, image, ht_rig_bytes(image), ht_rig_init);
}

static const char *remedy(ht_u32 code)
{
	switch (code) {
	case HT_ERR_UNSTABLE:
		return "; a higher rate, another scheme or other values help";
	case HT_ERR_SINGULAR:
		return "; no row may be zero or follow from the others";
	default:
		return "";
	}
}

static int explain_block(const struct model *m, const struct ht_error *error)
{
	const struct model_block *b = &m->blocks[m->order[error->index]];
	const struct ht_field *field;

	/* Item of port and dimension errors is no field. */
	if (error->code == HT_ERR_PORTS || error->code == HT_ERR_DIMS ||
	    error->code == HT_ERR_SIGNAL || error->code == HT_ERR_WRITERS ||
	    error->item >= b->type->n_fields)
		return reader_fail(m->reader, b->setting, "block %s: %s", b->image.name,
				   ht_error_text(error->code));
	field = &b->type->fields[error->item];
	return reader_fail(m->reader, b->field_setting[error->item] ?
			   b->field_setting[error->item] : b->setting,
			   "%s of block %s: %s (%s)%s", field->name, b->image.name,
			   ht_error_text(error->code), field->help, remedy(error->code));
}

static int explain_output(const struct model *m, const struct ht_error *error)
{
	static const char *const keys[] = { "safe", "min", "max", "slew", "ramp" };
	const config_setting_t *group = m->output_settings[error->index];
	const char *name = m->signals[m->outputs[error->index].signal].image.name;
	const config_setting_t *at;

	if (error->item >= HT_COUNT(keys))
		return reader_fail(m->reader, group, "output %s: %s", name,
				   ht_error_text(error->code));
	at = config_setting_get_member(group, keys[error->item]);
	if (error->item >= 3 && error->code == HT_ERR_RANGE)
		return reader_fail(m->reader, at ? at : group,
				   "output %s: the %s is too slow to lead from min to max within %d s",
				   name, keys[error->item], HT_MAX_RAMP_TIME);
	return reader_fail(m->reader, at ? at : group, "output %s: %s: %s", name,
			   keys[error->item], ht_error_text(error->code));
}

int model_explain(const struct model *m, const struct ht_error *error)
{
	const config_setting_t *at = NULL;

	switch (error->where) {
	case HT_AT_BLOCK:
		if (error->index < m->n_blocks)
			return explain_block(m, error);
		break;
	case HT_AT_SIGNAL:
		if (error->index < m->n_signals)
			at = m->signals[error->index].setting;
		break;
	case HT_AT_INPUT:
		if (error->index < m->n_inputs)
			at = m->input_settings[error->index];
		break;
	case HT_AT_OUTPUT:
		if (error->index < m->n_outputs)
			return explain_output(m, error);
		break;
	case HT_AT_INTERLOCK:
		if (error->index < m->n_interlocks)
			at = m->interlock_settings[error->index];
		break;
	}
	return reader_fail(m->reader, at, "%s: %s", ht_error_place(error->where),
			   ht_error_text(error->code));
}
