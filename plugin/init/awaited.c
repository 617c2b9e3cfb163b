/* SPDX-License-Identifier: MIT */
#include "plugin/init/awaited.h"

#include <pthread.h>

#include "plugin/guest/clock.h"
#include "plugin/init/process.h"
#include "plugin/recording/recording.h"

static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER; /* guards all below, and the box's struct rw_init */
static struct rw_init *init;       /* in the box; NULL: nothing was shown yet */
static struct awaited shown;       /* all 0: none */
static bool met;                   /* NCCL has reported its communicator since */
/* its call has returned, and this communicator reports when NCCL is done; NULL: not so */
static _Atomic(const void *) asks;

/* Readers take a rank with a higher number for proof that all have come. Where that is not known it is counted, too:
 * then nobody is named. */
static void count_split(const struct awaited *awaited)
{
	if (awaited->parent && communicator_mark(awaited->parent) == awaited->mark)
		communicator_split(awaited->parent);
}

static void show(const struct awaited *awaited)
{
	bool ends = awaited->call == RW_INIT_CALL_DESTROY;

	/* A thread that waits for NCCL keeps its place. What only goes on gives way: nobody may ever ask for it. The
	 * end of a communicator, which mostly is short, takes nobody's place. */
	if (shown.id && (ends || !atomic_load_explicit(&asks, memory_order_relaxed)))
		return;
	atomic_store_explicit(&init->since_ns, 0, memory_order_release);
	count_split(&shown);
	shown = *awaited;
	met = false;
	atomic_store_explicit(&asks, NULL, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	init->id = awaited->id;
	init->nranks = awaited->nranks;
	init->rank = awaited->rank;
	init->call = awaited->call;
	init->parent = awaited->parent ? awaited->parent->entry->id : 0;
	atomic_store_explicit(&init->since_ns, clock_ns(), memory_order_release);
}

static void hide(void)
{
	shown = (struct awaited){ 0 };
	atomic_store_explicit(&asks, NULL, memory_order_relaxed);
	atomic_store_explicit(&init->since_ns, 0, memory_order_release);
}

void awaited_begin(const struct awaited *awaited)
{
	if (!awaited->id || awaited->nranks < 2 || awaited->rank < 0 || awaited->rank >= awaited->nranks)
		return;
	struct rw_box_header *header = process_box(awaited->nranks);
	if (!header)
		return;
	pthread_mutex_lock(&changing);
	init = &header->init;
	show(awaited);
	pthread_mutex_unlock(&changing);
}

void awaited_end(const struct awaited *awaited, bool success)
{
	if (!awaited->id || recording_is_foreign())
		return;
	pthread_mutex_lock(&changing);
	if (success)
		count_split(awaited);
	if (shown.id == awaited->id)
		hide();
	pthread_mutex_unlock(&changing);
}

void awaited_goes_on(const struct awaited *awaited, const void *asked)
{
	if (!awaited->id || recording_is_foreign())
		return;
	pthread_mutex_lock(&changing);
	if (shown.id == awaited->id && asked && !met) {
		atomic_store_explicit(&asks, asked, memory_order_relaxed);
	} else {
		count_split(awaited);
		if (shown.id == awaited->id)
			hide();
	}
	pthread_mutex_unlock(&changing);
}

/* Of a call that has returned. */
static void end_shown(void)
{
	count_split(&shown);
	hide();
}

void awaited_answered(const void *asked)
{
	if (!asked || atomic_load_explicit(&asks, memory_order_relaxed) != asked)
		return;
	pthread_mutex_lock(&changing);
	if (atomic_load_explicit(&asks, memory_order_relaxed) == asked)
		end_shown();
	pthread_mutex_unlock(&changing);
}

/* What NCCL reports of a child does not say whose it is, so any communicator counts. */
static bool is_shown(int32_t nranks, int32_t rank)
{
	return shown.id && (shown.parent || nranks < 1 || (nranks == shown.nranks && rank == shown.rank));
}

void awaited_met(int32_t nranks, int32_t rank)
{
	if (recording_is_foreign())
		return;
	pthread_mutex_lock(&changing);
	if (is_shown(nranks, rank)) {
		met = true;
		if (atomic_load_explicit(&asks, memory_order_relaxed))
			end_shown();
	}
	pthread_mutex_unlock(&changing);
}
