/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "console/cli/command.h"
#include "console/cli/privileges.h"

static int unknown_command(const char *name)
{
	const struct command *meant = command_nearest(name);

	fprintf(stderr, "rankwatch: there is no command \"%s\"", name);
	if (meant)
		fprintf(stderr, "; did you mean \"rankwatch %s\"?\n", meant->name);
	else
		fputs("; \"rankwatch --help\" lists them\n", stderr);
	return COMMAND_MISUSE;
}

/* Data that could not be written (a full disk) must not end as success. A reader that left early (`| head`) is its own
 * affair: no word about it, also where SIGPIPE is ignored. */
static int close_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		perror("rankwatch: writing to standard output");
	return status == COMMAND_DONE ? COMMAND_FAILED : status;
}

/* Capabilities on the program's file would be lent to each library and program that a user's environment names. They
 * are given up, and nothing of the user's is started: the loader has taken LD_LIBRARY_PATH from its environment
 * already. */
static bool refuses_rights_of_file(const struct command *command)
{
	int err;

	if (!privileges_of_file())
		return false;
	fputs("rankwatch: its file has capabilities or a set-user-id bit: they are not used, since whatever a user's "
	      "environment names would run with them. Remove them (setcap -r, chmod u-s); for eBPF run the collector "
	      "as root\n",
	      stderr);
	err = privileges_drop(NULL);
	if (err)
		fprintf(stderr, "rankwatch: they cannot be given up: %s\n", strerror(-err));
	else if (command->runs_foreign)
		fprintf(stderr, "rankwatch %s: not done: it loads and runs what the environment names\n",
			command->name);
	return err || command->runs_foreign;
}

static int run_command_named(const char *name, int argc, char **argv)
{
	static char full_name[64];
	const struct command *command = command_find(name);

	if (!command)
		return unknown_command(name);
	if (refuses_rights_of_file(command))
		return COMMAND_FAILED;
	snprintf(full_name, sizeof(full_name), "rankwatch %s", command->name);
	argv[0] = full_name;
	return command->run(command, argc, argv);
}

/* Where standard error was closed (2>&-) the next file opened would take its number, and our lines would go into it.
 * For reading only: what cannot be written is an error as before. The job of `run` finds closed what was closed. */
static void fill_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	fill_standard_files();
	argp_err_exit_status = COMMAND_MISUSE;
	if (argc < 2) {
		command_print_overview(stderr);
		return COMMAND_MISUSE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "-?"))
		return close_output(run_command_named("help", 1, argv));
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return close_output(run_command_named("version", 1, argv));
	return close_output(run_command_named(argv[1], argc - 1, argv + 1));
}
