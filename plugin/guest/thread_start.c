/* SPDX-License-Identifier: MIT */
#include "plugin/guest/thread_start.h"

#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	DEPTH = 64 * 1024, /* the libraries' static TLS lies between the block and the stack */
	WORDS = 256,       /* read at once */
};

struct code {
	uintptr_t within;
	uintptr_t begin, end;
};

static int match_code(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct code *code = argument;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		code->begin = info->dlpi_addr + part->p_vaddr;
		code->end = code->begin + part->p_memsz;
		if (part->p_type == PT_LOAD && part->p_flags & PF_X && code->within >= code->begin &&
		    code->within < code->end)
			return 1;
	}
	return 0;
}

/* The head of the thread's list of robust mutexes, which glibc keeps in the block and the kernel knows; 0: not known.
 * tid 0: the calling thread. */
static uintptr_t block_of(uint32_t tid)
{
	void *head = NULL;
	size_t size;

	return syscall(SYS_get_robust_list, (long)tid, &head, &size) ? 0 : (uintptr_t)head;
}

/* The uppermost word between the two that points into the code. */
static struct thread_start search(int memory, uintptr_t block, uintptr_t lowest, const struct code *code)
{
	uintptr_t words[WORDS];
	size_t size;

	for (uintptr_t end = block; end > lowest; end -= size) {
		size = end - lowest < sizeof(words) ? end - lowest : sizeof(words);
		if (pread(memory, words, size, (off_t)(end - size)) != (ssize_t)size)
			break;
		for (size_t i = size / sizeof(*words); i-- > 0;)
			if (words[i] >= code->begin && words[i] < code->end)
				return (struct thread_start){ words[i], block - (end - size + i * sizeof(*words)) };
	}
	return (struct thread_start){ 0 };
}

struct thread_start thread_start_own(const void *within)
{
	struct code code = { .within = (uintptr_t)within };
	uintptr_t block = block_of(0), here = (uintptr_t)__builtin_frame_address(0);
	struct thread_start start = { 0 };

	if (!dl_iterate_phdr(match_code, &code))
		return start;
	int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	if (memory < 0)
		return start;
	/* Of the first thread, whose block is not above its stack, nothing lies between the two. */
	start = search(memory, block, here > block - DEPTH ? here : block - DEPTH, &code);
	close(memory);
	return start;
}

bool thread_start_is(uint32_t tid, const struct thread_start *start)
{
	uintptr_t block = block_of(tid), address = 0;

	if (!start->address || block < start->distance)
		return false;
	int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	if (memory < 0)
		return false;
	ssize_t size = pread(memory, &address, sizeof(address), (off_t)(block - start->distance));
	close(memory);
	return size == (ssize_t)sizeof(address) && address == start->address;
}
