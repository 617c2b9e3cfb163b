/* SPDX-License-Identifier: MIT */
/*
 * The writing side of a black box: made once per process by the plugin, then filled in place by its threads.
 * Linked into the plugin: libc only, no allocation after create, no lock, no system call after create except in
 * box_writer_* functions whose comment says so.
 *
 * The life of the process shows as a POSIX lock on byte 0. Such a lock is gone as soon as the process closes any
 * descriptor of the file: the writing process must never open its own box.
 * A forked child has no mapping (MADV_DONTFORK): it must not touch the box.
 */
#ifndef BLACKBOX_WRITER_H
#define BLACKBOX_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rankwatch/blackbox.h>

enum { BOX_CLAIM_TRIES = 8 };

struct box_writer {
	void *map; /* whole file; NULL = no box */
	size_t size;
	int fd; /* kept open: it carries the lock; close-on-exec */
	struct rw_box_header *header;
	struct rw_lease *leases;
	struct rw_communicator *communicators;
	struct rw_gpu_progress *gpu; /* page aligned: registered with the CUDA driver */
	struct rw_host_sample *samples;
	struct rw_wait *waits;
	struct rw_operation *ring;
	uint64_t ring_mask;
	char path[512]; /* "" when it lives in a memfd */
	char note[256]; /* sentence for the start line when the first choice did not work; "" otherwise */
};

/* What the caller knows before the box exists. */
struct box_request {
	const char *directory; /* RANKWATCH_DIR or NULL */
	const char *job;       /* one path component; unsafe characters are replaced */
	int32_t rank;	       /* file name; -1: the pid alone names the file (rank-<pid>) */
	uint32_t local_ranks;  /* processes that share the file system, at least 1 */
	uint64_t history_bytes; /* RANKWATCH_HISTORY; 0 = by free space and memory */
	const char *root;       /* where a test has its /proc and /sys; NULL: "" */
};

/* Finds a place (order, modes, owner and symlink checks by contract 2), reserves space with posix_fallocate, maps,
 * populates, MADV_DONTFORK, locks byte 0, and fills the layout, identity and time fields of the header (the caller
 * fills the rest, before the first communicator's born_ns: readers take the header as complete from then on). The file
 * appears under its name only when all this is done. Falls back to a memfd. 0 or -errno; on error *writer is zeroed
 * but for the note, which says why. */
int box_writer_create(struct box_writer *writer, const struct box_request *request);
/* Unmaps and closes; the file stays. For tests and for a create that must be undone; the plugin never calls it. */
void box_writer_close(struct box_writer *writer);

/* Appends one host sample (ticket and slot are filled here). One thread only: the plugin's own. */
void box_writer_sample(struct box_writer *writer, const struct rw_host_sample *sample);

/* The plugin's drain thread, now and then. When more than a quarter of the ring pends, every published slot that pends
 * becomes untracked (RW_UNTRACKED_EXPIRED, flagged and counted) and free; otherwise nothing happens. Walks the ring
 * from claim `oldest` (the caller's lowest unfinished one; a quarter of the ring must lie behind it before this looks
 * at a slot at all). Returns how many expired. Late writers must go through box_slot(). */
uint32_t box_writer_expire(struct box_writer *writer, uint64_t oldest);

static inline uint32_t box_owner(uint64_t ticket, uint32_t pending)
{
	return (uint32_t)(ticket << RW_OWNER_TICKET_SHIFT) | pending;
}

/* Whoever reads it has seen ticket 0. In pieces, because a whole one is a `rep stos`, which takes longer to begin than
 * all of this. */
static inline void box_clear(struct rw_operation *slot)
{
	enum { LINE = 64 };
	char *lines = (char *)slot;
	size_t first = offsetof(struct rw_operation, comm);

	memset(lines + first, 0, LINE - first);
#pragma GCC unroll 4
	for (size_t at = LINE; at < sizeof(*slot); at += LINE)
		memset(lines + at, 0, LINE);
}

/* Makes the slot ours and empty; false when an operation in flight has it. */
static inline bool box_take(struct rw_operation *slot, uint64_t ticket, uint32_t pending)
{
	uint32_t expected = 0;

	/* Acquire: pairs with the release in box_release(), so that all writes of the last owners come before ours. */
	if (!atomic_compare_exchange_strong_explicit(&slot->owner, &expected, box_owner(ticket, pending),
						     memory_order_acquire, memory_order_relaxed))
		return false;
	/* We slept for a whole turn of the ring: the slot holds a newer operation, tickets in a slot only grow. */
	if (atomic_load_explicit(&slot->ticket, memory_order_relaxed) >= ticket) {
		/* Pairs with the acquire above. */
		atomic_store_explicit(&slot->owner, 0, memory_order_release);
		return false;
	}
	atomic_store_explicit(&slot->ticket, 0, memory_order_relaxed);
	/* Ticket 0 becomes visible before any byte of the new operation: pairs with the acquire fence of
	 * box_reader_operations() between its copy and its second look at the ticket. */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&slot->known, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->flags, 0, memory_order_relaxed);
	box_clear(slot);
	return true;
}

