/* SPDX-License-Identifier: MIT */
#include "collector/boxes/watched_directory.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/foreign_text.h"
#include "base/in_time.h"
#include "base/shortage.h"
#include "blackbox/place.h"

struct watched_directory {
	uv_fs_event_t watch; /* first: freed through its handle */
	bool *changed;
	char path[BOX_PLACE_PATH];
	bool watched;
	bool answers, silence_said; /* nothing is read here before it has answered somebody else */
	struct in_time_work question;
};

enum { FIRST_ANSWER_MS = 1000 };

/* Whether it exists does not matter. */
static void ask(const void *path, void *err)
{
	DIR *stream = opendir(path);

	*(int *)err = stream ? 0 : -errno;
	if (stream)
		closedir(stream);
}

static void say_silence(struct watched_directory *directory)
{
	if (!directory->silence_said)
		foreign_line(stderr, "rankwatch: %s: does not answer: no black box is looked for there until it does",
			     directory->path);
	directory->silence_said = true;
}

/* 0: it has answered. The first time the answer is waited for, as nothing else is to be done yet. Its child stays until
 * it answers: nobody can end it before. */
static int get_answer(struct watched_directory *directory)
{
	int result, err = directory->question.child
			      ? 0
			      : in_time_begin(&directory->question, ask, directory->path, sizeof(result));

	if (shortage_is(err))
		return err;
	if (directory->question.child)
		err = in_time_result(&directory->question, &result, directory->silence_said ? 0 : FIRST_ANSWER_MS);
	if (directory->question.child) {
		say_silence(directory);
		return -EAGAIN;
	}
	if (directory->silence_said)
		foreign_line(stderr, "rankwatch: %s: answers again", directory->path);
	directory->answers = true; /* or nobody can be asked: no process may be started here, or it crashed */
	return 0;
}

bool watched_directory_answers(const struct watched_directory *directory)
{
	return directory->answers;
}

static void on_change(uv_fs_event_t *watch, const char *name, int events, int status)
{
	struct watched_directory *directory = watch->data;

	(void)name;
	/* Not where something is written to a box, as we do ourselves: what becomes readable by that is found by the
	 * rescan. */
	*directory->changed |= status < 0 || events & UV_RENAME;
	if (status < 0) {
		uv_fs_event_stop(watch);
		directory->watched = false;
	}
}

int watched_directory_scan(struct watched_directory *directory, watched_directory_visit *visit, void *argument)
{
	int err = directory->answers ? 0 : get_answer(directory);

	if (err)
		return err;

	DIR *stream = opendir(directory->path);

	if (!stream) {
		directory->watched = false;
		return errno == ENOENT ? 0 : -errno;
	}
	/* Without inotify (its limits are per user) the rescan finds everything, a second later. */
	if (!directory->watched)
		directory->watched = uv_fs_event_start(&directory->watch, on_change, directory->path, 0) == 0;
	for (const struct dirent *entry; (entry = readdir(stream));)
		visit(argument, directory->path, dirfd(stream), entry->d_name);
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
	in_time_give_up(&directory->question);
	uv_close((uv_handle_t *)&directory->watch, free_directory);
}
