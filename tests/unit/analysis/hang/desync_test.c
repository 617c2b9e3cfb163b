/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/known/call_order.h"
#include "tests/unit/analysis/jobs/seeds.h"

enum { RANKS = 8, PROGRAM = 256, COMMUNICATOR_SIZE = 8 };

/* What a letter of a program calls. Lower case letters are calls of the same function that differ. */
static const struct kind {
	char letter;
	uint8_t function, dtype;
	uint64_t count;
	int32_t root;
} kinds[] = {
	{ 'G', RW_FUNCTION_ALL_GATHER, RW_DTYPE_BFLOAT16, 4096, -1 },
	{ 'g', RW_FUNCTION_ALL_GATHER, RW_DTYPE_UINT8, 8192, 5 }, /* the same bytes; the root means nothing */
	{ 'S', RW_FUNCTION_REDUCE_SCATTER, RW_DTYPE_FLOAT32, 4096, -1 },
	{ 's', RW_FUNCTION_REDUCE_SCATTER, RW_DTYPE_BFLOAT16, 4096, -1 },
	{ 'A', RW_FUNCTION_ALL_REDUCE, RW_DTYPE_FLOAT32, 1, -1 },
	{ 'a', RW_FUNCTION_ALL_REDUCE, RW_DTYPE_FLOAT32, 2, -1 },
	{ 'B', RW_FUNCTION_BROADCAST, RW_DTYPE_FLOAT32, 7, 0 },
	{ 'b', RW_FUNCTION_BROADCAST, RW_DTYPE_FLOAT32, 7, 1 },
	{ 'P', RW_FUNCTION_SEND, RW_DTYPE_FLOAT32, 7, 0 },
	/* What NCCL announces to nobody: no call at all to a rank without the interposer. */
	{ 'U', RW_FUNCTION_ALL_GATHER, RW_DTYPE_BFLOAT16, 4096, -1 },
	{ 'u', RW_FUNCTION_ALL_GATHER, RW_DTYPE_BFLOAT16, 8192, -1 },
	/* Replays, which NCCL reports as tasks and does not count. */
	{ 'R', RW_FUNCTION_ALL_GATHER, RW_DTYPE_BFLOAT16, 4096, -1 },
	{ 'r', RW_FUNCTION_REDUCE_SCATTER, RW_DTYPE_FLOAT32, 4096, -1 },
};

/* One rank: what it calls, which of it no reader ever sees, and how far it has got. */
struct rank {
	char program[PROGRAM];
	bool hidden[PROGRAM];
	uint32_t at;
	uint64_t ticket, announced, sequence[RW_FUNCTION_COUNT], unannounced[RW_FUNCTION_COUNT];
	uint64_t counted[RW_FUNCTION_COUNT]; /* by NCCL */
};

struct job {
	struct analysis *analysis;
	struct rank ranks[RANKS];
	int seen; /* ranks with a black box */
	int interposed; /* ranks before this one have the interposer */
	uint32_t abi;
	uint64_t now_ns, random;
	uint32_t findings;
	struct {
		enum rw_kind kind;
		enum rw_confidence confidence;
		int32_t ranks[RANKS];
		size_t rank_count, waiting_count;
		char text[256], advice[160];
	} last;
};

static uint64_t chance(struct job *job, uint64_t below)
{
	job->random = job->random * 6364136223846793005u + 1442695040888963407u;
	return (job->random >> 33) % below;
}

static void hear(void *argument, const struct rw_finding *finding)
{
	struct job *job = argument;
	job->findings++;
	job->last.kind = finding->kind;
	job->last.confidence = finding->confidence;
	job->last.rank_count = finding->rank_count;
	job->last.waiting_count = finding->late.waiting_count;
	memcpy(job->last.ranks, finding->ranks, finding->rank_count * sizeof(*finding->ranks));
	snprintf(job->last.text, sizeof(job->last.text), "%s", finding->text);
	snprintf(job->last.advice, sizeof(job->last.advice), "%s", finding->advice ? finding->advice : "");
}

