/* SPDX-License-Identifier: MIT */
#include "console/doctor/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "console/doctor/child.h"
#include "console/doctor/libraries.h"
#include "console/install/library_fault.h"
#include "console/install/nccl_plugin.h"

enum { SECONDS = 10 };

static void plugin_run(struct check_context *context, struct check_result *result)
{
	static struct library_answer answer;
	const char *path = context->install.plugin;

	const char *fault = library_fault(path);

	if (fault) {
		check_say(result, VERDICT_NO, "%s: %s", path, fault);
		check_advise(result, "%s: without this file nothing records",
			     context->install.build_tree ? "run ninja in the build directory"
							 : "install rankwatch again");
		return;
	}
	int error = child_try(path, library_ask_profiler, path, &answer, sizeof(answer), SECONDS);

	if (error || *answer.error)
		check_say(result, VERDICT_NO, "%s does not load: %s", path,
			  error ? child_error_text(error) : answer.error);
	else if (!answer.value)
		check_say(result, VERDICT_NO, "%s exports no ncclProfiler_vN: NCCL would not take it", path);
	else if (*answer.text)
		check_say(result, VERDICT_WARNING, "%s: %s, so LD_PRELOAD cannot stand in for LD_LIBRARY_PATH", path,
			  answer.text);
	else
		check_say(result, VERDICT_OK, "%s, up to profiler ABI v%d", path, answer.value);
}

const struct check plugin_check = { .name = "plugin", .run = plugin_run };

static const char *get(const void *argument, const char *name)
{
	return check_get(argument, name);
}

static void variable_run(struct check_context *context, struct check_result *result)
{
	struct nccl_plugin plugin;
	const char *value = plugin.value, *from = plugin.from;

	if (!nccl_plugin_find(&plugin, get, context, context->root)) {
		check_say(result, VERDICT_OK, "nobody sets it; \"rankwatch run\" and \"rankwatch env\" do");
	} else if (!strcmp(value, INSTALL_PLUGIN_NAME)) {
		check_say(result, VERDICT_OK, "%s, set by %s", value, from);
	} else if (strstr(value, "rankwatch")) {
		check_say(result, VERDICT_WARNING, "%s, set by %s", value, from);
		check_advise(result, "not every NCCL loads this spelling: set it to " INSTALL_PLUGIN_NAME);
	} else {
		check_say(result, VERDICT_WARNING, "%s, set by %s", value, from);
		check_advise(result,
			     "NCCL takes one profiler plugin: \"rankwatch run\" puts itself in its place and runs "
			     "this one behind it (RANKWATCH_CHAIN)");
	}
}

const struct check variable_check = { .name = "NCCL_PROFILER_PLUGIN", .run = variable_run };
