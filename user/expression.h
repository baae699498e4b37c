/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arithmetic expressions of experiment files: "2*pi*f", "sqrt(K/M)".
 *
 * Operators + - * / ^ (right associative, binds tighter than a sign before
 * it), parentheses, sqrt sin cos exp log abs (one argument), min max (two or
 * more), pi, decimal numbers and names. Angles are in radian.
 */
#ifndef HYTEST_EXPRESSION_H
#define HYTEST_EXPRESSION_H

#include <stddef.h>

#define EXPRESSION_NAME_LEN 64

/*
 * Finds the value of a name; 0, or -1 after having written to message (of
 * EXPRESSION_MESSAGE bytes) why there is none.
 */
#define EXPRESSION_MESSAGE 384

struct expression_names {
	int (*find)(void *context, const char *name, double *value, char *message);
	void *context;
};

/*
 * Evaluates the text. 0, or -1 with one line in message (EXPRESSION_MESSAGE
 * bytes) that tells what is wrong. A result that is not finite is an error.
 */
int expression_evaluate(const char *text, const struct expression_names *names, double *value,
			char *message);

/* 1 if the name means something in every expression: pi, sqrt, ... */
int expression_reserved(const char *name);

#endif
