/* SPDX-License-Identifier: MIT */
/* Stands in for the analysis: remembers what it was told, and says what the test wants. */
#ifndef TESTS_UNIT_COLLECTOR_FAKE_ANALYSIS_H
#define TESTS_UNIT_COLLECTOR_FAKE_ANALYSIS_H

#include "analysis/analysis.h"

struct analysis {
	unsigned processes, ticks, ends, resumes;
	enum analysis_life last_life;
	int last_exit_status;
	uint64_t left_ns; /* the last told */
	unsigned gpu_states, gpu_events;
	struct analysis_gpu_state last_gpu_state;
	struct analysis_gpu_event last_gpu_event;
	uint64_t gpu_silence_ns;
	struct analysis_detail details[4]; /* that it wants */
	size_t detail_count;
	int32_t waited_for[4]; /* world ranks, in a birth */
	size_t waited_for_count;
	struct analysis_absentee last_absentee;
	analysis_process_id suspect, silent; /* 0: nobody */
	unsigned waits;
	char last_path[256]; /* of the last wait that had one */
	unsigned others;     /* looks at processes that a rank waits for */
	struct analysis_other last_other;
	unsigned children;   /* readings of what child processes use */
	struct analysis_children last_children;
	uint64_t suspect_since_ns;
	bool pid_unproven;   /* of the last process */
	analysis_emit *emit;
	void *argument;
};

#endif
