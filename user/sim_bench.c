// SPDX-License-Identifier: GPL-2.0
/*
 * The rigs that stand before a simulated loop, and the lines between them.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/hytest_rig.h>

#include "../kmod/core/rig.h"
#include "sim_bench.h"

struct sim_rig {
	struct sim_rig *next;
	char name[HYTEST_RIG_NAME_LEN];
	void *bytes;
	struct ht_image image;
	struct ht_rig *core;
};

/* Between an input or output of the loop and a channel of a rig. */
struct sim_line {
	struct sim_rig *rig;		/* NULL: bound to nothing */
	uint32_t number;		/* of the rig's ADC or DAC */
	struct ht_channel channel;
};

static struct sim_rig *find_rig(const struct sim_bench *bench, const char *name)
{
	struct sim_rig *rig = bench->rigs;

	while (rig && strcmp(rig->name, name))
		rig = rig->next;
	return rig;
}

static int name_is_good(const char *name)
{
	size_t i, n = strlen(name);

	if (!n || n >= HYTEST_RIG_NAME_LEN)
		return 0;
	for (i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("-_.", name[i]))
			return 0;
	return 1;
}

static void free_rig(struct sim_rig *rig)
{
	if (!rig)
		return;
	free(rig->core);
	free(rig->bytes);
	free(rig);
}

/* The program of a rig whose image is in place. */
static int build_rig(struct sim_rig *rig, size_t size, struct ht_error *error)
{
	if (ht_image_check(rig->bytes, size, error))
		return -EINVAL;
	ht_image_open(&rig->image, rig->bytes);
	if (rig->image.header->kind != HT_IMAGE_RIG) {
		ht_refuse(error, HT_ERR_KIND, HT_AT_IMAGE, 0, 0, rig->image.header->kind);
		return -EINVAL;
	}
	rig->core = calloc(1, ht_rig_bytes(rig->bytes));
	if (!rig->core)
		return -ENOMEM;
	return ht_rig_init(rig->core, rig->bytes, error) ? -EINVAL : 0;
}

int sim_bench_add(struct sim_bench *bench, const char *name, const void *image, size_t size,
		  struct hytest_refusal *refusal)
{
	struct ht_error error = { 0 };
	struct sim_rig *rig;
	int result;

	*refusal = (struct hytest_refusal){ 0 };
	if (!name_is_good(name))
		return -EINVAL;
	if (find_rig(bench, name))
		return -EEXIST;
	rig = calloc(1, sizeof(*rig));
	if (!rig)
		return -ENOMEM;
	strcpy(rig->name, name);
	rig->bytes = malloc(size ? size : 1);
	result = -ENOMEM;
	if (rig->bytes) {
		memcpy(rig->bytes, image, size);
		result = build_rig(rig, size, &error);
	}
	if (result) {
		*refusal = (struct hytest_refusal){
			.code = error.code,
			.where = error.where,
			.index = error.index,
			.item = error.item,
			.value = error.value,
		};
		free_rig(rig);
		return result;
	}
	rig->next = bench->rigs;
	bench->rigs = rig;
	return 0;
}

void sim_bench_free(struct sim_bench *bench)
{
	struct sim_rig *next;

	sim_bench_unbind(bench);
	for (; bench->rigs; bench->rigs = next) {
		next = bench->rigs->next;
		free_rig(bench->rigs);
	}
}

static void advance(struct sim_rig *rig, uint64_t now_ns)
{
	ht_rig_advance(rig->core, now_ns / rig->image.header->period_ns, UINT64_MAX);
}

/* A channel of the rig's image: DACs are its inputs, ADCs its outputs. */
static const struct ht_image_channel *rig_channel(const struct sim_rig *rig, bool dac, uint32_t i)
{
	return dac ? &rig->image.inputs[i].channel : &rig->image.outputs[i].channel;
}

/* By its label, or by the name that IIO gives it; -1 if there is none. */
static int find_channel(const struct sim_rig *rig, bool dac, const char *name)
{
	const struct ht_image_header *h = rig->image.header;
	const uint32_t n = dac ? h->n_inputs : h->n_outputs;
	char number[24];
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(rig_channel(rig, dac, i)->name, name))
			return i;
	for (i = 0; i < n; i++) {
		snprintf(number, sizeof(number), "voltage%u", i);
		if (!strcmp(number, name))
			return i;
	}
	return -1;
}

