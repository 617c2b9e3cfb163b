/* SPDX-License-Identifier: MIT */
/*
 * Operations as NCCL's Inspector plugin writes them, one JSON object a line, for programs that read its files. Names
 * and formulas: plugins/profiler/inspector of NCCL 2.30.7 (README.md, inspector_json.cc, inspectorComputeOpBw()), whose
 * format calls itself v4.0. docs/inspector.md says what the times rest on. One thread.
 */
#ifndef CONSOLE_DUMP_INSPECTOR_LINE_H
#define CONSOLE_DUMP_INSPECTOR_LINE_H

#include <jansson.h>

#include <rankwatch/blackbox.h>

#include "console/boxes/boxes.h"

/* What was left out so far, over all boxes. */
struct inspector_left_out {
	uint64_t untimed;  /* not ended, or begun and ended between two polls of the plugin, or not looked at */
	uint64_t sizeless; /* of communicators of which NCCL did not report the size or the number of nodes */
	uint64_t strange;  /* functions that Inspector does not know, or whose shape or communicator is not known */
};

/* One box; zeroed, but for the entry. */
struct inspector_box {
	const struct box_entry *entry;
	uint64_t transfers[RW_BOX_COMMS]; /* Send and Recv seen so far, by communicator */
};

/* To be called for every operation of the box in order. communicator: of the operation; NULL not known. New reference;
 * NULL: it is left out, and counted, or there is no memory. */
json_t *inspector_line(struct inspector_box *box, const struct rw_operation *operation,
		       const struct rw_communicator *communicator, struct inspector_left_out *left_out);

#endif
