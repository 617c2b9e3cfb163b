/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include <rankwatch/blackbox.h>
#include <rankwatch/finding.h>
#include <rankwatch/helper.h>
#include <rankwatch/message.h>

#include "console/cli/command.h"
#include "console/cli/json_line.h"

static error_t parse(int key, char *argument, struct argp_state *state)
{
	(void)argument;
	if (key != 'J')
		return ARGP_ERR_UNKNOWN;
	*(bool *)state->input = true;
	return 0;
}

/* Of the plugin of this release (plugin/exports.map, plugin/scan/scan_image.c). */
enum { FIRST_PROFILER_ABI = 1, LAST_PROFILER_ABI = 7 };
static const char *const scan_images[] = { "machine code", "PTX for sm_90", "PTX" };

/* What a build may lack. */
static const struct {
	const char *key, *name, *built;
} parts[] = {
	{ "bpf", "BPF programs", RANKWATCH_BPF },	    { "nats", "NATS", RANKWATCH_NATS },
	{ "metrics", "metrics for Prometheus", RANKWATCH_METRICS }, { "top", "top", RANKWATCH_TOP },
	{ "perfetto", "Perfetto's format", RANKWATCH_PERFETTO }, { "stand_in", "stand-in", RANKWATCH_SIM },
};
enum { PARTS = sizeof(parts) / sizeof(*parts), IMAGES = sizeof(scan_images) / sizeof(*scan_images) };

static void print_json(void)
{
	struct utsname machine;
	json_t *abis = json_array(), *images = json_array();

	for (int abi = FIRST_PROFILER_ABI; abi <= LAST_PROFILER_ABI; abi++)
		json_array_append_new(abis, json_integer(abi));
	for (int i = 0; i < IMAGES; i++)
		json_array_append_new(images, json_string(scan_images[i]));
	json_t *all = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:o, s:o}", "version", RANKWATCH_VERSION, "machine",
				uname(&machine) == 0 ? machine.machine : "", "box_layout", (int)RW_BOX_LAYOUT,
				"finding_schema", RW_FINDING_SCHEMA, "messages", RW_BATCH_VERSION, "helper",
				RW_HELPER_VERSION, "nccl_profiler_abis", abis, "scan_images", images);
	for (int i = 0; i < PARTS; i++)
		json_object_set_new(all, parts[i].key, json_boolean(strcmp(parts[i].built, "yes") == 0));
	json_line_print(all);
}

static void print(void)
{
	printf("rankwatch %s\n", RANKWATCH_VERSION);
	printf("  black box layout  %u\n", RW_BOX_LAYOUT);
	printf("  finding schema    %d\n", RW_FINDING_SCHEMA);
	printf("  messages          %d between hosts, %d with rankwatchd\n", RW_BATCH_VERSION, RW_HELPER_VERSION);
	printf("  NCCL's profiler   interfaces %d to %d\n", FIRST_PROFILER_ABI, LAST_PROFILER_ABI);
	printf("  scan kernel       %s", scan_images[0]);
	for (int i = 1; i < IMAGES; i++)
		printf(", %s", scan_images[i]);
	printf("\n  built with        ");
	for (int i = 0; i < PARTS; i++)
		printf("%s%s: %s", i ? ", " : "", parts[i].name, parts[i].built);
	putchar('\n');
}

static int run(const struct command *command, int argc, char **argv)
{
	bool json = false;

	command_parse(command, argc, argv, 0, &json);
	if (json)
		print_json();
	else
		print();
	return COMMAND_DONE;
}

static const struct argp_option version_options[] = { { "json", 'J', NULL, 0, "One JSON object", 0 }, { 0 } };

static const struct argp version_argp = {
	.options = version_options,
	.parser = parse,
	.doc = "Shows the version, the versions of the formats that other programs read (black boxes, findings, "
	       "messages), the "
	       "interfaces of NCCL and the scan kernel that the plugin of this release has, and which optional parts "
	       "are built in.\v"
	       "Example:\n"
	       "  rankwatch version\n",
};

const struct command version_command = {
	.name = "version",
	.summary = "show the version, the formats and what is built in",
	.argp = &version_argp,
	.run = run,
};