static uint32_t connect_line(const struct sim_bench *bench, struct sim_line *line, bool dac,
			     const struct ht_image_channel *channel)
{
	struct sim_rig *rig = find_rig(bench, channel->device);
	struct ht_converter converter;
	int number;

	if (channel->kind != HT_CHANNEL_IIO || !rig)
		return HYTEST_BIND_OK;
	number = find_channel(rig, dac, channel->name);
	if (number < 0)
		return HYTEST_BIND_NO_CHANNEL;
	ht_rig_converter(rig_channel(rig, dac, number), &converter);
	if (ht_channel_init(&line->channel, &converter, channel))
		return HYTEST_BIND_SCALE;
	line->rig = rig;
	line->number = number;
	return HYTEST_BIND_OK;
}

static bool is_taken(const struct sim_line *lines, uint32_t output)
{
	uint32_t i;

	for (i = 0; i < output; i++)
		if (lines[i].rig && lines[i].rig == lines[output].rig &&
		    lines[i].number == lines[output].number)
			return true;
	return false;
}

static int connect_inputs(struct sim_bench *bench, const struct ht_image *image,
			  struct hytest_arm *arm)
{
	uint32_t i;

	for (i = 0; i < bench->n_inputs; i++) {
		arm->channel = i;
		arm->problem = connect_line(bench, &bench->inputs[i], false,
					    &image->inputs[i].channel);
		if (arm->problem)
			return -ENXIO;
		bench->bound_inputs += !!bench->inputs[i].rig;
		bench->values[i] = image->signals[image->inputs[i].signal].initial;
	}
	return 0;
}

static int connect_outputs(struct sim_bench *bench, const struct ht_image *image,
			   struct hytest_arm *arm)
{
	uint32_t i;

	for (i = 0; i < bench->n_outputs; i++) {
		arm->channel = bench->n_inputs + i;
		arm->problem = connect_line(bench, &bench->outputs[i], true,
					    &image->outputs[i].channel);
		if (!arm->problem && is_taken(bench->outputs, i))
			arm->problem = HYTEST_BIND_TAKEN;
		if (arm->problem)
			return -ENXIO;
		bench->bound_outputs += !!bench->outputs[i].rig;
	}
	return 0;
}

static void write_line(const struct sim_line *line, uint64_t now_ns, double value)
{
	if (!line->rig)
		return;
	advance(line->rig, now_ns);
	ht_rig_write(line->rig->core, line->number, ht_channel_code(&line->channel, value));
}

int sim_bench_bind(struct sim_bench *bench, const void *bytes, uint64_t now_ns,
		   struct hytest_arm *arm)
{
	struct ht_image image;
	int result = -ENOMEM;
	uint32_t i;

	ht_image_open(&image, bytes);
	bench->n_inputs = image.header->n_inputs;
	bench->n_outputs = image.header->n_outputs;
	bench->inputs = calloc(bench->n_inputs + 1, sizeof(*bench->inputs));
	bench->outputs = calloc(bench->n_outputs + 1, sizeof(*bench->outputs));
	bench->values = calloc(bench->n_inputs + 1, sizeof(*bench->values));
	if (bench->inputs && bench->outputs && bench->values)
		result = connect_inputs(bench, &image, arm);
	if (!result)
		result = connect_outputs(bench, &image, arm);
	if (result) {
		sim_bench_unbind(bench);
		return result;
	}
	arm->channel = 0;
	for (i = 0; i < bench->n_outputs; i++)
		write_line(&bench->outputs[i], now_ns, image.outputs[i].safe);
	sim_bench_sample(bench, now_ns);
	return 0;
}

void sim_bench_unbind(struct sim_bench *bench)
{
	free(bench->inputs);
	free(bench->outputs);
	free(bench->values);
	*bench = (struct sim_bench){ .rigs = bench->rigs };
}

void sim_bench_write(struct sim_bench *bench, uint64_t now_ns, const double *outputs)
{
	uint32_t i;

	for (i = 0; i < bench->n_outputs; i++)
		write_line(&bench->outputs[i], now_ns, outputs[i]);
}

void sim_bench_sample(struct sim_bench *bench, uint64_t now_ns)
{
	const struct sim_line *line;
	struct sim_rig *rig;
	ht_s64 code;
	uint32_t i;

	for (rig = bench->rigs; rig; rig = rig->next)
		advance(rig, now_ns);
	for (i = 0; i < bench->n_inputs; i++) {
		line = &bench->inputs[i];
		if (!line->rig)
			continue;
		code = ht_rig_read(line->rig->core, line->number);
		bench->values[i] = ht_channel_signal(&line->channel, code);
	}
	for (rig = bench->rigs; rig; rig = rig->next)
		ht_rig_end_scan(rig->core);
}

