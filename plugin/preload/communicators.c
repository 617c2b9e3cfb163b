/* SPDX-License-Identifier: MIT */
/* NCCL's calls that make and end communicators. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/guest/clock.h"
#include "plugin/init/awaited.h"
#include "plugin/operations/call.h"
#include "plugin/preload/pending.h"
#include "plugin/preload/preload.h"
#include "plugin/preload/unborn.h"

/* clang-format off */
PRELOAD_EXPORT int ncclCommInitRank(nccl_comm *comm, int nranks, struct nccl_unique_id id, int rank);
PRELOAD_EXPORT int ncclCommInitRankConfig(nccl_comm *comm, int nranks, struct nccl_unique_id id, int rank,
					  struct nccl_config *config);
PRELOAD_EXPORT int ncclCommInitRankScalable(nccl_comm *comm, int nranks, int rank, int id_count,
					    struct nccl_unique_id *ids, struct nccl_config *config);
PRELOAD_EXPORT int ncclCommInitAll(nccl_comm *comms, int count, const int *devices);
PRELOAD_EXPORT int ncclCommSplit(nccl_comm parent, int color, int key, nccl_comm *comm, struct nccl_config *config);
PRELOAD_EXPORT int ncclCommShrink(nccl_comm parent, int *excluded, int excluded_count, nccl_comm *comm,
				  struct nccl_config *config, int flags);
PRELOAD_EXPORT int ncclCommGrow(nccl_comm parent, int nranks, const struct nccl_unique_id *id, int rank,
				nccl_comm *comm, struct nccl_config *config);
PRELOAD_EXPORT int ncclCommRevoke(nccl_comm comm, int flags);
PRELOAD_EXPORT int ncclCommSuspend(nccl_comm comm, int flags);
PRELOAD_EXPORT int ncclCommResume(nccl_comm comm);
PRELOAD_EXPORT int ncclCommDestroy(nccl_comm comm);
PRELOAD_EXPORT int ncclCommAbort(nccl_comm comm);
PRELOAD_EXPORT int ncclCommGetAsyncError(nccl_comm comm, int *state);
/* clang-format on */

/*
 * An id for communicators whose id NCCL does not report: FNV-1a over what all ranks have in common, so it is equal on
 * all of them and differs from other communicators' as far as 64 bits allow. It is not NCCL's own number.
 */
static uint64_t mix(uint64_t id, const void *bytes, size_t size)
{
	const unsigned char *byte = bytes;

	for (size_t i = 0; i < size; i++)
		id = (id ^ byte[i]) * 0x100000001b3u;
	return id;
}

static uint64_t id_of(const struct nccl_unique_id *id)
{
	return mix(0xcbf29ce484222325u, id, sizeof(*id));
}

static bool has(const struct nccl_config *config, size_t end)
{
	return config && config->size >= end;
}

#define HAS(config, member) has(config, offsetof(struct nccl_config, member) + sizeof((config)->member))

/* NCCL's own rule: its environment variable decides, then the configuration, then the parent. */
static bool is_blocking(const struct nccl_config *config, bool otherwise)
{
	const char *forced = getenv("NCCL_COMM_BLOCKING");

	if (forced && (strcmp(forced, "0") == 0 || strcmp(forced, "1") == 0))
		return *forced == '1';
	return HAS(config, blocking) && config->blocking != NCCL_CONFIG_UNDEFINED ? config->blocking : otherwise;
}

static uint64_t communicators_so_far(void)
{
	struct recording *recording = recording_get();

	return recording ? atomic_load(&recording->created) : 0;
}

static void describe(struct creation *creation, const struct caller *caller, const struct nccl_config *config,
		     bool blocking)
{
	creation->caller = caller;
	creation->blocking = is_blocking(config, blocking);
	creation->before = communicators_so_far();
	if (HAS(config, name) && config->name)
		snprintf(creation->name, sizeof(creation->name), "%s", config->name);
	call_take_communicator(); /* forgets one that was reported before */
}

/* Called before the call that may wait for the other ranks; within a group that call is the group's end. */
static void announce(struct creation *creation)
{
	creation->awaited = (struct awaited){ .id = creation->id, .nranks = creation->nranks, .rank = creation->rank };
	awaited_begin(&creation->awaited);
}

static int finish(struct creation *creation, int result)
{
	creation->communicator = call_take_communicator();
	creation->blocking &= result != NCCL_IN_PROGRESS;
	if (result == NCCL_SUCCESS || result == NCCL_IN_PROGRESS)
		pending_add(creation, result);
	else
		awaited_end(&creation->awaited, false);
	return result;
}

