/* SPDX-License-Identifier: MIT */
/* Magnitudes that go where they have not been. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/analysis/jobs/scanned.h"

enum { RANKS = 8, ELEMENTS = 1000 };

struct run {
	struct scanned job;
	int fsdp;
	uint8_t dtype;
	float loss_of_3; /* what it brings into AllReduce; 0: as the others */
};

static void start(struct run *run, uint8_t dtype)
{
	*run = (struct run){ .dtype = dtype };
	scanned_start(&run->job, RANKS, RANKS);
	run->fsdp = scanned_communicator(&run->job, "fsdp", RANKS, 0, 1);
}

/* Every rank's values are its own, and vary from step to step by a third. */
static void step(struct run *run, const float *scale)
{
	float weights[RANKS];

	for (int i = 0; i < RANKS; i++) {
		weights[i] = 1 + (float)i / 4;
		run->job.absmax[i] = scale[i] * weights[i] * (1 + (float)scanned_chance(&run->job, 100) / 300);
	}
	scanned_call(&run->job, run->fsdp, (struct scanned_call){ .function = RW_FUNCTION_ALL_GATHER, .dtype = run->dtype });
	for (int layer = 0; layer < 3; layer++)
		scanned_call(&run->job, run->fsdp, (struct scanned_call){ .function = RW_FUNCTION_REDUCE_SCATTER,
									 .dtype = run->dtype, .count = ELEMENTS / RANKS });
	if (run->loss_of_3 > 0)
		run->job.absmax[3] = run->loss_of_3;
	scanned_call(&run->job, run->fsdp, (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .count = 1 });
	scanned_tick(&run->job, 100);
}

static void steps(struct run *run, int count, const float *scale)
{
	for (int i = 0; i < count; i++)
		step(run, scale);
}

static void fill(float *scale, float value)
{
	for (int i = 0; i < RANKS; i++)
		scale[i] = value;
}

Test(drift, a_rank_whose_values_leave_those_of_the_others_is_named_with_the_step)
{
	static struct run run;
	float scale[RANKS];

	start(&run, RW_DTYPE_BFLOAT16);
	fill(scale, 0.01f);
	steps(&run, 73, scale);
	cr_assert_eq(run.job.told_count, 0, "%s", run.job.told[0].text);
	scale[5] = 0.1f;
	steps(&run, 6, scale);
	scanned_tick(&run.job, 1200);
	const struct scanned_told *told = scanned_loud(&run.job);
	cr_assert(told);
	cr_expect_eq(told->kind, RW_KIND_DRIFT);
	cr_expect(told->rank_count == 1 && told->ranks[0] == 5);
	cr_expect_eq(told->finding.late.since_step, 74, "%s", told->text);
	cr_expect_eq(run.job.told_count, 1, "one finding for all layers");

	/* … and then it brings a NaN. */
	run.job.bad[5] = true;
	steps(&run, 1, scale);
	scanned_end(&run.job);
	/* Behind it the drift is told again, with what came of it. */
	told = &run.job.told[run.job.told_count - 1];
	cr_expect_eq(told->kind, RW_KIND_DRIFT, "%s", told->text);
	cr_expect_eq(told->finding.incident.count, 2);
	told--;
	cr_expect_eq(told->kind, RW_KIND_NAN, "%s", told->text);
	cr_expect_eq(told->ranks[0], 5);
	cr_expect_str_eq(told->evidence, "the largest value of rank 5 left those of the others in step 74");
	scanned_free(&run.job);
}

Test(drift, values_of_all_ranks_may_go_anywhere_within_the_type)
{
	static struct run run;
	float scale[RANKS];

	start(&run, RW_DTYPE_BFLOAT16);
	for (int i = 0; i < 120; i++) {
		fill(scale, i % 40 < 20 ? 0.01f : 100.0f);
		steps(&run, 1, scale);
	}
	/* One rank, once or twice: a batch of its own. */
	for (int i = 0; i < 40; i++) {
		fill(scale, 1);
		scale[i % RANKS] = i % 5 ? 1 : 30;
		steps(&run, 1, scale);
	}
	scanned_end(&run.job);
	cr_expect_eq(run.job.told_count, 0, "%s", run.job.told[0].text);
	scanned_free(&run.job);
}

Test(drift, one_value_may_be_anywhere_for_some_steps)
{
	static struct run run;
	float scale[RANKS];

	start(&run, RW_DTYPE_BFLOAT16);
	fill(scale, 1);
	steps(&run, 12, scale);
	for (float loss = 0.01f; loss < 0.1f; loss += 0.03f) {
		run.loss_of_3 = loss;
		steps(&run, 1, scale);
	}
	run.loss_of_3 = 0;
	steps(&run, 4, scale);
	scanned_end(&run.job);
	cr_expect_eq(run.job.told_count, 0, "%s", run.job.told[0].text);
	scanned_free(&run.job);
}

