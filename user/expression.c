// SPDX-License-Identifier: GPL-2.0
/*
 * Evaluates the arithmetic expressions of experiment files, by recursive
 * descent with a limited depth:
 *
 *	sum	= product { ("+" | "-") product }
 *	product	= signed { ("*" | "/") signed }
 *	signed	= { "+" | "-" } power
 *	power	= primary [ "^" signed ]
 *	primary	= number | "(" sum ")" | name | name "(" sum { "," sum } ")"
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expression.h"

#define MAX_DEPTH 64

struct parser {
	const char *at;
	const struct expression_names *names;
	char *message;
	int depth;
};

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

struct function {
	const char *name;
	double (*one)(double x);
	double (*two)(double a, double b);
};

static const struct function functions[] = {
	{ .name = "sqrt", .one = sqrt },
	{ .name = "sin", .one = sin },
	{ .name = "cos", .one = cos },
	{ .name = "exp", .one = exp },
	{ .name = "log", .one = log },
	{ .name = "abs", .one = fabs },
	{ .name = "min", .two = smaller },
	{ .name = "max", .two = larger },
	{ .name = NULL }
};

static const struct function *find_function(const char *name)
{
	const struct function *f;

	for (f = functions; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

int expression_reserved(const char *name)
{
	return !strcmp(name, "pi") || find_function(name);
}

static int complain(struct parser *p, const char *what)
{
	snprintf(p->message, EXPRESSION_MESSAGE, "%s", what);
	return -1;
}

static char next_char(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')
		p->at++;
	return *p->at;
}

/* Where the parser stands, for people. */
static int unexpected(struct parser *p, const char *wanted)
{
	char c = next_char(p);

	if (!c)
		snprintf(p->message, EXPRESSION_MESSAGE, "it ends where %s should stand", wanted);
	else
		snprintf(p->message, EXPRESSION_MESSAGE, "%s should stand before \"%.20s\"",
			 wanted, p->at);
	return -1;
}

static int parse_sum(struct parser *p, double *value);

static int parse_number(struct parser *p, double *value)
{
	char *end;

	/* strtod() would also take what is no decimal number: 0x10. */
	if (p->at[0] == '0' && (p->at[1] == 'x' || p->at[1] == 'X'))
		return complain(p, "numbers are decimal, 0x is not known");
	*value = strtod(p->at, &end);
	if (end == p->at)
		return unexpected(p, "a number");
	if (isalpha((unsigned char)*end) || *end == '_' || *end == '.') {
		snprintf(p->message, EXPRESSION_MESSAGE,
			 "\"%.20s\" is no number; a product needs its *", p->at);
		return -1;
	}
	p->at = end;
	return 0;
}

static int parse_call(struct parser *p, const struct function *function, double *value)
{
	double argument;
	int count = 0;

	if (next_char(p) != '(')
		return unexpected(p, "( after the name of a function");
	do {
		p->at++;
		if (parse_sum(p, &argument))
			return -1;
		count++;
		if (function->one)
			*value = function->one(argument);
		else
			*value = count == 1 ? argument : function->two(*value, argument);
	} while (next_char(p) == ',' && function->two);
	if (*p->at != ')')
		return unexpected(p, ")");
	p->at++;
	if (function->two && count < 2) {
		snprintf(p->message, EXPRESSION_MESSAGE, "%s() needs two arguments or more",
			 function->name);
		return -1;
	}
	return 0;
}

static int parse_name(struct parser *p, double *value)
{
	char name[EXPRESSION_NAME_LEN];
	const struct function *function;
	size_t length = 0;

	while (isalnum((unsigned char)p->at[length]) || p->at[length] == '_')
		length++;
	if (length >= sizeof(name)) {
		snprintf(p->message, EXPRESSION_MESSAGE,
			 "the name \"%.20s...\" is too long; at most %d letters", p->at,
			 EXPRESSION_NAME_LEN - 1);
		return -1;
	}
	memcpy(name, p->at, length);
	name[length] = '\0';
	p->at += length;
	if (!strcmp(name, "pi")) {
		*value = M_PI;
		return 0;
	}
	function = find_function(name);
	if (function)
		return parse_call(p, function, value);
	if (next_char(p) == '(') {
		snprintf(p->message, EXPRESSION_MESSAGE,
			 "there is no function %s(); there are sqrt sin cos exp log abs min max",
			 name);
		return -1;
	}
	return p->names->find(p->names->context, name, value, p->message);
}

static int parse_primary(struct parser *p, double *value)
{
	char c = next_char(p);

	if (c == '(') {
		p->at++;
		if (parse_sum(p, value))
			return -1;
		if (next_char(p) != ')')
			return unexpected(p, ")");
		p->at++;
		return 0;
	}
	if (isdigit((unsigned char)c) || c == '.')
		return parse_number(p, value);
	if (isalpha((unsigned char)c) || c == '_')
		return parse_name(p, value);
	return unexpected(p, "a number or a name");
}

static int parse_signed(struct parser *p, double *value)
{
	int negative = 0;
	double exponent;

	while (next_char(p) == '-' || *p->at == '+') {
		if (*p->at == '-')
			negative = !negative;
		p->at++;
	}
	if (parse_primary(p, value))
		return -1;
	if (next_char(p) == '^') {
		p->at++;
		if (++p->depth > MAX_DEPTH)
			return complain(p, "it is nested too deeply");
		if (parse_signed(p, &exponent))
			return -1;
		p->depth--;
		*value = pow(*value, exponent);
	}
	if (negative)
		*value = -*value;
	return 0;
}

static int parse_product(struct parser *p, double *value)
{
	double factor;
	char c;

	if (parse_signed(p, value))
		return -1;
	while ((c = next_char(p)) == '*' || c == '/') {
		p->at++;
		if (parse_signed(p, &factor))
			return -1;
		if (c == '/' && factor == 0)
			return complain(p, "it divides by zero");
		*value = c == '*' ? *value * factor : *value / factor;
	}
	return 0;
}

static int parse_sum(struct parser *p, double *value)
{
	double term;
	char c;

	if (++p->depth > MAX_DEPTH)
		return complain(p, "it is nested too deeply");
	if (parse_product(p, value))
		return -1;
	while ((c = next_char(p)) == '+' || c == '-') {
		p->at++;
		if (parse_product(p, &term))
			return -1;
		*value = c == '+' ? *value + term : *value - term;
	}
	p->depth--;
	return 0;
}

int expression_evaluate(const char *text, const struct expression_names *names, double *value,
			char *message)
{
	struct parser p = { .at = text, .names = names, .message = message };

	if (parse_sum(&p, value))
		return -1;
	if (next_char(&p))
		return unexpected(&p, "an operator");
	if (!isfinite(*value))
		return complain(&p, "its value is not a finite number");
	return 0;
}
