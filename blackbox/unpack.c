/* SPDX-License-Identifier: MIT */
#include "blackbox/unpack.h"

#include <endian.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "blackbox/write_all.h"

enum {
	WHY = 160,
	TOTAL_MAX = 64 * 1024 * 1024, /* the largest box has 34 MiB: a small file must not unpack to a large one */
};

/* Whether all of these bytes could be read. */
static bool read_whole(int fd, void *buffer, size_t size, off_t offset)
{
	for (size_t done = 0; done < size;) {
		ssize_t got = pread(fd, (char *)buffer + done, size - done, offset + (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

bool box_saved_is(int fd)
{
	unsigned char magic[2];

	return read_whole(fd, magic, sizeof(magic), 0) && magic[0] == 0x1f && magic[1] == 0x8b;
}

static int refuse(char *why, int err, const char *name, const char *what)
{
	if (why)
		snprintf(why, WHY, "%.80s: %s", name, what);
	return err;
}

/* What has come out of a file so far. */
struct unpacked {
	uint64_t bytes;
	uLong crc;
};

static int keep(struct unpacked *unpacked, int memory, const void *bytes, size_t size)
{
	unpacked->bytes += size;
	unpacked->crc = crc32(unpacked->crc, bytes, (uInt)size);
	return write_all(memory, bytes, size);
}

/* gzip's last eight bytes are the CRC and the length of what was packed, little endian. zlib does not see the end of a
 * file that was cut where its output buffer is just full, so they are compared here. */
static bool is_whole(int fd, const struct unpacked *unpacked)
{
	uint32_t expected[] = { htole32((uint32_t)unpacked->crc), htole32((uint32_t)unpacked->bytes) };
	char last[sizeof(expected)];
	struct stat status;

	return !fstat(fd, &status) && status.st_size > (off_t)sizeof(last) &&
	       read_whole(fd, last, sizeof(last), status.st_size - (off_t)sizeof(last)) &&
	       !memcmp(last, expected, sizeof(last));
}

/* The rest of the file behind its header, at most as long as the header says. */
static int unpack_rest(gzFile file, int fd, int memory, struct unpacked *unpacked, uint64_t size, const char *name,
		       char *why)
{
	char bytes[65536];
	int got, err = 0;

	while (!err && (got = gzread(file, bytes, sizeof(bytes))) > 0) {
		if ((uint64_t)got > size - unpacked->bytes)
			return refuse(why, -EINVAL, name, "damaged: longer than its header says");
		err = keep(unpacked, memory, bytes, (size_t)got);
	}
	if (err)
		return refuse(why, err, name, strerror(-err));
	gzerror(file, &got);
	return (got == Z_OK || got == Z_STREAM_END) && is_whole(fd, unpacked)
		   ? 0
		   : refuse(why, -EINVAL, name, "damaged: its gzip data end early or are wrong");
}

/* Of all such files that are open. */
static _Atomic uint64_t unpacked_bytes;

static bool account(uint64_t bytes)
{
	if (atomic_fetch_add(&unpacked_bytes, bytes) + bytes <= BOX_SAVED_MOST)
		return true;
	atomic_fetch_sub(&unpacked_bytes, bytes);
	return false;
}

void box_saved_forget(uint64_t bytes)
{
	atomic_fetch_sub(&unpacked_bytes, bytes);
}

bool box_saved_header(struct rw_box_header *header, const void *bytes, size_t size)
{
	if (size < sizeof(*header))
		return false;
	memcpy(header, bytes, sizeof(*header));
	return !memcmp(header->magic, RW_BOX_MAGIC, sizeof(header->magic)) && header->total_size >= sizeof(*header) &&
	       header->total_size <= TOTAL_MAX;
}

static int unpack(gzFile file, int fd, uint64_t *bytes, const char *name, char *why)
{
	struct unpacked unpacked = { 0 };
	struct rw_box_header header;

	char first[sizeof(header)];
	int got = gzread(file, first, sizeof(first));

	if (got < 0 || !box_saved_header(&header, first, (size_t)got))
		return refuse(why, -EINVAL, name, "not a black box (gzip of something else, or damaged)");
	if (!account(header.total_size))
		return refuse(why, -ENOMEM, name,
			      "too many such boxes are open (packed by gzip or an older rankwatch)");
	*bytes = header.total_size;

	int memory = memfd_create("rwbox", MFD_CLOEXEC), err;

	if (memory < 0 || ftruncate(memory, (off_t)header.total_size)) {
		err = refuse(why, -errno, name, strerror(errno));
	} else {
		err = keep(&unpacked, memory, &header, sizeof(header));
		err = err ? refuse(why, err, name, strerror(-err))
			  : unpack_rest(file, fd, memory, &unpacked, header.total_size, name, why);
	}
	if (err && memory >= 0)
		close(memory);
	return err ? err : memory;
}

int box_saved_unpack(int fd, uint64_t *bytes, const char *name, char *why)
{
	int twin = dup(fd);
	gzFile file = twin >= 0 && lseek(twin, 0, SEEK_SET) == 0 ? gzdopen(twin, "rb") : NULL;

	if (!file) {
		if (twin >= 0)
			close(twin);
		return refuse(why, -ENOMEM, name, "no memory or descriptor to unpack it");
	}
	gzbuffer(file, 128 * 1024);
	*bytes = 0;
	int memory = unpack(file, fd, bytes, name, why);

	gzclose(file);
	if (memory < 0) {
		box_saved_forget(*bytes);
		*bytes = 0;
	}
	return memory;
}