Test(drift, growth_towards_the_end_of_the_type_is_told_before_it_overflows)
{
	static const struct {
		uint8_t dtype;
		float first, factor;
		int steps;
		bool told;
	} cases[] = {
		{ RW_DTYPE_FLOAT16, 10, 1.2f, 45, true },
		{ RW_DTYPE_FLOAT16, 6000, 1, 45, false }, /* has always been there */
		{ RW_DTYPE_BFLOAT16, 10, 1.2f, 45, false },
		{ RW_DTYPE_BFLOAT16, 10, 6, 45, true },
		{ RW_DTYPE_FLOAT8_E4M3, 200, 1, 45, false }, /* scaled up to its end on purpose */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		static struct run run;
		float scale[RANKS], now = cases[i].first;
		start(&run, cases[i].dtype);
		for (int k = 0; k < cases[i].steps; k++, now *= k > 15 ? cases[i].factor : 1) {
			fill(scale, now);
			steps(&run, 1, scale);
		}
		scanned_end(&run.job);
		const struct scanned_told *told = scanned_loud(&run.job);
		cr_expect_eq(told != NULL, cases[i].told, "case %zu: %s", i, told ? told->text : "nothing");
		cr_expect(!told || (told->kind == RW_KIND_DRIFT && strstr(told->text, "has grown to")), "case %zu: %s", i,
			  told->text);
		scanned_free(&run.job);
	}
}

Test(drift, saturation_that_rises_is_told_and_one_that_was_always_there_is_not)
{
	for (int rises = 0; rises < 2; rises++) {
		static struct run run;
		float scale[RANKS];
		start(&run, RW_DTYPE_FLOAT8_E4M3);
		fill(scale, 400);
		for (int i = 0; i < 40; i++) {
			for (int k = 0; k < RANKS; k++)
				run.job.saturated[k] = k == 2 && rises && i > 25 ? 60 : rises ? 2 : 60;
			steps(&run, 1, scale);
		}
		scanned_end(&run.job);
		const struct scanned_told *told = scanned_loud(&run.job);
		cr_expect_eq(told != NULL, rises == 1, "%s", told ? told->text : "nothing");
		if (told) {
			cr_expect_eq(told->kind, RW_KIND_SATURATION);
			cr_expect(told->rank_count == 1 && told->ranks[0] == 2, "%s", told->text);
			cr_expect_eq(told->finding.values.saturated, 60);
		}
		scanned_free(&run.job);
	}
}

/* How often a finding of this kind was opened, and how often closed. */
static void expect_told(const struct run *run, enum rw_kind kind, size_t opened, size_t closed)
{
	size_t count[3] = { 0 };

	for (size_t i = 0; i < run->job.told_count; i++)
		count[run->job.told[i].state] += run->job.told[i].kind == kind;
	cr_expect_eq(count[RW_FINDING_OPEN], opened, "opened %zu times", count[RW_FINDING_OPEN]);
	cr_expect_eq(count[RW_FINDING_CLOSED], closed, "closed %zu times", count[RW_FINDING_CLOSED]);
}

Test(drift, growth_that_is_over_is_closed_and_told_again_when_it_comes_back)
{
	static struct run run;
	float scale[RANKS], now = 10;

	start(&run, RW_DTYPE_FLOAT16);
	fill(scale, now);
	steps(&run, 16, scale);
	for (size_t times = 1; times <= 2; times++) {
		for (int i = 0; i < 30; i++, now *= 1.2f) {
			fill(scale, now);
			steps(&run, 1, scale);
		}
		scanned_tick(&run.job, 1200);
		expect_told(&run, RW_KIND_DRIFT, times, times - 1);
		for (now = 10; now < 11; now += 0.05f) {
			fill(scale, now);
			steps(&run, 1, scale);
		}
		scanned_tick(&run.job, 1200);
		expect_told(&run, RW_KIND_DRIFT, times, times);
	}
	scanned_end(&run.job);
	scanned_free(&run.job);
}

Test(drift, saturation_that_is_over_is_closed)
{
	static struct run run;
	float scale[RANKS];

	start(&run, RW_DTYPE_FLOAT8_E4M3);
	fill(scale, 400);
	for (int i = 0; i < 80; i++) {
		for (int k = 0; k < RANKS; k++)
			run.job.saturated[k] = k == 2 && i > 25 && i < 50 ? 60 : 2;
		if (i == 50) {
			scanned_tick(&run.job, 1200);
			expect_told(&run, RW_KIND_SATURATION, 1, 0);
		}
		steps(&run, 1, scale);
	}
	scanned_tick(&run.job, 1200);
	expect_told(&run, RW_KIND_SATURATION, 1, 1);
	scanned_end(&run.job);
	scanned_free(&run.job);
}
