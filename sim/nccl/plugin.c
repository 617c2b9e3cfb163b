/* SPDX-License-Identifier: MIT */
#include "plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "log.h"

#define NAME_BYTES   256 /* NCCL cuts longer names, too */
#define DEFAULT_NAME "libnccl-profiler.so"
#define STATIC_NAME  "STATIC_PLUGIN"

static void *open_library(const char *name)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		log_info("PROFILER/Plugin: Could not find: %s (%s)", name, dlerror());
	return library;
}

static bool is_soname(const char *name)
{
	size_t length = strlen(name);

	return length >= 6 && strncmp(name, "lib", 3) == 0 && strcmp(name + length - 3, ".so") == 0;
}

static void *open_named(const char *name)
{
	char longer[NAME_BYTES];

	/* Any prefix of STATIC_PLUGIN means the program itself: an oddity of NCCL's, kept. */
	if (strncasecmp(STATIC_NAME, name, strlen(name)) == 0)
		return dlopen(NULL, RTLD_NOW | RTLD_LOCAL);
	void *library = open_library(name);
	if (library || strchr(name, '/') || is_soname(name))
		return library;
	snprintf(longer, sizeof(longer), "libnccl-profiler-%.*s.so", NAME_BYTES - 25, name);
	return open_library(longer);
}

static const struct profiler_v5 *find_table(void *library)
{
	const struct profiler_v5 *v5 = dlsym(library, "ncclProfiler_v5");
	const struct profiler_v4 *v4 = v5 ? NULL : dlsym(library, "ncclProfiler_v4");

	if (v5) {
		log_info("PROFILER/Plugin: Loaded %s (v5)", v5->name);
		return v5;
	}
	if (v4) {
		log_info("PROFILER/Plugin: Loaded %s (v4)", v4->name);
		return adapter_v4(v4);
	}
	log_info("PROFILER/Plugin: Failed to find ncclProfiler_v5 or v4: the stand-in knows no older one");
	return NULL;
}

const struct profiler_v5 *plugin_open(void **library)
{
	const char *variable = getenv("NCCL_PROFILER_PLUGIN");
	char name[NAME_BYTES];

	if (variable && strcasecmp(variable, "none") == 0)
		return NULL;
	if (variable && *variable)
		log_info("NCCL_PROFILER_PLUGIN set by environment to %s", variable);
	snprintf(name, sizeof(name), "%s", variable && *variable ? variable : DEFAULT_NAME);
	*library = open_named(name);
	if (!*library)
		return NULL;
	const struct profiler_v5 *table = find_table(*library);
	if (!table)
		dlclose(*library);
	return table;
}
