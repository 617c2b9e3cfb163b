/* SPDX-License-Identifier: MIT */
/* A lock that nobody waits for: whoever does not get it goes on without. Zeroed: free. Wait-free, no system call. */
#ifndef PLUGIN_GUEST_TRY_LOCK_H
#define PLUGIN_GUEST_TRY_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef _Atomic uint32_t try_lock;

/* False: another thread has it. */
static inline bool try_lock_take(try_lock *lock)
{
	/* Acquire: pairs with the release in try_lock_leave(). */
	return !atomic_exchange_explicit(lock, 1, memory_order_acquire);
}

static inline void try_lock_leave(try_lock *lock)
{
	atomic_store_explicit(lock, 0, memory_order_release);
}

#endif
