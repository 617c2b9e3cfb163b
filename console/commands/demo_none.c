/* SPDX-License-Identifier: MIT */
/* `rankwatch demo` of a build without the stand-in. */
#include <stdio.h>

#include "console/cli/command.h"

static int run(const struct command *command, int argc, char **argv)
{
	command_parse(command, argc, argv, 0, NULL);
	fputs("rankwatch demo: built without the stand-in for NCCL and the CUDA driver; configure with -Dsim=enabled\n",
	      stderr);
	return COMMAND_FAILED;
}

static const struct argp demo_argp = {
	.doc = "Runs a job with a fault in it on stand-in GPUs. This build has no stand-in (meson option sim).\v"
	       "Example:\n"
	       "  rankwatch demo\n",
};

const struct command demo_command = {
	.name = "demo",
	.summary = "run a job with a fault in it on stand-in GPUs (not in this build)",
	.argp = &demo_argp,
	.runs_foreign = true,
	.run = run,
};
