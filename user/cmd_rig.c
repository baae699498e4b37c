// SPDX-License-Identifier: GPL-2.0
/*
 * hytest rig: makes and removes simulated rigs, and lets them fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/hytest_rig.h>

#include "commands.h"
#include "experiment.h"
#include "json.h"
#include "libhytest.h"
#include "options.h"

#define RIG_DEVICE	"/dev/hytest_rig"
#define RIG_DEBUG	"/sys/kernel/debug/hytest_rig"
#define RIG_NAMES	"/sys/bus/platform/devices/hytest_rig.*/iio:device*/name"

static const struct hytest_usage usage = {
	.command = "rig",
	.arguments = "FILE | --remove ... | --list | --reset NAME | --fault NAME LINE",
	.text =
	"Make the simulated rigs of an experiment file: IIO devices, with the physics of\n"
	"the file behind their converters, that stay until they are removed. Either all\n"
	"rigs of the file are made or none. With --backend sim no rig needs to be made:\n"
	"hytest run uses those of the file.\n"
	"\n"
	"  --set PATH=VALUE     override a value of FILE, any number of times\n"
	"  --remove FILE|NAME...  remove the rigs of FILE, or those named; --all: every one\n"
	"  --list               names of the rigs that there are\n"
	"  --reset NAME...      as new: initial state, no faults\n"
	"  --fault NAME LINE    let something of the rig NAME fail from now on; LINE is\n"
	"       stuck CH | dropout CH | spike CH V | drift CH V/s | sign CH    sensor\n"
	"       saturation CH V | runaway CH V/s                               actuator\n"
	"       late US | lost N | read-error N | write-error N                converter\n"
	"       none [CH]                                                      it is over\n"
	"                       CH: channel; US: microseconds; N: how many, -1 for all\n"
	"\n"
	"Examples: hytest rig user/experiments/pendulum-coupled.cfg --set delay=0.005\n"
	"          hytest rig --fault table \"drift force 0.5\"\n"
	"          hytest rig --remove table\n",
	.takes = HYTEST_TAKES_SET | HYTEST_TAKES_RIG,
	.max_arguments = -1,
};

