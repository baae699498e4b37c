// SPDX-License-Identifier: GPL-2.0
/*
 * Command line of the sub-commands.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "json.h"
#include "libhytest.h"
#include "options.h"

enum option_key {
	KEY_SET = 1000,
	KEY_JSON,
	KEY_BACKEND,
	KEY_DEVICE,
	KEY_SECONDS,
	KEY_LOG,
	KEY_REALTIME,
	KEY_FILE,
	KEY_URI,
	KEY_REMOVE,
	KEY_LIST,
	KEY_RESET,
	KEY_FAULT,
	KEY_ALL,
	KEY_BLACK_BOX,
	KEY_NO_BLACK_BOX,
	KEY_HELP,
	KEY_VERSION
};

static const struct option long_options[] = {
	{ "set", required_argument, NULL, KEY_SET },
	{ "json", no_argument, NULL, KEY_JSON },
	{ "backend", required_argument, NULL, KEY_BACKEND },
	{ "device", required_argument, NULL, KEY_DEVICE },
	{ "loop", required_argument, NULL, KEY_DEVICE },
	{ "seconds", required_argument, NULL, KEY_SECONDS },
	{ "log", required_argument, NULL, KEY_LOG },
	{ "realtime", no_argument, NULL, KEY_REALTIME },
	{ "file", required_argument, NULL, KEY_FILE },
	{ "uri", required_argument, NULL, KEY_URI },
	{ "remove", no_argument, NULL, KEY_REMOVE },
	{ "list", no_argument, NULL, KEY_LIST },
	{ "reset", no_argument, NULL, KEY_RESET },
	{ "fault", no_argument, NULL, KEY_FAULT },
	{ "all", no_argument, NULL, KEY_ALL },
	{ "black-box", required_argument, NULL, KEY_BLACK_BOX },
	{ "dir", required_argument, NULL, KEY_BLACK_BOX },
	{ "no-black-box", no_argument, NULL, KEY_NO_BLACK_BOX },
	{ "help", no_argument, NULL, KEY_HELP },
	{ "version", no_argument, NULL, KEY_VERSION },
	{ NULL, 0, NULL, 0 }
};

static unsigned int takes_for(int key)
{
	switch (key) {
	case KEY_SET:
		return HYTEST_TAKES_SET;
	case KEY_BACKEND:
		return HYTEST_TAKES_BACKEND;
	case KEY_DEVICE:
		return HYTEST_TAKES_DEVICE;
	case KEY_SECONDS:
	case KEY_LOG:
	case KEY_REALTIME:
		return HYTEST_TAKES_RUN;
	case KEY_FILE:
		return HYTEST_TAKES_FILE;
	case KEY_URI:
		return HYTEST_TAKES_URI;
	case KEY_REMOVE:
	case KEY_LIST:
	case KEY_RESET:
	case KEY_FAULT:
	case KEY_ALL:
		return HYTEST_TAKES_RIG;
	case KEY_BLACK_BOX:
	case KEY_NO_BLACK_BOX:
		return HYTEST_TAKES_BLACK_BOX;
	default:
		return 0;
	}
}

static bool parse_seconds(const char *text, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	return end != text && !*end && isfinite(*seconds) && *seconds >= 0 && *seconds <= 1e9;
}

static bool parse_device(const char *text, unsigned int *device)
{
	unsigned long value;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	*device = value;
	return !errno && !*end && value <= 0xffff;
}

static int bad_value(const struct hytest_options *o, const char *option, const char *right)
{
	return hytest_fail(o, HYTEST_EXIT_USAGE, "--%s %s: must be %s", option, optarg, right);
}

static int take_action(struct hytest_options *o, enum hytest_rig_action action)
{
	if (o->rig != HYTEST_RIG_CREATE && o->rig != action)
		return hytest_fail(o, HYTEST_EXIT_USAGE,
				   "--remove, --list, --reset, --fault: only one of them at a time");
	o->rig = action;
	return -1;
}

/* Takes one option over; -1 or the exit status. */
static int take_option(struct hytest_options *o, int key)
{
	switch (key) {
	case KEY_SET:
		if (!strchr(optarg, '=') || *optarg == '=')
			return bad_value(o, "set", "PATH=VALUE, such as loop.rate=2000");
		o->set[o->n_set++] = optarg;
		break;
	case KEY_BACKEND:
		o->sim = !strcmp(optarg, "sim");
		if (!o->sim && strcmp(optarg, "kernel"))
			return bad_value(o, "backend", "kernel or sim");
		break;
	case KEY_DEVICE:
		if (!parse_device(optarg, &o->device))
			return bad_value(o, "device", "N of /dev/hytestN");
		o->has_device = true;
		break;
	case KEY_SECONDS:
		if (!parse_seconds(optarg, &o->seconds))
			return bad_value(o, "seconds", "a time in seconds, 0 for until stopped");
		break;
	case KEY_LOG:
		o->log = optarg;
		break;
	case KEY_REALTIME:
		o->realtime = true;
		break;
	case KEY_FILE:
		o->file = optarg;
		break;
	case KEY_URI:
		o->uri = optarg;
		break;
	case KEY_REMOVE:
		return take_action(o, HYTEST_RIG_REMOVE);
	case KEY_LIST:
		return take_action(o, HYTEST_RIG_LIST);
	case KEY_RESET:
		return take_action(o, HYTEST_RIG_RESET);
	case KEY_FAULT:
		return take_action(o, HYTEST_RIG_FAULT);
	case KEY_ALL:
		o->all = true;
		break;
	case KEY_BLACK_BOX:
		if (!*optarg)
			return bad_value(o, "black-box", "a directory");
		o->black_box = optarg;
		break;
	case KEY_NO_BLACK_BOX:
		o->no_black_box = true;
		break;
	default:
		break;
	}
	return -1;
}

