// SPDX-License-Identifier: GPL-2.0
/*
 * Checks a program image. An image comes from user space and nothing in it is
 * trusted: counts before sizes, sizes before sections, sections before use.
 */
#include "block.h"

/* Half a byte at a time: small, and fast enough for what happens at load. */
ht_u32 ht_crc32(ht_u32 crc, const void *bytes, ht_u64 size)
{
	static const ht_u32 table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
		0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
		0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	const ht_u8 *byte = bytes;
	ht_u64 i;

	crc = ~crc;
	for (i = 0; i < size; i++) {
		crc ^= byte[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

ht_u32 ht_image_crc(const void *bytes, ht_u32 size)
{
	static const ht_u8 zero[sizeof(ht_u32)];
	const ht_u32 at = __builtin_offsetof(struct ht_image_header, crc);
	const ht_u8 *byte = bytes;
	ht_u32 crc;

	crc = ht_crc32(0, byte, at);
	crc = ht_crc32(crc, zero, sizeof(zero));
	return ht_crc32(crc, byte + at + sizeof(zero), size - at - sizeof(zero));
}

static ht_u64 aligned(ht_u64 bytes)
{
	return (bytes + 7) & ~7ull;
}

ht_u64 ht_image_bytes(const struct ht_image_header *h)
{
	if (h->n_signals > HT_MAX_SIGNALS || h->n_inputs > HT_MAX_CHANNELS ||
	    h->n_outputs > HT_MAX_CHANNELS || h->n_blocks > HT_MAX_BLOCKS ||
	    h->n_interlocks > HT_MAX_INTERLOCKS || h->n_params > HT_MAX_VALUES ||
	    h->n_data > HT_MAX_VALUES || h->n_wires > HT_MAX_VALUES ||
	    h->n_records > HT_MAX_SIGNALS || h->text_size > HT_MAX_TEXT)
		return 0;
	return sizeof(*h) +
	       (ht_u64)h->n_signals * sizeof(struct ht_image_signal) +
	       (ht_u64)h->n_inputs * sizeof(struct ht_image_input) +
	       (ht_u64)h->n_outputs * sizeof(struct ht_image_output) +
	       (ht_u64)h->n_blocks * sizeof(struct ht_image_block) +
	       (ht_u64)h->n_interlocks * sizeof(struct ht_image_interlock) +
	       (ht_u64)h->n_params * sizeof(double) +
	       (ht_u64)h->n_data * sizeof(double) +
	       aligned((ht_u64)h->n_wires * sizeof(ht_u32)) +
	       aligned((ht_u64)h->n_records * sizeof(ht_u32)) +
	       aligned(h->text_size);
}

void ht_image_open(struct ht_image *image, const void *bytes)
{
	const struct ht_image_header *h = bytes;
	const ht_u8 *at = bytes;

	image->header = h;
	at += sizeof(*h);
	image->signals = (const void *)at;
	at += h->n_signals * sizeof(*image->signals);
	image->inputs = (const void *)at;
	at += h->n_inputs * sizeof(*image->inputs);
	image->outputs = (const void *)at;
	at += h->n_outputs * sizeof(*image->outputs);
	image->blocks = (const void *)at;
	at += h->n_blocks * sizeof(*image->blocks);
	image->interlocks = (const void *)at;
	at += h->n_interlocks * sizeof(*image->interlocks);
	image->params = (const void *)at;
	at += (ht_u64)h->n_params * sizeof(double);
	image->data = (const void *)at;
	at += (ht_u64)h->n_data * sizeof(double);
	image->wires = (const void *)at;
	at += aligned((ht_u64)h->n_wires * sizeof(ht_u32));
	image->records = (const void *)at;
	at += aligned(h->n_records * sizeof(ht_u32));
	image->text = (const char *)at;
}

int ht_refuse(struct ht_error *error, ht_u32 code, ht_u32 where, ht_u32 index,
	      ht_u32 item, ht_u64 value)
{
	error->code = code;
	error->where = where;
	error->index = index;
	error->item = item;
	error->value = value;
	return code;
}

/* Printable ASCII or UTF-8, closed by a zero, zeros behind it. */
static int good_name(const char *name, ht_u32 size, int may_be_empty)
{
	ht_u32 i, length = 0;

	while (length < size && name[length])
		length++;
	if (length == size || (!length && !may_be_empty))
		return 0;
	for (i = 0; i < length; i++)
		if ((ht_u8)name[i] < ' ' || name[i] == 127)
			return 0;
	for (; i < size; i++)
		if (name[i])
			return 0;
	return 1;
}

/* The header of a loop: ring, time limits and protections. */
static int check_loop(const struct ht_image_header *h, struct ht_error *error)
{
	if (!h->ring_records || h->ring_records > HT_MAX_RING ||
	    (h->ring_records & (h->ring_records - 1)))
		return ht_refuse(error, HT_ERR_COUNT, HT_AT_IMAGE, 0, 1, h->ring_records);
	if (!h->budget_ns || h->budget_ns > h->period_ns - h->period_ns / 4)
		return ht_refuse(error, HT_ERR_COUNT, HT_AT_IMAGE, 0, 2, h->budget_ns);
	if (!h->deadline_ns || h->deadline_ns > h->period_ns)
		return ht_refuse(error, HT_ERR_COUNT, HT_AT_IMAGE, 0, 3, h->deadline_ns);
	if (!h->deadline_ticks || h->deadline_ticks > HT_MAX_LATE_TICKS)
		return ht_refuse(error, HT_ERR_COUNT, HT_AT_IMAGE, 0, 4, h->deadline_ticks);
	if (h->post_trip_ticks > HT_MAX_RING)
		return ht_refuse(error, HT_ERR_COUNT, HT_AT_IMAGE, 0, 5, h->post_trip_ticks);
	if (!h->scan_ticks || h->scan_ticks > HT_MAX_LATE_TICKS)
		return ht_refuse(error, HT_ERR_COUNT, HT_AT_IMAGE, 0, 7, h->scan_ticks);
	if (!h->write_ticks || h->write_ticks > HT_MAX_LATE_TICKS)
		return ht_refuse(error, HT_ERR_COUNT, HT_AT_IMAGE, 0, 8, h->write_ticks);
	if (h->flags)
		return ht_refuse(error, HT_ERR_RESERVED, HT_AT_IMAGE, 0, 1, h->flags);
	return HT_OK;
}

/* The header of a rig: nothing of what only a loop has. */
static int check_rig(const struct ht_image_header *h, struct ht_error *error)
{
	const ht_u32 unused[] = {
		h->n_interlocks, h->n_records, h->ring_records, h->soft_start_ticks,
		h->soft_stop_ticks, h->budget_ns, h->deadline_ns, h->deadline_ticks,
		h->missed_ticks, h->heartbeat_ms, h->post_trip_ticks, h->scan_ticks,
		h->write_ticks,
	};
	ht_u32 i;

	if (h->flags & ~HT_IMAGE_HELD)
		return ht_refuse(error, HT_ERR_RESERVED, HT_AT_IMAGE, 0, 1, h->flags);
	for (i = 0; i < HT_COUNT(unused); i++)
		if (unused[i])
			return ht_refuse(error, HT_ERR_RESERVED, HT_AT_IMAGE, 0, 3 + i, unused[i]);
	return HT_OK;
}

static int is_rig(const struct ht_image_header *h)
{
	return h->kind == HT_IMAGE_RIG;
}

static int check_header(const struct ht_image_header *h, struct ht_error *error)
{
	if (h->kind >= HT_IMAGE_KINDS)
		return ht_refuse(error, HT_ERR_TYPE, HT_AT_IMAGE, 0, 0, h->kind);
	if (h->period_ns < HT_MIN_PERIOD_NS || h->period_ns > HT_MAX_PERIOD_NS)
		return ht_refuse(error, HT_ERR_COUNT, HT_AT_IMAGE, 0, 0, h->period_ns);
	if (h->reserved)
		return ht_refuse(error, HT_ERR_RESERVED, HT_AT_IMAGE, 0, 0, h->reserved);
	return is_rig(h) ? check_rig(h, error) : check_loop(h, error);
}

static int check_signals(const struct ht_image *image, struct ht_error *error)
{
	ht_u32 i;

	for (i = 0; i < image->header->n_signals; i++) {
		const struct ht_image_signal *s = &image->signals[i];

		if (!good_name(s->name, sizeof(s->name), 0) ||
		    !good_name(s->unit, sizeof(s->unit), 1))
			return ht_refuse(error, HT_ERR_NAME, HT_AT_SIGNAL, i, 0, 0);
		if (!ht_finite(&s->initial))
			return ht_refuse(error, HT_ERR_NOT_FINITE, HT_AT_SIGNAL, i, 0,
					 ht_bits(s->initial));
	}
	return HT_OK;
}

/*
 * Whether steps of this rate lead from one limit to the other, in reasonable
 * time and in spite of rounding.
 */
static int arrives(const struct ht_image_output *o, double rate, double dt)
{
	const double far = o->max > -o->min ? o->max : -o->min;

	/* Half a step, or a tie would be rounded back to where it came from. */
	return o->max - o->min <= rate * HT_MAX_RAMP_TIME && far + rate * dt / 2 != far;
}

/* An input or output of the image, while its channel is checked. */
struct port {
	ht_u32 where;		/* HT_AT_INPUT or HT_AT_OUTPUT */
	ht_u32 index;
	ht_u32 rig;
};

/* Items of a refused channel, behind those of an output. */
enum {
	AT_CHANNEL_KIND = 16,
	AT_CHANNEL_GAIN,
	AT_CHANNEL_OFFSET,
	AT_CHANNEL_NOISE,
	AT_CHANNEL_BITS,
	AT_CHANNEL_RANGE,
	AT_CHANNEL_DEVICE,
	AT_CHANNEL_NAME,
	AT_CHANNEL_RESERVED
};

static int all_zero(const void *bytes, ht_u64 size)
{
	const ht_u8 *byte = bytes;
	ht_u64 i;

	for (i = 0; i < size; i++)
		if (byte[i])
			return 0;
	return 1;
}

static int refuse_channel(struct ht_error *error, const struct port *port, ht_u32 code,
			  ht_u32 item, ht_u64 value)
{
	return ht_refuse(error, code, port->where, port->index, item, value);
}

/* Resolution, range and noise of a converter of a rig; a loop states none of them. */
static int check_converter(const struct ht_image_channel *c, const struct port *port,
			   struct ht_error *error)
{
	const int adc = port->rig && port->where == HT_AT_OUTPUT;

	if (port->rig ? c->bits < 2 || c->bits > 32 : c->bits)
		return refuse_channel(error, port, HT_ERR_CHANNEL, AT_CHANNEL_BITS, c->bits);
	if (port->rig ? !c->range_mv || c->range_mv > HT_MAX_RANGE_MV : c->range_mv)
		return refuse_channel(error, port, HT_ERR_CHANNEL, AT_CHANNEL_RANGE, c->range_mv);
	if (!ht_finite(&c->noise))
		return refuse_channel(error, port, HT_ERR_NOT_FINITE, AT_CHANNEL_NOISE,
				      ht_bits(c->noise));
	if (adc ? c->noise < 0 : ht_bits(c->noise))
		return refuse_channel(error, port, HT_ERR_CHANNEL, AT_CHANNEL_NOISE,
				      ht_bits(c->noise));
	return HT_OK;
}

/* Which kinds may stand where. */
static int good_kind(const struct ht_image_channel *c, const struct port *port)
{
	if (port->rig)
		return c->kind == HT_CHANNEL_IIO;
	return c->kind == HT_CHANNEL_IIO ||
	       (c->kind == HT_CHANNEL_GPIO && port->where == HT_AT_INPUT);
}

static int check_channel(const struct ht_image_channel *c, const struct port *port,
			 struct ht_error *error)
{
	if (c->kind == HT_CHANNEL_NONE && !port->rig) {
		if (!all_zero(c, sizeof(*c)))
			return refuse_channel(error, port, HT_ERR_RESERVED, AT_CHANNEL_KIND, 0);
		return HT_OK;
	}
	if (!good_kind(c, port))
		return refuse_channel(error, port, HT_ERR_CHANNEL, AT_CHANNEL_KIND, c->kind);
	if (c->reserved)
		return refuse_channel(error, port, HT_ERR_RESERVED, AT_CHANNEL_RESERVED,
				      c->reserved);
	if (!ht_finite(&c->gain))
		return refuse_channel(error, port, HT_ERR_NOT_FINITE, AT_CHANNEL_GAIN,
				      ht_bits(c->gain));
	if (c->gain == 0)
		return refuse_channel(error, port, HT_ERR_CHANNEL, AT_CHANNEL_GAIN,
				      ht_bits(c->gain));
	if (!ht_finite(&c->offset))
		return refuse_channel(error, port, HT_ERR_NOT_FINITE, AT_CHANNEL_OFFSET,
				      ht_bits(c->offset));
	if (!good_name(c->name, sizeof(c->name), 0))
		return refuse_channel(error, port, HT_ERR_NAME, AT_CHANNEL_NAME, 0);
	if (!good_name(c->device, sizeof(c->device), 1))
		return refuse_channel(error, port, HT_ERR_NAME, AT_CHANNEL_DEVICE, 0);
	if (port->rig && c->device[0])
		return refuse_channel(error, port, HT_ERR_RESERVED, AT_CHANNEL_DEVICE, 0);
	return check_converter(c, port, error);
}

static int check_inputs(const struct ht_image *image, struct ht_error *error)
{
	const ht_u32 rig = is_rig(image->header);
	ht_u32 i;
	int code;

	for (i = 0; i < image->header->n_inputs; i++) {
		const struct ht_image_input *in = &image->inputs[i];
		const ht_u32 known = !rig && in->channel.kind == HT_CHANNEL_IIO ?
				     HT_INPUT_POLL : 0;

		if (in->flags & ~known)
			return ht_refuse(error, HT_ERR_RESERVED, HT_AT_INPUT, i, 0, in->flags);
		if (in->signal >= image->header->n_signals)
			return ht_refuse(error, HT_ERR_SIGNAL, HT_AT_INPUT, i, 0, in->signal);
		code = check_channel(&in->channel, &(struct port){ HT_AT_INPUT, i, rig }, error);
		if (code)
			return code;
	}
	return HT_OK;
}

/* What the output stage of a loop does with an output. */
static int check_stage(const struct ht_image_output *o, ht_u32 i, double dt,
		       struct ht_error *error)
{
	const double *value = &o->safe;
	ht_u32 j;

	for (j = 0; j < 5; j++)
		if (!ht_finite(&value[j]))
			return ht_refuse(error, HT_ERR_NOT_FINITE, HT_AT_OUTPUT, i, j,
					 ht_bits(value[j]));
	for (j = 0; j < 5; j++)
		if (value[j] > HT_MAX_OUTPUT || value[j] < -HT_MAX_OUTPUT)
			return ht_refuse(error, HT_ERR_RANGE, HT_AT_OUTPUT, i, j,
					 ht_bits(value[j]));
	if (o->min > o->max)
		return ht_refuse(error, HT_ERR_ORDER, HT_AT_OUTPUT, i, 1, ht_bits(o->min));
	if (o->safe < o->min || o->safe > o->max)
		return ht_refuse(error, HT_ERR_RANGE, HT_AT_OUTPUT, i, 0, ht_bits(o->safe));
	if (o->slew < 0 || (o->slew > 0 && !arrives(o, o->slew, dt)))
		return ht_refuse(error, HT_ERR_RANGE, HT_AT_OUTPUT, i, 3, ht_bits(o->slew));
	if (o->ramp <= 0 || !arrives(o, o->ramp, dt))
		return ht_refuse(error, HT_ERR_RANGE, HT_AT_OUTPUT, i, 4, ht_bits(o->ramp));
	return HT_OK;
}

static int check_outputs(const struct ht_image *image, struct ht_error *error)
{
	const double dt = (double)image->header->period_ns / 1e9;
	const ht_u32 rig = is_rig(image->header);
	ht_u32 i;
	int code;

	for (i = 0; i < image->header->n_outputs; i++) {
		const struct ht_image_output *o = &image->outputs[i];

		if (o->flags)
			return ht_refuse(error, HT_ERR_RESERVED, HT_AT_OUTPUT, i, 0, o->flags);
		if (o->signal >= image->header->n_signals)
			return ht_refuse(error, HT_ERR_SIGNAL, HT_AT_OUTPUT, i, 0, o->signal);
		if (rig && !all_zero(&o->safe, 5 * sizeof(o->safe)))
			return ht_refuse(error, HT_ERR_RESERVED, HT_AT_OUTPUT, i, 1, 0);
		code = rig ? HT_OK : check_stage(o, i, dt, error);
		if (code)
			return code;
		code = check_channel(&o->channel, &(struct port){ HT_AT_OUTPUT, i, rig }, error);
		if (code)
			return code;
	}
	return HT_OK;
}

/* Whether an interlock looks at the signals that its kind has. */
static int check_watched(const struct ht_image_interlock *l, ht_u32 n_signals, ht_u32 i,
			 struct ht_error *error)
{
	const int line = l->kind == HT_LOCK_ENABLE || l->kind == HT_LOCK_ESTOP;
	const int vital = HT_LOCK_IS_VITAL(l->kind);

	if (vital ? l->signal != HT_NO_SIGNAL : l->signal >= n_signals)
		return ht_refuse(error, HT_ERR_SIGNAL, HT_AT_INTERLOCK, i, 0, l->signal);
	if (l->other != HT_NO_SIGNAL && (vital || line || l->other >= n_signals))
		return ht_refuse(error, HT_ERR_SIGNAL, HT_AT_INTERLOCK, i, 1, l->other);
	return HT_OK;
}

static int check_limits(const struct ht_image_interlock *l, ht_u32 i, struct ht_error *error)
{
	const int line = l->kind == HT_LOCK_ENABLE || l->kind == HT_LOCK_ESTOP;

	if (!ht_finite(&l->low) || !ht_finite(&l->high))
		return ht_refuse(error, HT_ERR_NOT_FINITE, HT_AT_INTERLOCK, i, 0, 0);
	if (l->kind != HT_LOCK_RANGE && !line && l->low != 0)
		return ht_refuse(error, HT_ERR_RESERVED, HT_AT_INTERLOCK, i, 3, ht_bits(l->low));
	if (line && l->high != 0)
		return ht_refuse(error, HT_ERR_RESERVED, HT_AT_INTERLOCK, i, 4, ht_bits(l->high));
	if (!line && l->low > l->high)
		return ht_refuse(error, HT_ERR_ORDER, HT_AT_INTERLOCK, i, 0, ht_bits(l->low));
	return HT_OK;
}

static int check_interlocks(const struct ht_image *image, struct ht_error *error)
{
	ht_u32 i;
	int code;

	for (i = 0; i < image->header->n_interlocks; i++) {
		const struct ht_image_interlock *l = &image->interlocks[i];
		const int window = l->kind == HT_LOCK_RMS;

		if (l->kind >= HT_LOCK_KINDS || l->action >= HT_ACTIONS)
			return ht_refuse(error, HT_ERR_TYPE, HT_AT_INTERLOCK, i, 0, l->kind);
		if (l->flags & ~HT_LOCK_LATCH)
			return ht_refuse(error, HT_ERR_RESERVED, HT_AT_INTERLOCK, i, 5, l->flags);
		if (l->reserved)
			return ht_refuse(error, HT_ERR_RESERVED, HT_AT_INTERLOCK, i, 6,
					 l->reserved);
		code = check_watched(l, image->header->n_signals, i, error);
		if (code)
			return code;
		if (window ? !l->window_ticks || l->window_ticks > HT_MAX_RING : l->window_ticks)
			return ht_refuse(error, HT_ERR_COUNT, HT_AT_INTERLOCK, i, 2,
					 l->window_ticks);
		if (!good_name(l->name, sizeof(l->name), 0))
			return ht_refuse(error, HT_ERR_NAME, HT_AT_INTERLOCK, i, 0, 0);
		code = check_limits(l, i, error);
		if (code)
			return code;
	}
	return HT_OK;
}

/* What one block takes from the shared vectors. */
struct needs {
	ht_u64 params;
	ht_u64 data;
	ht_u64 wires;
};

static int check_block(const struct ht_image *image, ht_u32 i, struct needs *needs,
		       struct ht_error *error)
{
	const struct ht_image_block *b = &image->blocks[i];
	const struct ht_block_type *type;
	struct ht_layout layout = { .n_state = 0 };
	ht_u32 j;
	int code;

	if (b->type >= ht_n_block_types)
		return ht_refuse(error, HT_ERR_TYPE, HT_AT_BLOCK, i, 0, b->type);
	type = ht_block_types[b->type];
	if (b->flags)
		return ht_refuse(error, HT_ERR_RESERVED, HT_AT_BLOCK, i, 0, b->flags);
	if (!good_name(b->name, sizeof(b->name), 0))
		return ht_refuse(error, HT_ERR_NAME, HT_AT_BLOCK, i, 0, 0);
	if (b->n_in > HT_MAX_PORTS || b->n_in < type->min_in || b->n_in > type->max_in)
		return ht_refuse(error, HT_ERR_PORTS, HT_AT_BLOCK, i, 0, b->n_in);
	if (b->n_out > HT_MAX_PORTS || b->n_out < type->min_out || b->n_out > type->max_out)
		return ht_refuse(error, HT_ERR_PORTS, HT_AT_BLOCK, i, 1, b->n_out);
	for (j = 0; j < HT_MAX_DIMS; j++) {
		if (j >= type->n_dims ? b->dims[j] != 0 :
		    b->dims[j] < type->dims[j].min || b->dims[j] > type->dims[j].max)
			return ht_refuse(error, HT_ERR_DIMS, HT_AT_BLOCK, i, j, b->dims[j]);
	}
	code = type->layout(b->n_in, b->n_out, b->dims, &layout);
	if (code)
		return ht_refuse(error, code, HT_AT_BLOCK, i, 0, 0);
	for (j = 0; j < type->n_fields; j++) {
		if (layout.count[j] > HT_MAX_VALUES)
			return ht_refuse(error, HT_ERR_DIMS, HT_AT_BLOCK, i, j, layout.count[j]);
		if (type->fields[j].flags & HT_FIELD_DATA)
			needs->data += layout.count[j];
		else
			needs->params += layout.count[j];
	}
	if (layout.n_state > HT_MAX_VALUES || layout.n_derived > HT_MAX_VALUES)
		return ht_refuse(error, HT_ERR_DIMS, HT_AT_BLOCK, i, 0, layout.n_state);
	needs->wires += b->n_in + b->n_out;
	return HT_OK;
}

/*
 * Every wire leads to a signal, and no signal has two writers. Writers are
 * marked in a bitmap of HT_MAX_SIGNALS bits.
 */
static int check_wires(const struct ht_image *image, struct ht_error *error)
{
	const struct ht_image_header *h = image->header;
	const ht_u32 *wire = image->wires;
	ht_u8 written[HT_MAX_SIGNALS / 8] = { 0 };
	ht_u32 i, j, signal;

	for (i = 0; i < h->n_inputs; i++) {
		signal = image->inputs[i].signal;
		if (written[signal / 8] & 1 << signal % 8)
			return ht_refuse(error, HT_ERR_WRITERS, HT_AT_INPUT, i, 0, signal);
		written[signal / 8] |= 1 << signal % 8;
	}
	for (i = 0; i < h->n_blocks; i++) {
		const struct ht_image_block *b = &image->blocks[i];

		for (j = 0; j < b->n_in + b->n_out; j++) {
			signal = *wire++;
			if (signal >= h->n_signals)
				return ht_refuse(error, HT_ERR_SIGNAL, HT_AT_BLOCK, i, j, signal);
			if (j < b->n_in)
				continue;
			if (written[signal / 8] & 1 << signal % 8)
				return ht_refuse(error, HT_ERR_WRITERS, HT_AT_BLOCK, i, j, signal);
			written[signal / 8] |= 1 << signal % 8;
		}
	}
	for (i = 0; i < h->n_records; i++)
		if (image->records[i] >= h->n_signals)
			return ht_refuse(error, HT_ERR_SIGNAL, HT_AT_RECORD, i, 0,
					 image->records[i]);
	return HT_OK;
}

/* Zeros from the end of a section to the next multiple of 8. */
static int padded(const void *section, ht_u64 size)
{
	return all_zero((const ht_u8 *)section + size, aligned(size) - size);
}

static int check_padding(const struct ht_image *image, struct ht_error *error)
{
	const struct ht_image_header *h = image->header;

	if (!padded(image->wires, (ht_u64)h->n_wires * sizeof(ht_u32)) ||
	    !padded(image->records, (ht_u64)h->n_records * sizeof(ht_u32)) ||
	    !padded(image->text, h->text_size))
		return ht_refuse(error, HT_ERR_RESERVED, HT_AT_IMAGE, 0, 2, 0);
	return HT_OK;
}

static int check_size(const void *bytes, ht_u64 size, struct ht_error *error)
{
	const struct ht_image_header *h = bytes;

	if (size < sizeof(*h))
		return ht_refuse(error, HT_ERR_SIZE, HT_AT_IMAGE, 0, 0, size);
	if (h->magic != HT_IMAGE_MAGIC)
		return ht_refuse(error, HT_ERR_MAGIC, HT_AT_IMAGE, 0, 0, h->magic);
	if (h->version != HT_IMAGE_VERSION)
		return ht_refuse(error, HT_ERR_VERSION, HT_AT_IMAGE, 0, 0, h->version);
	if (!ht_image_bytes(h))
		return ht_refuse(error, HT_ERR_COUNT, HT_AT_IMAGE, 0, 6, 0);
	if (h->size != size || ht_image_bytes(h) != size)
		return ht_refuse(error, HT_ERR_SIZE, HT_AT_IMAGE, 0, 1, h->size);
	return HT_OK;
}

int ht_image_check_structure(const void *bytes, ht_u64 size, struct ht_error *error)
{
	struct needs needs = { 0 };
	struct ht_image image;
	ht_u32 i;
	int code;

	code = check_size(bytes, size, error);
	if (code)
		return code;
	ht_image_open(&image, bytes);
	code = check_header(image.header, error);
	if (code)
		return code;
	code = check_padding(&image, error);
	if (code)
		return code;
	code = check_signals(&image, error);
	if (code)
		return code;
	code = check_inputs(&image, error);
	if (code)
		return code;
	code = check_outputs(&image, error);
	if (code)
		return code;
	code = check_interlocks(&image, error);
	if (code)
		return code;
	for (i = 0; i < image.header->n_blocks; i++) {
		code = check_block(&image, i, &needs, error);
		if (code)
			return code;
	}
	if (needs.params != image.header->n_params)
		return ht_refuse(error, HT_ERR_LAYOUT, HT_AT_IMAGE, 0, 0, needs.params);
	if (needs.data != image.header->n_data)
		return ht_refuse(error, HT_ERR_LAYOUT, HT_AT_IMAGE, 0, 1, needs.data);
	if (needs.wires != image.header->n_wires)
		return ht_refuse(error, HT_ERR_LAYOUT, HT_AT_IMAGE, 0, 2, needs.wires);
	code = check_wires(&image, error);
	if (code)
		return code;
	return ht_refuse(error, HT_OK, HT_AT_IMAGE, 0, 0, 0);
}

int ht_image_check(const void *bytes, ht_u64 size, struct ht_error *error)
{
	const struct ht_image_header *h = bytes;
	int code = check_size(bytes, size, error);

	if (code)
		return code;
	if (ht_image_crc(bytes, h->size) != h->crc)
		return ht_refuse(error, HT_ERR_CRC, HT_AT_IMAGE, 0, 0, h->crc);
	return ht_image_check_structure(bytes, size, error);
}

const char *ht_error_text(ht_u32 code)
{
	static const char *const text[HT_ERRORS] = {
		[HT_OK] = "ok",
		[HT_ERR_SIZE] = "the image is shorter or longer than its header says",
		[HT_ERR_MAGIC] = "this is not a program image",
		[HT_ERR_VERSION] = "the image has another version than this program",
		[HT_ERR_CRC] = "the image is damaged (CRC)",
		[HT_ERR_COUNT] = "a count is out of bounds",
		[HT_ERR_RESERVED] = "a reserved field is not zero",
		[HT_ERR_NAME] = "a name or unit is empty, too long or not printable",
		[HT_ERR_NOT_FINITE] = "a value is not a finite number",
		[HT_ERR_RANGE] = "a value is outside its range",
		[HT_ERR_INTEGER] = "a value must be an integer",
		[HT_ERR_SIGNAL] = "there is no such signal",
		[HT_ERR_WRITERS] = "a signal has two writers",
		[HT_ERR_TYPE] = "there is no such type",
		[HT_ERR_PORTS] = "wrong number of inputs or outputs",
		[HT_ERR_DIMS] = "a dimension is out of bounds",
		[HT_ERR_LAYOUT] = "the image has more or fewer values than its blocks need",
		[HT_ERR_SINGULAR] = "a matrix is singular",
		[HT_ERR_UNSTABLE] = "the integration is unstable at this period",
		[HT_ERR_ORDER] = "values are not in rising order",
		[HT_ERR_FIXED] = "this parameter cannot change while the program is loaded",
		[HT_ERR_PARAM] = "there is no such parameter",
		[HT_ERR_KIND] = "a loop's image where a rig's must be, or the reverse",
		[HT_ERR_CHANNEL] = "kind, gain, bits, range or noise of a channel make no sense",
	};

	return code < HT_ERRORS ? text[code] : "unknown error";
}

const char *ht_error_place(ht_u32 where)
{
	static const char *const text[HT_PLACES] = {
		[HT_AT_IMAGE] = "image",
		[HT_AT_SIGNAL] = "signal",
		[HT_AT_INPUT] = "input",
		[HT_AT_OUTPUT] = "output",
		[HT_AT_BLOCK] = "block",
		[HT_AT_INTERLOCK] = "interlock",
		[HT_AT_RECORD] = "record",
		[HT_AT_PARAM] = "parameter",
	};

	return where < HT_PLACES ? text[where] : "unknown place";
}
