/* SPDX-License-Identifier: MIT */
/*
 * How the process of a black box ended, as noted by a collector that saw it end. The struct is the last one in the
 * control page. See docs/black-box.md, "Ending". This header only defines the layout; it has no code.
 */
#ifndef RANKWATCH_ENDING_H
#define RANKWATCH_ENDING_H

#include <assert.h>
#include <stdint.h>

#include <rankwatch/ports.h>

enum {
	RW_ENDING_VERSION = 1,
	RW_ENDING_OFFSET = 4064, /* in the control page */
};

struct rw_ending {
	uint32_t version; /* 0: nothing was noted; readers treat a version that they do not know as 0 */
	int32_t status;	  /* as from wait(2) */
	uint64_t reserved[2];
	uint32_t zero;
	uint32_t version_again; /* equal to version where the copy is complete */
};

static_assert(sizeof(struct rw_ending) == 32, "docs/black-box.md");
static_assert(RW_PORTS_OFFSET + sizeof(struct rw_ports) <= RW_ENDING_OFFSET, "behind the ports");
static_assert(RW_ENDING_OFFSET + sizeof(struct rw_ending) == RW_BOX_CONTROL_SIZE, "the last of the control page");

#endif
