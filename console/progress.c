/* SPDX-License-Identifier: MIT */
#include "console/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

static const uint64_t PROGRESS_NS = 200000000;

void progress_show(void *argument, size_t rank, size_t ranks)
{
	struct progress *progress = argument;
	uint64_t now_ns = clock_monotonic_ns();

	if (!isatty(STDERR_FILENO))
		return;
	if (rank == ranks && progress->shown)
		fputs("\r\033[K", stderr);
	if (rank == ranks || now_ns - progress->last_ns < PROGRESS_NS)
		return;
	progress->last_ns = now_ns;
	progress->shown = true;
	if (rank)
		fprintf(stderr, "\r%s rank %zu of %zu\033[K", progress->what, rank + 1, ranks);
	else
		fprintf(stderr, "\rreading %zu black boxes\033[K", ranks);
}
