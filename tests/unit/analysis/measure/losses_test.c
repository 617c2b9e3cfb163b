/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "analysis/measure/losses.h"
#include "tests/unit/analysis/jobs/played.h"

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

Test(losses, touch_a_time_at_its_very_ends)
{
	const uint64_t from = 2000000000, to = 2250000000, notice = 100000000;
	struct losses losses = { 0 };
	struct cause_window window = { to, to + 1 };

	losses_add(&losses, from, to, 5);
	cr_expect_eq(losses_in(&losses, &window, 1), 5, "it begins when they end");
	window = (struct cause_window){ to + 1, to + 2 };
	cr_expect_eq(losses_in(&losses, &window, 1), 0);
	window = (struct cause_window){ 0, from - notice };
	cr_expect_eq(losses_in(&losses, &window, 1), 5, "what ended then may be reported, or lost, up to 100 ms later");
	window = (struct cause_window){ 0, from - notice - 1 };
	cr_expect_eq(losses_in(&losses, &window, 1), 0);
	const struct cause_window windows[] = { { 0, 1 }, { from, to }, { from, to } };
	cr_expect_eq(losses_in(&losses, windows, 1), 0);
	cr_expect_eq(losses_in(&losses, windows, 3), 5, "counted once");
	cr_expect_eq(losses_in(&losses, windows, 0), 0);
}

Test(losses, follow_each_other_up_to_a_second)
{
	const uint64_t second = 1000000000;
	struct losses losses = { 0 };

	losses_add(&losses, second, second, 1);
	cr_expect_eq(losses.stretch_count, 1, "of no length");
	losses_add(&losses, second, 2 * second, 1);
	cr_expect_eq(losses.stretch_count, 1, "a second together");
	cr_expect_eq(losses.stretches[0].from_ns, second);
	cr_expect_eq(losses.stretches[0].to_ns, 2 * second);
	cr_expect_eq(losses.stretches[0].count, 2);
	losses_add(&losses, 2 * second, 2 * second + 1, 4);
	cr_expect_eq(losses.stretch_count, 2, "more than a second together");
	losses_add(&losses, 2 * second + 2, 2 * second + 3, 8);
	cr_expect_eq(losses.stretch_count, 3, "a gap between them");
	cr_expect_eq(losses.stretches[1].count, 4);
	cr_expect_eq(losses.stretches[2].count, 8);
	losses_add(&losses, 5 * second, 5 * second - 1, 16);
	cr_expect_eq(losses.stretch_count, 3, "that ends before it begins is no time");
}

Test(losses, the_oldest_are_forgotten)
{
	struct losses losses = { 0 };
	const struct cause_window always = { 0, UINT64_MAX / 2 };

	for (uint64_t i = 0; i < LOSSES_KEPT + 3; i++)
		losses_add(&losses, i * 2 * 1000000000, i * 2 * 1000000000 + 1, i < 3 ? 1000000 : 1);
	cr_expect_eq(losses_in(&losses, &always, 1), LOSSES_KEPT);
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
