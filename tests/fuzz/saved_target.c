/* SPDX-License-Identifier: MIT */
/*
 * Saved boxes, which come from anywhere. The first byte of the input says what the rest is:
 *
 *   even  the file as it lies on the disk
 *   odd   what the file unpacks to, packed here, so that damage gets past gzip's checksum
 *
 * What can be opened can be saved again, and that can be opened, too.
 */
#include "tests/fuzz/box_target.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "blackbox/saved.h"
#include "tests/fuzz/told.h"

#define FIRST  "first" BOX_SAVED_SUFFIX
#define SECOND "second" BOX_SAVED_SUFFIX

enum { SAVED_AGAIN_MAX = 1 << 20 /* the largest boxes take a second each */, TOLD = 64 };

static char directory[] = "/dev/shm/rankwatch-fuzz-XXXXXX";
static int directory_fd = -1;

static void remove_directory(void)
{
	unlinkat(directory_fd, FIRST, 0);
	unlinkat(directory_fd, SECOND, 0);
	rmdir(directory);
}

static void make_directory(void)
{
	directory_fd = mkdtemp(directory) ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (directory_fd < 0) {
		fprintf(stderr, "skipped: no directory in /dev/shm\n");
		exit(77);
	}
	atexit(remove_directory);
}

static void write_file(const uint8_t *data, size_t size, const char *mode)
{
	int fd = openat(directory_fd, FIRST, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	gzFile file = gzdopen(fd, mode);

	if (!file || (size && gzwrite(file, data, (unsigned)size) != (int)size) || gzclose(file) != Z_OK)
		abort();
}

/* Every refusal is a sentence that begins with the file's name. */
static int open_box(struct box_reader *reader, const char *name)
{
	char why[160] = "";
	int err = box_reader_open(reader, directory_fd, name, (uid_t)-1, why);

	if (err && (strncmp(why, name, strlen(name)) || why[strlen(name)] != ':' || reader->fd != -1))
		abort();
	told_text(why);
	return err;
}

/* The header, the first entries of each table and the first slots. */
static void tell_box(const struct box_reader *reader)
{
	static struct rw_communicator communicators[TOLD];
	static struct rw_gpu_progress progress[TOLD];
	static struct rw_wait waits[TOLD];
	static struct rw_operation slots[TOLD];
	enum box_slot states[TOLD];
	int count;

	told(&reader->header, sizeof(reader->header));
	count = box_reader_communicators(reader, 0, TOLD, communicators);
	told_value((uint64_t)count);
	told(communicators, count > 0 ? (size_t)count * sizeof(*communicators) : 0);
	count = box_reader_progress(reader, 0, TOLD, progress);
	told_value((uint64_t)count);
	told(progress, count > 0 ? (size_t)count * sizeof(*progress) : 0);
	count = box_reader_waits(reader, 0, TOLD, waits);
	told_value((uint64_t)count);
	told(waits, count > 0 ? (size_t)count * sizeof(*waits) : 0);
	uint32_t room = reader->header.ring_slots < TOLD ? reader->header.ring_slots : TOLD;

	count = box_reader_operations(reader, 0, room, slots, states);
	told_value((uint64_t)count);
	for (int i = 0; i < count; i++) {
		told_value(states[i]);
		told(&slots[i], states[i] == BOX_SLOT_OK || states[i] == BOX_SLOT_OLDER ? sizeof(slots[i]) : 0);
	}
}

static void save_again(struct box_reader *reader)
{
	struct box_reader again;
	char why[160];

	if (box_save(reader, directory_fd, SECOND, why) || open_box(&again, SECOND) ||
	    again.header.total_size != reader->header.total_size || again.header.head != reader->header.head)
		abort();
	tell_box(&again);
	box_reader_close(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct box_reader reader;

	if (directory_fd < 0)
		make_directory();
	if (!size)
		return 0;
	write_file(data + 1, size - 1, data[0] & 1 ? "wb1" : "wbT");
	if (open_box(&reader, FIRST))
		return 0;
	tell_box(&reader);
	if (reader.header.total_size <= SAVED_AGAIN_MAX)
		save_again(&reader);
	box_reader_close(&reader);
	return 0;
}
