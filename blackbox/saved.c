/* SPDX-License-Identifier: MIT */
#include "blackbox/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "blackbox/ending.h"
#include "blackbox/gpu_memory.h"
#include "blackbox/ports.h"
#include "blackbox/packed.h"
#include "blackbox/write_all.h"

enum {
	WHY = 160,
	RUN = 256, /* slots copied at a time */
};

/* A copy being written: everything in the order of its offset. */
struct copy {
	struct box_reader *reader;
	int fd;
	z_stream stream; /* one member after the other (blackbox/packed.h) */
	unsigned char member[PACKED_MEMBER], packed[PACKED_MEMBER + 1024 /* what does not get smaller */];
	size_t used; /* of member */
	uint64_t offset;
	int error;
};

void box_saved_name(const struct rw_box_header *header, char name[BOX_SAVED_NAME])
{
	time_t made = (time_t)(header->created_realtime_ns / 1000000000);
	char rank[16] = "unknown", when[32] = "";
	struct tm utc;

	if (header->world_rank >= 0)
		snprintf(rank, sizeof(rank), "%d", header->world_rank);
	if (gmtime_r(&made, &utc))
		strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &utc);
	snprintf(name, BOX_SAVED_NAME, "rank%s-%u-%s" BOX_SAVED_SUFFIX, rank, header->pid, when);
}

void box_saved_unfinished(const char *name, char unfinished[BOX_SAVED_UNFINISHED])
{
	snprintf(unfinished, BOX_SAVED_UNFINISHED, ".%s.%d", name, (int)syscall(SYS_gettid));
}

static bool ends_in(const char *name, const char *suffix)
{
	size_t length = strlen(name), tail = strlen(suffix);

	return length > tail && !strcmp(name + length - tail, suffix);
}

bool box_is_name(const char *name)
{
	return ends_in(name, RW_BOX_SUFFIX) || ends_in(name, BOX_SAVED_SUFFIX);
}

static void end_member(struct copy *copy)
{
	z_stream *stream = &copy->stream;

	if (copy->error || !copy->used)
		return;
	deflateReset(stream);
	stream->next_in = copy->member;
	stream->avail_in = (unsigned)copy->used;
	stream->next_out = copy->packed;
	stream->avail_out = sizeof(copy->packed);
	copy->used = 0;
	if (deflate(stream, Z_FINISH) != Z_STREAM_END)
		copy->error = -EIO;
	else
		copy->error = write_all(copy->fd, copy->packed, sizeof(copy->packed) - stream->avail_out);
}

static void put(struct copy *copy, const void *bytes, size_t size)
{
	for (size_t done = 0; !copy->error && done < size;) {
		size_t room = PACKED_MEMBER - copy->used, count = size - done < room ? size - done : room;

		memcpy(copy->member + copy->used, (const char *)bytes + done, count);
		copy->used += count;
		copy->offset += count;
		done += count;
		if (copy->used == PACKED_MEMBER)
			end_member(copy);
	}
}

static void put_zeros_until(struct copy *copy, uint64_t offset)
{
	static const char zeros[4096];

	while (!copy->error && copy->offset < offset) {
		uint64_t left = offset - copy->offset;

		put(copy, zeros, left < sizeof(zeros) ? (size_t)left : sizeof(zeros));
	}
}

/* Of the control page this, and the ports and the ending behind it, is all that is worth keeping. */
static void put_gpu_memory(struct copy *copy)
{
	struct rw_gpu_memory memory;

	if (box_gpu_memory_read(copy->reader, &memory) <= 0)
		return;
	put_zeros_until(copy, copy->reader->header.control_offset + RW_GPU_MEMORY_OFFSET);
	put(copy, &memory, sizeof(memory));
}

static void put_ports(struct copy *copy)
{
	struct rw_ports ports;

	if (box_ports_read(copy->reader, &ports) <= 0)
		return;
	put_zeros_until(copy, copy->reader->header.control_offset + RW_PORTS_OFFSET);
	put(copy, &ports, sizeof(ports));
}

static void put_ending(struct copy *copy)
{
	struct rw_ending ending;

	if (box_ending_read(copy->reader, &ending) <= 0)
		return;
	put_zeros_until(copy, copy->reader->header.control_offset + RW_ENDING_OFFSET);
	put(copy, &ending, sizeof(ending));
}

static void put_communicators(struct copy *copy)
{
	const struct rw_box_header *header = &copy->reader->header;
	struct rw_communicator *communicators = calloc(header->comm_slots, sizeof(*communicators));
	struct rw_gpu_progress *progress = calloc(header->comm_slots, sizeof(*progress));
	int got = communicators && progress ? 0 : -ENOMEM;

	if (!got)
		got = box_reader_communicators(copy->reader, 0, header->comm_slots, communicators);
	if (got >= 0)
		got = box_reader_progress(copy->reader, 0, header->comm_slots, progress);
	if (got < 0) {
		copy->error = got;
	} else {
		put_zeros_until(copy, header->comms_offset);
		put(copy, communicators, header->comm_slots * sizeof(*communicators));
		put_zeros_until(copy, header->gpu_offset);
		put(copy, progress, header->comm_slots * sizeof(*progress));
	}
	free(communicators);
	free(progress);
}

