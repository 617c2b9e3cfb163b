/* SPDX-License-Identifier: MIT */
/*
 * The memory of another process, read a bounded number of times. What comes from there is foreign and may change at any
 * moment: nothing of it is believed before it has been checked.
 */
#ifndef COLLECTOR_SOURCES_PYTHON_REMOTE_MEMORY_H
#define COLLECTOR_SOURCES_PYTHON_REMOTE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct remote_memory {
	bool (*read)(void *argument, uint64_t address, void *to, size_t size); /* all of it, or false */
	void *argument;
	uint32_t reads_left; /* each takes one; without any all fail */
};

/* All of it, or false and zeros. */
bool remote_memory_read(struct remote_memory *memory, uint64_t address, void *to, size_t size);
/* 8 bytes: a pointer or a number; 0 on failure. */
uint64_t remote_memory_word(struct remote_memory *memory, uint64_t address);
uint32_t remote_memory_half(struct remote_memory *memory, uint64_t address); /* 4 bytes; 0 on failure */
/* Is there this text, with its terminator? At most 31 characters. */
bool remote_memory_is_text(struct remote_memory *memory, uint64_t address, const char *text);

/* For `read`: argument points to the descriptor of a /proc/PID/mem. */
bool remote_memory_of_file(void *argument, uint64_t address, void *to, size_t size);

#endif
