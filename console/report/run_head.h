/* SPDX-License-Identifier: MIT */
/* What a report says of a run beside its findings: which it was, who was seen of it, and how it ended. */
#ifndef CONSOLE_REPORT_RUN_HEAD_H
#define CONSOLE_REPORT_RUN_HEAD_H

#include <stdio.h>

#include "console/replay/replay.h"

/* Which job this is of, in one line. width: columns of the terminal. */
void run_head_print_job(FILE *out, const struct replay *replay, int width);
/* Who was seen of it, how it ended, what was recorded and where its time went. now_ns: CLOCK_REALTIME. */
void run_head_print_record(FILE *out, const struct replay *replay, uint64_t now_ns, int width);
/* Of an earlier start of a job that was started again: which, who was seen of it and how it ended. */
void run_head_print_earlier(FILE *out, const struct replay *replay, uint64_t now_ns, int width);

#endif
