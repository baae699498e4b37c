/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Command line of the sub-commands: one structure, one parse function, and
 * the few ways in which a command speaks to its user.
 *
 * With --json exactly one JSON object goes to stdout and everything that is
 * meant for people goes to stderr.
 */
#ifndef HYTEST_OPTIONS_H
#define HYTEST_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Which options a command takes; --json, --help and --version are for all. */
#define HYTEST_TAKES_SET	0x01
#define HYTEST_TAKES_BACKEND	0x02
#define HYTEST_TAKES_DEVICE	0x04
#define HYTEST_TAKES_RUN	0x08	/* --seconds, --log, --realtime */
#define HYTEST_TAKES_FILE	0x10
#define HYTEST_TAKES_URI	0x20
#define HYTEST_TAKES_RIG	0x40	/* --remove, --all, --list, --reset, --fault */
#define HYTEST_TAKES_BLACK_BOX	0x80	/* --black-box, --dir, --no-black-box */

/* What hytest rig shall do. */
enum hytest_rig_action {
	HYTEST_RIG_CREATE,
	HYTEST_RIG_REMOVE,
	HYTEST_RIG_LIST,
	HYTEST_RIG_RESET,
	HYTEST_RIG_FAULT
};

struct hytest_usage {
	const char *command;
	const char *arguments;		/* for the first line of the help */
	const char *text;		/* what it does, its options, an example */
	unsigned int takes;
	int min_arguments;
	int max_arguments;		/* -1: any number */
};

struct hytest_options {
	const char *command;
	bool json;
	bool sim;			/* --backend sim */
	bool realtime;
	bool has_device;
	unsigned int device;
	double seconds;			/* below 0: not given */
	const char *log;
	const char *file;
	const char *uri;
	enum hytest_rig_action rig;
	bool all;
	const char *black_box;		/* directory; NULL: not given */
	bool no_black_box;
	const char **set;		/* each PATH=VALUE */
	size_t n_set;
	char **arguments;
	int n_arguments;
};

/*
 * Returns -1 if the command shall go on, otherwise the exit status: the user
 * asked for help or the usage was wrong, and has been told so. Options must be
 * freed in the first case only.
 */
int hytest_options_parse(struct hytest_options *options, const struct hytest_usage *usage,
			 int argc, char **argv);
void hytest_options_free(struct hytest_options *options);

/* Where text for people goes. */
FILE *hytest_out(const struct hytest_options *options);

/*
 * One line to stderr, "hytest: ..."; with --json also the object
 * {"ok": false, "command": ..., "error": ...}. Returns the status given.
 */
int hytest_fail(const struct hytest_options *options, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