static void print_help(const struct hytest_usage *usage)
{
	printf("Usage: hytest %s%s%s\n\n%s\nOn each command:\n"
	       "  --json               one JSON object on stdout, text for people on stderr\n"
	       "  --help, --version\n\n"
	       "Exit status: 0 ok, 1 failed, 2 usage or bad input, 3 tripped\n",
	       usage->command, *usage->arguments ? " " : "", usage->arguments, usage->text);
}

static int wrong_option(const struct hytest_options *o, const char *dashes, const char *word,
			const char *wrong)
{
	return hytest_fail(o, HYTEST_EXIT_USAGE, "%s: option %s%s %s, see hytest %s --help",
			   o->command, dashes, word, wrong, o->command);
}

static int parse_options(struct hytest_options *o, const struct hytest_usage *usage, int argc,
			 char **argv)
{
	int key, status, index = 0;

	optind = 0;
	opterr = 0;
	while ((key = getopt_long(argc, argv, ":", long_options, &index)) != -1) {
		if (key == KEY_HELP) {
			print_help(usage);
			return HYTEST_EXIT_OK;
		}
		if (key == KEY_VERSION) {
			printf("hytest %s\n", HYTEST_VERSION);
			return HYTEST_EXIT_OK;
		}
		if (key == ':')
			return wrong_option(o, "", argv[optind - 1], "needs a value");
		if (key == '?')
			return wrong_option(o, "", argv[optind - 1], "is unknown");
		if (takes_for(key) & ~usage->takes)
			return wrong_option(o, "--", long_options[index].name, "is not for this");
		status = take_option(o, key);
		if (status >= 0)
			return status;
	}
	o->arguments = argv + optind;
	o->n_arguments = argc - optind;
	if (o->n_arguments < usage->min_arguments)
		return hytest_fail(o, HYTEST_EXIT_USAGE, "usage: hytest %s %s", usage->command,
				   usage->arguments);
	if (usage->max_arguments >= 0 && o->n_arguments > usage->max_arguments)
		return hytest_fail(o, HYTEST_EXIT_USAGE,
				   "%s is one argument too many, usage: hytest %s %s",
				   o->arguments[usage->max_arguments], usage->command,
				   usage->arguments);
	return -1;
}

int hytest_options_parse(struct hytest_options *o, const struct hytest_usage *usage, int argc,
			 char **argv)
{
	int i, status;

	*o = (struct hytest_options){ .command = usage->command, .seconds = -1 };
	/* First of all, so that even a complaint about the usage is JSON. */
	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--json"))
			o->json = true;
	o->set = calloc(argc + 1, sizeof(*o->set));
	if (!o->set)
		return hytest_fail(o, HYTEST_EXIT_FAILED, "no memory");
	status = parse_options(o, usage, argc, argv);
	if (status >= 0)
		hytest_options_free(o);
	return status;
}

void hytest_options_free(struct hytest_options *o)
{
	free(o->set);
	o->set = NULL;
}

FILE *hytest_out(const struct hytest_options *o)
{
	return o->json ? stderr : stdout;
}

int hytest_fail(const struct hytest_options *o, int status, const char *format, ...)
{
	struct json *json;
	char text[1024];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	fprintf(stderr, "hytest: %s\n", text);
	if (!o->json)
		return status;
	json = json_new(stdout);
	if (!json)
		return status;
	json_object_begin(json, NULL);
	json_bool(json, "ok", false);
	json_string(json, "command", o->command);
	json_string(json, "error", text);
	json_object_end(json);
	json_free(json);
	return status;
}
