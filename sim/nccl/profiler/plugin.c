/* SPDX-License-Identifier: MIT */
#include "sim/nccl/profiler/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/nccl/log.h"
#include "sim/nccl/release.h"

#define STATIC_NAME "STATIC_PLUGIN"
#define NET_NEWEST  13
#define NET_OLDEST  6

enum name_kind { NAME_PLAIN, NAME_PATH, NAME_SONAME, NAME_KINDS };
enum attempts { AS_IS = 1, COMPLETED = 2 };

/* What is tried for a value of each kind, and how long a name may be: longer ones are cut. */
static const struct {
	int name_bytes;
	int attempts[NAME_KINDS];
} rules[] = {
	[LOADER_VERBATIM] = { PATH_MAX, { AS_IS, AS_IS, AS_IS } },
	[LOADER_BOTH] = { 255, { AS_IS | COMPLETED, AS_IS | COMPLETED, AS_IS | COMPLETED } },
	[LOADER_EITHER] = { 255, { COMPLETED, COMPLETED, AS_IS } },
	[LOADER_USUAL] = { 255, { AS_IS | COMPLETED, AS_IS, AS_IS } },
};

static enum name_kind kind_of(const char *name)
{
	size_t length = strlen(name);

	if (length >= 6 && strncmp(name, "lib", 3) == 0 && strcmp(name + length - 3, ".so") == 0)
		return NAME_SONAME;
	return strchr(name, '/') ? NAME_PATH : NAME_PLAIN;
}

/* Any prefix of STATIC_PLUGIN means the program itself: an oddity of NCCL's, kept. */
static void *open_library(const char *subsystem, const char *name)
{
	bool own = strncasecmp(STATIC_NAME, name, strlen(name)) == 0;
	void *library = dlopen(own ? NULL : name, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		log_info("%s/Plugin: Could not find: %s (%s)", subsystem, name, dlerror());
	return library;
}

/* prefix: libnccl-profiler or libnccl-net. */
static void *open_named(const char *subsystem, const char *prefix, const char *value)
{
	size_t name_bytes = (size_t)rules[release()->loader].name_bytes;
	int attempts = rules[release()->loader].attempts[kind_of(value)];
	char name[PATH_MAX];
	void *library = NULL;

	if (attempts & AS_IS) {
		snprintf(name, name_bytes, "%s", value);
		library = open_library(subsystem, name);
	}
	if (!library && attempts & COMPLETED) {
		snprintf(name, name_bytes, "%s-%s.so", prefix, value);
		library = open_library(subsystem, name);
	}
	return library;
}

static bool is_net_plugin(void *library)
{
	char symbol[16];

	for (int version = NET_NEWEST; version >= NET_OLDEST; version--) {
		snprintf(symbol, sizeof(symbol), "ncclNet_v%d", version);
		if (dlsym(library, symbol))
			return true;
	}
	return false;
}

static void *open_net_plugin(const char *name)
{
	void *library = open_named("NET", "libnccl-net", name);

	if (!library || is_net_plugin(library))
		return library;
	dlclose(library);
	return NULL;
}

/* The first library of NCCL_NET_PLUGIN that is one. The stand-in looks for a profiler in it and uses nothing else. */
static void *open_net(void)
{
	const char *variable = getenv("NCCL_NET_PLUGIN");
	char names[PATH_MAX], *rest = names;
	void *library = NULL;

	if (!variable || !*variable)
		return open_net_plugin("libnccl-net.so");
	if (strcasecmp(variable, "none") == 0)
		return NULL;
	snprintf(names, sizeof(names), "%s", variable);
	for (char *name = strtok_r(names, ",", &rest); name && !library; name = strtok_r(NULL, ",", &rest))
		library = open_net_plugin(name);
	return library;
}

static void *open_profiler(void)
{
	const char *variable = getenv("NCCL_PROFILER_PLUGIN");
	void *library;

	if (variable && *variable)
		log_info("NCCL_PROFILER_PLUGIN set by environment to %s", variable);
	if (release()->none_disables && variable && strcasecmp(variable, "none") == 0)
		return NULL;
	if (variable && *variable)
		library = open_named("PROFILER", "libnccl-profiler", variable);
	else
		library = open_library("PROFILER", "libnccl-profiler.so");
	return !library && release()->net_fallback ? open_net() : library;
}

static const struct adapter *find_table(struct plugin *plugin)
{
	const struct adapter *adapter = adapters;

	while (adapter->version > release()->profiler_abi)
		adapter++;
	for (; adapter->version; adapter++) {
		plugin->table = dlsym(plugin->library, adapter->symbol);
		if (plugin->table)
			return adapter;
	}
	log_info("PROFILER/Plugin: Failed to find ncclProfiler_v%d or an older one", release()->profiler_abi);
	return NULL;
}

bool plugin_open(struct plugin *plugin)
{
	if (!release()->profiler_abi)
		return false;
	plugin->library = open_profiler();
	if (!plugin->library)
		return false;
	plugin->adapter = find_table(plugin);
	if (!plugin->adapter) {
		plugin_close(plugin);
		return false;
	}
	log_info("PROFILER/Plugin: Loaded %s (v%d)", plugin->table->name, plugin->adapter->version);
	return true;
}

void plugin_close(struct plugin *plugin)
{
	dlclose(plugin->library);
	*plugin = (struct plugin){ 0 };
}
