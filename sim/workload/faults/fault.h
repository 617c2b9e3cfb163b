/* SPDX-License-Identifier: MIT */
/*
 * What goes wrong on one rank, or looks as if it did and is healthy. A kind is a line in the table of the file that
 * makes it, fault_*.c; fault.c calls it at the right moments and writes the fault log.
 */
#ifndef SIM_WORKLOAD_FAULTS_FAULT_H
#define SIM_WORKLOAD_FAULTS_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/workload/job/options.h"

struct traffic_call;
struct training;

struct fault {
	const struct options *options;
	int rank;
	bool mine;  /* this rank is the one, or one of those, that it happens to */
	void *tool; /* the kind's own: made by its open(), freed by its close() */
};

/* How far bad values go on their own, see traffic.h. */
enum spread {
	SPREAD_NONE,
	SPREAD_STEP, /* to the end of the step: the optimizer leaves it out, as with fp16 and a loss scale */
	SPREAD_ON,   /* for good */
};

struct fault_kind {
	const char *name, *doc;
	bool harms; /* delays or ends the job: goes into the fault log */
	bool logs;  /* needs --log-dir */
	bool whole_host; /* happens to all ranks of the fault's rank's host, of two or more (--hosts) */
	bool in_python; /* its ranks are processes of the real interpreter */

	/* All may be NULL. */
	/* In the launcher: can this machine make it? If not, -errno and a line that says what is missing. */
	int (*check)(char *reason, size_t size);
	/* In the launcher, when all ranks have ended: removes what they left on the machine. */
	void (*tidy)(void);
	/* The rest on every rank. 0 or -errno. */
	int (*open)(struct fault *fault);
	void (*close)(struct fault *fault);
	/* Before the rank joins its first communicator. */
	void (*before_init)(struct fault *fault);
	/* Before it splits that (--eager). */
	void (*before_splits)(struct fault *fault);
	/* Between two steps: this is the host's time. */
	void (*between_steps)(struct fault *fault, int step);
	/* Before a call sends: changes its data, on its stream. Whoever has this checks nothing that is received. */
	void (*spoil)(const struct training *training, const struct traffic_call *traffic);
	enum spread spread;
	/* How much longer than the others its GPU computes in this step; GPU_FOR_EVER. */
	int (*extra_us)(const struct fault *fault, int step);
	/* By this share its GPU computes longer than the others', in everything alike. */
	double slower;
	bool in_tensor_parallel; /* slower there only: in what tensor parallel ranks compute together */
};

/* The tables, each ending with an entry without a name. */
extern const struct fault_kind fault_io_kinds[], fault_cpu_kinds[], fault_lock_kinds[], fault_memory_kinds[],
    fault_loader_kinds[], fault_network_kinds[], fault_gpu_kinds[], fault_end_kinds[], fault_init_kinds[],
    fault_collective_kinds[], fault_values_kinds[], fault_healthy_kinds[];

/* NULL when there is none of this name. */
const struct fault_kind *fault_kind_find(const char *name);
/* malloc'ed text: a line for each kind. */
char *fault_kind_list(void);

/* For the kinds: its step has come, or came before. */
bool fault_begins(const struct fault *fault, int step);
bool fault_holds(const struct fault *fault, int step);

/* How long it takes each time, by its options; usual_ms is the kind's own. */
int fault_takes_ms(const struct fault *fault, int usual_ms);

/* 0 or -errno. */
int fault_open(struct fault *fault, const struct options *options, int rank);
void fault_close(struct fault *fault);

void fault_before_init(struct fault *fault);
void fault_before_splits(struct fault *fault);
/* The host's work before step `step` with whatever the fault adds; writes the fault log. */
void fault_host_work(struct fault *fault, int step);
int fault_extra_us(const struct fault *fault, int step);
/* By what all that a rank's GPU computes in this step is multiplied, in tensor parallel layers or outside of them; 1
 * without a fault. */
double fault_slowness(const struct options *options, int rank, int step, bool in_tensor_parallel);
/* The GPU has finished the step: writes the fault log where that was late. */
void fault_step_done(const struct fault *fault, int step);

#endif
