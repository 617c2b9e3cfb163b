/* SPDX-License-Identifier: MIT */
#include "sim/workload/training/autograd.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sim/workload/training/gpu.h"

struct autograd {
	pthread_t thread;
	CUcontext context;
	pthread_mutex_t lock;
	pthread_cond_t asked, returned;
	void (*function)(void *argument); /* NULL: nothing to run */
	void *argument;
	bool stopping;
};

static void *run(void *argument)
{
	struct autograd *autograd = argument;

	pthread_setname_np(pthread_self(), "pt_autograd_0");
	GPU_CHECK(cuCtxSetCurrent(autograd->context));
	pthread_mutex_lock(&autograd->lock);
	while (!autograd->stopping) {
		if (!autograd->function) {
			pthread_cond_wait(&autograd->asked, &autograd->lock);
			continue;
		}
		pthread_mutex_unlock(&autograd->lock);
		autograd->function(autograd->argument);
		pthread_mutex_lock(&autograd->lock);
		autograd->function = NULL;
		pthread_cond_signal(&autograd->returned);
	}
	pthread_mutex_unlock(&autograd->lock);
	return NULL;
}

int autograd_start(struct autograd **autograd, CUcontext context)
{
	struct autograd *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->context = context;
	pthread_mutex_init(&made->lock, NULL);
	pthread_cond_init(&made->asked, NULL);
	pthread_cond_init(&made->returned, NULL);
	int err = -pthread_create(&made->thread, NULL, run, made);
	if (err)
		free(made);
	else
		*autograd = made;
	return err;
}

void autograd_stop(struct autograd *autograd)
{
	if (!autograd)
		return;
	pthread_mutex_lock(&autograd->lock);
	autograd->stopping = true;
	pthread_cond_signal(&autograd->asked);
	pthread_mutex_unlock(&autograd->lock);
	pthread_join(autograd->thread, NULL);
	free(autograd);
}

void autograd_run(struct autograd *autograd, void (*function)(void *argument), void *argument)
{
	pthread_mutex_lock(&autograd->lock);
	autograd->function = function;
	autograd->argument = argument;
	pthread_cond_signal(&autograd->asked);
	while (autograd->function)
		pthread_cond_wait(&autograd->returned, &autograd->lock);
	pthread_mutex_unlock(&autograd->lock);
}
