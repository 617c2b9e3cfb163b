/* SPDX-License-Identifier: MIT */
/* Where black boxes are (contract 2): the same list for the plugin, which writes them, and the collector, which looks
 * for them. */
#ifndef BLACKBOX_PLACE_H
#define BLACKBOX_PLACE_H

#include <stddef.h>
#include <sys/types.h>

enum { BOX_PLACES = 4, BOX_PLACE_PATH = 512, BOX_JOB_COMPONENT = 64 };

/* Fills the candidate directories in order: RANKWATCH_DIR itself when given, /dev/shm/rankwatch-<uid>/<job>,
 * $XDG_RUNTIME_DIR/rankwatch/<job>, /tmp/rankwatch-<uid>/<job>. directory, runtime_dir: NULL when not set.
 * Paths that are too long are left out. Returns how many there are. It accesses no file. */
int box_places(const char *directory, const char *runtime_dir, uid_t uid, const char *job,
	       char (*paths)[BOX_PLACE_PATH]);

/* A job's name as one path component: letters, digits and . _ - stay, any other character becomes _. The result is
 * never empty, "." or "..". */
void box_job_component(const char *job, char component[BOX_JOB_COMPONENT]);

#endif
