/* SPDX-License-Identifier: MIT */
#include "plugin/network/lease.h"

#include "plugin/chain/chain.h"
#include "plugin/nccl/profiler.h"
#include "plugin/network/waits.h"
#include "plugin/recording/recording.h"

enum { PROXY_BITS = PROFILER_PROXY_OP | PROFILER_PROXY_STEP };

static_assert((int)RW_LEASE_PROXY_OP == (int)PROFILER_PROXY_OP, "NCCL's");
static_assert((int)RW_LEASE_PROXY_STEP == (int)PROFILER_PROXY_STEP, "NCCL's");

/* Another process writes the page, in any order: half a lease becomes a whole one at the next poll. */
static bool poll_page(struct lease *seen, struct rw_lease *page, uint64_t now_ns)
{
	struct lease now = {
		.expires_ns = atomic_load_explicit(&page->expires_ns, memory_order_acquire),
		.communicator = __atomic_load_n(&page->communicator, __ATOMIC_RELAXED),
		.proxy_bits = __atomic_load_n(&page->proxy_bits, __ATOMIC_RELAXED),
	};

	if (now.expires_ns != seen->expires_ns || now.communicator != seen->communicator ||
	    now.proxy_bits != seen->proxy_bits) {
		if ((now.proxy_bits & PROXY_BITS) == PROXY_BITS && now.expires_ns > now_ns)
			now.until_ns =
			    now.expires_ns < now_ns + RW_LEASE_MAX_NS ? now.expires_ns : now_ns + RW_LEASE_MAX_NS;
		*seen = now;
	}
	return seen->until_ns > now_ns;
}

static bool is_leased(const struct leases *leases, const struct communicator *communicator, uint64_t now_ns)
{
	/* Acquire: pairs with the release when the id became known. */
	if (!atomic_load_explicit(&communicator->entry->created_ns, memory_order_acquire))
		return false;
	for (int i = 0; i < RW_BOX_LEASES; i++)
		if (leases->seen[i].until_ns > now_ns && leases->seen[i].communicator == communicator->entry->id)
			return true;
	return false;
}

static struct lease_mask *mask_of(struct leases *leases, int *mask)
{
	struct lease_mask *unused = NULL;

	for (int i = 0; i < LEASE_MASKS; i++) {
		struct lease_mask *own = &leases->masks[i];

		if (own->mask == mask)
			return own;
		if (!own->mask && !unused)
			unused = own;
	}
	if (unused)
		unused->mask = mask;
	return unused;
}

/* With another plugin behind ours the chain writes the mask, at each group. */
static void ask(struct lease_mask *own)
{
	if (!chain_is_on())
		own->added |= PROXY_BITS & ~__atomic_fetch_or(own->mask, PROXY_BITS, __ATOMIC_RELAXED);
}

static void take_back(struct lease_mask *own)
{
	if (own->added)
		__atomic_fetch_and(own->mask, ~own->added, __ATOMIC_RELAXED);
	own->added = 0;
}

/* One mask's communicators, by its place in leases->masks. */
struct demand {
	bool alive[LEASE_MASKS], wanted[LEASE_MASKS], any;
};

static void poll_communicator(struct leases *leases, struct communicator *communicator, uint64_t now_ns,
				 struct demand *demand)
{
	bool ended = atomic_load_explicit(&communicator->ended, memory_order_acquire);
	int *mask = ended ? NULL : atomic_load_explicit(&communicator->mask, memory_order_acquire);
	struct lease_mask *own = mask ? mask_of(leases, mask) : NULL;
	bool leased = own && is_leased(leases, communicator, now_ns);

	atomic_store_explicit(&communicator->leased, leased, memory_order_relaxed);
	if (!own)
		return;
	demand->alive[own - leases->masks] = true;
	demand->wanted[own - leases->masks] |= leased;
	demand->any |= leased;
}

/* A mask without a communicator may be gone with its NCCL; bits of ours that are left there wait for the next one. */
static bool settle_mask(struct lease_mask *own, bool alive, bool wanted)
{
	if (alive && wanted)
		ask(own);
	else if (alive)
		take_back(own);
	else if (!own->added)
		own->mask = NULL;
	return own->added;
}

static bool update(struct leases *leases, struct recording *recording, uint64_t now_ns)
{
	uint64_t used = atomic_load_explicit(&recording->box.header->comms_used, memory_order_acquire);
	struct demand demand = { .any = false };
	bool left = false;

	for (uint64_t i = 0; i < used; i++)
		poll_communicator(leases, &recording->communicators[i], now_ns, &demand);
	chain_lease(demand.any ? PROXY_BITS : 0);
	for (int i = 0; i < LEASE_MASKS; i++)
		left |= settle_mask(&leases->masks[i], demand.alive[i], demand.wanted[i]);
	return demand.any || left;
}

void leases_poll(struct leases *leases, struct recording *recording, uint64_t now_ns)
{
	struct rw_box_header *header = recording->box.header;
	bool any = false;

	for (int i = 0; i < RW_BOX_LEASES; i++) {
		if (!poll_page(&leases->seen[i], &recording->box.leases[i], now_ns))
			continue;
		any = true;
		if (leases->seen[i].until_ns > atomic_load_explicit(&header->leased_until_ns, memory_order_relaxed))
			atomic_store_explicit(&header->leased_until_ns, leases->seen[i].until_ns, memory_order_relaxed);
	}
	if ((!any && !leases->running) || !communicators_hold())
		return;
	if (!leases->running)
		waits_renew();
	leases->running = update(leases, recording, now_ns);
	communicators_release();
}
