/* SPDX-License-Identifier: MIT */
/*
 * The writing side of a black box. The plugin makes the box once per process, and the process's threads fill it in
 * place. It is linked into the plugin, so it uses libc only and no lock. After create it allocates nothing and makes no
 * system call, except in box_writer_* functions whose comment says so.
 *
 * A POSIX lock on byte 0 shows that the process is alive. The kernel drops such a lock as soon as the process closes
 * any descriptor of the file, so the writing process must never open its own box. A forked child has no mapping
 * (MADV_DONTFORK), so it must not access the box.
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
	void *map; /* the whole file; NULL = no box */
	size_t size;
	int fd; /* kept open, because it holds the lock; close-on-exec */
	struct rw_box_header *header;
	struct rw_lease *leases;
	struct rw_communicator *communicators;
	struct rw_gpu_progress *gpu; /* page aligned: registered with the CUDA driver */
	struct rw_host_sample *samples;
	struct rw_wait *waits;
	struct rw_operation *ring;
	uint64_t ring_mask;
	char path[512]; /* "" when the box is in a memfd */
	char note[256]; /* sentence for the start line where the first place did not work; else "" */
};

/* What the caller knows before the box exists. */
struct box_request {
	const char *directory; /* RANKWATCH_DIR or NULL */
	const char *job;       /* one path component; unsafe characters are replaced */
	int32_t rank;	       /* for the file name; -1: the name has only the pid (rank-<pid>) */
	uint32_t local_ranks;  /* processes that share the file system, at least 1 */
	uint64_t history_bytes; /* RANKWATCH_HISTORY; 0 = chosen by free space and memory */
	const char *root;       /* directory where a test has its /proc and /sys; NULL: "" */
};

/* Makes the box. It finds a place (order, modes, owner and symlink checks by contract 2), reserves space with
 * posix_fallocate, maps and populates the file, sets MADV_DONTFORK, locks byte 0, and fills in the layout, identity and
 * time fields of the header. The file appears under its name only when all this is done. The fallback is a memfd.
 *
 * The caller fills in the rest of the header before the first communicator's created_ns: from then on readers take the
 * header as complete. Returns 0 or -errno; on error *writer is zeroed except for the note, which has the reason. */
int box_writer_create(struct box_writer *writer, const struct box_request *request);
/* Unmaps and closes the box; the file stays. It is for tests and for undoing a create; the plugin never calls it. */
void box_writer_close(struct box_writer *writer);

/* Appends one host sample; ticket and slot are filled in here. Only the plugin's own thread calls it. */
void box_writer_sample(struct box_writer *writer, const struct rw_host_sample *sample);

/* The plugin's drain thread calls this from time to time. When more than a quarter of the ring is pending, every
 * published pending slot becomes untracked (RW_UNTRACKED_EXPIRED, flagged and counted) and free; otherwise nothing
 * happens.
 *
 * It walks the ring from claim `oldest`, the caller's lowest unfinished claim. It looks at no slot at all before a
 * quarter of the ring was claimed after that. Returns how many operations expired. Late writers must go through
 * box_slot(). */
uint32_t box_writer_expire(struct box_writer *writer, uint64_t oldest);

static inline uint32_t box_owner(uint64_t ticket, uint32_t pending)
{
	return (uint32_t)(ticket << RW_OWNER_TICKET_SHIFT) | pending;
}

/* Clears the slot; a concurrent reader sees ticket 0. It works in pieces, because for a single memset the compiler
 * makes a `rep stos`, whose start takes longer than all of this. */
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

/* Takes and empties the slot for this ticket; false when an operation in flight has it. */
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

/* Claims a slot for a new operation. It is wait-free, and any thread may call it. It skips slots with pending owners,
 * at most 8. When none is free, it returns NULL and ticket 0, which box_slot() never finds, and counts `dropped`.
 *
 * `pending` must not be 0: the box_release() of its last bit frees the slot. The returned slot is cleared, its owner is
 * pending | low ticket bits, and its ticket still 0. The caller fills it in, then calls box_publish(slot, *ticket). */
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

/* Fetches the slot of a claim into this processor's cache, to be written to. It changes nothing, whoever has the
 * slot. */
static inline void box_prefetch(const struct box_writer *writer, uint64_t claim)
{
	enum { LINE = 64 };
	const char *slot = (const char *)&writer->ring[claim & writer->ring_mask];

#pragma GCC unroll 4
	for (size_t at = 0; at < sizeof(struct rw_operation); at += LINE) {
#ifdef __x86_64__
		/* Without -mprfchw compilers make a prefetch for reading of __builtin_prefetch(…, 1). */
		__asm__ volatile("prefetchw %0" : : "m"(slot[at]));
#else
		__builtin_prefetch(slot + at, 1);
#endif
	}
}

/* Publishes a filled slot: from now on readers and box_slot() find it. */
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

/* Sets known bits. The caller has written their fields before. */
static inline void box_known(struct rw_operation *slot, uint32_t bits)
{
	/* Release: pairs with the acquire fence of box_reader_operations() after its first look at `known`. */
	atomic_fetch_or_explicit(&slot->known, bits, memory_order_release);
}

/* Clears pending bits of this ticket. The last bit frees the slot. It does nothing to a slot that has another ticket
 * now. */
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
 * Adds a pending bit that no other writer has, so that the slot stays until the bit is released. It is wait-free.
 * False: the bit is taken, or the slot has another ticket now. A slot that was already free can be held, too: a claim
 * that meets it takes the next one, as with any operation in flight.
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
