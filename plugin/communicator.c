/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "plugin/recording.h"

static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

static size_t p2p_size(int32_t nranks)
{
	return 2 * (size_t)nranks * sizeof(uint32_t);
}

/* Populated now, so that no first send to a peer faults. */
static _Atomic uint32_t *p2p_new(int32_t nranks)
{
	void *map =
	    mmap(NULL, p2p_size(nranks), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

/* Index of the current device in the header's table; the last entry collects what does not fit. Under `adding`. */
static uint32_t device_index(struct recording *recording)
{
	struct rw_box_header *header = recording->box.header;
	struct rw_device device;
	uint32_t i;

	if (!progress_device(&recording->progress, &device))
		return 0;
	for (i = 0; i < RW_BOX_DEVICES - 1 && header->devices[i].used; i++)
		if (header->devices[i].ordinal == device.ordinal)
			return i;
	header->devices[i] = device;
	if (i > 0) { /* several devices: the launcher's rank is not this communicator's */
		header->world_rank = -1;
		memset(header->rank_from, 0, sizeof(header->rank_from));
	}
	return i;
}

static void fill_entry(struct rw_communicator *entry, const struct recorder_communicator *from, uint32_t device)
{
	entry->id = from->id;
	if (from->name)
		strncpy(entry->name, from->name, sizeof(entry->name) - 1);
	entry->device = device;
	entry->rank = from->rank;
	entry->nranks = from->nranks;
	entry->nnodes = from->nnodes;
	/* Release: pairs with the reader, who looks at born_ns first. */
	atomic_store_explicit(&entry->born_ns, recording_clock(), memory_order_release);
}

static struct communicator *add(struct recording *recording, const struct recorder_communicator *from)
{
	struct rw_box_header *header = recording->box.header;
	uint64_t index = atomic_load_explicit(&header->comms_used, memory_order_relaxed);

	if (index >= RW_BOX_COMMS) {
		atomic_fetch_add_explicit(&header->comms_refused, 1, memory_order_relaxed);
		return NULL;
	}
	struct communicator *communicator = &recording->communicators[index];
	communicator->index = (uint32_t)index;
	communicator->entry = &recording->box.communicators[index];
	communicator->abi = from->abi;
	communicator->rank = from->rank;
	communicator->nranks = from->nranks;
	communicator->p2p = p2p_new(from->nranks);
	progress_communicator(&recording->progress, (uint32_t)index, &communicator->words);
	fill_entry(communicator->entry, from, device_index(recording));
	/* Release: the drain looks at the first comms_used communicators. */
	atomic_store_explicit(&header->comms_used, index + 1, memory_order_release);
	atomic_fetch_add_explicit(&recording->living, 1, memory_order_relaxed);
	return communicator;
}

struct communicator *communicator_add(struct recording *recording, const struct recorder_communicator *from)
{
	pthread_mutex_lock(&adding);
	struct communicator *communicator = add(recording, from);
	pthread_mutex_unlock(&adding);
	return communicator;
}

void communicator_end(struct recording *recording, struct communicator *communicator)
{
	if (atomic_exchange_explicit(&communicator->ended, true, memory_order_acq_rel))
		return;
	atomic_store_explicit(&communicator->entry->ended_ns, recording_clock(), memory_order_release);
	if (communicator->p2p)
		munmap((void *)communicator->p2p, p2p_size(communicator->nranks));
	communicator->p2p = NULL;
	atomic_fetch_sub_explicit(&recording->living, 1, memory_order_relaxed);
}