int ncclCommInitRank(nccl_comm *comm, int nranks, struct nccl_unique_id id, int rank)
{
	caller_review();
	PRELOAD_REAL(CommInitRank, (nccl_comm *, int, struct nccl_unique_id, int), NULL);
	if (!preload_is_on())
		return real(comm, nranks, id, rank);
	struct creation creation = { .comm = comm, .id = id_of(&id), .nranks = nranks, .rank = rank };
	describe(&creation, caller, NULL, true);
	announce(&creation);
	return finish(&creation, real(comm, nranks, id, rank));
}

int ncclCommInitRankConfig(nccl_comm *comm, int nranks, struct nccl_unique_id id, int rank, struct nccl_config *config)
{
	caller_review();
	PRELOAD_REAL(CommInitRankConfig, (nccl_comm *, int, struct nccl_unique_id, int, struct nccl_config *), NULL);
	if (!preload_is_on())
		return real(comm, nranks, id, rank, config);
	struct creation creation = { .comm = comm, .id = id_of(&id), .nranks = nranks, .rank = rank };
	describe(&creation, caller, config, true);
	announce(&creation);
	return finish(&creation, real(comm, nranks, id, rank, config));
}

int ncclCommInitRankScalable(nccl_comm *comm, int nranks, int rank, int id_count, struct nccl_unique_id *ids,
			     struct nccl_config *config)
{
	caller_review();
	PRELOAD_REAL(CommInitRankScalable, (nccl_comm *, int, int, int, struct nccl_unique_id *, struct nccl_config *),
		     NULL);
	if (!preload_is_on() || id_count < 1 || !ids)
		return real(comm, nranks, rank, id_count, ids, config);
	struct creation creation = { .comm = comm, .id = id_of(ids), .nranks = nranks, .rank = rank };
	describe(&creation, caller, config, true);
	announce(&creation);
	return finish(&creation, real(comm, nranks, rank, id_count, ids, config));
}

/* All ranks are in this process, so the id need only be new. */
static uint64_t id_of_all(const nccl_comm *comms)
{
	struct {
		uint64_t now;
		int64_t pid;
		const nccl_comm *comms;
	} once = { clock_ns(), getpid(), comms };

	return mix(0xcbf29ce484222325u, &once, sizeof(once));
}

int ncclCommInitAll(nccl_comm *comms, int count, const int *devices)
{
	caller_review();
	PRELOAD_REAL(CommInitAll, (nccl_comm *, int, const int *), NULL);
	if (!preload_is_on())
		return real(comms, count, devices);
	struct creation creation = { .id = id_of_all(comms), .nranks = count };
	describe(&creation, caller, NULL, true);
	int result = real(comms, count, devices);
	for (int i = 0; result == NCCL_SUCCESS && i < count; i++) {
		creation.comm = &comms[i];
		creation.rank = i;
		pending_add(&creation, result);
	}
	return result;
}

/* Children of one parent differ by their order, which is the same on all ranks; those that one split creates with
 * several colors differ by `what`. */
static bool describe_child(struct creation *creation, const struct caller *caller, struct membership *parent,
			   int64_t what, const struct nccl_config *config)
{
	if (!parent)
		return false;
	creation->parent = atomic_load_explicit(&parent->comm, memory_order_relaxed);
	int64_t order = atomic_fetch_add(&parent->children, 1);
	creation->id = mix(mix(parent->creation.id, &order, sizeof(order)), &what, sizeof(what));
	creation->nranks = creation->rank = -1;
	describe(creation, caller, config, parent->creation.blocking);
	return true;
}

/* NULL: it is not recorded, or NCCL is still making it. Of one that does not block nothing may be known before its
 * first use, which this is: NCCL refuses to split one that is not ready. */
static struct communicator *recorded(struct membership *membership, nccl_comm comm)
{
	const struct caller *caller = atomic_load_explicit(&membership->caller, memory_order_relaxed);
	int (*real)(nccl_comm, int *) = (int (*)(nccl_comm, int *))caller->functions[NCCL_CommGetAsyncError];
	struct communicator *known = membership_known(membership);
	int state;

	if (known || !real || real(comm, &state) != NCCL_SUCCESS || state != NCCL_SUCCESS)
		return known;
	return membership_communicator(membership);
}

/* A call to which all ranks of the communicator come; their splits of it, and what counts as one, have one order. id 0:
 * it is not known which communicator that is. */
static struct awaited meeting(struct membership *membership, nccl_comm comm, enum rw_init_call call, const char *name)
{
	struct communicator *parent = membership ? recorded(membership, comm) : NULL;
	uint64_t splits = parent ? communicator_splits(parent) : 0;

