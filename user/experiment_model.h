/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program between its file and its image: signals, blocks, channels and
 * interlocks, each with the setting that it came from. The loop of a file is
 * one, and each of its rigs.
 *
 * Functions return 0, or -1 after the message of the reader has been written.
 */
#ifndef HYTEST_EXPERIMENT_MODEL_H
#define HYTEST_EXPERIMENT_MODEL_H

#include "../kmod/core/loop.h"
#include "../kmod/core/rig.h"
#include "experiment_reader.h"

#define NOBODY	UINT32_MAX	/* writer of a signal that has none yet */
#define AN_INPUT (UINT32_MAX - 1)

struct model_signal {
	struct ht_image_signal image;
	const config_setting_t *setting;
	uint32_t writer;		/* block, or AN_INPUT */
};

struct model_block {
	struct ht_image_block image;
	const struct ht_block_type *type;
	const config_setting_t *setting;
	const config_setting_t *field_setting[HT_MAX_FIELDS];	/* NULL: preset */
	uint32_t count[HT_MAX_FIELDS];
	double *field[HT_MAX_FIELDS];
	uint32_t *wires;		/* inputs, then outputs */
};

struct model {
	struct reader *reader;
	const config_setting_t *group;	/* its parts are in: the file, or a rig of it */
	struct ht_image_header header;	/* settings of the loop, or rig */
	double period;			/* s */

	struct model_signal *signals;
	uint32_t n_signals;
	uint32_t signals_room;

	const config_setting_t **input_settings;
	struct ht_image_input *inputs;
	uint32_t n_inputs;
	const config_setting_t **output_settings;
	struct ht_image_output *outputs;
	uint32_t n_outputs;

	struct model_block *blocks;	/* in the order of the file */
	uint32_t *order;		/* in which they run */
	uint32_t n_blocks;
	uint64_t n_values;		/* elements of all fields so far */

	const config_setting_t **interlock_settings;
	struct ht_image_interlock *interlocks;
	uint32_t n_interlocks;

	uint32_t *records;
	uint32_t n_records;
};

void model_free(struct model *m);

/* The group "loop"; the others need its period. */
int model_read_loop(struct model *m);
/* Of a rig: name, rate and held. */
int model_read_rig(struct model *m, char *name, size_t size);
/* Inputs (of a rig: dac) first, then blocks: they define the signals. */
int model_read_inputs(struct model *m);
int model_read_dac(struct model *m);
int model_read_blocks(struct model *m);
int model_read_outputs(struct model *m);
int model_read_adc(struct model *m);
int model_read_interlocks(struct model *m);
int model_read_record(struct model *m);

/* Finds the order in which the blocks run. */
int model_sort_blocks(struct model *m);

/* Number of a signal; -1 after a message that suggests the nearest. */
int model_find_signal(const struct model *m, const config_setting_t *at, const char *name,
		      uint32_t *signal);
/* A new signal; the name was checked. *signal holds until the next one. */
int model_add_signal(struct model *m, const config_setting_t *at, const char *name,
		     uint32_t writer, struct model_signal **signal);

/* Reads a text file of numbers: rows of the wanted columns, from 1 on. */
struct column_file {
	double *values;			/* to be freed */
	uint32_t n_values;
};

int column_file_read(const struct reader *r, const config_setting_t *at, const char *path,
		     const uint32_t *columns, uint32_t n_columns, struct column_file *file);

/* Builds the image, to be freed, and has the core check it. */
int model_make_image(const struct model *m, const char *text, void **image, uint32_t *size);
/* Loop or rig of the image, to be freed, built and checked; NULL after a message. */
struct ht_loop *model_make_loop(const struct model *m, const void *image);
struct ht_rig *model_make_rig(const struct model *m, const void *image);
/* Writes the message for an error of the core. */
int model_explain(const struct model *m, const struct ht_error *error);

static inline bool model_is_rig(const struct model *m)
{
	return m->header.kind == HT_IMAGE_RIG;
}

/* Seconds in whole ticks. */
uint64_t model_ticks(const struct model *m, double seconds);

#endif
