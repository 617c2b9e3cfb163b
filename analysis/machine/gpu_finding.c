/* SPDX-License-Identifier: MIT */
#include "analysis/machine/gpu_finding.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/explain/gpu_evidence.h"
#include "analysis/host/gpu_trend.h"
#include "analysis/model.h"
#include "analysis/report/naming.h"
#include "analysis/numbers/xid.h"

static const uint32_t silence_subject = UINT32_MAX;

/* The worst that is to be said about a GPU; severity alone decides, the first of equals stays. */
struct verdict {
	bool any;
	enum rw_severity severity;
	enum rw_cause_class class_;
	uint64_t since_ns;
	char what[160], cause[96]; /* "runs on a GPU that …"; what stands behind it */
	const char *advice;
};

static const char drain[] = "cordon the node, reset the GPU (nvidia-smi -r) and run dcgmi diag -r 3";

static void consider(struct verdict *verdict, enum rw_severity severity, uint64_t since_ns, const char *advice,
		     const char *format, ...) __attribute__((format(printf, 5, 6)));
static void consider(struct verdict *verdict, enum rw_severity severity, uint64_t since_ns, const char *advice,
		     const char *format, ...)
{
	va_list arguments;

	if (verdict->any && severity <= verdict->severity)
		return;
	*verdict = (struct verdict){
		.any = true, .severity = severity, .class_ = RW_CAUSE_GPU, .since_ns = since_ns, .advice = advice
	};
	va_start(arguments, format);
	vsnprintf(verdict->what, sizeof(verdict->what), format, arguments);
	va_end(arguments);
	snprintf(verdict->cause, sizeof(verdict->cause), "NVML says so");
}

/* A log that is read when all is over tells of later ones, too. */
static bool is_of_run(const struct gpu_xid *xid, uint64_t created_ns, uint64_t now_ns)
{
	return xid->last_ns + GPU_XID_BEFORE_NS >= created_ns && xid->first_ns <= now_ns;
}

static void consider_xids(const struct gpu *gpu, uint64_t created_ns, uint64_t now_ns, struct verdict *verdict)
{
	uint32_t kept = gpu->xid_count < GPU_XIDS ? gpu->xid_count : GPU_XIDS;

	/* The oldest first: of a burst the first is the cause. */
	while (kept--) {
		const struct gpu_xid *seen = gpu_xid_at(gpu, kept);
		struct xid xid = xid_find(seen->number, seen->text);

		if (!is_of_run(seen, created_ns, now_ns) ||
		    (xid.severity < RW_CRITICAL && seen->last_ns + GPU_XID_KEEP_NS < now_ns) ||
		    (verdict->any && xid.severity <= verdict->severity))
			continue;
		consider(verdict, xid.severity, seen->first_ns, xid.action, "on a GPU that reports Xid %u: %s",
			 xid.number, xid.meaning);
		if (*seen->text)
			snprintf(verdict->cause, sizeof(verdict->cause), "%.*s", (int)sizeof(verdict->cause) - 1,
				 seen->text);
		else
			snprintf(verdict->cause, sizeof(verdict->cause), "Xid %u", xid.number);
	}
}

static void consider_errors(const struct gpu *gpu, struct verdict *verdict)
{
	const struct analysis_gpu_state *now = &gpu->now;
	int64_t new_errors = gpu->first.ecc_uncorrected >= 0 ? now->ecc_uncorrected - gpu->first.ecc_uncorrected : 0;

	if (now->lost)
		consider(verdict, RW_CRITICAL, now->at_ns, drain, "on a GPU that the driver has lost");
	if (now->needs_reset)
		consider(verdict, RW_CRITICAL, now->at_ns, drain, "on a GPU that needs a reset");
	if (now->remap_failure == 1)
		consider(verdict, RW_CRITICAL, now->at_ns, drain,
			 "on a GPU with memory rows that could not be remapped");
	if (new_errors > 0)
		consider(verdict, RW_WARNING, now->at_ns, drain,
			 "on a GPU with %" PRId64 " uncorrectable memory error%s since rankwatch began to watch it",
			 new_errors, new_errors == 1 ? "" : "s");
	if (now->remap_pending == 1)
		consider(verdict, RW_WARNING, now->at_ns, "reset the GPU (nvidia-smi -r) when the job is over",
			 "on a GPU with memory rows that wait for a reset to be remapped");
}

