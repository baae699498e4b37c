/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sub-commands of the program hytest. Each gets its own arguments, with
 * its name as argv[0], and returns the exit status.
 */
#ifndef HYTEST_COMMANDS_H
#define HYTEST_COMMANDS_H

enum hytest_exit {
	HYTEST_EXIT_OK,
	HYTEST_EXIT_FAILED,
	HYTEST_EXIT_USAGE,	/* usage, or bad input */
	HYTEST_EXIT_TRIPPED
};

int hytest_cmd_ack(int argc, char **argv);
int hytest_cmd_black_box(int argc, char **argv);
int hytest_cmd_check(int argc, char **argv);
int hytest_cmd_devices(int argc, char **argv);
int hytest_cmd_params(int argc, char **argv);
int hytest_cmd_replay(int argc, char **argv);
int hytest_cmd_rig(int argc, char **argv);
int hytest_cmd_run(int argc, char **argv);
int hytest_cmd_status(int argc, char **argv);
int hytest_cmd_trip(int argc, char **argv);

#endif
