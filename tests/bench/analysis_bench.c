/* SPDX-License-Identifier: MIT */
/*
 * Operations a second through the analysis on one core: every operation is passed four times, as a live feed does. With
 * and without the node half, which makes messages of them for whoever judges a job on many hosts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rankwatch/message.h>

#include "analysis/analysis.h"
#include "analysis/node/node_half.h"

enum {
	OPERATIONS_PER_STEP = 97,
	LAYERS = 32,
	BATCH = 20, /* operations of a rank for each time that its box is read: 200 a second, read 10 times */
	RANKS_MAX = 256,
};

/* This process's, so that what else the machine does counts less. */
static uint64_t cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void ignore(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	printf("unexpected finding: %s\n", finding->text);
}

static void announce(struct analysis *analysis, int ranks)
{
	static struct rw_box_header box = { .host = "a", .job = "bench" };
	for (int rank = 0; rank < ranks; rank++) {
		box.world_rank = rank;
		box.world_size = 2 * ranks;
		struct analysis_process process = { .id = (analysis_process_id)rank, .pid = rank + 1, .box = &box };
		/* Of two hosts, of which the other is not seen. */
		struct rw_communicator communicator = { .id = 1, .rank = rank, .nranks = 2 * ranks, .nnodes = 2, .created_ns = 1 };
		if (analysis_add_process(analysis, &process) ||
		    analysis_add_communicator(analysis, process.id, 0, &communicator))
			abort();
	}
}

/* FSDP: a forward pass of AllGathers, a backward pass of AllGather and ReduceScatter, one AllReduce. */
static void describe(struct rw_operation *slot, uint64_t number, int rank)
{
	uint64_t in_step = number % OPERATIONS_PER_STEP, step = number / OPERATIONS_PER_STEP;
	uint64_t base = 1000000000u + number * 5000000u + (uint64_t)(rank * 977 % 1000) * 1000u;
	uint64_t scatters = in_step > LAYERS ? (in_step - LAYERS) / 2 : 0;
	*slot = (struct rw_operation){
		.ticket = number + 1,
		.dtype = RW_DTYPE_BFLOAT16,
		.count = 4096,
		/* autograd calls the backward pass */
		.api_tid = in_step >= LAYERS && in_step < OPERATIONS_PER_STEP - 1 ? 2 : 1,
		.api_ns = base,
		.launch_end_ns = base + 20000,
		.return_ns = base + 30000,
		.progress = number + 1,
		.started_seen_ns = base + 1000000,
		.done_seen_ns = 1000000000u + number * 5000000u + 4000000u,
	};
	if (in_step == OPERATIONS_PER_STEP - 1) {
		slot->function = RW_FUNCTION_ALL_REDUCE;
		slot->count = 1;
		slot->sequence = step;
	} else if (in_step >= LAYERS && (in_step - LAYERS) % 2) {
		slot->function = RW_FUNCTION_REDUCE_SCATTER;
		slot->sequence = step * LAYERS + scatters;
	} else {
		slot->function = RW_FUNCTION_ALL_GATHER;
		slot->sequence = step * 2 * LAYERS + in_step - scatters;
	}
}

static void pass(struct analysis *analysis, int rank, struct rw_operation *slot)
{
	static const uint32_t stages[] = {
		RW_KNOWN_IDENT | RW_KNOWN_API,
		RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_TASK | RW_KNOWN_RETURN,
		RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_TASK | RW_KNOWN_RETURN | RW_KNOWN_STARTED,
		RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_TASK | RW_KNOWN_RETURN | RW_KNOWN_STARTED |
		    RW_KNOWN_DONE,
	};
	for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++) {
		slot->known = stages[i];
		if (analysis_add_operation(analysis, (analysis_process_id)rank, slot))
			abort();
	}
}

struct sent {
	uint64_t messages, bytes;
};

static void count(void *argument, const void *bytes, size_t length)
{
	struct sent *sent = argument;

	sent->messages += ((const struct rw_batch *)bytes)->count;
	sent->bytes += length;
}

static void measure(int ranks, uint64_t operations, bool with_node_half)
{
	static const struct node_identity identity = { .job = "bench", .host = "a", .start = 1 };
	struct analysis *analysis = analysis_new(false, ignore, NULL);
	struct node_half *half = analysis && with_node_half ? node_half_new(analysis, &identity) : NULL;
	struct sent sent = { 0 };

	if (!analysis || (with_node_half && !half))
		abort();
	announce(analysis, ranks);
	uint64_t numbers = operations / (uint64_t)ranks / BATCH * BATCH, spent_ns = 0;
	/* as the boxes' reader leaves them: making them is not measured */
	static struct rw_operation slots[RANKS_MAX][BATCH];
	for (uint64_t first = 0; first < numbers; first += BATCH) {
		for (int rank = 0; rank < ranks; rank++)
			for (uint64_t i = 0; i < BATCH; i++)
				describe(&slots[rank][i], first + i, rank);
		uint64_t begin_ns = cpu_ns();
		for (int rank = 0; rank < ranks; rank++)
			for (uint64_t i = 0; i < BATCH; i++)
				pass(analysis, rank, &slots[rank][i]);
		analysis_tick(analysis, 1000000000u + (first + BATCH) * 5000000u);
		if (half)
			node_half_tick(half, 1000000000u + (first + BATCH) * 5000000u, count, &sent);
		spent_ns += cpu_ns() - begin_ns;
	}
	double seconds = (double)spent_ns / 1e9;
	struct analysis_summary summary;
	analysis_summarise(analysis, &summary);
	printf("{\"bench\":\"analysis\",\"ranks\":%d,\"node_half\":%s,\"million_operations_s\":%.2f,\"operations\":%"
	       "llu,\"steps\":%llu,"
	       "\"messages\":%llu,\"bytes_per_operation\":%.3f}\n",
	       ranks, half ? "true" : "false", (double)summary.operations / seconds / 1e6,
	       (unsigned long long)summary.operations, (unsigned long long)summary.steps,
	       (unsigned long long)sent.messages, (double)sent.bytes / (double)summary.operations);
	node_half_free(half);
	analysis_free(analysis);
}

int main(void)
{
	for (int half = 0; half < 2; half++) {
		measure(8, 4000000, half);
		measure(RANKS_MAX, 4000000, half);
	}
	return 0;
}