static void consider_slowness(const struct gpu *gpu, uint64_t now_ns, struct verdict *verdict)
{
	const struct analysis_gpu_state *now = &gpu->now;
	char reasons[96];
	bool slow = gpu->slow_since_ns && now_ns >= gpu->slow_since_ns + GPU_THROTTLE_NS;

	if (slow && (!verdict->any || verdict->severity < RW_WARNING)) {
		gpu_trend_reasons(reasons, sizeof(reasons), (uint32_t)now->clock_reasons);
		consider(verdict, RW_WARNING, gpu->slow_since_ns,
			 gpu_evidence_throttle_advice((uint32_t)now->clock_reasons), "on a GPU that is held back: %s",
			 reasons);
		verdict->class_ = RW_CAUSE_THROTTLE;
		snprintf(verdict->cause, sizeof(verdict->cause), "%d of %d MHz, %d °C", now->sm_mhz, now->sm_mhz_max,
			 now->celsius);
	}
	if (gpu->nvlink_before_ns && now->nvlink_errors - gpu->nvlink_before >= GPU_NVLINK_MIN)
		consider(verdict, RW_WARNING, gpu->nvlink_before_ns,
			 "check nvidia-smi nvlink -e and the peers of this GPU; run dcgmi diag -r 3",
			 "on a GPU with more than %d NVLink errors a minute", GPU_NVLINK_MIN);
}

/* Indices of the ranks that run on the GPU; returns how many. */
static uint32_t ranks_on(const struct analysis *analysis, const struct gpu *gpu, uint32_t *ranks)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < analysis->job.rank_count; i++)
		if (gpus_of_rank(&analysis->gpus, &analysis->job.ranks[i]) == gpu)
			ranks[count++] = i;
	return count;
}

static void tell(struct analysis *analysis, const struct gpu *gpu, enum rw_kind kind, uint32_t subject,
		 const uint32_t *ranks, uint32_t count, const struct verdict *verdict, uint64_t now_ns)
{
	struct record *record = record_new(&analysis->job, kind, RW_SCOPE_RANK, ranks, count);
	char who[128];

	if (!record)
		return;
	record->subject = subject;
	record->finding.severity = verdict->severity;
	record->finding.confidence = RW_CERTAIN;
	record->finding.first_seen_ns = verdict->since_ns;
	record->finding.detect_ms = now_ns > verdict->since_ns && verdict->since_ns > analysis->first_tick_ns
					? (double)(now_ns - verdict->since_ns) / 1e6
					: -1;
	record_set_words(record, verdict->class_, verdict->cause, verdict->advice);
	snprintf(record->text, sizeof(record->text), "%s %s %s",
		 naming_ranks(who, sizeof(who), record->finding.ranks, count), count == 1 ? "runs" : "run",
		 verdict->what);
	gpu_evidence_add(record, gpu, now_ns > GPU_EVIDENCE_NS ? now_ns - GPU_EVIDENCE_NS : 0, now_ns);
	findings_tell(&analysis->findings, record, now_ns);
}

/* Tells what is new, closes what is over. */
static void settle(struct analysis *analysis, const struct gpu *gpu, enum rw_kind kind, uint32_t subject,
		   const uint32_t *ranks, uint32_t count, const struct verdict *verdict, uint64_t now_ns)
{
	const struct record *open = findings_open(&analysis->findings, kind, subject);

	if (open && !verdict->any)
		findings_close(&analysis->findings, kind, subject, now_ns);
	else if (verdict->any && !(open && strstr(open->text, verdict->what)))
		tell(analysis, gpu, kind, subject, ranks, count, verdict, now_ns);
}

