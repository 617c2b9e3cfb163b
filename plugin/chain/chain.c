/* SPDX-License-Identifier: MIT */
#include "plugin/chain/chain.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "identity/identity.h"
#include "plugin/chain/library.h"
#include "plugin/chain/other.h"
#include "plugin/chain/pair.h"
#include "plugin/guest/message.h"
#include "plugin/recording/handle.h"

enum {
	PAIRS = 1 << 16,
	KEPT = 1 << 14,     /* of captured calls */
	CONTEXTS = 1 << 12, /* communicators at a time */
};

_Atomic bool chain_running;

static struct {
	struct other other;
	struct pairs pairs, kept, contexts;
	_Atomic uint64_t pair_count, kept_count;
	uint64_t context_numbers[CONTEXTS]; /* the last given out, by place; under `opening` */
	bool context_used[CONTEXTS];        /* likewise */
	int *nccl_masks[CONTEXTS];
	int mask;          /* the other's; it may write it at any time */
	_Atomic int bits;  /* what we want */
	_Atomic int lease; /* … and for now */
	int carrier;       /* keeps groups coming, so that a change of the other's mask is seen */
	bool silent; /* another process of this node speaks */
} chain;

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static bool tried;

static const char *get_environment(void *argument, const char *name)
{
	(void)argument;
	return getenv(name);
}

static bool is_rankwatch(const void *table)
{
	Dl_info theirs, ours;

	return dladdr(table, &theirs) && dladdr(&chain, &ours) && theirs.dli_fbase == ours.dli_fbase;
}

static void report(const char *name, const char *what)
{
	if (!chain.silent)
		message("RANKWATCH_CHAIN=%s: %s; the job runs without it", name, what);
}

/* Under `opening`. */
static bool find_other(const char *name, uint32_t nccl_abi)
{
	char why[256] = "";
	void *library = chain_library_open(name, why, sizeof(why));

	if (!library) {
		report(name, why);
		return false;
	}
	if (other_find(&chain.other, library, nccl_abi)) {
		if (!is_rankwatch(chain.other.table))
			return true;
		report(name, "that is rankwatch itself");
	} else if (!other_newest(library)) {
		report(name, "it exports no ncclProfiler_vN");
	} else {
		char what[128];

		snprintf(what, sizeof(what),
			 "its newest profiler ABI is v%u, which cannot be served by this NCCL's v%u",
			 other_newest(library), nccl_abi);
		report(name, what);
	}
	dlclose(library);
	return false;
}

static void open_chain(uint32_t nccl_abi)
{
	const char *name = getenv("RANKWATCH_CHAIN");
	struct identity identity;

	if (!chain_library_is_named(name))
		return;
	identity_read(&identity, get_environment, NULL, 0, NULL, 0);
	chain.silent = identity.local_rank > 0;
	if (!find_other(name, nccl_abi))
		return;
	if (pairs_make(&chain.pairs, PAIRS) || pairs_make(&chain.kept, KEPT) || pairs_make(&chain.contexts, CONTEXTS)) {
		report(name, "no memory");
		return;
	}
	chain.carrier = nccl_abi >= 5 ? PROFILER_GROUP_API : PROFILER_COLL;
	if (!chain.silent)
		message("also runs %s (RANKWATCH_CHAIN), profiler ABI v%u", name, chain.other.abi);
	/* Release: pairs with chain_is_on(). */
	atomic_store_explicit(&chain_running, true, memory_order_release);
}

static int wanted_mask(void)
{
	int theirs = __atomic_load_n(&chain.mask, __ATOMIC_RELAXED) & other_knows(&chain.other);

	return theirs | atomic_load_explicit(&chain.bits, memory_order_relaxed) |
	       atomic_load_explicit(&chain.lease, memory_order_relaxed) | chain.carrier;
}

void chain_lease(int bits)
{
	atomic_store_explicit(&chain.lease, bits, memory_order_relaxed);
}

