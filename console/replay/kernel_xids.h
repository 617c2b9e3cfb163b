/* SPDX-License-Identifier: MIT */
/* The Xids that this machine's kernel log still holds, for a run that is seen again from its boxes. One thread. */
#ifndef CONSOLE_REPLAY_KERNEL_XIDS_H
#define CONSOLE_REPLAY_KERNEL_XIDS_H

#include <stdint.h>
#include <stdio.h>

#include "analysis/analysis.h"
#include "console/boxes/boxes.h"

/* What --kernel-log does, for the commands that have it. */
#define KERNEL_LOG_DOC                                                                                                 \
	"Read the kernel's messages from FILE, with records as in /dev/kmsg, and not from /dev/kmsg: in a container "  \
	"that is not "                                                                                                 \
	"given the device"

struct kernel_xids {
	char why[192];      /* nobody looked; "" they were looked for */
	uint64_t begins_ns; /* MONOTONIC: what the log held before is lost; 0 nothing is */
};

/* Hands them to the analysis before it is fed, if the boxes were recorded since this machine was started: a GPU is
 * known by its address, which every machine has again. Reads the log once and waits for nothing. path: NULL is
 * /dev/kmsg. */
void kernel_xids_add(struct kernel_xids *xids, struct analysis *analysis, const char *path,
		     const struct box_entry *entries, size_t count);
/* "Xids      none in the kernel log, of this run's GPUs", or why nobody looked: one line. first_ns: when the run
 * began. */
void kernel_xids_print(FILE *out, const struct kernel_xids *xids, const struct analysis *analysis, uint64_t first_ns);

#endif
