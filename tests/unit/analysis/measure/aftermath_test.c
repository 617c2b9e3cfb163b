/* SPDX-License-Identifier: MIT */
/* How much bad values weigh is told by what came of them. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/analysis/jobs/scanned.h"
#include "tests/sanitized.h"

enum { RANKS = 8, GRADIENTS = 4096, LEARNED = 60 /* steps, until places have usual values */ };

/* A step of FSDP over all ranks: what is bad in it, by call. */
struct trouble {
	bool padding;   /* rank 7's shard ends in NaN, which nobody computes with */
	int mask_count; /* elements of a mask that all bring into a maximum; 0 none */
	uint8_t mask_reduction;
	uint8_t gradients;   /* type */
	unsigned int bring;  /* ranks that bring something bad into the second gradient, by bit */
	bool inf, only_sums; /* Inf; which the optimizer leaves out */
	bool unscanned;      /* the last of the parameters was sampled out: it may have brought it */
};

struct job {
	struct scanned scanned;
	int world;
	uint8_t reduction; /* of gradients and norm */
};

static void start(struct job *job, uint8_t reduction)
{
	*job = (struct job){ .reduction = reduction };
	scanned_start(&job->scanned, RANKS, RANKS);
	job->world = scanned_communicator(&job->scanned, "fsdp", RANKS, 0, 1);
}

static void forget(struct job *job)
{
	memset(job->scanned.bad, 0, sizeof(job->scanned.bad));
}

static void gather(struct job *job, int layer, const struct trouble *trouble)
{
	job->scanned.nan = 16;
	job->scanned.brings[7] = trouble->padding && layer == 1;
	scanned_call(&job->scanned, job->world,
		     (struct scanned_call){ .function = RW_FUNCTION_ALL_GATHER,
					    .count = GRADIENTS + (uint64_t)layer,
					    .sampled_out = trouble->unscanned && layer == 3 });
	job->scanned.nan = 0;
	if (trouble->padding)
		forget(job);
}

/* The largest logit of a masked row. */
static void mask(struct job *job, const struct trouble *trouble)
{
	for (int i = 0; i < RANKS; i++)
		job->scanned.brings[i] = trouble->mask_count > 0;
	job->scanned.nan = (uint32_t)trouble->mask_count;
	scanned_call(
	    &job->scanned, job->world,
	    (struct scanned_call){
		.function = RW_FUNCTION_ALL_REDUCE, .reduction = trouble->mask_reduction, .count = 512, .inf = true });
	job->scanned.nan = 0;
	if (trouble->mask_count)
		forget(job);
}

static void scatter(struct job *job, int layer, const struct trouble *trouble)
{
	for (int i = 0; i < RANKS; i++)
		job->scanned.brings[i] = layer == 1 && trouble->bring >> i & 1;
	scanned_call(&job->scanned, job->world,
		     (struct scanned_call){ .function = RW_FUNCTION_REDUCE_SCATTER,
					    .reduction = job->reduction,
					    .dtype = trouble->gradients,
					    .count = GRADIENTS + 8 + (uint64_t)layer,
					    .inf = trouble->inf });
}

static void step(struct job *job, const struct trouble *trouble)
{
	for (int layer = 0; layer < 4; layer++)
		gather(job, layer, trouble);
	mask(job, trouble);
	for (int layer = 0; layer < 4; layer++)
		scatter(job, layer, trouble);
	scanned_call(
	    &job->scanned, job->world,
	    (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .reduction = job->reduction, .count = 1 });
	if (trouble->only_sums)
		forget(job);
	scanned_tick(&job->scanned, 200);
}

static void steps(struct job *job, int count, struct trouble trouble)
{
	for (int i = 0; i < count; i++)
		step(job, &trouble);
}

static void learn(struct job *job, uint8_t gradients)
{
	steps(job, LEARNED * 4, (struct trouble){ .mask_reduction = RW_OPERATOR_MAX, .gradients = gradients });
	cr_assert_eq(job->scanned.told_count, 0, "%s", job->scanned.told[0].text);
}

static const struct scanned_told *last(const struct job *job)
{
	cr_assert_gt(job->scanned.told_count, 0, "nothing was told");
	return &job->scanned.told[job->scanned.told_count - 1];
}

