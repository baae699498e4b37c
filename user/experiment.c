// SPDX-License-Identifier: GPL-2.0
/*
 * Experiment files: read with libconfig, compiled to a program image.
 *
 *	title = "Pendulum on a spring";
 *	duration = 20.0;		# s; 0 or absent: until stopped
 *
 * Every other scalar of the top level is a named value for expressions. It
 * must be used; what nothing uses is most likely a misspelt setting.
 *
 *	K = 200.0;  M = 0.2;  omega = "sqrt(K/M)";
 *
 * Wherever a number is expected a string may stand: an expression of numbers,
 * named values, + - * / ^ ( ), pi, sqrt sin cos exp log abs min max.
 *
 *	loop = {
 *		rate = 5000.0;		# Hz; the only one without a preset
 *		cpu = -1;		# that the loop runs on; -1: the last
 *		heartbeat = 1.0;	# s within which the owner must call; 0: none
 *		budget = 0.5;		# part of the period a dry tick may take
 *		deadline = 1.0;		# part of the period for lateness + execution
 *		deadline_ticks = 1;	# so many late ticks in a row trip
 *		missed_ticks = 1;	# so many missed ticks in a row trip; 0: never
 *		scan_ticks = 2;		# so many ticks without a new scan trip
 *		write_ticks = 2;	# so many ticks with outputs not written trip
 *		soft_start = 1.0;	# s, outputs fade in
 *		soft_stop = 1.0;	# s, outputs fade out
 *		history = 10.0;		# s that the ring of records holds
 *		post_trip = 1.0;	# s recorded after outputs became safe
 *	};
 *
 * Measured signals; initial is the value before the first measurement:
 *
 *	inputs = ( { signal = "F"; unit = "N"; initial = 0.0;
 *		     device = "table"; channel = "force"; gain = 2.0; },
 *		   { signal = "door"; gpio = "gpio-mockup-A"; line = 3; } );
 *
 * device is the name or label of an IIO device, channel a label of its or what
 * libiio calls it (voltage0). Without device the channel is looked up in the
 * device tree (io-channel-names). poll = true reads it by itself although the
 * device could scan. A GPIO line is 0 or 1: the label of its chip and a number,
 * or gpio = "" and line = "NAME" for NAME-gpios of the device tree. With none of
 * these a signal is bound to nothing and keeps its initial value.
 *
 * What the device measures, or gets, is in SI units (V, A, m/s^2, ...), and
 *
 *	signal = sign * gain * world + offset
 *
 * with gain 1, offset 0 and sign 1 (or -1) unless given.
 *
 * Commanded signals. min, max and ramp (1/s, towards safe after a trip) are
 * required; safe is 0 and slew (1/s while running) unlimited unless given.
 * device, channel, gain, offset and sign are as above:
 *
 *	outputs = ( { signal = "y"; safe = 0.0; min = -0.05; max = 0.05;
 *		      slew = 1.0; ramp = 0.1;
 *		      device = "table"; channel = "position-command"; gain = 0.01; } );
 *
 * Blocks in any order: they are sorted so that each runs after those whose
 * outputs it reads. Fields are those of the type (hytest check --blocks).
 * A field of several elements is an array, a list, or a list of rows:
 *
 *	blocks = ( { name = "msd"; type = "structure"; in = ["F"];
 *		     out = ["y", "v"]; units = ["m", "m/s"]; M = "M"; K = "K"; } );
 *
 * A block with a table may read it from a text file beside this one, columns
 * counted from 1, one for each output: file = "quake.txt"; columns = [2];
 *
 * Interlocks trip the loop. delay is in ticks, action ramp, hold or cut. With
 * latch = true (the preset) one trips while the loop is armed, too; without it
 * holds START up as long as it is violated:
 *
 *	interlocks = (
 *		{ name = "stroke"; kind = "range"; signal = "y"; low = -0.04; high = 0.04; },
 *		{ name = "speed"; kind = "rate"; signal = "y"; high = 0.5; delay = 2; },
 *		{ name = "sync"; kind = "difference"; signal = "ya"; other = "y"; high = 1e-3; },
 *		{ name = "power"; kind = "rms"; signal = "F"; high = 5.0; window = 0.2; },
 *
 * A line that must be high, which is at least low (0.5); action of an estop is
 * cut unless given:
 *
 *		{ name = "guard"; kind = "enable"; signal = "door"; latch = false; },
 *		{ name = "button"; kind = "estop"; signal = "button"; },
 *
 * These watch the loop itself, on top of the protections of the group loop.
 * high is in ticks for scan (age of the newest scan), write (in a row without
 * success) and missed, in scans for lost (since the start), and in seconds for
 * step (lateness + execution of a tick) and heartbeat (silence of the owner):
 *
 *		{ name = "stale"; kind = "scan"; high = 0; delay = 1; action = "hold"; } );
 *
 * Signals of each record, all if absent; inputs are always in it:
 *
 *	record = ["y", "F"];
 *
 * Parameters that change together on a tick, at so many seconds:
 *
 *	changes = ( { at = 2.0; set = ["drive.omega = 13", "drive.cos[0] = 2*a"]; } );
 *
 * Simulated rigs: IIO devices made by the module hytest_rig, or before the loop
 * of the sim backend. A rig is a program of its own, with signals of its own;
 * dac channels are what it gets, adc channels what it measures. bits (16) for
 * -range to range (10.0 V); noise is the rms of each sample in V (0); initial,
 * gain, offset and sign as above. Choose a rate that is a multiple of the
 * loop's, so that its steps fall on the ticks. A held one stands in its initial
 * state until a command moves:
 *
 *	rigs = ( { name = "table"; rate = 10000.0; held = true;
 *		   dac = ( { channel = "position-command"; signal = "y_command"; unit = "m";
 *			     gain = 0.01; bits = 16; range = 10.0; } );
 *		   adc = ( { channel = "force"; signal = "F"; gain = 2.0; noise = 1e-3; } );
 *		   blocks = ( ... ); } );
 *
 * A file of rigs needs nothing else. The named values are those of the file;
 * --set rigs.table.blocks.pendulum.m=0.2 reaches into a rig.
 */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kmod/core/fpenv.h"
