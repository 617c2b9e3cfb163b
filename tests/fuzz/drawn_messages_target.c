/* SPDX-License-Identifier: MIT */
/* Small jobs on several hosts whose messages the input draws (tests/unit/analysis/jobs/loose_messages.h), as they are
 * judged together. */
#include "tests/fuzz/box_target.h"
#include "tests/fuzz/heard.h"
#include "tests/fuzz/told.h"
#include "tests/unit/analysis/jobs/job_shown.h"
#include "tests/unit/analysis/jobs/loose_messages.h"

enum { MOST_RANKS = 24 };

static void on_finding(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	heard_finding("all hosts", finding, MOST_RANKS);
}

static void on_asked(void *argument, const char *host, const void *bytes, size_t length)
{
	(void)argument;
	fprintf(heard_file(), "asked of %s\n", host);
	told(bytes, length);
}

static void on_viewed(void *argument, const struct job_view *view, const struct job_half_summary *summary)
{
	(void)argument;
	job_shown(heard_file(), view, summary);
}

static void on_ended(void *argument)
{
	(void)argument;
	heard_nothing_yet();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct loose_messages_hooks hooks = {
		.finding = on_finding, .asked = on_asked, .viewed = on_viewed, .ended = on_ended
	};

	heard_nothing_yet();
	loose_messages_play_bytes(data, size, &hooks, heard_prints ? heard_file() : NULL);
	heard_all();
	return 0;
}