static void expect_silence(const struct job *job)
{
	const struct scanned_told *loud = scanned_loud(&job->scanned);

	cr_expect_null(loud, "%s", loud ? loud->text : "");
}

static void expect_rank(const struct scanned_told *told, int rank, enum rw_severity severity)
{
	cr_assert(told, "nothing was told");
	cr_expect(told->rank_count == 1 && told->ranks[0] == rank, "%s", told->text);
	cr_expect_eq(told->severity, severity, "%d: %s", told->severity, told->text);
	cr_expect_eq(told->confidence, RW_CERTAIN, "%s (%s)", told->text, told->missing);
}

Test(aftermath, padding_that_begins_late_is_a_notice_and_takes_no_blame_for_a_NaN_afterwards)
{
	struct job job;

	start(&job, RW_OPERATOR_SUM);
	learn(&job, 0);
	steps(&job, 20, (struct trouble){ .padding = true, .mask_reduction = RW_OPERATOR_MAX });
	expect_silence(&job);
	cr_expect(strstr(last(&job)->text, "rank 7 brought 16 NaN into AllGather"), "%s", last(&job)->text);
	cr_expect_eq(last(&job)->severity, RW_NOTICE);
	steps(&job, 1, (struct trouble){ .padding = true, .mask_reduction = RW_OPERATOR_MAX, .bring = 1 << 5 });
	steps(&job, 9, (struct trouble){ .mask_reduction = RW_OPERATOR_MAX });
	expect_rank(scanned_loud(&job.scanned), 5, RW_CRITICAL);
	scanned_free(&job.scanned);
}

Test(aftermath, padding_in_a_step_that_ends_in_NaN_is_no_notice)
{
	struct job job;

	start(&job, RW_OPERATOR_SUM);
	learn(&job, 0);
	/* Rank 7's NaN is computed with: its gradients are NaN at once. */
	job.scanned.brings[7] = true;
	scanned_call(&job.scanned, job.world,
		     (struct scanned_call){ .function = RW_FUNCTION_ALL_GATHER, .count = GRADIENTS });
	steps(&job, 9, (struct trouble){ .mask_reduction = RW_OPERATOR_MAX });
	cr_assert(scanned_loud(&job.scanned));
	expect_rank(scanned_loud(&job.scanned), 7, RW_CRITICAL);
	cr_expect_eq(scanned_loud(&job.scanned)->finding.operation.function, RW_FUNCTION_ALL_GATHER);
	scanned_free(&job.scanned);
}

Test(aftermath, padding_in_the_last_step_of_a_job_is_a_notice)
{
	struct job job;

	start(&job, RW_OPERATOR_SUM);
	learn(&job, 0);
	steps(&job, 1, (struct trouble){ .padding = true, .mask_reduction = RW_OPERATOR_MAX });
	scanned_end(&job.scanned);
	expect_silence(&job);
	cr_expect_eq(last(&job)->severity, RW_NOTICE);
	scanned_free(&job.scanned);
}

Test(aftermath, a_NaN_right_before_the_end_of_which_nobody_saw_what_came_is_a_warning_that_says_so)
{
	struct job job;

	start(&job, RW_OPERATOR_SUM);
	learn(&job, 0);
	job.scanned.brings[7] = true;
	scanned_call(&job.scanned, job.world,
		     (struct scanned_call){ .function = RW_FUNCTION_ALL_GATHER, .count = GRADIENTS });
	scanned_end(&job.scanned);
	expect_rank(scanned_loud(&job.scanned), 7, RW_WARNING);
	cr_expect(strstr(scanned_loud(&job.scanned)->missing, "what came of it"), "%s",
		  scanned_loud(&job.scanned)->missing);
	scanned_free(&job.scanned);
}

Test(aftermath, a_mask_that_begins_late_is_a_notice_where_the_operator_is_the_maximum_and_where_it_is_not_known)
{
	static const uint8_t reductions[] = { RW_OPERATOR_MAX, RW_OPERATOR_MIN, RW_OPERATOR_UNKNOWN };

	for (size_t i = 0; i < sizeof(reductions); i++) {
		struct job job;
		start(&job, reductions[i] ? RW_OPERATOR_SUM : RW_OPERATOR_UNKNOWN);
		steps(&job, LEARNED * 4, (struct trouble){ .mask_reduction = reductions[i] });
		steps(&job, 20, (struct trouble){ .mask_count = 40, .mask_reduction = reductions[i] });
		expect_silence(&job);
		cr_expect_eq(last(&job)->kind, RW_KIND_INF, "%s", last(&job)->text);
		scanned_free(&job.scanned);
	}
}