#include "experiment_model.h"
#include "experiment_rigs.h"
#include "experiment_schedule.h"

struct hytest_experiment {
	void *image;
	uint32_t image_size;
	char *text;
	char *title;
	double duration;
	int cpu;
	struct schedule schedule;
	struct rigs rigs;
};

#define LOOP_PARTS "loop", "inputs", "outputs", "blocks", "interlocks", "record", "changes"

static const char *const top_keys[] = { "title", "duration", LOOP_PARTS, "rigs" };
static const char *const loop_parts[] = { LOOP_PARTS };

#define N_TOP_KEYS HT_COUNT(top_keys)

static int read_top(struct hytest_experiment *e, struct reader *r)
{
	static const struct number_key duration = { .name = "duration", .unit = "s", .min = 0,
						    .max = 1e7 };
	static const struct number_key cpu = { .name = "cpu", .unit = "", .min = -1,
					       .max = 8191, .preset = -1, .integer = true };
	const config_setting_t *root = config_root_setting(r->config);
	const char *title;
	double number;

	if (reader_text(r, root, "title", false, &title) ||
	    reader_number_key(r, root, &duration, &e->duration) ||
	    reader_number_key(r, config_setting_get_member(root, "loop"), &cpu, &number))
		return -1;
	e->cpu = number;
	e->title = strdup(title ? title : "");
	return e->title ? 0 : reader_no_memory(r);
}

/* A file may have rigs and nothing else. */
static bool has_loop(const config_setting_t *root)
{
	const config_setting_t *rigs = config_setting_get_member(root, "rigs");
	size_t i;

	for (i = 0; i < HT_COUNT(loop_parts); i++)
		if (config_setting_get_member(root, loop_parts[i]))
			return true;
	return !rigs || (config_setting_is_aggregate(rigs) && !config_setting_length(rigs));
}

static int compile_loop(struct hytest_experiment *e, struct model *m)
{
	struct ht_loop *loop;
	int failed;

	if (model_read_loop(m) || model_read_inputs(m) || model_read_blocks(m) ||
	    model_read_outputs(m) || model_read_interlocks(m) || model_read_record(m) ||
	    model_sort_blocks(m))
		return -1;
	if (model_make_image(m, e->text, &e->image, &e->image_size))
		return -1;
	loop = model_make_loop(m, e->image);
	if (!loop)
		return -1;
	failed = schedule_read(&e->schedule, m, e->image, loop);
	free(loop);
	return failed;
}

static int compile(struct hytest_experiment *e, struct model *m)
{
	struct reader *r = m->reader;

	m->group = config_root_setting(r->config);
	if (reader_find_values(r, top_keys, N_TOP_KEYS))
		return -1;
	if (has_loop(m->group) && compile_loop(e, m))
		return -1;
	if (read_top(e, r) || rigs_read(&e->rigs, r) || rigs_check_binding(&e->rigs, m))
		return -1;
	return reader_check_values(r, top_keys, N_TOP_KEYS);
}

