/* SPDX-License-Identifier: MIT */
/*
 * Replays of CUDA graphs with the times of their kernels. Four ranks replay a graph of four AllReduces in each step; in
 * some jobs the graph's groups are pairs of ranks, and a collective outside of the graph joins the pairs.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"

#include <rankwatch/finding.h>

enum { RANKS = 4, CALLS = 4, STEPS = 700, FINDINGS = 64 };

#define MS UINT64_C(1000000)

struct job {
	uint64_t late_ms; /* rank 0 comes so much later to the graph of each step */
	bool untimed;     /* NCCL reports no replays */
	bool pairs;       /* the graph's groups are {0, 1} and {2, 3}; {0, 2} and {1, 3} meet after it */
	bool renumbered;  /* the ranks' captures are not in one order */
	bool unplayed;    /* some captured calls are never replayed */
	bool lost;        /* rank 3 has no times of call 2 */
};

struct told {
	enum rw_kind kind;
	enum rw_confidence confidence;
	enum rw_late_kind late;
	int32_t rank;
	size_t rank_count;
	char missing[512], text[256];
};

static struct told told[FINDINGS];
static size_t told_count;
static struct analysis *analysis;
static uint64_t tickets[RANKS], now[RANKS], eager[RANKS], ticked_ns, state;

static uint64_t draw(uint64_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % below;
}

static void hear(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	if (told_count == FINDINGS || finding->severity < RW_WARNING)
		return;
	struct told *at = &told[told_count++];
	*at = (struct told){ .kind = finding->kind, .confidence = finding->confidence, .late = finding->late.kind,
			     .rank = finding->rank_count ? finding->ranks[0] : -1, .rank_count = finding->rank_count };
	snprintf(at->text, sizeof(at->text), "%s", finding->text);
	for (size_t i = 0; i < finding->missing_count; i++)
		snprintf(at->missing + strlen(at->missing), sizeof(at->missing) - strlen(at->missing), "%s; ", finding->missing[i]);
}

static int group_of(const struct job *job, int rank)
{
	return job->pairs ? rank / 2 : 0;
}

static int first_of(const struct job *job, int group)
{
	return job->pairs ? group * 2 : 0;
}

static int size_of(const struct job *job)
{
	return job->pairs ? 2 : RANKS;
}

static void add_communicators(const struct job *job, int rank)
{
	struct rw_communicator graph = { .id = 10 + (uint64_t)group_of(job, rank),
					 .nranks = size_of(job),
					 .nnodes = 1,
					 .created_ns = 1,
					 .rank = rank - first_of(job, group_of(job, rank)),
					 .captured = CALLS + (job->unplayed ? 40 : 0) };
	struct rw_communicator across = {
		.id = 20 + (uint64_t)rank % 2, .nranks = 2, .nnodes = 1, .created_ns = 1, .rank = rank / 2
	};

	graph.replays_timed = job->untimed ? 0 : graph.captured;
	cr_assert_eq(analysis_add_communicator(analysis, (uint32_t)rank + 1, 0, &graph), 0);
	if (job->pairs)
		cr_assert_eq(analysis_add_communicator(analysis, (uint32_t)rank + 1, 1, &across), 0);
}

static void start(const struct job *job)
{
	struct rw_box_header box = { .host = "a", .job = "test", .world_size = RANKS };

	analysis = analysis_new(false, hear, NULL);
	cr_assert(analysis);
	told_count = 0;
	state = 7;
	memset(tickets, 0, sizeof(tickets));
	memset(eager, 0, sizeof(eager));
	for (int rank = 0; rank < RANKS; rank++) {
		box.world_rank = rank;
		box.devices[0].used = 1;
		snprintf(box.devices[0].pci, sizeof(box.devices[0].pci), "0000:%02x:00.0", (unsigned int)rank + 16);
		struct analysis_process process = { .id = (uint32_t)rank + 1, .pid = rank + 1, .box = &box };
		cr_assert_eq(analysis_add_process(analysis, &process), 0);
		add_communicators(job, rank);
		now[rank] = 1000 * MS;
	}
	ticked_ns = 1000 * MS;
}

/* NCCL's thread mostly reports at once, and now and then late. */
static uint64_t report_delay(void)
{
	return draw(20) ? 1000 + draw(50000) : draw(9 * MS);
}

static void pass(int rank, struct rw_operation *slot)
{
	slot->ticket = ++tickets[rank];
	cr_assert_eq(analysis_add_operation(analysis, (uint32_t)rank + 1, slot), 0);
}

