// SPDX-License-Identifier: GPL-2.0
/*
 * hytest: real-time hybrid tests. One program, one sub-command for each task.
 */
#include <hdf5.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "libhytest.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

static const struct command commands[] = {
	{ "check", hytest_cmd_check, "compile an experiment file and show what came out" },
	{ "run", hytest_cmd_run, "run an experiment, in the kernel or simulated" },
	{ "status", hytest_cmd_status, "show what the loops of this machine do" },
	{ "params", hytest_cmd_params, "list parameters, or change some together" },
	{ "trip", hytest_cmd_trip, "take a running loop to its safe outputs" },
	{ "ack", hytest_cmd_ack, "acknowledge a trip" },
	{ "black-box", hytest_cmd_black_box, "save what is known of a trip" },
	{ "replay", hytest_cmd_replay, "repeat a logged run and compare it bit for bit" },
	{ "devices", hytest_cmd_devices, "show the IIO devices and channels that there are" },
	{ "rig", hytest_cmd_rig, "make and remove simulated rigs, inject faults" },
};

static void print_usage(FILE *out)
{
	size_t i;

	fprintf(out, "Usage: hytest COMMAND [OPTIONS]\n\n");
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fprintf(out, "\nhytest COMMAND --help tells more, hytest --version the version.\n"
		"Example: hytest run user/experiments/first-loop.cfg --backend sim --log run.h5\n");
}

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct command *command;

	/* HDF5 tidies up at exit and crashes over a file that the disk had no room for. */
	H5dont_atexit();
	if (argc < 2) {
		print_usage(stderr);
		return HYTEST_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help")) {
		print_usage(stdout);
		return HYTEST_EXIT_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("hytest %s\n", HYTEST_VERSION);
		return HYTEST_EXIT_OK;
	}
	command = find_command(argv[1]);
	if (!command) {
		fprintf(stderr, "hytest: there is no command %s, see hytest --help\n", argv[1]);
		return HYTEST_EXIT_USAGE;
	}
	return command->run(argc - 1, argv + 1);
}
