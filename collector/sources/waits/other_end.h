/* SPDX-License-Identifier: MIT */
/*
 * Which child a thread waits for: the one that it waits to end, or that has the other end of the pipe, or of the TCP
 * connection over the loopback interface, that it reads. Only children of the process are asked, and only if exactly
 * one comes into question. Reads files' names with the rights that the thread has chosen (owner_rights.h). Bounded:
 * OTHER_END_CHILDREN children, OTHER_END_DESCRIPTORS descriptors of theirs in all, and 16,384 connections; of more
 * nothing is found.
 */
#ifndef COLLECTOR_SOURCES_WAITS_OTHER_END_H
#define COLLECTOR_SOURCES_WAITS_OTHER_END_H

#include <stdint.h>
#include <sys/types.h>

enum { OTHER_END_CHILDREN = 64, OTHER_END_DESCRIPTORS = 1024 };

/* Thread `tid` of process `pid` is in `system_call`; path: of the descriptor that it waits for, as in struct
 * analysis_wait ("pipe:[4711]", "socket:[4711] to 127.0.0.1:8080"), or "". proc_root: "/proc", or a recorded tree. 0:
 * no child is, more than one may be, or it cannot be seen. */
pid_t other_end_find(const char *proc_root, pid_t pid, uint32_t tid, int32_t system_call, const char *path);

#endif
