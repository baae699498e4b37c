// SPDX-License-Identifier: GPL-2.0
/*
 * Program images for tests: see program.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

static void __attribute__((noreturn, format(printf, 1, 2))) give_up(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("# test program: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	abort();
}

/* The next place of an array of the draft. */
static ht_u32 place(ht_u32 *count, ht_u32 n, ht_u32 room)
{
	const ht_u32 first = *count;

	if (n > room - first)
		give_up("no room for %u more than %u", n, first);
	*count += n;
	return first;
}

static struct draft *new_draft(const struct ht_image_header *header)
{
	struct draft *draft = calloc(1, sizeof(*draft));

	if (!draft)
		give_up("out of memory");
	draft->header = *header;
	draft->header.magic = HT_IMAGE_MAGIC;
	draft->header.version = HT_IMAGE_VERSION;
	draft->text = "";
	return draft;
}

struct draft *draft_new(ht_u64 period_ns)
{
	return new_draft(&(struct ht_image_header){
		.kind = HT_IMAGE_LOOP,
		.period_ns = period_ns,
		.ring_records = 4096,
		.budget_ns = period_ns / 2,
		.deadline_ns = period_ns,
		.deadline_ticks = 1,
		.missed_ticks = 1,
		.scan_ticks = 2,
		.write_ticks = 2,
	});
}

struct draft *draft_new_rig(ht_u64 period_ns)
{
	return new_draft(&(struct ht_image_header){
		.kind = HT_IMAGE_RIG,
		.period_ns = period_ns,
	});
}

void draft_free(struct draft *draft)
{
	free(draft);
}

static ht_u32 type_number(const char *name)
{
	ht_u32 i;

	for (i = 0; i < ht_n_block_types; i++)
		if (!strcmp(ht_block_types[i]->name, name))
			return i;
	give_up("no block type '%s'", name);
}

static ht_u32 field_number(const struct ht_block_type *type, const char *name)
{
	ht_u32 i;

	for (i = 0; i < type->n_fields; i++)
		if (!strcmp(type->fields[i].name, name))
			return i;
	give_up("block type '%s' has no field '%s'", type->name, name);
}

static const struct ht_block_type *layout_of(const struct ht_image_block *b,
					     struct ht_layout *layout)
{
	const struct ht_block_type *type = ht_block_types[b->type];

	memset(layout, 0, sizeof(*layout));
	if (type->layout(b->n_in, b->n_out, b->dims, layout))
		give_up("block '%s' does not fit together", b->name);
	return type;
}

ht_u32 draft_signal(struct draft *draft, const char *name, double initial)
{
	const ht_u32 i = place(&draft->header.n_signals, 1, DRAFT_SIGNALS);

	snprintf(draft->signals[i].name, HT_NAME_LEN, "%s", name);
	draft->signals[i].initial = initial;
	return i;
}

static int is_data(const struct ht_block_type *type, ht_u32 field)
{
	return !!(type->fields[field].flags & HT_FIELD_DATA);
}

ht_u32 draft_block(struct draft *draft, const char *type_name, ht_u32 dim, ht_u32 n_in,
		   const ht_u32 *in, ht_u32 n_out, const ht_u32 *out)
{
	const ht_u32 i = place(&draft->header.n_blocks, 1, DRAFT_BLOCKS);
	const ht_u32 wire = place(&draft->header.n_wires, n_in + n_out, DRAFT_WIRES);
	struct ht_image_block *b = &draft->blocks[i];
	const struct ht_block_type *type;
	struct ht_layout layout;
	ht_u32 f, k, at;

	b->type = type_number(type_name);
	b->n_in = n_in;
	b->n_out = n_out;
	b->dims[0] = dim;
	snprintf(b->name, HT_NAME_LEN, "%.20s-%u", type_name, i);
	if (n_in)
		memcpy(&draft->wires[wire], in, n_in * sizeof(*in));
	memcpy(&draft->wires[wire + n_in], out, n_out * sizeof(*out));
	type = layout_of(b, &layout);
	for (f = 0; f < type->n_fields; f++) {
		double *values = is_data(type, f) ? draft->data : draft->params;
		ht_u32 *count = is_data(type, f) ? &draft->header.n_data : &draft->header.n_params;

		at = place(count, layout.count[f], DRAFT_VALUES);
		for (k = 0; k < layout.count[f]; k++)
			values[at + k] = type->fields[f].preset;
	}
	return i;
}

/* Where an element of a field lies in the parameters or in the data. */
static ht_u32 value_place(const struct draft *draft, ht_u32 block, const char *field,
			  ht_u32 element, int *data)
{
	ht_u32 at[2] = { 0, 0 };
	ht_u32 b, f, wanted;

	for (b = 0; b <= block; b++) {
		struct ht_layout layout;
		const struct ht_block_type *type = layout_of(&draft->blocks[b], &layout);

		wanted = b == block ? field_number(type, field) : type->n_fields;
		for (f = 0; f < wanted; f++)
			at[is_data(type, f)] += layout.count[f];
		if (b < block)
			continue;
		if (element >= layout.count[wanted])
			give_up("'%s' has no element %u", field, element);
		*data = is_data(type, wanted);
	}
	return at[*data] + element;
}

