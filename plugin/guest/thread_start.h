/* SPDX-License-Identifier: MIT */
/*
 * Where a thread began: the outermost return address on its stack that leads into a given library. Threads that a
 * library starts with the same function have it in common, at the same distance from the thread's control block; other
 * threads do not. Works while the thread runs or waits, and needs glibc, which puts that block above the stack. Reads
 * the stack through /proc/self/mem: the thread may end meanwhile.
 */
#ifndef PLUGIN_GUEST_THREAD_START_H
#define PLUGIN_GUEST_THREAD_START_H

#include <stdbool.h>
#include <stdint.h>

struct thread_start {
	uint64_t address;  /* 0: not known */
	/* in bytes, of the place on the stack that holds it, below what the kernel knows of the block */
	uint64_t distance;
};

/* Of the calling thread and the library whose code `within` points into. Address 0 where it cannot be found: on the
 * process's first thread, where the library is deeper on the stack than 64 KiB, and where system calls are refused. Not
 * on the path of a collective: takes a lock of the loader and makes system calls. */
struct thread_start thread_start_own(const void *within);
/* Did this thread of the process begin there? False also when it has ended or cannot be read. Three system calls. */
bool thread_start_is(uint32_t tid, const struct thread_start *start);

#endif