/* The text with the overrides as comments. */
static char *make_text(const char *text, const char *const *overrides, size_t n_overrides)
{
	size_t size = strlen(text) + 2, i;
	char *made, *at;

	for (i = 0; i < n_overrides; i++)
		size += strlen(overrides[i]) + sizeof("# --set") + 2;
	made = malloc(size);
	if (!made)
		return NULL;
	at = stpcpy(made, text);
	if (n_overrides && at > made && at[-1] != '\n')
		at = stpcpy(at, "\n");
	for (i = 0; i < n_overrides; i++)
		at += sprintf(at, "# --set %s\n", overrides[i]);
	return made;
}

static int parse(struct hytest_experiment *e, const char *text, const char *path,
		 const char *const *overrides, size_t n_overrides,
		 struct hytest_message *message)
{
	struct reader reader;
	struct model model = { .reader = &reader };
	int failed;
	size_t i;

	failed = reader_open(&reader, text, path, message);
	for (i = 0; !failed && i < n_overrides; i++)
		failed = reader_override(&reader, overrides[i]);
	if (!failed) {
		e->text = make_text(text, overrides, n_overrides);
		failed = e->text ? compile(e, &model) : reader_no_memory(&reader);
		model_free(&model);
	}
	reader_close(&reader);
	return failed;
}

struct hytest_experiment *hytest_experiment_parse(const char *text, const char *path,
						  const char *const *overrides,
						  size_t n_overrides,
						  struct hytest_message *message)
{
	struct hytest_experiment *e = calloc(1, sizeof(*e));
	locale_t plain, old;
	int failed;

	message->text[0] = '\0';
	/* Numbers have a decimal point, whatever the language of the user. */
	plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	if (!e || !plain) {
		snprintf(message->text, sizeof(message->text), "%.200s: out of memory", path);
		free(e);
		return NULL;
	}
	old = uselocale(plain);
	failed = parse(e, text, path, overrides, n_overrides, message);
	uselocale(old);
	freelocale(plain);
	if (failed) {
		hytest_experiment_free(e);
		return NULL;
	}
	return e;
}

/* The whole file as a string; NULL after a message. */
static char *read_file(const char *path, struct hytest_message *message)
{
	const size_t room = HT_MAX_TEXT + 1;
	FILE *file = fopen(path, "re");
	char *text = NULL;
	const char *why;
	size_t size;

	if (!file) {
		snprintf(message->text, sizeof(message->text), "%.200s: cannot be opened: %s",
			 path, strerror(errno));
		return NULL;
	}
	why = "out of memory";
	text = malloc(room + 1);
	if (text) {
		errno = 0;
		size = fread(text, 1, room, file);
		text[size] = '\0';
		why = NULL;
		if (ferror(file))
			why = strerror(errno);
		else if (size == room)
			why = "an experiment file has at most 1 MiB";
		else if (strlen(text) != size)
			why = "it is no text: it contains a zero byte";
	}
	fclose(file);
	if (why) {
		snprintf(message->text, sizeof(message->text), "%.200s: cannot be read: %s", path,
			 why);
		free(text);
		return NULL;
	}
	return text;
}

struct hytest_experiment *hytest_experiment_read(const char *path, const char *const *overrides,
						 size_t n_overrides,
						 struct hytest_message *message)
{
	struct hytest_experiment *e;
	char *text = read_file(path, message);

	if (!text)
		return NULL;
	e = hytest_experiment_parse(text, path, overrides, n_overrides, message);
	free(text);
	return e;
}

void hytest_experiment_free(struct hytest_experiment *e)
{
	if (!e)
		return;
	schedule_free(&e->schedule);
	rigs_free(&e->rigs);
	free(e->image);
	free(e->text);
	free(e->title);
	free(e);
}

const void *hytest_experiment_image(const struct hytest_experiment *e, size_t *size)
{
	if (size)
		*size = e->image_size;
	return e->image;
}

const char *hytest_experiment_text(const struct hytest_experiment *e)
{
	return e->text;
}

const char *hytest_experiment_title(const struct hytest_experiment *e)
{
	return e->title;
}

double hytest_experiment_duration(const struct hytest_experiment *e)
{
	return e->duration;
}

int hytest_experiment_cpu(const struct hytest_experiment *e)
{
	return e->cpu;
}

size_t hytest_experiment_schedule(const struct hytest_experiment *e,
				  const struct hytest_scheduled **scheduled)
{
	*scheduled = e->schedule.batches;
	return e->schedule.n_batches;
}

size_t hytest_experiment_rigs(const struct hytest_experiment *e,
			      const struct hytest_rig_program **rigs)
{
	*rigs = e->rigs.programs;
	return e->rigs.n_programs;
}
