/* SPDX-License-Identifier: MIT */
#include "console/run/other_hosts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/paragraph.h"
#include "console/run/start_line.h"

enum { NOT_SAID = -1 };

/* The least of "4" and "2:4". */
static int number(const char *text)
{
	char *end;
	long value = text ? strtol(text, &end, 10) : NOT_SAID;

	return text && end != text && (!*end || *end == ':') && value > 0 && value < INT_MAX ? (int)value : NOT_SAID;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The word behind torchrun, or behind what is the same; NULL: the command is another one. */
static char *const *options_of_torchrun(char *const *command)
{
	if (!*command)
		return NULL;
	if (!strcmp(base_of(*command), "torchrun"))
		return command + 1;
	if (strncmp(base_of(*command), "python", strlen("python")) != 0)
		return NULL;
	for (command++; *command && **command == '-'; command++)
		if (!strcmp(*command, "-m"))
			return command[1] && (!strcmp(command[1], "torch.distributed.run") ||
					      !strcmp(command[1], "torch.distributed.launch"))
				   ? command + 2
				   : NULL;
	return command[0] && !strcmp(base_of(command[0]), "torchrun") ? command + 1 : NULL;
}

/* Options of torchrun without a value, in either spelling. */
static bool is_flag(const char *option)
{
	static const char *const flags[] = { "-m",         "--module",   "--standalone", "--no-python", "--no_python",
					     "--run-path", "--run_path", "--use-env",    "--use_env" };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (!strcmp(option, flags[i]))
			return true;
	return strchr(option, '=') != NULL;
}

/* Behind its options comes the program, with options of its own. */
static int hosts_of_torchrun(char *const *options, const char **by, identity_get *get, void *argument)
{
	static const char option[] = "--nnodes";
	const size_t length = sizeof(option) - 1;

	*by = option;
	for (; *options && **options == '-'; options++) {
		if (!strcmp(*options, "--standalone"))
			return 1;
		if (!strncmp(*options, option, length) && (*options)[length] == '=')
			return number(*options + length + 1);
		if (!strcmp(*options, option))
			return number(options[1]);
		if (!is_flag(*options) && !*++options)
			break;
	}
	*by = "PET_NNODES";
	return number(get(argument, *by));
}

/* Within a step, and not where a batch script begins one: that runs on one node, whatever the job has. */
static int hosts_of_step(const char **by, identity_get *get, void *argument)
{
	static const char *const names[] = { "SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES" };

	if (!get(argument, "SLURM_STEP_ID") || !get(argument, "SLURM_PROCID"))
		return NOT_SAID;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		*by = names[i];
		int hosts = number(get(argument, names[i]));
		if (hosts != NOT_SAID)
			return hosts;
	}
	return NOT_SAID;
}

/* More ranks than this host has. */
static bool are_elsewhere(const char **by, identity_get *get, void *argument)
{
	static const struct {
		const char *world, *local;
	} sizes[] = { { "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE" }, { "WORLD_SIZE", "LOCAL_WORLD_SIZE" } };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int world = number(get(argument, sizes[i].world)), local = number(get(argument, sizes[i].local));
		*by = sizes[i].world;
		if (world != NOT_SAID && local != NOT_SAID)
			return world > local;
	}
	return false;
}

bool other_hosts_find(struct other_hosts *found, char *const *command, identity_get *get, void *argument)
{
	char *const *options = options_of_torchrun(command);
	int hosts = options ? hosts_of_torchrun(options, &found->by, get, argument) : NOT_SAID;

	/* Without a word torchrun starts ranks on one host; whether a step's tasks are one job, each of them does not
	 * know. */
	if (options && hosts == NOT_SAID)
		return false;
	if (!options)
		hosts = hosts_of_step(&found->by, get, argument);
	found->hosts = hosts == NOT_SAID ? 0 : hosts;
	return hosts == NOT_SAID ? are_elsewhere(&found->by, get, argument) : hosts > 1;
}

void other_hosts_print(FILE *out, const struct other_hosts *hosts, int width)
{
	static const char who[] = "rankwatch: ";
	char count[32] = "", *text = NULL;

	if (hosts->hosts)
		snprintf(count, sizeof(count), "%d ", hosts->hosts);
	if (asprintf(&text,
		     "the job has %shosts (%s), and each is watched by itself: whether ranks of another host are late "
		     "or missing is not seen here. "
		     "RANKWATCH_NATS shows it while the job runs; afterwards \"rankwatch report DIR\" does, with the "
		     "boxes of all hosts in DIR",
		     hosts->hosts ? count : "several ", hosts->by) < 0)
		return;
	fputs(who, out);
	paragraph_print(out, text, (int)strlen(who), (int)strlen(who),
			width && width < START_LINE_COLUMNS ? width : START_LINE_COLUMNS);
	free(text);
}
