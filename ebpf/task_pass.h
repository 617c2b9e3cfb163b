/* SPDX-License-Identifier: MIT */
/* One pass of the task iterator over a process, on kernels that can limit it to one (6.1 and later) and on others. */
#ifndef EBPF_TASK_PASS_H
#define EBPF_TASK_PASS_H

#include <stdbool.h>
#include <sys/types.h>

#include <bpf/libbpf.h>

struct task_pass {
	struct bpf_program *program; /* of type iter/task; picks the process's tasks by itself as well */
	bool whole;                  /* this kernel knows no limit: each pass goes over all tasks of the machine */
};

/* Runs the program for every thread of `tgid`. 0 or -errno. Takes about 1 µs per thread; where `whole` it
 * goes over all other tasks as well. */
int task_pass_run(struct task_pass *pass, pid_t tgid);

#endif
