/* SPDX-License-Identifier: MIT */
#include "callback.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct callback {
	struct callback *next;
	CUhostFn function;
	void *argument;
	bool done;
};

struct callback_thread {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct callback *waiting; /* oldest first */
	bool started, closing;
};

static _Thread_local bool running;

bool callback_running(void)
{
	return running;
}

void callback_run_here(CUhostFn function, void *argument)
{
	bool before = running;

	running = true;
	function(argument);
	running = before;
}

struct callback_thread *callback_thread_new(void)
{
	struct callback_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return NULL;
	pthread_mutex_init(&thread->lock, NULL);
	pthread_cond_init(&thread->changed, NULL);
	return thread;
}

static void *callback_main(void *argument)
{
	struct callback_thread *thread = argument;

	pthread_mutex_lock(&thread->lock);
	while (thread->waiting || !thread->closing) {
		struct callback *callback = thread->waiting;
		if (!callback) {
			pthread_cond_wait(&thread->changed, &thread->lock);
			continue;
		}
		thread->waiting = callback->next;
		pthread_mutex_unlock(&thread->lock);
		callback_run_here(callback->function, callback->argument);
		pthread_mutex_lock(&thread->lock);
		callback->done = true;
		pthread_cond_broadcast(&thread->changed);
	}
	pthread_mutex_unlock(&thread->lock);
	return NULL;
}

/* Called with the lock held. The thread takes no signals: they belong to the program's own threads. */
static bool thread_start(struct callback_thread *thread)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	thread->started = pthread_create(&thread->thread, NULL, callback_main, thread) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (thread->started)
		pthread_setname_np(thread->thread, "cuda-EvtHandlr");
	return thread->started;
}

void callback_thread_free(struct callback_thread *thread)
{
	pthread_mutex_lock(&thread->lock);
	thread->closing = true;
	pthread_cond_broadcast(&thread->changed);
	pthread_mutex_unlock(&thread->lock);
	if (thread->started)
		pthread_join(thread->thread, NULL);
	pthread_cond_destroy(&thread->changed);
	pthread_mutex_destroy(&thread->lock);
	free(thread);
}

void callback_run(struct callback_thread *thread, CUhostFn function, void *argument)
{
	struct callback callback = { .function = function, .argument = argument };

	pthread_mutex_lock(&thread->lock);
	if (!thread->started && !thread_start(thread)) {
		pthread_mutex_unlock(&thread->lock);
		callback_run_here(function, argument);
		return;
	}
	struct callback **at = &thread->waiting;
	while (*at)
		at = &(*at)->next;
	*at = &callback;
	pthread_cond_broadcast(&thread->changed);
	while (!callback.done)
		pthread_cond_wait(&thread->changed, &thread->lock);
	pthread_mutex_unlock(&thread->lock);
}
