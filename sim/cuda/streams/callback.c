/* SPDX-License-Identifier: MIT */
#include "sim/cuda/streams/callback.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/cuda/devices/device_file.h"
#include "sim/cuda/streams/stream_point.h"

struct callback {
	struct callback *next;
	CUhostFn function;
	void *argument;
	bool done;
};

struct callback_thread {
	pthread_t thread;
	CUdevice device;
	int file;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct callback *waiting; /* oldest first */
	bool started, busy, closing;
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

struct callback_thread *callback_thread_new(CUdevice device)
{
	struct callback_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return NULL;
	thread->device = device;
	pthread_mutex_init(&thread->lock, NULL);
	pthread_cond_init(&thread->changed, NULL);
	return thread;
}

/* Called with the lock held. */
static void run_oldest(struct callback_thread *thread)
{
	struct callback *callback = thread->waiting;

	thread->waiting = callback->next;
	/* Who rings from now on wakes hosts itself; hosts for which somebody has rung before shall not wait, either. */
	thread->busy = true;
	pthread_cond_broadcast(&thread->changed);
	pthread_mutex_unlock(&thread->lock);
	callback_run_here(callback->function, callback->argument);
	pthread_mutex_lock(&thread->lock);
	thread->busy = false;
	callback->done = true;
	pthread_cond_broadcast(&thread->changed);
}

static void *callback_main(void *argument)
{
	struct callback_thread *thread = argument;

	pthread_mutex_lock(&thread->lock);
	while (thread->waiting || !thread->closing) {
		if (thread->waiting) {
			run_oldest(thread);
			continue;
		}
		pthread_mutex_unlock(&thread->lock);
		device_file_wait(thread->file);
		pthread_mutex_lock(&thread->lock);
		pthread_cond_broadcast(&thread->changed);
	}
	pthread_mutex_unlock(&thread->lock);
	return NULL;
}

/* Called with the lock held. The thread takes no signals: they belong to the program's own threads. */
static bool thread_start(struct callback_thread *thread)
{
	sigset_t all, before;

	if (thread->started)
		return true;
	thread->file = device_file_open(thread->device);
	if (thread->file < 0)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	thread->started = pthread_create(&thread->thread, NULL, callback_main, thread) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (thread->started)
		pthread_setname_np(thread->thread, "cuda-EvtHandlr");
	else
		close(thread->file);
	return thread->started;
}

void callback_thread_free(struct callback_thread *thread)
{
	pthread_mutex_lock(&thread->lock);
	thread->closing = true;
	pthread_mutex_unlock(&thread->lock);
	if (thread->started) {
		device_file_ring(thread->file);
		pthread_join(thread->thread, NULL);
		close(thread->file);
	}
	pthread_cond_destroy(&thread->changed);
	pthread_mutex_destroy(&thread->lock);
	free(thread);
}

void callback_run(struct callback_thread *thread, CUhostFn function, void *argument)
{
	struct callback callback = { .function = function, .argument = argument };

	pthread_mutex_lock(&thread->lock);
	if (!thread_start(thread)) {
		pthread_mutex_unlock(&thread->lock);
		callback_run_here(function, argument);
		return;
	}
	struct callback **at = &thread->waiting;
	while (*at)
		at = &(*at)->next;
	*at = &callback;
	device_file_ring(thread->file);
	while (!callback.done)
		pthread_cond_wait(&thread->changed, &thread->lock);
	pthread_mutex_unlock(&thread->lock);
}

bool callback_await(struct callback_thread *thread, const struct stream_point *point)
{
	pthread_mutex_lock(&thread->lock);
	bool started = thread_start(thread);
	pthread_mutex_unlock(&thread->lock);
	if (!started)
		return false;
	stream_watch(point->stream);
	pthread_mutex_lock(&thread->lock);
	while (!stream_point_reached(point))
		pthread_cond_wait(&thread->changed, &thread->lock);
	pthread_mutex_unlock(&thread->lock);
	stream_unwatch(point->stream);
	return true;
}

/* A host function may take long, and even wait for a host that blocks: whether a GPU's driver lets it is not known. */
void callback_ring(struct callback_thread *thread)
{
	pthread_mutex_lock(&thread->lock);
	if (thread->busy)
		pthread_cond_broadcast(&thread->changed);
	pthread_mutex_unlock(&thread->lock);
	device_file_ring(thread->file);
}
