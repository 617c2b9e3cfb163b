/* SPDX-License-Identifier: MIT */
#include "findings.h"

#include <rankwatch/operation.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const int32_t ranks[] = { 0 };
static const int32_t waiting[] = { 1, 2, 3, 4, 5, 6, 7 };
static const struct rw_where where[] = {
	{ .rank = 0, .host = "a", .pid = 4711, .gpu = "GPU-6f", .pci = "0000:3b:00", .rank_from = "RANK" },
};
static const struct rw_chain_link chain[] = {
	{ .tid = 4711, .thread = "python-main", .waits_for = "thread tb-writer", .waits_for_tid = 4790 },
};
static const char *const stack[] = { "ext4_sync_file", "jbd2_log_wait_commit" };
static const struct rw_evidence evidence[] = { { .source = "bpf", .ms = 1209, .what = "fsync" } };

struct rw_finding straggler(void)
{
	return (struct rw_finding){
		.id = "9f2c1e7a-3",
		.state = RW_FINDING_OPEN,
		.revision = 4,
		.severity = RW_WARNING,
		.kind = RW_KIND_STRAGGLER,
		.level = RW_LEVEL_EBPF,
		.arrival = RW_ARRIVAL_GPU,
		.ranks = ranks,
		.rank_count = COUNT(ranks),
		.time_ns = 991482000000,
		.first_seen_ns = 987900000000,
		.detect_ms = 1870,
		.job = { .id = "slurm-81123", .ranks_seen = 8, .ranks_total = 8 },
		.where = where,
		.where_count = COUNT(where),
		.operation = { .present = true, .comm = 0x5eed, .comm_name = "~fsdp", .comm_size = 8,
			       .function = RW_FUNCTION_ALL_GATHER, .sequence = 118, .step = 11,
			       .dtype = RW_DTYPE_BFLOAT16, .count = 4194304, .algorithm = RW_ALGORITHM_RING,
			       .protocol = RW_PROTOCOL_SIMPLE, .phase = RW_PHASE_LAUNCHED, .peer_or_root = -1 },
		.late = { .present = true, .kind = RW_LATE_HOST, .by_ms = 1300.4, .lost_ms_per_step = 1310,
			  .lost_share = 0.64, .since_step = 9, .until_step = -1, .waiting = waiting, .waiting_count = COUNT(waiting) },
		.cause = { .present = true, .class_ = RW_CAUSE_IO, .share = 0.93, .text = "fsync(2)",
			   .system_call = "fsync", .fd = 3, .path = "/mnt/slow/logs/run7/events.out.tfevents.0",
			   .file_system = "ext4", .device = "loop3", .tid = 4711, .thread = "python-main",
			   .at_tid = 4790, .at_thread = "tb-writer", .chain = chain, .chain_count = COUNT(chain), .stack = stack,
			   .stack_count = COUNT(stack) },
		.watchdog = { .present = true, .timeout_ms = 100000, .from = "RANKWATCH_TIMEOUT", .left_ms = 98600,
			      .longest_wait_ms = 1400 },
		.victims = waiting,
		.victim_count = COUNT(waiting),
		.evidence = evidence,
		.evidence_count = COUNT(evidence),
		.text = "rank 0 makes every step 1.31 s longer: 64 % of the step, since step 9",
		.advice = "write the log to a local or memory file system, or let the writer's queue drop entries when it is full",
	};
}

struct rw_finding born_nan(void)
{
	struct rw_finding finding = straggler();

	finding.kind = RW_KIND_NAN;
	finding.late.present = finding.cause.present = finding.watchdog.present = false;
	finding.evidence_count = 0;
	finding.values.present = true;
	finding.values.nan = 12;
	finding.values.first_bad = 4711;
	finding.values.absmax_before = 0.03125;
	finding.values.saturated = -1;
	finding.values.origin = RW_ORIGIN_BORN;
	finding.values.seen = RW_VALUES_SEEN_MAKER;
	finding.values.whole = true;
	finding.values.digest = 0x1234;
	finding.text = "rank 0 brought 12 NaN into AllGather #118 on ~fsdp in step 11";
	finding.advice = "look at this GPU (Xid, ECC)";
	return finding;
}
