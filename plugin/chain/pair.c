/* SPDX-License-Identifier: MIT */
#include "plugin/chain/pair.h"

#include <errno.h>
#include <stddef.h>

#include "plugin/guest/memory.h"

int pairs_make(struct pairs *pairs, uint64_t count)
{
	struct pair_cell *cells = memory_populated(count * sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	*pairs = (struct pairs){ .cells = cells, .mask = count - 1 };
	return 0;
}

void pairs_put(struct pairs *pairs, uint64_t number, const struct pair *pair)
{
	struct pair_cell *cell = &pairs->cells[number & pairs->mask];

	atomic_store_explicit(&cell->number, 0, memory_order_relaxed);
	/* Who reads a part of the new pair sees this 0, or the new number: pairs with the fence in pairs_get(). */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&cell->ours, pair->ours, memory_order_relaxed);
	atomic_store_explicit(&cell->theirs, pair->theirs, memory_order_relaxed);
	atomic_store_explicit(&cell->passed_on, pair->passed_on, memory_order_relaxed);
	atomic_store_explicit(&cell->number, number, memory_order_release);
}

bool pairs_get(const struct pairs *pairs, uint64_t number, struct pair *pair)
{
	const struct pair_cell *cell = &pairs->cells[number & pairs->mask];

	/* Acquire: pairs with the release at the end of pairs_put(). */
	if (!number || atomic_load_explicit(&cell->number, memory_order_acquire) != number)
		return false;
	*pair = (struct pair){
		.ours = atomic_load_explicit(&cell->ours, memory_order_relaxed),
		.theirs = atomic_load_explicit(&cell->theirs, memory_order_relaxed),
		.passed_on = atomic_load_explicit(&cell->passed_on, memory_order_relaxed),
	};
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&cell->number, memory_order_relaxed) == number;
}
