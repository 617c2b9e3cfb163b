/* SPDX-License-Identifier: MIT */
#include "interpreter.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"

enum { SWITCH_INTERVAL_MS = 5, WORKERS_MAX = 16 };

struct interpreter {
	pthread_mutex_t state;
	pthread_cond_t changed; /* the main thread began or ended its turns */
	pthread_mutex_t handover;
	pthread_cond_t turn[WORKERS_MAX + 1]; /* one per place in the line: the next is woken, and only it */
	unsigned long drawn, served;	      /* tickets: whoever holds `served` has the interpreter */
	pthread_t workers[WORKERS_MAX];
	int worker_count;
	bool busy, stopping;
};

static void acquire(struct interpreter *interpreter)
{
	pthread_mutex_lock(&interpreter->handover);
	unsigned long ticket = interpreter->drawn++;
	while (ticket != interpreter->served)
		pthread_cond_wait(&interpreter->turn[ticket % (WORKERS_MAX + 1)], &interpreter->handover);
	pthread_mutex_unlock(&interpreter->handover);
}

static void release(struct interpreter *interpreter)
{
	pthread_mutex_lock(&interpreter->handover);
	interpreter->served++;
	pthread_cond_signal(&interpreter->turn[interpreter->served % (WORKERS_MAX + 1)]);
	pthread_mutex_unlock(&interpreter->handover);
}

/* Whether there is something to compute; waits until there is, or the end. */
static bool wait_for_work(struct interpreter *interpreter)
{
	pthread_mutex_lock(&interpreter->state);
	while (!interpreter->busy && !interpreter->stopping)
		pthread_cond_wait(&interpreter->changed, &interpreter->state);
	bool work = !interpreter->stopping;
	pthread_mutex_unlock(&interpreter->state);
	return work;
}

static void compute(void)
{
	uint64_t end_ns = clock_now_ns(CLOCK_MONOTONIC) + SWITCH_INTERVAL_MS * 1000000ULL;

	while (clock_now_ns(CLOCK_MONOTONIC) < end_ns)
		;
}

static void *work(void *argument)
{
	struct interpreter *interpreter = argument;

	while (wait_for_work(interpreter)) {
		acquire(interpreter);
		compute();
		release(interpreter);
	}
	return NULL;
}

static void set(struct interpreter *interpreter, bool *what, bool value)
{
	pthread_mutex_lock(&interpreter->state);
	*what = value;
	pthread_cond_broadcast(&interpreter->changed);
	pthread_mutex_unlock(&interpreter->state);
}

static int start_worker(struct interpreter *interpreter)
{
	char name[16];
	int err = -pthread_create(&interpreter->workers[interpreter->worker_count], NULL, work, interpreter);

	if (err)
		return err;
	snprintf(name, sizeof(name), "py-worker-%d", interpreter->worker_count);
	pthread_setname_np(interpreter->workers[interpreter->worker_count++], name);
	return 0;
}

int interpreter_start(struct interpreter **interpreter, int threads)
{
	struct interpreter *started = calloc(1, sizeof(*started));
	int err = started ? 0 : -ENOMEM;

	*interpreter = started;
	if (err)
		return err;
	pthread_mutex_init(&started->state, NULL);
	pthread_mutex_init(&started->handover, NULL);
	pthread_cond_init(&started->changed, NULL);
	for (int i = 0; i <= WORKERS_MAX; i++)
		pthread_cond_init(&started->turn[i], NULL);
	for (int i = 0; i < threads && i < WORKERS_MAX && !err; i++)
		err = start_worker(started);
	return err;
}

void interpreter_stop(struct interpreter *interpreter)
{
	if (!interpreter)
		return;
	set(interpreter, &interpreter->stopping, true);
	for (int i = 0; i < interpreter->worker_count; i++)
		pthread_join(interpreter->workers[i], NULL);
	free(interpreter);
}

void interpreter_take_turns(struct interpreter *interpreter, int turns)
{
	set(interpreter, &interpreter->busy, true);
	while (turns--) {
		acquire(interpreter);
		release(interpreter);
		clock_sleep_ms(1); /* the call for which it let go; meanwhile the others stand in line */
	}
	set(interpreter, &interpreter->busy, false);
}
