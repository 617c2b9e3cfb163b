/* SPDX-License-Identifier: MIT */
#include "console/install/nccl_plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char variable[] = "NCCL_PROFILER_PLUGIN";

/* From a file of NAME=VALUE lines, as NCCL reads its configuration. */
static bool read_file(const char *path, char *value, size_t size)
{
	char line[512];
	FILE *file = fopen(path, "re");
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file)) {
		char *start = line + strspn(line, " \t");
		char *equals = strchr(start, '=');

		if (!equals || strncmp(start, variable, sizeof(variable) - 1))
			continue;
		equals[1 + strcspn(equals + 1, " \t\r\n#")] = '\0';
		snprintf(value, size, "%s", equals + 1);
		found = true;
	}
	fclose(file);
	return found;
}

static bool look_in(struct nccl_plugin *plugin, const char *root, const char *folder, const char *file)
{
	snprintf(plugin->from, sizeof(plugin->from), "%s%s%s", root, folder, file);
	return read_file(plugin->from, plugin->value, sizeof(plugin->value));
}

bool nccl_plugin_find(struct nccl_plugin *plugin, nccl_plugin_get *get, const void *argument, const char *root)
{
	const char *value = get(argument, variable), *file = get(argument, "NCCL_CONF_FILE");
	const char *home = get(argument, "HOME");

	if (value) {
		snprintf(plugin->value, sizeof(plugin->value), "%s", value);
		snprintf(plugin->from, sizeof(plugin->from), "environment");
		return true;
	}
	if (file && look_in(plugin, root, file, ""))
		return true;
	if (!file && home && look_in(plugin, root, home, "/.nccl.conf"))
		return true;
	return look_in(plugin, root, "/etc/nccl.conf", "");
}

static const char *get_own(const void *argument, const char *name)
{
	(void)argument;
	return getenv(name);
}

bool nccl_plugin_find_other(struct nccl_plugin *plugin)
{
	return nccl_plugin_find(plugin, get_own, NULL, "") && *plugin->value &&
	       strcasecmp(plugin->value, "none") != 0 && !strstr(plugin->value, "rankwatch");
}
