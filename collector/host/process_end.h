/* SPDX-License-Identifier: MIT */
/*
 * Reports the end of a process at once, through its pidfd on the event loop: nobody has to ask for it again and again.
 * It says that the process has ended and nothing of how. One owner thread, the loop's.
 */
#ifndef COLLECTOR_HOST_PROCESS_END_H
#define COLLECTOR_HOST_PROCESS_END_H

#include <uv.h>

struct process_end;

/* The process has ended. Called once, from the loop; process_end_close() may be called in it. */
typedef void process_end_ended(void *argument);

/* pidfd stays the caller's, and open until process_end_close(). NULL: there is no such descriptor (-1), or no memory:
 * the end is then seen by whoever asks for it. */
struct process_end *process_end_open(uv_loop_t *loop, int pidfd, process_end_ended *ended, void *argument);
/* Accepts NULL. The loop must run once more after this. */
void process_end_close(struct process_end *end);

#endif
