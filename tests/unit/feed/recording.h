/* SPDX-License-Identifier: MIT */
/* Plays the analysis: writes down what the feed tells it. */
#ifndef TESTS_UNIT_FEED_RECORDING_H
#define TESTS_UNIT_FEED_RECORDING_H

#include "analysis/analysis.h"
#include "blackbox/writer.h"
#include "feed/feed.h"

enum recorded_kind {
	RECORDED_PROCESS, RECORDED_COMMUNICATOR, RECORDED_OPERATION, RECORDED_PROGRESS, RECORDED_WAIT, RECORDED_LIFE,
	RECORDED_TICK, RECORDED_NETWORK, RECORDED_HEARTBEAT, RECORDED_SCANNING, RECORDED_HELD, RECORDED_INIT, RECORDED_BOX,
	RECORDED_PORTS, RECORDED_GPU_MEMORY, RECORDED_GAPS,
};

struct recorded {
	enum recorded_kind kind;
	analysis_process_id process;
	uint32_t index;	 /* COMMUNICATOR, PROGRESS */
	uint64_t untracked; /* GAPS: without a task */
	uint64_t at_ns;	 /* PROGRESS, LIFE, TICK, HEARTBEAT; PORTS, GPU_MEMORY: since when */
	uint64_t started, done; /* PROGRESS */
	enum analysis_life life;
	int exit_status;    /* LIFE */
	char call[48];	    /* HELD */
	const char *remedy; /* HELD */
	struct analysis_process process_told; /* PROCESS, without its box */
	struct rw_communicator communicator; /* COMMUNICATOR */
	struct rw_init init; /* BIRTH */
	struct rw_operation operation;
	struct analysis_wait wait;
	struct analysis_scanning scanning;
	struct analysis_network network;
};

struct analysis {
	struct recorded *records;
	size_t count, room;
	int answer; /* what analysis_add_operation() returns */
};

/* The n-th record of this kind, NULL when there are fewer. */
const struct recorded *recording_find(const struct analysis *analysis, enum recorded_kind kind, size_t n);
size_t recording_count(const struct analysis *analysis, enum recorded_kind kind);
void recording_free(struct analysis *analysis);
/* Feeds a box with one communicator, made when there is none yet, as process 7. */
struct feed *recording_start(struct analysis *analysis, struct box_writer *writer);

#endif