static void announce(struct job *job, int rank)
{
	struct rw_communicator communicator = {
		.id = 77, .rank = rank, .nranks = COMMUNICATOR_SIZE, .nnodes = 1, .created_ns = 1, .name = "fsdp",
	};
	communicator.api_count = job->ranks[rank].announced;
	cr_assert_eq(analysis_add_communicator(job->analysis, (uint32_t)rank + 1, 0, &communicator), 0);
}

static void come(struct job *job, int seen, const char *usual)
{
	static struct rw_box_header box;
	snprintf(box.host, sizeof(box.host), "a");
	snprintf(box.job, sizeof(box.job), "test");
	for (; job->seen < seen; job->seen++) {
		int i = job->seen;
		box.world_rank = i;
		box.world_size = COMMUNICATOR_SIZE;
		box.interposed = i < job->interposed;
		box.profiler_abi = 0; /* as made by the interposer: NCCL has not come yet */
		snprintf(job->ranks[i].program, PROGRAM, "%s", usual);
		cr_assert_eq(analysis_add_process(job->analysis,
						  &(struct analysis_process){ .id = (uint32_t)i + 1, .pid = i + 1,
									      .box = &box }),
			     0);
		box.profiler_abi = job->abi;
		cr_assert_eq(analysis_set_box(job->analysis, (uint32_t)i + 1, &box), 0);
		announce(job, i);
	}
}

static void open_job(struct job *job)
{
	*job = (struct job){
		.interposed = RANKS, .abi = 5, .now_ns = 1000000000, .analysis = analysis_new(false, hear, job)
	};
	cr_assert(job->analysis);
}

static void start(struct job *job, int seen, const char *usual)
{
	open_job(job);
	come(job, seen, usual);
}

/* Ranks 0-3 have the interposer, 4-7 do not and call by their own program; all come before the first call. */
static void start_unlike(struct job *job, uint32_t abi, const char *with, const char *without)
{
	open_job(job);
	job->interposed = RANKS / 2;
	job->abi = abi;
	come(job, RANKS / 2, with);
	come(job, RANKS, without);
}

static void call_next(struct job *job, int number)
{
	struct rank *rank = &job->ranks[number];
	const struct kind *kind = kinds;
	while (kind->letter != rank->program[rank->at])
		kind++;
	struct rw_operation slot = {
		.ticket = ++rank->ticket,
		.known = RW_KNOWN_IDENT | RW_KNOWN_API,
		.function = kind->function,
		.dtype = kind->dtype,
		.count = kind->count,
		.root_or_peer = kind->root,
		.api_ns = job->now_ns += 1000,
		.api_tid = (uint32_t)number + 1,
	};
	if (!job->interposed && job->abi && job->abi < 5) {
		slot.known |= RW_KNOWN_TASK | RW_KNOWN_LAUNCH;
		slot.launch_begin_ns = slot.launch_end_ns = slot.api_ns;
		slot.nccl_sequence = rank->counted[kind->function];
		rank->counted[kind->function] += kind->letter != 'R' && kind->letter != 'r';
	}
	bool unannounced = kind->letter == 'U' || kind->letter == 'u';
	slot.sequence = unannounced ? rank->unannounced[kind->function]++ : rank->sequence[kind->function]++;
	slot.flags = unannounced ? RW_FLAG_UNANNOUNCED : 0;
	rank->announced++;
	if (!rank->hidden[rank->at++])
		cr_assert_eq(analysis_add_operation(job->analysis, (uint32_t)number + 1, &slot), 0);
	announce(job, number);
}

/* All ranks call what their programs say, in any order between them. */
static void play(struct job *job)
{
	int left = 0;
	for (int i = 0; i < job->seen; i++)
		left += job->ranks[i].program[job->ranks[i].at] != '\0';
	while (left) {
		int rank = (int)chance(job, (uint64_t)job->seen);
		if (!job->ranks[rank].program[job->ranks[rank].at])
			continue;
		call_next(job, rank);
		left -= !job->ranks[rank].program[job->ranks[rank].at];
	}
	analysis_tick(job->analysis, job->now_ns += 100000000);
	analysis_tick(job->analysis, job->now_ns += 2500000000);
}

static void end(struct job *job)
{
	analysis_free(job->analysis);
}

