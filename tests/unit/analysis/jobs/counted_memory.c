/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/counted_memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sanitized.h"

struct counted_memory counted_memory;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_reallocarray(void *block, size_t count, size_t size);
void __wrap_free(void *block);

/* In front of each block that is given here, and bytes of its own behind it. A sanitizer has its own ways. */
struct head {
	uint64_t mark;
	size_t size;
};

enum { BEHIND = 128, BEHIND_BYTE = 0xa5, FRESH_BYTE = 0x5a };
static const uint64_t mark = 0x6b636f6c6264656d; /* no library's block has this in front of it */

static bool is_refused(const void *site)
{
	return counted_memory.inside && counted_memory.refuses && counted_memory.refuses(site);
}

static struct head *head_of(void *block)
{
	struct head *head = block ? (struct head *)block - 1 : NULL;

	return head && !SANITIZED && head->mark == mark ? head : NULL;
}

/* Nobody writes behind the end of a block. */
static void look_behind(const struct head *head)
{
	const unsigned char *behind = (const unsigned char *)(head + 1) + head->size;

	for (int i = 0; i < BEHIND; i++)
		if (behind[i] != BEHIND_BYTE) {
			fprintf(stderr, "a block of %zu bytes was written, %d behind its end\n", head->size, i);
			abort();
		}
}

/* What is behind `kept` bytes was never written. */
static void *resized(struct head *head, size_t kept, size_t size, int fresh)
{
	if (SANITIZED)
		return fresh ? __real_malloc(size) : __real_calloc(1, size);
	head = __real_realloc(head, sizeof(*head) + size + BEHIND);
	if (!head)
		return NULL;
	unsigned char *block = (unsigned char *)(head + 1);
	*head = (struct head){ mark, size };
	if (size > kept)
		memset(block + kept, fresh, size - kept);
	memset(block + size, BEHIND_BYTE, BEHIND);
	return block;
}

static void *taken(size_t size, int fresh)
{
	void *block = resized(NULL, 0, size, fresh);

	counted_memory.blocks += block != NULL;
	return block;
}

void *__wrap_malloc(size_t size)
{
	return is_refused(__builtin_return_address(0)) ? NULL : taken(size, FRESH_BYTE);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return is_refused(__builtin_return_address(0)) || (size && count > SIZE_MAX / 2 / size)
		   ? NULL
		   : taken(count * size, 0);
}

static void *regiven(void *block, size_t size)
{
	struct head *head = head_of(block);

	if (!block)
		return taken(size, FRESH_BYTE);
	if (!head)
		return __real_realloc(block, size);
	look_behind(head);
	return resized(head, head->size, size, FRESH_BYTE);
}

void *__wrap_realloc(void *block, size_t size)
{
	return is_refused(__builtin_return_address(0)) ? NULL : regiven(block, size);
}

void *__wrap_reallocarray(void *block, size_t count, size_t size)
{
	return is_refused(__builtin_return_address(0)) || (size && count > SIZE_MAX / 2 / size)
		   ? NULL
		   : regiven(block, count * size);
}

void __wrap_free(void *block)
{
	struct head *head = head_of(block);

	counted_memory.blocks -= block != NULL;
	if (head) {
		look_behind(head);
		head->mark = 0;
	}
	__real_free(head ? (void *)head : block);
}
