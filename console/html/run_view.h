/* SPDX-License-Identifier: MIT */
/* One run as the page sees it: replayed, with where its time went, and its times on one clock. One thread. */
#ifndef CONSOLE_HTML_RUN_VIEW_H
#define CONSOLE_HTML_RUN_VIEW_H

#include <jansson.h>

#include "console/html/heat.h"
#include "console/html/step_series.h"
#include "console/replay/host_clocks.h"
#include "console/replay/replay.h"
#include "console/trace/group_table.h"
#include "console/trace/rank_slices.h"

struct run_view {
	struct replay replay;
	struct host_clocks clocks;
	struct group_table groups;
	json_t *names; /* communicator as text → what findings call it */
	struct heat heat;
	struct step_series steps;
	uint64_t base_ns; /* time 0 of the page, on the clock of the first host */
	uint64_t end_ns;  /* the newest time of any box, on the same */
};

/* A time of that clock as the page has it: µs since base_ns. */
json_int_t run_view_us(const struct run_view *view, uint64_t ns);
/* Of ns since 1970, as findings have them; 0 for 0. */
json_int_t run_view_us_of(const struct run_view *view, uint64_t realtime_ns);
/* A time of a box on the clock of the first host. */
uint64_t run_view_time(const struct run_view *view, const struct replay_process *process, uint64_t ns);
/* Of the process's own last sign of life, on its own clock. */
uint64_t run_view_record_end(const struct replay_process *process);
/* Time 0 of the page: when the first box was made, or shortly before what it still holds. first_ns: the first stretch
 * of time that is accounted for, UINT64_MAX none. */
uint64_t run_view_begin(const struct run_view *view, uint64_t first_ns);
/* The newest time of any box. */
uint64_t run_view_end(const struct run_view *view);
/* Gathers who is in which communicator, and what they are called. 0 or -ENOMEM. */
int run_view_gather_groups(struct run_view *view);
/* What findings call it, escaped, with its ranks where it is not of all; else NCCL's name, or its ranks. Malloc'ed;
 * NULL on lack of memory. */
char *run_view_group(const struct run_view *view, const struct rw_communicator *communicator);
/* "0-3,7" of ascending world ranks; malloc'ed, whole however long; NULL on lack of memory. */
char *run_view_ranks(const int32_t *ranks, size_t count);

#endif
