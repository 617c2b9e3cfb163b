/* SPDX-License-Identifier: MIT */
/*
 * A job whose buffers are scanned, for tests of what the analysis makes of values: ranks, communicators and the calls
 * of a program, one after the other for all members. A rank that has something bad brings it into all that it calls
 * afterwards, and whoever receives from it has it, too. What scans see of it is up to the test.
 */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_SCANNED_H
#define TESTS_UNIT_ANALYSIS_JOBS_SCANNED_H

#include "analysis/analysis.h"

enum {
	SCANNED_RANKS = 256,
	SCANNED_COMMUNICATORS = 160,
	SCANNED_TOLD = 32,
};

/* One call, as all members of a communicator make it. Zeroed: everything is scanned and finite. */
struct scanned_call {
	uint8_t function, dtype;
	uint8_t reduction; /* enum rw_operator; 0: as without the interposer */
	bool keeps;        /* what the others bring does not come through: -Inf into a maximum */
	uint64_t count; /* 0: 3 */
	int root;       /* or receiver of a Send, by rank of the communicator … */
	int sender;     /* … and its sender */
	bool in_place;  /* the input is gone */
	bool sampled_out;
	bool untracked; /* and not scanned */
	bool overflows; /* finite inputs, results that are not */
	bool inf;       /* what is bad is Inf */
	int only;       /* rank of the communicator + 1 that calls now; 0: all at once */
	uint64_t sequence; /* with `only` */
	int narrow;     /* ReduceScatter: rank of the communicator + 1 that alone receives what is bad; 0: all do */
};

struct scanned_told {
	enum rw_kind kind;
	enum rw_finding_state state;
	enum rw_severity severity;
	enum rw_confidence confidence;
	int32_t ranks[SCANNED_RANKS];
	size_t rank_count, victim_count, evidence_count, missing_count;
	struct rw_finding finding; /* without what it points to */
	char text[256], missing[512], evidence[160], comm_name[96], advice[160];
};

struct scanned {
	struct analysis *analysis;
	int ranks, communicators, seen; /* ranks with a black box: the first so many */
	struct {
		int size, members[SCANNED_RANKS];
		uint64_t sequence[RW_FUNCTION_COUNT];
	} communicator[SCANNED_COMMUNICATORS];
	bool bad[SCANNED_RANKS];       /* has something bad */
	bool brings[SCANNED_RANKS];    /* brings something bad into the next call only */
	bool blind[SCANNED_RANKS];     /* is not scanned */
	float absmax[SCANNED_RANKS];   /* 0: 1 */
	uint32_t saturated[SCANNED_RANKS];
	uint32_t nan;                  /* bad elements; 0: 1 */
	uint64_t ticket[SCANNED_RANKS], now_ns, random;
	struct rw_operation *queue[SCANNED_RANKS]; /* not passed on yet */
	size_t queued[SCANNED_RANKS], room[SCANNED_RANKS];
	struct scanned_told told[SCANNED_TOLD];
	size_t told_count;
};

/* `ranks` processes of one GPU each, of which `seen` have a box. */
void scanned_start(struct scanned *job, int ranks, int seen);
/* Returns the communicator's number. Its members: first, first + stride, … */
int scanned_communicator(struct scanned *job, const char *name, int size, int first, int stride);
void scanned_call(struct scanned *job, int communicator, struct scanned_call call);
/* Passes what was called on, ranks in random order, and lets `ms` pass. */
void scanned_tick(struct scanned *job, double ms);
/* Everybody leaves; the rest is told. */
void scanned_end(struct scanned *job);
void scanned_free(struct scanned *job);
/* The first from warning up; NULL none. */
const struct scanned_told *scanned_loud(const struct scanned *job);
uint64_t scanned_chance(struct scanned *job, uint64_t below);

#endif
