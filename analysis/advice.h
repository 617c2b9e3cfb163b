/* SPDX-License-Identifier: MIT */
/* What to do about a cause: one line, with the commands that can be copied. */
#ifndef ANALYSIS_ADVICE_H
#define ANALYSIS_ADVICE_H

#include <stddef.h>

#include "analysis/cause.h"
#include "analysis/job.h"

/* Commands name the process by its number, where that is known. */
void advice_find(char *text, size_t room, const struct cause *cause, const struct process *process);

#endif
