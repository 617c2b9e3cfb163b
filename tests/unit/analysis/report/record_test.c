/* SPDX-License-Identifier: MIT */
/* Of whom a finding is. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "analysis/known/job.h"
#include "analysis/report/record.h"

enum { RANKS = 4 };

/* Processes may be heard of in any order: what is said of where a rank runs stands beside its number. */
Test(record, where_each_rank_runs_is_in_the_order_of_the_ranks)
{
	static const int32_t worlds[RANKS] = { 5, 2, 9, 0 }, ascending[RANKS] = { 0, 2, 5, 9 };
	static const uint32_t order[] = { 2, 0, 3, 1 };
	static struct process processes[RANKS];
	struct process *known[RANKS];
	struct rank ranks[RANKS];
	struct job job = { .processes = known, .process_count = RANKS, .ranks = ranks, .rank_count = RANKS };

	memset(ranks, 0, sizeof(ranks));
	for (int i = 0; i < RANKS; i++) {
		processes[i].pid = 100 + worlds[i];
		snprintf(processes[i].host_name, sizeof(processes[i].host_name), "h%d", worlds[i]);
		snprintf(processes[i].job, sizeof(processes[i].job), "j");
		processes[i].world_size = 10;
		ranks[i].process = known[i] = &processes[i];
		ranks[i].world = worlds[i];
	}
	struct record *record = record_new(&job, RW_KIND_HANG, RW_SCOPE_RANK, order, RANKS);
	cr_assert_not_null(record);
	cr_assert_eq(record->finding.rank_count, RANKS);
	cr_assert_eq(record->finding.where_count, RANKS);
	for (int i = 0; i < RANKS; i++) {
		char host[8];
		snprintf(host, sizeof(host), "h%d", ascending[i]);
		cr_expect_eq(record->finding.ranks[i], ascending[i]);
		cr_expect_eq(record->finding.where[i].rank, ascending[i], "%d", record->finding.where[i].rank);
		cr_expect_eq(record->finding.where[i].pid, 100 + ascending[i]);
		cr_expect_str_eq(record->finding.where[i].host, host);
	}
	record_free(record);
}
