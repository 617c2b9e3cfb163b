/* SPDX-License-Identifier: MIT */
#include "plugin/guest/memory.h"

#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

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

static bool lies_in(const struct dl_phdr_info *object, uintptr_t within)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];

		if (part->p_type == PT_LOAD && within - (object->dlpi_addr + part->p_vaddr) < part->p_memsz)
			return true;
	}
	return false;
}

static int populate_object(struct dl_phdr_info *object, size_t size, void *within)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)size;
	if (!lies_in(object, (uintptr_t)within))
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		uintptr_t begin = object->dlpi_addr + part->p_vaddr, end = begin + part->p_filesz;

		begin -= begin % page;
		if (part->p_type == PT_LOAD)
			madvise((void *)begin, end - begin, MADV_POPULATE_READ);
	}
	return 1;
}

void memory_populate_own_file(void)
{
	dl_iterate_phdr(populate_object, (void *)(uintptr_t)memory_populate_own_file);
}