Test(desync, the_rank_that_calls_something_else_is_named_with_both_calls)
{
	static const struct {
		const char *usual, *odd, *text;
	} cases[] = {
		{ "GGSA", "GSA",
		  "rank 3 calls ReduceScatter #0 of 4096 fp32 on fsdp where ranks 0-2,4-7 call AllGather #1 of "
		  "4096 bf16" },
		{ "GGSA", "GGGSA",
		  "rank 3 calls AllGather #2 of 4096 bf16 on fsdp where ranks 0-2,4-7 call ReduceScatter #0 of "
		  "4096 fp32" },
		{ "GSAG", "GSaG",
		  "rank 3 calls AllReduce #0 of 2 fp32 on fsdp where ranks 0-2,4-7 call AllReduce #0 of 1 "
		  "fp32 (a barrier or a scalar reduction)" },
		{ "GSA", "GsA",
		  "rank 3 calls ReduceScatter #0 of 4096 bf16 on fsdp where ranks 0-2,4-7 call ReduceScatter #0 "
		  "of 4096 fp32" },
		{ "GBA", "GbA",
		  "rank 3 calls Broadcast #0 of 7 fp32 with root 1 on fsdp where ranks 0-2,4-7 call Broadcast #0 "
		  "of 7 fp32 with root 0" },
		{ "GSAG", "GASG",
		  "rank 3 calls AllReduce #0 of 1 fp32 (a barrier or a scalar reduction) on fsdp where ranks 0-2,4-7 "
		  "call ReduceScatter #0 of 4096 fp32" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (uint64_t seed = 0; seed < 20; seed++) {
			struct job job;
			start(&job, RANKS, cases[i].usual);
			job.random = seed;
			snprintf(job.ranks[3].program, PROGRAM, "%s", cases[i].odd);
			play(&job);
			cr_expect_eq(job.findings, 1, "case %zu: %u findings", i, job.findings);
			cr_expect_eq(job.last.kind, RW_KIND_DESYNC);
			cr_expect_eq(job.last.confidence, RW_CERTAIN);
			cr_expect_eq(job.last.waiting_count, 7);
			cr_expect_str_eq(job.last.text, cases[i].text, "case %zu: %s", i, job.last.text);
			end(&job);
		}
}

/* Each step has a call of its own size at its end, so that no two readings explain what follows. */
Test(desync, what_the_rank_did_otherwise_is_told_where_the_calls_show_it)
{
	static const struct {
		const char *usual, *odd, *told, *advice;
	} cases[] = {
		{ "GGSAGsBGGSAGsBG", "GGSAsBGGSAGsBG", "; it has left out AllGather of 4096 bf16",
		  "an expert without tokens" },
		{ "GGSAGGsBGGSAGGsBG", "GGSAsBGGSAGGsBG",
		  "; it has left out 2 calls, the first is AllGather of 4096 bf16", "one batch less" },
		{ "GGSAGsBGGSAGsBG", "GGSAGaaaasBGGSAGsBG",
		  "; it has made 4 calls more, the first is AllReduce of 2 fp32", "`if rank == 0`" },
		{ "GGSAGsBGGSAGsBG", "GGSAGasBGGSAGsBG", "; it has made one call more, AllReduce of 2 fp32",
		  "an evaluation" },
		{ "GGSAGsBGGSAGsBG", "GGSAGAsBGGSAGsBG",
		  "; it has made one call more, AllReduce of 1 fp32 (a barrier or a scalar reduction)",
		  "a barrier around a save" },
		{ "GGSAGsBGGSAGsBG", "GGSGsBGGSAGsBG",
		  "; it has left out AllReduce of 1 fp32 (a barrier or a scalar reduction)", "a branch on data" },
		{ "GGSAGsBGGSAGsBG", "GGSAGBsGGSAGsBG", "; it has called these two in the other order",
		  "threads that race" },
		/* The calls themselves say it. */
		{ "GGSAGsBGGSAGsBG", "GGSaGsBGGSAGsBG", NULL, "a branch on data" },
		/* Layers alike: it may have left one out, or made one twice. */
		{ "GSGSGSGSGSGSGSGS", "GGSGSGSGSGSGSGSG", NULL, "a branch on data" },
		/* It hangs at once. */
		{ "GGSAGsBGGSAGsBG", "GGSAsB", NULL, "a branch on data" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (uint64_t seed = 0; seed < 20; seed++) {
			struct job job;
			start(&job, RANKS, cases[i].usual);
			job.random = seed;
			snprintf(job.ranks[3].program, PROGRAM, "%s", cases[i].odd);
			play(&job);
			cr_expect_eq(job.findings, 1, "case %zu: %u findings", i, job.findings);
			cr_expect(job.last.rank_count == 1 && job.last.ranks[0] == 3, "case %zu: %s", i, job.last.text);
			const char *told = strchr(job.last.text, ';');
			cr_expect(!told == !cases[i].told && (!told || !strcmp(told, cases[i].told)), "case %zu: %s", i, job.last.text);
			cr_expect(strstr(job.last.advice, cases[i].advice), "case %zu: %s", i, job.last.advice);
			end(&job);
		}
}

/* All that this rank calls, and a moment in which it is looked at. */
static void call_all(struct job *job, int rank)
{
	while (job->ranks[rank].program[job->ranks[rank].at])
		call_next(job, rank);
	analysis_tick(job->analysis, job->now_ns += 100000000);
}

/* The run is played again, and others come to the place a moment later, as they did then. */
Test(desync, boxes_of_a_dead_job_are_not_judged_before_all_ranks_have_called)
{
	static const int order[] = { 4, 3, 6, 0, 1, 7, 2, 5 };
	struct job job;
	open_job(&job);
	analysis_free(job.analysis);
	job.analysis = analysis_new(true, hear, &job);
	come(&job, RANKS, "GGSA");
	snprintf(job.ranks[3].program, PROGRAM, "GSA");
	for (int i = 0; i < RANKS; i++) {
		cr_expect_eq(job.findings, 0, "%d have come: %s", i, job.last.text);
		call_all(&job, order[i]);
	}
	for (int i = 0; i < 6; i++)
		analysis_tick(job.analysis, job.now_ns += 100000000);
	cr_expect_eq(job.findings, 1);
	cr_expect_eq(job.last.confidence, RW_CERTAIN);
	cr_expect_eq(job.last.ranks[0], 3);
	cr_expect_eq(job.last.waiting_count, 7);
	end(&job);
}

Test(desync, what_the_boxes_of_a_dead_job_show_at_its_end_is_told)
{
	struct job job;
	open_job(&job);
	analysis_free(job.analysis);
	job.analysis = analysis_new(true, hear, &job);
	come(&job, RANKS, "GGSA");
	snprintf(job.ranks[3].program, PROGRAM, "GSA");
	for (int i = 0; i < 6; i++)
		call_all(&job, i);
	cr_expect_eq(job.findings, 0);
	for (int i = 0; i < RANKS; i++)
		analysis_set_life(job.analysis, (uint32_t)i + 1, ANALYSIS_KILLED, 9, job.now_ns);
	analysis_tick(job.analysis, job.now_ns);
	cr_expect(job.findings, "two ranks never came");
	cr_expect_eq(job.last.kind, RW_KIND_DESYNC);
	cr_expect_eq(job.last.confidence, RW_LIKELY);
	cr_expect_eq(job.last.ranks[0], 3);
	end(&job);
}

Test(desync, equal_bytes_under_another_type_are_the_same_AllGather)
{
	struct job job;
	start(&job, RANKS, "GGSA");
	snprintf(job.ranks[3].program, PROGRAM, "GgSA");
	play(&job);
	cr_expect_eq(job.findings, 0, "%s", job.last.text);
	end(&job);
}

Test(desync, nobody_is_named_when_no_call_is_that_of_most_ranks)
{
	struct job job;
	start(&job, RANKS, "GSA");
	for (int i = 4; i < RANKS; i++)
		snprintf(job.ranks[i].program, PROGRAM, "GA");
	play(&job);
	cr_expect_eq(job.findings, 1);
	cr_expect_eq(job.last.confidence, RW_INCONCLUSIVE);
	cr_expect_eq(job.last.rank_count, RANKS);
	cr_expect(strstr(job.last.text, "ranks 0-7 call different collectives on fsdp: "), "%s", job.last.text);
	end(&job);
}

Test(desync, the_few_ranks_that_were_seen_of_a_communicator_do_not_outvote_the_unseen)
{
	struct job job;
	start(&job, 4, "GGSA");
	snprintf(job.ranks[3].program, PROGRAM, "GSA");
	play(&job);
	cr_expect_eq(job.findings, 1);
	cr_expect_eq(job.last.confidence, RW_INCONCLUSIVE);
	end(&job);
	start(&job, 6, "GGSA");
	snprintf(job.ranks[3].program, PROGRAM, "GSA");
	play(&job);
	cr_expect_eq(job.last.confidence, RW_LIKELY);
	cr_expect(job.last.rank_count == 1 && job.last.ranks[0] == 3);
	end(&job);
}

static void write_program(struct job *job, char *program)
{
	static const char letters[] = "GGGSSABP";
	int length = 40 + (int)chance(job, 100);
	for (int i = 0; i < length; i++)
		program[i] = letters[chance(job, sizeof(letters) - 1)];
	program[length] = '\0';
}

Test(desync, equal_programs_are_never_called_different_whatever_part_of_them_was_not_seen)
{
	for (uint64_t seed = 0; seed < seeds(3000); seed++) {
		struct job job;
		char program[PROGRAM];
		start(&job, RANKS, "");
		job.random = seed;
		write_program(&job, program);
		for (int i = 0; i < RANKS; i++) {
			struct rank *rank = &job.ranks[i];
			uint64_t late = chance(&job, 3) ? 0 : chance(&job, strlen(program));
			snprintf(rank->program, PROGRAM, "%s", program);
			for (size_t k = 0; program[k]; k++)
				rank->hidden[k] = k < late || (seed % 2 && !chance(&job, 30));
			/* Some are not as far as the others when time passes. */
			rank->program[strlen(program) - (seed % 3 ? 0 : chance(&job, 30))] = '\0';
		}
		play(&job);
		for (uint32_t i = 0; i < job.findings; i++)
			cr_expect_neq(job.last.kind, RW_KIND_DESYNC, "seed %lu: %s", seed, job.last.text);
		end(&job);
	}
}

Test(desync, a_reader_that_came_late_sees_the_ranks_part_later)
{
	struct job job;
	start(&job, RANKS, "BGGSAGGSAGGSAGGSAGGSAGGSAGGSAGGSAGGSAGGSAGGSAGGSA");
	snprintf(job.ranks[5].program, PROGRAM, "BGGSAGGSAGGSAGGSAGGSAGGSAGGSAGGSAGGSAGGSAGGSAGSA");
	for (int i = 0; i < RANKS; i++)
		for (int k = 0; k < 3 + i % 2; k++)
			job.ranks[i].hidden[k] = true;
	play(&job);
	cr_expect_eq(job.findings, 1);
	cr_expect(job.last.rank_count == 1 && job.last.ranks[0] == 5, "%s", job.last.text);
	end(&job);
}

Test(desync, calls_that_only_the_interposer_sees_are_compared_where_all_ranks_have_it)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct job job;
		start(&job, RANKS, "GUSUA");
		job.random = seed;
		snprintf(job.ranks[3].program, PROGRAM, "GuSUA");
		play(&job);
		cr_expect_eq(job.findings, 1);
		cr_expect_str_eq(job.last.text, "rank 3 calls AllGather #0 of 8192 bf16 on fsdp where ranks 0-2,4-7 call "
						"AllGather #0 of 4096 bf16");
		end(&job);
	}
}

static void expect_only_the_interposer_told(const struct job *job, uint64_t seed)
{
	cr_expect_eq(job->findings, 1, "seed %lu: %u findings", seed, job->findings);
	cr_expect(job->last.kind == RW_KIND_VERSION && job->last.rank_count == RANKS / 2 && job->last.ranks[0] == RANKS / 2,
		  "seed %lu: %s", seed, job->last.text);
}

Test(desync, ranks_without_the_interposer_do_not_lack_what_only_it_sees)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct job job;
		start_unlike(&job, 5, "GUGSUUA", "GGSA");
		job.random = seed;
		play(&job);
		expect_only_the_interposer_told(&job, seed);
		end(&job);
	}
}

