// SPDX-License-Identifier: GPL-2.0
/*
 * The order in which the blocks of a program run: every block after those
 * whose outputs it reads. A block whose type has an update() reads its inputs
 * after all have stepped and waits for nobody; it is what closes a loop. A
 * loop without such a block has no order: it is reported with all its members.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_model.h"

static bool waits_for_inputs(const struct model_block *b)
{
	return !b->type->update;
}

/* The block that writes this input and has not run yet, or NOBODY. */
static uint32_t missing_writer(const struct model *m, const bool *done, uint32_t block,
			       uint32_t input)
{
	const uint32_t writer = m->signals[m->blocks[block].wires[input]].writer;

	if (writer == AN_INPUT || done[writer])
		return NOBODY;
	return writer;
}

static bool ready(const struct model *m, const bool *done, uint32_t block)
{
	const struct model_block *b = &m->blocks[block];
	uint32_t i;

	for (i = 0; waits_for_inputs(b) && i < b->image.n_in; i++)
		if (missing_writer(m, done, block, i) != NOBODY)
			return false;
	return true;
}

/* Of a block that is not ready: the first input that it waits for. */
static uint32_t awaited_signal(const struct model *m, const bool *done, uint32_t block)
{
	uint32_t i = 0;

	while (missing_writer(m, done, block, i) == NOBODY)
		i++;
	return m->blocks[block].wires[i];
}

static void append(char *text, size_t size, const char *more)
{
	size_t length = strlen(text);

	snprintf(text + length, size - length, "%s%s", length ? " -> " : "", more);
}

/*
 * Whoever is left waits for somebody who is left: following the writers leads
 * into a loop. The chain is followed against the flow and told with it.
 */
static int report_loop(const struct model *m, const bool *done, uint32_t start)
{
	uint32_t *chain = calloc(m->n_blocks + 1, sizeof(*chain));
	bool *seen = calloc(m->n_blocks + 1, sizeof(*seen));
	char text[360] = "";
	uint32_t at = start, n = 0, first = 0, i;

	if (!chain || !seen) {
		free(chain);
		free(seen);
		return reader_no_memory(m->reader);
	}
	while (!seen[at]) {
		seen[at] = true;
		chain[n++] = at;
		at = m->signals[awaited_signal(m, done, at)].writer;
	}
	while (chain[first] != at)
		first++;
	/* chain[first], its writer chain[first + 1], ..., and back to the first */
	append(text, sizeof(text), m->blocks[at].image.name);
	for (i = n; i-- > first;) {
		const uint32_t reader = chain[i];

		append(text, sizeof(text),
		       m->signals[awaited_signal(m, done, reader)].image.name);
		append(text, sizeof(text), m->blocks[reader].image.name);
	}
	reader_fail(m->reader, m->blocks[at].setting,
		    "algebraic loop %s; put a block of type unit_delay between two of them, for instance behind %s",
		    text, m->signals[awaited_signal(m, done, at)].image.name);
	free(chain);
	free(seen);
	return -1;
}

int model_sort_blocks(struct model *m)
{
	bool *done = calloc(m->n_blocks + 1, sizeof(*done));
	uint32_t n = 0, i, before;
	int failed = 0;

	m->order = calloc(m->n_blocks + 1, sizeof(*m->order));
	if (!done || !m->order) {
		free(done);
		return reader_no_memory(m->reader);
	}
	/* As close to the order of the file as possible. */
	while (n < m->n_blocks) {
		before = n;
		for (i = 0; i < m->n_blocks; i++) {
			if (done[i] || !ready(m, done, i))
				continue;
			done[i] = true;
			m->order[n++] = i;
		}
		if (n > before)
			continue;
		for (i = 0; done[i]; i++)
			;
		failed = report_loop(m, done, i);
		break;
	}
	free(done);
	return failed;
}
