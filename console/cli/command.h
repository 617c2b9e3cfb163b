/* SPDX-License-Identifier: MIT */
/*
 * One subcommand of `rankwatch`: a file in console/commands/ that ends in one `const struct command`, and a line in the
 * table of console/cli/command.c. Overview and help are printed from that table.
 */
#ifndef CONSOLE_CLI_COMMAND_H
#define CONSOLE_CLI_COMMAND_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Exit statuses that every command shares. */
enum {
	COMMAND_DONE = 0,
	COMMAND_FAILED = 1,
	COMMAND_MISUSE = 2,
	COMMAND_INCOMPLETE =
	    3, /* done, but not all that was named, or found, could be read: what was not has been said */
};

struct command {
	const char *name;
	const char *summary; /* one line for the overview: starts with a verb, no full stop */
	/* Options and arguments. `doc` holds one paragraph a line; what follows its \v is printed after the options and
	 * holds at least one example, a line that starts with two spaces and "rankwatch". */
	const struct argp *argp;
	/* It loads or runs what is not rankwatch's, in the caller's environment: never with rights that the caller
	 * lacks. */
	bool runs_foreign;
	/* Returns the exit status. argv[0] is "rankwatch NAME". */
	int (*run)(const struct command *command, int argc, char **argv);
};

extern const struct command clean_command, collect_command, copy_to_command, demo_command, diff_command, doctor_command,
    drill_command, dump_command, env_command, explain_command, findings_command, help_command, hosts_command,
    ls_command, metrics_command, report_command, run_command, save_command, suite_command, top_command, trace_command,
    version_command;

/* Parses with the command's argp; messages and --help are the same for all commands and as wide as the terminal.
 * flags: as argp_parse (ARGP_IN_ORDER where the arguments are a command line). Returns only if the arguments are good:
 * misuse exits with COMMAND_MISUSE, --help with COMMAND_DONE. Not thread safe: it sets ARGP_HELP_FMT meanwhile. */
void command_parse(const struct command *command, int argc, char **argv, unsigned flags, void *input);

/* The alphabetical table, ended by NULL. */
extern const struct command *const command_table[];

const struct command *command_find(const char *name);
/* The command that was probably meant, NULL when none is near. */
const struct command *command_nearest(const char *name);

void command_print_overview(FILE *out);

#endif