static int open_rigs(const struct hytest_options *o)
{
	int fd = open(RIG_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (errno == ENOENT)
		hytest_fail(o, HYTEST_EXIT_FAILED, RIG_DEVICE
			    " does not exist: is the module loaded (modprobe hytest_rig)?");
	else if (errno == EACCES || errno == EPERM)
		hytest_fail(o, HYTEST_EXIT_FAILED, RIG_DEVICE
			    ": %s: are you root, or in the group hytest?", strerror(errno));
	else
		hytest_fail(o, HYTEST_EXIT_FAILED, RIG_DEVICE ": %s", strerror(errno));
	return -1;
}

/* False if no rig can have such a name. */
static bool copy_name(char to[HYTEST_RIG_NAME_LEN], const char *name)
{
	memset(to, 0, HYTEST_RIG_NAME_LEN);
	if (!*name || strlen(name) >= HYTEST_RIG_NAME_LEN)
		return false;
	memcpy(to, name, strlen(name));
	return true;
}

static int report(const struct hytest_options *o, const char *verb, const char *const *names,
		  size_t n)
{
	struct json *json = o->json ? json_new(stdout) : NULL;
	size_t i;

	for (i = 0; i < n; i++)
		fprintf(hytest_out(o), "%s%s%s\n", verb, *verb ? " " : "", names[i]);
	if (!json)
		return HYTEST_EXIT_OK;
	json_object_begin(json, NULL);
	json_bool(json, "ok", true);
	json_string(json, "command", o->command);
	json_array_begin(json, "rigs");
	for (i = 0; i < n; i++)
		json_string(json, NULL, names[i]);
	json_array_end(json);
	json_object_end(json);
	json_free(json);
	return HYTEST_EXIT_OK;
}

/* Making */

static int create_rig(const struct hytest_options *o, int fd, const struct hytest_rig_program *rig)
{
	struct hytest_rig_create create = {
		.image = (uintptr_t)rig->image,
		.size = rig->size,
	};
	char text[384];

	if (!copy_name(create.name, rig->name))
		return hytest_fail(o, HYTEST_EXIT_USAGE,
				   "rig \"%s\": a name has 1 to %d letters, digits, - _ .",
				   rig->name, HYTEST_RIG_NAME_LEN - 1);
	if (!ioctl(fd, HYTEST_RIG_IOC_CREATE, &create))
		return -1;
	if (errno == EEXIST)
		return hytest_fail(o, HYTEST_EXIT_FAILED, "rig %s: there is one of this name: "
				   "remove it first (hytest rig --remove %s)", rig->name,
				   rig->name);
	if (errno == EINVAL && create.refusal.code) {
		hytest_refusal_text(rig->image, rig->size, &create.refusal, text, sizeof(text));
		return hytest_fail(o, HYTEST_EXIT_FAILED, "rig %s is refused: %s", rig->name,
				   text);
	}
	if (errno == EINVAL)
		return hytest_fail(o, HYTEST_EXIT_USAGE, "rig \"%s\": a name has 1 to %d letters, "
				   "digits, - _ .", rig->name, HYTEST_RIG_NAME_LEN - 1);
	return hytest_fail(o, HYTEST_EXIT_FAILED, "cannot make rig %s: %s", rig->name,
			   strerror(errno));
}

static void remove_quietly(int fd, const char *name)
{
	struct hytest_rig_name which;

	if (copy_name(which.name, name))
		ioctl(fd, HYTEST_RIG_IOC_REMOVE, &which);
}

static int create_rigs(const struct hytest_options *o, int fd,
		       const struct hytest_experiment *experiment)
{
	const struct hytest_rig_program *rigs;
	const char **names;
	size_t i, n = hytest_experiment_rigs(experiment, &rigs);
	int status = -1;

	if (!n)
		return hytest_fail(o, HYTEST_EXIT_USAGE, "%s has no rigs", o->arguments[0]);
	names = calloc(n, sizeof(*names));
	if (!names)
		return hytest_fail(o, HYTEST_EXIT_FAILED, "no memory");
	for (i = 0; status < 0 && i < n; i++) {
		names[i] = rigs[i].name;
		status = create_rig(o, fd, &rigs[i]);
	}
	if (status < 0)
		status = report(o, "made", names, n);
	else
		for (i--; i > 0; i--)
			remove_quietly(fd, names[i - 1]);
	free(names);
	return status;
}

static struct hytest_experiment *read_file(const struct hytest_options *o, const char *path)
{
	struct hytest_message message;
	struct hytest_experiment *experiment;

	experiment = hytest_experiment_read(path, o->set, o->n_set, &message);
	if (!experiment)
		hytest_fail(o, HYTEST_EXIT_USAGE, "%s", message.text);
	return experiment;
}

static int create(const struct hytest_options *o)
{
	struct hytest_experiment *experiment;
	int fd, status;

	if (o->n_arguments != 1)
		return hytest_fail(o, HYTEST_EXIT_USAGE, "usage: hytest rig %s", usage.arguments);
	experiment = read_file(o, o->arguments[0]);
	if (!experiment)
		return HYTEST_EXIT_USAGE;
	fd = open_rigs(o);
	status = fd < 0 ? HYTEST_EXIT_FAILED : create_rigs(o, fd, experiment);
	if (fd >= 0)
		close(fd);
	hytest_experiment_free(experiment);
	return status;
}

/* Names */

struct names {
	char **name;
	size_t n;
};

static int add_name(struct names *names, const char *name)
{
	char **more = realloc(names->name, (names->n + 1) * sizeof(*more));

	if (!more)
		return -1;
	names->name = more;
	more[names->n] = strdup(name);
	return more[names->n] ? (int)names->n++ : -1;
}

static void free_names(struct names *names)
{
	size_t i;

	for (i = 0; i < names->n; i++)
		free(names->name[i]);
	free(names->name);
}

static void add_from_file(struct names *names, const char *path)
{
	char text[HYTEST_RIG_NAME_LEN + 1] = "";
	FILE *file = fopen(path, "r");

	if (!file)
		return;
	if (fgets(text, sizeof(text), file)) {
		text[strcspn(text, "\n")] = '\0';
		add_name(names, text);
	}
	fclose(file);
}

/* In debugfs also rigs are seen that were unbound from their driver. */
static void find_rigs(struct names *names)
{
	glob_t found;
	size_t i;

	if (!glob(RIG_DEBUG "/*/", 0, NULL, &found)) {
		for (i = 0; i < found.gl_pathc; i++) {
			found.gl_pathv[i][strlen(found.gl_pathv[i]) - 1] = '\0';
			add_name(names, strrchr(found.gl_pathv[i], '/') + 1);
		}
		globfree(&found);
		return;
	}
	if (glob(RIG_NAMES, 0, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++)
		add_from_file(names, found.gl_pathv[i]);
	globfree(&found);
}

/* An argument is a file if there is one, else the name of a rig. */
static int add_argument(const struct hytest_options *o, struct names *names, const char *argument)
{
	const struct hytest_rig_program *rigs;
	struct hytest_experiment *experiment;
	size_t i, n;

	if (access(argument, F_OK) && !strchr(argument, '/'))
		return add_name(names, argument) < 0 ? HYTEST_EXIT_FAILED : -1;
	experiment = read_file(o, argument);
	if (!experiment)
		return HYTEST_EXIT_USAGE;
	n = hytest_experiment_rigs(experiment, &rigs);
	for (i = 0; i < n; i++)
		add_name(names, rigs[i].name);
	hytest_experiment_free(experiment);
	return n ? -1 : hytest_fail(o, HYTEST_EXIT_USAGE, "%s has no rigs", argument);
}

static int choose_names(const struct hytest_options *o, struct names *names)
{
	int i, status = -1;

	if (o->all && o->n_arguments)
		return hytest_fail(o, HYTEST_EXIT_USAGE, "--all, or names, but not both");
	if (!o->all && !o->n_arguments)
		return hytest_fail(o, HYTEST_EXIT_USAGE, "which rig? hytest rig --list shows them");
	if (o->all)
		find_rigs(names);
	for (i = 0; status < 0 && i < o->n_arguments; i++)
		status = add_argument(o, names, o->arguments[i]);
	return status;
}

/* Removing and resetting */

static int call_rig(const struct hytest_options *o, int fd, unsigned long request,
		    const char *verb, const char *name)
{
	struct hytest_rig_name which;

	if (copy_name(which.name, name) && !ioctl(fd, request, &which))
		return -1;
	if (errno == ENOENT || strlen(name) >= HYTEST_RIG_NAME_LEN)
		return hytest_fail(o, HYTEST_EXIT_FAILED,
				   "there is no rig %s, hytest rig --list shows those that are",
				   name);
	return hytest_fail(o, HYTEST_EXIT_FAILED, "cannot %s rig %s: %s", verb, name,
			   strerror(errno));
}

static int call_rigs(const struct hytest_options *o, unsigned long request, const char *verb,
		     const char *done)
{
	struct names names = { 0 };
	int status, fd = -1;
	size_t i;

	status = choose_names(o, &names);
	if (status < 0) {
		fd = open_rigs(o);
		status = fd < 0 ? HYTEST_EXIT_FAILED : -1;
	}
	for (i = 0; status < 0 && i < names.n; i++)
		status = call_rig(o, fd, request, verb, names.name[i]);
	if (status < 0)
		status = report(o, done, (const char *const *)names.name, names.n);
	if (fd >= 0)
		close(fd);
	free_names(&names);
	return status;
}

static int list(const struct hytest_options *o)
{
	struct names names = { 0 };
	int status;

	find_rigs(&names);
	if (!names.n)
		fprintf(hytest_out(o), "no rigs: hytest rig FILE makes them\n");
	status = report(o, "", (const char *const *)names.name, names.n);
	free_names(&names);
	return status;
}

/* Faults */

static int write_fault(const struct hytest_options *o, int fd, const char *name, const char *line)
{
	const ssize_t size = strlen(line);

	if (write(fd, line, size) == size)
		return report(o, "faults changed:", &name, 1);
	if (errno == EINVAL)
		return hytest_fail(o, HYTEST_EXIT_USAGE, "rig %s has no fault \"%s\": kind, channel "
				   "or value is wrong, see hytest rig --help", name, line);
	return hytest_fail(o, HYTEST_EXIT_FAILED, "rig %s: \"%s\": %s", name, line,
			   strerror(errno));
}

static int inject(const struct hytest_options *o)
{
	char path[sizeof(RIG_DEBUG) + HYTEST_RIG_NAME_LEN + 16];
	const char *name = o->n_arguments ? o->arguments[0] : "";
	int fd, status;

	if (o->n_arguments != 2)
		return hytest_fail(o, HYTEST_EXIT_USAGE, "usage: hytest rig --fault NAME \"LINE\", "
				   "such as hytest rig --fault table \"stuck force\"");
	if (snprintf(path, sizeof(path), RIG_DEBUG "/%s/fault", name) >= (int)sizeof(path) ||
	    strchr(name, '/'))
		return hytest_fail(o, HYTEST_EXIT_FAILED, "there is no rig %s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && !access(RIG_DEBUG, F_OK))
		return hytest_fail(o, HYTEST_EXIT_FAILED,
				   "there is no rig %s, hytest rig --list shows those that are",
				   name);
	if (fd < 0)
		return hytest_fail(o, HYTEST_EXIT_FAILED, "%s: %s%s", path, strerror(errno),
				   errno == ENOENT ? ": is debugfs mounted (mount -t debugfs "
				   "debugfs /sys/kernel/debug), the module loaded?" :
				   errno == EACCES ? ": debugfs is for root" : "");
	status = write_fault(o, fd, name, o->arguments[1]);
	close(fd);
	return status;
}

static int act(const struct hytest_options *o)
{
	if (o->all && o->rig != HYTEST_RIG_REMOVE && o->rig != HYTEST_RIG_RESET)
		return hytest_fail(o, HYTEST_EXIT_USAGE, "--all is for --remove and --reset");
	switch (o->rig) {
	case HYTEST_RIG_REMOVE:
		return call_rigs(o, HYTEST_RIG_IOC_REMOVE, "remove", "removed");
	case HYTEST_RIG_RESET:
		return call_rigs(o, HYTEST_RIG_IOC_RESET, "reset", "reset");
	case HYTEST_RIG_LIST:
		return list(o);
	case HYTEST_RIG_FAULT:
		return inject(o);
	default:
		return create(o);
	}
}

int hytest_cmd_rig(int argc, char **argv)
{
	struct hytest_options options;
	int status = hytest_options_parse(&options, &usage, argc, argv);

	if (status >= 0)
		return status;
	status = act(&options);
	hytest_options_free(&options);
	return status;
}
