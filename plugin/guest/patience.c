/* SPDX-License-Identifier: MIT */
#include "plugin/guest/patience.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "plugin/guest/own_thread.h"

enum {
	TURN_NS = 100000,
	TURNS = PATIENCE_MS * (1000000 / TURN_NS),
};

/* No lock: a forked child could inherit it taken. */
enum state { IDLE, BUSY, HELD_UP /* busy for longer than anybody waits */ };

static _Atomic int state;
static void (*the_work)(const void *argument);
static _Alignas(max_align_t) unsigned char the_argument[PATIENCE_ARGUMENT];

static void rest(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = TURN_NS }, NULL);
}

static bool claim(void)
{
	for (int i = 0; i < TURNS; i++, rest()) {
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

	for (int i = 0; i < TURNS; i++, rest())
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
