// SPDX-License-Identifier: GPL-2.0
/*
 * Simulated rigs of an experiment file. Each is a program of its own: its dac
 * channels are the inputs, its adc channels the outputs, its signals are seen
 * by its own blocks only.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_rigs.h"

#define MAX_RIGS 64

static int compile_rig(struct model *m, struct hytest_rig_program *program)
{
	char name[HT_NAME_LEN];
	struct ht_rig *rig;
	uint32_t size = 0;
	void *image = NULL;
	int failed;

	if (model_read_rig(m, name, sizeof(name)))
		return -1;
	program->name = strdup(name);
	if (!program->name)
		return reader_no_memory(m->reader);
	if (model_read_dac(m) || model_read_blocks(m) || model_read_adc(m) || model_sort_blocks(m))
		return -1;
	/* The text is in the image of the loop. */
	failed = model_make_image(m, "", &image, &size);
	program->image = image;
	program->size = size;
	if (failed)
		return -1;
	rig = model_make_rig(m, image);
	free(rig);
	return rig ? 0 : -1;
}

int rigs_read(struct rigs *rigs, struct reader *r)
{
	const config_setting_t *list;
	unsigned int length, i, j;

	if (reader_list(r, config_root_setting(r->config), "rigs", MAX_RIGS, &list, &length))
		return -1;
	rigs->programs = calloc(length + 1, sizeof(*rigs->programs));
	if (!rigs->programs)
		return reader_no_memory(r);
	for (i = 0; i < length; i++) {
		struct model model = { .reader = r, .group = reader_group(r, list, i) };
		int failed = -1;

		rigs->n_programs++;
		if (model.group)
			failed = compile_rig(&model, &rigs->programs[i]);
		model_free(&model);
		if (failed)
			return -1;
		for (j = 0; j < i; j++)
			if (!strcmp(rigs->programs[j].name, rigs->programs[i].name))
				return reader_fail(r, model.group,
						   "a second rig is called %s; choose another name",
						   rigs->programs[i].name);
	}
	return 0;
}

void rigs_free(struct rigs *rigs)
{
	size_t i;

	for (i = 0; i < rigs->n_programs; i++) {
		free((void *)rigs->programs[i].name);
		free((void *)rigs->programs[i].image);
	}
	free(rigs->programs);
}

/* The rig that a channel of the loop leads to; NULL if it is none of the file's. */
static const struct hytest_rig_program *find_rig(const struct rigs *rigs,
						 const struct ht_image_channel *channel)
{
	size_t i;

	for (i = 0; channel->kind == HT_CHANNEL_IIO && i < rigs->n_programs; i++)
		if (!strcmp(rigs->programs[i].name, channel->device))
			return &rigs->programs[i];
	return NULL;
}

/* Channels of a rig in one direction. */
struct channel_list {
	const char *word;		/* "adc" or "dac" */
	const struct ht_image *image;
	uint32_t n;
};

static const struct ht_image_channel *list_channel(const struct channel_list *list, uint32_t i)
{
	return *list->word == 'a' ? &list->image->outputs[i].channel :
	       &list->image->inputs[i].channel;
}

/* By its name, or as libiio calls it. NULL after a message. */
static const struct ht_image_channel *find_channel(const struct model *loop,
						   const config_setting_t *group,
						   const struct ht_image_channel *wanted,
						   const struct channel_list *list)
{
	char all[160] = "", hint[96], id[24];
	struct suggestion suggestion;
	uint32_t i;

	suggest_begin(&suggestion, wanted->name);
	for (i = 0; i < list->n; i++) {
		const struct ht_image_channel *channel = list_channel(list, i);

		snprintf(id, sizeof(id), "voltage%u", i);
		if (!strcmp(channel->name, wanted->name) || !strcmp(id, wanted->name))
			return channel;
		suggest_offer(&suggestion, channel->name);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), " %s", channel->name);
	}
	reader_fail(loop->reader, config_setting_get_member(group, "channel"),
		    "the rig %s has no %s channel \"%s\"; it has%s%s", wanted->device, list->word,
		    wanted->name, *all ? all : " none",
		    suggest_text(&suggestion, hint, sizeof(hint)));
	return NULL;
}

/* Whether a converter reaches the limits of the output that drives it. */
static int check_reach(const struct model *loop, uint32_t output,
		       const struct ht_image_channel *converter)
{
	const struct ht_image_output *o = &loop->outputs[output];
	const config_setting_t *group = loop->output_settings[output];
	const double range = converter->range_mv / 1e3;
	const double reach = fabs(o->channel.gain) * range * (1 + 1e-12);
	const double low = o->channel.offset - reach, high = o->channel.offset + reach;
	const bool above = o->max > high;
	const double limit = above ? o->max : o->min;

	if (!above && o->min >= low)
		return 0;
	return reader_fail(loop->reader, config_setting_get_member(group, above ? "max" : "min"),
			   "output %s: %s %.6g needs %.6g V at channel %s, which has %.6g to %.6g V; with this gain and offset %s can be %.6g at %s",
			   loop->signals[o->signal].image.name, above ? "max" : "min", limit,
			   (limit - o->channel.offset) / o->channel.gain, converter->name, -range,
			   range, above ? "max" : "min", above ? high : low,
			   above ? "most" : "least");
}

static int check_input(const struct rigs *rigs, const struct model *loop, uint32_t input)
{
	const struct ht_image_channel *wanted = &loop->inputs[input].channel;
	const struct hytest_rig_program *rig = find_rig(rigs, wanted);
	struct channel_list list = { .word = "adc" };
	struct ht_image image;

	if (!rig)
		return 0;
	ht_image_open(&image, rig->image);
	list.image = &image;
	list.n = image.header->n_outputs;
	return find_channel(loop, loop->input_settings[input], wanted, &list) ? 0 : -1;
}

static int check_output(const struct rigs *rigs, const struct model *loop, uint32_t output)
{
	const struct ht_image_channel *wanted = &loop->outputs[output].channel, *converter;
	const struct hytest_rig_program *rig = find_rig(rigs, wanted);
	struct channel_list list = { .word = "dac" };
	struct ht_image image;

	if (!rig)
		return 0;
	ht_image_open(&image, rig->image);
	list.image = &image;
	list.n = image.header->n_inputs;
	converter = find_channel(loop, loop->output_settings[output], wanted, &list);
	return converter ? check_reach(loop, output, converter) : -1;
}

int rigs_check_binding(const struct rigs *rigs, const struct model *loop)
{
	uint32_t i;

	for (i = 0; i < loop->n_inputs; i++)
		if (check_input(rigs, loop, i))
			return -1;
	for (i = 0; i < loop->n_outputs; i++)
		if (check_output(rigs, loop, i))
			return -1;
	return 0;
}
