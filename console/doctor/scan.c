/* SPDX-License-Identifier: MIT */
#include "console/doctor/check.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <rankwatch/blackbox.h>

#include "console/doctor/child.h"
#include "console/doctor/libraries.h"

enum { FIRST_NCCL_WITH_STREAMS = 22803, SECONDS = 20 /* the first cuInit after boot is slow */ };
/* What the kernel is compiled for (plugin/scan/scan_image.h): its machine code, and its PTX. */
enum { FIRST_CUDA_OF_MACHINE_CODE = 13000, FIRST_GENERATION = 8 };
static const int generations[] = { 8, 9, 10, 12 };

static bool is(const struct check_context *context, const char *name, const char *value)
{
	const char *found = check_get(context, name);

	return found && strcasecmp(found, value) == 0;
}

/* As the plugin decides (plugin/scanning/scanning.c): nothing behind an operation. */
static bool only_before(const struct check_context *context)
{
	const char *scan = check_get(context, "RANKWATCH_SCAN");

	return !scan || !*scan || strcasecmp(scan, "auto") == 0;
}

/* What the plugin would say (plugin/scanning/scanning.c); NULL: it scans. */
static const char *no_scan_because(const struct check_context *context)
{
	const char *blocking = check_get(context, "CUDA_LAUNCH_BLOCKING");

	if (is(context, "RANKWATCH_SCAN", "off"))
		return "RANKWATCH_SCAN=off";
	if (is(context, "NCCL_LAUNCH_MODE", "GROUP"))
		return "NCCL_LAUNCH_MODE=GROUP: a launch of ours could wait for another rank's";
	if (blocking && strcmp(blocking, "0") != 0)
		return "CUDA_LAUNCH_BLOCKING: every scan would hold up the program";
	if (only_before(context) && is(context, "RANKWATCH_PRELOAD", "0"))
		return "RANKWATCH_PRELOAD=0: without the interposer scans are behind their operation, and that only "
		       "RANKWATCH_SCAN=all, input or output asks for";
	return NULL;
}

static void say_limit(const struct check_context *context, char *text, size_t size)
{
	const char *budget = check_get(context, "RANKWATCH_BUDGET");

	if (is(context, "RANKWATCH_SCAN", "all"))
		snprintf(text, size, "without a limit (RANKWATCH_SCAN=all)");
	else if (budget && *budget)
		snprintf(text, size, "for at most %s %% of the time", budget);
	else
		snprintf(text, size,
			 "for at most 0.25 %% of the time, and once %g s for the first %d operations of each function "
			 "of a communicator",
			 RW_SCAN_FIRST_MS / 1e3, RW_SCAN_FIRST);
}

static void say_what(const struct check_context *context, struct check_result *result)
{
	bool interposed = !is(context, "RANKWATCH_PRELOAD", "0");
	bool graphs = interposed && is(context, "RANKWATCH_GRAPHS", "1");
	char limit[160];

	say_limit(context, limit, sizeof(limit));
	check_say(result, VERDICT_OK, "%s, %s CUDA graphs, %s",
		  only_before(context) ? "inputs before their operation, with the interposer"
		  : interposed	       ? "inputs and outputs with the interposer, else what outlives its operation"
				       : "outputs, and inputs that outlive their operation",
		  graphs ? "also inside" : "not inside", limit);
}

enum image { IMAGE_NOT_KNOWN, IMAGE_NONE, IMAGE_PTX, IMAGE_MACHINE_CODE };

/* What the first GPU's driver takes. */
static enum image find_image(void)
{
	static struct library_answer answer;

	if (child_try(NULL, library_ask_generation, "libcuda.so.1", &answer, sizeof(answer), SECONDS) || !answer.value)
		return IMAGE_NOT_KNOWN;
	int generation = (int)strtol(answer.text, NULL, 10);
	if (generation < FIRST_GENERATION)
		return IMAGE_NONE;
	for (size_t i = 0; i < sizeof(generations) / sizeof(generations[0]); i++)
		if (answer.value >= FIRST_CUDA_OF_MACHINE_CODE && generation == generations[i])
			return IMAGE_MACHINE_CODE;
	return IMAGE_PTX;
}

static const char *no_image_because(const struct check_context *context, enum image image)
{
	if (image == IMAGE_NONE)
		return "the kernel needs a GPU of compute capability 8.0 or newer";
	if (image == IMAGE_PTX && is(context, "RANKWATCH_SCAN_PTX", "0"))
		return "RANKWATCH_SCAN_PTX=0, and this driver takes no machine code of rankwatch for this GPU";
	return NULL;
}

/* As the driver decides. */
static void say_compiling(const struct check_context *context, struct check_result *result)
{
	const char *path = check_get(context, "CUDA_CACHE_PATH"), *home = check_get(context, "HOME");
	size_t length = strlen(result->text), room = sizeof(result->text) - length;
	char *end = result->text + length;

	if (is(context, "CUDA_CACHE_DISABLE", "1")) {
		snprintf(end, room,
			 "; the driver compiles the kernel in each process, some 0.2 s, and keeps it nowhere: "
			 "CUDA_CACHE_DISABLE=1");
		return;
	}
	if (!home)
		home = "";
	snprintf(end, room, "; the driver compiles the kernel in each process, some 0.2 s, and keeps it in %s%s",
		 path ? path : home, path ? "" : "/.nv/ComputeCache");
	check_advise(result,
		     "a driver of CUDA 13 (580) takes machine code for most GPUs; else, where all ranks share that "
		     "directory, let CUDA_CACHE_PATH name one on each host's own disk");
}

static void scan_run(struct check_context *context, struct check_result *result)
{
	enum image image = find_image();
	const char *obstacle = no_scan_because(context);
	bool interposed = !is(context, "RANKWATCH_PRELOAD", "0");

	if (!obstacle)
		obstacle = no_image_because(context, image);
	if (obstacle) {
		check_say(result, VERDICT_WARNING, "no values are scanned: %s", obstacle);
	} else if (!interposed && context->nccl_version && context->nccl_version < FIRST_NCCL_WITH_STREAMS) {
		check_say(result, VERDICT_WARNING, "no values are scanned: this NCCL reports no streams to plugins");
		check_advise(result, "leave RANKWATCH_PRELOAD as it is, or use NCCL 2.28.3 or newer");
	} else {
		say_what(context, result);
		if (image == IMAGE_PTX)
			say_compiling(context, result);
	}
}

const struct check scan_check = { .name = "scan", .run = scan_run };
