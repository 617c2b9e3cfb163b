/* SPDX-License-Identifier: MIT */
/* The head of a report: which run this was, who was seen of it, and how it ended. */
#ifndef CONSOLE_RUN_HEAD_H
#define CONSOLE_RUN_HEAD_H

#include <stdio.h>

#include "console/replay.h"

/* now_ns: CLOCK_REALTIME. width: columns of the terminal. */
void run_head_print(FILE *out, const struct replay *replay, uint64_t now_ns, int width);
/* Of an earlier start of a job that was started again: which, who was seen of it and how it ended. */
void run_head_print_earlier(FILE *out, const struct replay *replay, uint64_t now_ns, int width);

#endif
