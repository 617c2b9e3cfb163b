/* SPDX-License-Identifier: MIT */
#include "analysis/explain/gpu_evidence.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>

#include "analysis/host/gpu_trend.h"
#include "analysis/model.h"
#include "analysis/report/record.h"
#include "analysis/numbers/sorting.h"
#include "analysis/numbers/xid.h"

/* A reading stands for the time since the one before, and the latest for as long after it; never for longer. */
static const uint64_t reading_reach_ns = 2000000000;
static const uint64_t fresh_ns = 5000000000;

/* What a GPU's readings say about some windows. */
struct slowness {
	uint64_t read_ns, slow_ns; /* of the windows: covered by readings; of it: slow */
	uint32_t reasons;          /* of the slow readings */
	int32_t lowest_mhz;
};

static const struct gpu_reading *reading_near(const struct gpu *gpu, uint64_t at_ns)
{
	const struct gpu_reading *reading;

	for (uint64_t age = 0; (reading = gpu_reading_at(gpu, age)); age++)
		if (reading->at_ns <= at_ns + reading_reach_ns)
			return reading->at_ns + reading_reach_ns >= at_ns ? reading : NULL;
	return NULL;
}

/* Median clock of the other ranks' GPUs that work at that time; -1 with fewer than two of them. */
static int32_t usual_mhz(const struct analysis *analysis, const struct gpu *own, uint64_t at_ns)
{
	int32_t clocks[GPUS_MAX];
	uint32_t count = 0;

	for (uint32_t i = 0; i < analysis->gpus.count; i++) {
		const struct gpu *gpu = analysis->gpus.items[i];
		const struct gpu_reading *reading = gpu == own ? NULL : reading_near(gpu, at_ns);

		if (reading && reading->sm_mhz > 0 && !(reading->reasons & ANALYSIS_CLOCK_IDLE))
			clocks[count++] = reading->sm_mhz;
	}
	if (count < 2)
		return -1;
	sort_i32(clocks, count);
	return clocks[count / 2];
}

static bool is_slow(const struct analysis *analysis, const struct gpu *gpu, const struct gpu_reading *reading)
{
	if (reading->reasons & GPU_SLOW)
		return true;
	if (reading->sm_mhz <= 0 || reading->reasons & ANALYSIS_CLOCK_IDLE)
		return false;
	int32_t usual = usual_mhz(analysis, gpu, reading->at_ns);
	return usual > 0 && reading->sm_mhz <= GPU_SLOW_CLOCK_SHARE * usual;
}

static uint64_t overlap(const struct cause_window *windows, uint32_t count, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t from = windows[i].from_ns > from_ns ? windows[i].from_ns : from_ns;
		uint64_t to = windows[i].to_ns < to_ns ? windows[i].to_ns : to_ns;
		sum += to > from ? to - from : 0;
	}
	return sum;
}

static struct slowness measure(const struct analysis *analysis, const struct gpu *gpu,
			       const struct cause_window *windows, uint32_t count)
{
	struct slowness slowness = { .lowest_mhz = -1 };
	const struct gpu_reading *reading, *later = NULL;

	for (uint64_t age = 0; (reading = gpu_reading_at(gpu, age)); later = reading, age++) {
		const struct gpu_reading *before = gpu_reading_at(gpu, age + 1);
		uint64_t from_ns = reading->at_ns > reading_reach_ns ? reading->at_ns - reading_reach_ns : 0;
		uint64_t to_ns = later ? reading->at_ns : reading->at_ns + reading_reach_ns;

		if (before && before->at_ns > from_ns)
			from_ns = before->at_ns;
		uint64_t covered_ns = overlap(windows, count, from_ns, to_ns);
		slowness.read_ns += covered_ns;
		if (!covered_ns || !is_slow(analysis, gpu, reading))
			continue;
		slowness.slow_ns += covered_ns;
		slowness.reasons |= reading->reasons;
		if (reading->sm_mhz > 0 && (slowness.lowest_mhz < 0 || reading->sm_mhz < slowness.lowest_mhz))
			slowness.lowest_mhz = reading->sm_mhz;
	}
	return slowness;
}

