/* SPDX-License-Identifier: MIT */
#include "sim/workload/host/checkpointer.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sim/workload/job/clock.h"

struct checkpointer {
	pthread_t thread;
	pthread_mutex_t state; /* of the model */
	sem_t asked, locked;
	unsigned int held_ms;
	bool stopping;
};

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) && errno == EINTR)
		;
}

static void *take_snapshots(void *argument)
{
	struct checkpointer *checkpointer = argument;

	pthread_setname_np(pthread_self(), "checkpointer");
	for (;;) {
		wait_for(&checkpointer->asked);
		if (checkpointer->stopping)
			return NULL;
		pthread_mutex_lock(&checkpointer->state);
		sem_post(&checkpointer->locked);
		clock_sleep_ms(checkpointer->held_ms);
		pthread_mutex_unlock(&checkpointer->state);
	}
}

int checkpointer_start(struct checkpointer **checkpointer, unsigned int held_ms)
{
	*checkpointer = calloc(1, sizeof(**checkpointer));
	if (!*checkpointer)
		return -ENOMEM;
	(*checkpointer)->held_ms = held_ms;
	pthread_mutex_init(&(*checkpointer)->state, NULL);
	sem_init(&(*checkpointer)->asked, 0, 0);
	sem_init(&(*checkpointer)->locked, 0, 0);
	int err = -pthread_create(&(*checkpointer)->thread, NULL, take_snapshots, *checkpointer);
	if (err) {
		free(*checkpointer);
		*checkpointer = NULL;
	}
	return err;
}

void checkpointer_stop(struct checkpointer *checkpointer)
{
	if (!checkpointer)
		return;
	checkpointer->stopping = true; /* published by the semaphore */
	sem_post(&checkpointer->asked);
	pthread_join(checkpointer->thread, NULL);
	free(checkpointer);
}

void checkpointer_snapshot(struct checkpointer *checkpointer)
{
	sem_post(&checkpointer->asked);
	wait_for(&checkpointer->locked);
	pthread_mutex_lock(&checkpointer->state);
	pthread_mutex_unlock(&checkpointer->state);
}
