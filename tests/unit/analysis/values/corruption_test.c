/* SPDX-License-Identifier: MIT */
/* Buffers that must be the same bits: real bytes, their digests, and who is named. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "plugin/scan/scan_kernel.h"
#include "tests/unit/analysis/jobs/seeds.h"

enum { RANKS_MAX = 8, PART = 64 /* bytes of a rank's part */, WHOLE = PART * RANKS_MAX };

struct job {
	struct analysis *analysis;
	int size, seen;
	uint8_t in[RANKS_MAX][WHOLE], out[RANKS_MAX][WHOLE];
	bool in_known[RANKS_MAX], out_known[RANKS_MAX];
	uint8_t function;
	int root;
	uint64_t random;
	uint32_t findings;
	struct {
		enum rw_kind kind;
		enum rw_confidence confidence;
		enum rw_scope scope;
		int32_t ranks[RANKS_MAX];
		size_t rank_count;
		uint64_t first_bad;
		char text[256];
	} last;
	int sick; /* rank whose GPU reports an Xid before, + 1; 0 none */
	uint64_t more; /* elements that the receiver has room for beside what comes */
};

static uint64_t chance(struct job *job, uint64_t below)
{
	job->random = job->random * 6364136223846793005u + 1442695040888963407u;
	return (job->random >> 33) % below;
}

/* The formula of the contract, straight. */
static void digest(const uint8_t *bytes, uint64_t size, struct rw_scan *scan)
{
	static const uint64_t factors[] = { SCAN_LANE_FACTOR_0, SCAN_LANE_FACTOR_1, SCAN_LANE_FACTOR_2, SCAN_LANE_FACTOR_3 };

	*scan = (struct rw_scan){ .first_bad = UINT64_MAX, .absmax = 1, .digest = SCAN_LENGTH_FACTOR * size };
	for (uint64_t i = 0; i * 4 < size; i++) {
		uint32_t word = 0;
		memcpy(&word, bytes + i * 4, size - i * 4 < 4 ? size - i * 4 : 4);
		scan->digest += factors[i % 4] * ((2 * (i / 4) + 1) * word);
		scan->lane_sum += factors[i % 4] * word;
	}
}

static void hear(void *argument, const struct rw_finding *finding)
{
	struct job *job = argument;

	job->findings++;
	if (finding->kind == RW_KIND_GPU)
		return; /* it is told again with what came of it */
	job->last.kind = finding->kind;
	job->last.confidence = finding->confidence;
	job->last.scope = finding->scope;
	job->last.rank_count = finding->rank_count;
	job->last.first_bad = finding->values.first_bad;
	memcpy(job->last.ranks, finding->ranks, finding->rank_count * sizeof(*finding->ranks));
	snprintf(job->last.text, sizeof(job->last.text), "%s", finding->text);
}

static void start(struct job *job, uint8_t function, int size, int seen)
{
	struct rw_box_header box = { .host = "a", .job = "test", .world_size = size };

	*job = (struct job){ .function = function, .size = size, .seen = seen, .analysis = analysis_new(false, hear, job) };
	cr_assert(job->analysis);
	for (int i = 0; i < size; i++)
		job->in_known[i] = job->out_known[i] = true;
	for (int i = 0; i < seen; i++) {
		struct rw_communicator communicator = { .id = 77, .rank = i, .nranks = size, .nnodes = 1, .created_ns = 1,
							.name = "dp" };
		struct analysis_process process = { .id = (uint32_t)i + 1, .pid = i + 1, .box = &box };
		box.world_rank = i;
		box.devices[0].used = 1;
		snprintf(box.devices[0].pci, sizeof(box.devices[0].pci), "0000:%02x:00.0", 0x10 + i);
		cr_assert_eq(analysis_add_process(job->analysis, &process), 0);
		cr_assert_eq(analysis_add_communicator(job->analysis, process.id, 0, &communicator), 0);
	}
}