/* Wait-free. Claims a slot for a new operation: skips slots with pending owners (at most 8), returns NULL (and ticket
 * 0, which box_slot() never finds) and counts `dropped` when none is free. `pending` must not be 0: the last
 * box_release() of it frees the slot. The returned slot is cleared, owner = pending | low ticket bits, ticket still 0:
 * fill it, then box_publish(slot, *ticket). Any thread. */
static inline struct rw_operation *box_claim(struct box_writer *writer, uint32_t pending, uint64_t *ticket)
{
	for (int i = 0; i < BOX_CLAIM_TRIES; i++) {
		/* Relaxed: only the number matters, the ticket publishes the slot. */
		uint64_t claim = atomic_fetch_add_explicit(&writer->header->head, 1, memory_order_relaxed);
		struct rw_operation *slot = &writer->ring[claim & writer->ring_mask];

		if (!slot)
			__builtin_unreachable(); /* so that a caller's test for NULL costs nothing here */
		if (box_take(slot, claim + 1, pending)) {
			*ticket = claim + 1;
			return slot;
		}
	}
	atomic_fetch_add_explicit(&writer->header->dropped, 1, memory_order_relaxed);
	*ticket = 0;
	return NULL;
}

static inline void box_publish(struct rw_operation *slot, uint64_t ticket)
{
	/* Pairs with the acquire in box_slot(), and with the acquire fence of box_reader_operations() after its first
	 * look at the ticket. */
	atomic_store_explicit(&slot->ticket, ticket, memory_order_release);
}

/* The slot of a published ticket if it still holds that ticket, else NULL. */
static inline struct rw_operation *box_slot(struct box_writer *writer, uint64_t ticket)
{
	struct rw_operation *slot = &writer->ring[(ticket - 1) & writer->ring_mask];

	/* Acquire: pairs with the release in box_publish(). */
	return ticket && atomic_load_explicit(&slot->ticket, memory_order_acquire) == ticket ? slot : NULL;
}

/* Sets known bits after the fields. */
static inline void box_known(struct rw_operation *slot, uint32_t bits)
{
	/* Release: pairs with the acquire fence of box_reader_operations() after its first look at `known`. */
	atomic_fetch_or_explicit(&slot->known, bits, memory_order_release);
}

/* Clears pending bits of this ticket; does nothing to a slot that has moved on. The last one frees the slot. */
static inline void box_release(struct rw_operation *slot, uint64_t ticket, uint32_t owner_bits)
{
	uint32_t owner = atomic_load_explicit(&slot->owner, memory_order_relaxed);
	uint32_t left;

	do {
		if ((owner & ~(uint32_t)RW_OWNER_PENDING) != box_owner(ticket, 0))
			return;
		left = owner & ~owner_bits;
		if (!(left & RW_OWNER_PENDING))
			left = 0;
		/* Release: pairs with the acquire in box_take(), across further releases of the same slot too. */
	} while (!atomic_compare_exchange_weak_explicit(&slot->owner, &owner, left, memory_order_release,
							memory_order_relaxed));
}

/*
 * Wait-free. Adds a pending bit that nobody else has, so that the slot stays until it is released. False: the bit is
 * taken, or the slot has moved on. A slot that was free already can be held, too: a claim that meets it passes on to the
 * next one, as with any operation in flight.
 */
static inline bool box_hold(struct rw_operation *slot, uint64_t ticket, uint32_t bit)
{
	uint32_t owner = atomic_load_explicit(&slot->owner, memory_order_relaxed);

	do {
		if ((owner & bit) || (owner && (owner & ~(uint32_t)RW_OWNER_PENDING) != box_owner(ticket, 0)))
			return false;
		/* Acquire: pairs with the release in box_release(), as in box_take(). */
	} while (!atomic_compare_exchange_weak_explicit(&slot->owner, &owner, box_owner(ticket, 0) | owner | bit,
							memory_order_acquire, memory_order_relaxed));
	/* A free slot's owner does not say whose it was. */
	if (atomic_load_explicit(&slot->ticket, memory_order_relaxed) == ticket)
		return true;
	box_release(slot, ticket, bit);
	return false;
}

#endif