	if (!splits)
		return (struct awaited){ .id = 0 };
	return (struct awaited){
		.id = mix(mix(membership->creation.id, name, strlen(name) + 1), &splits, sizeof(splits)),
		.call = call,
		.nranks = parent->nranks,
		.rank = parent->rank,
		.parent = parent,
		.mark = communicator_mark(parent),
	};
}

int ncclCommSplit(nccl_comm parent, int color, int key, nccl_comm *comm, struct nccl_config *config)
{
	static nccl_comm none;
	struct membership *membership = membership_find(parent);
	PRELOAD_REAL(CommSplit, (nccl_comm, int, int, nccl_comm *, struct nccl_config *), membership);
	/* Without a color nothing is made, and what the program passes need not last. */
	struct creation creation = { .comm = color == NCCL_SPLIT_NO_COLOR ? &none : comm };

	if (!preload_is_on() || !describe_child(&creation, caller, membership, color, config))
		return real(parent, color, key, comm, config);
	/* Also of those that get no communicator. */
	creation.awaited = meeting(membership, parent, RW_INIT_CALL_MAKE, "split");
	awaited_begin(&creation.awaited);
	return finish(&creation, real(parent, color, key, comm, config));
}

/* The ranks that stay keep their order. They alone make the call. */
static void announce_shrink(struct creation *creation, struct membership *membership, nccl_comm comm,
			    const int *excluded, int excluded_count)
{
	const struct communicator *parent = recorded(membership, comm);

	if (!parent || !excluded || excluded_count < 1)
		return;
	struct awaited awaited = { .id = creation->id,
				   .nranks = parent->nranks - excluded_count,
				   .rank = parent->rank };
	for (int i = 0; i < excluded_count; i++)
		awaited.rank -= excluded[i] < parent->rank;
	creation->awaited = awaited;
	awaited_begin(&creation->awaited);
}

int ncclCommShrink(nccl_comm parent, int *excluded, int excluded_count, nccl_comm *comm, struct nccl_config *config,
		   int flags)
{
	struct membership *membership = membership_find(parent);
	PRELOAD_REAL(CommShrink, (nccl_comm, int *, int, nccl_comm *, struct nccl_config *, int), membership);
	struct creation creation = { .comm = comm };

	if (!preload_is_on() || !describe_child(&creation, caller, membership, INT64_MIN + excluded_count, config))
		return real(parent, excluded, excluded_count, comm, config, flags);
	announce_shrink(&creation, membership, parent, excluded, excluded_count);
	return finish(&creation, real(parent, excluded, excluded_count, comm, config, flags));
}

/* Ranks of the communicator that grows know each other and how many they will be, new ones the id. So both are shown,
 * but not as one. */
static struct awaited growing(struct membership *membership, nccl_comm parent, int nranks,
			      const struct nccl_unique_id *id, int rank)
{
	const struct communicator *old = membership ? recorded(membership, parent) : NULL;
	struct awaited awaited = { .call = parent ? RW_INIT_CALL_GROW : RW_INIT_CALL_JOIN,
				   .nranks = nranks,
				   .rank = rank };

	if (!parent && id)
		awaited.id = id_of(id);
	if (!old)
		return awaited;
	int64_t order = atomic_fetch_add(&membership->children, 1);
	awaited.id = mix(mix(membership->creation.id, "grow", sizeof("grow")), &order, sizeof(order));
	awaited.rank = old->rank;
	return awaited;
}

/* asked: of whom the program asks how far NCCL is. */
static int returned(const struct awaited *awaited, int result, nccl_comm asked)
{
	if (result == NCCL_IN_PROGRESS)
		awaited_goes_on(awaited, asked);
	else
		awaited_end(awaited, result == NCCL_SUCCESS);
	return result;
}

/* The new communicator is left to the profiler interface: an id of ours for it would not be the same on all its ranks.
 * In a group the call only queues what the group's end does. */
int ncclCommGrow(nccl_comm parent, int nranks, const struct nccl_unique_id *id, int rank, nccl_comm *comm,
		 struct nccl_config *config)
{
	caller_review();
	struct membership *membership = parent ? membership_find(parent) : NULL;
	PRELOAD_REAL(CommGrow, (nccl_comm, int, const struct nccl_unique_id *, int, nccl_comm *, struct nccl_config *),
		     membership);
	if (!preload_is_on() || call_in_group())
		return real(parent, nranks, id, rank, comm, config);
	struct awaited awaited = growing(membership, parent, nranks, id, rank);
	awaited_begin(&awaited);
	int result = real(parent, nranks, id, rank, comm, config);
	call_take_communicator(); /* of no other call's */
	return returned(&awaited, result, result == NCCL_IN_PROGRESS ? *comm : NULL);
}

