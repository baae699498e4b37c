/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parts of "hytest check".
 */
#ifndef HYTEST_CMD_CHECK_H
#define HYTEST_CMD_CHECK_H

#include <stdbool.h>
#include <stdio.h>

#include "../kmod/core/image.h"
#include "experiment.h"

const char *check_type_name(const struct ht_image *image, uint32_t block);

/* Whether the steps of a rig fall on the ticks of the loop. */
bool check_rig_keeps_pace(const struct ht_image *rig, const struct ht_image *loop);

/* The experiment as JSON; the loop is NULL for a file of rigs. 0, or -1. */
int check_json(const struct hytest_experiment *e, const struct ht_image *loop, const char *path);

/* All block types; an exit status. */
int check_list_types(bool as_json);

#endif
