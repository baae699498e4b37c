// SPDX-License-Identifier: GPL-2.0
/*
 * hytest devices: the IIO devices and channels that a loop could be bound to.
 */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "iio_devices.h"
#include "json.h"
#include "options.h"

static const struct hytest_usage usage = {
	.command = "devices",
	.arguments = "[--uri URI]",
	.text =
	"Show the IIO devices and their channels: what each can be to a loop, its value\n"
	"now, its range, its step and its rate, in SI units at the converter. An experiment\n"
	"names them in inputs and outputs as device (name or label) and channel (label or id).\n"
	"\n"
	"  input (scanned)      the loop triggers it once per tick; at most 4 devices\n"
	"  input (polled)       a worker of the loop reads it once per tick\n"
	"  output               a worker of the loop writes it once per tick\n"
	"\n"
	"  --uri URI            local: (this machine, as without it), ip:HOST where iiod runs,\n"
	"                       or whatever else libiio opens; only to look at: a loop can\n"
	"                       have devices of its own machine only\n"
	"\n"
	"Examples: hytest devices\n"
	"          hytest devices --uri ip:192.168.1.7 --json\n",
	.takes = HYTEST_TAKES_URI,
};

static void print_device(FILE *out, const struct hytest_iio_device *d)
{
	fprintf(out, "%s: %s", d->id, d->name[0] ? d->name : "without a name");
	if (d->label[0])
		fprintf(out, ", label %s", d->label);
	fprintf(out, "\n  %s, trigger: %s", d->buffered ? "buffered" : "no buffer",
		!d->triggered ? "cannot be triggered" : d->trigger[0] ? d->trigger : "none");
	if (d->rate[0])
		fprintf(out, ", %s Hz", d->rate);
	fputc('\n', out);
}

static void print_value(FILE *out, const struct hytest_iio_channel *c)
{
	if (c->error)
		fprintf(out, "now: %s", strerror(c->error));
	else
		fprintf(out, "now %.6g %s", c->value, c->unit);
	if (c->has_code)
		fprintf(out, " (%lld)", c->code);
	if (c->has_range)
		fprintf(out, ", %.6g to %.6g %s", c->low, c->high, c->unit);
}

/* Two lines for each, so that 80 columns suffice. */
static void print_channel(FILE *out, const struct hytest_iio_channel *c)
{
	fprintf(out, "  %-18s %-36s %s\n", c->id, c->label, hytest_iio_use_text(c->use));
	if (c->use == HYTEST_IIO_NOTHING)
		return;
	fprintf(out, "      ");
	print_value(out, c);
	fprintf(out, "\n      %.6g %s a step", c->scale, c->unit);
	if (c->bits)
		fprintf(out, ", %u bits", c->bits);
	if (c->rate[0])
		fprintf(out, ", %s Hz", c->rate);
	fputc('\n', out);
}

static void print_devices(FILE *out, const struct hytest_iio_device *devices, size_t n)
{
	size_t i, c;

	for (i = 0; i < n; i++) {
		print_device(out, &devices[i]);
		for (c = 0; c < devices[i].n_channels; c++)
			print_channel(out, &devices[i].channels[c]);
	}
	if (!n)
		fprintf(out, "no IIO devices: is the driver of the converter loaded? "
			"hytest rig FILE makes simulated ones\n");
}

static void json_text(struct json *json, const char *key, const char *text)
{
	json_string(json, key, text[0] ? text : NULL);
}

static void json_channel(struct json *json, const struct hytest_iio_channel *c)
{
	json_object_begin(json, NULL);
	json_string(json, "id", c->id);
	json_text(json, "label", c->label);
	json_string(json, "direction", c->output ? "output" : "input");
	json_string(json, "serves_as", hytest_iio_use_text(c->use));
	json_text(json, "unit", c->unit);
	json_number(json, "scale", c->scale);
	if (c->bits)
		json_unsigned(json, "bits", c->bits);
	if (c->has_range) {
		json_number(json, "low", c->low);
		json_number(json, "high", c->high);
	}
	if (c->has_code)
		json_integer(json, "raw", c->code);
	if (c->error)
		json_string(json, "error", strerror(c->error));
	else
		json_number(json, "value", c->value);
	json_text(json, "sampling_frequency", c->rate);
	json_object_end(json);
}

static void json_device(struct json *json, const struct hytest_iio_device *d)
{
	size_t c;

	json_object_begin(json, NULL);
	json_string(json, "id", d->id);
	json_text(json, "name", d->name);
	json_text(json, "label", d->label);
	json_bool(json, "buffered", d->buffered);
	json_bool(json, "triggered", d->triggered);
	json_text(json, "trigger", d->trigger);
	json_text(json, "sampling_frequency", d->rate);
	json_array_begin(json, "channels");
	for (c = 0; c < d->n_channels; c++)
		json_channel(json, &d->channels[c]);
	json_array_end(json);
	json_object_end(json);
}

static void json_devices(const struct hytest_iio_device *devices, size_t n)
{
	struct json *json = json_new(stdout);
	size_t i;

	if (!json)
		return;
	json_object_begin(json, NULL);
	json_bool(json, "ok", true);
	json_string(json, "command", "devices");
	json_array_begin(json, "devices");
	for (i = 0; i < n; i++)
		json_device(json, &devices[i]);
	json_array_end(json);
	json_object_end(json);
	json_free(json);
}

static int show(const struct hytest_options *options)
{
	struct hytest_iio_device *devices;
	struct hytest_message message;
	size_t n;

	devices = hytest_iio_list(options->uri, &n, &message);
	if (!devices)
		return hytest_fail(options, HYTEST_EXIT_FAILED, "%s", message.text);
	if (options->json)
		json_devices(devices, n);
	else
		print_devices(stdout, devices, n);
	hytest_iio_list_free(devices, n);
	return HYTEST_EXIT_OK;
}

int hytest_cmd_devices(int argc, char **argv)
{
	struct hytest_options options;
	int status = hytest_options_parse(&options, &usage, argc, argv);

	if (status >= 0)
		return status;
	status = show(&options);
	hytest_options_free(&options);
	return status;
}