/* Without that flag NCCL does nothing. In a group both only queue what the group's end does. */
int ncclCommSuspend(nccl_comm comm, int flags)
{
	struct membership *membership = membership_find(comm);
	PRELOAD_REAL(CommSuspend, (nccl_comm, int), membership);
	if (!preload_is_on() || call_in_group() || !(flags & NCCL_SUSPEND_MEMORY))
		return real(comm, flags);
	struct awaited awaited = meeting(membership, comm, RW_INIT_CALL_SUSPEND, "suspend");
	awaited_begin(&awaited);
	return returned(&awaited, real(comm, flags), comm);
}

int ncclCommResume(nccl_comm comm)
{
	struct membership *membership = membership_find(comm);
	PRELOAD_REAL(CommResume, (nccl_comm), membership);
	if (!preload_is_on() || call_in_group())
		return real(comm);
	struct awaited awaited = meeting(membership, comm, RW_INIT_CALL_RESUME, "resume");
	awaited_begin(&awaited);
	return returned(&awaited, real(comm), comm);
}

static void end(struct communicator *communicator)
{
	struct recording *recording = communicator ? recording_get() : NULL;

	if (recording)
		communicator_end(recording, communicator);
}

/* The communicator that the caller has to end afterwards, or NULL. */
static struct communicator *forget(nccl_comm comm)
{
	awaited_answered(comm);
	return membership_remove(comm);
}

/* What is in flight is stopped, and nothing more can be called on it but what makes others of it and ends it. NCCL
 * reports it to profilers only when it is destroyed. */
int ncclCommRevoke(nccl_comm comm, int flags)
{
	struct membership *membership = membership_find(comm);
	PRELOAD_REAL(CommRevoke, (nccl_comm, int), membership);
	int result = real(comm, flags);

	if (preload_is_on() && membership && (result == NCCL_SUCCESS || result == NCCL_IN_PROGRESS))
		end(membership_known(membership));
	return result;
}

/* id 0, so that nothing is shown: it is not known which communicator that is. */
static struct awaited destroying(const struct membership *membership)
{
	const struct communicator *communicator = membership ? membership_known(membership) : NULL;

	if (!communicator || call_in_group())
		return (struct awaited){ .id = 0 };
	return (struct awaited){
		.id = mix(membership->creation.id, "destroy", sizeof("destroy")),
		.call = RW_INIT_CALL_DESTROY,
		.nranks = communicator->nranks,
		.rank = communicator->rank,
	};
}

int ncclCommDestroy(nccl_comm comm)
{
	struct membership *membership = membership_find(comm);
	PRELOAD_REAL(CommDestroy, (nccl_comm), membership);
	if (!preload_is_on())
		return real(comm);
	struct awaited awaited = destroying(membership);
	/* Before NCCL frees it: another thread may get the same address for a new one. */
	struct communicator *ending = forget(comm);
	awaited_begin(&awaited);
	int result = real(comm);

	awaited_end(&awaited, false);
	end(ending);
	return result;
}

int ncclCommAbort(nccl_comm comm)
{
	struct membership *membership = membership_find(comm);
	PRELOAD_REAL(CommAbort, (nccl_comm), membership);
	struct communicator *ending = preload_is_on() ? forget(comm) : NULL;
	int result = real(comm);

	end(ending);
	return result;
}

/* Programs poll it while a communicator that does not block is at work. NCCL does not report rank and size before the
 * communicator's init has finished, and what is entered into the box is entered at its first use: that may call the
 * driver. */
int ncclCommGetAsyncError(nccl_comm comm, int *state)
{
	struct membership *membership = membership_find(comm);
	PRELOAD_REAL(CommGetAsyncError, (nccl_comm, int *), membership);
	bool is_on = preload_is_on();
	struct communicator *asked = is_on && membership ? membership_known(membership) : NULL;
	uint64_t asked_ns = asked ? clock_ns() : 0;
	int result = real(comm, state);

	if (asked && result == NCCL_SUCCESS && state)
		communicator_answered(asked, *state == NCCL_IN_PROGRESS, asked_ns);
	if (is_on && result == NCCL_SUCCESS && state && *state != NCCL_IN_PROGRESS) {
		awaited_answered(comm);
		if (unborn_answered(comm))
			membership = membership_find(comm);
	}
	if (is_on && membership && result == NCCL_SUCCESS && state && *state == NCCL_SUCCESS)
		membership_is_made(membership);
	return result;
}
