// SPDX-License-Identifier: GPL-2.0
/*
 * Builds a program from a checked image and runs it.
 *
 * Everything lies in one piece of memory behind struct ht_program. There are
 * two banks of parameters with what the blocks derived from them: the tick
 * reads one, a batch is built in the other, and committing it is one store.
 */
#include "program.h"

void (*ht_pause)(void);

struct ht_program {
	struct ht_clock clock;
	struct ht_image image;
	double *signals;
	double *params[2];
	double *derived[2];
	double *states;
	struct ht_block *blocks[2];
	ht_u32 *updates;		/* blocks that have an update */
	ht_u32 *first_param;		/* of each block, and the end */
	ht_u8 *changed;			/* blocks that a batch changes */
	ht_u64 n_derived;
	ht_u64 n_states;
	ht_u32 n_updates;
	ht_u32 bank;			/* the one that the tick reads */
};

static const struct ht_block_type *type_of(const struct ht_image *image, ht_u32 i)
{
	return ht_block_types[image->blocks[i].type];
}

/* The image is checked, so this cannot fail. */
static void layout_of(const struct ht_image *image, ht_u32 i, struct ht_layout *layout)
{
	const struct ht_image_block *b = &image->blocks[i];
	ht_u32 j;

	layout->n_state = 0;
	layout->n_derived = 0;
	for (j = 0; j < HT_MAX_FIELDS; j++)
		layout->count[j] = 0;
	ht_block_types[b->type]->layout(b->n_in, b->n_out, b->dims, layout);
}

struct sizes {
	ht_u64 states;
	ht_u64 derived;
	ht_u32 updates;
};

static void measure(const struct ht_image *image, struct sizes *sizes)
{
	struct ht_layout layout;
	ht_u32 i;

	sizes->states = 0;
	sizes->derived = 0;
	sizes->updates = 0;
	for (i = 0; i < image->header->n_blocks; i++) {
		layout_of(image, i, &layout);
		sizes->states += layout.n_state;
		sizes->derived += layout.n_derived;
		sizes->updates += type_of(image, i)->update != HT_NULL;
	}
}

/* Cuts the memory into its parts; with a null program it only counts. */
static ht_u64 cut(struct ht_program *p, const struct ht_image *image)
{
	const struct ht_image_header *h = image->header;
	ht_u8 *base = (ht_u8 *)p;
	ht_u64 at = (sizeof(*p) + 7) & ~7ull;
	struct sizes sizes;
	ht_u32 bank;

	measure(image, &sizes);
	if (p) {
		p->n_states = sizes.states;
		p->n_derived = sizes.derived;
		p->n_updates = sizes.updates;
		p->signals = (double *)(base + at);
	}
	at += h->n_signals * sizeof(double);
	if (p)
		p->states = (double *)(base + at);
	at += sizes.states * sizeof(double);
	for (bank = 0; bank < 2; bank++) {
		if (p)
			p->params[bank] = (double *)(base + at);
		at += (ht_u64)h->n_params * sizeof(double);
		if (p)
			p->derived[bank] = (double *)(base + at);
		at += sizes.derived * sizeof(double);
		if (p)
			p->blocks[bank] = (struct ht_block *)(base + at);
		at += h->n_blocks * sizeof(struct ht_block);
	}
	if (p)
		p->updates = (ht_u32 *)(base + at);
	at += sizes.updates * sizeof(ht_u32);
	if (p)
		p->first_param = (ht_u32 *)(base + at);
	at += (h->n_blocks + 1) * sizeof(ht_u32);
	if (p)
		p->changed = base + at;
	at += h->n_blocks;
	return (at + 7) & ~7ull;
}

ht_u64 ht_program_bytes(const void *bytes)
{
	struct ht_image image;

	ht_image_open(&image, bytes);
	return cut(HT_NULL, &image);
}

/* Where the blocks in the making take their share. */
struct cursor {
	ht_u64 params;
	ht_u64 data;
	ht_u64 wires;
	ht_u64 states;
	ht_u64 derived;
};