/* A whole node that is hot makes everybody slow: that is not why one rank is late. */
static bool others_are_slow(const struct analysis *analysis, const struct gpu *own, const struct cause_window *windows,
			    uint32_t count)
{
	uint32_t others = 0, slow = 0;

	for (uint32_t i = 0; i < analysis->gpus.count; i++) {
		const struct gpu *gpu = analysis->gpus.items[i];
		struct slowness slowness;

		if (gpu == own)
			continue;
		slowness = measure(analysis, gpu, windows, count);
		others += slowness.read_ns > 0;
		slow += slowness.read_ns && (double)slowness.slow_ns >= GPU_EXPLAINS_SHARE * (double)slowness.read_ns;
	}
	return others && slow * 2 >= others;
}

static void describe_clocks(char *text, size_t room, const struct gpu *gpu, const struct slowness *slowness)
{
	char reasons[96];

	gpu_trend_reasons(reasons, sizeof(reasons), slowness->reasons);
	if (slowness->lowest_mhz > 0 && gpu->now.sm_mhz_max > 0)
		snprintf(text, room, "%s, %d of %d MHz", reasons, slowness->lowest_mhz, gpu->now.sm_mhz_max);
	else
		snprintf(text, room, "%s", reasons);
}

const char *gpu_evidence_throttle_advice(uint32_t reasons)
{
	if (reasons & (ANALYSIS_CLOCK_HW_THERMAL | ANALYSIS_CLOCK_SW_THERMAL))
		return "check the cooling of this node (fans, airflow); cordon it and run dcgmi diag -r 3";
	if (reasons & (ANALYSIS_CLOCK_HW_POWER_BRAKE | ANALYSIS_CLOCK_HW_SLOWDOWN))
		return "check the power supply of this node; cordon it and run dcgmi diag -r 3";
	if (reasons & ANALYSIS_CLOCK_APPLICATION)
		return "give this GPU the clocks of the others (nvidia-smi -rgc, nvidia-smi -rac)";
	if (reasons & ANALYSIS_CLOCK_POWER_CAP)
		return "give this GPU the power limit of the others (nvidia-smi -q -d POWER, nvidia-smi -pl)";
	return "compare this GPU's clocks with the others' (nvidia-smi -q -d PERFORMANCE,CLOCK); run dcgmi diag -r 3";
}

static void explain_by_clocks(const struct analysis *analysis, const struct gpu *gpu,
			      const struct cause_window *windows, uint32_t count, struct cause *cause)
{
	struct slowness slowness = measure(analysis, gpu, windows, count);
	uint64_t all_ns = overlap(windows, count, 0, UINT64_MAX);

	if (!all_ns || (double)slowness.slow_ns < GPU_EXPLAINS_SHARE * (double)all_ns ||
	    others_are_slow(analysis, gpu, windows, count))
		return;
	cause->class_ = RW_CAUSE_THROTTLE;
	cause->share = (double)slowness.slow_ns / (double)all_ns;
	describe_clocks(cause->gpu_text, sizeof(cause->gpu_text), gpu, &slowness);
	cause->gpu_advice = gpu_evidence_throttle_advice(slowness.reasons);
}

/* The latest Xid of the GPU's own in [from_ns, to_ns]. */
static const struct gpu_xid *find_xid(const struct gpu *gpu, uint64_t from_ns, uint64_t to_ns, struct xid *xid)
{
	const struct gpu_xid *seen;

	for (uint32_t age = 0; (seen = gpu_xid_at(gpu, age)); age++) {
		*xid = xid_find(seen->number, seen->text);
		if (seen->first_ns <= to_ns && seen->last_ns >= from_ns && xid_is_gpu(xid))
			return seen;
	}
	return NULL;
}

static uint64_t before(uint64_t at_ns, uint64_t by_ns)
{
	return at_ns > by_ns ? at_ns - by_ns : 0;
}

static void explain_by_xid(const struct gpu *gpu, const struct cause_window *windows, uint32_t count, uint64_t begin_ns,
			   struct cause *cause)
{
	struct xid xid;
	const struct gpu_xid *seen = find_xid(gpu, before(begin_ns, GPU_XID_LEAD_NS), begin_ns + GPU_XID_LAG_NS, &xid);
	uint64_t all_ns = overlap(windows, count, 0, UINT64_MAX);

