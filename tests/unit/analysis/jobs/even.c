/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/even.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"

enum { TENSOR = 0, DATA = 1, PIPELINE = 2, COMMUNICATORS = 3 };

static const double base_ms = 1000, transfer_ms = 0.05, tick_ms = 100, ahead_ms = 20;

struct even_rank {
	double gpu_ms, poll_ms, difference, level;
	uint64_t tickets, progress[COMMUNICATORS], sequence[COMMUNICATORS][RW_FUNCTION_COUNT];
	int operations;
};

struct even {
	const struct even_job *job;
	struct even_result *result;
	struct analysis *analysis;
	struct even_rank *ranks;
	uint64_t random;
	double ticked_ms;
};

/* xorshift64*, Vigna 2016. In (0, 1). */
static double uniform(struct even *even)
{
	even->random ^= even->random >> 12;
	even->random ^= even->random << 25;
	even->random ^= even->random >> 27;
	return ((double)(even->random * 0x2545f4914f6cdd1du >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct even *even)
{
	return sqrt(-2 * log(uniform(even))) * cos(2 * M_PI * uniform(even));
}

static int width(const struct even_job *job)
{
	return job->stages > 1 ? job->stages : job->tensor_parallel ? job->tensor_parallel : job->ranks;
}

static void add_communicator(struct even *even, int rank, int index, uint64_t id, int number, int size)
{
	const struct rw_communicator communicator = {
		.id = id, .rank = number, .nranks = size, .nnodes = 1, .created_ns = 1
	};

	if (analysis_add_communicator(even->analysis, (analysis_process_id)rank, (uint32_t)index, &communicator))
		abort();
}

static void announce(struct even *even, int rank)
{
	static struct rw_box_header box;
	const struct even_job *job = even->job;
	int size = width(job), groups = job->ranks / size;

	memset(&box, 0, sizeof(box));
	snprintf(box.host, sizeof(box.host), "h0");
	snprintf(box.job, sizeof(box.job), "even");
	snprintf(box.rank_from, sizeof(box.rank_from), "RANK");
	box.created_ns = 1;
	box.world_rank = rank;
	box.world_size = job->ranks;
	box.watchdog_ms = 600000;
	box.pid_namespace = 0xEFFFFFFC;
	const struct analysis_process process = { .id = (analysis_process_id)rank, .pid = 1000 + rank, .box = &box };
	if (analysis_add_process(even->analysis, &process))
		abort();
	add_communicator(even, rank, TENSOR, 0x1000u + (uint64_t)(rank / size), rank % size, size);
	if (groups > 1)
		add_communicator(even, rank, DATA, 0x2000u + (uint64_t)(rank % size), rank / size, groups);
	if (job->stages > 1)
		add_communicator(even, rank, PIPELINE, 0x3000u + (uint64_t)(rank / size), rank % size, size);
}

/* How long it computes before its next operation. */
static double work_ms(struct even *even, int rank)
{
	const struct even_job *job = even->job;
	struct even_rank *state = &even->ranks[rank];
	double share = 1 + state->difference + state->level + job->jitter * uniform(even);

	if (job->stages > 1)
		share += job->uneven * (rank % job->stages) / (job->stages - 1);
	if (rank == job->slow_rank)
		share += job->slow;
	double ms = fmax(share, 0.1) * job->compute_ms;
	if (rank == job->slow_rank && job->stall_every && ++state->operations % job->stall_every == 0)
		ms += job->stall_ms;
	return ms;
}

/* By the next look of this rank's plugin, of which one follows the other by 3 to 4 ms. */
static uint64_t seen_ns(struct even *even, struct even_rank *rank, double ms)
{
	while (rank->poll_ms < ms)
		rank->poll_ms += 3 + uniform(even);
	return (uint64_t)(rank->poll_ms * 1e6);
}

struct call {
	int communicator;
	uint8_t function;
	uint64_t count;
	int32_t peer;
};

static bool is_launched_late(const struct even_job *job, const struct even_rank *rank, int number)
{
	bool stalls = number == job->slow_rank && job->stall_every && rank->operations % job->stall_every == 0;

	return stalls && job->stall_device ? rank->operations / job->stall_every % job->stall_device != 0 : job->host;
}

static void tell(struct even *even, int number, struct call call, double begun_ms, double arrived_ms, double done_ms)
{
	struct even_rank *rank = &even->ranks[number];
	const struct even_job *job = even->job;
	uint64_t sequence = rank->sequence[call.communicator][call.function]++;
	double launched_ms = is_launched_late(job, rank, number) ? fmax(arrived_ms - 0.02, begun_ms) : begun_ms - ahead_ms;
	bool followed = !job->sampled || sequence * 7 % (uint64_t)job->sampled == 0;
	struct rw_operation slot = {
		.ticket = ++rank->tickets,
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_TASK,
		.comm = (uint16_t)call.communicator,
		.function = call.function,
		.dtype = RW_DTYPE_BFLOAT16,
		.count = call.count,
		.sequence = sequence,
		.api_tid = (call.function == RW_FUNCTION_REDUCE_SCATTER ? 70000 : 1000) + (uint32_t)number,
		.api_ns = (uint64_t)((launched_ms - 0.02) * 1e6),
		.launch_begin_ns = (uint64_t)((launched_ms - 0.01) * 1e6),
		.launch_end_ns = (uint64_t)(launched_ms * 1e6),
		.return_ns = (uint64_t)(launched_ms * 1e6),
		.root_or_peer = call.peer,
	};
	if (followed) {
		slot.known |= RW_KNOWN_STARTED | RW_KNOWN_DONE;
		slot.progress = ++rank->progress[call.communicator];
		slot.gpu_source = RW_GPU_SOURCE_WATERMARK;
		slot.started_seen_ns = seen_ns(even, rank, arrived_ms);
		if (number + 1 == job->starved_rank && rank->poll_ms < done_ms)
			slot.started_seen_ns = (uint64_t)((rank->poll_ms = done_ms + 0.001) * 1e6);
		slot.done_seen_ns = seen_ns(even, rank, done_ms);
	} else {
		slot.flags = RW_FLAG_PROGRESS_SAMPLED_OUT;
	}
	if (analysis_add_operation(even->analysis, (analysis_process_id)number, &slot))
		abort();
}

/* Ranks first, first + by … together. */
static void collective(struct even *even, struct call call, int first, int by, int count, bool works)
{
	double last_ms = 0;

	for (int i = 0; i < count; i++) {
		struct even_rank *rank = &even->ranks[first + i * by];
		rank->gpu_ms += works ? work_ms(even, first + i * by) : 0;
		last_ms = fmax(last_ms, rank->gpu_ms);
	}
	for (int i = 0; i < count; i++) {
		struct even_rank *rank = &even->ranks[first + i * by];
		tell(even, first + i * by, call, rank->gpu_ms - (works ? even->job->compute_ms : 0), rank->gpu_ms,
		     last_ms + transfer_ms);
		rank->gpu_ms = last_ms + transfer_ms;
	}
}

/* A micro-batch through all stages of a replica. */
static void forward(struct even *even, int first)
{
	int stages = even->job->stages;
	double sent_ms = 0;

	for (int stage = 0; stage < stages; stage++) {
		struct even_rank *rank = &even->ranks[first + stage];
		if (stage) {
			double came_ms = fmax(rank->gpu_ms, sent_ms) + transfer_ms;
			tell(even, first + stage, (struct call){ PIPELINE, RW_FUNCTION_RECV, 4096, stage - 1 }, rank->gpu_ms,
			     rank->gpu_ms, came_ms);
			rank->gpu_ms = came_ms;
		}
		rank->gpu_ms += work_ms(even, first + stage);
		sent_ms = rank->gpu_ms;
		if (stage + 1 < stages) {
			tell(even, first + stage, (struct call){ PIPELINE, RW_FUNCTION_SEND, 4096, stage + 1 },
			     rank->gpu_ms, rank->gpu_ms, rank->gpu_ms + transfer_ms);
			rank->gpu_ms += transfer_ms;
		}
	}
}

static void let_time_pass(struct even *even, double until_ms)
{
	for (; even->ticked_ms <= until_ms; even->ticked_ms += tick_ms)
		analysis_tick(even->analysis, (uint64_t)(even->ticked_ms * 1e6));
}

static void end_step(struct even *even)
{
	const struct even_job *job = even->job;
	int size = width(job), groups = job->ranks / size;

	for (int i = 0; i < size && groups > 1; i++)
		collective(even, (struct call){ DATA, RW_FUNCTION_REDUCE_SCATTER, 1 << 20, -1 }, i, size, groups, false);
	for (int i = 0; i < groups; i++)
		collective(even, (struct call){ TENSOR, RW_FUNCTION_ALL_REDUCE, 1, -1 }, i * size, 1, size, false);
}

static void play_step(struct even *even)
{
	const struct even_job *job = even->job;
	int size = width(job), groups = job->ranks / size;

	for (int i = 0; i < job->ranks; i++)
		even->ranks[i].level = job->lasts * even->ranks[i].level +
				       sqrt(1 - job->lasts * job->lasts) * job->noise * normal(even);
	for (int operation = 0; operation < job->operations; operation++) {
		for (int i = 0; i < groups && job->stages > 1; i++)
			forward(even, i * size);
		uint64_t count = (1 << 20) + (job->no_steps ? (uint64_t)(uniform(even) * (1 << 20)) : 0);
		for (int i = 0; i < groups && job->stages <= 1; i++)
			collective(even, (struct call){ TENSOR, RW_FUNCTION_ALL_REDUCE, count, -1 }, i * size, 1, size, true);
		let_time_pass(even, even->ranks[0].gpu_ms - tick_ms);
	}
	if (!job->no_steps)
		end_step(even);
}

static void emit(void *argument, const struct rw_finding *finding)
{
	struct even *even = argument;
	struct even_result *result = even->result;

	if (finding->severity < RW_WARNING || finding->confidence == RW_INCONCLUSIVE ||
	    finding->state == RW_FINDING_CLOSED)
		return;
	if (finding->rank_count == 1 && finding->ranks[0] == even->job->slow_rank) {
		if (!result->found++)
			result->found_s = (even->ticked_ms - base_ms) / 1000;
		result->share = finding->late.lost_share;
		result->late_kind = (int)finding->late.kind;
		result->spread_out = finding->late.spread_out;
		result->likely = finding->confidence == RW_LIKELY;
		snprintf(result->text, sizeof(result->text), "%s", finding->text);
		return;
	}
	result->wrong_rank = finding->ranks[0];
	if (!result->wrong++)
		snprintf(result->wrong_text, sizeof(result->wrong_text), "%s", finding->text);
}

void even_play(const struct even_job *job, struct even_result *result)
{
	struct even even = { .job = job, .result = result, .random = 0x9e3779b97f4a7c15u * (job->seed + 1ul),
			     .ticked_ms = base_ms };

	*result = (struct even_result){ .wrong_rank = -1 };
	even.analysis = analysis_new(false, emit, &even);
	even.ranks = calloc((size_t)job->ranks, sizeof(*even.ranks));
	if (!even.analysis || !even.ranks)
		abort();
	for (int i = 0; i < 8; i++)
		uniform(&even);
	for (int i = 0; i < job->ranks; i++) {
		even.ranks[i] = (struct even_rank){ .gpu_ms = base_ms,
						    .poll_ms = 4 * uniform(&even),
						    .difference = job->differences * (2 * uniform(&even) - 1),
						    .level = job->noise * normal(&even) };
		announce(&even, i);
	}
	while (even.ranks[0].gpu_ms < base_ms + job->seconds * 1000)
		play_step(&even);
	let_time_pass(&even, even.ranks[0].gpu_ms + 2000);
	analysis_free(even.analysis);
	free(even.ranks);
}
