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

#include <rankwatch/operation.h>

#include "plugin/nccl/dtype.h"
#include "plugin/scan/scan_kernel.h"

#define SCAN_ELEMENTS_MAX (UINT64_C(1) << 40) /* of the kernel's contract */

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

/* Functions that every rank gives an input and an output: of count elements, or of as many for each rank. KEEPS: a call
 * in place leaves its input as it was. */
enum scan_plain { SCAN_PLAIN = 1, SCAN_PLAIN_EVERY_IN = 2, SCAN_PLAIN_EVERY_OUT = 4, SCAN_PLAIN_KEEPS = 8 };

static const uint8_t scan_plain[RW_FUNCTION_COUNT] = {
	[RW_FUNCTION_ALL_GATHER] = SCAN_PLAIN | SCAN_PLAIN_EVERY_OUT | SCAN_PLAIN_KEEPS,
	[RW_FUNCTION_ALL_REDUCE] = SCAN_PLAIN,
	[RW_FUNCTION_ALL_TO_ALL] = SCAN_PLAIN | SCAN_PLAIN_EVERY_IN | SCAN_PLAIN_EVERY_OUT,
	[RW_FUNCTION_REDUCE_SCATTER] = SCAN_PLAIN | SCAN_PLAIN_EVERY_IN,
};

/*
 * scan_buffers() for what most operations are, inlined because it is on their path: such a function, aligned, of a
 * floating type. True: *buffers is what scan_buffers() would write. False: ask that one, *buffers holds nothing of use.
 */
static inline __attribute__((always_inline)) bool scan_buffers_plain(const struct scan_call *call,
								     struct scan_buffers *buffers)
{
	uint8_t plain = scan_plain[call->function % RW_FUNCTION_COUNT];
	uint64_t size = dtype_size(call->dtype), every = call->count * (uint32_t)call->nranks;
	struct scan_buffer *in = &buffers->in, *out = &buffers->out;

	if (__builtin_expect(!plain || call->dtype < RW_DTYPE_FLOAT16 || call->dtype > RW_DTYPE_FLOAT8_E5M2, 0))
		return false;
	/* No rank is negative, nor beyond their number. */
	if (__builtin_expect((int64_t)(uint32_t)call->rank >= call->nranks, 0))
		return false;
	/* The product of two numbers of 32 bits is right. */
	if (__builtin_expect(call->count > UINT32_MAX, 0) ||
	    __builtin_expect(!every || every > SCAN_ELEMENTS_MAX / 8, 0))
		return false;
	/* Sizes are powers of two. */
	if (__builtin_expect(!call->send, 0) || __builtin_expect(!call->recv, 0) ||
	    __builtin_expect((call->send | call->recv) & (size - 1), 0))
		return false;
	in->address = call->send;
	in->elements = plain & SCAN_PLAIN_EVERY_IN ? every : call->count;
	in->bytes = in->elements * size;
	in->dtype = call->dtype;
	in->flags = 0;
	out->address = call->recv;
	out->elements = plain & SCAN_PLAIN_EVERY_OUT ? every : call->count;
	out->bytes = out->elements * size;
	out->dtype = call->dtype;
	out->flags = 0;
	buffers->survives = true;
	buffers->same = false;
	if (call->send >= call->recv + out->bytes || call->recv >= call->send + in->bytes)
		return true;
	buffers->survives = plain & SCAN_PLAIN_KEEPS && call->send == call->recv + (uint32_t)call->rank * in->bytes;
	buffers->same = buffers->survives && in->bytes == out->bytes;
	return true;
}

#endif
