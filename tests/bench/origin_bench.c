/* SPDX-License-Identifier: MIT */
/* 256 ranks, FSDP over TP, everything scanned, a NaN on one rank in the first step: how long the analysis takes for
 * it. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "stopwatch.h"

enum { RANKS = 256, TENSOR_PARALLEL = 8, LAYERS = 126, CULPRIT = 77, CULPRIT_LAYER = 40, ELEMENTS = 4096 };

enum { COMM_FSDP, COMM_TP, COMM_WORLD };

struct job {
	struct analysis *analysis;
	bool bad[RANKS];
	uint64_t ticket[RANKS], sequence[3][RW_FUNCTION_COUNT], now_ns;
	uint64_t judge_ns;
	unsigned long operations;
	char text[256];
};

static void hear(void *argument, const struct rw_finding *finding)
{
	struct job *job = argument;

	if (!job->text[0])
		snprintf(job->text, sizeof(job->text), "%s", finding->text);
}

static void announce(struct job *job)
{
	struct rw_box_header box = { .host = "a", .job = "bench", .world_size = RANKS };

	for (int rank = 0; rank < RANKS; rank++) {
		int group = rank / TENSOR_PARALLEL, part = rank % TENSOR_PARALLEL;
		const struct rw_communicator communicators[] = {
			{ .id = 1000 + (uint64_t)part, .rank = group, .nranks = RANKS / TENSOR_PARALLEL, .name = "fsdp" },
			{ .id = 2000 + (uint64_t)group, .rank = part, .nranks = TENSOR_PARALLEL, .name = "tp" },
			{ .id = 3000, .rank = rank, .nranks = RANKS, .name = "world" },
		};
		struct analysis_process process = { .id = (analysis_process_id)rank, .pid = rank + 1, .box = &box };
		box.world_rank = rank;
		if (analysis_add_process(job->analysis, &process))
			abort();
		for (uint32_t i = 0; i < 3; i++)
			if (analysis_add_communicator(job->analysis, process.id, i, &communicators[i]))
				abort();
	}
}

static void call(struct job *job, int rank, uint16_t comm, uint8_t function, uint64_t count, bool in_bad, bool out_bad)
{
	struct rw_operation slot = {
		.ticket = ++job->ticket[rank],
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_TASK | RW_KNOWN_RETURN |
			 RW_KNOWN_STARTED | RW_KNOWN_DONE | RW_KNOWN_SCAN_IN | RW_KNOWN_SCAN_OUT,
		.comm = comm,
		.function = function,
		.dtype = RW_DTYPE_BFLOAT16,
		.count = count,
		.sequence = job->sequence[comm][function],
		.api_ns = job->now_ns,
		.launch_end_ns = job->now_ns + 1000,
		.progress = job->ticket[rank],
		.started_seen_ns = job->now_ns + 2000,
		.done_seen_ns = job->now_ns + 3000,
		.scan_in = { .nan = in_bad, .first_bad = in_bad ? 7 : UINT64_MAX, .absmax = 1 },
		.scan_out = { .nan = out_bad, .first_bad = out_bad ? 7 : UINT64_MAX, .absmax = 1 },
	};

	job->operations++;
	if (analysis_add_operation(job->analysis, (analysis_process_id)rank, &slot))
		abort();
}

static int group_of(int rank, int comm)
{
	return comm == COMM_FSDP ? rank % TENSOR_PARALLEL : comm == COMM_TP ? rank / TENSOR_PARALLEL : 0;
}

/* All ranks, each in its own communicator of this kind; what one member brings all others have. */
static void on_all(struct job *job, uint16_t comm, uint8_t function, uint64_t count)
{
	bool group_bad[RANKS] = { false }, before[RANKS];

	for (int rank = 0; rank < RANKS; rank++) {
		before[rank] = job->bad[rank];
		group_bad[group_of(rank, comm)] |= job->bad[rank];
	}
	for (int rank = 0; rank < RANKS; rank++) {
		job->bad[rank] = group_bad[group_of(rank, comm)];
		call(job, rank, comm, function, count, before[rank], job->bad[rank]);
	}
	job->sequence[comm][function]++;
	job->now_ns += 5000000;
	if (job->now_ns % 100000000)
		return;
	uint64_t begin_ns = stopwatch_now();
	analysis_tick(job->analysis, job->now_ns);
	job->judge_ns += stopwatch_now() - begin_ns;
}

static void step(struct job *job)
{
	for (int layer = 0; layer < LAYERS; layer++) {
		if (layer == CULPRIT_LAYER)
			job->bad[CULPRIT] = true;
		on_all(job, COMM_FSDP, RW_FUNCTION_ALL_GATHER, ELEMENTS);
		on_all(job, COMM_TP, RW_FUNCTION_ALL_GATHER, ELEMENTS);
		on_all(job, COMM_TP, RW_FUNCTION_REDUCE_SCATTER, ELEMENTS);
	}
	for (int layer = 0; layer < LAYERS; layer++)
		on_all(job, COMM_FSDP, RW_FUNCTION_REDUCE_SCATTER, ELEMENTS);
	on_all(job, COMM_WORLD, RW_FUNCTION_ALL_REDUCE, 1);
}

int main(void)
{
	static struct job job = { .now_ns = 1000000000 };

	job.analysis = analysis_new(false, hear, &job);
	if (!job.analysis)
		abort();
	announce(&job);
	uint64_t begin_ns = stopwatch_now();
	step(&job);
	uint64_t all_ns = stopwatch_now() - begin_ns;
	printf("{\"bench\":\"origin\",\"ranks\":%d,\"operations\":%lu,\"feed_ms\":%.0f,\"judge_ms\":%.0f,\"text\":\"%s\"}\n",
	       RANKS, job.operations, (double)(all_ns - job.judge_ns) / 1e6, (double)job.judge_ns / 1e6, job.text);
	analysis_free(job.analysis);
	return 0;
}
