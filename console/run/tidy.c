/* SPDX-License-Identifier: MIT */
#include "console/run/tidy.h"

#include <errno.h>

#include "base/in_time.h"

enum { TIDY_MS = 5000, MARK_MS = 1000 };

static void mark(const void *argument, void *result)
{
	const struct tidy_request *request = argument;

	(void)result;
	kept_boxes_mark(request->job, RUN_MARK_FAILED);
}

static void keep(const void *argument, void *result)
{
	const struct tidy_request *request = argument;

	(void)result;
	kept_boxes_mark(request->job, RUN_MARK_KEPT);
}

static void tidy(const void *argument, void *result)
{
	const struct tidy_request *request = argument;
	struct tidied *tidied = result;

	if (request->ended_well)
		kept_boxes_remove_run(request->job, request->began_ns, &tidied->own);
	kept_boxes_trim(request->limit, &tidied->others);
}

void tidy_mark_failed(const char *job)
{
	const struct tidy_request request = { .job = job };
	char nothing;

	in_time_call(mark, &request, &nothing, sizeof(nothing), MARK_MS);
}

int tidy_boxes(const struct tidy_request *request, struct tidied *tidied)
{
	*tidied = (struct tidied){ 0 };
	if (request->limit == KEPT_BOXES_ALL)
		return in_time_call(keep, request, &(char){ 0 }, sizeof(char), MARK_MS);
	return in_time_call(tidy, request, tidied, sizeof(*tidied), TIDY_MS);
}
