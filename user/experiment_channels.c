// SPDX-License-Identifier: GPL-2.0
/*
 * Where the signals of a program meet the world: inputs and outputs of the
 * loop, and the converters (dac, adc) of a rig.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_model.h"

#define ANY 1e15
#define MAX_LINES 4096		/* of a GPIO chip */

#define CALIBRATION "gain", "offset", "sign"

/* signal = sign * gain * world + offset */
static int read_calibration(struct model *m, const config_setting_t *group,
			    struct ht_image_channel *channel)
{
	static const struct number_key gain_key = { .name = "gain", .unit = "", .min = -ANY,
						    .max = ANY, .preset = 1 };
	static const struct number_key offset_key = { .name = "offset", .unit = "", .min = -ANY,
						      .max = ANY };
	static const struct number_key sign_key = { .name = "sign", .unit = "", .min = -1,
						    .max = 1, .preset = 1, .integer = true };
	double gain, sign;
	char path[128];

	if (reader_number_key(m->reader, group, &gain_key, &gain) ||
	    reader_number_key(m->reader, group, &offset_key, &channel->offset) ||
	    reader_number_key(m->reader, group, &sign_key, &sign))
		return -1;
	reader_path(group, path, sizeof(path));
	if (fabs(gain) < 1 / ANY)
		return reader_fail(m->reader, config_setting_get_member(group, "gain"),
				   "%s.gain is %.9g; it must not be zero: it is what 1 V (or other SI unit of the device) stands for",
				   path, gain);
	if (sign == 0)
		return reader_fail(m->reader, config_setting_get_member(group, "sign"),
				   "%s.sign is 0; it must be 1 or -1", path);
	channel->gain = sign * gain;
	return 0;
}

static int read_line(struct model *m, const config_setting_t *group,
		     struct ht_image_channel *channel)
{
	static const struct number_key key = { .name = "line", .unit = "", .min = 0,
					       .max = MAX_LINES - 1, .integer = true,
					       .required = true };
	double line;

	if (!*channel->device)
		return reader_label(m->reader, group, "line", channel->name,
				    sizeof(channel->name));
	if (reader_number_key(m->reader, group, &key, &line))
		return -1;
	snprintf(channel->name, sizeof(channel->name), "%.0f", line);
	return 0;
}

/* A setting that makes no sense beside, or without, another one. */
static int refuse_key(struct model *m, const config_setting_t *group, const char *const *keys,
		      size_t n_keys, const char *why)
{
	const config_setting_t *s;
	char path[128];
	size_t i;

	for (i = 0; i < n_keys; i++) {
		s = config_setting_get_member(group, keys[i]);
		if (!s)
			continue;
		reader_path(group, path, sizeof(path));
		return reader_fail(m->reader, s, "%s has %s, %s", path, keys[i], why);
	}
	return 0;
}

static int read_gpio(struct model *m, const config_setting_t *group,
		     struct ht_image_channel *channel)
{
	static const char *const not_with_gpio[] = { "device", "channel", "poll" };
	const char *chip;

	if (refuse_key(m, group, not_with_gpio, HT_COUNT(not_with_gpio),
		       "which a GPIO line does not have; remove it, or gpio") ||
	    reader_text(m->reader, group, "gpio", true, &chip))
		return -1;
	channel->kind = HT_CHANNEL_GPIO;
	if (*chip && reader_label(m->reader, group, "gpio", channel->device,
				  sizeof(channel->device)))
		return -1;
	return read_line(m, group, channel) ? -1 : read_calibration(m, group, channel);
}

static int read_iio(struct model *m, const config_setting_t *group,
		    struct ht_image_channel *channel)
{
	channel->kind = HT_CHANNEL_IIO;
	if (config_setting_get_member(group, "device") &&
	    reader_label(m->reader, group, "device", channel->device, sizeof(channel->device)))
		return -1;
	if (reader_label(m->reader, group, "channel", channel->name, sizeof(channel->name)))
		return -1;
	return read_calibration(m, group, channel);
}

