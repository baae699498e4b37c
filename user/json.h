/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A writer of JSON: one value after another, straight to a stream.
 *
 * Every function takes the key under which the value stands in the object
 * that is open; in an array, and for the outermost value, the key is NULL.
 */
#ifndef HYTEST_JSON_H
#define HYTEST_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json;

/* NULL if there is no memory. The stream stays the caller's. */
struct json *json_new(FILE *stream);
/* Closes what is open, ends the line; 0, or -1 if the stream has failed. */
int json_free(struct json *json);

void json_object_begin(struct json *json, const char *key);
void json_object_end(struct json *json);
void json_array_begin(struct json *json, const char *key);
void json_array_end(struct json *json);

/* A NULL text is null; bytes that are no UTF-8 are replaced by U+FFFD. */
void json_string(struct json *json, const char *key, const char *text);
/* Shortest text that reads back as the same double; null if not finite. */
void json_number(struct json *json, const char *key, double value);
void json_integer(struct json *json, const char *key, int64_t value);
void json_unsigned(struct json *json, const char *key, uint64_t value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

#endif
