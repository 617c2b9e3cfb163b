/* SPDX-License-Identifier: MIT */
#include "sim/workload/host/crowd.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { STACK_BYTES = 64 << 10 };

struct crowd {
	pthread_mutex_t lock; /* held until they may go */
	int bell;             /* readable when they may go */
	int count;
	pthread_t threads[];
};

static void *sleep_on_lock(void *argument)
{
	struct crowd *crowd = argument;

	pthread_mutex_lock(&crowd->lock);
	pthread_mutex_unlock(&crowd->lock);
	return NULL;
}

static void *sleep_in_poll(void *argument)
{
	const struct crowd *crowd = argument;
	struct pollfd bell = { .fd = crowd->bell, .events = POLLIN };

	while (poll(&bell, 1, -1) < 0 && errno == EINTR)
		;
	return NULL;
}

static int start_one(struct crowd *crowd, const pthread_attr_t *attributes)
{
	char name[16];
	int number = crowd->count;
	int err =
	    -pthread_create(&crowd->threads[number], attributes, number % 2 ? sleep_in_poll : sleep_on_lock, crowd);

	if (err)
		return err;
	snprintf(name, sizeof(name), number % 2 ? "grpc-%d" : "pool-%d", number);
	pthread_setname_np(crowd->threads[crowd->count++], name);
	return 0;
}

int crowd_start(struct crowd **crowd, int threads)
{
	pthread_attr_t attributes;
	struct crowd *started = threads ? calloc(1, sizeof(*started) + (size_t)threads * sizeof(pthread_t)) : NULL;
	int err = threads && !started ? -ENOMEM : 0;

	*crowd = started;
	if (!started)
		return err;
	started->bell = eventfd(0, EFD_CLOEXEC);
	if (started->bell < 0)
		return -errno;
	pthread_mutex_init(&started->lock, NULL);
	pthread_mutex_lock(&started->lock);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (int i = 0; i < threads && !err; i++)
		err = start_one(started, &attributes);
	pthread_attr_destroy(&attributes);
	return err;
}

void crowd_stop(struct crowd *crowd)
{
	if (!crowd)
		return;
	pthread_mutex_unlock(&crowd->lock);
	eventfd_write(crowd->bell, 1);
	for (int i = 0; i < crowd->count; i++)
		pthread_join(crowd->threads[i], NULL);
	close(crowd->bell);
	free(crowd);
}
