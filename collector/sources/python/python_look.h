/* SPDX-License-Identifier: MIT */
/*
 * One look at the Python of a process, in a process of its own with a deadline: the kernel lets nobody read memory whose
 * owner holds the lock of its address space, as one does that waits for a page of a dead file system.
 */
#ifndef COLLECTOR_SOURCES_PYTHON_PYTHON_LOOK_H
#define COLLECTOR_SOURCES_PYTHON_PYTHON_LOOK_H

#include "base/writer_process.h"
#include "collector/sources/python/python_view.h"

enum { PYTHON_LOOK_PROCESS, PYTHON_LOOK_MAPS, PYTHON_LOOK_MEMORY, PYTHON_LOOK_ANCESTOR, PYTHON_LOOK_FILES };
enum { PYTHON_LOOK_MS = 1000 };

struct python_look {
	int files[PYTHON_LOOK_FILES]; /* /proc/PID, its maps and mem, and who may read what is closed to us (base/ancestor.h); -1 none */
	uint32_t tid;                 /* the thread that is asked about */
	pid_t pid;
	uint64_t start_ticks;
};

struct python_seen {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	bool waits;     /* the thread waited for the interpreter's lock */
	int error;      /* 0, or why there is no view: -errno as of python_view_read() or ancestor_open_memory(), or -EXDEV */
	struct python_view view;
};

/* Opens the files of a process that is the writer before and after. ancestor: a descriptor to ask what we may not read,
 * one look at a time; -1 nobody. 0; -EACCES, -EPERM: we may not read its memory (that takes the right to attach a
 * debugger), and there is nobody to ask; -ESRCH; or another -errno. */
int python_look_open(struct python_look *look, const struct writer_process *writer, uint32_t tid, int ancestor);
void python_look_close(struct python_look *look);
/* Looks twice and keeps what agrees. The files stay open. 0: see seen->error; -ETIMEDOUT; -ECHILD; or another
 * -errno. -EXDEV there: it is in a pid namespace of its own, where its threads have other numbers. May be called on
 * any thread. */
int python_look_take(const struct python_look *look, struct python_seen *seen);

#endif
