/* SPDX-License-Identifier: MIT */
/* A job that was started with PyTorch's other backend, by mistake or for a trial on CPUs: why there was no NCCL to be
 * seen. */
#ifndef CONSOLE_RUN_GLOO_H
#define CONSOLE_RUN_GLOO_H

#include <stdbool.h>
#include <sys/types.h>

/* Does this process, or one below it, run a thread that PyTorch names when it makes a process group of gloo's? False
 * where it names none (older versions) or the kernel does not list children (CONFIG_PROC_CHILDREN). proc: "/proc". A
 * pass over the job's processes: call seldom. */
bool gloo_is_used(const char *proc, pid_t pid);

#endif
