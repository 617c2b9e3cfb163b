/* SPDX-License-Identifier: MIT */
#include "collector/sources/machine/port_source.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "collector/sources/machine/pause_counters.h"
#include "collector/sources/machine/port_files.h"
#include "collector/sources/machine/source_thread.h"

enum { PORTS = 64, ROOT = 96, CLOSE_WAIT_S = 1 };

static const uint64_t period_ns = 2000000000, none_ns = 30000000000; /* the latter where there are no ports */
/* Reading may take one part in so many of the thread's time: firmware that is slow to answer is asked less often. */
static const uint64_t time_share = 50;

struct round {
	struct analysis_port_state states[PORTS];
	size_t count;
};

struct port_source {
	char root[ROOT];
	bool threaded;
	pthread_t thread;
	pthread_mutex_t mutex; /* never held while files are read: guards what follows */
	pthread_cond_t changed;
	bool stop, ended, fresh;
	struct round latest; /* while fresh: not taken yet */

	struct round reading; /* of the thread, or without one the owner's; likewise: */
	struct pause_counters *pauses;
	uint64_t next_ns;
};

/* What a counter shows is of some moment after now_ns. */
static void read_round(struct port_source *source, uint64_t now_ns)
{
	struct round *round = &source->reading;

	round->count = port_files_read(source->root, source->pauses, round->states, PORTS);
	for (size_t i = 0; i < round->count; i++)
		round->states[i].at_ns = now_ns;
}

static uint64_t pause_after(const struct port_source *source, uint64_t took_ns)
{
	uint64_t pause_ns = source->reading.count ? period_ns : none_ns;

	return took_ns * time_share > pause_ns ? took_ns * time_share : pause_ns;
}

static void wait_for_stop(struct port_source *source, uint64_t until_ns)
{
	const struct timespec until = { .tv_sec = (time_t)(until_ns / 1000000000),
					.tv_nsec = (long)(until_ns % 1000000000) };

	while (!source->stop && pthread_cond_timedwait(&source->changed, &source->mutex, &until) == 0)
		;
}

static void *work(void *argument)
{
	struct port_source *source = argument;

	pthread_mutex_lock(&source->mutex);
	while (!source->stop) {
		pthread_mutex_unlock(&source->mutex);
		uint64_t begin_ns = clock_monotonic_ns();

		read_round(source, begin_ns);
		uint64_t end_ns = clock_monotonic_ns();

		pthread_mutex_lock(&source->mutex);
		source->latest = source->reading;
		source->fresh = true;
		wait_for_stop(source, end_ns + pause_after(source, end_ns - begin_ns));
	}
	source->ended = true;
	pthread_cond_broadcast(&source->changed);
	pthread_mutex_unlock(&source->mutex);
	return NULL;
}

int port_source_open(struct port_source **source, const char *root)
{
	struct port_source *made = calloc(1, sizeof(*made));
	pthread_condattr_t monotonic;

	*source = NULL;
	if (!made)
		return -ENOMEM;
	snprintf(made->root, sizeof(made->root), "%s", root);
	made->threaded = !*root;
	pthread_mutex_init(&made->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&made->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	made->pauses = pause_counters_open(root);

	int err = made->threaded ? source_thread_start(&made->thread, "rankwatch-ports", work, made) : 0;

	if (err) {
		pause_counters_close(made->pauses);
		free(made);
	} else {
		*source = made;
	}
	return err;
}

static bool has_ended_in_time(struct port_source *source)
{
	struct timespec deadline;

	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += CLOSE_WAIT_S;
	pthread_mutex_lock(&source->mutex);
	source->stop = true;
	pthread_cond_broadcast(&source->changed);
	while (!source->ended && pthread_cond_timedwait(&source->changed, &source->mutex, &deadline) == 0)
		;
	bool ended = source->ended;

	pthread_mutex_unlock(&source->mutex);
	return ended;
}

void port_source_close(struct port_source *source)
{
	if (!source)
		return;
	if (source->threaded && !has_ended_in_time(source)) {
		pthread_detach(source->thread);
		return;
	}
	if (source->threaded)
		pthread_join(source->thread, NULL);
	pthread_cond_destroy(&source->changed);
	pthread_mutex_destroy(&source->mutex);
	pause_counters_close(source->pauses);
	free(source);
}

static bool take(struct port_source *source, struct round *round)
{
	pthread_mutex_lock(&source->mutex);
	bool fresh = source->fresh;

	if (fresh)
		*round = source->latest;
	source->fresh = false;
	pthread_mutex_unlock(&source->mutex);
	return fresh;
}

void port_source_poll(struct port_source *source, uint64_t now_ns, port_source_visit *visit, void *argument)
{
	struct round taken, *round = &source->reading;

	if (source->threaded) {
		if (!take(source, &taken))
			return;
		round = &taken;
	} else {
		if (now_ns < source->next_ns)
			return;
		source->next_ns = now_ns + period_ns;
		read_round(source, now_ns);
	}
	for (size_t i = 0; i < round->count; i++)
		visit(argument, &round->states[i]);
}
