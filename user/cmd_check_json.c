// SPDX-License-Identifier: GPL-2.0
/*
 * hytest check --json FILE: what came out of an experiment file, as JSON.
 */
#include "../kmod/core/loop.h"
#include "cmd_check.h"
#include "json.h"
#include "param_names.h"
#include "words.h"

static void json_signals(struct json *json, const struct ht_image *image)
{
	uint32_t i;

	json_array_begin(json, "signals");
	for (i = 0; i < image->header->n_signals; i++) {
		json_object_begin(json, NULL);
		json_string(json, "name", image->signals[i].name);
		json_string(json, "unit", image->signals[i].unit);
		json_number(json, "initial", image->signals[i].initial);
		json_object_end(json);
	}
	json_array_end(json);
	json_array_begin(json, "record");
	for (i = 0; i < image->header->n_records; i++)
		json_string(json, NULL, image->signals[image->records[i]].name);
	json_array_end(json);
	json_array_begin(json, "inputs");
	for (i = 0; i < image->header->n_inputs; i++)
		json_string(json, NULL, image->signals[image->inputs[i].signal].name);
	json_array_end(json);
}

static void json_outputs(struct json *json, const struct ht_image *image)
{
	uint32_t i;

	json_array_begin(json, "outputs");
	for (i = 0; i < image->header->n_outputs; i++) {
		const struct ht_image_output *o = &image->outputs[i];

		json_object_begin(json, NULL);
		json_string(json, "signal", image->signals[o->signal].name);
		json_number(json, "safe", o->safe);
		json_number(json, "min", o->min);
		json_number(json, "max", o->max);
		json_number(json, "slew", o->slew);
		json_number(json, "ramp", o->ramp);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_channel(struct json *json, const char *signal, const char *direction,
			 const struct ht_image_channel *c)
{
	static const char *const kinds[HT_CHANNEL_KINDS] = { NULL, "iio", "gpio" };

	json_object_begin(json, NULL);
	json_string(json, "signal", signal);
	json_string(json, "direction", direction);
	json_string(json, "kind", kinds[c->kind]);
	if (c->kind != HT_CHANNEL_NONE) {
		json_string(json, "device", *c->device ? c->device : NULL);
		json_string(json, "channel", c->name);
		json_number(json, "gain", c->gain);
		json_number(json, "offset", c->offset);
	}
}

static void json_bindings(struct json *json, const struct ht_image *image)
{
	uint32_t i;

	json_array_begin(json, "bindings");
	for (i = 0; i < image->header->n_inputs; i++) {
		const struct ht_image_input *in = &image->inputs[i];

		json_channel(json, image->signals[in->signal].name, "input", &in->channel);
		json_bool(json, "poll", in->flags & HT_INPUT_POLL);
		json_object_end(json);
	}
	for (i = 0; i < image->header->n_outputs; i++) {
		const struct ht_image_output *o = &image->outputs[i];

		json_channel(json, image->signals[o->signal].name, "output", &o->channel);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_ports(struct json *json, const char *key, const struct ht_image *image,
		       const ht_u32 *wire, uint32_t n)
{
	uint32_t i;

	json_array_begin(json, key);
	for (i = 0; i < n; i++)
		json_string(json, NULL, image->signals[wire[i]].name);
	json_array_end(json);
}

static void json_blocks(struct json *json, const struct ht_image *image)
{
	const ht_u32 *wire = image->wires;
	uint32_t i;

	json_array_begin(json, "blocks");
	for (i = 0; i < image->header->n_blocks; i++) {
		const struct ht_image_block *b = &image->blocks[i];

		json_object_begin(json, NULL);
		json_string(json, "name", b->name);
		json_string(json, "type", check_type_name(image, i));
		json_ports(json, "in", image, wire, b->n_in);
		json_ports(json, "out", image, wire + b->n_in, b->n_out);
		json_object_end(json);
		wire += b->n_in + b->n_out;
	}
	json_array_end(json);
}

static void json_converter(struct json *json, const char *signal,
			   const struct ht_image_channel *c)
{
	json_object_begin(json, NULL);
	json_string(json, "channel", c->name);
	json_string(json, "signal", signal);
	json_number(json, "gain", c->gain);
	json_number(json, "offset", c->offset);
	json_unsigned(json, "bits", c->bits);
	json_number(json, "range", c->range_mv / 1e3);
	json_number(json, "noise", c->noise);
	json_object_end(json);
}

static void json_rig(struct json *json, const struct hytest_rig_program *rig,
		     const struct ht_image *loop)
{
	struct ht_image image;
	uint32_t i;

	ht_image_open(&image, rig->image);
	json_object_begin(json, NULL);
	json_string(json, "name", rig->name);
	json_number(json, "rate", 1e9 / (double)image.header->period_ns);
	json_unsigned(json, "period_ns", image.header->period_ns);
	json_bool(json, "held", image.header->flags & HT_IMAGE_HELD);
	if (loop)
		json_bool(json, "keeps_pace", check_rig_keeps_pace(&image, loop));
	json_unsigned(json, "image_bytes", rig->size);
	json_array_begin(json, "dac");
	for (i = 0; i < image.header->n_inputs; i++)
		json_converter(json, image.signals[image.inputs[i].signal].name,
			       &image.inputs[i].channel);
	json_array_end(json);
	json_array_begin(json, "adc");
	for (i = 0; i < image.header->n_outputs; i++)
		json_converter(json, image.signals[image.outputs[i].signal].name,
			       &image.outputs[i].channel);
	json_array_end(json);
	json_blocks(json, &image);
	json_object_end(json);
}

static void json_rigs(struct json *json, const struct hytest_experiment *e,
		      const struct ht_image *loop)
{
	const struct hytest_rig_program *rigs;
	size_t n = hytest_experiment_rigs(e, &rigs), i;

	json_array_begin(json, "rigs");
	for (i = 0; i < n; i++)
		json_rig(json, &rigs[i], loop);
	json_array_end(json);
}

static const char *lock_signal(const struct ht_image *image, ht_u32 signal)
{
	return signal == HT_NO_SIGNAL ? NULL : image->signals[signal].name;
}

static void json_interlocks(struct json *json, const struct ht_image *image)
{
	uint32_t i;

	json_array_begin(json, "interlocks");
	for (i = 0; i < image->header->n_interlocks; i++) {
		const struct ht_image_interlock *l = &image->interlocks[i];

		json_object_begin(json, NULL);
		json_string(json, "name", l->name);
		json_string(json, "kind", hytest_lock_kind_text(l->kind));
		json_string(json, "action", hytest_action_text(l->action));
		json_string(json, "signal", lock_signal(image, l->signal));
		json_string(json, "other", lock_signal(image, l->other));
		json_number(json, "low", l->low);
		json_number(json, "high", l->high);
		json_unsigned(json, "delay_ticks", l->delay_ticks);
		json_unsigned(json, "window_ticks", l->window_ticks);
		json_bool(json, "latch", l->flags & HT_LOCK_LATCH);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_schedule(struct json *json, const struct hytest_experiment *e,
			  const void *image)
{
	const struct hytest_scheduled *scheduled;
	size_t n = hytest_experiment_schedule(e, &scheduled), i;
	char name[HYTEST_PARAM_NAME_LEN];
	uint32_t j;

	json_array_begin(json, "changes");
	for (i = 0; i < n; i++) {
		json_object_begin(json, NULL);
		json_unsigned(json, "tick", scheduled[i].tick);
		json_object_begin(json, "set");
		for (j = 0; j < scheduled[i].count; j++) {
			const struct ht_change *change = &scheduled[i].changes[j];
			const union ht_real value = { .bits = change->value };

			if (!hytest_param_name(image, change->param, name, sizeof(name)))
				json_number(json, name, value.value);
		}
		json_object_end(json);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_protections(struct json *json, const struct ht_image_header *h)
{
	json_object_begin(json, "protections");
	json_unsigned(json, "budget_ns", h->budget_ns);
	json_unsigned(json, "deadline_ns", h->deadline_ns);
	json_unsigned(json, "deadline_ticks", h->deadline_ticks);
	json_unsigned(json, "missed_ticks", h->missed_ticks);
	json_unsigned(json, "scan_ticks", h->scan_ticks);
	json_unsigned(json, "write_ticks", h->write_ticks);
	json_unsigned(json, "heartbeat_ms", h->heartbeat_ms);
	json_object_end(json);
}

static void json_loop(struct json *json, const struct hytest_experiment *e,
		      const struct ht_image *image)
{
	const struct ht_image_header *h = image->header;

	json_number(json, "rate", 1e9 / (double)h->period_ns);
	json_unsigned(json, "period_ns", h->period_ns);
	json_integer(json, "cpu", hytest_experiment_cpu(e));
	json_unsigned(json, "heartbeat_ms", h->heartbeat_ms);
	json_unsigned(json, "budget_ns", h->budget_ns);
	json_unsigned(json, "deadline_ns", h->deadline_ns);
	json_unsigned(json, "ring_records", h->ring_records);
	json_unsigned(json, "parameters", h->n_params);
	json_unsigned(json, "image_bytes", h->size);
	json_unsigned(json, "loop_bytes", ht_loop_bytes(h));
	json_signals(json, image);
	json_outputs(json, image);
	json_bindings(json, image);
	json_blocks(json, image);
	json_interlocks(json, image);
	json_protections(json, h);
	json_schedule(json, e, h);
}

int check_json(const struct hytest_experiment *e, const struct ht_image *loop, const char *path)
{
	struct json *json = json_new(stdout);

	if (!json)
		return -1;
	json_object_begin(json, NULL);
	json_bool(json, "ok", true);
	json_string(json, "command", "check");
	json_string(json, "file", path);
	json_string(json, "title", hytest_experiment_title(e));
	json_number(json, "duration", hytest_experiment_duration(e));
	if (loop)
		json_loop(json, e, loop);
	json_rigs(json, e, loop);
	json_object_end(json);
	return json_free(json);
}
