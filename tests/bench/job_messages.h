/* SPDX-License-Identifier: MIT */
/*
 * The messages of a large generated job, without the node halves that would make them: eight ranks a host, each in a
 * communicator of all ranks and in one of the ranks at its place on all hosts (data parallelism).
 */
#ifndef TESTS_BENCH_JOB_MESSAGES_H
#define TESTS_BENCH_JOB_MESSAGES_H

#include <stdint.h>

#include <rankwatch/message.h>

#include "analysis/job/job_half.h"

enum { JOB_PER_HOST = 8, JOB_ROOM = 64, JOB_OF_ALL = 1, JOB_OF_PLACE = 2 };

struct job_messages {
	int ranks, hosts;
	uint64_t *own_us, *inside_us; /* totals, by rank */
	/* Of one host, since job_begin_batch(): */
	struct {
		struct rw_batch header;
		struct rw_message messages[JOB_ROOM];
	} batch;
	uint64_t count, bytes; /* sent so far */
};

/* Aborts on lack of memory. */
void job_messages_init(struct job_messages *job, int ranks);
void job_messages_free(struct job_messages *job);
void job_begin_batch(struct job_messages *job);
/* Who the rank is, and which communicators it is in. */
void job_introduce(struct job_messages *job, int rank);
/* Its totals as of the end of this row, in both communicators. */
void job_row(struct job_messages *job, int rank, uint64_t number);
/* What it called up to there, in both communicators: the same as all others. */
void job_order(struct job_messages *job, int rank, uint64_t number);
/* Ends the batch, the host's `number`-th. Returns its length in bytes. */
size_t job_seal(struct job_messages *job, int host, uint64_t number);
/* Hands the batch, the host's `number`-th, to the job half. Returns the seconds of CPU that this took. */
double job_send(struct job_messages *job, struct job_half *half, int host, uint64_t number, uint64_t now_ns);
/* This process's, in seconds. */
double job_cpu_s(void);

#endif
