/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/noisy.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


enum {
	POLL_MS = 4, /* how often the plugin looks at the GPU page */
	CREEP_STEPS = 100,
	PHASE_EVERY = 60,
	EVALUATION_EVERY = 50,
	PACE_EVERY = 20,
};

static const double base_ms = 1000, transfer_ms = 1, tick_ms = 100;

struct noisy_rank {
	double gpu_ms, level, walk, difference, poll_ms;
	int phase;
	uint64_t tickets, sequence[RW_FUNCTION_COUNT];
};

struct noisy {
	const struct noisy_job *job;
	struct noisy_result *result;
	struct analysis *analysis;
	struct noisy_rank *ranks;
	double *hosts;
	uint64_t random;
	double ticked_ms;
	int step;
	int turn;
};

/* xorshift64*, Vigna 2016. In (0, 1). */
static double uniform(struct noisy *noisy)
{
	noisy->random ^= noisy->random >> 12;
	noisy->random ^= noisy->random << 25;
	noisy->random ^= noisy->random >> 27;
	return ((double)(noisy->random * 0x2545f4914f6cdd1du >> 11) + 0.5) / 9007199254740992.0;
}

/* Box and Muller 1958. */
static double normal(struct noisy *noisy)
{
	double radius = sqrt(-2 * log(uniform(noisy)));
	return radius * cos(2 * M_PI * uniform(noisy));
}

static double bent(double x, enum noisy_tail tail)
{
	return tail == NOISY_NORMAL ? x : tail == NOISY_HEAVY ? x * exp(0.1 * x * x) : exp(x) - 1;
}

static double next_level(struct noisy *noisy, double level)
{
	double lasts = noisy->job->lasts;
	return lasts * level + sqrt(1 - lasts * lasts) * normal(noisy);
}

static double next_walk(struct noisy *noisy, double walk)
{
	double turned = fabs(walk + noisy->job->walk / 8 * normal(noisy));
	double most = noisy->job->walk;
	return turned > most ? fmax(2 * most - turned, 0) : turned;
}

/* What the fault adds to this step of this rank. */
static double fault_ms(const struct noisy *noisy, int rank)
{
	const struct noisy_job *job = noisy->job;
	int which = rank == noisy->result->faulty[0] ? 0 : rank == noisy->result->faulty[1] ? 1 : -1;
	int since = noisy->step - job->fault_step;

	if (job->pattern == NOISY_ALL && since >= 0)
		return job->fault_ms;
	if (which < 0 || since < 0)
		return 0;
	switch (job->pattern) {
	case NOISY_ONE_IN_TEN:
		return since % 10 ? 0 : job->fault_ms;
	case NOISY_CREEP:
		return job->fault_ms * fmin(since, CREEP_STEPS) / CREEP_STEPS;
	case NOISY_GROWS:
		return job->fault_ms * (since + 1);
	case NOISY_BY_TURNS:
		return since % 2 == which ? job->fault_ms : 0;
	case NOISY_BLOCKS:
		return since % 50 < 10 ? job->fault_ms : 0;
	default:
		return job->fault_ms;
	}
}

/* How much longer than usual this rank computes in this step, ms. */
static double extra_ms(struct noisy *noisy, int rank)
{
	const struct noisy_job *job = noisy->job;
	struct noisy_rank *state = &noisy->ranks[rank];
	double share = job->jitter * uniform(noisy) + state->difference;

	state->level = next_level(noisy, state->level);
	double level = job->noise_of_hosts ? noisy->hosts[rank / job->ranks_per_host] : state->level;
	share += job->noise * bent(level, job->tail);
	if (job->walk > 0)
		share += state->walk = next_walk(noisy, state->walk);
	if ((noisy->step + state->phase) % PHASE_EVERY < job->phase_steps)
		share += job->phase;
	if (rank == noisy->turn)
		share += job->uneven;
	return fmax(share * job->step_ms, -0.8 * job->step_ms) + fault_ms(noisy, rank);
}

