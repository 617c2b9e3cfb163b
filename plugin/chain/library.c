/* SPDX-License-Identifier: MIT */
#include "plugin/chain/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_MAX_BYTES = 256 /* NCCL cuts longer ones, too */ };

bool chain_library_is_named(const char *name)
{
	return name && *name && strcasecmp(name, "none") != 0;
}

static bool is_soname(const char *name)
{
	size_t length = strlen(name);

	return length >= 6 && strncmp(name, "lib", 3) == 0 && strcmp(name + length - 3, ".so") == 0;
}

void *chain_library_open(const char *name, char *why, size_t room)
{
	static const char program[] = "STATIC_PLUGIN";
	char longer[NAME_MAX_BYTES];

	/* Any prefix of it means the program itself: NCCL's rule. */
	if (strncasecmp(program, name, strlen(name)) == 0)
		return dlopen(NULL, RTLD_NOW | RTLD_LOCAL);
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		snprintf(why, room, "%s", dlerror());
	if (library || strchr(name, '/') || is_soname(name))
		return library;
	snprintf(longer, sizeof(longer), "libnccl-profiler-%s.so", name);
	library = dlopen(longer, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		snprintf(why, room, "%s", dlerror());
	return library;
}
