/* SPDX-License-Identifier: MIT */
/* What held a process up, and how it ended, in a few words. */
#ifndef ANALYSIS_REPORT_CAUSE_TEXT_H
#define ANALYSIS_REPORT_CAUSE_TEXT_H

#include <stddef.h>

#include "analysis/explain/cause.h"

struct process;

/* "killed by signal 9", "exited with status 3" */
void cause_text_end(char *text, size_t room, const struct process *process);
/* "fsync(2)", "waits for a CPU", "killed by signal 9" */
void cause_text(char *text, size_t room, const struct cause *cause, const struct process *process);

#endif
