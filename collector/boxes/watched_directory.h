/* SPDX-License-Identifier: MIT */
/* One directory in which black boxes may appear. It need not exist yet. */
#ifndef COLLECTOR_BOXES_WATCHED_DIRECTORY_H
#define COLLECTOR_BOXES_WATCHED_DIRECTORY_H

#include <stdbool.h>
#include <uv.h>

struct watched_directory;

/* One name in it, any that there is; dirfd is open until the call returns. */
typedef void watched_directory_visit(void *argument, const char *directory, int dirfd, const char *name);

/* *changed is set on the loop's thread when a name in it comes or goes, as far as it can be watched. 0 or -ENOMEM. */
int watched_directory_open(struct watched_directory **directory, uv_loop_t *loop, const char *path, bool *changed);
/* 0, also when it does not exist; -errno: the directory could not be read, which says nothing about its files. -EAGAIN:
 * its file system has not answered yet. A child asks it first, for which the first scan waits 1 s and later ones not at
 * all; that it does not answer is said once, and that it does later. One that has answered once is trusted. */
int watched_directory_scan(struct watched_directory *directory, watched_directory_visit *visit, void *argument);
bool watched_directory_answers(const struct watched_directory *directory);
const char *watched_directory_path(const struct watched_directory *directory);
/* Freed when the loop has run once more; *changed may be gone by then. */
void watched_directory_close(struct watched_directory *directory);

#endif