static void announce(struct noisy *noisy, int rank)
{
	static struct rw_box_header box;
	int per_host = noisy->job->ranks_per_host;

	memset(&box, 0, sizeof(box));
	snprintf(box.host, sizeof(box.host), "h%d", per_host ? rank / per_host : 0);
	snprintf(box.job, sizeof(box.job), "noisy");
	snprintf(box.rank_from, sizeof(box.rank_from), "RANK");
	box.created_ns = 1;
	box.world_rank = rank;
	box.world_size = noisy->job->ranks;
	box.watchdog_ms = 600000;
	box.pid_namespace = 0xEFFFFFFC;
	const struct analysis_process process = { .id = (analysis_process_id)rank, .pid = 1000 + rank, .box = &box };
	const struct rw_communicator communicator = {
		.id = 0x5eed, .rank = rank, .nranks = noisy->job->ranks, .nnodes = 1, .created_ns = 1
	};
	if (analysis_add_process(noisy->analysis, &process) ||
	    analysis_add_communicator(noisy->analysis, process.id, 0, &communicator))
		abort();
}

/* When the plugin of this rank sees what happened at ms. */
static uint64_t seen_ns(const struct noisy_rank *rank, double ms)
{
	double polls = ceil((ms - rank->poll_ms) / POLL_MS);
	return (uint64_t)((polls * POLL_MS + rank->poll_ms) * 1e6);
}

static void operation(struct noisy *noisy, uint8_t function, uint64_t count, double part, const double *extra)
{
	const struct noisy_job *job = noisy->job;
	double last_ms = 0, pace = 1 + job->ramp * noisy->step / job->steps;

	for (int rank = 0; rank < job->ranks; rank++) {
		noisy->ranks[rank].gpu_ms += part * (pace * job->step_ms + (extra ? extra[rank] : 0));
		last_ms = fmax(last_ms, noisy->ranks[rank].gpu_ms);
	}
	for (int i = 0; i < job->ranks; i++) {
		struct noisy_rank *rank = &noisy->ranks[i];
		uint64_t sequence = rank->sequence[function]++;
		uint64_t called_ns = (uint64_t)((rank->gpu_ms - part * job->step_ms * 0.1) * 1e6);
		const struct rw_operation slot = {
			.ticket = ++rank->tickets,
			.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_TASK |
				 RW_KNOWN_STARTED | RW_KNOWN_DONE,
			.function = function,
			.dtype = RW_DTYPE_BFLOAT16,
			.count = count,
			.sequence = sequence,
			/* autograd's thread, or the main one */
			.api_tid = (function == RW_FUNCTION_REDUCE_SCATTER ? 70000 : 1000) + (uint32_t)i,
			.api_ns = called_ns,
			.launch_begin_ns = called_ns + 20000,
			.launch_end_ns = called_ns + 40000,
			.return_ns = called_ns + 50000,
			.root_or_peer = -1,
			.progress = rank->tickets,
			.gpu_source = RW_GPU_SOURCE_WATERMARK,
			.started_seen_ns = seen_ns(rank, rank->gpu_ms),
			.done_seen_ns = seen_ns(rank, last_ms + transfer_ms),
		};
		if (analysis_add_operation(noisy->analysis, (analysis_process_id)i, &slot))
			abort();
		rank->gpu_ms = last_ms + transfer_ms;
	}
}

static void let_time_pass(struct noisy *noisy, double until_ms)
{
	for (; noisy->ticked_ms <= until_ms; noisy->ticked_ms += tick_ms)
		analysis_tick(noisy->analysis, (uint64_t)(noisy->ticked_ms * 1e6));
}

static void play_step(struct noisy *noisy, double *extra)
{
	const struct noisy_job *job = noisy->job;

	noisy->turn = job->uneven > 0 ? (int)(uniform(noisy) * job->ranks) : -1;
	for (int host = 0; job->noise_of_hosts && host * job->ranks_per_host < job->ranks; host++)
		noisy->hosts[host] = next_level(noisy, noisy->hosts[host]);
	for (int rank = 0; rank < job->ranks; rank++)
		extra[rank] = extra_ms(noisy, rank);
	if (job->evaluates && noisy->step % EVALUATION_EVERY == 0)
		for (int i = 0; i < 20; i++)
			operation(noisy, RW_FUNCTION_ALL_GATHER, 64, 0.5, NULL);
	operation(noisy, RW_FUNCTION_ALL_GATHER, 4096, 0.5, extra);
	operation(noisy, RW_FUNCTION_REDUCE_SCATTER, 4096, 0.5, extra);
	operation(noisy, RW_FUNCTION_ALL_REDUCE, 1, 0, NULL);
	let_time_pass(noisy, noisy->ranks[0].gpu_ms + POLL_MS);
}

