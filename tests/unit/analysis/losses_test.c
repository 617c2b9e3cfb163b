/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "analysis/losses.h"
#include "played.h"

enum { MS = 1000000 };

static uint64_t lost_in(const struct losses *losses, uint64_t from_ms, uint64_t to_ms)
{
	const struct cause_window window = { from_ms * MS, to_ms * MS };

	return losses_in(losses, &window, 1);
}

Test(losses, belong_to_the_time_in_which_they_happened)
{
	struct losses losses = { 0 };

	losses_add(&losses, 1000 * (uint64_t)MS, 1250 * (uint64_t)MS, 3);
	losses_add(&losses, 5000 * (uint64_t)MS, 5250 * (uint64_t)MS, 0);
	losses_add(&losses, 9000 * (uint64_t)MS, 9250 * (uint64_t)MS, 7);
	cr_expect_eq(lost_in(&losses, 1100, 1200), 3);
	cr_expect_eq(lost_in(&losses, 500, 950), 3, "a wait that ended at 950 is reported, or lost, soon after");
	cr_expect_eq(lost_in(&losses, 500, 800), 0);
	cr_expect_eq(lost_in(&losses, 1300, 8000), 0);
	cr_expect_eq(lost_in(&losses, 0, 10000), 10);
}

Test(losses, a_flood_takes_little_room)
{
	struct losses losses = { 0 };

	losses_add(&losses, 0, 250 * (uint64_t)MS, 1);
	for (uint64_t at = 10000; at < 30000; at += 250)
		losses_add(&losses, at * MS, (at + 250) * MS, 2);
	cr_expect_eq(lost_in(&losses, 0, 100), 1, "twenty seconds of a flood leave what was before");
	cr_expect_eq(lost_in(&losses, 0, 40000), 161);
}

/* The worst finding of a late rank, whose evidence was seen, when events of all its time were lost. */
static struct history_finding found(uint64_t lost)
{
	struct history_job job = { .ranks = 8, .steps = 40, .layers = 4, .compute_ms = 40, .jitter_ms = 2 };
	struct history_finding finding = { 0 };

	job.faults[0] = (struct history_fault){
		.kind = FAULT_HOST, .rank = 3, .first_step = 12, .ms = 400, .evidence = EVIDENCE_FSYNC
	};
	struct history *history = history_new(&job);
	struct analysis *analysis = analysis_new(false, history_emit, history);

	analysis_add_loss(analysis, 0, UINT64_MAX / 2, lost);
	history_play(history, analysis, 0);
	size_t count;
	const struct history_finding *findings = history_findings(history, &count);
	for (size_t i = 0; i < count; i++)
		if (findings[i].kind == RW_KIND_STRAGGLER && findings[i].state == RW_FINDING_OPEN && !finding.id[0])
			finding = findings[i];
	analysis_free(analysis);
	history_free(history);
	return finding;
}

Test(losses, a_cause_that_may_be_missing_is_not_certain)
{
	struct history_finding whole = found(0), lossy = found(42);

	cr_expect_eq(whole.class_, RW_CAUSE_IO);
	cr_expect_eq(whole.confidence, RW_CERTAIN);
	cr_expect_eq(whole.missing_count, 0);
	cr_expect_eq(lossy.class_, RW_CAUSE_IO);
	cr_expect_eq(lossy.confidence, RW_LIKELY);
	cr_expect_eq(lossy.missing_count, 1);
	cr_expect_str_eq(lossy.missing, "42 events were lost: a cause may be missing");
}
