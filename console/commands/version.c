/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <rankwatch/blackbox.h>
#include <rankwatch/finding.h>

#include "console/command.h"

static int run(const struct command *command, int argc, char **argv)
{
	command_parse(command, argc, argv, 0, NULL);
	printf("rankwatch %s\n", RANKWATCH_VERSION);
	printf("  black box layout  %u\n", RW_BOX_LAYOUT);
	printf("  finding schema    %d\n", RW_FINDING_SCHEMA);
	printf("  built with        BPF programs: %s, stand-in: %s\n", RANKWATCH_BPF, RANKWATCH_SIM);
	return COMMAND_DONE;
}

static const struct argp version_argp = {
	.doc =
	    "Shows the version, the versions of the two formats that other programs read (black boxes and findings), "
	    "and which optional parts are built in.\v"
	    "Example:\n"
	    "  rankwatch version\n",
};

const struct command version_command = {
	.name = "version",
	.summary = "show the version, the formats and what is built in",
	.argp = &version_argp,
	.run = run,
};
