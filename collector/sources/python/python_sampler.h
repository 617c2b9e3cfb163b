/* SPDX-License-Identifier: MIT */
/*
 * One look at the Python of a process, in a process of its own with a deadline: the kernel lets nobody read memory
 * whose owner holds the lock of its address space, as one does that waits for a page of a dead file system.
 */
#ifndef COLLECTOR_SOURCES_PYTHON_PYTHON_SAMPLER_H
#define COLLECTOR_SOURCES_PYTHON_PYTHON_SAMPLER_H

#include "base/writer_process.h"
#include "collector/sources/python/python_view.h"

enum { PYTHON_SAMPLER_PROCESS, PYTHON_SAMPLER_MAPS, PYTHON_SAMPLER_MEMORY, PYTHON_SAMPLER_ANCESTOR,
	PYTHON_SAMPLER_FILES };
enum { PYTHON_SAMPLER_MS = 1000 };

struct python_sampler {
	/* /proc/PID, its maps and mem, and who may read what is closed to us (base/ancestor.h); -1 none */
	int files[PYTHON_SAMPLER_FILES];
	uint32_t tid;                 /* the thread that is asked about */
	pid_t pid;
	uint64_t start_ticks;
};

struct python_seen {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	bool waits;     /* the thread waited for the interpreter's lock */
	/* 0, or why there is no view: -errno as of python_view_read() or ancestor_open_memory(), or -EXDEV */
	int error;
	struct python_view view;
};

/* Opens the files of a process that is the writer before and after. ancestor: a descriptor to ask what we may not read,
 * one look at a time; -1 nobody. 0; -EACCES, -EPERM: we may not read its memory (that takes the right to attach a
 * debugger), and there is nobody to ask; -ESRCH; or another -errno. */
int python_sampler_open(struct python_sampler *sampler, const struct writer_process *writer, uint32_t tid,
			int ancestor);
void python_sampler_close(struct python_sampler *sampler);
/* Looks twice and keeps what agrees. The files stay open. 0: see seen->error; -ETIMEDOUT; -ECHILD; or another
 * -errno. -EXDEV there: it is in a pid namespace of its own, where its threads have other numbers. May be called on
 * any thread. */
int python_sampler_take(const struct python_sampler *sampler, struct python_seen *seen);

#endif
