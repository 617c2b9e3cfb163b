/* SPDX-License-Identifier: MIT */
#include "console/doctor/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "console/doctor/child.h"
#include "console/doctor/libraries.h"

enum { SECONDS = 10 };

static void plugin_run(struct check_context *context, struct check_result *result)
{
	static struct library_answer answer;
	const char *path = context->install.plugin;

	if (access(path, R_OK) != 0) {
		check_say(result, VERDICT_NO, "%s: %s", path, strerror(errno));
		check_advise(result, "%s: without this file nothing records",
			     context->install.build_tree ? "run ninja in the build directory"
							 : "install rankwatch again");
		return;
	}
	int error = child_call(library_ask_profiler, path, &answer, sizeof(answer), SECONDS);

	if (error || *answer.error)
		check_say(result, VERDICT_NO, "%s does not load: %s", path, error ? "it crashed" : answer.error);
	else if (!answer.value)
		check_say(result, VERDICT_NO, "%s exports no ncclProfiler_vN: NCCL would not take it", path);
	else if (*answer.text)
		check_say(result, VERDICT_WARNING, "%s: %s, so LD_PRELOAD cannot stand in for LD_LIBRARY_PATH", path,
			  answer.text);
	else
		check_say(result, VERDICT_OK, "%s, up to profiler ABI v%d", path, answer.value);
}

const struct check plugin_check = { .name = "plugin", .run = plugin_run };

/* Value of NAME in a file of NAME=VALUE lines, as NCCL reads its configuration; false when it is not there. */
static bool conf_value(const char *path, char *value, size_t size)
{
	static const char name[] = "NCCL_PROFILER_PLUGIN";
	char line[512];
	FILE *file = fopen(path, "re");
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file)) {
		char *start = line + strspn(line, " \t");
		char *equals = strchr(start, '=');

		if (!equals || strncmp(start, name, strlen(name)))
			continue;
		equals[1 + strcspn(equals + 1, " \t\r\n#")] = '\0';
		snprintf(value, size, "%s", equals + 1);
		found = true;
	}
	fclose(file);
	return found;
}

/* The value that would count without rankwatch, and who set it. The environment wins over the files. */
static bool find_variable(const struct check_context *context, char *value, size_t size, char *from, size_t from_size)
{
	const char *in_environment = check_get(context, "NCCL_PROFILER_PLUGIN");
	const char *file = check_get(context, "NCCL_CONF_FILE"), *home = check_get(context, "HOME");

	if (in_environment) {
		snprintf(value, size, "%s", in_environment);
		snprintf(from, from_size, "environment");
		return true;
	}
	snprintf(from, from_size, "%s%s%s", context->root, file ? file : home ? home : "", file ? "" : "/.nccl.conf");
	if (conf_value(from, value, size))
		return true;
	snprintf(from, from_size, "%s/etc/nccl.conf", context->root);
	return conf_value(from, value, size);
}

static void variable_run(struct check_context *context, struct check_result *result)
{
	char value[512], from[INSTALL_PATH];

	if (!find_variable(context, value, sizeof(value), from, sizeof(from))) {
		check_say(result, VERDICT_OK, "nobody sets it; \"rankwatch run\" and \"rankwatch env\" do");
	} else if (!strcmp(value, INSTALL_PLUGIN_NAME)) {
		check_say(result, VERDICT_OK, "%s, set by %s", value, from);
	} else if (strstr(value, "rankwatch")) {
		check_say(result, VERDICT_WARNING, "%s, set by %s", value, from);
		check_advise(result, "not every NCCL loads this spelling: set it to " INSTALL_PLUGIN_NAME);
	} else {
		check_say(result, VERDICT_WARNING, "%s, set by %s", value, from);
		check_advise(result,
			     "NCCL takes one profiler plugin: \"rankwatch run\" puts itself in its place and names "
			     "this one in RANKWATCH_CHAIN");
	}
}

const struct check variable_check = { .name = "NCCL_PROFILER_PLUGIN", .run = variable_run };
