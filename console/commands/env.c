/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "console/cli/command.h"
#include "console/cli/option.h"
#include "console/install/install.h"
#include "console/install/library_fault.h"
#include "console/install/nccl_plugin.h"

struct options {
	const char *job;
	bool no_preload;
};

enum { KEY_NO_PRELOAD = 0x100 };

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = {
		{ 'j', .text = &options->job }, { KEY_NO_PRELOAD, .flag = &options->no_preload }, { 0 },
	};

	return option_take(fields, key, argument, state);
}

/* A word for sh: single quotes protect everything but themselves. */
static void print_quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
	}
	putchar('\'');
}

static void print_export(const char *name, const char *value)
{
	printf("export %s=", name);
	print_quoted(value);
	putchar('\n');
}

/* Puts `value` in front of what the variable holds where the line is evaluated, which need not be here. */
static void print_prepend(const char *name, const char *value, char separator)
{
	printf("export %s=", name);
	print_quoted(value);
	printf("${%s:+%c$%s}\n", name, separator, name);
}

/* A plugin that the cluster has named already is kept, behind ours, and said aloud. */
static void print_chain(void)
{
	struct nccl_plugin other;

	if (!nccl_plugin_find_other(&other))
		return;
	print_export("RANKWATCH_CHAIN", other.value);
	foreign_line(
	    stderr,
	    "rankwatch env: NCCL_PROFILER_PLUGIN is %s already (%s): it runs behind rankwatch (RANKWATCH_CHAIN)",
	    other.value, other.from);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { 0 };
	struct install install;

	command_parse(command, argc, argv, 0, &options);
	int err = install_find(&install);
	const char *fault = err ? strerror(-err) : library_fault(install.plugin);

	if (fault) {
		foreign_line(stderr, "rankwatch env: %s: %s; \"rankwatch doctor\" says more", install.plugin, fault);
		return COMMAND_FAILED;
	}
	print_chain();
	print_export("NCCL_PROFILER_PLUGIN", INSTALL_PLUGIN_NAME);
	print_prepend("LD_LIBRARY_PATH", install.plugin_directory, ':');
	const char *obstacle = install_no_preload_because(&install);
	if (!options.no_preload && obstacle)
		foreign_line(stderr, "rankwatch env: %s is not preloaded: %s", install.plugin, obstacle);
	else if (!options.no_preload)
		print_prepend("LD_PRELOAD", install.plugin, ' ');
	if (options.job)
		print_export("RANKWATCH_JOB", options.job);
	if (isatty(STDOUT_FILENO))
		fputs("\nThis only prints. To set it in this shell:  eval \"$(rankwatch env)\"\n", stderr);
	return COMMAND_DONE;
}

static const struct argp_option env_options[] = {
	{ "job", 'j', "NAME", 0, "Name the job: its black boxes lie under this name, and findings carry it", 0 },
	{ "no-preload", KEY_NO_PRELOAD, NULL, 0,
	  "Do not preload the library. The profiler interface alone then finds it through LD_LIBRARY_PATH, and what "
	  "NCCL "
	  "does not show to plugins stays unseen",
	  0 },
	{ 0 },
};

static const struct argp env_argp = {
	.options = env_options,
	.parser = parse,
	.doc = "Prints the lines that make NCCL load rankwatch's plugin, for a shell, a job script or a container's "
	       "start. "
	       "Programs started from there record black boxes; nothing else about them changes.\v"
	       "A profiler plugin that NCCL_PROFILER_PLUGIN names already, or a file of NCCL's configuration, moves to "
	       "RANKWATCH_CHAIN.\n\n"
	       "Examples:\n"
	       "  eval \"$(rankwatch env)\"\n"
	       "  rankwatch env --job pretrain-7b > ~/rankwatch.sh\n",
};

const struct command env_command = {
	.name = "env",
	.summary = "print the variables that make a job record itself",
	.argp = &env_argp,
	.run = run,
};
