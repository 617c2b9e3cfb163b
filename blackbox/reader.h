/* SPDX-License-Identifier: MIT */
/*
 * Reads a black box that another process wrote and may still be writing. Everything is copied with pread and checked
 * before use. The file is never mapped, because its owner could truncate it and cause a SIGBUS here. A reader is used
 * by one thread at a time.
 */
#ifndef BLACKBOX_READER_H
#define BLACKBOX_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <rankwatch/blackbox.h>

#include "blackbox/clock.h"

struct packed;

struct box_reader {
	int fd;
	uint64_t device, inode; /* of the file: they show whether it was replaced by another */
	struct packed *packed;  /* content of a saved box, read through fd; NULL: fd itself has the content */
	uint64_t unpacked;      /* size of the memory file fd, where a saved box had to be unpacked as a whole */
	struct box_clock clock; /* to which all times that are read are brought; set by box_reader_set_clock() */
	struct rw_box_header header; /* as checked at open; box_reader_refresh() renews the counters */
};

/* Whether the writer is alive, by its lock on byte 0.
 * - A copy of a box has no lock. It is unknown while the process that it describes is visible (same pid namespace),
 *   else orphaned. A box of another boot is orphaned, too.
 * - For a reader inside the writer itself it is unknown: a process cannot see its own lock, and closing the file would
 *   release it. */
enum box_life { BOX_ALIVE, BOX_ORPHANED, BOX_LIFE_UNKNOWN /* copied file, file system without locks */ };

/* Opens a box or a saved box (blackbox/saved.h), `name` in directory `dirfd`; AT_FDCWD and a path are fine. It must be
 * a regular file and no symbolic link, and its owner must be `owner` unless that is (uid_t)-1. The caller closes the
 * reader. Returns 0, or -errno: then `why` (at least 160 bytes, may be NULL) has a sentence that says what is wrong and
 * where: not a box, unknown layout or required feature, truncated, offsets outside the file, foreign owner. */
int box_reader_open(struct box_reader *reader, int dirfd, const char *name, uid_t owner, char *why);
/* The same for boxes that a process may be writing: a saved box is refused, whatever its name, and never unpacked. */
int box_reader_open_live(struct box_reader *reader, int dirfd, const char *name, uid_t owner, char *why);
void box_reader_close(struct box_reader *reader); /* accepts a half-built or zeroed reader with fd -1 */

/* All times that are read from now on, those of the header too, are on this clock. Once, and only where nobody writes
 * the box any more. */
void box_reader_set_clock(struct box_reader *reader, const struct box_clock *clock);

/* Reads the header again. Returns 0, -EIO when the file has shrunk, or -EPROTO when layout fields have changed. */
int box_reader_refresh(struct box_reader *reader);
/* Whether the writer is alive. *writer_in_our_namespace (may be NULL) is the writer's pid while it is BOX_ALIVE; 0 when
 * it is not visible from this pid namespace. */
enum box_life box_reader_life(const struct box_reader *reader, pid_t *writer_in_our_namespace);

/* Copies up to `room` communicator entries from `first` on. Returns how many were copied, or -errno. Unused entries
 * have created_ns 0. */
int box_reader_communicators(const struct box_reader *reader, uint32_t first, uint32_t room,
			     struct rw_communicator *communicators);
/* The same again, where `known` is the previous copy. It takes one read where nothing has changed, and two where no
 * entry has another owner, instead of three. Returns 1: copied; 0: all entries are as in `known`, and nothing was
 * copied; or -errno. All `count` entries must lie in the table. */
int box_reader_communicators_again(const struct box_reader *reader, uint32_t first, uint32_t count,
				   const struct rw_communicator *known, struct rw_communicator *communicators);
/* Whether the operation was made on the communicator that the entry describes now; entries are reused. */
static inline bool box_is_of(const struct rw_operation *operation, const struct rw_communicator *communicator)
{
	bool before = operation->api_ns && operation->api_ns < communicator->created_ns;

	return communicator->created_ns && !before;
}
/* Copies the GPU progress of up to `room` communicators from `first` on. Returns how many were copied, or -errno. */
int box_reader_progress(const struct box_reader *reader, uint32_t first, uint32_t room,
			struct rw_gpu_progress *progress);

/* Copies `size` bytes at this offset of the file, unchecked. Returns 0; -EIO: the file ends before; or another
 * -errno. */
int box_reader_bytes(const struct box_reader *reader, void *buffer, size_t size, uint64_t offset);

/* Network waits: whether the box has that table; and a copy of its entries [first, first + room), where each sum is
 * consistent only in itself. An entry that is getting another channel has key 0. Returns how many entries were copied
 * (0 without a table), or -errno. */
bool box_has_waits(const struct rw_box_header *header);
int box_reader_waits(const struct box_reader *reader, uint32_t first, uint32_t room, struct rw_wait *waits);

enum box_slot {
	BOX_SLOT_OK,
	BOX_SLOT_BUSY,	/* being claimed: try again later */
	BOX_SLOT_GONE,	/* overwritten */
	/* operations only: the slot holds an older operation that is in flight, whose ticket the copy has (complete, as
	 * with OK); this claim has skipped the slot, or is about to */
	BOX_SLOT_OLDER,
};

/* Copies the slots of claim numbers [first, first + room) (claim number = ticket - 1). states[i] is the state of
 * slots[i]. room is at most ring_slots. Returns the number of slots copied, or -errno.
 *
 * It implements the read protocol: ticket, copy, ticket, with as few pread calls as the wrap of the ring allows. A
 * field of the copy is valid only if its known bit is set in the copy; `known` and `owner` are as they were before the
 * rest was copied. */
int box_reader_operations(const struct box_reader *reader, uint64_t first, uint32_t room, struct rw_operation *slots,
			  enum box_slot *states);
/* The same for host samples, by number (ticket - 1). */
int box_reader_samples(const struct box_reader *reader, uint64_t first, uint32_t room, struct rw_host_sample *samples,
		       enum box_slot *states);

#endif
