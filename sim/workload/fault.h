/* SPDX-License-Identifier: MIT */
/* What goes wrong on one rank, or looks as if it did and is healthy. Each kind is a line in fault.c's table. */
#ifndef WORKLOAD_FAULT_H
#define WORKLOAD_FAULT_H

#include <stdbool.h>

#include "options.h"

struct fault {
	const struct options *options;
	int rank;
	bool mine; /* this rank is the one it happens to */
	struct log_writer *log;
	struct checkpointer *checkpointer;
};

struct fault_kind {
	const char *name, *doc;
	bool harms; /* delays or ends the job: goes into the fault log */
	bool logs;  /* needs --log-dir */
	/* May be NULL. */
	int (*open)(struct fault *fault);
	/* On every rank, between two steps: this is the host's time. */
	void (*between_steps)(struct fault *fault, int step);
	/* On every rank: how much longer than the others its GPU computes in this step. */
	int (*extra_us)(const struct fault *fault, int step);
};

/* NULL when there is none of this name. */
const struct fault_kind *fault_kind_find(const char *name);
/* malloc'ed text: a line for each kind. */
char *fault_kind_list(void);

/* 0 or -errno. */
int fault_open(struct fault *fault, const struct options *options, int rank);
void fault_close(struct fault *fault);

/* The host's work before step `step` with whatever the fault adds; writes the fault log. */
void fault_host_work(struct fault *fault, int step);
int fault_extra_us(const struct fault *fault, int step);

#endif
