// SPDX-License-Identifier: GPL-2.0
/*
 * hytest check FILE: compiles an experiment file and tells what came out.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../kmod/core/loop.h"
#include "cmd_check.h"
#include "commands.h"
#include "options.h"
#include "words.h"

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

const char *check_type_name(const struct ht_image *image, uint32_t block)
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

		fprintf(out, "  %-16s %-12s ", b->name, check_type_name(image, i));
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

/* "F = 2 * world + 0.5", the world in SI units. */
static void print_calibration(FILE *out, const char *signal, const char *world,
			      const struct ht_image_channel *c)
{
	fprintf(out, "%s = %g * %s", signal, c->gain, world);
	if (c->offset != 0)
		fprintf(out, " %c %g", c->offset < 0 ? '-' : '+', fabs(c->offset));
}

static void print_binding(FILE *out, const char *signal, const char *direction,
			  const struct ht_image_channel *c)
{
	char place[160];

	if (c->kind == HT_CHANNEL_NONE) {
		fputs("       bound to nothing", out);
		return;
	}
	hytest_channel_text(c, place, sizeof(place));
	fprintf(out, "       %s %s; ", direction, place);
	print_calibration(out, signal, "world", c);
}

static void print_input(FILE *out, const struct ht_image *image, const struct ht_image_input *in)
{
	const struct ht_image_signal *s = &image->signals[in->signal];

	fprintf(out, "  in   %-16s [%s], initially %g\n", s->name, *s->unit ? s->unit : "-",
		s->initial);
	print_binding(out, s->name, "from", &in->channel);
	fprintf(out, "%s\n", in->flags & HT_INPUT_POLL ? "; polled" : "");
}

static void print_output(FILE *out, const struct ht_image *image, const struct ht_image_output *o)
{
	const struct ht_image_signal *s = &image->signals[o->signal];

	fprintf(out, "  out  %-16s from %g to %g, safe %g, ramp %g/s, slew ", s->name, o->min,
		o->max, o->safe, o->ramp);
	if (o->slew > 0)
		fprintf(out, "%g/s\n", o->slew);
	else
		fputs("unlimited\n", out);
	print_binding(out, s->name, "to", &o->channel);
	fputc('\n', out);
}

static void print_channels(FILE *out, const struct ht_image *image)
{
	uint32_t i;

	fprintf(out, "\n%u inputs, %u outputs; world is what the device has, in SI units:\n",
		image->header->n_inputs, image->header->n_outputs);
	for (i = 0; i < image->header->n_inputs; i++)
		print_input(out, image, &image->inputs[i]);
	for (i = 0; i < image->header->n_outputs; i++)
		print_output(out, image, &image->outputs[i]);
}

static void print_limit(FILE *out, const struct ht_image_interlock *l)
{
	const bool line = l->kind == HT_LOCK_ENABLE || l->kind == HT_LOCK_ESTOP;

	if (line || (l->kind == HT_LOCK_RANGE && l->high == DBL_MAX))
		fprintf(out, "at least %g", l->low);
	else if (l->kind == HT_LOCK_RANGE && l->low != -DBL_MAX)
		fprintf(out, "from %g to %g", l->low, l->high);
	else
		fprintf(out, "at most %g", l->high);
}

static void print_interlock(FILE *out, const struct ht_image *image, uint32_t i)
{
	static const char *const actions[HT_ACTIONS] = {
		[HT_ACTION_RAMP] = "ramp to safe",
		[HT_ACTION_HOLD] = "hold",
		[HT_ACTION_CUT] = "cut to safe",
	};
	const struct ht_image_interlock *l = &image->interlocks[i];
	char subject[3 * HT_NAME_LEN], unit[HT_UNIT_LEN + 8];

	hytest_lock_subject(image->header, i, subject, sizeof(subject), unit, sizeof(unit));
	fprintf(out, "  %-16s %-10s %s ", l->name, hytest_lock_kind_text(l->kind), subject);
	print_limit(out, l);
	fprintf(out, "%s%s", *unit ? " " : "", unit);
	if (l->kind == HT_LOCK_RMS)
		fprintf(out, " over %u ticks", l->window_ticks);
	fprintf(out, "\n%30swhen violated", "");
	if (l->delay_ticks)
		fprintf(out, " for more than %u ticks", l->delay_ticks);
	fprintf(out, ": %s, %s\n", actions[l->action], l->flags & HT_LOCK_LATCH ?
		"latched" : "not latched");
}

static void print_interlocks(FILE *out, const struct ht_image *image)
{
	uint32_t i;

	fprintf(out, "\n%u interlocks:\n", image->header->n_interlocks);
	for (i = 0; i < image->header->n_interlocks; i++)
		print_interlock(out, image, i);
}

static void print_protection(FILE *out, const char *what, uint32_t limit, const char *unit)
{
	if (limit)
		fprintf(out, "  %-26s trips after %u %s\n", what, limit, unit);
	else
		fprintf(out, "  %-26s never trips\n", what);
}