Test(aftermath, Inf_in_a_sum_is_a_warning_whether_the_operator_is_known_or_not)
{
	static const uint8_t reductions[] = { RW_OPERATOR_SUM, RW_OPERATOR_AVERAGE, RW_OPERATOR_SCALED_SUM,
					      RW_OPERATOR_UNKNOWN };

	for (size_t i = 0; i < sizeof(reductions); i++) {
		struct job job;
		start(&job, reductions[i]);
		learn(&job, 0);
		steps(&job, 5, (struct trouble){ .mask_reduction = RW_OPERATOR_MAX, .bring = 1 << 2, .inf = true });
		expect_rank(scanned_loud(&job.scanned), 2, RW_WARNING);
		scanned_free(&job.scanned);
	}
}

/* DDP without the interposer: buckets in place, and the norm. */
static void ddp_step(struct job *job, int bad_bucket, bool spreads)
{
	for (int bucket = 0; bucket < 5; bucket++) {
		job->scanned.brings[3] = bucket == bad_bucket;
		scanned_call(&job->scanned, job->world,
			     (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE,
						    .in_place = true,
						    .count = 1000 + (uint64_t)bucket,
						    .inf = true });
		if (!spreads)
			forget(job);
	}
	scanned_call(
	    &job->scanned, job->world,
	    (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .in_place = true, .count = 1, .inf = true });
	forget(job);
	scanned_tick(&job->scanned, 200);
}

Test(aftermath, Inf_in_one_reduction_of_an_unknown_operator_may_be_a_mask_and_in_two_it_is_none)
{
	for (int spreads = 0; spreads < 2; spreads++) {
		struct job job;
		start(&job, RW_OPERATOR_UNKNOWN);
		for (int i = 0; i < LEARNED * 4; i++)
			ddp_step(&job, -1, false);
		ddp_step(&job, 2, spreads);
		for (int i = 0; i < 9; i++)
			ddp_step(&job, -1, false);
		cr_assert_gt(job.scanned.told_count, 0);
		cr_expect_eq(last(&job)->severity, spreads ? RW_WARNING : RW_NOTICE, "%s", last(&job)->text);
		scanned_free(&job.scanned);
	}
}

Test(aftermath, a_loss_scale_that_was_too_large_is_a_notice)
{
	static const struct {
		unsigned int ranks;
		int steps;
		bool notice;
	} cases[] = {
		{ 0x2c, 1, true },  { 0xff, 1, true },  { 0x2c, 2, true },  { 0xff, 2, true },
		{ 0xff, 3, false }, { 0x2c, 5, false }, { 0x04, 1, false }, /* one rank alone: nobody knows */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct trouble trouble = { .mask_reduction = RW_OPERATOR_MAX, .gradients = RW_DTYPE_FLOAT16 };
		struct job job;
		start(&job, RW_OPERATOR_SUM);
		learn(&job, RW_DTYPE_FLOAT16);
		struct trouble scaled = trouble;
		scaled.bring = cases[i].ranks;
		scaled.inf = scaled.only_sums = true;
		steps(&job, cases[i].steps, scaled);
		steps(&job, 20, trouble);
		const struct scanned_told *loud = scanned_loud(&job.scanned);
		cr_expect_eq(!loud, cases[i].notice, "%zu: %s", i, loud ? loud->text : "nothing");
		cr_expect(!cases[i].notice || strstr(job.scanned.told[0].text, "the loss scale"), "%zu: %s", i,
			  job.scanned.told[0].text);
		scanned_free(&job.scanned);
	}
}