Test(desync, what_all_ranks_tell_is_compared_where_some_have_the_interposer)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct job job;
		start_unlike(&job, 5, "GUGSUUA", "GGSA");
		snprintf(job.ranks[6].program, PROGRAM, "GSA");
		job.random = seed;
		play(&job);
		cr_expect_eq(job.findings, 2);
		cr_expect_eq(job.last.kind == RW_KIND_DESYNC ? job.last.ranks[0] : 6, 6);
		end(&job);
	}
}

Test(desync, a_box_without_the_interposer_that_is_found_late_ends_no_comparison)
{
	struct job job;
	open_job(&job);
	job.interposed = RANKS / 2;
	come(&job, RANKS / 2, "GUGSUUA");
	play(&job);
	come(&job, RANKS, "GGSA");
	play(&job);
	expect_only_the_interposer_told(&job, 0);
	for (int i = 0; i < RANKS; i++) {
		snprintf(job.ranks[i].program, PROGRAM, "%s", i == 5 ? "SA" : i < RANKS / 2 ? "UGSA" : "GSA");
		job.ranks[i].at = 0;
	}
	play(&job);
	cr_expect_eq(job.findings, 2);
	cr_expect(job.last.kind == RW_KIND_DESYNC && job.last.ranks[0] == 5, "%s", job.last.text);
	end(&job);
}

