/* SPDX-License-Identifier: MIT */
/*
 * The process that writes a black box, proven. A box is its owner's file, and so is all that it says of a process: a
 * forged one, or one whose lock was carried into a set-user-id program, would have the collector look at a process that
 * the box's owner may not look at, and report what it saw. So a process is the writer only if every uid of it is the
 * owner's, its own user may look at it, and it started when the box says. Uids are compared as the collector's user
 * namespace shows both. rankwatchd asks the same of every process that a client would have it watch: there the owner is
 * the client's user.
 */
#ifndef BASE_WRITER_PROCESS_H
#define BASE_WRITER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { WRITER_PROCESS_WHY = 160 };

struct writer_process {
	pid_t pid;   /* in our name space; 0: none, or not proven */
	int pidfd;   /* -1 none */
	int proc_fd; /* /proc/PID: bound to this process, whatever becomes of its number; -1 none */
	uid_t uid;   /* the box's owner; (uid_t)-1: not asked for */
	gid_t gid;   /* the process's */
	uint64_t start_ticks;
};

#define WRITER_PROCESS_NONE                                                                                            \
	{                                                                                                              \
		.pidfd = -1, .proc_fd = -1                                                                             \
	}

/* Proves that `pid` is a process of `owner` that started at start_ticks (/proc/PID/stat, field 22). 0, -ESRCH (it has
 * ended), -EMFILE, -ENFILE or -ENOMEM (shortage_is(): nothing is known of it), or -EPERM and a sentence in `why`: it is
 * not to be looked at. On error *process is WRITER_PROCESS_NONE. The caller must see after this that pid still is whom
 * it meant. */
int writer_process_open(struct writer_process *process, pid_t pid, uid_t owner, uint64_t start_ticks,
			char why[WRITER_PROCESS_WHY]);
/* The same of the process behind a pidfd that somebody else has handed over, whatever its start: the pidfd itself says
 * which one is meant. It is the caller's no longer, also on error. owner (uid_t)-1: anybody's will do. */
int writer_process_adopt(struct writer_process *process, int pidfd, uid_t owner, char why[WRITER_PROCESS_WHY]);
/* Is it one, and no other kind of file? Asks /proc/self. */
bool writer_process_is_pidfd(int fd);
void writer_process_close(struct writer_process *process); /* accepts WRITER_PROCESS_NONE */
/* Is it still so? A process can exec a set-user-id program at any time. As writer_process_open(). */
int writer_process_check(const struct writer_process *process, char why[WRITER_PROCESS_WHY]);

#endif
