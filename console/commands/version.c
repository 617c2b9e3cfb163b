/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rankwatch/blackbox.h>
#include <rankwatch/finding.h>

#include "console/command.h"
#include "console/json_line.h"

static error_t parse(int key, char *argument, struct argp_state *state)
{
	(void)argument;
	if (key != 'J')
		return ARGP_ERR_UNKNOWN;
	*(bool *)state->input = true;
	return 0;
}

static bool is_built(const char *word)
{
	return strcmp(word, "yes") == 0;
}

static int run(const struct command *command, int argc, char **argv)
{
	bool json = false;

	command_parse(command, argc, argv, 0, &json);
	if (json) {
		json_line_print(json_pack("{s:s, s:i, s:i, s:b, s:b}", "version", RANKWATCH_VERSION, "box_layout", (int)RW_BOX_LAYOUT,
					  "finding_schema", RW_FINDING_SCHEMA, "bpf", is_built(RANKWATCH_BPF), "stand_in",
					  is_built(RANKWATCH_SIM)));
		return COMMAND_DONE;
	}
	printf("rankwatch %s\n", RANKWATCH_VERSION);
	printf("  black box layout  %u\n", RW_BOX_LAYOUT);
	printf("  finding schema    %d\n", RW_FINDING_SCHEMA);
	printf("  built with        BPF programs: %s, stand-in: %s\n", RANKWATCH_BPF, RANKWATCH_SIM);
	return COMMAND_DONE;
}

static const struct argp_option version_options[] = { { "json", 'J', NULL, 0, "One JSON object", 0 }, { 0 } };

static const struct argp version_argp = {
	.options = version_options,
	.parser = parse,
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