static void print_protections(FILE *out, const struct ht_image *image)
{
	const struct ht_image_header *h = image->header;

	fputs("\nprotections of every loop:\n", out);
	fprintf(out, "  %-26s at most %u ns, or it cannot be armed\n", "dry tick", h->budget_ns);
	fprintf(out, "  %-26s at most %u ns; trips after %u in a row\n", "lateness + execution",
		h->deadline_ns, h->deadline_ticks);
	print_protection(out, "missed ticks", h->missed_ticks, "in a row");
	print_protection(out, "no new scan of an input", h->scan_ticks, "ticks");
	print_protection(out, "output not written", h->write_ticks, "ticks");
	print_protection(out, "silence of the supervisor", h->heartbeat_ms, "ms");
	print_protection(out, "signal not finite", 1, "tick");
	fprintf(out, "  %-26s trips at once\n", "device or supervisor gone");
}

bool check_rig_keeps_pace(const struct ht_image *rig, const struct ht_image *loop)
{
	return loop->header->period_ns % rig->header->period_ns == 0;
}

static void print_converter(FILE *out, const char *direction, const struct ht_image_signal *s,
			    const struct ht_image_channel *c)
{
	const double range = c->range_mv / 1e3;

	fprintf(out, "  %s  %-20s ", direction, c->name);
	print_calibration(out, s->name, "V", c);
	fprintf(out, " [%s], %u bits for +-%g V", *s->unit ? s->unit : "-", c->bits, range);
	if (c->noise > 0)
		fprintf(out, ", noise %g V", c->noise);
	fputc('\n', out);
}

static void print_rig(FILE *out, const struct hytest_rig_program *rig,
		      const struct ht_image *loop)
{
	struct ht_image image;
	uint32_t i;

	ht_image_open(&image, rig->image);
	fprintf(out, "\nrig %s: %.6g Hz%s, %u blocks, image %zu bytes\n", rig->name,
		1e9 / (double)image.header->period_ns,
		image.header->flags & HT_IMAGE_HELD ? ", held until a command moves" : "",
		image.header->n_blocks, rig->size);
	for (i = 0; i < image.header->n_inputs; i++)
		print_converter(out, "dac", &image.signals[image.inputs[i].signal],
				&image.inputs[i].channel);
	for (i = 0; i < image.header->n_outputs; i++)
		print_converter(out, "adc", &image.signals[image.outputs[i].signal],
				&image.outputs[i].channel);
	if (loop && !check_rig_keeps_pace(&image, loop))
		fputs("  note: its steps do not fall on the ticks of the loop; a rate that is a multiple of the loop's would\n",
		      out);
	print_blocks(out, &image);
}

static void print_loop(FILE *out, const struct hytest_experiment *e, const struct ht_image *image)
{
	const struct ht_image_header *h = image->header;
	const struct hytest_scheduled *scheduled;
	size_t size;

	hytest_experiment_image(e, &size);
	fprintf(out, "rate %.6g Hz, period %" PRIu64 " ns", 1e9 / (double)h->period_ns,
		(uint64_t)h->period_ns);
	if (hytest_experiment_duration(e) > 0)
		fprintf(out, ", duration %g s\n", hytest_experiment_duration(e));
	else
		fputs(", until stopped\n", out);
	fprintf(out, "ring of %u records (%.3g s), %u parameters, %zu parameter batches\n",
		h->ring_records, (double)h->ring_records * (double)h->period_ns / 1e9, h->n_params,
		hytest_experiment_schedule(e, &scheduled));
	fprintf(out, "image %zu bytes, loop memory %" PRIu64 " bytes\n", size,
		(uint64_t)ht_loop_bytes(h));
}

static void print_experiment(FILE *out, const struct hytest_experiment *e,
			     const struct ht_image *loop)
{
	const struct hytest_rig_program *rigs;
	size_t n = hytest_experiment_rigs(e, &rigs), i;

	fprintf(out, "%s\n", *hytest_experiment_title(e) ? hytest_experiment_title(e) :
		"(no title)");
	if (loop) {
		print_loop(out, e, loop);
		print_blocks(out, loop);
		print_signals(out, loop);
		print_channels(out, loop);
		print_interlocks(out, loop);
		print_protections(out, loop);
	}
	for (i = 0; i < n; i++)
		print_rig(out, &rigs[i], loop);
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
	const struct ht_image *loop = NULL;
	struct hytest_options options;
	struct hytest_experiment *e;
	struct hytest_message message;
	struct ht_image image;
	FILE *out;
	int status;

	if (has_option(argc, argv, "--blocks"))
		return check_list_types(has_option(argc, argv, "--json"));
	status = hytest_options_parse(&options, &usage, argc, argv);
	if (status >= 0)
		return status;
	e = hytest_experiment_read(options.arguments[0], options.set, options.n_set, &message);
	if (!e) {
		status = hytest_fail(&options, HYTEST_EXIT_USAGE, "%s", message.text);
		hytest_options_free(&options);
		return status;
	}
	if (hytest_experiment_image(e, NULL)) {
		ht_image_open(&image, hytest_experiment_image(e, NULL));
		loop = &image;
	}
	status = HYTEST_EXIT_OK;
	if (options.json) {
		if (check_json(e, loop, options.arguments[0]))
			status = HYTEST_EXIT_FAILED;
	} else {
		out = hytest_out(&options);
		print_experiment(out, e, loop);
		if (fflush(out))
			status = HYTEST_EXIT_FAILED;
	}
	hytest_experiment_free(e);
	hytest_options_free(&options);
	return status;
}