static void pass_replay(const struct job *job, int rank, uint64_t call, uint64_t step, uint64_t began_ns,
			uint64_t ended_ns)
{
	uint64_t behind_ns = (uint64_t)(rank + 3) * 1234567890123u; /* no GPU's clock is another's */
	uint64_t number = job->renumbered && rank == 2 ? CALLS - 1 - call : call, seen_ns = ended_ns + report_delay();
	struct rw_operation slot = {
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_TASK,
		.flags = RW_FLAG_CAPTURED, .function = RW_FUNCTION_ALL_REDUCE, .dtype = RW_DTYPE_FLOAT32, .count = 1000,
		.sequence = rw_captured_sequence(number, step), .nccl_sequence = step * CALLS + call, .root_or_peer = -1,
		.channels = 2, .api_ns = seen_ns,
	};

	if (job->untimed)
		return;
	if (!job->lost || rank != 3 || call != 2) {
		slot.known |= RW_KNOWN_STARTED | RW_KNOWN_DONE | RW_KNOWN_STAMP;
		slot.gpu_source = RW_GPU_SOURCE_KERNEL_CH;
		slot.started_seen_ns = began_ns + report_delay();
		slot.done_seen_ns = seen_ns;
		slot.gpu_start_raw = began_ns + behind_ns;
		slot.gpu_end_raw = ended_ns + behind_ns;
	}
	pass(rank, &slot);
}

/* A collective of some ranks: who comes early waits in its kernel. */
static uint64_t meet(const int *ranks, int count, uint64_t came_ns[RANKS])
{
	uint64_t last_ns = 0;

	for (int i = 0; i < count; i++) {
		came_ns[ranks[i]] = now[ranks[i]];
		last_ns = now[ranks[i]] > last_ns ? now[ranks[i]] : last_ns;
	}
	for (int i = 0; i < count; i++)
		now[ranks[i]] = last_ns + MS / 2;
	return last_ns + MS / 2;
}

static void replay_call(const struct job *job, uint64_t call, uint64_t step)
{
	uint64_t came_ns[RANKS];

	for (int group = 0; group < (job->pairs ? 2 : 1); group++) {
		int ranks[RANKS], count = size_of(job);
		for (int i = 0; i < count; i++)
			ranks[i] = first_of(job, group) + i;
		uint64_t ended_ns = meet(ranks, count, came_ns);
		for (int i = 0; i < count; i++)
			pass_replay(job, ranks[i], call, step, came_ns[ranks[i]], ended_ns + draw(1000));
	}
}

static void pass_eager(int rank, uint64_t launched_ns, uint64_t came_ns, uint64_t ended_ns)
{
	struct rw_operation slot = {
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_TASK | RW_KNOWN_RETURN |
			 RW_KNOWN_STARTED | RW_KNOWN_DONE,
		.comm = 1,
		.function = RW_FUNCTION_ALL_REDUCE,
		.dtype = RW_DTYPE_FLOAT32,
		.count = 5000,
		.sequence = eager[rank]++,
		.root_or_peer = -1,
		.api_ns = launched_ns,
		.api_tid = 9,
		.group = 1,
		.launch_begin_ns = launched_ns,
		.launch_end_ns = launched_ns,
		.launch_tid = 9,
		.return_ns = launched_ns,
		.progress = eager[rank],
		.gpu_source = RW_GPU_SOURCE_WATERMARK,
		.started_seen_ns = came_ns + draw(2 * MS),
		.done_seen_ns = ended_ns + draw(2 * MS),
	};

	if (slot.done_seen_ns < slot.started_seen_ns)
		slot.done_seen_ns = slot.started_seen_ns;
	pass(rank, &slot);
}

static void play_step(const struct job *job, uint64_t step)
{
	uint64_t came_ns[RANKS], launched_ns[RANKS];

	for (int rank = 0; rank < RANKS; rank++) {
		launched_ns[rank] = now[rank] + MS;
		now[rank] += 10 * MS + draw(MS) + (rank == 0 ? job->late_ms * MS : 0);
	}
	for (uint64_t call = 0; call < CALLS; call++) {
		replay_call(job, call, step);
		for (int rank = 0; rank < RANKS; rank++)
			now[rank] += 5 * MS + draw(MS / 2);
	}
	for (int pair = 0; pair < 2 && job->pairs; pair++) {
		const int ranks[2] = { pair, pair + 2 };
		uint64_t ended_ns = meet(ranks, 2, came_ns);
		for (int i = 0; i < 2; i++)
			pass_eager(ranks[i], launched_ns[ranks[i]], came_ns[ranks[i]], ended_ns);
	}
	for (; ticked_ns + 100 * MS < now[0]; ticked_ns += 100 * MS)
		analysis_tick(analysis, ticked_ns);
}

