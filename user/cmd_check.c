// SPDX-License-Identifier: GPL-2.0
/*
 * hytest check FILE: compiles an experiment file and tells what came out.
 * hytest check --blocks: the block types and their settings.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../kmod/core/loop.h"
#include "commands.h"
#include "experiment.h"
#include "json.h"
#include "options.h"
#include "param_names.h"

static const struct hytest_usage usage = {
	.command = "check",
	.arguments = "FILE",
	.text =
	"Compile an experiment file and show the program that comes out of it.\n"
	"The first mistake is reported with its line.\n"
	"\n"
	"  --blocks          list the block types and their settings (no FILE)\n"
	"\n"
	"Example: hytest check user/experiments/first-loop.cfg --set K=150\n",
	.takes = HYTEST_TAKES_SET,
	.min_arguments = 1,
	.max_arguments = 1,
};

static const char *const kind_words[HT_LOCK_KINDS] = { "range", "rate", "difference", "rms" };
static const char *const action_words[HT_ACTIONS] = { "ramp", "hold", "cut" };

static const char *type_name(const struct ht_image *image, uint32_t block)
{
	return ht_block_types[image->blocks[block].type]->name;
}

static void print_ports(FILE *out, const struct ht_image *image, const ht_u32 *wire, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? ", " : "", image->signals[wire[i]].name);
}

static void print_blocks(FILE *out, const struct ht_image *image)
{
	const ht_u32 *wire = image->wires;
	uint32_t i;

	fprintf(out, "\n%u blocks, in the order in which they run:\n", image->header->n_blocks);
	for (i = 0; i < image->header->n_blocks; i++) {
		const struct ht_image_block *b = &image->blocks[i];

		fprintf(out, "  %-16s %-12s ", b->name, type_name(image, i));
		print_ports(out, image, wire, b->n_in);
		fprintf(out, "%s-> ", b->n_in ? " " : "");
		print_ports(out, image, wire + b->n_in, b->n_out);
		fputc('\n', out);
		wire += b->n_in + b->n_out;
	}
}

static void print_signals(FILE *out, const struct ht_image *image)
{
	uint32_t i;

	fprintf(out, "\n%u signals:", image->header->n_signals);
	for (i = 0; i < image->header->n_signals; i++) {
		const struct ht_image_signal *s = &image->signals[i];

		fprintf(out, "%s%s [%s]", i % 6 ? ", " : i ? ",\n  " : "\n  ", s->name,
			*s->unit ? s->unit : "-");
	}
	fprintf(out, "\n%u recorded\n", image->header->n_records);
}

static void print_channels(FILE *out, const struct ht_image *image)
{
	uint32_t i;

	fprintf(out, "\n%u inputs, %u outputs:\n", image->header->n_inputs,
		image->header->n_outputs);
	for (i = 0; i < image->header->n_inputs; i++) {
		const struct ht_image_signal *s = &image->signals[image->inputs[i].signal];

		fprintf(out, "  in   %-16s [%s], initially %g\n", s->name,
			*s->unit ? s->unit : "-", s->initial);
	}
	for (i = 0; i < image->header->n_outputs; i++) {
		const struct ht_image_output *o = &image->outputs[i];

		fprintf(out, "  out  %-16s from %g to %g, safe %g, ramp %g/s, slew ",
			image->signals[o->signal].name, o->min, o->max, o->safe, o->ramp);
		if (o->slew > 0)
			fprintf(out, "%g/s\n", o->slew);
		else
			fputs("unlimited\n", out);
	}
}

static void print_interlocks(FILE *out, const struct ht_image *image)
{
	uint32_t i;

	fprintf(out, "\n%u interlocks:\n", image->header->n_interlocks);
	for (i = 0; i < image->header->n_interlocks; i++) {
		const struct ht_image_interlock *l = &image->interlocks[i];

		fprintf(out, "  %-16s %s of %s", l->name, kind_words[l->kind],
			image->signals[l->signal].name);
		if (l->other != HT_NO_SIGNAL)
			fprintf(out, " - %s", image->signals[l->other].name);
		if (l->kind == HT_LOCK_RANGE)
			fprintf(out, " from %g", l->low);
		fprintf(out, " to %g", l->high);
		if (l->kind == HT_LOCK_RMS)
			fprintf(out, " over %u ticks", l->window_ticks);
		if (l->delay_ticks)
			fprintf(out, ", after %u ticks", l->delay_ticks);
		fprintf(out, ": %s\n", action_words[l->action]);
	}
}

static void print_loop(FILE *out, const struct hytest_experiment *e, const struct ht_image *image)
{
	const struct ht_image_header *h = image->header;
	const struct hytest_scheduled *scheduled;
	size_t size;

	hytest_experiment_image(e, &size);
	fprintf(out, "%s\n", *hytest_experiment_title(e) ? hytest_experiment_title(e) : "(no title)");
	fprintf(out, "rate %.6g Hz, period %" PRIu64 " ns", 1e9 / (double)h->period_ns,
		(uint64_t)h->period_ns);
	if (hytest_experiment_duration(e) > 0)
		fprintf(out, ", duration %g s\n", hytest_experiment_duration(e));
	else
		fputs(", until stopped\n", out);
	fprintf(out, "heartbeat %u ms%s, dry tick at most %u ns, deadline %u ns\n", h->heartbeat_ms,
		h->heartbeat_ms ? "" : " (none)", h->budget_ns, h->deadline_ns);
	fprintf(out, "ring of %u records (%.3g s), %u parameters, %zu parameter batches\n",
		h->ring_records, (double)h->ring_records * (double)h->period_ns / 1e9, h->n_params,
		hytest_experiment_schedule(e, &scheduled));
	fprintf(out, "image %zu bytes, loop memory %" PRIu64 " bytes\n", size,
		(uint64_t)ht_loop_bytes(h));
}

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
		json_string(json, "type", type_name(image, i));
		json_ports(json, "in", image, wire, b->n_in);
		json_ports(json, "out", image, wire + b->n_in, b->n_out);
		json_object_end(json);
		wire += b->n_in + b->n_out;
	}
	json_array_end(json);
}

static void json_interlocks(struct json *json, const struct ht_image *image)
{
	uint32_t i;

	json_array_begin(json, "interlocks");
	for (i = 0; i < image->header->n_interlocks; i++) {
		const struct ht_image_interlock *l = &image->interlocks[i];

		json_object_begin(json, NULL);
		json_string(json, "name", l->name);
		json_string(json, "kind", kind_words[l->kind]);
		json_string(json, "action", action_words[l->action]);
		json_string(json, "signal", image->signals[l->signal].name);
		json_string(json, "other", l->other == HT_NO_SIGNAL ? NULL :
			    image->signals[l->other].name);
		json_number(json, "low", l->low);
		json_number(json, "high", l->high);
		json_unsigned(json, "delay_ticks", l->delay_ticks);
		json_unsigned(json, "window_ticks", l->window_ticks);
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

static int write_json(const struct hytest_experiment *e, const struct ht_image *image,
		      const char *path)
{
	const struct ht_image_header *h = image->header;
	struct json *json = json_new(stdout);

	if (!json)
		return -1;
	json_object_begin(json, NULL);
	json_bool(json, "ok", true);
	json_string(json, "command", "check");
	json_string(json, "file", path);
	json_string(json, "title", hytest_experiment_title(e));
	json_number(json, "duration", hytest_experiment_duration(e));
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
	json_blocks(json, image);
	json_interlocks(json, image);
	json_schedule(json, e, h);
	json_object_end(json);
	return json_free(json);
}

static void print_field(const struct ht_field *field)
{
	uint32_t i;

	printf("    %-14s ", field->name);
	if (field->words) {
		for (i = 0; field->words[i]; i++)
			printf("%s%s", i ? " | " : "", field->words[i]);
		if (field->flags & HT_FIELD_OPTIONAL)
			printf(" (%s)", field->words[(uint32_t)field->preset]);
	} else {
		printf("%g ... %g", field->min, field->max);
		if (*field->unit)
			printf(" %s", field->unit);
		if (field->flags & HT_FIELD_OPTIONAL)
			printf(" (%g)", field->preset);
	}
	printf("; %s%s\n", field->help, field->flags & (HT_FIELD_FIXED | HT_FIELD_DATA) ?
	       "; fixed" : "");
}

static void print_port_range(const char *what, uint32_t min, uint32_t max)
{
	if (min == max)
		printf("%u %s", min, what);
	else if (max >= HT_MAX_PORTS)
		printf("%u or more %s", min, what);
	else
		printf("%u ... %u %s", min, max, what);
}

static void print_types(void)
{
	uint32_t i, j;

	printf("A value in parentheses is taken if the setting is absent;\n"
	       "what is not fixed can change while running.\n");
	for (i = 0; i < ht_n_block_types; i++) {
		const struct ht_block_type *type = ht_block_types[i];

		printf("\n%s: %s\n    ", type->name, type->summary);
		print_port_range("inputs", type->min_in, type->max_in);
		printf(", ");
		print_port_range("outputs", type->min_out, type->max_out);
		putchar('\n');
		for (j = 0; j < type->n_dims; j++)
			printf("    %-14s %u ... %u; %s\n", type->dims[j].name, type->dims[j].min,
			       type->dims[j].max, type->dims[j].help);
		for (j = 0; j < type->n_fields; j++)
			print_field(&type->fields[j]);
	}
}

static void json_field(struct json *json, const struct ht_field *field)
{
	uint32_t i;

	json_object_begin(json, NULL);
	json_string(json, "name", field->name);
	json_string(json, "unit", field->unit);
	json_number(json, "min", field->min);
	json_number(json, "max", field->max);
	json_bool(json, "optional", field->flags & HT_FIELD_OPTIONAL);
	json_number(json, "preset", field->preset);
	json_bool(json, "integer", field->flags & HT_FIELD_INTEGER);
	json_bool(json, "fixed", field->flags & (HT_FIELD_FIXED | HT_FIELD_DATA));
	json_array_begin(json, "words");
	for (i = 0; field->words && field->words[i]; i++)
		json_string(json, NULL, field->words[i]);
	json_array_end(json);
	json_string(json, "help", field->help);
	json_object_end(json);
}

static int json_types(void)
{
	struct json *json = json_new(stdout);
	uint32_t i, j;

	if (!json)
		return -1;
	json_object_begin(json, NULL);
	json_bool(json, "ok", true);
	json_string(json, "command", "check");
	json_array_begin(json, "types");
	for (i = 0; i < ht_n_block_types; i++) {
		const struct ht_block_type *type = ht_block_types[i];

		json_object_begin(json, NULL);
		json_string(json, "name", type->name);
		json_string(json, "summary", type->summary);
		json_unsigned(json, "min_in", type->min_in);
		json_unsigned(json, "max_in", type->max_in);
		json_unsigned(json, "min_out", type->min_out);
		json_unsigned(json, "max_out", type->max_out);
		json_array_begin(json, "fields");
		for (j = 0; j < type->n_fields; j++)
			json_field(json, &type->fields[j]);
		json_array_end(json);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
	return json_free(json);
}

static int list_types(bool as_json)
{
	if (as_json)
		return json_types() ? HYTEST_EXIT_FAILED : HYTEST_EXIT_OK;
	print_types();
	return fflush(stdout) ? HYTEST_EXIT_FAILED : HYTEST_EXIT_OK;
}

static bool has_option(int argc, char **argv, const char *option)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], option))
			return true;
	return false;
}

int hytest_cmd_check(int argc, char **argv)
{
	struct hytest_options options;
	struct hytest_experiment *e;
	struct hytest_message message;
	struct ht_image image;
	FILE *out;
	int status;

	if (has_option(argc, argv, "--blocks"))
		return list_types(has_option(argc, argv, "--json"));
	status = hytest_options_parse(&options, &usage, argc, argv);
	if (status >= 0)
		return status;
	e = hytest_experiment_read(options.arguments[0], options.set, options.n_set, &message);
	if (!e) {
		status = hytest_fail(&options, HYTEST_EXIT_USAGE, "%s", message.text);
		hytest_options_free(&options);
		return status;
	}
	ht_image_open(&image, hytest_experiment_image(e, NULL));
	status = HYTEST_EXIT_OK;
	if (options.json) {
		if (write_json(e, &image, options.arguments[0]))
			status = HYTEST_EXIT_FAILED;
	} else {
		out = hytest_out(&options);
		print_loop(out, e, &image);
		print_blocks(out, &image);
		print_signals(out, &image);
		print_channels(out, &image);
		print_interlocks(out, &image);
		if (fflush(out))
			status = HYTEST_EXIT_FAILED;
	}
	hytest_experiment_free(e);
	hytest_options_free(&options);
	return status;
}