static bool is_gather(const struct job *job)
{
	return job->function == RW_FUNCTION_ALL_GATHER;
}

/* What the operation does with random bytes. */
static void compute(struct job *job)
{
	for (int i = 0; i < job->size; i++)
		for (int k = 0; k < PART; k++)
			job->in[i][k] = (uint8_t)chance(job, 256);
	for (int i = 0; i < job->size; i++)
		for (int k = 0; k < job->size && is_gather(job); k++)
			memcpy(job->out[i] + k * PART, job->in[k], PART);
	for (int i = 0; i < job->size && !is_gather(job); i++)
		memcpy(job->out[i], job->in[job->function == RW_FUNCTION_ALL_REDUCE ? 0 : job->root], PART);
}

static bool reads(const struct job *job, int rank)
{
	bool copies = job->function == RW_FUNCTION_BROADCAST || job->function == RW_FUNCTION_SEND;

	return job->in_known[rank] && (!copies || rank == job->root);
}

static bool writes(const struct job *job, int rank)
{
	return job->out_known[rank] && (job->function != RW_FUNCTION_SEND || rank != job->root);
}

static void report_xid(const struct job *job)
{
	struct analysis_gpu_event event = { .source = ANALYSIS_GPU_KERNEL_LOG, .at_ns = 990000000, .xid = 48,
					    .text = "the driver's words" };

	snprintf(event.pci, sizeof(event.pci), "0000:%02x:00", 0x10 + job->sick - 1);
	if (job->sick)
		cr_assert_eq(analysis_add_gpu_event(job->analysis, &event), 0);
}

static void pass(struct job *job)
{
	report_xid(job);
	for (int i = 0; i < job->seen; i++) {
		struct rw_operation slot = {
			.ticket = 1,
			.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_TASK | RW_KNOWN_RETURN |
				 RW_KNOWN_STARTED | RW_KNOWN_DONE,
			.function = job->function == RW_FUNCTION_SEND && i != job->root ? RW_FUNCTION_RECV : job->function,
			.dtype = RW_DTYPE_BFLOAT16,
			.count = PART / 2 + (job->function == RW_FUNCTION_SEND && i != job->root ? job->more : 0),
			.root_or_peer = job->function == RW_FUNCTION_SEND ? 1 - i : job->root,
			.api_ns = 1000000000,
			.launch_end_ns = 1000001000,
			.progress = 1,
			.started_seen_ns = 1000002000,
			.done_seen_ns = 1000003000,
		};
		if (reads(job, i))
			slot.known |= RW_KNOWN_SCAN_IN;
		if (writes(job, i))
			slot.known |= RW_KNOWN_SCAN_OUT;
		digest(job->in[i], PART, &slot.scan_in);
		digest(job->out[i], (uint64_t)PART * (is_gather(job) ? (uint64_t)job->size : 1), &slot.scan_out);
		cr_assert_eq(analysis_add_operation(job->analysis, (uint32_t)i + 1, &slot), 0);
	}
	analysis_tick(job->analysis, 1100000000);
	analysis_tick(job->analysis, 3000000000);
	analysis_free(job->analysis);
}

