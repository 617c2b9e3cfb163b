/* SPDX-License-Identifier: MIT */
/* The demo's scenarios: what the workload does in each, and what must be found. For `rankwatch demo` and the tests. */
#ifndef SIM_WORKLOAD_JOB_SCENARIO_H
#define SIM_WORKLOAD_JOB_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>

struct scenario {
	const char *name;
	const char *description;      /* one line */
	const char *const *arguments; /* of the workload, after its name; ends with NULL */
	const char *script;	      /* run it under this one of sim/workload/slow-*; NULL: as it is */
	const char *const *environment; /* of the script and the workload, NAME=VALUE, ends with NULL; may be NULL */
	const char *kind;	      /* as in a finding; NULL: healthy, not one line */
	const char *cause;	      /* class; NULL: healthy, or a kind that has no cause (desync) */
	int rank;		      /* -1: healthy, or all of them */
	/* larger; named with it: nobody can tell the two apart, or both are its host; 0: none */
	int peer;
	const char *scope;	      /* that the finding must have; NULL: any */
	const char *origin;	      /* of values, as in a finding; NULL: they have none */
	int first_bad;		      /* index of the first of them; -1: not known. Counts only with an origin */
	int duration_s;		      /* about, on an idle machine */
	int within_s;		      /* of the fault it must be found, where its kind reports less; 0: as its kind */
	bool foresees;		      /* the finding must say when the waits, which grow, reach the watchdog */
	int status;		      /* the job's exit status */
	const char *awaits;	      /* what must be built before this is found; until then it is expected to fail, and
					 nobody may be named all the same. NULL: it is found */
};

/* What `rankwatch demo` and the tests set for every scenario, NAME=VALUE, ends with NULL. */
extern const char *const scenario_environment[];

/* In the order in which help shows them; the first is the default. */
extern const struct scenario scenarios[];
extern const size_t scenario_count;

/* NULL when there is none of this name. */
const struct scenario *scenario_find(const char *name);

#endif