/* Slots [at, at + count) of a ring and the first of their numbers, which follow one another. */
struct stretch {
	uint64_t at, number;
	uint32_t count;
};

/* The newest turn of a ring ends at its head, from where on the slots are those of the turn before. */
static struct stretch stretch_at(uint64_t head, uint64_t slots, uint64_t at)
{
	bool newest = at < head % slots;
	uint64_t end = newest ? head % slots : slots;
	uint64_t turn = head - head % slots - (newest ? 0 : slots);

	return (struct stretch){ at, turn + at, end - at < RUN ? (uint32_t)(end - at) : RUN };
}

static void put_samples(struct copy *copy)
{
	const struct rw_box_header *header = &copy->reader->header;
	uint64_t head = header->samples_head, slots = header->sample_slots;
	struct rw_host_sample samples[RUN];
	enum box_slot states[RUN];
	struct stretch stretch;

	put_zeros_until(copy, header->samples_offset);
	for (uint64_t at = 0; !copy->error && at < slots && at < head; at += stretch.count) {
		stretch = stretch_at(head, slots, at);
		int got = box_reader_samples(copy->reader, stretch.number, stretch.count, samples, states);

		copy->error = got < 0 ? got : copy->error;
		for (uint32_t i = 0; got > 0 && i < stretch.count; i++)
			if (states[i] != BOX_SLOT_OK)
				memset(&samples[i], 0, sizeof(samples[i]));
		put(copy, samples, stretch.count * sizeof(*samples));
	}
}

static void put_waits(struct copy *copy)
{
	struct rw_wait waits[RUN];
	int got;

	if (box_has_waits(&copy->reader->header))
		put_zeros_until(copy, copy->reader->header.waits_offset);
	for (uint32_t at = 0; !copy->error; at += RUN) {
		got = box_reader_waits(copy->reader, at, RUN, waits);
		if (got <= 0) {
			copy->error = got;
			return;
		}
		put(copy, waits, (size_t)got * sizeof(*waits));
	}
}

static void put_operations(struct copy *copy)
{
	const struct rw_box_header *header = &copy->reader->header;
	uint64_t head = header->head, slots = header->ring_slots;
	struct rw_operation operations[RUN];
	enum box_slot states[RUN];
	struct stretch stretch;

	put_zeros_until(copy, header->ring_offset);
	for (uint64_t at = 0; !copy->error && at < slots && at < head; at += stretch.count) {
		stretch = stretch_at(head, slots, at);
		int got = box_reader_operations(copy->reader, stretch.number, stretch.count, operations, states);

		copy->error = got < 0 ? got : copy->error;
		for (uint32_t i = 0; got > 0 && i < stretch.count; i++)
			if (states[i] != BOX_SLOT_OK && states[i] != BOX_SLOT_OLDER)
				memset(&operations[i], 0, sizeof(operations[i]));
		put(copy, operations, stretch.count * sizeof(*operations));
	}
}

static int write_copy(struct copy *copy)
{
	struct rw_box_header header = copy->reader->header;

	if (header.end == RW_BOX_RUNNING && box_reader_life(copy->reader, NULL) != BOX_ORPHANED)
		header.end = RW_BOX_COPIED;
	put(copy, &header, sizeof(header));
	put_gpu_memory(copy);
	put_ports(copy);
	put_ending(copy);
	put_communicators(copy);
	put_samples(copy);
	put_waits(copy);
	put_operations(copy);
	end_member(copy);
	return copy->error;
}

static int write_file(struct box_reader *reader, int fd)
{
	struct copy *copy = calloc(1, sizeof(*copy));
	int err = -ENOMEM;

	if (copy && deflateInit2(&copy->stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK) {
		copy->reader = reader;
		copy->fd = fd;
		err = write_copy(copy);
		deflateEnd(&copy->stream);
	}
	free(copy);
	return err;
}

int box_save(struct box_reader *reader, int dirfd, const char *name, char *why)
{
	char unfinished[BOX_SAVED_UNFINISHED];
	int err = box_reader_refresh(reader);

	box_saved_unfinished(name, unfinished);
	int fd = err ? -1 : openat(dirfd, unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (!err && fd < 0)
		err = -errno;
	if (!err)
		err = write_file(reader, fd);
	if (!err && fsync(fd))
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (!err && renameat(dirfd, unfinished, dirfd, name))
		err = -errno;
	if (err && fd >= 0)
		unlinkat(dirfd, unfinished, 0);
	if (err)
		snprintf(why, WHY, "%.80s: not saved: %s", name, strerror(-err));
	return err;
}
