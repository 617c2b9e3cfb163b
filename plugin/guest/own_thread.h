/* SPDX-License-Identifier: MIT */
/* A thread of ours in the job's process. */
#ifndef PLUGIN_GUEST_OWN_THREAD_H
#define PLUGIN_GUEST_OWN_THREAD_H

/* Runs run(argument) on a thread that nobody joins. It takes no signal: the job's signals are the job's, and what a
 * write raises there (SIGPIPE, SIGXFSZ) stays with the thread. Allocates; any thread. 0 or -errno. */
int own_thread_start(void *(*run)(void *argument), void *argument);

#endif
