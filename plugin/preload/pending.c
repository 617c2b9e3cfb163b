/* SPDX-License-Identifier: MIT */
#include "plugin/preload/pending.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "plugin/init/process.h"
#include "plugin/operations/call.h"

struct waiting {
	struct waiting *next;
	pthread_t thread;
	struct creation creation;
};

/* Of all threads, oldest last: rare, and static TLS is scarce. Changed under the lock; whether there is any is asked
 * without it, because the end of every group asks. */
static _Atomic(struct waiting *) waiting;
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

void pending_add(const struct creation *creation)
{
	struct waiting *entry;

	if (!call_in_group()) {
		membership_add(creation);
		return;
	}
	entry = malloc(sizeof(*entry));
	if (!entry) {
		process_init_returned(creation->id);
		return;
	}
	entry->thread = pthread_self();
	entry->creation = *creation;
	pthread_mutex_lock(&changing);
	entry->next = atomic_load_explicit(&waiting, memory_order_relaxed);
	atomic_store_explicit(&waiting, entry, memory_order_relaxed);
	pthread_mutex_unlock(&changing);
}

/* The newest entry of this thread and the one before it in the list (NULL: it is the head); NULL: it has none. Under
 * the lock. */
static struct waiting *find_own(struct waiting **before)
{
	struct waiting *entry = atomic_load_explicit(&waiting, memory_order_relaxed);

	for (*before = NULL; entry && !pthread_equal(entry->thread, pthread_self()); entry = entry->next)
		*before = entry;
	return entry;
}

/* This thread's own, out of the list; NULL when there is none. */
static struct waiting *take(void)
{
	struct waiting *before;

	pthread_mutex_lock(&changing);
	struct waiting *entry = find_own(&before);
	if (entry && before)
		before->next = entry->next;
	else if (entry)
		atomic_store_explicit(&waiting, entry->next, memory_order_relaxed);
	pthread_mutex_unlock(&changing);
	return entry;
}

void pending_end(int result)
{
	/* Relaxed: a thread sees its own entries, and those of others are not its to take. */
	if (!atomic_load_explicit(&waiting, memory_order_relaxed))
		return;
	for (struct waiting *entry; (entry = take());) {
		process_init_returned(entry->creation.id);
		entry->creation.blocking &= result != NCCL_IN_PROGRESS;
		if (result == NCCL_SUCCESS || result == NCCL_IN_PROGRESS)
			membership_add(&entry->creation);
		free(entry);
	}
}