ht_u32 draft_param(const struct draft *draft, ht_u32 block, const char *field, ht_u32 element)
{
	int data = 0;
	const ht_u32 at = value_place(draft, block, field, element, &data);

	if (data)
		give_up("'%s' is a table, not a parameter", field);
	return at;
}

void draft_set(struct draft *draft, ht_u32 block, const char *field, ht_u32 element, double value)
{
	int data = 0;
	const ht_u32 at = value_place(draft, block, field, element, &data);

	(data ? draft->data : draft->params)[at] = value;
}

ht_u32 draft_input(struct draft *draft, ht_u32 signal)
{
	const ht_u32 i = place(&draft->header.n_inputs, 1, DRAFT_INPUTS);

	draft->inputs[i].signal = signal;
	return i;
}

ht_u32 draft_output(struct draft *draft, ht_u32 signal, double safe, double ramp)
{
	const ht_u32 i = place(&draft->header.n_outputs, 1, DRAFT_OUTPUTS);

	draft->outputs[i] = (struct ht_image_output){
		.signal = signal,
		.safe = safe,
		.min = -1000,
		.max = 1000,
		.ramp = ramp,
	};
	return i;
}

void draft_bind(struct ht_image_channel *channel, const char *device, const char *name)
{
	channel->kind = HT_CHANNEL_IIO;
	channel->gain = 1;
	snprintf(channel->device, HT_DEVICE_LEN, "%s", device);
	snprintf(channel->name, HT_NAME_LEN, "%s", name);
}

static void set_converter(struct ht_image_channel *channel, const char *name)
{
	draft_bind(channel, "", name);
	channel->bits = 16;
	channel->range_mv = 10000;
}

ht_u32 draft_dac(struct draft *draft, ht_u32 signal, const char *name)
{
	const ht_u32 i = draft_input(draft, signal);

	set_converter(&draft->inputs[i].channel, name);
	return i;
}

ht_u32 draft_adc(struct draft *draft, ht_u32 signal, const char *name)
{
	const ht_u32 i = place(&draft->header.n_outputs, 1, DRAFT_OUTPUTS);

	draft->outputs[i].signal = signal;
	set_converter(&draft->outputs[i].channel, name);
	return i;
}

struct ht_image_interlock *draft_lock(struct draft *draft, enum ht_interlock_kind kind,
				      enum ht_action action, ht_u32 signal, double low,
				      double high)
{
	const ht_u32 i = place(&draft->header.n_interlocks, 1, DRAFT_LOCKS);
	struct ht_image_interlock *lock = &draft->locks[i];

	lock->kind = kind;
	lock->action = action;
	lock->signal = signal;
	lock->other = HT_NO_SIGNAL;
	lock->window_ticks = kind == HT_LOCK_RMS;
	lock->low = low;
	lock->high = high;
	snprintf(lock->name, HT_NAME_LEN, "lock-%u", i);
	return lock;
}

void draft_record(struct draft *draft, ht_u32 signal)
{
	draft->records[place(&draft->header.n_records, 1, DRAFT_SIGNALS)] = signal;
}

ht_u32 draft_constant(struct draft *draft, const char *name, double value, ht_u32 *signal)
{
	ht_u32 block;

	*signal = draft_signal(draft, name, 0);
	block = draft_block(draft, "matrix", 0, 0, NULL, 1, signal);
	draft_set(draft, block, "b", 0, value);
	return block;
}

void *draft_image(const struct draft *draft, size_t *size)
{
	struct ht_image_header h = draft->header;
	struct ht_image image;
	char *bytes;

	h.text_size = strlen(draft->text);
	h.size = ht_image_bytes(&h);
	bytes = calloc(1, h.size);
	if (!bytes)
		give_up("out of memory");
	memcpy(bytes, &h, sizeof(h));
	ht_image_open(&image, bytes);
	memcpy((void *)image.signals, draft->signals, h.n_signals * sizeof(*image.signals));
	memcpy((void *)image.inputs, draft->inputs, h.n_inputs * sizeof(*image.inputs));
	memcpy((void *)image.outputs, draft->outputs, h.n_outputs * sizeof(*image.outputs));
	memcpy((void *)image.blocks, draft->blocks, h.n_blocks * sizeof(*image.blocks));
	memcpy((void *)image.interlocks, draft->locks,
	       h.n_interlocks * sizeof(*image.interlocks));
	memcpy((void *)image.params, draft->params, h.n_params * sizeof(double));
	memcpy((void *)image.data, draft->data, h.n_data * sizeof(double));
	memcpy((void *)image.wires, draft->wires, h.n_wires * sizeof(ht_u32));
	memcpy((void *)image.records, draft->records, h.n_records * sizeof(ht_u32));
	memcpy((void *)image.text, draft->text, h.text_size);
	image_repair_crc(bytes, h.size);
	*size = h.size;
	return bytes;
}

void image_repair_crc(void *image, size_t size)
{
	struct ht_image_header *h = image;

	if (size >= sizeof(*h))
		h->crc = ht_image_crc(image, size);
}
