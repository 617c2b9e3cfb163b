/* SPDX-License-Identifier: MIT */
#include "blackbox/box_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blackbox/place.h"
#include "blackbox/run_mark.h"
#include "blackbox/saved.h"

/* A saved box, as the limit sees it. */
struct stored {
	char path[2 * NAME_MAX + 2]; /* below the store's directory */
	uint64_t size;
	int64_t saved_ns;
};

struct inventory {
	struct stored *items;
	size_t count, room;
	uint64_t size; /* of all */
};

static int open_directory(int parent, const char *path)
{
	if (mkdirat(parent, path, 0700) && errno != EEXIST)
		return -errno;
	int fd = openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int box_store_open(struct box_store *store, const char *directory, const char *job, uint64_t limit,
		   char why[BOX_STORE_WHY])
{
	char component[BOX_JOB_COMPONENT];

	*store = (struct box_store){ .all_fd = -1, .job_fd = -1, .limit = limit };
	box_job_component(job, component);
	snprintf(store->path, sizeof(store->path), "%s/%s", directory, component);
	store->all_fd = open_directory(AT_FDCWD, directory);
	if (store->all_fd >= 0)
		store->job_fd = open_directory(store->all_fd, component);
	int err = store->all_fd < 0 ? store->all_fd : store->job_fd < 0 ? store->job_fd : 0;

	if (!err && faccessat(store->job_fd, ".", W_OK | X_OK, 0))
		err = -errno;
	if (err) {
		snprintf(why, BOX_STORE_WHY, "%.100s: %s", store->path, strerror(-err));
		box_store_close(store);
	}
	return err;
}

static void note(struct inventory *inventory, const char *directory, const char *name, const struct stat *status)
{
	if (inventory->count == inventory->room) {
		size_t room = inventory->room ? inventory->room * 2 : 64;
		struct stored *items = reallocarray(inventory->items, room, sizeof(*items));

		if (!items)
			return; /* fewer are candidates for removal */
		inventory->items = items;
		inventory->room = room;
	}
	struct stored *stored = &inventory->items[inventory->count++];

	snprintf(stored->path, sizeof(stored->path), "%s/%s", directory, name);
	stored->size = (uint64_t)status->st_size;
	stored->saved_ns = status->st_mtim.tv_sec * INT64_C(1000000000) + status->st_mtim.tv_nsec;
	inventory->size += stored->size;
}

static bool is_saved(const char *name)
{
	size_t length = strlen(name), suffix = strlen(BOX_SAVED_SUFFIX);

	return (length > suffix && !strcmp(name + length - suffix, BOX_SAVED_SUFFIX)) || evidence_is_name(name);
}

static void take_stock_of(struct inventory *inventory, int all_fd, const char *directory)
{
	int fd = openat(all_fd, directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
	struct stat status;

	if (!entries) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (const struct dirent *entry; (entry = readdir(entries));) {
		if (is_saved(entry->d_name) && !fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(status.st_mode))
			note(inventory, directory, entry->d_name, &status);
	}
	closedir(entries);
}

static int by_age(const void *left, const void *right)
{
	const struct stored *a = left, *b = right;

	return (a->saved_ns > b->saved_ns) - (a->saved_ns < b->saved_ns);
}

static void take_stock(const struct box_store *store, struct inventory *inventory)
{
	int fd = dup(store->all_fd);
	DIR *jobs = fd >= 0 ? fdopendir(fd) : NULL;

	if (!jobs)
		return;
	rewinddir(jobs); /* the descriptor's place is shared with the one before */
	for (const struct dirent *entry; (entry = readdir(jobs));)
		if (entry->d_name[0] != '.' && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
			take_stock_of(inventory, store->all_fd, entry->d_name);
	closedir(jobs);
	if (inventory->count)
		qsort(inventory->items, inventory->count, sizeof(*inventory->items), by_age);
}

static bool is_beside_box(const struct box_store *store, const struct stored *stored)
{
	const char *slash = strchr(stored->path, '/');
	char directory[NAME_MAX + 1];

	snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - stored->path) : 0, stored->path);
	int fd = openat(store->all_fd, directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool is = fd < 0 || run_mark_holds_box(fd);

	if (fd >= 0)
		close(fd);
	return is;
}

/* Only those that are whole boxes of processes that have ended: whatever else lies there is not ours to remove. */
static bool is_finished(const struct box_store *store, const struct stored *stored)
{
	struct box_reader reader;

	if (evidence_is_name(stored->path))
		return !is_beside_box(store, stored);
	if (box_reader_open(&reader, store->all_fd, stored->path, (uid_t)-1, NULL))
		return false;
	bool finished = box_reader_life(&reader, NULL) == BOX_ORPHANED;

	box_reader_close(&reader);
	return finished;
}

/* It stays: a limit below the size of one box must not keep nothing. */
static bool is_just_saved(const struct box_store *store, const struct stored *stored)
{
	const char *slash = strrchr(store->path, '/');
	char path[BOX_STORE_PATH + sizeof(store->name)];

	snprintf(path, sizeof(path), "%s/%s", slash ? slash + 1 : store->path, store->name);
	return !strcmp(path, stored->path);
}

static void keep_limit(struct box_store *store)
{
	struct inventory inventory = { 0 };

	take_stock(store, &inventory);
	for (size_t i = 0; i < inventory.count && inventory.size > store->limit; i++) {
		const struct stored *stored = &inventory.items[i];

		if (is_just_saved(store, stored) || !is_finished(store, stored) ||
		    unlinkat(store->all_fd, stored->path, 0))
			continue;
		inventory.size -= stored->size;
		store->removed++;
	}
	free(inventory.items);
}

int box_store_save(struct box_store *store, struct box_reader *reader, char why[BOX_STORE_WHY])
{
	box_saved_name(&reader->header, store->name);
	int err = box_save(reader, store->job_fd, store->name, why);

	store->saved += !err;
	if (!err && store->limit)
		keep_limit(store);
	return err;
}

int box_store_save_evidence(struct box_store *store, int directory, const char *name, char why[BOX_STORE_WHY])
{
	int err = evidence_save(directory, name, store->job_fd, store->name, why);

	if (!err && store->limit)
		keep_limit(store);
	return err;
}

void box_store_close(struct box_store *store)
{
	if (store->all_fd >= 0)
		close(store->all_fd);
	if (store->job_fd >= 0)
		close(store->job_fd);
	store->all_fd = store->job_fd = -1;
}