	if (!seen || !all_ns)
		return;
	double share = (double)overlap(windows, count, seen->first_ns, UINT64_MAX) / (double)all_ns;
	if (share < GPU_EXPLAINS_SHARE)
		return;
	cause->class_ = RW_CAUSE_GPU;
	cause->share = share;
	snprintf(cause->gpu_text, sizeof(cause->gpu_text), "Xid %u: %s", xid.number, xid.meaning);
	cause->gpu_advice = xid.action;
}

void gpu_evidence_explain(const struct analysis *analysis, uint32_t rank, const struct cause_window *windows,
			  uint32_t count, uint64_t begin_ns, struct cause *cause)
{
	const struct gpu *gpu = gpus_of_rank(&analysis->gpus, &analysis->job.ranks[rank]);

	if (!gpu)
		return;
	explain_by_clocks(analysis, gpu, windows, count, cause);
	explain_by_xid(gpu, windows, count, begin_ns, cause);
}

static void add_xids(struct record *record, const struct gpu *gpu, uint64_t from_ns, uint64_t to_ns)
{
	const struct gpu_xid *seen;
	char text[160];

	for (uint32_t age = 0; (seen = gpu_xid_at(gpu, age)); age++) {
		struct xid xid = xid_find(seen->number, seen->text);

		if (seen->last_ns < from_ns || seen->first_ns > to_ns)
			continue;
		snprintf(text, sizeof(text), "Xid %u, %.1f s before: %s", xid.number,
			 to_ns > seen->first_ns ? (double)(to_ns - seen->first_ns) / 1e9 : 0.0,
			 *seen->text ? seen->text : xid.meaning);
		record_add_evidence(record, seen->sources & 1u << ANALYSIS_GPU_NVML ? "nvml" : "kernel-log", -1, text);
	}
}

static void add_counts(struct record *record, const struct gpu *gpu)
{
	const struct analysis_gpu_state *now = &gpu->now;
	char text[160];

	if (now->ecc_uncorrected > 0 || now->ecc_corrected > 0) {
		snprintf(text, sizeof(text),
			 "memory errors since the driver was loaded: %" PRId64 " uncorrectable, %" PRId64 " corrected",
			 now->ecc_uncorrected, now->ecc_corrected);
		record_add_evidence(record, "nvml", -1, text);
	}
	if (now->remap_pending == 1 || now->remap_failure == 1) {
		snprintf(text, sizeof(text), "%d remapped rows%s%s", now->remapped_rows,
			 now->remap_pending == 1 ? ", some wait for a reset" : "",
			 now->remap_failure == 1 ? ", some could not be remapped" : "");
		record_add_evidence(record, "nvml", -1, text);
	}
	if (now->lost || now->needs_reset)
		record_add_evidence(record, "nvml", -1, now->lost ? "the GPU is lost" : "the GPU needs a reset");
}

void gpu_evidence_add(struct record *record, const struct gpu *gpu, uint64_t from_ns, uint64_t to_ns)
{
	add_xids(record, gpu, before(to_ns, GPU_EVIDENCE_NS) < from_ns ? before(to_ns, GPU_EVIDENCE_NS) : from_ns,
		 to_ns);
	if (gpu->is_read)
		add_counts(record, gpu);
}

void gpu_evidence_attach(const struct analysis *analysis, struct record *record, uint32_t rank, uint64_t from_ns,
			 uint64_t to_ns)
{
	const struct gpu *gpu = gpus_of_rank(&analysis->gpus, &analysis->job.ranks[rank]);
	const struct cause_window window = { from_ns, to_ns };
	char text[160];

	if (!gpu)
		return;
	struct slowness slowness = measure(analysis, gpu, &window, 1);
	if (slowness.slow_ns) {
		describe_clocks(text, sizeof(text), gpu, &slowness);
		record_add_evidence(record, "nvml", (double)slowness.slow_ns / 1e6, text);
	}
	gpu_evidence_add(record, gpu, from_ns, to_ns);
}

