/* SPDX-License-Identifier: MIT */
/*
 * Ranks as processes that make NCCL calls and write down each one, and then compare their black box with what they did:
 * every call is exactly one operation, with the fields that the caller knows.
 */
#ifndef TESTS_PRELOAD_JOB_H
#define TESTS_PRELOAD_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>
#include <nccl.h>

#include <rankwatch/blackbox.h>

enum { JOB_LEDGER = 1024, JOB_COUNT = 256 /* elements of every call */ };

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                        \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)
#define NCCL(call) CHECK((call) == ncclSuccess)
#define CU(call)   CHECK((call) == CUDA_SUCCESS)

/* One call as its caller knows it. */
struct entry {
	uint8_t function, dtype;
	int32_t root_or_peer; /* -1 none */
	uint64_t stream, send, recv;
};

struct job {
	int rank, nranks;
	CUstream stream, other_stream;
	ncclComm_t comm;
	float *send, *recv; /* nranks * JOB_COUNT elements each */
	struct entry ledger[JOB_LEDGER];
	size_t calls;
	volatile uint64_t *shared; /* 512 words of all ranks */
};

typedef void job_main(struct job *job);

/* Forks the ranks, each with its device, and waits for them; the status for main(). Without communicator: `comm` is
 * main's to make, from job_id(). */
int job_run(int nranks, bool communicator, job_main *main);
/* Before job_run(): this rank is to end by this signal, and to leave no core. */
void job_expect_signal(int rank, int signal);
/* The n-th unique id of the job, the same on all ranks. */
ncclUniqueId job_id(struct job *job, int number);
/* Waits for all ranks. */
void job_meet(struct job *job);

/* Several devices in one process: buffers of the job's own. */
void job_use_buffers(struct job *job, int device);
/* Makes the call and writes it down. */
void job_call(struct job *job, uint8_t function, ncclComm_t comm, CUstream stream, int root_or_peer);
/* Writes down only. */
void job_note(struct job *job, const struct entry *entry);

/* Version of the profiler interface that NCCL uses here; 0: none. */
int job_abi(void);
/* Waits until every operation of this process's box is finished, copies them; how many. */
size_t job_operations(struct rw_operation *operations, size_t room);
struct rw_communicator job_communicator(uint32_t index);
/* Into a named header: clang takes no atomic member of what a function returns. */
void job_header(struct rw_box_header *header);
/* Ordinal of its device. */
int job_device(uint32_t communicator);
/* The box has the ledger's calls, in order, once each. */
void job_check(struct job *job);

#endif