/* A free place for a communicator; 0 none. Its numbers are never used twice. */
static uint64_t take_context(int *mask)
{
	uint64_t number = 0;

	pthread_mutex_lock(&opening);
	for (uint64_t i = 0; i < CONTEXTS && !number; i++) {
		if (chain.context_used[i])
			continue;
		chain.context_used[i] = true;
		chain.nccl_masks[i] = mask;
		number = chain.context_numbers[i] += chain.context_numbers[i] ? CONTEXTS : CONTEXTS + i;
	}
	pthread_mutex_unlock(&opening);
	return number;
}

void chain_init(const struct communicator_init *communicator, profiler_log *log, int bits, void **context,
		int *mask)
{
	struct pair pair = { .ours = *context };

	pthread_mutex_lock(&opening);
	if (!tried)
		open_chain(communicator->abi);
	tried = true;
	pthread_mutex_unlock(&opening);
	if (!chain_is_on()) {
		__atomic_fetch_or(mask, bits, __ATOMIC_RELAXED);
		return;
	}
	atomic_fetch_or(&chain.bits, bits);
	uint64_t number = communicator->abi == chain.other.nccl_abi ? take_context(mask) : 0;
	if (number) {
		int error = other_init(&chain.other, communicator, log, &pair.theirs, &chain.mask);

		pair.passed_on = error == PROFILER_SUCCESS;
		if (error)
			message("%s (RANKWATCH_CHAIN): its init failed with %d; it is not called for this communicator",
				other_name(&chain.other), error);
		pairs_put(&chain.contexts, number, &pair);
		*context = handle_make(HANDLE_CHAIN_CONTEXT, number);
	}
	__atomic_fetch_or(mask, wanted_mask(), __ATOMIC_RELAXED);
}

void chain_withdraw(int bits, int *mask)
{
	if (!chain_is_on()) {
		__atomic_fetch_and(mask, ~bits, __ATOMIC_RELAXED);
		return;
	}
	atomic_fetch_and(&chain.bits, ~bits);
	__atomic_store_n(mask, wanted_mask(), __ATOMIC_RELAXED);
}

/* What NCCL keeps, taken apart. A pointer that is no number of ours is the other's own. */
static struct pair open_pair(const void *kept)
{
	struct pair pair = { 0 };

	switch (handle_kind(kept)) {
	case HANDLE_CHAIN_CONTEXT:
		pairs_get(&chain.contexts, handle_number(kept), &pair);
		break;
	case HANDLE_PAIR:
		pairs_get(&chain.pairs, handle_number(kept), &pair);
		break;
	case HANDLE_KEPT_PAIR:
		pairs_get(&chain.kept, handle_number(kept), &pair);
		break;
	case HANDLE_NONE:
		pair = (struct pair){ .theirs = (void *)kept, .passed_on = true };
		break;
	default:
		pair.ours = (void *)kept;
	}
	return pair;
}

void *chain_ours(const void *kept)
{
	return open_pair(kept).ours;
}

/* Pairs a handle of each; NULL where a captured call's would not stay. */
static void *close_pair(const struct pair *pair, bool captured)
{
	_Atomic uint64_t *count = captured ? &chain.kept_count : &chain.pair_count;
	uint64_t number = atomic_fetch_add_explicit(count, 1, memory_order_relaxed) + 1;

	if (captured && number >= KEPT)
		return pair->ours;
	pairs_put(captured ? &chain.kept : &chain.pairs, number, pair);
	return handle_make(captured ? HANDLE_KEPT_PAIR : HANDLE_PAIR, number);
}

