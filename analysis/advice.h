/* SPDX-License-Identifier: MIT */
/* Advice about a cause: one line, with commands that can be copied. */
#ifndef ANALYSIS_ADVICE_H
#define ANALYSIS_ADVICE_H

#include <stddef.h>

#include "analysis/cause.h"
#include "analysis/job.h"

/* Writes the advice to `text` of `room` bytes. Commands have the process's pid, where that is known. */
void advice_find(char *text, size_t room, const struct cause *cause, const struct process *process);

#endif
