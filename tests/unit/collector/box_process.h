/* SPDX-License-Identifier: MIT */
/* A process that has a black box, as a rank has: the lock that says that it lives is another process's. */
#ifndef TESTS_UNIT_COLLECTOR_BOX_PROCESS_H
#define TESTS_UNIT_COLLECTOR_BOX_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

/* Returns when the box, of rank 3 and with one communicator, is there. */
pid_t box_process_start(const char *directory, const char *job, uint64_t communicator);
/* Has it make one call of NCCL. Returns when that stands in its box. Of the process that was started last. */
void box_process_call(pid_t pid);
/* SIGKILL, and reaped. */
void box_process_kill(pid_t pid);
/* A directory of the test's own in memory; "" when there is none. Removed by box_process_cleanup(). */
const char *box_process_directory(void);
void box_process_cleanup(void);

#endif