/* A line of the fault file, in words. */
struct fault_line {
	char kind[16];
	char channel[16];
	char value[32];
	int words;
};

static int read_line(struct fault_line *l, const char *line)
{
	char more[2];

	l->words = sscanf(line, "%15s %15s %31s %1s", l->kind, l->channel, l->value, more);
	return l->words >= 1 && l->words <= 3 ? 0 : -EINVAL;
}

/* HT_FAULTS if it is none of a channel. */
static uint32_t find_fault(const char *kind)
{
	uint32_t fault = 0;

	while (fault < HT_FAULTS && strcmp(kind, ht_fault_name(fault)))
		fault++;
	return fault;
}

static bool is_of_the_bus(const char *kind)
{
	return !strcmp(kind, "late") || !strcmp(kind, "lost") || !strcmp(kind, "read-error") ||
	       !strcmp(kind, "write-error");
}

static int words_of(uint32_t fault)
{
	switch (fault) {
	case HT_FAULT_SPIKE:
	case HT_FAULT_DRIFT:
	case HT_FAULT_SATURATION:
	case HT_FAULT_RUNAWAY:
		return 3;
	default:
		return 2;
	}
}

/* -1 if the rig has no such channel that the fault could be of. */
static long find_fault_channel(const struct sim_rig *rig, uint32_t fault, const char *text)
{
	const struct ht_image_header *h = rig->image.header;
	const uint32_t most = h->n_inputs > h->n_outputs ? h->n_inputs : h->n_outputs;
	uint32_t n = ht_fault_is_for_dac(fault) ? h->n_inputs : h->n_outputs;
	char *end;
	long number;

	if (fault == HT_FAULT_NONE)
		n = most;
	number = strtol(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && number < (long)n ? number : -1;
}

static void end_faults(struct sim_rig *rig)
{
	const struct ht_image_header *h = rig->image.header;
	const double zero = 0;
	uint32_t i;

	for (i = 0; i < h->n_inputs || i < h->n_outputs; i++)
		ht_rig_fault(rig->core, HT_FAULT_NONE, i, &zero);
}

__attribute__((format(printf, 3, 4)))
static int say(char *text, size_t size, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(text, size, format, list);
	va_end(list);
	return -EINVAL;
}

/* What is wrong with the words of a line; 0 if nothing is. */
static int check_line(const struct fault_line *l, uint32_t fault, char *text, size_t size)
{
	if (is_of_the_bus(l->kind)) {
		say(text, size, "the simulation has no bus: '%s' needs the module", l->kind);
		return -EOPNOTSUPP;
	}
	if (fault == HT_FAULTS)
		return say(text, size, "there is no fault '%s': linux/hytest_rig.h lists them",
			   l->kind);
	if (l->words != words_of(fault) && !(fault == HT_FAULT_NONE && l->words == 1))
		return say(text, size, "'%s' has %s", l->kind, words_of(fault) == 3 ?
			   "a channel and a value" : "a channel and nothing else");
	return 0;
}

static int inject(struct sim_rig *rig, const struct fault_line *l, uint32_t fault, char *text,
		  size_t size)
{
	const long channel = find_fault_channel(rig, fault, l->channel);
	double value = 0;

	if (channel < 0)
		return say(text, size, "'%s': there is no %s channel %s", l->kind,
			   ht_fault_is_for_dac(fault) ? "DAC" : "ADC", l->channel);
	if (l->words == 3 && !ht_rig_number(l->value, &value))
		return say(text, size, "'%s': the value '%s' is no number like -1.5", l->kind,
			   l->value);
	ht_rig_fault(rig->core, fault, channel, &value);
	return 0;
}

int sim_bench_fault(struct sim_bench *bench, const char *name, const char *line, uint64_t now_ns,
		    char *text, size_t size)
{
	struct sim_rig *rig = find_rig(bench, name);
	struct fault_line l;
	uint32_t fault;
	int result;

	if (!rig) {
		say(text, size, "there is no such rig");
		return -ENOENT;
	}
	if (read_line(&l, line))
		return say(text, size, "'%s' is no line KIND [CHANNEL] [VALUE]", line);
	fault = find_fault(l.kind);
	result = check_line(&l, fault, text, size);
	if (result)
		return result;
	advance(rig, now_ns);
	if (l.words > 1)
		return inject(rig, &l, fault, text, size);
	end_faults(rig);
	return 0;
}
