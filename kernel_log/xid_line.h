/* SPDX-License-Identifier: MIT */
/*
 * A line of the kernel log in which NVIDIA's driver reports an Xid. Layout of a record of /dev/kmsg:
 * Documentation/ABI/testing/dev-kmsg ("prefix,sequence,µs,flags[,…];text"); of the text: the driver's open kernel
 * modules (docs/gpu-health.md). The bytes are foreign: anybody may write to the log, so only what the kernel wrote
 * counts.
 */
#ifndef KERNEL_LOG_XID_LINE_H
#define KERNEL_LOG_XID_LINE_H

#include <stddef.h>
#include <stdint.h>

struct xid_line {
	uint64_t stamp_us; /* of the kernel's log clock, which is near CLOCK_MONOTONIC */
	char pci[24];      /* "0000:3b:00", as the driver wrote it */
	uint32_t xid;
	int32_t pid;    /* -1: not reported */
	char text[128]; /* what follows number, pid and name; printable */
};

/* One line without its newline. 0; -ENOENT: a record, but no Xid, or not the kernel's; -EPROTO: no record. */
int xid_line_parse(const char *bytes, size_t length, struct xid_line *line);

#endif