static void flip(uint8_t *bytes, int bit)
{
	bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

static void expect_rank(const struct job *job, int rank, const char *text)
{
	cr_assert_eq(job->findings, 1, "%u findings", job->findings);
	cr_expect_eq(job->last.kind, RW_KIND_CORRUPTION);
	cr_expect_eq(job->last.confidence, RW_CERTAIN);
	cr_expect(job->last.rank_count == 1 && job->last.ranks[0] == rank, "rank %d: %s", rank, job->last.text);
	cr_expect_str_eq(job->last.text, text);
}

Test(corruption, one_flipped_bit_names_the_rank_and_the_element_wherever_it_is)
{
	static const struct {
		uint8_t function;
		const char *text;
	} cases[] = {
		{ RW_FUNCTION_ALL_REDUCE, "rank 5 has another result of AllReduce #0 on dp than all others" },
		{ RW_FUNCTION_BROADCAST, "rank 5 received other bits in Broadcast #0 on dp than were sent" },
		{ RW_FUNCTION_ALL_GATHER, "rank 5 received other bits in AllGather #0 on dp than were sent" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int bit = 0; bit < PART * 8; bit++) {
			static struct job job;
			start(&job, cases[i].function, 8, 8);
			job.random = (uint64_t)bit;
			compute(&job);
			flip(job.out[5], bit);
			pass(&job);
			expect_rank(&job, 5, cases[i].text);
			cr_expect_eq(job.last.first_bad, (uint64_t)bit / 128 * 8, "bit %d: %lu", bit, job.last.first_bad);
		}
}

Test(corruption, a_part_that_reaches_all_receivers_equally_wrong_names_its_sender)
{
	for (int sender = 0; sender < 8; sender++)
		for (int own = 0; own < 2; own++) {
			static struct job job;
			start(&job, RW_FUNCTION_ALL_GATHER, 8, 8);
			job.random = (uint64_t)sender;
			compute(&job);
			for (int i = 0; i < 8; i++)
				if (i != sender || own)
					flip(job.out[i] + sender * PART, 77);
			pass(&job);
			char text[128];
			snprintf(text, sizeof(text), "rank %d sent a part of AllGather #0 on dp that reached all others changed",
				 sender);
			expect_rank(&job, sender, text);
			cr_expect_eq(job.last.first_bad, (uint64_t)sender * PART / 2);
		}
}

Test(corruption, a_broadcast_that_is_wrong_everywhere_names_the_root)
{
	static struct job job;

	start(&job, RW_FUNCTION_BROADCAST, 8, 8);
	job.root = 3;
	compute(&job);
	for (int i = 0; i < 8; i++)
		if (i != 3)
			flip(job.out[i], 9);
	pass(&job);
	expect_rank(&job, 3, "rank 3 sent a part of Broadcast #0 on dp that reached all others changed");
}

Test(corruption, between_two_ranks_nobody_is_named)
{
	static const uint8_t functions[] = { RW_FUNCTION_SEND, RW_FUNCTION_ALL_REDUCE, RW_FUNCTION_BROADCAST };

	for (size_t i = 0; i < sizeof(functions); i++) {
		static struct job job;
		start(&job, functions[i], 2, 2);
		compute(&job);
		flip(job.out[1], 9);
		pass(&job);
		cr_assert_eq(job.findings, 1);
		cr_expect_eq(job.last.confidence, RW_INCONCLUSIVE, "%s", job.last.text);
		cr_expect(functions[i] == RW_FUNCTION_BROADCAST || job.last.rank_count == 2, "%s", job.last.text);
		cr_expect_eq(job.last.scope, functions[i] == RW_FUNCTION_SEND ? RW_SCOPE_LINK : RW_SCOPE_RANK);
	}
}

static void transfer(struct job *job, int sick, uint64_t more)
{
	start(job, RW_FUNCTION_SEND, 2, 2);
	job->sick = sick;
	job->more = more;
	compute(job);
	flip(job->out[1], 133);
	pass(job);
}

Test(corruption, of_a_transfer_both_ends_are_listed_and_what_each_did_is_said)
{
	static struct job job;

	transfer(&job, 0, 0);
	cr_assert_eq(job.findings, 1);
	cr_expect_eq(job.last.confidence, RW_INCONCLUSIVE);
	cr_expect(job.last.rank_count == 2 && job.last.ranks[0] == 0 && job.last.ranks[1] == 1);
	cr_expect_eq(job.last.first_bad, 8, "%lu", job.last.first_bad);
	cr_expect_str_eq(job.last.text, "ranks 0,1: rank 1 received other bits than rank 0 sent in SendRecv #0 on dp");
}

Test(corruption, an_error_of_one_of_the_two_gpus_decides_between_the_ends_of_a_transfer)
{
	static const char *const texts[] = {
		"rank 0 sent what reached rank 1 changed in SendRecv #0 on dp; its GPU has reported an error",
		"rank 1 received other bits than rank 0 sent in SendRecv #0 on dp; its GPU has reported an error",
	};
	for (int sick = 0; sick < 2; sick++) {
		static struct job job;
		transfer(&job, sick + 1, 0);
		cr_expect_eq(job.last.confidence, RW_LIKELY);
		cr_expect(job.last.rank_count == 1 && job.last.ranks[0] == sick);
		cr_expect_str_eq(job.last.text, texts[sick]);
	}
}

Test(corruption, a_receiver_with_more_room_than_is_sent_is_not_compared)
{
	static struct job job;

	transfer(&job, 0, 1);
	cr_expect_eq(job.findings, 0);
}

Test(corruption, the_few_results_that_were_scanned_do_not_outvote_the_others)
{
	static struct job job;

	start(&job, RW_FUNCTION_ALL_REDUCE, 8, 4);
	compute(&job);
	flip(job.out[1], 9);
	pass(&job);
	cr_assert_eq(job.findings, 1);
	cr_expect_eq(job.last.confidence, RW_INCONCLUSIVE);
	start(&job, RW_FUNCTION_ALL_REDUCE, 8, 8);
	compute(&job);
	job.out_known[0] = job.out_known[7] = false;
	flip(job.out[1], 9);
	pass(&job);
	cr_expect_eq(job.last.confidence, RW_LIKELY);
	cr_expect(job.last.rank_count == 1 && job.last.ranks[0] == 1, "%s", job.last.text);
}

Test(corruption, what_a_reduction_scatters_is_not_compared)
{
	static struct job job;

	start(&job, RW_FUNCTION_REDUCE_SCATTER, 8, 8);
	compute(&job);
	flip(job.out[1], 9);
	pass(&job);
	cr_expect_eq(job.findings, 0);
}

/* Damage of one rank's result, or of one rank's part for all, of any size; any scans missing. */
Test(corruption, a_rank_that_is_not_wrong_is_never_named_and_equal_results_are_silent)
{
	static const uint8_t functions[] = { RW_FUNCTION_ALL_REDUCE, RW_FUNCTION_BROADCAST, RW_FUNCTION_ALL_GATHER };
	uint32_t named = 0;

	for (uint64_t seed = 0; seed < seeds(20000); seed++) {
		static struct job job;
		int size = 2 + (int)(seed % 7), wrong = (int)(seed / 7 % (uint64_t)size);
		start(&job, functions[seed % 3], size, seed % 5 ? size : size - 1);
		job.random = seed;
		job.root = (int)chance(&job, (uint64_t)size);
		compute(&job);
		bool everywhere = is_gather(&job) && chance(&job, 2), damaged = chance(&job, 10) != 0;
		for (uint64_t flips = damaged ? 1 + chance(&job, 3) : 0, k = 0; k < flips; k++) {
			int bit = (int)chance(&job, PART * 8);
			for (int i = 0; i < size; i++)
				if (i != wrong && everywhere)
					flip(job.out[i] + wrong * PART, bit);
			if (!everywhere)
				flip(job.out[wrong], bit);
		}
		for (int i = 0; i < size; i++) {
			job.in_known[i] = seed % 4 || chance(&job, 4);
			job.out_known[i] = seed % 11 || chance(&job, 4);
		}
		pass(&job);
		cr_expect(damaged || !job.findings, "seed %lu: %s", seed, job.last.text);
		if (!job.findings || job.last.confidence == RW_INCONCLUSIVE)
			continue;
		named++;
		cr_expect(job.last.rank_count == 1 && job.last.ranks[0] == wrong, "seed %lu: rank %d is wrong: %s", seed, wrong,
			  job.last.text);
	}
	cr_expect_gt(named, seeds(5000), "%u", named);
}
