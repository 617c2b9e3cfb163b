/* SPDX-License-Identifier: MIT */
#include "collector/sources/python/remote_memory.h"

#include <string.h>
#include <unistd.h>

enum { TEXT = 32 };

bool remote_memory_read(struct remote_memory *memory, uint64_t address, void *to, size_t size)
{
	uint64_t end;
	bool can = memory->reads_left && address && !__builtin_add_overflow(address, size, &end) && end <= INT64_MAX;

	if (can) {
		memory->reads_left--;
		can = memory->read(memory->argument, address, to, size);
	}
	if (!can)
		memset(to, 0, size);
	return can;
}

uint64_t remote_memory_word(struct remote_memory *memory, uint64_t address)
{
	uint64_t word;

	remote_memory_read(memory, address, &word, sizeof(word));
	return word;
}

uint32_t remote_memory_half(struct remote_memory *memory, uint64_t address)
{
	uint32_t half;

	remote_memory_read(memory, address, &half, sizeof(half));
	return half;
}

bool remote_memory_is_text(struct remote_memory *memory, uint64_t address, const char *text)
{
	char found[TEXT];
	size_t size = strlen(text) + 1;

	return size <= sizeof(found) && remote_memory_read(memory, address, found, size) && !memcmp(found, text, size);
}

bool remote_memory_of_file(void *argument, uint64_t address, void *to, size_t size)
{
	const int *fd = argument;

	return pread(*fd, to, size, (off_t)address) == (ssize_t)size;
}
