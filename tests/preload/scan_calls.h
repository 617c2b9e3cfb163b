/* SPDX-License-Identifier: MIT */
/*
 * NCCL calls on buffers of any bits, and what the scans of those must say: a reference of the same bytes, taken before
 * the call and after the work. Any thread makes calls; one thread settles and checks.
 */
#ifndef TESTS_PRELOAD_SCAN_CALLS_H
#define TESTS_PRELOAD_SCAN_CALLS_H

#include "tests/preload/job.h"

enum { SCAN_COUNT = 1003 /* elements of every call */ };

/* One call and what its two scans must be. */
struct expected {
	uint8_t function, dtype;
	const void *in, *out;
	uint64_t in_elements, out_elements; /* 0: none on this rank */
	uint32_t in_lost, out_lost;         /* enum rw_unscannable: why that side cannot be scanned */
	struct rw_scan scan_in, scan_out;
	bool found;
};

/* Whose call it is. */
struct scan_caller {
	ncclComm_t comm;
	int rank, nranks;
	CUstream stream;
	bool windows; /* buffers lie in symmetric windows */
};

/* Does the interposer see this program? */
bool scan_is_interposed(void);
/* NCCL's. */
int scan_version(void);
/* Device memory of the current context, which the stand-in lets the program touch. Of a caller that has windows: one.
 */
void *scan_room(const struct scan_caller *caller, size_t bytes);
/* From now on inputs hold numbers, and outputs NaN before their operation. */
void scan_use_numbers(void);
/* Any bits, every NaN and infinity among them. */
void scan_fill(void *bytes, uint64_t elements, uint8_t dtype);

/* Makes the call (root 1) on buffers of its own, of which only the input holds anything. */
struct expected *scan_call(const struct scan_caller *caller, uint8_t function, uint8_t dtype, bool in_place);
/* One that the program makes itself, with the input as it is now. */
struct expected *scan_expect(const struct expected *what);

/* Of all calls since the last time: their work is done, this is what the outputs are. */
void scan_settle(void);
/* The box has one operation for each call, and what its scans say is so; or it has the reason why there are none. And
 * no buffer was scanned twice. */
void scan_check(void);

#endif
