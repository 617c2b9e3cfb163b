/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "blackbox/reader.h"
#include "blackbox/saved.h"
#include "collector/boxes/live_box.h"
#include "machine.h"

enum { CHUNK = 32 /* words: an operation */, ROUNDS = 8 };

struct watched_box {
	char name[TAPE_PATH];
	struct box_reader reader;
	struct live_box process; /* of it the writer */
	const uint64_t *words;   /* the file, as it is */
	pid_t writer;
	bool ended;
};

struct recorded_boxes {
	const char *directory;
	struct watched_box boxes[TAPE_BOXES];
	size_t count;
};

struct recorded_boxes *recorded_boxes_new(const char *directory)
{
	struct recorded_boxes *boxes = calloc(1, sizeof(*boxes));

	if (boxes)
		boxes->directory = directory;
	return boxes;
}

static bool is_known(const struct recorded_boxes *boxes, const char *name)
{
	for (size_t i = 0; i < boxes->count; i++)
		if (!strcmp(boxes->boxes[i].name, name))
			return true;
	return false;
}

/* A file that is no box yet is looked at again. */
static void add(struct recorded_boxes *boxes, int dirfd, const char *name)
{
	struct watched_box *box = &boxes->boxes[boxes->count];

	if (boxes->count == TAPE_BOXES || is_known(boxes, name))
		return;
	*box = (struct watched_box){ .process = { .writer = WRITER_PROCESS_NONE, .exit_status = -1 } };
	if (box_reader_open(&box->reader, dirfd, name, (uid_t)-1, NULL))
		return;
	box->words = mmap(NULL, box->reader.header.total_size, PROT_READ, MAP_SHARED, box->reader.fd, 0);
	if (box->words == MAP_FAILED) {
		box_reader_close(&box->reader);
		return;
	}
	snprintf(box->name, sizeof(box->name), "%s", name);
	boxes->count++;
}

static void scan(struct recorded_boxes *boxes)
{
	int fd = open(boxes->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	for (const struct dirent *entry; directory && (entry = readdir(directory));)
		if (box_is_name(entry->d_name))
			add(boxes, fd, entry->d_name);
	if (directory)
		closedir(directory);
}

/* The words as they were at one moment: two copies alike, as the writer stores what validates the rest last. */
static void copy_chunk(const uint64_t *from, uint64_t *to, size_t count)
{
	uint64_t again[CHUNK];

	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < count; i++)
			to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
		for (size_t i = 0; i < count; i++)
			again[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
		if (!memcmp(to, again, count * sizeof(*to)))
			return;
	}
}

struct changes {
	struct recording *recording;
	struct recorded_file *box;
};

static void compare(const struct changes *changes, const uint64_t *live, size_t first, size_t count)
{
	const uint64_t *old = (const uint64_t *)changes->box->text + first;
	uint64_t now[CHUNK];

	if (!memcmp(live + first, old, count * sizeof(*old)))
		return;
	copy_chunk(live + first, now, count);
	recording_box_words(changes->recording, changes->box, first, now, count);
}

static void compare_range(const struct changes *changes, const uint64_t *live, uint64_t offset, uint64_t bytes)
{
	for (uint64_t at = offset / 8, end = (offset + bytes + 7) / 8; at < end; at += CHUNK)
		compare(changes, live, at, end - at < CHUNK ? end - at : CHUNK);
}

static uint64_t used(uint64_t head, uint64_t slots)
{
	return head < slots ? head : slots;
}

/* In the order of the file, and what the counters of the header promise after them, as a reader reads. */
static void read_box(struct watched_box *box, struct recording *recording)
{
	char path[TAPE_PATH + 8];

	snprintf(path, sizeof(path), "boxes/%s", box->name);
	const struct changes changes = { recording, recording_box(recording, path, box->reader.header.total_size) };

	recording_box_begin(recording, changes.box);
	compare_range(&changes, box->words, 0, sizeof(struct rw_box_header));
	box_reader_refresh(&box->reader);

	const struct rw_box_header *header = &box->reader.header;

	compare_range(&changes, box->words, header->control_offset, RW_BOX_LEASES * sizeof(struct rw_lease));
	compare_range(&changes, box->words, header->comms_offset, header->comms_used * sizeof(struct rw_communicator));
	compare_range(&changes, box->words, header->gpu_offset, header->comms_used * sizeof(struct rw_gpu_progress));
	compare_range(&changes, box->words, header->samples_offset,
		      used(header->samples_head, header->sample_slots) * sizeof(struct rw_host_sample));
	compare_range(&changes, box->words, header->ring_offset,
		      used(header->head, header->ring_slots) * sizeof(struct rw_operation));
	if (box_has_waits(header))
		compare_range(&changes, box->words, header->waits_offset, header->wait_slots * sizeof(struct rw_wait));
	recording_box_end(recording, changes.box);
}

/* The lock, then, once the process has ended, its exit status as far as an ordinary user learns of it. */
static void read_life(struct watched_box *box, struct recording *recording)
{
	char path[TAPE_PATH + 8], text[24], why[WRITER_PROCESS_WHY];
	pid_t pid;
	bool alive = box_reader_life(&box->reader, &pid) == BOX_ALIVE;

	snprintf(path, sizeof(path), "life/%s", box->name);
	snprintf(text, sizeof(text), "%d", (int)pid);
	if (alive && !box->writer) {
		box->writer = pid;
		live_box_hold_process(&box->process, &box->reader, pid, why);
	}
	if (alive) {
		recording_text(recording, path, text, strlen(text));
		return;
	}
	recording_gone(recording, path);
	box->ended = true;
	int status = live_box_exit_status(&box->process);

	snprintf(path, sizeof(path), "exit/%d", (int)box->writer);
	snprintf(text, sizeof(text), "%d", status);
	if (status >= 0)
		recording_text(recording, path, text, strlen(text));
}

/* Life first: what a process leaves is complete when it is read after. */
void recorded_boxes_look(struct recorded_boxes *boxes, struct recording *recording)
{
	scan(boxes);
	for (size_t i = 0; i < boxes->count; i++) {
		read_life(&boxes->boxes[i], recording);
		read_box(&boxes->boxes[i], recording);
	}
}

size_t recorded_boxes_writers(const struct recorded_boxes *boxes, pid_t *pids, size_t room)
{
	size_t count = 0;

	for (size_t i = 0; i < boxes->count && count < room; i++)
		if (boxes->boxes[i].writer && !boxes->boxes[i].ended)
			pids[count++] = boxes->boxes[i].writer;
	return count;
}

bool recorded_boxes_are_left(const struct recorded_boxes *boxes)
{
	for (size_t i = 0; i < boxes->count; i++)
		if (!boxes->boxes[i].ended)
			return false;
	return boxes->count > 0;
}

void recorded_boxes_free(struct recorded_boxes *boxes)
{
	for (size_t i = 0; i < boxes->count; i++) {
		munmap((void *)boxes->boxes[i].words, boxes->boxes[i].reader.header.total_size);
		box_reader_close(&boxes->boxes[i].reader);
		writer_process_close(&boxes->boxes[i].process.writer);
	}
	free(boxes);
}
