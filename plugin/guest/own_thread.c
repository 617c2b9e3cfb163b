/* SPDX-License-Identifier: MIT */
#include "plugin/guest/own_thread.h"

#include <pthread.h>
#include <signal.h>

enum { STACK_SIZE = 256 * 1024 /* glibc takes the libraries' static TLS from it */ };

int own_thread_start(void *(*run)(void *argument), void *argument)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	/* A thread begins with the mask of who makes it. */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&thread, &attributes, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -err;
}
