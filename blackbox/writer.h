/* SPDX-License-Identifier: MIT */
/*
 * The writing side of a black box: made once per process by the plugin, then filled in place by its threads.
 * Linked into the plugin: libc only, no allocation after create, no lock, no system call after create except in
 * box_writer_* functions whose comment says so.
 */
#ifndef BLACKBOX_WRITER_H
#define BLACKBOX_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>

struct box_writer {
	void *map; /* whole file; NULL = no box */
	size_t size;
	int fd; /* kept open: it carries the lock; close-on-exec */
	struct rw_box_header *header;
	struct rw_lease *leases;
	struct rw_communicator *communicators;
	struct rw_gpu_progress *gpu; /* page aligned: registered with the CUDA driver */
	struct rw_host_sample *samples;
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
	uint64_t history_bytes; /* RANKWATCH_HISTORY; 0 = by free space */
};

/* Finds a place (order, modes, owner and symlink checks by contract 2), reserves space with posix_fallocate, maps,
 * populates, MADV_DONTFORK, locks byte 0, and fills the layout, identity and time fields of the header (the caller
 * fills the rest). Falls back to a memfd. 0 or -errno; on error *writer is zeroed and note says why. */
int box_writer_create(struct box_writer *writer, const struct box_request *request);
/* Unmaps and closes; the file stays. For tests and for a create that must be undone; the plugin never calls it. */
void box_writer_close(struct box_writer *writer);

/* Wait-free. Claims a slot for a new operation: skips slots with pending owners (at most 8), returns NULL and counts
 * `dropped` when none is free. The returned slot is cleared, owner = pending | low ticket bits, ticket still 0:
 * fill it, then box_publish(slot, *ticket). Any thread. */
static inline struct rw_operation *box_claim(struct box_writer *writer, uint32_t pending, uint64_t *ticket);
static inline void box_publish(struct rw_operation *slot, uint64_t ticket);
/* The slot of a published ticket if it still holds that ticket, else NULL. */
static inline struct rw_operation *box_slot(struct box_writer *writer, uint64_t ticket);
/* Sets known bits after the fields (release). */
static inline void box_known(struct rw_operation *slot, uint32_t bits);
/* Clears a pending bit of this ticket; does nothing to a slot that has moved on. The last one frees the slot. */
static inline void box_release(struct rw_operation *slot, uint64_t ticket, uint32_t owner_bits);

/* Appends one host sample (ticket and slot are filled here). One thread only: the plugin's own. */
void box_writer_sample(struct box_writer *writer, const struct rw_host_sample *sample);

#endif
