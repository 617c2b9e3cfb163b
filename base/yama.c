/* SPDX-License-Identifier: MIT */
#include "base/yama.h"

#include <stdio.h>

unsigned yama_scope(void)
{
	unsigned scope = 0;
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");

	if (file && fscanf(file, "%u", &scope) != 1)
		scope = 0;
	if (file)
		fclose(file);
	return scope;
}
