/* SPDX-License-Identifier: MIT */
/* What a process's scans did, for people: which share of its operations, at what cost, and what could not be seen. */
#ifndef CONSOLE_REPORT_SCAN_LINE_H
#define CONSOLE_REPORT_SCAN_LINE_H

#include <stdio.h>

#include <rankwatch/blackbox.h>

/* No newline. The header is one that a reader has checked. */
void scan_line_print(FILE *out, const struct rw_box_header *header);

#endif
