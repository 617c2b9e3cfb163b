/* SPDX-License-Identifier: MIT */
/* A thread of ours in the job's process. */
#ifndef PLUGIN_GUEST_OWN_THREAD_H
#define PLUGIN_GUEST_OWN_THREAD_H

struct own_thread {
	void *(*run)(void *argument);
	void *argument;
};

/* Runs own->run(own->argument) on a thread that nobody joins; *own is there until that is called. The thread takes no
 * signal: the job's signals are the job's, and what a write raises there (SIGPIPE, SIGXFSZ) stays with the thread. It
 * has the ordinary scheduling class, and does not share the only processor of the thread that makes it. Allocates; any
 * thread. 0 or -errno. */
int own_thread_start(const struct own_thread *own);

#endif
