/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/surroundings.h"

#include <stdio.h>
#include <string.h>

enum { LOOK_MS = 500, FIRST_PROCESS = 100, FIRST_PID = 4711, FIRST_BUS = 0x10 };

static const int64_t gib = INT64_C(1) << 30;

static int pid_of(const struct surroundings *around, int rank)
{
	return (around->first_pid ? around->first_pid : FIRST_PID) + rank;
}

static int bus_of(const struct surroundings *around, int rank)
{
	return (around->first_bus ? around->first_bus : FIRST_BUS) + rank;
}

/* The same for each job, kind, rank and look. */
static uint32_t drawn(const struct surroundings *around, uint32_t kind, int rank, uint64_t look)
{
	uint64_t hash = around->number * 0x9e3779b97f4a7c15u ^ (kind + 1) * 0xff51afd7ed558ccdu ^
			((uint64_t)rank + 7) * 0xc4ceb9fe1a85ec53u ^ (look + 3) * 0x2545f4914f6cdd1du;

	hash ^= hash >> 31;
	hash *= 0xbf58476d1ce4e5b9u;
	return (uint32_t)(hash >> 33);
}

static bool is_sick(const struct surroundings *around, int rank, double ms)
{
	return rank == around->sick && ms >= around->from_ms && ms <= around->to_ms;
}

static int64_t memory_used(const struct surroundings *around, int rank, uint64_t look)
{
	switch (around->number % 4) {
	case 0: /* loads, and stays */
		return look < 6 ? (10 + (int64_t)look) * gib : 17 * gib + (int64_t)(drawn(around, 0, rank, look) % 16) * gib / 1024;
	case 1: /* grows */
		return 20 * gib + (int64_t)look * gib / (4 + rank);
	case 2: /* grows more and more slowly */
		return 10 * gib + 30 * gib * (int64_t)look / ((int64_t)look + 20);
	default: /* anything */
		return (30 + drawn(around, 1, rank, look) % 20) * gib;
	}
}

static void show_gpu(const struct surroundings *around, struct analysis *analysis, int rank, double ms, uint64_t look)
{
	static const int64_t reasons[] = { ANALYSIS_CLOCK_SW_THERMAL, ANALYSIS_CLOCK_POWER_CAP, ANALYSIS_CLOCK_HW_SLOWDOWN,
					   ANALYSIS_CLOCK_HW_POWER_BRAKE, ANALYSIS_CLOCK_APPLICATION, ANALYSIS_CLOCK_HW_THERMAL,
					   ANALYSIS_CLOCK_IDLE, 0 };
	uint32_t kind = around->number % 8;
	bool sick = is_sick(around, rank, ms);
	struct analysis_gpu_state state = {
		.at_ns = (uint64_t)(ms * 1e6),
		.clock_reasons = sick ? reasons[kind] : 0,
		.sm_mhz = sick ? 900 + 100 * (int)kind : 1980,
		.sm_mhz_max = 1980,
		.celsius = sick ? 91 : 60,
		.watts = 500,
		.watts_cap = around->number % 3 ? 700 : -1,
		.ecc_corrected = sick && kind == 3 ? (int64_t)look * 100 : 5,
		.ecc_uncorrected = sick && kind % 5 == 2 ? 1 : 0,
		.ecc_corrected_ever = 77,
		.ecc_uncorrected_ever = sick && kind == 4 ? 3 : 2,
		.remapped_rows = sick && kind == 5 ? 2 : 1,
		.remap_pending = sick && kind % 2,
		.remap_failure = sick && kind % 3 == 0,
		.nvlink_errors = sick && kind == 7 ? (int64_t)look * 10 : 0,
		.memory_used = memory_used(around, rank, look),
		.memory_total = 80 * gib,
		.lost = sick && around->number % 16 / 2 == 4,
		.needs_reset = sick && around->number % 16 == 2,
	};

	snprintf(state.pci, sizeof(state.pci), "00000000:%02X:00.0", bus_of(around, rank));
	analysis_add_gpu_state(analysis, &state);
	static const uint32_t xids[] = { 13, 31, 48, 63, 64, 74, 79, 94, 95, 119, 43, 154 };
	if (!sick || drawn(around, 2, rank, look) % 9)
		return;
	struct analysis_gpu_event event = { .source = look % 2 ? ANALYSIS_GPU_NVML : ANALYSIS_GPU_KERNEL_LOG,
					    .at_ns = state.at_ns,
					    .xid = xids[(around->number + look / 20) % 12],
					    .pid = look % 3 ? pid_of(around, rank) : -1,
					    .text = "the driver's words" };

	snprintf(event.pci, sizeof(event.pci), "0000:%02x:00", bus_of(around, rank));
	analysis_add_gpu_event(analysis, &event);
}

