// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the seeds of both fuzzers from experiment files, and a dictionary of
 * the words that experiment files may contain:
 *
 *	make_seeds DIRECTORY FILE.cfg ...
 *
 * writes DIRECTORY/experiment/FILE.cfg, DIRECTORY/image/FILE.cfg (the image
 * without the text, which is of no interest), DIRECTORY/image/FILE.cfg.RIG for
 * each rig of it and DIRECTORY/experiment.dict.
 */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../kmod/core/loop.h"
#include "../../user/experiment.h"

static FILE *create(const char *directory, const char *name)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		exit(1);
	}
	return file;
}

static void finish(FILE *file)
{
	if (fclose(file)) {
		perror("make_seeds");
		exit(1);
	}
}

static void write_image(const char *directory, const char *name, const void *image, size_t size)
{
	/* A batch of one change at the first tick, inputs at the second. */
	static const unsigned char run[] = {
		1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 2,
	};
	FILE *file = create(directory, name);
	struct ht_image_header *h = malloc(size);

	if (!h)
		exit(1);
	memcpy(h, image, size);
	h->text_size = 0;
	h->size = ht_image_bytes(h);
	h->crc = ht_image_crc(h, h->size);
	fwrite(h, 1, h->size, file);
	fwrite(run, 1, sizeof(run), file);
	finish(file);
	free(h);
}

/* The loop as NAME, its rigs as NAME.RIG. */
static void write_images(const char *directory, const char *name,
			 const struct hytest_experiment *e)
{
	const struct hytest_rig_program *rigs;
	const void *image;
	size_t size, i, n;
	char path[128];

	image = hytest_experiment_image(e, &size);
	if (image)
		write_image(directory, name, image, size);
	n = hytest_experiment_rigs(e, &rigs);
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s.%s", name, rigs[i].name);
		write_image(directory, path, rigs[i].image, rigs[i].size);
	}
}

static void write_word(FILE *file, const char *word)
{
	fprintf(file, "\"%s\"\n", word);
}

static void write_dictionary(const char *directory)
{
	static const char *const words[] = {
		"title", "duration", "loop", "inputs", "outputs", "blocks", "interlocks", "record",
		"changes", "rate", "cpu", "heartbeat", "budget", "deadline", "deadline_ticks",
		"missed_ticks", "soft_start", "soft_stop", "history", "post_trip", "signal", "unit",
		"initial", "safe", "slew", "ramp", "name", "type", "in", "out", "units", "file",
		"columns", "kind", "low", "high", "delay", "action", "other", "window", "range",
		"difference", "rms", "hold", "cut", "at", "set", "sqrt(", "min(", "max(", "pi",
		"enable", "estop", "scan", "lost", "write", "step", "missed", "latch",
		"scan_ticks", "write_ticks", "device", "channel", "gain", "offset", "sign", "poll",
		"gpio", "line", "rigs", "held", "dac", "adc", "bits", "noise", " = ", "( { ", " } );", "[1.0, 2.0]", "( [1.0], [2.0] )", "1e15", "-1", "0x7f", "5L",
	};
	FILE *file = create(directory, "experiment.dict");
	ht_u32 t, i, w;

	for (i = 0; i < HT_COUNT(words); i++)
		write_word(file, words[i]);
	for (t = 0; t < ht_n_block_types; t++) {
		const struct ht_block_type *type = ht_block_types[t];

		write_word(file, type->name);
		for (i = 0; i < type->n_dims; i++)
			write_word(file, type->dims[i].name);
		for (i = 0; i < type->n_fields; i++) {
			write_word(file, type->fields[i].name);
			for (w = 0; type->fields[i].words && type->fields[i].words[w]; w++)
				write_word(file, type->fields[i].words[w]);
		}
	}
	finish(file);
}

int main(int argc, char **argv)
{
	struct hytest_experiment *e;
	struct hytest_message message;
	char images[400], texts[400];
	FILE *file;
	int i;

	if (argc < 3) {
		fprintf(stderr, "usage: make_seeds DIRECTORY FILE.cfg ...\n");
		return 2;
	}
	snprintf(images, sizeof(images), "%s/image", argv[1]);
	snprintf(texts, sizeof(texts), "%s/experiment", argv[1]);
	mkdir(argv[1], 0777);
	mkdir(images, 0777);
	mkdir(texts, 0777);
	write_dictionary(argv[1]);
	for (i = 2; i < argc; i++) {
		e = hytest_experiment_read(argv[i], NULL, 0, &message);
		if (!e) {
			fprintf(stderr, "make_seeds: %s\n", message.text);
			return 1;
		}
		write_images(images, basename(argv[i]), e);
		file = create(texts, basename(argv[i]));
		fputs(hytest_experiment_text(e), file);
		finish(file);
		hytest_experiment_free(e);
	}
	return 0;
}
