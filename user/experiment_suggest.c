// SPDX-License-Identifier: GPL-2.0
/*
 * "Did you mean ...?": finds the name that is most like a misspelt one.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "experiment_reader.h"

#define MAX_LENGTH 64

static bool alike(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Number of letters inserted, left out, replaced or swapped with their
 * neighbour (optimal string alignment), upper and lower case alike. Needs
 * lengths up to MAX_LENGTH.
 */
static size_t distance(const char *a, const char *b)
{
	size_t table[3][MAX_LENGTH + 1], *row, *above, *top, i, j;
	const size_t length = strlen(b);

	for (j = 0; j <= length; j++)
		table[0][j] = j;
	row = table[0];
	for (i = 1; a[i - 1]; i++) {
		row = table[i % 3];
		above = table[(i - 1) % 3];
		top = table[(i + 1) % 3];	/* two above */
		row[0] = i;
		for (j = 1; j <= length; j++) {
			row[j] = least(above[j - 1] + !alike(a[i - 1], b[j - 1]),
				       least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && alike(a[i - 1], b[j - 2]) &&
			    alike(a[i - 2], b[j - 1]))
				row[j] = least(row[j], top[j - 2] + 1);
		}
	}
	return row[length];
}

void suggest_begin(struct suggestion *s, const char *name)
{
	s->name = name;
	s->best = NULL;
	/* More than every third letter wrong is another word. */
	s->distance = (strlen(name) + 2) / 3 + 1;
}

void suggest_offer(struct suggestion *s, const char *candidate)
{
	size_t d;

	if (strlen(s->name) > MAX_LENGTH || strlen(candidate) > MAX_LENGTH)
		return;
	d = distance(s->name, candidate);
	/* A word that is to be replaced as a whole is not like it. */
	if (d < s->distance && d < strlen(candidate)) {
		s->distance = d;
		s->best = candidate;
	}
}

const char *suggest_text(const struct suggestion *s, char *buffer, size_t size)
{
	if (s->best)
		snprintf(buffer, size, "; did you mean %s?", s->best);
	else if (size)
		buffer[0] = '\0';
	return buffer;
}
