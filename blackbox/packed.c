/* SPDX-License-Identifier: MIT */
#include "blackbox/packed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <rankwatch/blackbox.h>

#include "blackbox/header.h"
#include "blackbox/unpack.h"

enum {
	INPUT = 16384,
	KEPT_MOST =
	    1 << 20, /* header and tables, which are read again and again, stay unpacked: they take less than this */
	CACHED = 3,  /* of the ring: where new operations are read, and older ones that are not finished */
	GZIP = 15 + 16,
};

struct cached {
	unsigned char *bytes; /* NULL: free */
	size_t member;
	uint64_t used; /* when: the least goes first */
};

struct packed {
	int fd;
	uint64_t size;   /* of the box */
	uint64_t bytes;  /* that were saved */
	uint64_t tables; /* where those end that stay unpacked */
	struct member {
		uint64_t at;         /* in the file */
		unsigned char *kept; /* unpacked; NULL: not kept */
		bool is_zero;
	} * members;
	size_t count, room;
	struct cached cache[CACHED];
	uint64_t turn;
};

/* Where a member is unpacked from. */
struct source {
	int fd;
	uint64_t at; /* of what is read next */
	unsigned char input[INPUT];
};

static ssize_t read_some(struct source *source)
{
	ssize_t got;

	do
		got = pread(source->fd, source->input, INPUT, (off_t)source->at);
	while (got < 0 && errno == EINTR);
	if (got > 0)
		source->at += (uint64_t)got;
	return got < 0 ? -errno : got;
}

/* Until the member's end, which gzip's own CRC and length confirm. */
static int inflate_all(z_stream *stream, struct source *source)
{
	for (;;) {
		if (!stream->avail_in) {
			ssize_t got = read_some(source);

			if (got <= 0)
				return got ? (int)got : -EINVAL;
			stream->next_in = source->input;
			stream->avail_in = (unsigned)got;
		}
		int result = inflate(stream, Z_NO_FLUSH);

		if (result == Z_STREAM_END)
			return 0;
		if (!stream->avail_out)
			return -EFBIG;
		if (result != Z_OK && !(result == Z_BUF_ERROR && !stream->avail_in))
			return result == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
	}
}

/* Bytes (room for PACKED_MEMBER + 1) of the member at *at, which becomes that of the next one. Their number, or -errno:
 * -EFBIG more than PACKED_MEMBER, -EINVAL damaged. */
static ssize_t unpack_member(int fd, uint64_t *at, unsigned char *bytes)
{
	struct source source = { .fd = fd, .at = *at };
	z_stream stream = { .next_out = bytes, .avail_out = PACKED_MEMBER + 1 };

	if (inflateInit2(&stream, GZIP) != Z_OK)
		return -ENOMEM;
	int err = inflate_all(&stream, &source);

	*at = source.at - stream.avail_in;
	if (!err && stream.total_out > PACKED_MEMBER)
		err = -EFBIG;
	inflateEnd(&stream);
	return err ? err : (ssize_t)stream.total_out;
}

static bool is_all_zero(const unsigned char *bytes, size_t size)
{
	return !size || (!bytes[0] && !memcmp(bytes, bytes + 1, size - 1));
}

static int note(struct packed *packed, uint64_t at, const unsigned char *bytes, size_t size)
{
	if (packed->count == packed->room) {
		size_t room = packed->room ? packed->room * 2 : 16;
		struct member *members = reallocarray(packed->members, room, sizeof(*members));

		if (!members)
			return -ENOMEM;
		packed->members = members;
		packed->room = room;
	}
	struct member *member = &packed->members[packed->count++];

	*member = (struct member){ .at = at, .is_zero = is_all_zero(bytes, size) };
	bool is_table = packed->bytes < packed->tables;

	packed->bytes += size;
	if (member->is_zero || !is_table)
		return 0;
	member->kept = calloc(1, PACKED_MEMBER);
	if (!member->kept)
		return -ENOMEM;
	memcpy(member->kept, bytes, size);
	return 0;
}

/* What the header says must have been saved: all slots that were used. A file that was cut between two members is else
 * whole. */
static uint64_t least_of(const struct rw_box_header *header)
{
	uint64_t used = header->head < header->ring_slots ? header->head : header->ring_slots;

	return header->ring_offset + used * header->operation_size;
}