static void show_port(const struct surroundings *around, struct analysis *analysis, int rank, double ms, uint64_t look)
{
	struct analysis_port_state state = { .number = (int)(around->number % 2), .at_ns = (uint64_t)(ms * 1e6),
					     .active = !is_sick(around, rank, ms) || around->number % 5, .mbit_s = 400000, .model = "MT_0000000838" };
	uint32_t kind = around->number % ANALYSIS_PORT_COUNTERS;

	snprintf(state.name, sizeof(state.name), "mlx5_%d", rank);
	for (uint32_t i = 0; i < ANALYSIS_PORT_COUNTERS; i++)
		state.counts[i] = i % 7 == 6 ? -1 : 40 + (int64_t)i;
	if (ms >= around->from_ms && rank == around->sick && state.counts[kind] >= 0)
		state.counts[kind] += (int64_t)(ms - around->from_ms) / (1 + around->number % 3);
	if (around->number % 3 == 2 && look > 20)
		state.counts[(kind + 1) % ANALYSIS_PORT_COUNTERS] += 2;
	analysis_add_port_state(analysis, &state);
}

static void show_network(const struct surroundings *around, struct analysis *analysis, int rank, double ms,
			 uint64_t look)
{
	bool sick = is_sick(around, rank, ms);

	for (int to = 0; to < 2; to++) {
		struct analysis_network seen = { .process = FIRST_PROCESS + (uint32_t)rank,
						 .index = 0,
						 .peer = (rank + 1 + to) % around->ranks,
						 .channel = (uint8_t)(look % 2),
						 .sends = to == 0,
						 .from_ns = (uint64_t)((ms - LOOK_MS) * 1e6),
						 .to_ns = (uint64_t)(ms * 1e6) };

		seen.gpu_ns = drawn(around, 3, rank, look) % 100000000;
		seen.peer_ns = to == 0 ? drawn(around, 4, rank, look) % 100000000 : 0;
		seen.network_ns = sick ? 300000000 : drawn(around, 5, rank, look) % 20000000;
		analysis_add_network(analysis, &seen);
	}
}

static void show_memory(const struct surroundings *around, struct analysis *analysis, int rank, double ms,
			uint64_t look)
{
	bool sick = is_sick(around, rank, ms);
	struct analysis_memory_state state = { .process = FIRST_PROCESS + (uint32_t)rank,
					       .at_ns = (uint64_t)(ms * 1e6),
					       .group = around->number % 2 ? 1 : 10 + (uint64_t)rank,
					       .limit = 64 * (uint64_t)gib,
					       .held = (sick ? 61 : 20) * (uint64_t)gib,
					       .hits = sick ? look : 3,
					       .full = sick && around->number % 3 == 0 };

	analysis_add_memory_state(analysis, &state);
}

static void show_python(const struct surroundings *around, struct analysis *analysis, int rank, double ms,
			uint64_t look)
{
	struct analysis_python seen = { .process = FIRST_PROCESS + (uint32_t)rank,
					.at_ns = (uint64_t)(ms * 1e6),
					.tid = 1000 + (uint32_t)rank,
					.waits = look % 2,
					.holder = 2000,
					.collecting = look % 5 == 0,
					.thread_count = 2 };

	seen.threads[0].tid = seen.tid;
	snprintf(seen.threads[0].inner.function, sizeof(seen.threads[0].inner.function), "wait");
	snprintf(seen.threads[0].own.function, sizeof(seen.threads[0].own.function), "Trainer.save");
	snprintf(seen.threads[0].own.file, sizeof(seen.threads[0].own.file), "train%u.py", around->number % 3);
	seen.threads[0].own.line = 42;
	seen.threads[1].tid = 2000;
	snprintf(seen.threads[1].own.function, sizeof(seen.threads[1].own.function), "Writer.run");
	analysis_add_python(analysis, &seen);
}