/* Where it cannot be told who made it, all who had it are named, and nobody is said to have made it for the others. */
Test(aftermath, a_loss_scale_is_no_search_for_one_rank)
{
	static const struct {
		unsigned int ranks;
		bool unscanned, blind; /* blind: rank 6 is never scanned */
		const char *text;
	} cases[] = {
		{ 0xff, false, false, "ranks 0-7 brought 1 Inf into ReduceScatter #961 on fsdp in step 241; finite again" },
		{ 0xff, true, false, "ranks 0-7 brought 1 Inf into ReduceScatter #961 on fsdp in step 241; finite again" },
		{ 0xff, true, true, "1 Inf first seen in ReduceScatter #961 on fsdp in step 241; finite again" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct trouble trouble = { .mask_reduction = RW_OPERATOR_MAX, .gradients = RW_DTYPE_FLOAT16 }, scaled = trouble;
		struct job job;

		start(&job, RW_OPERATOR_SUM);
		job.scanned.blind[6] = cases[i].blind;
		learn(&job, RW_DTYPE_FLOAT16);
		scaled.bring = cases[i].ranks;
		scaled.inf = scaled.only_sums = true;
		scaled.unscanned = cases[i].unscanned;
		steps(&job, 1, scaled);
		steps(&job, 20, trouble);
		cr_assert_gt(job.scanned.told_count, 0);
		cr_expect_eq(job.scanned.told[0].severity, RW_NOTICE);
		cr_expect_eq(job.scanned.told[0].confidence == RW_INCONCLUSIVE, cases[i].unscanned || cases[i].blind);
		cr_expect_eq(strncmp(job.scanned.told[0].text, cases[i].text, strlen(cases[i].text)), 0, "%zu: %s", i,
			     job.scanned.told[0].text);
		scanned_free(&job.scanned);
	}
}

Test(aftermath, Inf_of_bf16_on_several_ranks_that_is_clean_at_once_is_no_loss_scale)
{
	struct trouble trouble = { .mask_reduction = RW_OPERATOR_MAX, .bring = 0x2c, .inf = true, .only_sums = true };
	struct job job;

	start(&job, RW_OPERATOR_SUM);
	learn(&job, 0);
	steps(&job, 1, trouble);
	steps(&job, 20, (struct trouble){ .mask_reduction = RW_OPERATOR_MAX });
	cr_assert(scanned_loud(&job.scanned));
	cr_expect_eq(scanned_loud(&job.scanned)->rank_count, 3);
	scanned_free(&job.scanned);
}

Test(aftermath, what_is_born_after_clean_steps_is_a_finding_of_its_own)
{
	struct trouble clean = { .mask_reduction = RW_OPERATOR_MAX };
	struct trouble first = { .mask_reduction = RW_OPERATOR_MAX, .bring = 1 << 5, .only_sums = true };
	struct trouble second = first;
	struct job job;

	start(&job, RW_OPERATOR_SUM);
	learn(&job, 0);
	steps(&job, 1, first);
	steps(&job, 4, clean);
	cr_assert_eq(job.scanned.told_count, 1);
	expect_rank(last(&job), 5, RW_CRITICAL);
	steps(&job, 1, clean);
	second.bring = 1 << 2;
	steps(&job, 1, second);
	steps(&job, 9, clean);
	cr_assert_eq(job.scanned.told_count, 3);
	cr_expect_eq(job.scanned.told[1].state, RW_FINDING_CLOSED);
	expect_rank(last(&job), 2, RW_CRITICAL);
	scanned_free(&job.scanned);
}

/* … and what goes on is not. */
Test(aftermath, what_is_NaN_in_every_step_is_one_finding)
{
	struct job job;

	start(&job, RW_OPERATOR_SUM);
	learn(&job, 0);
	steps(&job, 40, (struct trouble){ .mask_reduction = RW_OPERATOR_MAX, .bring = 1 << 5, .only_sums = true });
	cr_expect_eq(job.scanned.told_count, 1);
	expect_rank(last(&job), 5, RW_CRITICAL);
	scanned_free(&job.scanned);
}

/* An evaluation: metrics of which one is NaN on one rank. */
Test(aftermath, a_NaN_in_one_of_four_metrics_of_an_evaluation_is_a_warning)
{
	struct job job;

	start(&job, RW_OPERATOR_SUM);
	learn(&job, 0);
	job.scanned.brings[6] = true;
	scanned_call(
	    &job.scanned, job.world,
	    (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .reduction = RW_OPERATOR_SUM, .count = 4 });
	forget(&job);
	steps(&job, 9, (struct trouble){ .mask_reduction = RW_OPERATOR_MAX });
	expect_rank(scanned_loud(&job.scanned), 6, RW_WARNING);
	scanned_free(&job.scanned);
}

Test(aftermath, an_evaluation_s_NaN_that_the_training_gets_becomes_critical)
{
	struct job job;

	start(&job, RW_OPERATOR_SUM);
	learn(&job, 0);
	job.scanned.brings[6] = true;
	scanned_call(
	    &job.scanned, job.world,
	    (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .reduction = RW_OPERATOR_SUM, .count = 4 });
	forget(&job);
	scanned_tick(&job.scanned, 1500);
	expect_rank(last(&job), 6, RW_WARNING);
	job.scanned.bad[6] = true;
	steps(&job, 9, (struct trouble){ .mask_reduction = RW_OPERATOR_MAX });
	expect_rank(last(&job), 6, RW_CRITICAL);
	cr_expect_eq(last(&job)->state, RW_FINDING_UPDATE);
	scanned_free(&job.scanned);
}

/* Stages of one rank each, in a ring of transfers, and a norm. */
static void pipeline_step(struct scanned *job, int world, int bad_sender, uint32_t bad)
{
	for (int i = 0; i + 1 < RANKS; i++) {
		job->brings[i] = i == bad_sender;
		job->nan = bad;
		scanned_call(job, world,
			     (struct scanned_call){
				 .function = RW_FUNCTION_SEND, .count = GRADIENTS, .sender = i, .root = i + 1 });
		job->nan = 0;
	}
	scanned_call(
	    job, world,
	    (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .reduction = RW_OPERATOR_SUM, .count = 1 });
	scanned_tick(job, 200);
}

Test(aftermath, transfers_between_any_two_ranks_have_usual_values)
{
	for (int sender = 0; sender + 1 < RANKS; sender += SANITIZED ? RANKS - 2 : 1) {
		struct scanned job;
		scanned_start(&job, RANKS, RANKS);
		int world = scanned_communicator(&job, "pp", RANKS, 0, 1);
		for (int i = 0; i < 1200; i++)
			pipeline_step(&job, world, -1, 0);
		job.absmax[sender] = 3;
		pipeline_step(&job, world, -1, 0);
		pipeline_step(&job, world, sender, 1);
		for (int i = 0; i < 9; i++)
			pipeline_step(&job, world, -1, 0);
		expect_rank(scanned_loud(&job), sender, RW_CRITICAL);
		cr_expect_eq(scanned_loud(&job)->finding.operation.function, RW_FUNCTION_SEND_RECV, "%s",
			     scanned_loud(&job)->text);
		cr_expect_eq(scanned_loud(&job)->finding.values.absmax_before, 3, "sender %d: %f", sender,
			     scanned_loud(&job)->finding.values.absmax_before);
		scanned_free(&job);
	}
}

Test(aftermath, padding_of_transfers_between_any_two_ranks_is_a_notice)
{
	for (int sender = 0; sender + 1 < RANKS; sender += SANITIZED ? RANKS - 2 : 1) {
		struct scanned job;
		scanned_start(&job, RANKS, RANKS);
		int world = scanned_communicator(&job, "pp", RANKS, 0, 1);
		for (int i = 0; i < 1200; i++)
			pipeline_step(&job, world, -1, 0);
		for (int i = 0; i < 20; i++) {
			for (int k = 0; k + 1 < RANKS; k++) {
				job.brings[k] = k == sender;
				job.nan = 16;
				scanned_call(
				    &job, world,
				    (struct scanned_call){
					.function = RW_FUNCTION_SEND, .count = GRADIENTS, .sender = k, .root = k + 1 });
				job.nan = 0;
				memset(job.bad, 0, sizeof(job.bad));
			}
			scanned_call(&job, world,
				     (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE,
							    .reduction = RW_OPERATOR_SUM,
							    .count = 1 });
			scanned_tick(&job, 200);
		}
		cr_expect_null(scanned_loud(&job), "sender %d: %s", sender, scanned_loud(&job)->text);
		cr_assert_gt(job.told_count, 0, "sender %d: no notice", sender);
		cr_expect(job.told[0].rank_count == 1 && job.told[0].ranks[0] == sender, "sender %d: %s", sender,
			  job.told[0].text);
		scanned_free(&job);
	}
}
