/* SPDX-License-Identifier: MIT */
#include "plugin/preload/pending.h"

#include <pthread.h>
#include <stdlib.h>

#include "plugin/operations/call.h"
#include "plugin/preload/unborn.h"

struct waiting {
	struct waiting *next;
	pthread_t thread;
	struct creation creation;
};

/* Of all threads, oldest last: rare, and static TLS is scarce. Under the lock. */
static struct waiting *waiting;
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

/* NCCL has made it, or goes on with it. The handle of a child can be NULL meanwhile: NCCL answers for the parent. */
static void made(const struct creation *creation, int result)
{
	nccl_comm comm = *creation->comm;

	if (result == NCCL_IN_PROGRESS)
		awaited_goes_on(&creation->awaited, creation->parent ? creation->parent : comm);
	else
		awaited_end(&creation->awaited, true);
	if (comm)
		membership_add(creation, comm);
	else if (result == NCCL_IN_PROGRESS)
		unborn_add(creation);
}

void pending_add(const struct creation *creation, int result)
{
	struct waiting *entry;

	if (!call_in_group()) {
		made(creation, result);
		return;
	}
	entry = malloc(sizeof(*entry));
	if (!entry) {
		awaited_end(&creation->awaited, true);
		return;
	}
	entry->thread = pthread_self();
	entry->creation = *creation;
	pthread_mutex_lock(&changing);
	entry->next = waiting;
	waiting = entry;
	pthread_mutex_unlock(&changing);
	call_group_creates();
}

/* The newest entry of this thread and the one before it in the list (NULL: it is the head); NULL: it has none. Under
 * the lock. */
static struct waiting *find_own(struct waiting **before)
{
	struct waiting *entry = waiting;

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
		waiting = entry->next;
	pthread_mutex_unlock(&changing);
	return entry;
}

void pending_end(int result)
{
	if (!call_group_created())
		return;
	for (struct waiting *entry; (entry = take());) {
		entry->creation.blocking &= result != NCCL_IN_PROGRESS;
		if (result == NCCL_SUCCESS || result == NCCL_IN_PROGRESS)
			made(&entry->creation, result);
		else
			awaited_end(&entry->creation.awaited, false);
		free(entry);
	}
}
