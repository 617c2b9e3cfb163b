/* SPDX-License-Identifier: MIT */
/* One process of the job: what its box says of it. */
#ifndef ANALYSIS_KNOWN_PROCESS_H
#define ANALYSIS_KNOWN_PROCESS_H

#include "analysis/known/job.h"

/* Who it is, by the header of its box; strings that lack their end there get one. */
void process_read_header(struct process *process, const struct rw_box_header *box);
/* How many of its operations the box does not show, as its header counts them. */
void process_read_gaps(struct process *process, const struct rw_box_header *box);
/* Since when NCCL's event mask hides operations, where that was known by until_ns. */
void process_read_mask(struct process *process, const struct rw_box_header *box, uint64_t until_ns);
/* Of it what a box knows only when NCCL has been called: devices, NCCL, who tells of calls. */
void process_read_nccl(struct process *process, const struct rw_box_header *box);
/* Has it ended, in whatever way? One that is stopped has not. */
static inline bool process_is_dead(const struct process *process)
{
	return process->life == ANALYSIS_EXITED || process->life == ANALYSIS_KILLED;
}
/* With all that it owns; NULL: nothing. */
void process_free(struct process *process);

#endif
