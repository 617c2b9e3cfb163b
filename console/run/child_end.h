/* SPDX-License-Identifier: MIT */
/* Waits for the end of a child that `run` has started once the job has ended. */
#ifndef CONSOLE_RUN_CHILD_END_H
#define CONSOLE_RUN_CHILD_END_H

/* 0: the process behind pidfd has ended; -ETIMEDOUT; -EINTR: a signal that asks for an end of what we still do came to
 * signal_fd (-1: none does); or another -errno. */
int child_end_await(int pidfd, int signal_fd, unsigned timeout_ms);

#endif
