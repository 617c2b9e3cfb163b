/* SPDX-License-Identifier: MIT */
#include "plugin/recording/communicator.h"

#include <pthread.h>
#include <string.h>

#include "plugin/guest/clock.h"
#include "plugin/nccl/function.h"
#include "plugin/recording/recording.h"

enum { PEERS_WHEN_UNKNOWN = 4096 /* of a communicator whose size NCCL does not report */ };

/* Guards the table. The end of a communicator takes it, so it is never held across a call of the driver. */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

/* Index of the device in the header's table; the last entry collects what does not fit. Under `changing`. */
static uint32_t device_index(struct recording *recording, const struct communicator_device *driver)
{
	struct rw_box_header *header = recording->box.header;
	uint32_t i;

	/* The last entry is that of no device as long as there are fewer. */
	if (!driver->has_device)
		return header->devices[0].used ? RW_BOX_DEVICES - 1 : 0;
	for (i = 0; i < RW_BOX_DEVICES - 1 && header->devices[i].used; i++)
		if (header->devices[i].ordinal == driver->device.ordinal)
			return i;
	header->devices[i] = driver->device;
	if (i > 0) { /* several devices: the launcher's rank is not this communicator's */
		header->world_rank = -1;
		memset(header->rank_from, 0, sizeof(header->rank_from));
	}
	return i;
}

/*
 * Whether nobody will write about this communicator any more: the drain has polled all its operations since it
 * ended (drain_ns is the time at which its last complete poll began), and the GPU has passed its last plan, so that no
 * write in a stream of a killed operation can hit the counters of the next owner.
 */
static bool is_over(const struct recording *recording, const struct communicator *communicator)
{
	const struct rw_box_header *header = recording->box.header;
	const struct rw_communicator *entry = communicator->entry;
	uint64_t ended_ns = atomic_load_explicit(&entry->ended_ns, memory_order_relaxed);
	uint64_t launched = atomic_load_explicit(&entry->launched, memory_order_relaxed);
	uint64_t done = atomic_load_explicit(&recording->box.gpu[communicator->index].gpu_done, memory_order_relaxed);

	if (!atomic_load_explicit(&communicator->ended, memory_order_acquire))
		return false;
	return atomic_load_explicit(&header->drain_ns, memory_order_acquire) > ended_ns &&
	       (!communicator->counters.write || done >= launched);
}

/* The one that ended first: readers have had the most time to see its end. Under `changing`. */
static struct communicator *oldest_over(struct recording *recording)
{
	struct communicator *oldest = NULL;

	for (uint32_t i = 0; i < RW_BOX_COMMS; i++) {
		struct communicator *communicator = &recording->communicators[i];

		if (is_over(recording, communicator) &&
		    (!oldest || communicator->entry->ended_ns < oldest->entry->ended_ns))
			oldest = communicator;
	}
	return oldest;
}

/* `used`: places of the table that were ever taken. Under `changing`. */
static struct communicator *find_place(struct recording *recording, uint64_t used)
{
	struct communicator *communicator;

	if (used >= RW_BOX_COMMS)
		return oldest_over(recording);
	communicator = &recording->communicators[used];
	communicator->index = (uint32_t)used;
	communicator->entry = &recording->box.communicators[used];
	return communicator;
}

/* Progress numbers go on from those of the last owner: the counters on the GPU page still hold them. */
static void clear_entry(struct rw_communicator *entry)
{
	atomic_store_explicit(&entry->created_ns, 0, memory_order_relaxed);
	/* Pairs with the acquire fences of box_reader_communicators(): who sees a byte of the new owner sees this 0. */
	atomic_thread_fence(memory_order_release);
	memset(entry->name, 0, sizeof(entry->name));
	atomic_store_explicit(&entry->ended_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->api_count, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->captured, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->splits, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->one_sided, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->replays_timed, 0, memory_order_relaxed);
}

static void show(struct communicator *communicator, const struct communicator_identity *identity)
{
	struct rw_communicator *entry = communicator->entry;

	entry->id = identity->id;
	if (identity->name)
		strncpy(entry->name, identity->name, sizeof(entry->name) - 1);
	entry->rank = identity->rank;
	/* Release: pairs with the reader, which reads created_ns first. */
	atomic_store_explicit(&entry->created_ns, communicator->created_ns, memory_order_release);
}

