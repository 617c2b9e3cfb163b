/* SPDX-License-Identifier: MIT */
#include "plugin/preload/membership.h"

#include <pthread.h>
#include <time.h>

#include "plugin/gpu/device.h"
#include "plugin/init/init.h"
#include "plugin/recording/recording.h"

enum { MEMBERSHIPS = 2 * RW_BOX_COMMS, NOT_KNOWN = -1, SETTLING_POLL_NS = 100000 };

/* Open addressing: a removed entry keeps its place in the chain, and is used again, or the chain ends before it. */
static struct membership memberships[MEMBERSHIPS];
static char removed;                  /* its address stands where one was */
static uint32_t linked[RW_BOX_COMMS]; /* by index: mark of the communicator that has its membership; under `changing` */

/*
 * Guards the table, and is held for a few instructions only: neither NCCL nor the driver is called under it. While it
 * is found out which recorded communicator a membership is, both are, and may block: this holds up whoever uses the
 * same communicator (membership.settling) and nobody else.
 */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

static uint32_t first_place(nccl_comm comm)
{
	return (uint32_t)(((uintptr_t)comm >> 4) * 0x9e3779b97f4a7c15u >> 40) % MEMBERSHIPS;
}

struct membership *membership_find(nccl_comm comm)
{
	uint32_t place = first_place(comm);

	for (uint32_t i = 0; i < MEMBERSHIPS; i++) {
		struct membership *membership = &memberships[(place + i) % MEMBERSHIPS];
		/* Acquire: pairs with the release in membership_add(). */
		nccl_comm at = atomic_load_explicit(&membership->comm, memory_order_acquire);

		if (!at)
			return NULL;
		if (at == comm)
			return membership;
	}
	return NULL;
}

static int32_t ask(const struct caller *caller, enum nccl_function function, nccl_comm comm)
{
	int (*real)(nccl_comm, int *) = (int (*)(nccl_comm, int *))caller->functions[function];
	int value;

	return real && real(comm, &value) == NCCL_SUCCESS ? value : NOT_KNOWN;
}

static bool is_candidate(const struct recording *recording, const struct communicator *communicator,
			 const struct creation *creation, int32_t device)
{
	const struct rw_device *own = &recording->box.header->devices[communicator->entry->device];

	if (communicator->number <= creation->before ||
	    linked[communicator->index] == communicator_mark(communicator) || atomic_load(&communicator->ended))
		return false;
	if (communicator->abi == 0)
		return false; /* a wrapper has entered it for a membership of its own */
	if (own->used && device != NOT_KNOWN && own->ordinal != device)
		return false;
	/* ABI v1 to v3 report neither. */
	return communicator->nranks < 1 ||
	       (communicator->nranks == creation->nranks && communicator->rank == creation->rank);
}

/* How many of the communicators that the profiler interface has reported since could be this one; *found: the last of
 * them. Under `changing`. */
static unsigned int find_candidates(struct recording *recording, const struct creation *creation, int32_t device,
				    struct communicator **found)
{
	uint64_t used = atomic_load_explicit(&recording->box.header->comms_used, memory_order_acquire);
	unsigned int count = 0;

	for (uint64_t i = 0; i < used && i < RW_BOX_COMMS; i++) {
		struct communicator *communicator = &recording->communicators[i];

		if (!is_candidate(recording, communicator, creation, device))
			continue;
		*found = communicator;
		count++;
	}
	return count;
}

/* No profiler interface has reported it: the wrappers enter it into the box. */
static struct communicator *enter(const struct creation *creation, int32_t device)
{
	struct communicator_init from = {
		.id = creation->id,
		.name = creation->name[0] ? creation->name : NULL,
		.nranks = creation->nranks,
		.rank = creation->rank,
		.caller = (const void *)creation->caller->functions[NCCL_GroupEnd],
	};
	struct device_visit visit = device_enter(device);
	struct communicator *communicator = init_communicator(&from);

	device_leave(&visit);
	return communicator;
}

/* The same, and *found, if it is the only one, can be no other membership's from now on. */
static unsigned int link_candidate(struct recording *recording, const struct creation *creation, int32_t device,
				   struct communicator **found)
{
	unsigned int candidates = 1;

