/* SPDX-License-Identifier: MIT */
/* A debugger that somebody left attached. */
#ifndef SIM_WORKLOAD_FAULTS_TRACER_H
#define SIM_WORKLOAD_FAULTS_TRACER_H

/* Starts a process that stops every thread of this one by ptrace(2) and stays; it ends with this process. 0 or
 * -errno. */
int tracer_attach(void);

#endif