/* A fault of the GPU's own within `lead_ns` before, or right after, becomes the cause. */
static void blame(const struct analysis *analysis, struct record *record, uint32_t rank, uint64_t at_ns,
		  uint64_t lead_ns)
{
	const struct gpu *gpu = gpus_of_rank(&analysis->gpus, &analysis->job.ranks[rank]);
	struct xid xid;
	char text[128];

	if (!gpu || !find_xid(gpu, before(at_ns, lead_ns), at_ns + GPU_XID_LAG_NS, &xid))
		return;
	snprintf(text, sizeof(text), "Xid %u: %s", xid.number, xid.meaning);
	record_set_words(record, RW_CAUSE_GPU, text, xid.action);
}

/* By an exception, as out of memory is one to PyTorch: not by a signal, nor by 128 + one. */
static bool has_failed_by_itself(const struct process *process)
{
	int status = process->exit_status;

	return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) > 0 && WEXITSTATUS(status) < 128;
}

static double most_memory(const struct gpu *gpu, uint64_t from_ns, uint64_t to_ns)
{
	const struct gpu_reading *reading;
	double most = -1;

	for (uint64_t age = 0; (reading = gpu_reading_at(gpu, age)) && reading->at_ns >= from_ns; age++)
		if (reading->at_ns <= to_ns && reading->memory > most)
			most = reading->memory;
	return most;
}

/* Full memory is usual where a program keeps what it has freed: it says where to look, and is no cause. */
static void tell_full_memory(const struct analysis *analysis, struct record *record, uint32_t rank, uint64_t at_ns)
{
	const struct gpu *gpu = gpus_of_rank(&analysis->gpus, &analysis->job.ranks[rank]);
	double most = gpu ? most_memory(gpu, before(at_ns, GPU_MEMORY_END_NS), at_ns) : -1;
	char text[96];

	if (most < GPU_MEMORY_FULL || !has_failed_by_itself(analysis->job.ranks[rank].process))
		return;
	snprintf(text, sizeof(text), "%.0f %% of the GPU's memory was in use before it ended", 100 * most);
	record_add_evidence(record, "nvml", -1, text);
	snprintf(record->advice, sizeof(record->advice),
		 "read the last exception in this rank's own log (torchrun --log-dir, --tee 3), first for out of "
		 "memory: %.0f %% of its GPU's memory was in use",
		 100 * most);
	record->finding.advice = record->advice;
}

void gpu_evidence_explain_end(const struct analysis *analysis, struct record *record, uint32_t rank, uint64_t at_ns)
{
	enum rw_cause_class known = record->finding.cause.class_;

	gpu_evidence_attach(analysis, record, rank, before(at_ns, GPU_XID_END_NS), at_ns);
	if (known == RW_CAUSE_GONE)
		tell_full_memory(analysis, record, rank, at_ns);
	if (known == RW_CAUSE_GONE || known == RW_CAUSE_UNKNOWN)
		blame(analysis, record, rank, at_ns, GPU_XID_END_NS);
}

void gpu_evidence_explain_value(const struct analysis *analysis, struct record *record, uint32_t rank, uint64_t at_ns)
{
	blame(analysis, record, rank, at_ns, GPU_XID_LEAD_NS);
}

bool gpu_evidence_is_faulty(const struct analysis *analysis, uint32_t rank, uint64_t at_ns)
{
	const struct gpu *gpu = gpus_of_rank(&analysis->gpus, &analysis->job.ranks[rank]);
	struct xid xid;

	return gpu && find_xid(gpu, before(at_ns, GPU_XID_LEAD_NS), at_ns + GPU_XID_LAG_NS, &xid) &&
	       xid.blame != XID_LINK;
}

bool gpu_evidence_is_seen(const struct analysis *analysis, uint32_t rank, uint64_t now_ns)
{
	const struct gpu *gpu = gpus_of_rank(&analysis->gpus, &analysis->job.ranks[rank]);

	return gpu && gpu->is_read && gpu->now.at_ns + fresh_ns >= now_ns;
}
