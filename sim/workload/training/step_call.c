/* SPDX-License-Identifier: MIT */
#include "sim/workload/training/step_call.h"

#include <dlfcn.h>
#include <stdint.h>

typedef void number_function(uint64_t number);

/* In the global scope, or in a library that is loaded already: NCCL loads its plugin into no scope of others. NULL:
 * this process has no such function. */
static number_function *find(const char *name, const char *library)
{
	void *found = dlsym(RTLD_DEFAULT, name);
	void *handle = found ? NULL : dlopen(library, RTLD_LAZY | RTLD_NOLOAD);

	return (number_function *)(handle ? dlsym(handle, name) : found);
}

static void call(number_function *function, long number)
{
	if (function)
		function((uint64_t)number);
}

void step_call(const struct options *options, int rank, int step)
{
	if (options->step_rank >= 0 && options->step_rank != rank)
		return;
	if (options->first_call >= 0)
		call(find("rankwatch_step", "libnccl-profiler-rankwatch.so"), options->first_call + step - 1);
	if (options->first_tag >= 0)
		call(find("simNcclUserTag", "libnccl.so.2"), options->first_tag + step - 1);
}
