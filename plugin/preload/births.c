/* SPDX-License-Identifier: MIT */
#include "plugin/preload/births.h"

#include <pthread.h>
#include <stdlib.h>

#include "plugin/call.h"
#include "plugin/recording.h"

struct waiting {
	struct waiting *next;
	pthread_t thread;
	struct birth birth;
};

/* Of all threads, oldest last: rare, and static TLS is scarce. */
static struct waiting *waiting;
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

void births_add(const struct birth *birth)
{
	struct waiting *entry;

	if (!call_in_group()) {
		membership_add(birth);
		return;
	}
	entry = malloc(sizeof(*entry));
	if (!entry) {
		recording_birth_end(birth->id);
		return;
	}
	entry->thread = pthread_self();
	entry->birth = *birth;
	pthread_mutex_lock(&changing);
	entry->next = waiting;
	waiting = entry;
	pthread_mutex_unlock(&changing);
}

/* This thread's own, out of the list; NULL when there is none. */
static struct waiting *take(void)
{
	struct waiting **at = &waiting, *entry;

	pthread_mutex_lock(&changing);
	while (*at && !pthread_equal((*at)->thread, pthread_self()))
		at = &(*at)->next;
	entry = *at;
	if (entry)
		*at = entry->next;
	pthread_mutex_unlock(&changing);
	return entry;
}

void births_end(int result)
{
	for (struct waiting *entry; (entry = take());) {
		recording_birth_end(entry->birth.id);
		entry->birth.blocking &= result != NCCL_IN_PROGRESS;
		if (result == NCCL_SUCCESS || result == NCCL_IN_PROGRESS)
			membership_add(&entry->birth);
		free(entry);
	}
}
