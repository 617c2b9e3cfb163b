/* SPDX-License-Identifier: MIT */
#include "sim/nccl/network/link.h"

#include <stdlib.h>
#include <string.h>

bool link_post(struct link *link)
{
	uint64_t posted = atomic_load_explicit(&link->posted, memory_order_relaxed);

	if (!link->buffer)
		link->buffer = malloc(LINK_STEPS * LINK_STEP_BYTES);
	if (!link->buffer)
		return false;
	/* Publishes the buffer; pairs with the acquires of link_fill() and of what fills a receiving link. */
	atomic_store_explicit(&link->posted, posted + 1, memory_order_release);
	return true;
}

void link_close(struct link *link)
{
	free(link->buffer);
	link->buffer = NULL;
}

size_t link_fill(struct link *link, const char *from, size_t size)
{
	uint64_t step = atomic_load_explicit(&link->filled, memory_order_relaxed);

	if (atomic_load_explicit(&link->posted, memory_order_acquire) == step)
		return 0;
	size_t bytes = size < LINK_STEP_BYTES ? size : LINK_STEP_BYTES;
	memcpy(link_buffer(link, step), from, bytes);
	link->bytes[step % LINK_STEPS] = (uint32_t)bytes;
	atomic_store_explicit(&link->filled, step + 1, memory_order_release);
	return bytes;
}

size_t link_empty(struct link *link, char *to, size_t room)
{
	uint64_t step = atomic_load_explicit(&link->emptied, memory_order_relaxed);

	if (atomic_load_explicit(&link->filled, memory_order_acquire) == step)
		return 0;
	size_t bytes = link->bytes[step % LINK_STEPS];
	if (bytes > room) /* sender and receiver disagree: never write behind the buffer */
		bytes = room;
	memcpy(to, link_buffer(link, step), bytes);
	/* The buffer may be posted again; pairs with the acquire of the progress thread. */
	atomic_store_explicit(&link->emptied, step + 1, memory_order_release);
	return bytes;
}
