// SPDX-License-Identifier: GPL-2.0
/*
 * hytest check --blocks: the block types and their settings.
 */
#include "../kmod/core/block.h"
#include "cmd_check.h"
#include "commands.h"
#include "json.h"
#include "options.h"

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

int check_list_types(bool as_json)
{
	if (as_json)
		return json_types() ? HYTEST_EXIT_FAILED : HYTEST_EXIT_OK;
	print_types();
	return fflush(stdout) ? HYTEST_EXIT_FAILED : HYTEST_EXIT_OK;
}