static int scan_members(struct packed *packed, uint64_t file_size, struct rw_box_header *header, unsigned char *bytes,
			const char *name, char *why)
{
	static const char cut[] = "%.80s: damaged: its gzip data end early or are wrong";
	ssize_t got = PACKED_MEMBER;

	for (uint64_t at = 0, begin = 0; at < file_size; begin = at) {
		if (got != PACKED_MEMBER)
			return -EFBIG;
		got = unpack_member(packed->fd, &at, bytes);
		if (got == -EFBIG)
			return -EFBIG;
		if (got < 0)
			return box_refuse(why, (int)got, cut, name);
		if (!packed->count && !box_saved_header(header, bytes, (size_t)got))
			return box_refuse(why, -EINVAL, "%.80s: not a black box (gzip of something else, or damaged)",
					  name);
		packed->tables = header->ring_offset < KEPT_MOST ? header->ring_offset : KEPT_MOST;
		if (packed->bytes + (uint64_t)got > header->total_size)
			return box_refuse(why, -EINVAL, "%.80s: damaged: longer than its header says", name);
		if (note(packed, begin, bytes, (size_t)got))
			return box_refuse(why, -ENOMEM, "%.80s: no memory to unpack it", name);
	}
	packed->size = header->total_size;
	return packed->bytes < least_of(header) ? box_refuse(why, -EINVAL, cut, name) : 0;
}

static int scan(struct packed *packed, const char *name, char *why)
{
	struct rw_box_header header = { 0 };
	unsigned char *bytes = malloc(PACKED_MEMBER + 1);
	struct stat status;
	int err = bytes ? 0 : -ENOMEM;

	if (!err && fstat(packed->fd, &status))
		err = -errno;
	if (err)
		box_refuse(why, err, "%.80s: %s", name, strerror(-err));
	else
		err = scan_members(packed, (uint64_t)status.st_size, &header, bytes, name, why);
	free(bytes);
	return err;
}

int packed_open(struct packed **packed, int fd, const char *name, char *why)
{
	struct packed *made = calloc(1, sizeof(*made));

	*packed = NULL;
	if (!made)
		return box_refuse(why, -ENOMEM, "%.80s: no memory to unpack it", name);
	made->fd = fd;
	int err = scan(made, name, why);

	if (err) {
		packed_close(made);
		return err;
	}
	*packed = made;
	return 0;
}

void packed_close(struct packed *packed)
{
	if (!packed)
		return;
	for (size_t i = 0; i < packed->count; i++)
		free(packed->members[i].kept);
	for (int i = 0; i < CACHED; i++)
		free(packed->cache[i].bytes);
	free(packed->members);
	free(packed);
}

uint64_t packed_size(const struct packed *packed)
{
	return packed->size;
}

static struct cached *oldest_cached(struct packed *packed)
{
	struct cached *oldest = &packed->cache[0];

	for (int i = 1; i < CACHED; i++)
		if (packed->cache[i].used < oldest->used)
			oldest = &packed->cache[i];
	return oldest;
}

static int fill(struct packed *packed, struct cached *cached, size_t member)
{
	uint64_t at = packed->members[member].at;

	cached->used = 0;
	if (!cached->bytes)
		cached->bytes = malloc(PACKED_MEMBER + 1);
	if (!cached->bytes)
		return -ENOMEM;
	ssize_t got = unpack_member(packed->fd, &at, cached->bytes);

	if (got < 0)
		return got == -ENOMEM ? -ENOMEM : -EIO;
	memset(cached->bytes + got, 0, PACKED_MEMBER - (size_t)got);
	cached->member = member;
	cached->used = ++packed->turn;
	return 0;
}

/* The member's bytes until the next call; NULL and *err on failure. */
static const unsigned char *bytes_of(struct packed *packed, size_t member, int *err)
{
	if (packed->members[member].kept)
		return packed->members[member].kept;
	for (int i = 0; i < CACHED; i++) {
		struct cached *cached = &packed->cache[i];

		if (!cached->used || cached->member != member)
			continue;
		cached->used = ++packed->turn;
		return cached->bytes;
	}
	struct cached *cached = oldest_cached(packed);

	*err = fill(packed, cached, member);
	return *err ? NULL : cached->bytes;
}

int packed_read(struct packed *packed, void *buffer, size_t size, uint64_t offset)
{
	if (offset > packed->size || size > packed->size - offset)
		return -EIO;
	for (size_t done = 0; done < size;) {
		size_t member = (size_t)((offset + done) / PACKED_MEMBER),
		       in = (size_t)((offset + done) % PACKED_MEMBER);
		size_t count = PACKED_MEMBER - in < size - done ? PACKED_MEMBER - in : size - done;
		int err = 0;

		if (member >= packed->count || packed->members[member].is_zero) {
			memset((char *)buffer + done, 0, count);
		} else {
			const unsigned char *bytes = bytes_of(packed, member, &err);

			if (!bytes)
				return err;
			memcpy((char *)buffer + done, bytes + in, count);
		}
		done += count;
	}
	return 0;
}