	pthread_mutex_lock(&changing);
	if (!*found)
		candidates = recording ? find_candidates(recording, creation, device, found) : 0;
	if (candidates == 1)
		linked[(*found)->index] = communicator_mark(*found);
	pthread_mutex_unlock(&changing);
	return candidates;
}

static void fill(struct communicator *found, const struct creation *creation)
{
	communicator_fill_place(found, creation->nranks, creation->rank);
	/* Before ABI v4 its id can be unknown on some ranks and known on others. */
	if (found->abi == 0 || found->abi >= 4)
		communicator_count_splits(found);
	atomic_store_explicit(&found->launches_elsewhere, !creation->blocking, memory_order_relaxed);
	atomic_store_explicit(&found->launches_here, creation->blocking, memory_order_relaxed);
	atomic_store_explicit(&found->blocks, creation->blocking, memory_order_relaxed);
}

/* *found NULL: it is not recorded. False: it is not known yet which one it is, and it may not be entered. */
static bool settle(struct creation *creation, nccl_comm comm, bool may_enter, struct communicator **found)
{
	struct recording *recording = recording_get();
	int32_t device = ask(creation->caller, NCCL_CommCuDevice, comm);

	if (creation->nranks == NOT_KNOWN) {
		creation->nranks = ask(creation->caller, NCCL_CommCount, comm);
		creation->rank = ask(creation->caller, NCCL_CommUserRank, comm);
	}
	if (creation->nranks < 2 || creation->rank < 0)
		return may_enter || creation->nranks != NOT_KNOWN;
	struct communicator *one = creation->communicator;
	unsigned int candidates = link_candidate(recording, creation, device, &one);
	if (candidates > 1)
		return true; /* not certain which of them it is */
	if (!candidates && !may_enter)
		return false;
	*found = candidates ? one : enter(creation, device);
	if (*found)
		fill(*found, creation);
	return true;
}

/* NULL if it was destroyed without our wrapper and its entry belongs to another communicator by now. */
static struct communicator *found_before(const struct membership *membership)
{
	struct communicator *found = atomic_load_explicit(&membership->communicator, memory_order_relaxed);

	return found && communicator_mark(found) == atomic_load_explicit(&membership->mark, memory_order_relaxed)
		   ? found
		   : NULL;
}

struct communicator *membership_known(const struct membership *membership)
{
	/* Acquire: pairs with the release in finish_settling(). */
	return atomic_load_explicit(&membership->settled, memory_order_acquire) ? found_before(membership) : NULL;
}

/* A copy of what is to be settled: the membership can be removed meanwhile, and its place used again. */
struct unsettled {
	struct creation creation;
	nccl_comm comm;
	uint32_t use;
};

/* False: it has been settled or removed. */
static bool begin_settling(struct membership *membership, struct unsettled *unsettled)
{
	pthread_mutex_lock(&changing);
	*unsettled = (struct unsettled){
		.creation = membership->creation,
		.comm = atomic_load_explicit(&membership->comm, memory_order_relaxed),
		.use = membership->use,
	};
	bool settled = atomic_load_explicit(&membership->settled, memory_order_relaxed);
	pthread_mutex_unlock(&changing);
	return !settled && unsettled->comm && unsettled->comm != (nccl_comm)&removed;
}

/* False: the membership is another one by now. */
static bool finish_settling(struct membership *membership, const struct unsettled *unsettled,
			    struct communicator *found)
{
	pthread_mutex_lock(&changing);
	bool same = membership->use == unsettled->use &&
		    atomic_load_explicit(&membership->comm, memory_order_relaxed) == unsettled->comm;
	if (same) {
		atomic_store_explicit(&membership->mark, found ? communicator_mark(found) : 0, memory_order_relaxed);
		atomic_store_explicit(&membership->communicator, found, memory_order_relaxed);
		/* Release: pairs with the acquire of who finds it settled. */
		atomic_store_explicit(&membership->settled, true, memory_order_release);
	}
	pthread_mutex_unlock(&changing);
	return same;
}