/* Before ABI v5 one half tells of calls, the other of launches: a group's come in another order, captured ones too. */
Test(desync, before_calls_are_announced_unlike_ranks_are_not_compared)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct job job;
		start_unlike(&job, 4, "GASGAS", "SGASGA");
		job.random = seed;
		play(&job);
		expect_only_the_interposer_told(&job, seed);
		end(&job);
	}
}

/* NCCL announces AllGather and Broadcast as bytes on some releases: the sizes of types must be right for the two to be
 * one. */
Test(desync, bytes_are_counted_by_type)
{
	static const struct {
		uint8_t dtype;
		uint64_t bytes;
	} cases[] = {
		{ RW_DTYPE_INT8, 1 },    { RW_DTYPE_UINT8, 1 },       { RW_DTYPE_INT32, 4 },       { RW_DTYPE_UINT32, 4 },
		{ RW_DTYPE_INT64, 8 },   { RW_DTYPE_UINT64, 8 },      { RW_DTYPE_FLOAT16, 2 },     { RW_DTYPE_FLOAT32, 4 },
		{ RW_DTYPE_FLOAT64, 8 }, { RW_DTYPE_BFLOAT16, 2 },    { RW_DTYPE_FLOAT8_E4M3, 1 }, { RW_DTYPE_FLOAT8_E5M2, 1 },
		{ RW_DTYPE_UNKNOWN, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct call call = { .function = RW_FUNCTION_ALL_GATHER, .dtype = cases[i].dtype, .count = 24 };
		struct call bytes = { .function = RW_FUNCTION_ALL_GATHER, .dtype = RW_DTYPE_UINT8, .count = 24 * cases[i].bytes };

		cr_expect_eq(call_bytes(&call), 24 * cases[i].bytes, "type %u", cases[i].dtype);
		cr_expect(call_is_same(&call, &bytes), "type %u", cases[i].dtype);
	}
}

/* NCCL up to 2.27 without the interposer: where a rank's proxy has work it reports each replay of a graph as it reports
 * a call. The others are in the same replays. */
Test(desync, ranks_of_which_alone_nccl_reports_replays_are_not_compared)
{
	static const struct {
		const char *usual, *replays;
		bool found;
	} cases[] = {
		{ "GSAGSAGSA", "GSARrRrGSARrGSA", false },
		{ "GSA", "GSARRRR", false },
		{ "GSAGSAGSA", "GSAGSGSGSAGSGSA", true },
	};

	for (uint64_t seed = 0; seed < 60; seed++) {
		struct job job;
		open_job(&job);
		job.interposed = 0;
		job.abi = 4;
		job.random = seed;
		come(&job, RANKS, cases[seed % 3].usual);
		for (int i = 0; i < RANKS; i += 3)
			snprintf(job.ranks[i].program, PROGRAM, "%s", cases[seed % 3].replays);
		play(&job);
		for (int i = 0; i < 60; i++)
			analysis_tick(job.analysis, job.now_ns += 500000000);
		cr_expect_eq(job.findings > 0, cases[seed % 3].found, "seed %lu: %s", seed, job.last.text);
		end(&job);
	}
}
