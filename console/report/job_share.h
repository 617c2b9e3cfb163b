/* SPDX-License-Identifier: MIT */
/* Which share of a job is seen: so that nobody takes what was found in a part of it for the whole. */
#ifndef CONSOLE_REPORT_JOB_SHARE_H
#define CONSOLE_REPORT_JOB_SHARE_H

#include <stddef.h>
#include <stdint.h>

#define JOB_SHARE_LEVEL "self" /* how deep black boxes show it, as in docs/host-evidence.md */

enum { JOB_SHARE_TEXT = 64 };

/* "8 of 8 ranks"; "8 ranks, of how many is not known" where total is below 1. Returns text. */
char *job_share_text(char text[JOB_SHARE_TEXT], size_t seen, int64_t total);

#endif
