// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes the reader of experiment files (libFuzzer).
 *
 * The input is a file, and after a zero byte each a number of overrides. What
 * must hold: no fault of memory or arithmetic, either an experiment that the
 * core accepts or one line that says why not.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../kmod/core/fpenv.h"
#include "../../kmod/core/loop.h"
#include "../../user/experiment.h"
#include "../../user/param_names.h"

#define MAX_OVERRIDES 4

static void require(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

static void check_loop(const struct hytest_experiment *e, const struct ht_image_header *h,
		       size_t size)
{
	const struct hytest_scheduled *scheduled;
	size_t n, i;
	uint32_t found;
	char name[HYTEST_PARAM_NAME_LEN];
	struct ht_error error;

	require(ht_image_check(h, size, &error) == HT_OK, "the image is good");
	require(h->kind == HT_IMAGE_LOOP, "the image is a loop's");
	require(strlen(hytest_experiment_text(e)) == h->text_size, "the text is in the image");
	n = hytest_experiment_schedule(e, &scheduled);
	for (i = 0; i < n; i++) {
		require(scheduled[i].tick > (i ? scheduled[i - 1].tick : 0), "batches in order");
		require(scheduled[i].count > 0, "batches change something");
		require(!hytest_param_name(h, scheduled[i].changes[0].param, name, sizeof(name)),
			"a changed parameter has a name");
		require(!hytest_param_find(h, name, &found) &&
			found == scheduled[i].changes[0].param, "its name leads back to it");
	}
}

static void check_experiment(const struct hytest_experiment *e)
{
	const struct hytest_rig_program *rigs;
	const struct ht_image_header *h;
	struct ht_error error;
	size_t size, n, i;

	h = hytest_experiment_image(e, &size);
	if (h)
		check_loop(e, h, size);
	n = hytest_experiment_rigs(e, &rigs);
	require(h || n, "there is a loop or a rig");
	for (i = 0; i < n; i++) {
		h = rigs[i].image;
		require(ht_image_check(h, rigs[i].size, &error) == HT_OK, "a rig's image is good");
		require(h->kind == HT_IMAGE_RIG, "a rig's image is a rig's");
		require(*rigs[i].name, "a rig has a name");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 forgets a string that stands before a syntax error. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig\n";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *overrides[MAX_OVERRIDES];
	struct hytest_message message;
	struct hytest_experiment *e;
	size_t n = 0, at;
	char *text;

	text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (at = strlen(text) + 1; at < size && n < MAX_OVERRIDES; at += strlen(text + at) + 1)
		overrides[n++] = text + at;
	e = hytest_experiment_parse(text, "fuzz.cfg", overrides, n, &message);
	if (e) {
		require(!*message.text, "no message about what is good");
		check_experiment(e);
	} else {
		require(*message.text && !strchr(message.text, '\n'), "one line says what is wrong");
	}
	hytest_experiment_free(e);
	free(text);
	return 0;
}
