/* SPDX-License-Identifier: MIT */
#include "collector/sources/machine/source_thread.h"

#include <signal.h>

int source_thread_start(pthread_t *thread, const char *name, void *(*work)(void *), void *argument)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(thread, NULL, work, argument);

	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		pthread_setname_np(*thread, name);
	return -err;
}
