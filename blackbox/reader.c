/* SPDX-License-Identifier: MIT */
#include "blackbox/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blackbox/header.h"
#include "blackbox/packed.h"
#include "blackbox/unpack.h"

enum { CHUNK_BYTES = 32768 /* slots are looked at three times: while they are in the cache */ };

/* All of it, or -EIO when the file ends before, or -errno. */
static int read_all(const struct box_reader *reader, void *buffer, size_t size, uint64_t offset)
{
	if (reader->packed)
		return packed_read(reader->packed, buffer, size, offset);
	for (size_t done = 0; done < size;) {
		ssize_t got = pread(reader->fd, (char *)buffer + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EIO;
		done += (size_t)got;
	}
	return 0;
}

static int check_file(struct box_reader *reader, const struct stat *status, const char *name, uid_t owner, char *why)
{
	if (!S_ISREG(status->st_mode))
		return box_refuse(why, -EINVAL, "%.80s: not a regular file", name);
	if (owner != (uid_t)-1 && status->st_uid != owner)
		return box_refuse(why, -EPERM, "%.80s: belongs to uid %u, not to uid %u: not read", name,
				  (unsigned)status->st_uid, (unsigned)owner);
	reader->device = status->st_dev;
	reader->inode = status->st_ino;
	return 0;
}

/* Exchanges the descriptor of a saved box for one of its content. */
static int unpack_whole(struct box_reader *reader, const char *name, char *why)
{
	int unpacked = box_saved_unpack(reader->fd, &reader->unpacked, name, why);

	if (unpacked < 0)
		return unpacked;
	close(reader->fd);
	reader->fd = unpacked;
	return 0;
}

static int open_saved(struct box_reader *reader, const char *name, char *why)
{
	int err = box_saved_is(reader->fd) ? packed_open(&reader->packed, reader->fd, name, why) : 0;

	return err == -EFBIG ? unpack_whole(reader, name, why) : err;
}

static int refuse_saved(struct box_reader *reader, const char *name, char *why)
{
	return box_saved_is(reader->fd) ? box_refuse(why, -EINVAL, "%.80s: a saved box: nobody writes it", name) : 0;
}

static int content_size(const struct box_reader *reader, uint64_t *size)
{
	struct stat status;

	if (!reader->packed && fstat(reader->fd, &status))
		return -errno;
	*size = reader->packed ? packed_size(reader->packed) : (uint64_t)status.st_size;
	return 0;
}

/* Neither counts more than what was read last, nor is there another call that makes a communicator. */
static bool header_goes_on(const struct rw_box_header *before, const struct rw_box_header *now)
{
	return before->comms_used == now->comms_used && before->anchors_written == now->anchors_written &&
	       !memcmp(&before->init, &now->init, sizeof(now->init));
}

/*
 * A copy made by the kernel has no order in itself: on Arm a counter in it may be newer than what it counts, also where
 * that lies behind it. So where something has changed the header is read again: what the counters of the first read
 * count is in the second, and a struct rw_init that is the same in both is whole. Where it is not, the last one still
 * counts, until the next read.
 */
static int read_header(const struct box_reader *reader, struct rw_box_header *header)
{
	struct rw_box_header first;
	int err = read_all(reader, &first, sizeof(first), 0);

	*header = first;
	if (err || reader->packed || header_goes_on(&reader->header, &first))
		return err;
	/* Pairs with the releases of comms_used, anchors_written and init.since_ns, and with the fence after since_ns =
	 * 0. */
	atomic_thread_fence(memory_order_acquire);
	err = read_all(reader, header, sizeof(*header), 0);
	header->comms_used = first.comms_used;
	header->anchors_written = first.anchors_written;
	if (memcmp(&header->init, &first.init, sizeof(first.init)))
		header->init = reader->header.init;
	return err;
}

static int check_content(struct box_reader *reader, const char *name, char *why)
{
	uint64_t size;
	int none = content_size(reader, &size);

	if (none)
		return box_refuse(why, none, "%.80s: cannot be examined: %s", name, strerror(-none));
	if (size < RW_BOX_HEADER_SIZE)
		return box_refuse(why, -EINVAL, "%.80s: not a black box: only %llu bytes", name,
				  (unsigned long long)size);

	struct rw_box_header header;
	int err = read_header(reader, &header);

	if (err)
		return box_refuse(why, err, "%.80s: cannot be read: %s", name, strerror(-err));
	reader->header = header;
	return box_header_check(&reader->header, size, name, why);
}

typedef int unpack_box(struct box_reader *reader, const char *name, char *why);

static int open_box(struct box_reader *reader, int dirfd, const char *name, uid_t owner, unpack_box *unpack, char *why)
{
	struct stat status;
	int err;

	*reader = (struct box_reader){ .fd = -1 };
	/* O_NONBLOCK: a fifo of this name must not stop us. */
	reader->fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (reader->fd < 0 && errno == ELOOP)
		return box_refuse(why, -ELOOP, "%.80s: a symbolic link: not followed", name);
	if (reader->fd < 0 || fstat(reader->fd, &status))
		err = box_refuse(why, -errno, "%.80s: cannot be opened: %s", name, strerror(errno));
	else
		err = check_file(reader, &status, name, owner, why);
	if (!err)
		err = unpack(reader, name, why);
	if (!err)
		err = check_content(reader, name, why);
	if (err)
		box_reader_close(reader);
	return err;
}

int box_reader_open(struct box_reader *reader, int dirfd, const char *name, uid_t owner, char *why)
{
	return open_box(reader, dirfd, name, owner, open_saved, why);
}

int box_reader_open_live(struct box_reader *reader, int dirfd, const char *name, uid_t owner, char *why)
{
	return open_box(reader, dirfd, name, owner, refuse_saved, why);
}

void box_reader_close(struct box_reader *reader)
{
	/* -1: never opened, or handed over with all that belongs to it. */
	if (reader->fd >= 0) {
		packed_close(reader->packed);
		box_saved_forget(reader->unpacked);
		close(reader->fd);
	}
	*reader = (struct box_reader){ .fd = -1 };
}

void box_reader_set_clock(struct box_reader *reader, const struct box_clock *clock)
{
	reader->clock = *clock;
	box_clock_header(clock, &reader->header);
}

int box_reader_refresh(struct box_reader *reader)
{
	struct rw_box_header header;
	uint64_t size;
	int err = read_header(reader, &header);

	if (err)
		return err;
	if (content_size(reader, &size) || size < reader->header.total_size)
		return -EIO;
	if (memcmp(&header, &reader->header, offsetof(struct rw_box_header, boot_id)) ||
	    header.waits_offset != reader->header.waits_offset || header.wait_slots != reader->header.wait_slots)
		return -EPROTO;
	box_header_tame(&header);
	box_clock_header(&reader->clock, &header);
	reader->header = header;
	/* Pairs with the releases of the counters: what they count is seen by the reads that follow. */
	atomic_thread_fence(memory_order_acquire);
	return 0;
}

static int clamp_room(uint32_t first, uint32_t room, uint32_t slots)
{
	if (first >= slots)
		return 0;
	return (int)(room < slots - first ? room : slots - first);
}

enum { LOOK = 16 /* entries at a time */ };

/*
 * An entry can get a new owner under our eyes: created_ns becomes 0 first and is stored last. So it is looked at before
 * and after the copy, and what changed meanwhile is not used (yet).
 */
static int copy_communicators(const struct box_reader *reader, uint64_t offset, struct rw_communicator *communicators,
			      int count)
{
	struct rw_communicator before[LOOK], after[LOOK];
	size_t size = (size_t)count * sizeof(*communicators);
	int err = read_all(reader, before, size, offset);

	/* Pairs with the release store of created_ns: what was written before it is in the copy that follows. */
	atomic_thread_fence(memory_order_acquire);
	if (!err)
		err = read_all(reader, communicators, size, offset);
	/* Pairs with the release fence after created_ns = 0: with a byte of the new owner in the copy, this read sees
	 * it.
	 */
	atomic_thread_fence(memory_order_acquire);
	if (!err)
		err = read_all(reader, after, size, offset);
	for (int i = 0; !err && i < count; i++) {
		communicators[i].created_ns = before[i].created_ns == after[i].created_ns ? before[i].created_ns : 0;
		communicators[i].name[sizeof(communicators[i].name) - 1] = '\0';
	}
	return err;
}

int box_reader_communicators(const struct box_reader *reader, uint32_t first, uint32_t room,
			     struct rw_communicator *communicators)
{
	uint64_t offset = reader->header.comms_offset + first * sizeof(*communicators);
	int count = clamp_room(first, room, reader->header.comm_slots), err = 0;

	for (int done = 0; !err && done < count; done += LOOK)
		err = copy_communicators(reader, offset + (uint64_t)done * sizeof(*communicators), communicators + done,
					 count - done < LOOK ? count - done : LOOK);
	box_clock_communicators(&reader->clock, communicators, err ? 0 : (size_t)count);
	return err ? err : count;
}

/* What was seen of created_ns last time is the read before this copy: no two owners of an entry were born at one time,
 * and 0 is none. */
static bool have_same_owners(const struct rw_communicator *known, const struct rw_communicator *copied,
			     const struct rw_communicator *after, int count)
{
	for (int i = 0; i < count; i++)
		if (!known[i].created_ns || copied[i].created_ns != known[i].created_ns ||
		    after[i].created_ns != known[i].created_ns)
			return false;
	return true;
}

static int copy_again(const struct box_reader *reader, uint64_t offset, const struct rw_communicator *known,
		      struct rw_communicator *communicators, int count)
{
	struct rw_communicator after[LOOK];
	size_t size = (size_t)count * sizeof(*communicators);
	int err = read_all(reader, communicators, size, offset);

	if (err || !memcmp(communicators, known, size))
		return err;
	/* As in copy_communicators(). */
	atomic_thread_fence(memory_order_acquire);
	err = read_all(reader, after, size, offset);
	if (!err && !have_same_owners(known, communicators, after, count))
		err = copy_communicators(reader, offset, communicators, count);
	for (int i = 0; !err && i < count; i++)
		communicators[i].name[sizeof(communicators[i].name) - 1] = '\0';
	return err ? err : 1;
}

int box_reader_communicators_again(const struct box_reader *reader, uint32_t first, uint32_t count,
				   const struct rw_communicator *known, struct rw_communicator *communicators)
{
	uint64_t offset = reader->header.comms_offset + first * sizeof(*known);
	int changed = 0;

	if ((uint32_t)clamp_room(first, count, reader->header.comm_slots) < count)
		return -EINVAL;
	for (uint32_t done = 0; done < count; done += LOOK) {
		uint32_t length = count - done < LOOK ? count - done : LOOK;
		int copied =
		    copy_again(reader, offset + done * sizeof(*known), known + done, communicators + done, (int)length);

		if (copied < 0)
			return copied;
		changed |= copied;
	}
	return changed;
}

/*
 * signal_since_ns is written before signal_waits counts its wait, but one copy may have the new count and the time of
 * an earlier wait, which would say that the GPU has waited since long ago. So the time of a wait comes from a second
 * read.
 */
static int read_signals_again(const struct box_reader *reader, uint64_t offset, struct rw_gpu_progress *progress)
{
	struct rw_gpu_progress again;

	if (progress->signal_waits <= progress->signalled)
		return 0;
	/* Pairs with the release of signal_waits (plugin/operations/signals.c). */
	atomic_thread_fence(memory_order_acquire);
	int err = read_all(reader, &again, sizeof(again), offset);

	progress->signalled = again.signalled;
	progress->signal_since_ns = again.signal_since_ns;
	return err;
}

int box_reader_progress(const struct box_reader *reader, uint32_t first, uint32_t room,
			struct rw_gpu_progress *progress)
{
	int count = clamp_room(first, room, reader->header.comm_slots);
	uint64_t offset = reader->header.gpu_offset + first * sizeof(*progress);
	int err = read_all(reader, progress, (size_t)count * sizeof(*progress), offset);

	for (int i = 0; !err && i < count; i++)
		err = read_signals_again(reader, offset + (uint64_t)i * sizeof(*progress), &progress[i]);
	box_clock_progress(&reader->clock, progress, err ? 0 : (size_t)count);
	return err ? err : count;
}

bool box_has_waits(const struct rw_box_header *header)
{
	return header->optional_features & RW_BOX_NETWORK;
}

static bool same_channel(const struct rw_wait *before, const struct rw_wait *after)
{
	return before->key == after->key && before->first_ns == after->first_ns;
}

/* As with communicators, an entry can get another channel under our eyes: first_ns becomes 0 first, and key is stored
 * last. */
static int copy_waits(const struct box_reader *reader, uint64_t offset, struct rw_wait *waits, int count)
{
	struct rw_wait before[LOOK], after[LOOK];
	size_t size = (size_t)count * sizeof(*waits);
	int err = read_all(reader, before, size, offset);

	/* Pairs with the release of key: sums of the last channel are not seen any more. */
	atomic_thread_fence(memory_order_acquire);
	if (!err)
		err = read_all(reader, waits, size, offset);
	/* Pairs with the release fence after first_ns = 0: with a sum that was cleared in the copy, this read sees
	 * it. */
	atomic_thread_fence(memory_order_acquire);
	if (!err)
		err = read_all(reader, after, size, offset);
	for (int i = 0; !err && i < count; i++)
		if (!same_channel(&before[i], &waits[i]) || !same_channel(&waits[i], &after[i]))
			waits[i].key = 0;
	return err;
}

int box_reader_waits(const struct box_reader *reader, uint32_t first, uint32_t room, struct rw_wait *waits)
{
	int count = box_has_waits(&reader->header) ? clamp_room(first, room, reader->header.wait_slots) : 0, err = 0;
	uint64_t offset = reader->header.waits_offset + first * sizeof(*waits);

	for (int done = 0; !err && done < count; done += LOOK)
		err = copy_waits(reader, offset + (uint64_t)done * sizeof(*waits), waits + done,
				 count - done < LOOK ? count - done : LOOK);
	box_clock_waits(&reader->clock, waits, err ? 0 : (size_t)count);
	return err ? err : count;
}

/* A ring of slots of one size that begin with their ticket. */
struct ring {
	const struct box_reader *reader;
	uint64_t offset, slots;
	size_t size;
};

/* Slots first… of the ring's numbering; count does not cross its end. */
static int read_run(const struct ring *ring, uint64_t first, size_t count, void *buffer)
{
	return read_all(ring->reader, buffer, count * ring->size, ring->offset + first % ring->slots * ring->size);
}

/* The read protocol: `before`, `slots` and `after` are three copies of the same run, in this order of time. */
static int read_thrice(const struct ring *ring, uint64_t first, size_t count, void *before, void *slots, void *after)
{
	int err = read_run(ring, first, count, before);

	/* Pairs with the release of the ticket (box_publish(), box_writer_sample()) and of `known` (box_known()). */
	atomic_thread_fence(memory_order_acquire);
	if (!err)
		err = read_run(ring, first, count, slots);
	/* Pairs with the release fence of box_take() and box_writer_sample(): a byte of a newer operation in the copy
	 * means that the ticket below is no longer the old one. */
	atomic_thread_fence(memory_order_acquire);
	return err ? err : read_run(ring, first, count, after);
}

static size_t run_length(const struct ring *ring, uint64_t first, uint32_t room)
{
	uint64_t length = ring->slots - first % ring->slots;

	if (length > CHUNK_BYTES / ring->size)
		length = CHUNK_BYTES / ring->size;
	return length < room ? length : room;
}

static enum box_slot judge(uint64_t number, uint64_t before, uint64_t after)
{
	if (before == number + 1 && after == before)
		return BOX_SLOT_OK;
	return after > number + 1 ? BOX_SLOT_GONE : BOX_SLOT_BUSY;
}

static void judge_operation(uint64_t number, const struct rw_operation *before, struct rw_operation *slot,
			    const struct rw_operation *after, enum box_slot *state)
{
	uint64_t ticket = before->ticket;

	*state = judge(number, ticket, after->ticket);
	if (*state == BOX_SLOT_BUSY && ticket && ticket <= number && ticket == after->ticket &&
	    before->owner & RW_OWNER_PENDING)
		*state = BOX_SLOT_OLDER;
	slot->ticket = ticket;
	slot->known = before->known;
	slot->owner = before->owner;
}

int box_reader_operations(const struct box_reader *reader, uint64_t first, uint32_t room, struct rw_operation *slots,
			  enum box_slot *states)
{
	const struct ring ring = { reader, reader->header.ring_offset, reader->header.ring_slots, sizeof(*slots) };
	struct rw_operation before[CHUNK_BYTES / sizeof(*slots)], after[CHUNK_BYTES / sizeof(*slots)];
	uint32_t count = room < ring.slots ? room : (uint32_t)ring.slots;

	for (uint32_t done = 0; done < count;) {
		size_t length = run_length(&ring, first + done, count - done);
		int err = read_thrice(&ring, first + done, length, before, slots + done, after);

		if (err)
			return err;
		for (size_t i = 0; i < length; i++)
			judge_operation(first + done + i, &before[i], &slots[done + i], &after[i], &states[done + i]);
		box_clock_operations(&reader->clock, slots + done, length);
		done += (uint32_t)length;
	}
	return (int)count;
}

int box_reader_samples(const struct box_reader *reader, uint64_t first, uint32_t room, struct rw_host_sample *samples,
		       enum box_slot *states)
{
	const struct ring ring = { reader, reader->header.samples_offset, reader->header.sample_slots,
				   sizeof(*samples) };
	struct rw_host_sample before[CHUNK_BYTES / sizeof(*samples)], after[CHUNK_BYTES / sizeof(*samples)];
	uint32_t count = room < ring.slots ? room : (uint32_t)ring.slots;

	for (uint32_t done = 0; done < count;) {
		size_t length = run_length(&ring, first + done, count - done);
		int err = read_thrice(&ring, first + done, length, before, samples + done, after);

		if (err)
			return err;
		for (size_t i = 0; i < length; i++)
			states[done + i] = judge(first + done + i, before[i].ticket, after[i].ticket);
		box_clock_samples(&reader->clock, samples + done, length);
		done += (uint32_t)length;
	}
	return (int)count;
}

int box_reader_bytes(const struct box_reader *reader, void *buffer, size_t size, uint64_t offset)
{
	return read_all(reader, buffer, size, offset);
}
