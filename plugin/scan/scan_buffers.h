/* SPDX-License-Identifier: MIT */
/*
 * Which bytes NCCL reads and writes for an operation, and so which a scan may read: never a byte that NCCL does not
 * touch. The rules are those of nccl.h: Reduce has a result at the root only, Broadcast an input at the root only,
 * ReduceScatter and AlltoAll read count elements for every rank, AllGather writes as many. Pure.
 */
#ifndef PLUGIN_SCAN_SCAN_BUFFERS_H
#define PLUGIN_SCAN_SCAN_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/scan/scan_kernel.h"

struct scan_call {
	uint8_t function, dtype;    /* enums of rankwatch/operation.h */
	uint8_t uint8_as;           /* enum rw_dtype that uint8 stands for; RW_DTYPE_UNKNOWN: bytes */
	int32_t root, rank, nranks; /* nranks 0: not known */
	uint64_t count;             /* elements, as in NCCL's call */
	uint64_t send, recv;        /* device addresses, 0 = none */
};

struct scan_buffer {
	uint64_t address;
	uint64_t elements; /* 0: there is none on this rank */
	uint64_t bytes;
	uint8_t dtype; /* that the kernel shall take it for */
	uint8_t flags; /* enum scan_flag */
};

struct scan_buffers {
	struct scan_buffer in, out;
	bool survives; /* the operation leaves the input as it was */
	bool same;     /* the input is also the output, and unchanged: one scan gives both results */
};

/* False: type, function or size is not known, so nothing may be read. */
bool scan_buffers(const struct scan_call *call, struct scan_buffers *buffers);

#endif