/* `polled_ns`: whatever had ended by then, the drain has polled for the last time. */
static void clear_counts(struct communicator *communicator, uint64_t polled_ns)
{
	int32_t peers = communicator->nranks > 0 ? communicator->nranks : PEERS_WHEN_UNKNOWN;

	atomic_store_explicit(&communicator->p2p, peer_counts_take(peers, polled_ns), memory_order_relaxed);
	for (int i = 0; i < RW_FUNCTION_COUNT; i++) {
		atomic_store_explicit(&communicator->sequence[i], 0, memory_order_relaxed);
		atomic_store_explicit(&communicator->unannounced[i], 0, memory_order_relaxed);
		atomic_store_explicit(&communicator->captured[i], 0, memory_order_relaxed);
	}
}

static void move_in(struct recording *recording, struct communicator *communicator,
		    const struct communicator_init *from, const struct communicator_device *driver)
{
	struct rw_communicator *entry = communicator->entry;
	bool known = from->nranks > 0;

	clear_entry(entry);
	communicator->number = atomic_fetch_add_explicit(&recording->created, 1, memory_order_relaxed) + 1;
	communicator->created_ns = clock_ns();
	communicator->abi = from->abi;
	atomic_store_explicit(&communicator->launches_elsewhere, false, memory_order_relaxed);
	atomic_store_explicit(&communicator->launches_here, false, memory_order_relaxed);
	atomic_store_explicit(&communicator->blocks, false, memory_order_relaxed);
	atomic_store_explicit(&communicator->called, false, memory_order_relaxed);
	atomic_store_explicit(&communicator->in_progress_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&communicator->settled_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&communicator->leased, false, memory_order_relaxed);
	atomic_store_explicit(&communicator->mask, NULL, memory_order_relaxed);
	communicator->rank = from->rank;
	communicator->nranks = from->nranks;
	clear_counts(communicator, atomic_load_explicit(&recording->box.header->drain_ns, memory_order_relaxed));
	communicator->counters = driver->counters;
	progress_take_place(&communicator->counters, communicator->index);
	communicator->scan = driver->scan;
	communicator->samples = communicator->counters.write || communicator->scan;
	memset(&communicator->row, 0, sizeof(communicator->row));
	atomic_store_explicit(&communicator->follow_group, 0, memory_order_relaxed);
	entry->device = device_index(recording, driver);
	entry->nranks = from->nranks;
	entry->nnodes = from->nnodes;
	atomic_store_explicit(&communicator->known, known, memory_order_relaxed);
	if (known)
		show(communicator, &(struct communicator_identity){ from->id, from->name, from->rank });
	/* Release: pairs with the acquire where leases are polled. */
	atomic_store_explicit(&communicator->ended, false, memory_order_release);
	communicator->generation++;
	atomic_store_explicit(&communicator->mark, communicator->generation << 16 | (communicator->index + 1),
			      memory_order_relaxed);
	uintptr_t context = (uintptr_t)handle_context(communicator->index, communicator->generation);
	/* Release: pairs with the acquire of who comes with it. */
	atomic_store_explicit(&communicator->context, context, memory_order_release);
}

static struct communicator *add(struct recording *recording, const struct communicator_init *from,
				const struct communicator_device *driver)
{
	struct rw_box_header *header = recording->box.header;
	uint64_t used = atomic_load_explicit(&header->comms_used, memory_order_relaxed);
	struct communicator *communicator = find_place(recording, used);

	if (!communicator) {
		atomic_fetch_add_explicit(&header->comms_refused, 1, memory_order_relaxed);
		return NULL;
	}
	move_in(recording, communicator, from, driver);
	/* Release: the drain polls the first comms_used communicators. */
	if (communicator->index == used)
		atomic_store_explicit(&header->comms_used, used + 1, memory_order_release);
	atomic_fetch_add_explicit(&recording->living, 1, memory_order_relaxed);
	return communicator;
}