static void build_block(struct ht_program *p, ht_u32 i, ht_u32 bank, struct cursor *at)
{
	const struct ht_image_block *from = &p->image.blocks[i];
	const struct ht_block_type *type = ht_block_types[from->type];
	struct ht_block *b = &p->blocks[bank][i];
	struct ht_layout layout;
	ht_u32 j;

	layout_of(&p->image, i, &layout);
	b->type = type;
	b->clock = &p->clock;
	b->signal = p->signals;
	b->n_in = from->n_in;
	b->n_out = from->n_out;
	for (j = 0; j < HT_MAX_DIMS; j++)
		b->dims[j] = from->dims[j];
	b->in = p->image.wires + at->wires;
	b->out = b->in + from->n_in;
	at->wires += from->n_in + from->n_out;
	for (j = 0; j < type->n_fields; j++) {
		if (type->fields[j].flags & HT_FIELD_DATA) {
			b->field[j] = p->image.data + at->data;
			at->data += layout.count[j];
		} else {
			b->field[j] = p->params[bank] + at->params;
			at->params += layout.count[j];
		}
	}
	b->state = p->states + at->states;
	at->states += layout.n_state;
	b->derived = p->derived[bank] + at->derived;
	at->derived += layout.n_derived;
}

static int check_value(const struct ht_field *field, const double *value)
{
	if (!ht_finite(value))
		return HT_ERR_NOT_FINITE;
	if (*value < field->min || *value > field->max)
		return HT_ERR_RANGE;
	/* Integers of fields are small: their range is within 32 bits. */
	if ((field->flags & HT_FIELD_INTEGER) && (double)(ht_s64)(*value) != *value)
		return HT_ERR_INTEGER;
	return HT_OK;
}

static int check_fields(struct ht_program *p, ht_u32 i, struct ht_error *error)
{
	const struct ht_block *b = &p->blocks[0][i];
	struct ht_layout layout;
	ht_u32 f, j;
	int code;

	layout_of(&p->image, i, &layout);
	for (f = 0; f < b->type->n_fields; f++) {
		for (j = 0; j < layout.count[f]; j++) {
			code = check_value(&b->type->fields[f], &b->field[f][j]);
			if (code)
				return ht_refuse(error, code, HT_AT_BLOCK, i, f,
						 ht_bits(b->field[f][j]));
		}
	}
	return HT_OK;
}

static int prepare(const struct ht_block *b, ht_u32 i, struct ht_error *error)
{
	ht_u32 item = 0;
	int code;

	if (!b->type->prepare)
		return HT_OK;
	code = b->type->prepare(b, &item);
	if (code)
		return ht_refuse(error, code, HT_AT_BLOCK, i, item, 0);
	return HT_OK;
}

#define PIECE	65536	/* doubles between two pauses */

static void pause_now(void)
{
	if (ht_pause)
		ht_pause();
}

static void copy(double *to, const double *from, ht_u64 n)
{
	ht_u64 i;

	for (i = 0; i < n; i++) {
		to[i] = from[i];
		if (i % PIECE == PIECE - 1)
			pause_now();
	}
}

void ht_fill(double *to, double value, ht_u64 n)
{
	ht_u64 i;

	for (i = 0; i < n; i++) {
		to[i] = value;
		if (i % PIECE == PIECE - 1)
			pause_now();
	}
}

int ht_program_init(void *memory, const void *bytes, struct ht_error *error)
{
	struct ht_program *p = memory;
	struct cursor at[2] = { { 0 }, { 0 } };
	ht_u32 i, n_updates = 0;
	int code;

	ht_image_open(&p->image, bytes);
	cut(p, &p->image);
	/* Exactly rounded: a period has at most 30 bits. */
	p->clock.dt = (double)p->image.header->period_ns / 1e9;
	copy(p->params[0], p->image.params, p->image.header->n_params);
	for (i = 0; i < p->image.header->n_blocks; i++) {
		p->first_param[i] = at[0].params;
		build_block(p, i, 0, &at[0]);
		build_block(p, i, 1, &at[1]);
		if (p->blocks[0][i].type->update)
			p->updates[n_updates++] = i;
		code = check_fields(p, i, error);
		if (code)
			return code;
		code = prepare(&p->blocks[0][i], i, error);
		if (code)
			return code;
		pause_now();
	}
	p->first_param[i] = at[0].params;
	ht_program_reset(p);
	return ht_refuse(error, HT_OK, HT_AT_IMAGE, 0, 0, 0);
}

void ht_program_reset(struct ht_program *p)
{
	const struct ht_image_header *h = p->image.header;
	ht_u64 i;

	for (i = 0; i < h->n_signals; i++)
		p->signals[i] = p->image.signals[i].initial;
	ht_fill(p->states, 0, p->n_states);
	p->clock.tick = 0;
	for (i = 0; i < h->n_blocks; i++) {
		const struct ht_block *b = &p->blocks[p->bank][i];

		if (b->type->reset)
			b->type->reset(b);
		pause_now();
	}
}

