/* SPDX-License-Identifier: MIT */
/*
 * What only an ancestor of a process may read. Where Yama's ptrace_scope is 1 (Ubuntu's default) an ordinary user's
 * collector may open neither /proc/PID/mem nor /proc/PID/task/TID/syscall of the job; `rankwatch run`, which has
 * started the job and the collector, may. It opens the memory and hands the descriptor over, and reads the line. The
 * kernel decides about memory when the file is opened, and the descriptor stays bound to the program that ran then.
 */
#ifndef BASE_ANCESTOR_H
#define BASE_ANCESTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { ANCESTOR_LINE = 192, ANCESTOR_MS = 300 };

/* Who is asked for: a process of our own user, by its start, too (/proc/PID/stat, field 22). */
struct ancestor_question {
	int fd; /* of the one who asks: one at a time */
	pid_t pid;
	uint64_t start_ticks;
};

/* ends[0] answers, ends[1] asks; both close-on-exec. 0 or -errno. */
int ancestor_pair(int ends[2]);
/* A descriptor to read its memory; the caller closes it. -EPERM, -EACCES: it may not be read; -ESRCH: it has ended;
 * -ETIMEDOUT: not answered within ANCESTOR_MS; -EPIPE: nobody answers any more; or another -errno. */
int ancestor_open_memory(const struct ancestor_question *question);
/* The line that reports which system call the thread is in. 0 or as above. */
int ancestor_read_call(const struct ancestor_question *question, uint32_t tid, char line[ANCESTOR_LINE]);
/* Answers one question, if there is one; never waits. False: nobody asks any more. */
bool ancestor_answer(int fd);

#endif
