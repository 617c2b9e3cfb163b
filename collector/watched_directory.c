/* SPDX-License-Identifier: MIT */
#include "collector/watched_directory.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "blackbox/place.h"

struct watched_directory {
	uv_fs_event_t watch; /* first: freed through its handle */
	bool *changed;
	char path[BOX_PLACE_PATH];
	bool watched;
};

static void on_change(uv_fs_event_t *watch, const char *name, int events, int status)
{
	struct watched_directory *directory = watch->data;

	(void)name, (void)events;
	*directory->changed = true;
	if (status < 0) {
		uv_fs_event_stop(watch);
		directory->watched = false;
	}
}

int watched_directory_scan(struct watched_directory *directory, watched_directory_look *look, void *argument)
{
	DIR *stream = opendir(directory->path);

	if (!stream) {
		directory->watched = false;
		return errno == ENOENT ? 0 : -errno;
	}
	/* Without inotify (its limits are per user) the rescan finds everything, a second later. */
	if (!directory->watched)
		directory->watched = uv_fs_event_start(&directory->watch, on_change, directory->path, 0) == 0;
	for (const struct dirent *entry; (entry = readdir(stream));)
		look(argument, directory->path, dirfd(stream), entry->d_name);
	closedir(stream);
	return 0;
}

const char *watched_directory_path(const struct watched_directory *directory)
{
	return directory->path;
}

int watched_directory_open(struct watched_directory **directory, uv_loop_t *loop, const char *path, bool *changed)
{
	struct watched_directory *made = calloc(1, sizeof(*made));

	*directory = made;
	if (!made)
		return -ENOMEM;
	made->changed = changed;
	snprintf(made->path, sizeof(made->path), "%s", path);
	uv_fs_event_init(loop, &made->watch);
	made->watch.data = made;
	return 0;
}

static void free_directory(uv_handle_t *watch)
{
	free(watch->data);
}

void watched_directory_close(struct watched_directory *directory)
{
	uv_close((uv_handle_t *)&directory->watch, free_directory);
}
