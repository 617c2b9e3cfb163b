/* SPDX-License-Identifier: MIT */
#include "plugin/patience.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum {
	STACK_SIZE = 256 * 1024, /* glibc takes the libraries' static TLS from it */
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

/* The job's signals are the job's; and what a write raises here (SIGPIPE, SIGXFSZ) ends with the thread. */
static bool start(void)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&thread, &attributes, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return err == 0;
}

bool patience_run(void (*work)(const void *argument), const void *argument, size_t size)
{
	if (size > PATIENCE_ARGUMENT || !claim())
		return false;
	the_work = work;
	memcpy(the_argument, argument, size);
	if (!start())
		run(NULL);
	return await();
}
