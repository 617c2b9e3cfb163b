/* SPDX-License-Identifier: MIT */
/* One finding with everything that it points to. The test that makes the finding fills it in part by part. */
#ifndef ANALYSIS_REPORT_RECORD_H
#define ANALYSIS_REPORT_RECORD_H

#include <rankwatch/finding.h>

#include "analysis/explain/cause.h"
#include "analysis/known/instances.h"
#include "analysis/numbers/intern.h"
#include "analysis/known/job.h"
#include "analysis/known/values.h"

/* What `missing` says where ranks of the communicator were not seen. */
#define RECORD_UNSEEN_MEMBERS "none of the others can be named"

enum {
	RECORD_MISSING = 4,
	RECORD_EVIDENCE = 8,
	RECORD_PYTHON = 3, /* places */
};

struct record {
	struct rw_finding finding; /* points into the rest */
	uint32_t subject;          /* the test's own number for what the finding is about */
	uint64_t told_ns;
	bool open;
	int32_t *ranks, *waiting;
	struct rw_where *where;
	char (*hosts)[64];
	char (*gpus)[48], (*pcis)[16], (*rank_from)[32];
	char job[64], comm_name[96], watchdog_from[32];
	double longer_ms;          /* of one that works longer: by so much in a step; -1 not known */
	char differing[224]; /* text of the cause of a host whose ranks have different ones */
	char cause_text[96], path[256], file_system[16], device[32], thread[16], at_thread[16];
	struct {
		char function[64], file[96];
	} python[RECORD_PYTHON];
	char stack[EVIDENCE_FRAMES][40];
	const char *stack_pointers[EVIDENCE_FRAMES];
	struct rw_chain_link chain[CAUSE_HOPS];
	char chain_threads[CAUSE_HOPS][16], chain_waits[CAUSE_HOPS][48], chain_does[CAUSE_HOPS][CAUSE_DOES];
	struct rw_evidence evidence[RECORD_EVIDENCE];
	char evidence_what[RECORD_EVIDENCE][224];
	char missing[RECORD_MISSING][192];
	const char *missing_pointers[RECORD_MISSING];
	char text[768], advice[160];
	char incident[24];
	struct rw_incident_link links[RW_INCIDENT_LINKS];
	uint32_t chain_hash; /* analysis/report/incident.h */
};

/* Makes a finding about these ranks (indices into job->ranks); NULL on lack of memory. */
struct record *record_new(const struct job *job, enum rw_kind kind, enum rw_scope scope, const uint32_t *ranks,
			  uint32_t count);
/* One of the ranks that a finding is about, where the test has no box of it. uuid: 16 bytes; NULL: not known. */
struct record_subject {
	int32_t world_rank;
	const char *host;
	int32_t pid;
	const uint8_t *uuid;
};
/* Makes a finding about ranks in ascending order; the subjects are copied. The caller fills in the job. NULL on lack of
 * memory. */
struct record *record_new_named(enum rw_kind kind, enum rw_scope scope, const struct record_subject *subjects,
				uint32_t count);
/* Makes a finding about one rank without a black box; pid 0: none. */
struct record *record_new_absent(const struct job *job, enum rw_kind kind, int32_t world_rank, const char *host,
				 int32_t pid);
void record_free(struct record *record);
/* Sets the waiting ranks: world ranks, ascending, which are copied. Returns 0 or -ENOMEM. */
int record_set_waiting_worlds(struct record *record, const int32_t *world_ranks, uint32_t count);
/* Sets late.waiting and victims to these ranks (indices into job->ranks): the communicator's seen ranks without those
 * of the finding. Returns 0 or -ENOMEM. */
int record_set_waiting(struct record *record, const struct job *job, const uint32_t *ranks, uint32_t count);
void record_set_operation(struct record *record, const struct job *job, const struct instance *instance,
			  enum rw_phase phase);
void record_set_cause(struct record *record, const struct intern *intern, const struct process *process,
		      const struct cause *cause);
/* Sets the watchdog of the process, where one is known. waited_ns: the longest wait so far. */
void record_set_watchdog(struct record *record, const struct process *process, bool first_step_done,
			 uint64_t waited_ns);
/* Sets cause and advice as given texts that are not made from a thread's evidence. */
void record_set_words(struct record *record, enum rw_cause_class class_, const char *cause, const char *advice);
/* Adds a piece of evidence. ms < 0: no duration. `what` is copied, `source` must be static. Pieces beyond
 * RECORD_EVIDENCE are left out. */
void record_add_evidence(struct record *record, const char *source, double ms, const char *what);
/* Sets what was scanned of this member's operation. */
void record_set_values(struct record *record, const struct instance *instance, uint32_t member, enum value_side side,
		       enum rw_values_origin origin);
/* Sets first_seen, when the member's operation was over, and how long ago that was. */
void record_set_seen(struct record *record, const struct instance *instance, uint32_t member, uint64_t now_ns);
void record_add_missing(struct record *record, const char *what);

#endif
