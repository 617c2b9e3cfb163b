/* SPDX-License-Identifier: MIT */
/* One file in a directory of black boxes, from the moment its name is seen. */
#ifndef COLLECTOR_LIVE_BOX_H
#define COLLECTOR_LIVE_BOX_H

#include <stdint.h>
#include <sys/stat.h>

#include "analysis/analysis.h"
#include "blackbox/reader.h"
#include "feed/feed.h"

enum box_state {
	BOX_UNREADABLE, /* not (yet) a box: the plugin reserves the space before it writes the header */
	BOX_REFUSED,    /* said so */
	BOX_OTHER_JOB,
	BOX_OTHER_WORLD, /* its process had ended before we came, and nothing ties it to the processes that live */
	BOX_LIVE,
	BOX_ENDED,
};

struct live_boxes_request;

struct live_box {
	dev_t device;
	ino_t inode;
	enum box_state state;
	uint64_t seen_ns, last_seen_ns; /* its name, first and last */
	analysis_process_id id;
	struct feed *feed;                        /* BOX_LIVE */
	pid_t pid;                                /* in our name space, 0 not visible */
	int pidfd;                                /* -1 none */
	uint64_t orphan_ns;                       /* when its lock was found free */
	uint64_t left_ns;                         /* when its process was seen to end; 0 nobody saw it */
	int exit_status;                          /* -1 not known */
	const struct live_boxes_request *request; /* of the boxes that it is one of */
};

/* Takes a pidfd of the box's writer while the lock proves that the pid is the writer's, so it cannot be somebody
 * else's. Without one pidfd stays -1. */
void live_box_hold_process(struct live_box *box, const struct box_reader *reader);
/* Exit status of a process that is not our child (wait(2)'s format), from the pidfd: kernels from 6.15 on say it once
 * the process has been reaped. -1: not known, or not yet. */
int live_box_exit_status(const struct live_box *box);

#endif
