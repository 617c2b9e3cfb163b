/* SPDX-License-Identifier: MIT */
/* One file in a directory of black boxes, from the moment its name is seen. */
#ifndef COLLECTOR_BOXES_LIVE_BOX_H
#define COLLECTOR_BOXES_LIVE_BOX_H

#include <stdint.h>
#include <sys/stat.h>

#include "analysis/analysis.h"
#include "base/writer_process.h"
#include "blackbox/reader.h"
#include "collector/host/process_end.h"
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
	uid_t owner;
	enum box_state state;
	uint64_t seen_ns, last_seen_ns; /* its name, first and last */
	analysis_process_id id;
	struct feed *feed;                        /* BOX_LIVE */
	struct writer_process writer;             /* none: not visible from here, or not proven */
	struct process_end *end;                  /* of the writer; NULL: only its lock says that it has ended */
	uint64_t orphan_ns;                       /* when its lock was found free */
	uint64_t left_ns;                         /* when its process was seen to end; 0 nobody saw it */
	int exit_status;                          /* -1 not known */
	uint32_t gpu_notes;                       /* written so far: collector/boxes/gpu_note.h */
	uint32_t port_notes;                      /* likewise: collector/boxes/port_note.h */
	const struct live_boxes_request *request; /* of the boxes that it is one of */
};

/* Takes hold of the box's writer, `pid` by its lock, while the lock says that it still is. 0; -ESRCH: it cannot be
 * seen; -EMFILE, -ENFILE or -ENOMEM: not now; -EPERM, with a sentence in `why`: that process is not the box's owner's
 * to point at. */
int live_box_hold_process(struct live_box *box, const struct box_reader *reader, pid_t pid,
			  char why[WRITER_PROCESS_WHY]);
/* Exit status of a process that is not our child (wait(2)'s format). Kernels from 6.15 on say it by the pidfd once the
 * process has been reaped; before that, for seconds where a launcher looks seldom, /proc shows its own user one that is
 * not 0. -1: not known, or not yet. */
int live_box_exit_status(const struct live_box *box);

#endif
