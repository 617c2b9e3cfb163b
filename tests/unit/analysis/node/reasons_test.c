/* SPDX-License-Identifier: MIT */
/* Which ranks of a host are watched because the judge of the job has asked for them, and until when. */
#include <criterion/criterion.h>

#include <string.h>

#include "analysis/model.h"
#include "analysis/node/reasons.h"

#define SECOND UINT64_C(1000000000)

enum { RANKS = REASONS_MAX + 2 };

static struct {
	struct process processes[RANKS];
	struct rank ranks[RANKS];
	struct analysis analysis;
	struct reasons reasons;
	struct outbox outbox;
} host;

static void setup(void)
{
	memset(&host, 0, sizeof(host));
	for (uint32_t i = 0; i < RANKS; i++) {
		host.processes[i].id = 100 + i;
		host.ranks[i] = (struct rank){ .process = &host.processes[i], .world = (int32_t)(2 * i) };
	}
	host.analysis.job.ranks = host.ranks;
	host.analysis.job.rank_count = RANKS;
}

TestSuite(reasons, .init = setup);

/* `rank`: the index of it here. */
static void ask(uint32_t rank, uint16_t generation, uint64_t now_ns)
{
	const struct rw_message message = { .type = RW_MESSAGE_ASK, .rank = (int32_t)(2 * rank), .generation = generation };

	reasons_ask(&host.reasons, &host.analysis.job, &message, now_ns);
}

/* After a look at this time these ranks are watched, and no others. */
static void expect_watched(uint64_t now_ns, uint32_t count, const uint32_t *ranks)
{
	struct analysis_suspect suspects[RANKS];

	host.analysis.now_ns = now_ns;
	reasons_tick(&host.reasons, &host.analysis, &host.outbox, now_ns);
	cr_assert_eq(reasons_suspects(&host.reasons, &host.analysis, suspects, RANKS), count, "at %lu ns: %zu of %u", now_ns,
		     reasons_suspects(&host.reasons, &host.analysis, suspects, RANKS), count);
	for (uint32_t i = 0; i < count; i++)
		cr_expect_eq(suspects[i].process, 100 + ranks[i], "at %lu ns: %u at %u", now_ns, (unsigned)suspects[i].process, i);
}

Test(reasons, a_rank_is_watched_for_some_time_after_the_latest_request)
{
	for (uint32_t i = 0; i < 3; i++)
		ask(i, 0, (i + 1) * SECOND);
	expect_watched(SECOND + REASONS_FOR_NS - 1, 3, (uint32_t[]){ 0, 1, 2 });
	expect_watched(SECOND + REASONS_FOR_NS, 2, (uint32_t[]){ 1, 2 });
	ask(1, 0, 5 * SECOND);
	expect_watched(3 * SECOND + REASONS_FOR_NS - 1, 2, (uint32_t[]){ 1, 2 });
	expect_watched(3 * SECOND + REASONS_FOR_NS, 1, (uint32_t[]){ 1 });
	expect_watched(5 * SECOND + REASONS_FOR_NS, 0, NULL);
}

Test(reasons, who_is_gone_or_another_one_is_not_watched_and_the_others_are)
{
	for (uint32_t i = 0; i < 4; i++)
		ask(i, 0, SECOND);
	host.processes[1].life = ANALYSIS_KILLED;
	expect_watched(2 * SECOND, 3, (uint32_t[]){ 0, 2, 3 });
	host.processes[0].id = 90;
	expect_watched(2 * SECOND, 2, (uint32_t[]){ 2, 3 });
	ask(1, 0, 2 * SECOND);
	expect_watched(3 * SECOND, 2, (uint32_t[]){ 2, 3 });
}

Test(reasons, a_request_is_for_one_rank_of_one_start_of_the_job)
{
	const struct rw_message unknown[] = { { .type = RW_MESSAGE_ASK, .rank = -1 },
					      { .type = RW_MESSAGE_ASK, .rank = 1 },
					      { .type = RW_MESSAGE_ASK, .rank = 2 * RANKS } };

	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		reasons_ask(&host.reasons, &host.analysis.job, &unknown[i], SECOND);
	expect_watched(SECOND, 0, NULL);
	host.processes[2].generation = 3;
	ask(2, 0, SECOND);
	ask(2, 4, SECOND);
	expect_watched(SECOND, 0, NULL);
	ask(2, 3, SECOND);
	expect_watched(SECOND, 1, (uint32_t[]){ 2 });
}

Test(reasons, no_more_ranks_are_watched_than_there_is_room_for)
{
	uint32_t all[REASONS_MAX];

	for (uint32_t i = 0; i < RANKS; i++)
		ask(i, 0, i < 2 ? SECOND : 2 * SECOND);
	for (uint32_t i = 0; i < REASONS_MAX; i++)
		all[i] = i;
	expect_watched(3 * SECOND, REASONS_MAX, all);
	expect_watched(SECOND + REASONS_FOR_NS, REASONS_MAX - 2, all + 2);
	for (uint32_t i = 0; i < REASONS_MAX; i++)
		all[i] = i + 2;
	ask(RANKS - 2, 0, 4 * SECOND);
	ask(RANKS - 1, 0, 4 * SECOND);
	expect_watched(4 * SECOND, REASONS_MAX, all);
}
