/* SPDX-License-Identifier: MIT */
#include "plugin/guest/memory.h"

#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

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

bool memory_read(const void *at, void *into, size_t size)
{
	const struct iovec to = { into, size }, from = { (void *)(uintptr_t)at, size };

	return syscall(SYS_process_vm_readv, getpid(), &to, 1, &from, 1, 0) == (long)size;
}
