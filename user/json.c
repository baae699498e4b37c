// SPDX-License-Identifier: GPL-2.0
/*
 * A writer of JSON: one value after another, straight to a stream.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define JSON_DEPTH 32

struct json {
	FILE *stream;
	int depth;
	bool filled;			/* the open object or array has a member */
	char closing[JSON_DEPTH];	/* of the objects and arrays that are open */
};

struct json *json_new(FILE *stream)
{
	struct json *json = calloc(1, sizeof(*json));

	if (json)
		json->stream = stream;
	return json;
}

int json_free(struct json *json)
{
	int failed;

	while (json->depth > 0)
		fputc(json->closing[--json->depth], json->stream);
	fputc('\n', json->stream);
	failed = fflush(json->stream) || ferror(json->stream);
	free(json);
	return failed ? -1 : 0;
}

/* Length of the UTF-8 sequence at text, 0 if there is none (RFC 3629). */
static int utf8_length(const unsigned char *text)
{
	int length, i;

	if (text[0] < 0x80)
		return 1;
	if (text[0] >= 0xc2 && text[0] <= 0xdf)
		length = 2;
	else if (text[0] >= 0xe0 && text[0] <= 0xef)
		length = 3;
	else if (text[0] >= 0xf0 && text[0] <= 0xf4)
		length = 4;
	else
		return 0;
	for (i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	return length;
}

static void write_text(FILE *stream, const char *text)
{
	const unsigned char *c = (const unsigned char *)text;

	fputc('"', stream);
	while (*c) {
		int length = utf8_length(c);

		if (!length) {
			fputs("\\ufffd", stream);
			length = 1;
		} else if (*c == '"' || *c == '\\') {
			fprintf(stream, "\\%c", *c);
		} else if (*c == '\n') {
			fputs("\\n", stream);
		} else if (*c == '\t') {
			fputs("\\t", stream);
		} else if (*c < 0x20 || *c == 0x7f) {
			fprintf(stream, "\\u%04x", *c);
		} else {
			fwrite(c, 1, length, stream);
		}
		c += length;
	}
	fputc('"', stream);
}

static void begin_value(struct json *json, const char *key)
{
	if (json->filled)
		fputc(',', json->stream);
	json->filled = true;
	if (key) {
		write_text(json->stream, key);
		fputc(':', json->stream);
	}
}

static void open_group(struct json *json, const char *key, char opening, char closing)
{
	begin_value(json, key);
	fputc(opening, json->stream);
	if (json->depth == JSON_DEPTH)
		abort();	/* the depth is the program's own, never its input's */
	json->closing[json->depth++] = closing;
	json->filled = false;
}

static void close_group(struct json *json)
{
	if (json->depth == 0)
		abort();
	fputc(json->closing[--json->depth], json->stream);
	json->filled = true;
}

void json_object_begin(struct json *json, const char *key)
{
	open_group(json, key, '{', '}');
}

void json_object_end(struct json *json)
{
	close_group(json);
}

void json_array_begin(struct json *json, const char *key)
{
	open_group(json, key, '[', ']');
}

void json_array_end(struct json *json)
{
	close_group(json);
}

void json_string(struct json *json, const char *key, const char *text)
{
	begin_value(json, key);
	if (text)
		write_text(json->stream, text);
	else
		fputs("null", json->stream);
}

void json_number(struct json *json, const char *key, double value)
{
	char text[32];
	int digits;

	begin_value(json, key);
	if (!isfinite(value)) {
		fputs("null", json->stream);
		return;
	}
	for (digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fputs(text, json->stream);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
	begin_value(json, key);
	fprintf(json->stream, "%" PRId64, value);
}

void json_unsigned(struct json *json, const char *key, uint64_t value)
{
	begin_value(json, key);
	fprintf(json->stream, "%" PRIu64, value);
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin_value(json, key);
	fputs(value ? "true" : "false", json->stream);
}

void json_null(struct json *json, const char *key)
{
	begin_value(json, key);
	fputs("null", json->stream);
}
