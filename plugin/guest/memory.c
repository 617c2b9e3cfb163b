/* SPDX-License-Identifier: MIT */
#include "plugin/guest/memory.h"

#include <sys/mman.h>

static void *map(size_t size, int flags)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void *memory_populated(size_t size)
{
	return map(size, MAP_POPULATE);
}

void *memory_reserved(size_t size)
{
	return map(size, 0);
}