struct communicator *communicator_add(struct recording *recording, const struct communicator_init *from,
				      const struct communicator_device *driver)
{
	pthread_mutex_lock(&changing);
	struct communicator *communicator = add(recording, from, driver);
	pthread_mutex_unlock(&changing);
	return communicator;
}

bool communicator_fill_identity(struct communicator *communicator, const struct communicator_identity *identity)
{
	/* A newer NCCL that calls us through its adapter for older plugins has no identity to give: 0. */
	if (!identity->id || identity->rank < 0)
		return false;
	/* One thread launches for a communicator at a time; should two do so, what the first one reports is kept. */
	if (atomic_exchange_explicit(&communicator->known, true, memory_order_acq_rel))
		return true;
	/* Where other threads read it by now, the interposer has filled it in already. */
	if (communicator->rank != identity->rank)
		communicator->rank = identity->rank;
	show(communicator, identity);
	return true;
}

void communicator_fill_place(struct communicator *communicator, int32_t nranks, int32_t rank)
{
	if (!atomic_load_explicit(&communicator->known, memory_order_relaxed))
		communicator->rank = rank;
	if (communicator->nranks)
		return;
	communicator->nranks = nranks;
	communicator->entry->nranks = nranks;
}

void communicator_count_splits(struct communicator *communicator)
{
	uint64_t not_counted = 0;

	atomic_compare_exchange_strong_explicit(&communicator->entry->splits, &not_counted, 1, memory_order_relaxed,
						memory_order_relaxed);
}

void communicator_split(struct communicator *communicator)
{
	if (communicator_splits(communicator))
		atomic_fetch_add_explicit(&communicator->entry->splits, 1, memory_order_relaxed);
}

void communicator_answered(struct communicator *communicator, bool in_progress, uint64_t asked_ns)
{
	/* Settled counts from the question, in progress from the answer: neither may speak of a call made in
	 * between. */
	if (in_progress)
		atomic_store_explicit(&communicator->in_progress_ns, clock_ns(), memory_order_relaxed);
	else
		atomic_store_explicit(&communicator->settled_ns, asked_ns, memory_order_relaxed);
}

void communicator_not_answered(struct communicator *communicator)
{
	atomic_store_explicit(&communicator->in_progress_ns, 0, memory_order_relaxed);
}

/* Under `changing`: whoever searches a free entry must not see one that has half ended. */
static void end(struct recording *recording, struct communicator *communicator)
{
	if (atomic_load_explicit(&communicator->ended, memory_order_relaxed))
		return;
	communicator_have_no_context(communicator);
	atomic_store_explicit(&communicator->ended, true, memory_order_release);
	/* A poll of the drain that begins later than ended_ns sees that it has ended: no store may wait in this
	 * processor's buffer while the clock is read. */
	atomic_thread_fence(memory_order_seq_cst);
	uint64_t now = clock_ns();
	atomic_store_explicit(&communicator->entry->ended_ns, now, memory_order_release);
	peer_counts_give(atomic_exchange_explicit(&communicator->p2p, NULL, memory_order_relaxed), now);
	atomic_fetch_sub_explicit(&recording->living, 1, memory_order_relaxed);
}

void communicator_end(struct recording *recording, struct communicator *communicator)
{
	pthread_mutex_lock(&changing);
	end(recording, communicator);
	pthread_mutex_unlock(&changing);
}

bool communicators_hold(void)
{
	return pthread_mutex_trylock(&changing) == 0;
}

void communicators_release(void)
{
	pthread_mutex_unlock(&changing);
}

uint64_t communicator_count_captured(struct communicator *communicator, uint8_t function, int32_t peer)
{
	if (!function_is_p2p(function))
		return atomic_fetch_add_explicit(&communicator->captured[function % RW_FUNCTION_COUNT], 1,
						 memory_order_relaxed);
	return peer_counts_next(atomic_load_explicit(&communicator->p2p, memory_order_relaxed),
				function == RW_FUNCTION_SEND ? PEER_CAPTURED_SENDS : PEER_CAPTURED_RECEIVES, peer);
}
