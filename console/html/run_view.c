/* SPDX-License-Identifier: MIT */
#include "console/html/run_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "console/html/group_names.h"
#include "feed/operation_view.h"
#include "finding/rank_list.h"

/* Any time of any box fits, and differences of two do. */
static const uint64_t most_ns = OPERATION_TIME_MAX / 4;
/* Ranks are not seen to begin at once; and what lies so far before the first operation in a box has been overwritten,
 * or was loading. */
static const uint64_t before_ns = UINT64_C(30000000000);

json_int_t run_view_us(const struct run_view *view, uint64_t ns)
{
	int64_t at_ns = (int64_t)(ns < most_ns ? ns : most_ns);
	int64_t base_ns = (int64_t)(view->base_ns < most_ns ? view->base_ns : most_ns);

	return (at_ns - base_ns) / 1000;
}

json_int_t run_view_us_of(const struct run_view *view, uint64_t realtime_ns)
{
	int64_t offset_ns = host_clocks_sane(view->replay.realtime_offset_ns);

	if (!realtime_ns || (int64_t)realtime_ns < offset_ns)
		return 0;
	return run_view_us(view, (uint64_t)((int64_t)realtime_ns - offset_ns));
}

uint64_t run_view_time(const struct run_view *view, const struct replay_process *process, uint64_t ns)
{
	int64_t offset = host_clocks_offset(&view->clocks, replay_header(process));

	if (offset < 0)
		return ns > (uint64_t)-offset ? ns - (uint64_t)-offset : 0;
	return ns + (uint64_t)offset;
}

uint64_t run_view_record_end(const struct replay_process *process)
{
	uint64_t end_ns = feed_last_ns(process->feed), drain_ns = replay_header(process)->drain_ns;

	return drain_ns > end_ns && drain_ns <= OPERATION_TIME_MAX ? drain_ns : end_ns;
}

char *run_view_ranks(const int32_t *ranks, size_t count)
{
	size_t size = 32 + 12 * count;
	char *text = malloc(size);

	return text ? rank_list_text(text, size, ranks, count) : NULL;
}

uint64_t run_view_begin(const struct run_view *view, uint64_t first_ns)
{
	uint64_t created_ns = UINT64_MAX;

	for (size_t i = 0; i < view->replay.count; i++) {
		const struct replay_process *process = &view->replay.processes[i];
		uint64_t at_ns = run_view_time(view, process, replay_header(process)->created_ns);

		created_ns = at_ns < created_ns ? at_ns : created_ns;
	}
	if (first_ns == UINT64_MAX || (created_ns <= first_ns && first_ns - created_ns <= before_ns))
		return created_ns;
	return first_ns > before_ns / 30 ? first_ns - before_ns / 30 : 0;
}

uint64_t run_view_end(const struct run_view *view)
{
	uint64_t end_ns = view->base_ns;

	for (size_t i = 0; i < view->replay.count; i++) {
		const struct replay_process *process = &view->replay.processes[i];
		uint64_t at_ns = run_view_time(view, process, run_view_record_end(process));

		end_ns = at_ns > end_ns ? at_ns : end_ns;
	}
	return end_ns;
}

int run_view_gather_groups(struct run_view *view)
{
	view->names = group_names_json(&view->replay);
	if (!view->names)
		return -ENOMEM;
	return group_table_gather(&view->groups, &view->replay);
}

static int by_number(const void *a, const void *b)
{
	const int32_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Of a mesh there are many of one name: their ranks tell them apart. */
static char *with_ranks(const char *name, int32_t *ranks, int32_t count, const struct run_view *view)
{
	char *list, *text = NULL;

	if (!ranks || (size_t)count >= view->replay.count)
		return strdup(name);
	qsort(ranks, (size_t)count, sizeof(*ranks), by_number);
	list = run_view_ranks(ranks, (size_t)count);
	if (!list || asprintf(&text, "%s (%s)", name, list) < 0)
		text = NULL;
	free(list);
	return text;
}

char *run_view_group(const struct run_view *view, const struct rw_communicator *communicator)
{
	const char *reported = group_names_find(view->names, communicator->id);
	int32_t *ranks = group_table_find(&view->groups, communicator->id, communicator->nranks);
	char *name = reported && strncmp(reported, "rank", 4) ? with_ranks(reported, ranks, communicator->nranks, view)
						      : group_name(communicator, ranks);

	free(ranks);
	return name;
}
