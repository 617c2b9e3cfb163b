/* SPDX-License-Identifier: MIT */
/* What the targets that play whole jobs hear of one: a file whose text becomes part of the input's number (told.h), and
 * promises about findings. */
#ifndef TESTS_FUZZ_HEARD_H
#define TESTS_FUZZ_HEARD_H

#include <stdbool.h>
#include <stdio.h>

#include <rankwatch/finding.h>

/* Of all targets: set by `replay_packed --print`, which shows what a job is and all that is heard of it. */
extern bool heard_prints;

/* The file, always the same. */
FILE *heard_file(void);
/* At the beginning of each job, and of what is told once more: no finding is open. */
void heard_nothing_yet(void);
/* Writes the finding into the file. Aborts where a finding is opened that is open, or continued that is not; where its
 * ranks are not in the job or not in order, a share is above 1, or nothing is said. `by`: who reports it, each with ids
 * of its own. */
void heard_finding(const char *by, const struct rw_finding *finding, int ranks);
/* The job is over: the file's text is part of the number. */
void heard_all(void);

#endif