void ht_program_step(struct ht_program *p, ht_u64 tick)
{
	const struct ht_block *blocks = p->blocks[p->bank];
	const ht_u32 n_blocks = p->image.header->n_blocks;
	ht_u32 i;

	p->clock.tick = tick;
	for (i = 0; i < n_blocks; i++)
		blocks[i].type->step(&blocks[i]);
	for (i = 0; i < p->n_updates; i++)
		blocks[p->updates[i]].type->update(&blocks[p->updates[i]]);
}

/* The last block whose parameters begin at or before this one and has some. */
static ht_u32 block_of(const ht_u32 *first, ht_u32 n_blocks, ht_u32 param)
{
	ht_u32 low = 0, high = n_blocks;

	while (high - low > 1) {
		ht_u32 middle = low + (high - low) / 2;

		if (first[middle] <= param)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void field_of(const struct ht_image *image, ht_u32 block, ht_u32 offset,
		     struct ht_param_place *place)
{
	const struct ht_block_type *type = type_of(image, block);
	struct ht_layout layout;
	ht_u32 f;

	layout_of(image, block, &layout);
	for (f = 0; f < type->n_fields; f++) {
		if (type->fields[f].flags & HT_FIELD_DATA)
			continue;
		if (offset < layout.count[f])
			break;
		offset -= layout.count[f];
	}
	place->block = block;
	place->field = f;
	place->element = offset;
	place->count = layout.count[f];
}

int ht_param_place(const void *bytes, ht_u32 param, struct ht_param_place *place)
{
	struct ht_layout layout;
	struct ht_image image;
	ht_u32 i, f, n, first = 0;

	ht_image_open(&image, bytes);
	if (param >= image.header->n_params)
		return HT_ERR_PARAM;
	for (i = 0; i < image.header->n_blocks; i++) {
		layout_of(&image, i, &layout);
		for (n = 0, f = 0; f < type_of(&image, i)->n_fields; f++)
			if (!(type_of(&image, i)->fields[f].flags & HT_FIELD_DATA))
				n += layout.count[f];
		if (param - first < n)
			break;
		first += n;
	}
	field_of(&image, i, param - first, place);
	return HT_OK;
}

static int change_param(struct ht_program *p, double *params, ht_u32 i,
			const struct ht_change *change, struct ht_error *error)
{
	const struct ht_image_header *h = p->image.header;
	const union ht_real value = { .bits = change->value };
	const struct ht_field *field;
	struct ht_param_place place;
	ht_u32 block;
	int code;

	if (change->param >= h->n_params)
		return ht_refuse(error, HT_ERR_PARAM, HT_AT_PARAM, i, change->param, 0);
	if (change->reserved)
		return ht_refuse(error, HT_ERR_RESERVED, HT_AT_PARAM, i, change->param, 0);
	block = block_of(p->first_param, h->n_blocks, change->param);
	field_of(&p->image, block, change->param - p->first_param[block], &place);
	field = &type_of(&p->image, block)->fields[place.field];
	if (field->flags & HT_FIELD_FIXED)
		return ht_refuse(error, HT_ERR_FIXED, HT_AT_PARAM, i, change->param, 0);
	code = check_value(field, &value.value);
	if (code)
		return ht_refuse(error, code, HT_AT_PARAM, i, change->param, change->value);
	params[change->param] = value.value;
	return HT_OK;
}

int ht_program_stage(struct ht_program *p, const struct ht_change *change, ht_u32 n,
		     struct ht_error *error)
{
	const ht_u32 n_blocks = p->image.header->n_blocks;
	const ht_u32 next = !p->bank;
	ht_u32 i;
	int code;

	copy(p->params[next], p->params[p->bank], p->image.header->n_params);
	copy(p->derived[next], p->derived[p->bank], p->n_derived);
	for (i = 0; i < n_blocks; i++)
		p->changed[i] = 0;
	for (i = 0; i < n; i++) {
		code = change_param(p, p->params[next], i, &change[i], error);
		if (code)
			return code;
		if (i % 256 == 255)
			pause_now();
		p->changed[block_of(p->first_param, n_blocks, change[i].param)] = 1;
	}
	for (i = 0; i < n_blocks; i++) {
		if (!p->changed[i])
			continue;
		code = prepare(&p->blocks[next][i], i, error);
		if (code)
			return code;
		pause_now();
	}
	return ht_refuse(error, HT_OK, HT_AT_IMAGE, 0, 0, 0);
}

void ht_program_commit(struct ht_program *p)
{
	p->bank = !p->bank;
}

double *ht_program_signals(struct ht_program *p)
{
	return p->signals;
}

const double *ht_program_params(const struct ht_program *p)
{
	return p->params[p->bank];
}
