/* SPDX-License-Identifier: MIT */
/* One record of the BPF programs as evidence, with what /proc adds to it. */
#ifndef COLLECTOR_SOURCES_WAITS_KERNEL_WAIT_H
#define COLLECTOR_SOURCES_WAITS_KERNEL_WAIT_H

#include <rankwatch/kernel_event.h>

#include "analysis/analysis.h"
#include "collector/sources/waits/file_names.h"
#include "collector/sources/waits/mounts.h"

/* Fills everything but `process` and the frames. Of a file that is closed by now, or whose descriptor stands for
 * another one, only the last part of the path is known. names: what was read a moment ago is not read again; NULL: it
 * is. Not for RW_KERNEL_EXIT. */
void kernel_wait_fill(const struct rw_kernel_wait *record, const char *proc_root, struct mounts *mounts,
		      struct file_names *names, struct analysis_wait *wait);

#endif
