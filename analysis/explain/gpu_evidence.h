/* SPDX-License-Identifier: MIT */
/*
 * What a rank's GPU has to do with a finding about the rank: its clocks, Xids and error counts of that time go into the
 * evidence, and where they explain it, into the cause. Nothing is claimed that does not overlap in time.
 */
#ifndef ANALYSIS_EXPLAIN_GPU_EVIDENCE_H
#define ANALYSIS_EXPLAIN_GPU_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/explain/cause.h"
#include "analysis/host/gpus.h"

struct analysis;
struct record;

#define GPU_EVIDENCE_NS      300000000000u /* Xids of the last five minutes are evidence */
#define GPU_EXPLAINS_SHARE   0.5           /* of the late time */
#define GPU_SLOW_CLOCK_SHARE 0.9           /* a clock below this share of the other GPUs' median is a slow one */
#define GPU_XID_LEAD_NS      60000000000u  /* an Xid explains what begins within this time after it … */
#define GPU_XID_LAG_NS       5000000000u /* … or so long before: steps are coarse, and the driver is slow to report */
#define GPU_XID_END_NS       30000000000u /* and the end of a process within this time after it */
#define GPU_MEMORY_FULL      0.97         /* with this share in use, a program that fails may have found no more … */
#define GPU_MEMORY_END_NS    10000000000u /* … within this time */

/*
 * A device that was late in these windows, since begin_ns: fills class (gpu, throttle), share, gpu_text and gpu_advice
 * of the cause where its GPU explains at least half of the time and the other ranks' GPUs were not in the same state.
 */
void gpu_evidence_explain(const struct analysis *analysis, uint32_t rank, const struct cause_window *windows,
			  uint32_t count, uint64_t begin_ns, struct cause *cause);
/* A rank that ended or hangs since at_ns: a GPU fault right before it becomes the cause where the cause was the mere
 * end, or not known; the evidence is added in any case. Of one that failed by itself the advice says where its GPU's
 * memory was full. After the sentences have been made. */
void gpu_evidence_explain_end(const struct analysis *analysis, struct record *record, uint32_t rank, uint64_t at_ns);
/* The rank made a bad or a wrong value at at_ns: a GPU fault right before it becomes the cause. After the sentences. */
void gpu_evidence_explain_value(const struct analysis *analysis, struct record *record, uint32_t rank, uint64_t at_ns);
/* Did the rank's GPU report an error of its own, and not of a link, right before at_ns? */
bool gpu_evidence_is_faulty(const struct analysis *analysis, uint32_t rank, uint64_t at_ns);
/* Evidence of the rank's GPU between the two times: for findings of every kind. */
void gpu_evidence_attach(const struct analysis *analysis, struct record *record, uint32_t rank, uint64_t from_ns,
			 uint64_t to_ns);
void gpu_evidence_add(struct record *record, const struct gpu *gpu, uint64_t from_ns, uint64_t to_ns);
const char *gpu_evidence_throttle_advice(uint32_t reasons);
/* Has NVML read this rank's GPU within the last seconds before now_ns? */
bool gpu_evidence_is_seen(const struct analysis *analysis, uint32_t rank, uint64_t now_ns);

#endif