static void show_wait(const struct surroundings *around, struct analysis *analysis, int rank, double ms, uint64_t look)
{
	static const char *const channels[] = { "futex_wait_queue", "io_schedule", "balance_dirty_pages",
						"pipe_read",        "do_wait",     "" };
	static const char *const paths[] = { "/data/a.log", "/dev/nvidia0", "socket:[1]", "", "/mnt/nfs/x", "pipe:[3]" };
	uint32_t what = drawn(around, 6, rank, look);
	struct analysis_wait wait = { .process = FIRST_PROCESS + (uint32_t)rank,
				      .kind = what % 4,
				      .level = (enum rw_level)(1 + what / 4 % 4),
				      .tid = what / 16 % 3 ? (uint32_t)pid_of(around, rank) : 2000,
				      .start_ns = (uint64_t)((ms - 5 * (what % 97)) * 1e6),
				      .end_ns = (uint64_t)(ms * 1e6),
				      .blocked_ns = (what % 97) * 2000000,
				      .run_queue_ns = what % 61 * 1000000,
				      .longest_ns = what % 7 * 1000000,
				      .cpu_ns = look * 1000000 * (what % 5),
				      .state = "RSDTtZ"[what / 64 % 6],
				      .system_call = (int32_t)(what / 128 % 300) - 2,
				      .fd = (int32_t)(what % 9) - 1,
				      .device = what % 2 ? 0x700003 : 0,
				      .io_wait = what / 32 % 2,
				      .waker_tid = what / 8 % 3 ? 2000 : 0 };

	snprintf(wait.thread, sizeof(wait.thread), "%s", what % 3 ? "python" : "tb-writer");
	snprintf(wait.path, sizeof(wait.path), "%s", paths[what / 2 % 6]);
	snprintf(wait.wait_channel, sizeof(wait.wait_channel), "%s", channels[what / 12 % 6]);
	snprintf(wait.waker, sizeof(wait.waker), "tb-writer");
	snprintf(wait.file_system, sizeof(wait.file_system), "%s", what % 5 ? "ext4" : "nfs4");
	analysis_add_wait(analysis, &wait);
}

static void show_calls(const struct surroundings *around, struct analysis *analysis, double ms, uint64_t look)
{
	uint64_t now_ns = (uint64_t)(ms * 1e6);
	uint32_t sick = FIRST_PROCESS + (uint32_t)around->sick;
	struct rw_init init = { .since_ns = now_ns, .id = 99, .nranks = around->ranks, .rank = around->sick };

	if (ms < around->from_ms || ms > around->to_ms + 20000)
		return;
	if (look % 16 == 0 && around->number % 4 == 1)
		analysis_set_init(analysis, sick, look % 32 ? &init : &(struct rw_init){ 0 });
	if (look % 8 == 0 && around->number % 4 == 2)
		analysis_set_held(analysis, sick, look % 16 ? "cuMemHostRegister" : NULL, "RANKWATCH_GPU_TIME=off",
				  now_ns - 4000000000);
	if (around->number % 4 == 3)
		analysis_set_gpu_silence(analysis, look % 40 < 30 ? (uint64_t)(around->from_ms * 1e6) : 0);
	if (look % 10 == 0)
		analysis_add_loss(analysis, now_ns - 300000000, now_ns, 1 + look % 5);
	if (look % 30 == 0 && around->number % 3 == 0)
		analysis_add_oom_kill(analysis, pid_of(around, around->sick), now_ns);
	analysis_set_heartbeat(analysis, sick, now_ns);
}

void surroundings_show(const struct surroundings *around, struct analysis *analysis, uint64_t now_ns)
{
	uint64_t look = now_ns / 1000000 / LOOK_MS;
	double ms = (double)now_ns / 1e6;

	if (now_ns / 1000000 % LOOK_MS >= 100)
		return;
	for (int rank = 0; rank < around->ranks; rank++) {
		show_gpu(around, analysis, rank, ms, look);
		if (look % 4 == 0)
			show_port(around, analysis, rank, ms, look);
		if (around->number % 3 != 1)
			show_network(around, analysis, rank, ms, look);
		if (look % 2 == 0)
			show_memory(around, analysis, rank, ms, look);
		if (is_sick(around, rank, ms) && around->number % 2)
			show_python(around, analysis, rank, ms, look);
		if (around->number % 5 > 1)
			show_wait(around, analysis, rank, ms, look);
	}
	show_calls(around, analysis, ms, look);
}
