/* SPDX-License-Identifier: MIT */
/*
 * Reads a black box that somebody else wrote and may still be writing. Everything is copied with pread and checked
 * before use; a mapping of a foreign file is never dereferenced (its owner could truncate it under us: SIGBUS).
 * A reader is used by one thread at a time.
 */
#ifndef BLACKBOX_READER_H
#define BLACKBOX_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <rankwatch/blackbox.h>

struct packed;

struct box_reader {
	int fd;
	uint64_t device, inode; /* of the file: tells a replaced file from the same one */
	struct packed *packed;  /* of a saved box: its content, behind fd; NULL: fd has it */
	uint64_t unpacked;      /* bytes of memory that fd is, of a saved box that had to be unpacked whole */
	struct rw_box_header header; /* as checked at open; box_reader_refresh() renews the counters */
};

/* Is the writer alive, by its lock on byte 0? A copy of a box has no lock: it is unknown while the process it tells of
 * can be seen (same pid namespace), else orphaned, as is a box of another boot. Unknown, too, for a reader inside the
 * writer itself: one's own lock cannot be seen, and closing the file would drop it. */
enum box_life { BOX_ALIVE, BOX_ORPHANED, BOX_LIFE_UNKNOWN /* copied file, file system without locks */ };

/* Opens a box or a saved one (blackbox/saved.h): `name` in directory `dirfd` (AT_FDCWD and a path are fine): O_NOFOLLOW, regular file, owner must be `owner`
 * unless (uid_t)-1. On error -errno, and `why` (at least 160 bytes, may be NULL) holds a sentence that says what is
 * wrong and where: not a box, unknown layout or required feature, truncated, offsets outside the file, foreign
 * owner. */
int box_reader_open(struct box_reader *reader, int dirfd, const char *name, uid_t owner, char *why);
/* Likewise, for boxes that a process may be writing: a saved one is refused, also under another name, and never
 * unpacked. */
int box_reader_open_live(struct box_reader *reader, int dirfd, const char *name, uid_t owner, char *why);
void box_reader_close(struct box_reader *reader); /* accepts a half-built or zeroed reader with fd -1 */

/* Reads the header again; 0, or -EIO when the file shrank, -EPROTO when layout fields changed. */
int box_reader_refresh(struct box_reader *reader);
/* *writer_in_our_namespace (may be NULL): the writer's pid while it is BOX_ALIVE, 0 when it cannot be seen from
 * here. */
enum box_life box_reader_life(const struct box_reader *reader, pid_t *writer_in_our_namespace);

/* Copies up to `room` communicator entries from `first` on; returns how many were copied, or -errno. Unused: born_ns
 * 0. */
int box_reader_communicators(const struct box_reader *reader, uint32_t first, uint32_t room,
			     struct rw_communicator *communicators);
/* The same again, where `known` is what was copied before: in one read where nothing has changed, in two where no entry has another owner, in
 * place of three. 1: copied; 0: all are as in `known`, and nothing was; or -errno. All `count` must lie in the table. */
int box_reader_communicators_again(const struct box_reader *reader, uint32_t first, uint32_t count,
				   const struct rw_communicator *known, struct rw_communicator *communicators);
/* Was the operation made on the communicator that the entry describes now? Entries are given out again. */
static inline bool box_is_of(const struct rw_operation *operation, const struct rw_communicator *communicator)
{
	bool before = operation->api_ns && operation->api_ns < communicator->born_ns;

	return communicator->born_ns && !before;
}
int box_reader_progress(const struct box_reader *reader, uint32_t first, uint32_t room,
			struct rw_gpu_progress *progress);

/* `size` bytes of the file at this offset as they are. 0, -EIO: the file ends before, or -errno. */
int box_reader_bytes(const struct box_reader *reader, void *buffer, size_t size, uint64_t offset);

/* Network waits: has the box that table? Entries [first, first + room) of it as they are, each word for itself; how many
 * were copied (0 without a table), or -errno. */
bool box_has_waits(const struct rw_box_header *header);
int box_reader_waits(const struct box_reader *reader, uint32_t first, uint32_t room, struct rw_wait *waits);

enum box_slot {
	BOX_SLOT_OK,
	BOX_SLOT_BUSY,	/* being claimed: try later */
	BOX_SLOT_GONE,	/* overwritten */
	BOX_SLOT_OLDER, /* operations only: still in flight there is the older operation whose ticket the copy has
			 * (whole, as with OK); this claim passed it over, or is just about to */
};

/* Copies the slots of claim numbers [first, first + room) (ticket - 1). states[i] tells about slots[i]; reads in as few
 * pread calls as the ring's wrap allows. Implements the read protocol: ticket, copy, ticket. A field of the copy counts
 * only if its known bit is set in the copy; `known` and `owner` are as they were before the rest was copied. room: at
 * most ring_slots. Returns the number copied or -errno. */
int box_reader_operations(const struct box_reader *reader, uint64_t first, uint32_t room, struct rw_operation *slots,
			  enum box_slot *states);
/* Host samples by number (ticket - 1), likewise. */
int box_reader_samples(const struct box_reader *reader, uint64_t first, uint32_t room, struct rw_host_sample *samples,
		       enum box_slot *states);

#endif