/* Where an input or output of the loop leads; nowhere if nothing is said. */
static int read_binding(struct model *m, const config_setting_t *group,
			struct ht_image_channel *channel)
{
	static const char *const without[] = { "device", CALIBRATION, "poll", "line" };
	static const char *const line[] = { "line" };

	if (config_setting_get_member(group, "gpio"))
		return read_gpio(m, group, channel);
	if (!config_setting_get_member(group, "channel"))
		return refuse_key(m, group, without, HT_COUNT(without),
				  "but is bound to nothing; it needs channel = \"...\"");
	if (refuse_key(m, group, line, HT_COUNT(line), "which needs gpio = \"...\", not channel"))
		return -1;
	return read_iio(m, group, channel);
}

/* Signal, unit and initial value of what comes from outside. */
static int read_input_signal(struct model *m, const config_setting_t *group, ht_u32 *number)
{
	static const struct number_key initial = { .name = "initial", .unit = "", .min = -ANY,
						   .max = ANY };
	const config_setting_t *unit = config_setting_get_member(group, "unit");
	struct model_signal *signal;
	char name[HT_NAME_LEN];

	if (reader_name(m->reader, group, "signal", name, sizeof(name)) ||
	    model_add_signal(m, config_setting_get_member(group, "signal"), name, AN_INPUT,
			     &signal) ||
	    reader_number_key(m->reader, group, &initial, &signal->image.initial))
		return -1;
	if (unit && reader_unit(m->reader, unit, signal->image.unit, sizeof(signal->image.unit)))
		return -1;
	*number = signal - m->signals;
	return 0;
}

static int read_input(struct model *m, const config_setting_t *group,
		      struct ht_image_input *input)
{
	static const char *const keys[] = { "signal", "unit", "initial", "device", "channel",
					    CALIBRATION, "poll", "gpio", "line" };
	bool poll;

	if (reader_check_keys(m->reader, group, keys, HT_COUNT(keys)) ||
	    read_input_signal(m, group, &input->signal) ||
	    read_binding(m, group, &input->channel) ||
	    reader_bool(m->reader, group, "poll", false, &poll))
		return -1;
	input->flags = poll ? HT_INPUT_POLL : 0;
	return 0;
}

/* Codes of so many bits for -range to range. */
static int read_converter(struct model *m, const config_setting_t *group,
			  struct ht_image_channel *channel)
{
	static const struct number_key bits_key = { .name = "bits", .unit = "", .min = 2,
						    .max = 32, .preset = 16, .integer = true };
	static const struct number_key range_key = { .name = "range", .unit = "V", .min = 0.001,
						     .max = HT_MAX_RANGE_MV / 1e3, .preset = 10 };
	static const struct number_key noise_key = { .name = "noise", .unit = "V", .min = 0,
						     .max = 1000 };
	double bits, range;
	char path[128];

	if (reader_name(m->reader, group, "channel", channel->name, sizeof(channel->name)) ||
	    read_calibration(m, group, channel) ||
	    reader_number_key(m->reader, group, &bits_key, &bits) ||
	    reader_number_key(m->reader, group, &range_key, &range) ||
	    reader_number_key(m->reader, group, &noise_key, &channel->noise))
		return -1;
	channel->kind = HT_CHANNEL_IIO;
	channel->bits = bits;
	channel->range_mv = (ht_u32)(range * 1e3 + 0.5);
	if (fabs(range * 1e3 - channel->range_mv) < 1e-6)
		return 0;
	reader_path(group, path, sizeof(path));
	return reader_fail(m->reader, config_setting_get_member(group, "range"),
			   "%s.range is %.9g V; it must be a whole number of mV", path, range);
}

static int read_dac(struct model *m, const config_setting_t *group, struct ht_image_input *input)
{
	static const char *const keys[] = { "channel", "signal", "unit", "initial", CALIBRATION,
					    "bits", "range" };

	if (reader_check_keys(m->reader, group, keys, HT_COUNT(keys)) ||
	    read_input_signal(m, group, &input->signal))
		return -1;
	return read_converter(m, group, &input->channel);
}

