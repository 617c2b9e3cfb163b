/* SPDX-License-Identifier: MIT */
#include "plugin/preload/unborn.h"

#include <pthread.h>

#include "plugin/guest/memory.h"

enum { UNBORN = 64 };

static struct creation unborn[UNBORN]; /* without `comm`: none. Under the lock */
static unsigned int added;             /* so far; under the lock */
static _Atomic unsigned int count;     /* of those that are there */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

/* The last one that is to be written to the same place, or the oldest. Under the lock. */
static struct creation *place_for(const struct creation *creation)
{
	for (int i = 0; i < UNBORN; i++)
		if (unborn[i].comm == creation->comm)
			return &unborn[i];
	return &unborn[added++ % UNBORN];
}

void unborn_add(const struct creation *creation)
{
	pthread_mutex_lock(&changing);
	struct creation *place = place_for(creation);
	if (!place->comm)
		atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
	*place = *creation;
	pthread_mutex_unlock(&changing);
}

/* Where NCCL writes the handle belongs to the program, which may have unmapped it since NCCL did. */
static nccl_comm handle_of(const struct creation *creation)
{
	nccl_comm comm = NULL;

	return memory_read(creation->comm, &comm, sizeof(comm)) ? comm : NULL;
}

/* Is it the handle of a child that nobody knows? What stands there by now can be anything. */
static bool is_born(const struct creation *creation, nccl_comm asked, bool asked_is_known, nccl_comm *comm)
{
	if (!creation->comm || (creation->parent != asked && asked_is_known))
		return false;
	*comm = handle_of(creation);
	return *comm && (creation->parent == asked || *comm == asked) && !membership_find(*comm);
}

/* The next one whose handle is known now, no longer among the others. */
static bool take(nccl_comm asked, struct creation *creation, nccl_comm *comm)
{
	bool asked_is_known = membership_find(asked) != NULL;
	bool found = false;

	pthread_mutex_lock(&changing);
	for (int i = 0; i < UNBORN && !found; i++) {
		found = is_born(&unborn[i], asked, asked_is_known, comm);
		if (!found)
			continue;
		*creation = unborn[i];
		unborn[i].comm = NULL;
		atomic_fetch_sub_explicit(&count, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&changing);
	return found;
}

bool unborn_answered(nccl_comm asked)
{
	struct creation creation;
	bool any = false;
	nccl_comm comm;

	if (!asked || !atomic_load_explicit(&count, memory_order_relaxed))
		return false;
	for (; take(asked, &creation, &comm); any = true)
		membership_add(&creation, comm);
	return any;
}
