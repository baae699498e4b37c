// SPDX-License-Identifier: GPL-2.0
/*
 * hytest params: lists parameters, or changes some of them as one batch.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kmod/core/program.h"
#include "commands.h"
#include "experiment.h"
#include "json.h"
#include "libhytest.h"
#include "options.h"
#include "param_names.h"

static const struct hytest_usage usage = {
	.command = "params",
	.arguments = "[NAME=VALUE ...]",
	.text =
	"List the parameters of the loaded program, or change those given: all of them\n"
	"on one tick, or none. Changing needs control, which hytest run has as long as\n"
	"it runs; listing does not.\n"
	"\n"
	"  --device N           /dev/hytestN, default 0\n"
	"  --backend sim        try it on an experiment without a kernel, with:\n"
	"  --file FILE          the experiment to load (sim only)\n"
	"  --set PATH=VALUE     override a value of FILE\n"
	"\n"
	"Example: hytest params controller.kp=120 controller.kd=0.5\n",
	.takes = HYTEST_TAKES_BACKEND | HYTEST_TAKES_DEVICE | HYTEST_TAKES_FILE | HYTEST_TAKES_SET,
	.max_arguments = -1,
};

struct session {
	const struct hytest_options *options;
	struct hytest_experiment *experiment;
	struct hytest_loop *loop;
	void *image;
	uint32_t n_params;
	double *values;
	struct hytest_change *changes;
	uint32_t batch;
};

static int fail_loop(const struct session *s)
{
	return hytest_fail(s->options, HYTEST_EXIT_FAILED, "%s", hytest_error(s->loop));
}

/* -1: go on. */
static int open_sim(struct session *s)
{
	const struct hytest_options *o = s->options;
	struct hytest_message message;
	const void *image;
	size_t size;

	if (!o->file)
		return hytest_fail(o, HYTEST_EXIT_USAGE,
				   "params --backend sim needs an experiment: --file FILE");
	s->experiment = hytest_experiment_read(o->file, o->set, o->n_set, &message);
	if (!s->experiment)
		return hytest_fail(o, HYTEST_EXIT_USAGE, "%s", message.text);
	image = hytest_experiment_image(s->experiment, &size);
	if (!image)
		return hytest_fail(o, HYTEST_EXIT_USAGE,
				   "%s has rigs only and no loop with parameters", o->file);
	s->loop = hytest_open_sim();
	if (!s->loop)
		return hytest_fail(o, HYTEST_EXIT_FAILED, "no memory");
	if (hytest_take_control(s->loop) || hytest_load(s->loop, image, size))
		return fail_loop(s);
	return -1;
}

static int open_kernel(struct session *s)
{
	const struct hytest_options *o = s->options;
	char text[256];

	if (o->file || o->n_set)
		return hytest_fail(o, HYTEST_EXIT_USAGE,
				   "params --file and --set are for --backend sim");
	s->loop = hytest_open(o->device, o->n_arguments > 0, text, sizeof(text));
	if (!s->loop)
		return hytest_fail(o, HYTEST_EXIT_FAILED, "%s", text);
	return -1;
}

static int read_values(struct session *s)
{
	size_t size;

	if (hytest_get_image(s->loop, &s->image, &size))
		return fail_loop(s);
	s->n_params = ((const struct ht_image_header *)s->image)->n_params;
	s->values = calloc(s->n_params + 1, sizeof(*s->values));
	if (!s->values)
		return hytest_fail(s->options, HYTEST_EXIT_FAILED, "no memory");
	return -1;
}

/* NAME=VALUE, the value a number or one of the words of the field. */
static int parse_change(const struct session *s, const char *text, struct hytest_change *change)
{
	const char *equals = strchr(text, '=');
	char name[HYTEST_PARAM_NAME_LEN];
	struct ht_param_place place;
	const char *const *words;
	struct ht_image image;
	double value;
	char *end;
	int result;

	if (!equals || equals == text || (size_t)(equals - text) >= sizeof(name))
		return hytest_fail(s->options, HYTEST_EXIT_USAGE,
				   "%s: must be NAME=VALUE, such as controller.kp=120", text);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	result = hytest_param_find(s->image, name, &change->param);
	if (result == -ERANGE)
		return hytest_fail(s->options, HYTEST_EXIT_USAGE, "%s: this field has several "
				   "elements or not so many, give one as NAME[0]", name);
	if (result)
		return hytest_fail(s->options, HYTEST_EXIT_USAGE,
				   "%s: there is no such parameter, hytest params lists them",
				   name);
	value = strtod(equals + 1, &end);
	ht_image_open(&image, s->image);
	ht_param_place(s->image, change->param, &place);
	words = ht_block_types[image.blocks[place.block].type]->fields[place.field].words;
	if (words && end == equals + 1) {
		for (value = 0; *words && strcmp(*words, equals + 1); words++)
			value++;
		if (*words)
			end += strlen(end);
	}
	if (end == equals + 1 || *end)
		return hytest_fail(s->options, HYTEST_EXIT_USAGE, "%s: %s is not a number", name,
				   equals + 1);
	change->value = hytest_bits(value);
	return -1;
}

