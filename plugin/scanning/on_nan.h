/* SPDX-License-Identifier: MIT */
/*
 * Whether a NaN ends the process (RANKWATCH_ON_NAN=abort). Only one that this rank has brought in itself does: it was
 * in an input before its operation, and all that had been seen until then says that it is neither padding, nor the
 * overflow that a loss scaler makes on purpose and handles, nor what another rank has sent. In case of doubt the job
 * goes on.
 *
 * The drain thread's alone.
 */
#ifndef PLUGIN_SCANNING_ON_NAN_H
#define PLUGIN_SCANNING_ON_NAN_H

#include <stdbool.h>
#include <stdint.h>

enum { ON_NAN_INPUTS = 4096 /* buffers that are remembered */ };

/* A scan's result, and of which buffer. */
struct on_nan_scan {
	uint64_t ticket;   /* of the operation: grows with each call */
	uint64_t buffer;   /* a number that it has in all operations: from communicator, function, count and address */
	uint64_t elements, first_bad;
	uint32_t nan, inf;
	bool is_input, is_output;
	bool is_before; /* scanned before its operation */
	bool is_first; /* of one of its function's first operations: what is in it may have been there from the start */
	bool is_half;  /* fp16: such a job has a loss scaler */
};

struct on_nan {
	const char *doubt; /* why no NaN ends this process any more; NULL: one can */
	uint64_t bad_output; /* least ticket of an operation whose output was bad, 0: none */
	uint64_t ticket;     /* of the operation whose NaN is to end it, 0: none */
	uint64_t until_ns;   /* scans that are still out are waited for until then */
	uint64_t inputs[ON_NAN_INPUTS]; /* 0, or a buffer's number with bit 0: it has been bad */
};

/* A scan's result. */
void on_nan_take(struct on_nan *on_nan, const struct on_nan_scan *scan, uint64_t now_ns);
/* out: scans are still in flight. True: it is to end now. */
bool on_nan_ends(struct on_nan *on_nan, bool out, uint64_t now_ns);

#endif
