/* SPDX-License-Identifier: MIT */
/* A job of a few ranks that has only begun: what is told about its GPUs and versions is all that there is to find. */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_SMALL_JOB_H
#define TESTS_UNIT_ANALYSIS_JOBS_SMALL_JOB_H

#include <rankwatch/blackbox.h>

#include "analysis/analysis.h"

enum { SMALL_JOB_RANKS = 4, SMALL_JOB_FINDINGS = 64 };

struct small_job_finding {
	enum rw_finding_state state;
	enum rw_severity severity;
	enum rw_confidence confidence;
	enum rw_kind kind;
	enum rw_scope scope;
	enum rw_standing standing;
	enum rw_cause_class class_;
	size_t rank_count, evidence_count;
	int rank; /* the first */
	char text[256], cause[96], advice[160], evidence[4][160];
};

struct small_job {
	struct analysis *analysis;
	struct rw_box_header boxes[SMALL_JOB_RANKS]; /* change them before small_job_start() … */
	int32_t hosts; /* … and how many NCCL says that the communicator spans; 1 */
	struct small_job_finding findings[SMALL_JOB_FINDINGS];
	size_t count;
};

/* Boxes made at second 1000; GPU of rank r: 0000:(0x10 + r):00. */
void small_job_open(struct small_job *job);
/* Announces all ranks and their communicator. */
void small_job_start(struct small_job *job);
void small_job_close(struct small_job *job);
/* A tick at this second. */
void small_job_tick(struct small_job *job, double second);
/* A healthy reading of the rank's GPU at this second. */
struct analysis_gpu_state small_job_state(int rank, double second);
struct analysis_gpu_event small_job_event(int rank, double second, uint32_t xid);
/* The latest that was said; fails the test when nothing was. */
const struct small_job_finding *small_job_last(const struct small_job *job);

#endif