/* NCCL's rule: a plugin that asks for an event gets its parents, too. */
static int asked_by(uint64_t type)
{
	enum {
		BELOW_TASK = PROFILER_PROXY_OP | PROFILER_PROXY_STEP | PROFILER_KERNEL_CH | PROFILER_NET_PLUGIN,
		COPY_ENGINE = PROFILER_CE_COLL | PROFILER_CE_SYNC | PROFILER_CE_BATCH,
	};

	switch (type) {
	case PROFILER_GROUP_API:
		return ~PROFILER_PROXY_CTRL;
	case PROFILER_COLL_API:
		return PROFILER_COLL_API | PROFILER_COLL | BELOW_TASK | COPY_ENGINE;
	case PROFILER_P2P_API:
		return PROFILER_P2P_API | PROFILER_P2P | BELOW_TASK;
	case PROFILER_GROUP:
		return PROFILER_OPERATIONS | BELOW_TASK;
	case PROFILER_COLL:
	case PROFILER_P2P:
		return (int)type | BELOW_TASK;
	case PROFILER_PROXY_OP:
		return PROFILER_PROXY_OP | PROFILER_PROXY_STEP | PROFILER_NET_PLUGIN;
	case PROFILER_PROXY_STEP:
		return PROFILER_PROXY_STEP | PROFILER_NET_PLUGIN;
	case PROFILER_CE_COLL:
		return COPY_ENGINE;
	case PROFILER_KERNEL_CH:
		return PROFILER_KERNEL_CH | PROFILER_KERNEL_PHASE;
	default:
		return (int)type;
	}
}

static bool wants(uint64_t type)
{
	int known = other_knows(&chain.other);

	return type <= (uint64_t)known && ((int)type & known) &&
	       (__atomic_load_n(&chain.mask, __ATOMIC_RELAXED) & known & asked_by(type));
}

/* The other may have changed its mask; NCCL reads its own at the start of each group. */
static void renew_mask(uint64_t type, const void *context)
{
	int *mask = chain.nccl_masks[handle_number(context) & (CONTEXTS - 1)];
	int wanted = wanted_mask();

	if ((type == PROFILER_GROUP_API || type == PROFILER_GROUP) && __atomic_load_n(mask, __ATOMIC_RELAXED) != wanted)
		__atomic_store_n(mask, wanted, __ATOMIC_RELAXED);
}

void *chain_start(const struct chain_event *event, const void *context, void *ours)
{
	struct pair communicator = { 0 };
	const void *above = other_hangs_from_group(&chain.other, event->type) ? event->group : event->parent;
	struct pair parent = open_pair(above), group = open_pair(event->group);

	if (handle_kind(context) == HANDLE_CHAIN_CONTEXT)
		communicator = open_pair(context);
	if (communicator.ours)
		renew_mask(event->type, context);
	/* A child of an event that was not passed on is not passed on either: the other plugin had another mask
	 * then. */
	if (!communicator.passed_on || event->foreign || !parent.passed_on || !wants(event->type))
		return ours;
	struct pair made = { .ours = ours, .passed_on = true };
	made.theirs = other_start(&chain.other, communicator.theirs,
				  &(struct other_event){ event->type, event->descriptor, parent.theirs, group.theirs });
	if (!ours && handle_kind(made.theirs) == HANDLE_NONE)
		return made.theirs;
	return close_pair(&made, event->captured);
}

void chain_stop(void *handle)
{
	struct pair pair = open_pair(handle);

	if (pair.theirs)
		other_stop(&chain.other, pair.theirs);
}

void chain_record_state(void *handle, int state, void *arguments)
{
	struct pair pair = open_pair(handle);

	if (pair.theirs)
		other_record_state(&chain.other, pair.theirs, state, arguments);
}

void chain_finalize(void *context)
{
	uint64_t place = handle_number(context) & (CONTEXTS - 1);
	struct pair pair = { 0 };

	if (handle_kind(context) != HANDLE_CHAIN_CONTEXT || !pairs_get(&chain.contexts, handle_number(context), &pair))
		return;
	if (pair.passed_on && pair.theirs)
		other_finalize(&chain.other, pair.theirs);
	pthread_mutex_lock(&opening);
	pairs_put(&chain.contexts, handle_number(context), &(struct pair){ 0 });
	chain.context_used[place] = false;
	pthread_mutex_unlock(&opening);
}
