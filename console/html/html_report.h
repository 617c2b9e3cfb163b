/* SPDX-License-Identifier: MIT */
/* One run, seen again from its black boxes, as one HTML file that needs no network. One thread. */
#ifndef CONSOLE_HTML_HTML_REPORT_H
#define CONSOLE_HTML_HTML_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "console/boxes/boxes.h"
#include "console/cli/progress.h"

struct html_report {
	const char *kernel_log; /* as in replay_open() */
	const char *command;    /* its full name, for what is said on stderr */
	struct progress *progress; /* NULL none is shown */
	/* Filled by html_report_write(): */
	size_t ranks, findings;
	bool warning, critical; /* there is a finding that is this */
	bool truncated;              /* a box could not be read to its end; it has been said */
};

/* Replays the entries of one run (which takes over their readers) and writes the page. 0, -ENOMEM; errors of the file:
 * ferror(out). */
int html_report_write(FILE *out, struct html_report *report, struct box_entry *entries, size_t count);

#endif
