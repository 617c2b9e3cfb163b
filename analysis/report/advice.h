/* SPDX-License-Identifier: MIT */
/* Advice about a cause: one line, with commands that can be copied. */
#ifndef ANALYSIS_REPORT_ADVICE_H
#define ANALYSIS_REPORT_ADVICE_H

#include <stddef.h>

#include "analysis/explain/cause.h"
#include "analysis/known/job.h"

/* Writes the advice to `text` of `room` bytes. Commands have the process's pid, where that is known. */
void advice_find(char *text, size_t room, const struct cause *cause, const struct process *process);

#endif