static int read_input_list(struct model *m, const char *key,
			   int (*read)(struct model *m, const config_setting_t *group,
				       struct ht_image_input *input))
{
	const config_setting_t *list, *group;
	unsigned int length, i;

	if (reader_list(m->reader, m->group, key, HT_MAX_CHANNELS, &list, &length))
		return -1;
	m->inputs = calloc(length + 1, sizeof(*m->inputs));
	m->input_settings = calloc(length + 1, sizeof(*m->input_settings));
	if (!m->inputs || !m->input_settings)
		return reader_no_memory(m->reader);
	for (i = 0; i < length; i++) {
		group = reader_group(m->reader, list, i);
		if (!group || read(m, group, &m->inputs[i]))
			return -1;
		m->input_settings[i] = group;
		m->n_inputs++;
	}
	return 0;
}

int model_read_inputs(struct model *m)
{
	return read_input_list(m, "inputs", read_input);
}

int model_read_dac(struct model *m)
{
	return read_input_list(m, "dac", read_dac);
}

enum output_key { SAFE, MIN, MAX, SLEW, RAMP, OUTPUT_KEYS };

static const struct number_key output_keys[OUTPUT_KEYS] = {
	[SAFE] = { .name = "safe", .unit = "", .min = -ANY, .max = ANY },
	[MIN] = { .name = "min", .unit = "", .min = -ANY, .max = ANY, .required = true },
	[MAX] = { .name = "max", .unit = "", .min = -ANY, .max = ANY, .required = true },
	[SLEW] = { .name = "slew", .unit = "1/s", .min = 0, .max = ANY },
	[RAMP] = { .name = "ramp", .unit = "1/s", .min = 1e-9, .max = ANY, .required = true },
};

static int read_output_signal(struct model *m, const config_setting_t *group,
			      struct ht_image_output *output)
{
	const char *name;

	if (reader_text(m->reader, group, "signal", true, &name))
		return -1;
	return model_find_signal(m, config_setting_get_member(group, "signal"), name,
				 &output->signal);
}

static int read_output_limits(struct model *m, const config_setting_t *group,
			      struct ht_image_output *output)
{
	const config_setting_t *safe = config_setting_get_member(group, "safe");
	const char *name = m->signals[output->signal].image.name;
	double value[OUTPUT_KEYS];
	size_t i;

	for (i = 0; i < OUTPUT_KEYS; i++) {
		if (output_keys[i].required &&
		    !config_setting_get_member(group, output_keys[i].name))
			return reader_fail(m->reader, group,
					   "output %s has no %s; every output needs min, max and ramp (1/s), the limits that keep the rig whole",
					   name, output_keys[i].name);
		if (reader_number_key(m->reader, group, &output_keys[i], &value[i]))
			return -1;
	}
	if (value[MIN] > value[MAX])
		return reader_fail(m->reader, config_setting_get_member(group, "min"),
				   "output %s has min %.9g above max %.9g", name, value[MIN],
				   value[MAX]);
	if (value[SAFE] < value[MIN] || value[SAFE] > value[MAX])
		return reader_fail(m->reader, safe ? safe : group,
				   "output %s has safe = %.9g%s; it must be from min %.9g to max %.9g",
				   name, value[SAFE], safe ? "" : " by default", value[MIN],
				   value[MAX]);
	output->safe = value[SAFE];
	output->min = value[MIN];
	output->max = value[MAX];
	output->slew = value[SLEW];
	output->ramp = value[RAMP];
	return 0;
}

static int read_output(struct model *m, const config_setting_t *group,
		       struct ht_image_output *output)
{
	static const char *const keys[] = { "signal", "safe", "min", "max", "slew", "ramp",
					    "device", "channel", CALIBRATION };

