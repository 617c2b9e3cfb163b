/* SPDX-License-Identifier: MIT */
#include "console/cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static const uint64_t PROGRESS_NS = 200000000;

void progress_begin(struct progress *progress, const char *doing, size_t count, const char *things)
{
	size_t length = strlen(things);

	if (!progress)
		return;
	snprintf(progress->what, sizeof(progress->what), "%s%s %zu %s%s", progress->before, doing, count, things,
		 count == 1 ? "" : length && things[length - 1] == 'x' ? "es" : "s");
	if (!progress->shown)
		progress->last_ns = clock_monotonic_ns();
}

void progress_show(struct progress *progress, uint64_t done, uint64_t all)
{
	uint64_t now_ns = progress ? clock_monotonic_ns() : 0;

	if (!progress || progress->silent || now_ns - progress->last_ns < PROGRESS_NS || !isatty(STDERR_FILENO))
		return;
	progress->last_ns = now_ns;
	progress->shown = true;
	/* The cursor goes back to the left: what else is said meanwhile is written over the line. */
	fprintf(stderr, "\r%s: %u %%\033[K\r", progress->what,
		all && done < all ? (unsigned)((double)done / (double)all * 100) : 100);
}

void progress_end(struct progress *progress)
{
	if (!progress || !progress->shown)
		return;
	progress->shown = false;
	fputs("\r\033[K", stderr);
}