static void play(const struct job *job, struct analysis_account *account)
{
	start(job);
	for (uint64_t step = 0; step < STEPS; step++)
		play_step(job, step);
	for (int rank = 0; rank < RANKS; rank++)
		analysis_set_life(analysis, (uint32_t)rank + 1, ANALYSIS_EXITED, 0, now[0] + 1000 * MS);
	analysis_tick(analysis, now[0] + 2000 * MS);
	analysis_tell_account(analysis, account);
	analysis_free(analysis);
}

static void expect_only_rank_0(const char *what)
{
	cr_assert_gt(told_count, 0, "%s: nobody is named", what);
	for (size_t i = 0; i < told_count; i++) {
		cr_expect_eq(told[i].kind, RW_KIND_STRAGGLER, "%s: %s", what, told[i].text);
		cr_expect(told[i].rank_count == 1 && told[i].rank == 0, "%s: %s", what, told[i].text);
		cr_expect_eq(told[i].late, RW_LATE_NONE, "%s: neither host nor device is known: %s", what, told[i].text);
	}
}

Test(timed_replays, a_rank_late_in_front_of_its_graph_is_named)
{
	struct analysis_account account;

	play(&(struct job){ .late_ms = 12 }, &account);
	expect_only_rank_0("one group");
	cr_expect_eq(told[0].confidence, RW_LIKELY, "as sums allow");
	cr_expect(account.unseen < 0.02, "%f", account.unseen);
	cr_expect(account.wait > 0.15, "%f", account.wait);
}

Test(timed_replays, captured_calls_that_never_run_hide_nothing)
{
	struct analysis_account account;

	play(&(struct job){ .late_ms = 12, .unplayed = true }, &account);
	expect_only_rank_0("calls that are not replayed");
	cr_expect(account.unseen < 0.02, "%f", account.unseen);
}

Test(timed_replays, a_healthy_job_is_silent_and_nothing_of_it_is_unseen)
{
	struct analysis_account account;

	for (int pairs = 0; pairs < 2; pairs++) {
		play(&(struct job){ .pairs = pairs }, &account);
		cr_expect_eq(told_count, 0, "%s", told[0].text);
		cr_expect(account.unseen < 0.02, "%d: %f", pairs, account.unseen);
		cr_expect(account.own > 0.8, "%d: %f", pairs, account.own);
	}
}

Test(timed_replays, without_times_their_time_is_unseen_and_nobody_is_named)
{
	struct analysis_account account;

	play(&(struct job){ .late_ms = 12, .untimed = true }, &account);
	cr_expect_eq(told_count, 0, "%s", told[0].text);
}

/* It waits in the graph for its peer, and is late where the pairs meet. */
Test(timed_replays, a_rank_that_waited_in_its_graph_is_not_named)
{
	struct analysis_account account;

	play(&(struct job){ .late_ms = 30, .pairs = true }, &account);
	expect_only_rank_0("pairs");
	cr_expect(account.unseen < 0.02, "%f", account.unseen);
	play(&(struct job){ .late_ms = 30, .pairs = true, .untimed = true }, &account);
	cr_assert_gt(told_count, 0);
	for (size_t i = 0; i < told_count; i++) {
		cr_expect_neq(told[i].confidence, RW_CERTAIN, "%s", told[i].text);
		cr_expect(strstr(told[i].missing, "in its CUDA graphs, whose collectives have no times"), "%s: %s", told[i].text,
			  told[i].missing);
	}
	cr_expect(account.unseen > 0.5, "%f", account.unseen);
}

/* Numbers of captures that do not fit are found by NCCL's own. */
Test(timed_replays, calls_that_are_not_the_same_on_all_ranks_are_not_compared)
{
	struct analysis_account account;

	play(&(struct job){ .late_ms = 12, .renumbered = true }, &account);
	cr_expect_eq(told_count, 0, "%s", told[0].text);
	cr_expect(!account.known, "nothing is: own %f, wait %f, unseen %f", account.own, account.wait, account.unseen);
}

Test(timed_replays, what_lacks_times_on_one_rank_is_unseen)
{
	struct analysis_account account;

	play(&(struct job){ .lost = true }, &account);
	cr_expect_eq(told_count, 0, "%s", told[0].text);
	cr_expect(account.unseen > 0.03 && account.unseen < 0.3, "%f", account.unseen);
}