/* Under membership->settling. */
static void settle_membership(struct membership *membership, bool may_enter)
{
	struct unsettled unsettled;
	struct communicator *found = NULL;

	if (!begin_settling(membership, &unsettled) || !settle(&unsettled.creation, unsettled.comm, may_enter, &found))
		return;
	struct recording *recording = recording_get();
	/* Destroyed or aborted meanwhile, by somebody who did not know that it had been entered into the box. */
	if (!finish_settling(membership, &unsettled, found) && found && found->abi == 0 && recording)
		communicator_end(recording, found);
}

/* Two threads seldom use a communicator for the first time at once: it is enough that the second polls. */
static void await_settling(struct membership *membership)
{
	while (!try_lock_take(&membership->settling))
		nanosleep(&(struct timespec){ .tv_nsec = SETTLING_POLL_NS }, NULL);
}

struct communicator *membership_communicator(struct membership *membership)
{
	/* Acquire: pairs with the release in finish_settling(). */
	if (!atomic_load_explicit(&membership->settled, memory_order_acquire)) {
		await_settling(membership);
		settle_membership(membership, true);
		try_lock_leave(&membership->settling);
	}
	return found_before(membership);
}

void membership_is_made(struct membership *membership)
{
	if (atomic_load_explicit(&membership->settled, memory_order_relaxed) || !try_lock_take(&membership->settling))
		return;
	settle_membership(membership, false);
	try_lock_leave(&membership->settling);
}

/* One that has been removed while a thread was settling it is not free before that thread is done: whoever came next
 * would have to wait for it. */
static bool is_free(struct membership *membership, nccl_comm comm)
{
	nccl_comm at = atomic_load_explicit(&membership->comm, memory_order_relaxed);

	if (at == (nccl_comm)&removed)
		return !atomic_load_explicit(&membership->settling, memory_order_relaxed);
	return !at || at == comm; /* the last: destroyed past us, and its memory used again */
}

static struct membership *free_place(nccl_comm comm)
{
	uint32_t place = first_place(comm);

	for (uint32_t i = 0; i < MEMBERSHIPS; i++) {
		struct membership *membership = &memberships[(place + i) % MEMBERSHIPS];

		if (is_free(membership, comm))
			return membership;
	}
	return NULL;
}

void membership_add(const struct creation *creation, nccl_comm comm)
{
	pthread_mutex_lock(&changing);
	struct membership *membership = free_place(comm);
	if (membership) {
		atomic_store_explicit(&membership->comm, (nccl_comm)&removed, memory_order_relaxed);
		membership->creation = *creation;
		atomic_store_explicit(&membership->caller, creation->caller, memory_order_relaxed);
		membership->use++;
		atomic_store_explicit(&membership->communicator, NULL, memory_order_relaxed);
		atomic_store_explicit(&membership->settled, false, memory_order_relaxed);
		atomic_store_explicit(&membership->children, 0, memory_order_relaxed);
		/* Release: pairs with the acquire in membership_find(). */
		atomic_store_explicit(&membership->comm, comm, memory_order_release);
	}
	pthread_mutex_unlock(&changing);
	if (membership && creation->blocking)
		membership_communicator(membership);
}

/* Where a chain ends behind removed entries, no chain goes through them to another one: it ends before them from now
 * on. Else whoever asks for one that is not known would walk through all that ever were. Under `changing`. */
static void shorten_chains(const struct membership *last)
{
	uint32_t place = (uint32_t)(last - memberships);

	if (atomic_load_explicit(&memberships[(place + 1) % MEMBERSHIPS].comm, memory_order_relaxed))
		return;
	for (;; place = (place + MEMBERSHIPS - 1) % MEMBERSHIPS) {
		struct membership *membership = &memberships[place];

		if (atomic_load_explicit(&membership->comm, memory_order_relaxed) != (nccl_comm)&removed ||
		    !is_free(membership, NULL))
			return;
		atomic_store_explicit(&membership->comm, NULL, memory_order_relaxed);
	}
}

struct communicator *membership_remove(nccl_comm comm)
{
	struct communicator *communicator = NULL;

	pthread_mutex_lock(&changing);
	struct membership *membership = membership_find(comm);
	if (membership) {
		communicator = found_before(membership);
		atomic_store_explicit(&membership->comm, (nccl_comm)&removed, memory_order_relaxed);
		shorten_chains(membership);
	}
	pthread_mutex_unlock(&changing);
	return communicator && communicator->abi == 0 ? communicator : NULL;
}
