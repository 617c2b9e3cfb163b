/* SPDX-License-Identifier: MIT */
#include "console/boxes/boxes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "blackbox/place.h"
#include "blackbox/saved.h"
#include "console/boxes/box_runs.h"

/* What one search carries along. */
struct search {
	struct boxes *boxes;
	bool live;   /* no saved boxes */
	uid_t owner; /* (uid_t)-1: anybody, the user named the place */
	boxes_refuse *refuse;
	void *argument;
	int error;
};

enum { WHY = 256 };

static void refuse_path(struct search *search, const char *path, const char *why)
{
	search->boxes->refused++;
	search->refuse(search->argument, path, why);
}

static void add_box(struct search *search, const char *path)
{
	struct boxes *boxes = search->boxes;
	struct box_entry entry = { .reader.fd = -1 };
	char why[WHY] = "";
	int error =
	    (search->live ? box_reader_open_live : box_reader_open)(&entry.reader, AT_FDCWD, path, search->owner, why);

	if (error) {
		size_t length = strlen(path);
		/* The reader's sentence starts with the path. */
		bool named = !strncmp(why, path, length) && !strncmp(why + length, ": ", 2);

		refuse_path(search, path, named ? why + length + 2 : *why ? why : strerror(-error));
		return;
	}
	entry.path = strdup(path);
	struct box_entry *entries = reallocarray(boxes->entries, boxes->count + 1, sizeof(*entries));

	if (entries)
		boxes->entries = entries;
	if (!entries || !entry.path) {
		box_reader_close(&entry.reader);
		free(entry.path);
		search->error = -ENOMEM;
		return;
	}
	entries[boxes->count++] = entry;
}

/* Boxes in this directory and, `depth` levels down, in its subdirectories. */
static void add_directory(struct search *search, const char *path, int depth)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	if (!directory) {
		refuse_path(search, path, strerror(errno));
		return;
	}
	while (!search->error && (entry = readdir(directory))) {
		char child[PATH_MAX];

		if (entry->d_name[0] == '.' ||
		    snprintf(child, sizeof(child), "%s/%s", path, entry->d_name) >= (int)sizeof(child))
			continue;
		if (box_is_name(entry->d_name))
			add_box(search, child);
		else if (depth > 0 && entry->d_type == DT_DIR)
			add_directory(search, child, depth - 1);
	}
	closedir(directory);
}

static void add_named(struct search *search, const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0)
		refuse_path(search, path, strerror(errno));
	else if (S_ISDIR(status.st_mode))
		add_directory(search, path, 1);
	else
		add_box(search, path);
}

/* The contract's directories hold one directory per job: look from one level above, so that every job is found. */
static void add_usual_places(struct search *search)
{
	char places[BOX_PLACES][BOX_PLACE_PATH];
	const char *directory = getenv("RANKWATCH_DIR");
	int count = box_places(directory, getenv("XDG_RUNTIME_DIR"), getuid(), "job", places);

	search->owner = getuid();
	for (int i = 0; i < count; i++) {
		bool given = directory && i == 0;

		if (!given)
			*strrchr(places[i], '/') = '\0';
		if (access(places[i], F_OK) == 0)
			add_directory(search, places[i], 1);
	}
}

int box_communicators(const struct box_reader *reader, struct rw_communicator **communicators, uint32_t *count)
{
	uint32_t used = (uint32_t)reader->header.comms_used;

	*count = 0;
	if (used > reader->header.comm_slots)
		used = reader->header.comm_slots;
	*communicators = calloc(used ? used : 1, sizeof(**communicators));
	if (!*communicators)
		return -ENOMEM;
	int copied = used ? box_reader_communicators(reader, 0, used, *communicators) : 0;

	if (copied < 0)
		return copied;
	*count = (uint32_t)copied;
	return 0;
}

int32_t box_rank(const struct box_reader *reader)
{
	struct rw_communicator *communicators;
	uint32_t count;
	int32_t rank = -1, largest = 0;

	if (reader->header.world_rank >= 0)
		return reader->header.world_rank;
	box_communicators(reader, &communicators, &count);
	for (uint32_t i = 0; i < count; i++) {
		if (communicators[i].created_ns && communicators[i].nranks > largest) {
			largest = communicators[i].nranks;
			rank = communicators[i].rank;
		}
	}
	free(communicators);
	return rank;
}

int64_t box_realtime_offset(const struct rw_box_header *header)
{
	uint32_t written = header->anchors_written;

	for (uint32_t back = 1; back <= RW_BOX_ANCHORS && back <= written; back++) {
		const struct rw_anchor *anchor = &header->anchors[(written - back) % RW_BOX_ANCHORS];

		if (anchor->monotonic_ns && anchor->realtime_ns)
			return (int64_t)(anchor->realtime_ns - anchor->monotonic_ns);
	}
	return (int64_t)(header->created_realtime_ns - header->created_ns);
}

static void ignore(void *argument, const char *path, const char *why)
{
	(void)argument, (void)path, (void)why;
}

/* Names in /dev/shm and /tmp are anybody's: a link there could lead to boxes that are to stay. So could a disk. */
static bool is_own_memory(const char *path)
{
	struct statfs system;
	struct stat status;

	return !lstat(path, &status) && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
	       !(status.st_mode & (S_IWGRP | S_IWOTH)) && !statfs(path, &system) &&
	       (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC || system.f_type == HUGETLBFS_MAGIC);
}

int boxes_open_in_memory(struct boxes *boxes)
{
	struct search search = { .boxes = boxes, .live = true, .owner = geteuid(), .refuse = ignore };
	char places[BOX_PLACES][BOX_PLACE_PATH];
	const char *directory = getenv("RANKWATCH_DIR");
	bool named = directory && is_own_memory(directory);
	int count = named ? 0 : box_places(NULL, getenv("XDG_RUNTIME_DIR"), geteuid(), "job", places);

	*boxes = (struct boxes){ 0 };
	if (named)
		add_directory(&search, directory, 1);
	for (int i = 0; i < count; i++) {
		*strrchr(places[i], '/') = '\0';
		if (is_own_memory(places[i]))
			add_directory(&search, places[i], 1);
	}
	return search.error ? search.error : box_runs_number(boxes);
}

int boxes_open(struct boxes *boxes, char *const *paths, size_t count, boxes_refuse *refuse, void *argument)
{
	struct search search = { .boxes = boxes, .owner = (uid_t)-1, .refuse = refuse, .argument = argument };

	*boxes = (struct boxes){ 0 };
	if (count == 0)
		add_usual_places(&search);
	for (size_t i = 0; i < count; i++)
		add_named(&search, paths[i]);
	return search.error ? search.error : box_runs_number(boxes);
}

void boxes_close(struct boxes *boxes)
{
	for (size_t i = 0; i < boxes->count; i++) {
		box_reader_close(&boxes->entries[i].reader);
		free(boxes->entries[i].path);
	}
	free(boxes->entries);
	*boxes = (struct boxes){ 0 };
}
