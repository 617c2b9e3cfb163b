/* SPDX-License-Identifier: MIT */
/*
 * Which boxes belong together: a run is what shares communicators, or waits for the same one to be made, within one
 * job, so that yesterday's boxes of a job of the same name stay apart from today's.
 */
#ifndef CONSOLE_BOXES_BOX_RUNS_H
#define CONSOLE_BOXES_BOX_RUNS_H

#include "console/boxes/boxes.h"

/* Sorts the entries by run, the newest first, and by rank, and numbers the runs. 0 or -ENOMEM. */
int box_runs_number(struct boxes *boxes);
/* Keeps the boxes of this job and closes the others; NULL keeps all. */
void box_runs_keep_job(struct boxes *boxes, const char *job);
/* Entries of run `run`: returns how many, the first in *first. */
size_t box_runs_entries(const struct boxes *boxes, size_t run, size_t *first);
/* The next older run that is an earlier start of the same job as `run`: of the same name, and restarted fewer times.
 * Runs of that name beyond one that was restarted more often are of another launch. 0 (which is no older run): there is
 * none. */
size_t box_runs_earlier(const struct boxes *boxes, size_t run);

#endif