	if (reader_check_keys(m->reader, group, keys, HT_COUNT(keys)) ||
	    read_output_signal(m, group, output) || read_output_limits(m, group, output))
		return -1;
	return read_binding(m, group, &output->channel);
}

static int read_adc(struct model *m, const config_setting_t *group,
		    struct ht_image_output *output)
{
	static const char *const keys[] = { "channel", "signal", CALIBRATION, "bits", "range",
					    "noise" };

	if (reader_check_keys(m->reader, group, keys, HT_COUNT(keys)) ||
	    read_output_signal(m, group, output))
		return -1;
	return read_converter(m, group, &output->channel);
}

static int read_output_list(struct model *m, const char *key,
			    int (*read)(struct model *m, const config_setting_t *group,
					struct ht_image_output *output))
{
	const config_setting_t *list, *group;
	unsigned int length, i;

	if (reader_list(m->reader, m->group, key, HT_MAX_CHANNELS, &list, &length))
		return -1;
	m->outputs = calloc(length + 1, sizeof(*m->outputs));
	m->output_settings = calloc(length + 1, sizeof(*m->output_settings));
	if (!m->outputs || !m->output_settings)
		return reader_no_memory(m->reader);
	for (i = 0; i < length; i++) {
		group = reader_group(m->reader, list, i);
		if (!group || read(m, group, &m->outputs[i]))
			return -1;
		m->output_settings[i] = group;
		m->n_outputs++;
	}
	return 0;
}

static bool same_place(const struct ht_image_channel *a, const struct ht_image_channel *b)
{
	return a->kind == b->kind && a->kind != HT_CHANNEL_NONE &&
	       !strcmp(a->device, b->device) && !strcmp(a->name, b->name);
}

/* Two outputs of one signal, or two that drive one channel. */
static int check_two_outputs(const struct model *m, uint32_t a, uint32_t b)
{
	const struct ht_image_output *first = &m->outputs[a], *second = &m->outputs[b];
	const char *name = m->signals[second->signal].image.name;

	if (first->signal == second->signal)
		return reader_fail(m->reader, m->output_settings[b],
				   "the signal %s is an output already (line %u)", name,
				   m->output_settings[a]->line);
	if (same_place(&first->channel, &second->channel))
		return reader_fail(m->reader, m->output_settings[b],
				   "output %s: the channel %s is driven by output %s already (line %u)",
				   name, second->channel.name, m->signals[first->signal].image.name,
				   m->output_settings[a]->line);
	return 0;
}

int model_read_outputs(struct model *m)
{
	uint32_t i, j;

	if (read_output_list(m, "outputs", read_output))
		return -1;
	for (i = 1; i < m->n_outputs; i++)
		for (j = 0; j < i; j++)
			if (check_two_outputs(m, j, i))
				return -1;
	return 0;
}

/* Faults are told by the name of a channel: it must be one channel's, ADC or DAC. */
static int check_channel_names(const struct model *m)
{
	const uint32_t n = m->n_inputs + m->n_outputs;
	uint32_t i, j;

	for (i = 0; i < n; i++) {
		const bool is_dac = i < m->n_inputs;
		const config_setting_t *at = is_dac ? m->input_settings[i] :
					     m->output_settings[i - m->n_inputs];
		const char *name = is_dac ? m->inputs[i].channel.name :
				   m->outputs[i - m->n_inputs].channel.name;

		for (j = 0; j < i; j++)
			if (!strcmp(name, j < m->n_inputs ? m->inputs[j].channel.name :
				    m->outputs[j - m->n_inputs].channel.name))
				return reader_fail(m->reader, at,
						   "a second channel of this rig is called %s; choose another name",
						   name);
	}
	if (n)
		return 0;
	return reader_fail(m->reader, m->group,
			   "a rig needs channels: dac = ( ... ), adc = ( ... ) or both");
}

int model_read_adc(struct model *m)
{
	if (read_output_list(m, "adc", read_adc))
		return -1;
	return check_channel_names(m);
}
