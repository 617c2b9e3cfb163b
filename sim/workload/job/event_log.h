/* SPDX-License-Identifier: MIT */
/* What the workload did to itself and when, one JSON object a line: the truth that tests compare findings with. */
#ifndef SIM_WORKLOAD_JOB_EVENT_LOG_H
#define SIM_WORKLOAD_JOB_EVENT_LOG_H

/* path NULL: nothing is logged. 0 or -errno. */
int event_log_open(const char *path, int rank);
/* The process and its rank, once. */
void event_log_start(void);
/* The fault begins: from now on this rank misbehaves. */
void event_log_fault(const char *kind, int step);
/* The host reached its first operation of `step` late_ms after it would have without the fault. */
void event_log_late_step(int step, double late_ms);

#endif