static void judge_memory(const struct gpu *gpu, uint64_t now_ns, struct verdict *verdict)
{
	if (gpu_trend_drops(gpu, now_ns) < GPU_MEMORY_DROPS)
		return;
	consider(
	    verdict, RW_WARNING, gpu->memory.drops[(gpu->memory.drop_count - GPU_MEMORY_DROPS) % GPU_DROPS],
	    "use less memory (batch, activation checkpointing), or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
	    "on a GPU whose memory is full, freed and filled again and again");
	verdict->class_ = RW_CAUSE_MEMORY;
	snprintf(verdict->cause, sizeof(verdict->cause),
		 "above %.0f %% of its memory, freed %d times and more in a minute", GPU_MEMORY_HIGH * 100,
		 GPU_MEMORY_DROPS);
}

static void judge(struct analysis *analysis, uint32_t at, uint32_t *ranks, uint64_t now_ns)
{
	const struct gpu *gpu = analysis->gpus.items[at];
	uint32_t count = ranks_on(analysis, gpu, ranks);
	struct verdict health = { 0 }, memory = { 0 };

	if (!count)
		return; /* no matter of this job */
	consider_errors(gpu, &health);
	consider_xids(gpu, analysis->job.ranks[ranks[0]].process->created_ns, now_ns, &health);
	consider_slowness(gpu, now_ns, &health);
	judge_memory(gpu, now_ns, &memory);
	settle(analysis, gpu, RW_KIND_GPU, at, ranks, count, &health, now_ns);
	settle(analysis, gpu, RW_KIND_MEMORY, at, ranks, count, &memory, now_ns);
}

uint32_t gpu_finding_xids(const struct analysis *analysis)
{
	uint32_t *ranks = calloc(analysis->job.rank_count + 1, sizeof(*ranks)), count = 0;

	for (uint32_t i = 0; ranks && i < analysis->gpus.count; i++) {
		const struct gpu *gpu = analysis->gpus.items[i];
		const struct gpu_xid *seen;

		if (!ranks_on(analysis, gpu, ranks))
			continue;
		uint64_t created_ns = analysis->job.ranks[ranks[0]].process->created_ns;
		for (uint32_t age = 0; (seen = gpu_xid_at(gpu, age)); age++)
			count += is_of_run(seen, created_ns, analysis->now_ns);
	}
	free(ranks);
	return count;
}

static void judge_silence(struct analysis *analysis, uint32_t *ranks, uint64_t now_ns)
{
	uint64_t since_ns = analysis->gpus.in_call_since_ns;
	bool open = findings_open(&analysis->findings, RW_KIND_GPU, silence_subject) != NULL;
	bool silent = since_ns && now_ns >= since_ns + GPU_SILENCE_NS;

	if (open && !silent)
		findings_close(&analysis->findings, RW_KIND_GPU, silence_subject, now_ns);
	if (open || !silent || !analysis->job.rank_count)
		return;
	for (uint32_t i = 0; i < analysis->job.rank_count; i++)
		ranks[i] = i;
	struct record *record = record_new(&analysis->job, RW_KIND_GPU, RW_SCOPE_HOST, ranks, analysis->job.rank_count);
	if (!record)
		return;
	record->subject = silence_subject;
	record->finding.severity = RW_NOTICE;
	record->finding.first_seen_ns = since_ns;
	record_set_words(record, RW_CAUSE_GPU, "one of its GPUs may be sick",
			 "check nvidia-smi and the kernel log of this host; cordon it if nvidia-smi hangs, too");
	snprintf(record->text, sizeof(record->text), "NVML has not answered for %u s on host %s",
		 (unsigned int)(GPU_SILENCE_NS / 1000000000u), record->finding.where[0].host);
	findings_tell(&analysis->findings, record, now_ns);
}

void gpu_finding_tick(struct analysis *analysis, uint64_t now_ns)
{
	bool silence_is_open = findings_open(&analysis->findings, RW_KIND_GPU, silence_subject) != NULL;
	if (!analysis->gpus.count && !analysis->gpus.in_call_since_ns && !silence_is_open)
		return;
	uint32_t *ranks = calloc(analysis->job.rank_count + 1, sizeof(*ranks));
	if (!ranks)
		return;
	for (uint32_t i = 0; i < analysis->gpus.count; i++)
		judge(analysis, i, ranks, now_ns);
	judge_silence(analysis, ranks, now_ns);
	free(ranks);
}