static int change(struct session *s)
{
	const struct hytest_options *o = s->options;
	int i, status, result;

	s->changes = calloc(o->n_arguments, sizeof(*s->changes));
	if (!s->changes)
		return hytest_fail(o, HYTEST_EXIT_FAILED, "no memory");
	for (i = 0; i < o->n_arguments; i++) {
		status = parse_change(s, o->arguments[i], &s->changes[i]);
		if (status >= 0)
			return status;
	}
	if (hytest_take_control(s->loop))
		return fail_loop(s);
	result = hytest_change(s->loop, s->changes, o->n_arguments, 0, &s->batch);
	if (result == -EINVAL)
		return hytest_fail(o, HYTEST_EXIT_USAGE, "%s", hytest_error(s->loop));
	return result ? fail_loop(s) : -1;
}

static const struct ht_field *field_of(const struct session *s, uint32_t param)
{
	struct ht_param_place place;
	struct ht_image image;

	ht_image_open(&image, s->image);
	ht_param_place(s->image, param, &place);
	return &ht_block_types[image.blocks[place.block].type]->fields[place.field];
}

static void print_list(const struct session *s)
{
	FILE *out = hytest_out(s->options);
	char name[HYTEST_PARAM_NAME_LEN];
	const struct ht_field *field;
	uint32_t i;

	for (i = 0; i < s->n_params; i++) {
		field = field_of(s, i);
		hytest_param_name(s->image, i, name, sizeof(name));
		fprintf(out, "%-40s %.10g%s%s%s\n", name, s->values[i], *field->unit ? " " : "",
			field->unit, field->flags & HT_FIELD_FIXED ? "  (fixed)" : "");
	}
}

static void print_json(const struct session *s)
{
	struct json *json = json_new(stdout);
	char name[HYTEST_PARAM_NAME_LEN];
	const struct ht_field *field;
	uint32_t i;

	if (!json)
		return;
	json_object_begin(json, NULL);
	json_bool(json, "ok", true);
	json_string(json, "command", "params");
	json_integer(json, "changed", s->options->n_arguments);
	json_unsigned(json, "batch", s->batch);
	json_array_begin(json, "parameters");
	for (i = 0; i < s->n_params; i++) {
		field = field_of(s, i);
		hytest_param_name(s->image, i, name, sizeof(name));
		json_object_begin(json, NULL);
		json_unsigned(json, "number", i);
		json_string(json, "name", name);
		json_number(json, "value", s->values[i]);
		json_string(json, "unit", field->unit);
		json_bool(json, "fixed", field->flags & HT_FIELD_FIXED);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
	json_free(json);
}

static int run_session(struct session *s)
{
	int status = s->options->sim ? open_sim(s) : open_kernel(s);

	if (status < 0)
		status = read_values(s);
	if (status < 0 && s->options->n_arguments)
		status = change(s);
	if (status >= 0)
		return status;
	if (hytest_get_params(s->loop, 0, s->n_params, s->values))
		return fail_loop(s);
	if (s->options->n_arguments)
		fprintf(hytest_out(s->options), "changed %d parameter%s\n",
			s->options->n_arguments, s->options->n_arguments > 1 ? "s" : "");
	else
		print_list(s);
	if (s->options->json)
		print_json(s);
	return HYTEST_EXIT_OK;
}

int hytest_cmd_params(int argc, char **argv)
{
	struct hytest_options options;
	struct session session = { .options = &options };
	int status;

	status = hytest_options_parse(&options, &usage, argc, argv);
	if (status >= 0)
		return status;
	status = run_session(&session);
	hytest_close(session.loop);
	if (session.experiment)
		hytest_experiment_free(session.experiment);
	free(session.changes);
	free(session.values);
	free(session.image);
	hytest_options_free(&options);
	return status;
}
