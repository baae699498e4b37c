/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Experiment files: read with libconfig, compiled to a program image.
 */
#ifndef HYTEST_EXPERIMENT_H
#define HYTEST_EXPERIMENT_H

#include <stddef.h>
#include <stdint.h>

struct hytest_experiment;

/* One line that tells a person what is wrong: file, line, cause, remedy. */
struct hytest_message {
	char text[512];
};

/*
 * Reads and compiles a file. Each override is "PATH=VALUE" as given by --set:
 * PATH is a libconfig path (K, loop.rate, blocks.spring.K, blocks.[2].gain), VALUE a number, a
 * string or an array in libconfig syntax. NULL with a message on any error.
 */
struct hytest_experiment *hytest_experiment_read(const char *path, const char *const *overrides,
						 size_t n_overrides,
						 struct hytest_message *message);
/* The same from text in memory; path is used in messages only. */
struct hytest_experiment *hytest_experiment_parse(const char *text, const char *path,
						  const char *const *overrides,
						  size_t n_overrides,
						  struct hytest_message *message);
void hytest_experiment_free(struct hytest_experiment *experiment);

/* The image; it lives as long as the experiment. NULL for a file of rigs only. */
const void *hytest_experiment_image(const struct hytest_experiment *experiment, size_t *size);
/* The file as it was read, with the overrides as comment lines at its end. */
const char *hytest_experiment_text(const struct hytest_experiment *experiment);
const char *hytest_experiment_title(const struct hytest_experiment *experiment);
/* Seconds that a run takes unless told otherwise; 0 for until stopped. */
double hytest_experiment_duration(const struct hytest_experiment *experiment);
/* CPU for the loop; -1: the last one of the machine. */
int hytest_experiment_cpu(const struct hytest_experiment *experiment);

/* Timed parameter changes that the file asks for, in order of time. */
struct hytest_scheduled {
	uint64_t tick;
	const struct ht_change *changes;
	uint32_t count;
};

size_t hytest_experiment_schedule(const struct hytest_experiment *experiment,
				  const struct hytest_scheduled **scheduled);

/* A simulated rig of the file: an image of the kind HT_IMAGE_RIG. */
struct hytest_rig_program {
	const char *name;
	const void *image;
	size_t size;
};

/* The rigs in the order of the file; they live as long as the experiment. */
size_t hytest_experiment_rigs(const struct hytest_experiment *experiment,
			      const struct hytest_rig_program **rigs);

#endif
