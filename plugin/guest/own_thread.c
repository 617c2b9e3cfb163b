/* SPDX-License-Identifier: MIT */
#include "plugin/guest/own_thread.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

enum { STACK_SIZE = 256 * 1024 };

/* glibc puts the static TLS of program and libraries on each thread's stack, and offers no other way to ask for its
 * size; what this answers is that and a little more. */
static size_t size_of_stack(const pthread_attr_t *attributes)
{
	size_t (*minimum)(const pthread_attr_t *);

	*(void **)&minimum = dlsym(RTLD_DEFAULT, "__pthread_get_minstack");
	return STACK_SIZE + (minimum ? minimum(attributes) : 0);
}

/* A program that gives its thread a real-time class or one processor means that thread, and not ours: there, each of
 * our some 285 wake-ups a second would put off the thread that enqueues the job's operations, or in a real-time class
 * keep it off its processor for as long as we like. Several processors are what the launcher gave the rank, and near to
 * its GPU: those stay. Where a sandbox refuses, the thread runs as it was made. */
static void be_ordinary(void)
{
	const struct sched_param none = { 0 };
	cpu_set_t processors;

	pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
	if (sched_getaffinity(0, sizeof(processors), &processors) || CPU_COUNT(&processors) > 1)
		return;
	/* The kernel leaves out what the process's control group does not have. */
	memset(&processors, 0xff, sizeof(processors));
	sched_setaffinity(0, sizeof(processors), &processors);
}

static void *begin(void *argument)
{
	const struct own_thread *thread = argument;

	be_ordinary();
	return thread->run(thread->argument);
}

int own_thread_start(const struct own_thread *own)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, size_of_stack(&attributes));
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	/* A thread begins with the mask of who makes it. */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&thread, &attributes, begin, (void *)own);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -err;
}
