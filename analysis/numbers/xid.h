/* SPDX-License-Identifier: MIT */
/*
 * What the numbers mean that NVIDIA's driver reports as Xid, and what to do: docs/gpu-health.md. Source: NVIDIA's Xid
 * catalog, https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html (Ampere and newer, read 2026-11),
 * resolution bucket "immediate action".
 */
#ifndef ANALYSIS_NUMBERS_XID_H
#define ANALYSIS_NUMBERS_XID_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/finding.h>

enum xid_blame {
	XID_APPLICATION, /* the program's own error: the GPU is healthy */
	XID_FOLLOWER,    /* another Xid, or the end of the process, came first */
	XID_MEMORY,
	XID_LINK,
	XID_HARDWARE,
	XID_FIRMWARE,
	XID_UNKNOWN, /* not in the table */
};

struct xid {
	uint32_t number;
	enum xid_blame blame;
	enum rw_severity severity;
	const char *meaning, *action;
};

/* Never NULL: a number that is not in the table has an entry of its own, as a warning. Of some the driver's words
 * decide (154 says which recovery the GPU needs). */
struct xid xid_find(uint32_t number, const char *text);
/* Does it speak of a fault of the GPU or its links, and not of the program's? */
bool xid_is_gpu(const struct xid *xid);

#endif
