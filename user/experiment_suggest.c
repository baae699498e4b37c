// SPDX-License-Identifier: GPL-2.0
/*
 * "Did you mean ...?": finds the name that is most like a misspelt one.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "experiment_reader.h"

#define MAX_LENGTH 64

static size_t least(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* Levenshtein distance, upper and lower case alike; needs lengths <= MAX_LENGTH. */
static size_t distance(const char *a, const char *b)
{
	size_t row[MAX_LENGTH + 1], i, j, diagonal, above;
	const size_t length = strlen(b);

	for (j = 0; j <= length; j++)
		row[j] = j;
	for (i = 0; a[i]; i++) {
		diagonal = row[0];
		row[0] = i + 1;
		for (j = 0; j < length; j++) {
			above = row[j + 1];
			row[j + 1] = least(above + 1, row[j] + 1, diagonal +
					   (tolower((unsigned char)a[i]) !=
					    tolower((unsigned char)b[j])));
			diagonal = above;
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
