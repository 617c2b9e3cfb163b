/* SPDX-License-Identifier: MIT */
/* What hosts show of a drawn job: black boxes that fill, waits of threads, NVML; shown to their collectors look by
 * look. */
#ifndef SUITE_RECORDS_H
#define SUITE_RECORDS_H

#include "suite/collectors.h"
#include "suite/draw.h"

enum { SUITE_MEMBERS = 1024, RECORDS_BEGIN_MS = 1000 };

struct call {
	int communicator; /* 0 of the group, 1 between groups, 2 of the pipeline */
	uint8_t function;
	bool backward; /* called by autograd's thread */
	uint64_t count;
	int peer; /* 1 + rank in the communicator */
	bool spans_hosts;
};

struct operation_times {
	double launched_ms, arrived_ms, done_ms; /* infinite: never */
};

struct records;

struct records *records_new(const struct suite_draw *draw, struct suite_collectors *collectors);
void records_free(struct records *records);
void records_operation(struct records *records, int rank, struct call call, struct operation_times times);
/* Its main thread does something else, which is seen when it is over. */
void records_stall(struct records *records, int rank, enum suite_cause cause, double from_ms, double until_ms);
/* It does nothing more. */
void records_end(struct records *records, int rank, enum suite_fault how, double at_ms);
/* From now on NVML says of the ranks at fault that they are too hot. */
void records_throttle(struct records *records, double from_ms);
/* Lets time pass, look by look; *now_ms: of the last one. */
void records_show(struct records *records, double until_ms, double *now_ms);

/* Ranks of a group; all of them where there is one communicator. */
int records_width(const struct suite_draw *draw);
/* On how many hosts a communicator's members are. */
int records_hosts(const struct suite_draw *draw, bool outer);

#endif