static void emit(void *argument, const struct rw_finding *finding)
{
	struct noisy *noisy = argument;
	struct noisy_result *result = noisy->result;

	if (finding->severity < RW_WARNING || finding->confidence == RW_INCONCLUSIVE ||
	    finding->state == RW_FINDING_CLOSED)
		return;
	for (size_t i = 0; i < finding->rank_count; i++) {
		int which = finding->ranks[i] == result->faulty[0] ? 0 : finding->ranks[i] == result->faulty[1] ? 1 : -1;
		if (which >= 0 && noisy->step >= noisy->job->fault_step) {
			if (!result->found_step[which])
				result->found_step[which] = noisy->step;
			continue;
		}
		if (!result->wrong++) {
			result->wrong_rank = finding->ranks[i];
			result->wrong_step = noisy->step;
			snprintf(result->wrong_text, sizeof(result->wrong_text), "%s", finding->text);
		}
	}
}

static void begin(struct noisy *noisy)
{
	const struct noisy_job *job = noisy->job;

	for (int i = 0; i < 8; i++)
		uniform(noisy);
	noisy->result->faulty[0] = job->pattern && job->pattern != NOISY_ALL ? (int)(uniform(noisy) * job->ranks) : -1;
	bool two = job->pattern == NOISY_TWO || job->pattern == NOISY_BY_TURNS;
	noisy->result->faulty[1] = two ? (noisy->result->faulty[0] + 1 + job->ranks / 3) % job->ranks : -1;
	for (int i = 0; i < job->ranks; i++) {
		noisy->ranks[i] = (struct noisy_rank){
			.gpu_ms = base_ms,
			.level = normal(noisy),
			.walk = job->walk * uniform(noisy),
			.difference = job->differences * (2 * uniform(noisy) - 1),
			.poll_ms = POLL_MS * uniform(noisy),
			.phase = (int)(uniform(noisy) * PHASE_EVERY),
		};
		noisy->hosts[i] = normal(noisy);
		announce(noisy, i);
	}
}

static void look_at_pace(struct noisy *noisy)
{
	struct noisy_result *result = noisy->result;

	if (result->slower_step)
		return;
	analysis_tell_pace(noisy->analysis, &result->pace);
	if (result->pace.course == ANALYSIS_PACE_LONGER || result->pace.course == ANALYSIS_PACE_GROWS)
		result->slower_step = noisy->step;
}

void noisy_play(const struct noisy_job *job, struct noisy_result *result)
{
	struct noisy noisy = { .job = job, .result = result, .random = 0x9e3779b97f4a7c15u * (job->seed + 1ul),
			       .ticked_ms = base_ms };
	double *extra = calloc((size_t)job->ranks, sizeof(*extra));
	struct analysis_summary summary;

	*result = (struct noisy_result){ .wrong_rank = -1 };
	noisy.analysis = analysis_new(false, emit, &noisy);
	noisy.ranks = calloc((size_t)job->ranks, sizeof(*noisy.ranks));
	noisy.hosts = calloc((size_t)job->ranks, sizeof(*noisy.hosts));
	if (!noisy.analysis || !noisy.ranks || !noisy.hosts || !extra)
		abort();
	begin(&noisy);
	for (noisy.step = 1; noisy.step <= job->steps; noisy.step++) {
		play_step(&noisy, extra);
		if (noisy.step % PACE_EVERY == 0)
			look_at_pace(&noisy);
	}
	let_time_pass(&noisy, noisy.ranks[0].gpu_ms + 2000);
	analysis_summarise(noisy.analysis, &summary);
	result->steps = (int)summary.steps;
	analysis_free(noisy.analysis);
	free(noisy.ranks);
	free(noisy.hosts);
	free(extra);
}
