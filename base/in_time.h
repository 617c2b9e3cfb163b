/* SPDX-License-Identifier: MIT */
/*
 * Work that a file system may never finish, such as open(2) on a server that does not answer: done in a process of its
 * own, and waited for until a deadline. Not in a thread: one that waits in the kernel for such a file system can keep
 * the whole process from ending.
 */
#ifndef BASE_IN_TIME_H
#define BASE_IN_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { IN_TIME_RESULT = 16384 /* bytes at most */, IN_TIME_LENT = 4 };

/* work(argument, result) in a child, which has neither our standard files nor any other of our descriptors; then
 * `result` (`size` bytes, zeroed before) is what it left there. 0; -ETIMEDOUT: it was given up and killed, and goes
 * when its file system lets it; -ECHILD: it crashed; or another -errno. The result is zero but for 0. */
int in_time_call(void (*work)(const void *argument, void *result), const void *argument, void *result, size_t size,
		 unsigned timeout_ms);
/* The same with `count` of our descriptors (IN_TIME_LENT at most) lent to the child, where `lent`, which is part of
 * what `argument` leads to, holds their numbers (-1: none). In our process they stay as they are. */
int in_time_call_lending(void (*work)(const void *argument, void *result), const void *argument, int *lent, int count,
			 void *result, size_t size, unsigned timeout_ms);
/* The same, begun and not waited for: its owner asks for the result as often as it likes. */
struct in_time_work {
	pid_t child; /* 0: none */
	int end;     /* where the result comes */
	size_t size;
};

/* 0 or -errno; on error, and where there was one before, *begun is none. */
int in_time_begin(struct in_time_work *begun, void (*work)(const void *argument, void *result), const void *argument,
		  size_t size);
/* Waits timeout_ms at most. 0 or an error as from in_time_call(): then *begun is none; -EAGAIN: it goes on. -ESRCH:
 * none was begun. */
int in_time_result(struct in_time_work *begun, void *result, unsigned timeout_ms);
void in_time_give_up(struct in_time_work *begun); /* none will do */

/* open(2) without a mode. The descriptor (close-on-exec), -ETIMEDOUT, or another -errno. flags with O_NONBLOCK, for the
 * sake of FIFOs and devices. */
int in_time_open(const char *path, int flags, unsigned timeout_ms);
/* Below /dev or /proc: nothing there waits for a file system, and names such as /dev/fd/63, of a shell's <(…), are of
 * this process alone. in_time_open() opens them here. */
bool in_time_is_own(const char *path);

/* For a child between fork and its work: standard files lead to /dev/null, the `count` descriptors in `keep`
 * (IN_TIME_LENT and one at most; their new numbers come back there) are all else that stays open, terminal and signals
 * are no longer ours. */
void in_time_become_alone(int *keep, int count);

#endif
