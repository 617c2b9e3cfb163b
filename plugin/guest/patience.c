/* SPDX-License-Identifier: MIT */
#include "plugin/guest/patience.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "plugin/guest/clock.h"
#include "plugin/guest/own_thread.h"

static const uint64_t patience_ns = PATIENCE_MS * UINT64_C(1000000), turn_ns = 100000;

/* No lock: a forked child could inherit it taken. */
enum state { IDLE, BUSY, HELD_UP /* busy for longer than anybody waits */ };

static _Atomic int state;
static void (*the_work)(const void *argument);
static _Alignas(max_align_t) unsigned char the_argument[PATIENCE_ARGUMENT];

static bool claim(void)
{
	for (uint64_t waited = 0; waited < patience_ns; waited += clock_rest(turn_ns)) {
		int expected = IDLE;

		/* Acquire: pairs with the release of who had it before. */
		if (atomic_compare_exchange_strong_explicit(&state, &expected, BUSY, memory_order_acquire,
							    memory_order_relaxed))
			return true;
		if (expected == HELD_UP)
			return false;
	}
	return false;
}

static bool await(void)
{
	int expected = BUSY;

	for (uint64_t waited = 0; waited < patience_ns; waited += clock_rest(turn_ns))
		if (atomic_load_explicit(&state, memory_order_acquire) == IDLE)
			return true;
	return !atomic_compare_exchange_strong(&state, &expected, HELD_UP);
}

static void *run(void *unused)
{
	(void)unused;
	the_work(the_argument);
	atomic_store_explicit(&state, IDLE, memory_order_release);
	return NULL;
}

bool patience_run(void (*work)(const void *argument), const void *argument, size_t size)
{
	static const struct own_thread own = { run, NULL };

	if (size > PATIENCE_ARGUMENT || !claim())
		return false;
	the_work = work;
	memcpy(the_argument, argument, size);
	if (own_thread_start(&own) == 0)
		return await();
	atomic_store_explicit(&state, IDLE, memory_order_release);
	return false;
}
