/* SPDX-License-Identifier: MIT */
#include "collector/sources/machine/nvml_source.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "collector/sources/machine/nvml_device.h"
#include "collector/sources/machine/source_thread.h"

enum {
	GPUS = 64,
	MESSAGES = 512,
	WHY = 160,
	WAIT_MS = 250,   /* one wait for events: the longest that closing waits for a healthy NVML */
	WAITS = 2,       /* in a round */
	SLOW_ROUNDS = 4, /* the error counters are read once in so many rounds */
	CLOSE_WAIT_S = 1,
};

struct message {
	bool is_event;
	union {
		struct analysis_gpu_state state;
		struct analysis_gpu_event event;
	};
};

struct nvml_source {
	struct nvml_library nvml;
	pthread_t thread;
	atomic_bool stop, gave_up;
	char why[WHY];                  /* written once, before gave_up */
	_Atomic uint64_t call_since_ns; /* 0: NVML is not being called */
	pthread_mutex_t mutex;          /* never held during a call of NVML: guards what follows */
	pthread_cond_t ended_changed;
	bool ended;
	struct message messages[MESSAGES]; /* first + i, around */
	size_t first, count;

	/* The thread's own. */
	struct nvml_gpu gpus[GPUS];
	unsigned int gpu_count;
	nvml_event_set events; /* NULL: none */
};

static void call_begins(struct nvml_source *source)
{
	atomic_store(&source->call_since_ns, clock_monotonic_ns());
}

static void call_ends(struct nvml_source *source)
{
	atomic_store(&source->call_since_ns, 0);
}

/* The oldest goes when nobody has come for it. */
static void put(struct nvml_source *source, const struct message *message)
{
	pthread_mutex_lock(&source->mutex);
	if (source->count == MESSAGES) {
		source->first = (source->first + 1) % MESSAGES;
		source->count--;
	}
	source->messages[(source->first + source->count++) % MESSAGES] = *message;
	pthread_mutex_unlock(&source->mutex);
}

static void give_up(struct nvml_source *source, int result)
{
	snprintf(source->why, sizeof(source->why), "NVML: %s", source->nvml.error_string(result));
	atomic_store(&source->gave_up, true);
}

static void open_events(struct nvml_source *source)
{
	const struct nvml_library *nvml = &source->nvml;
	bool any = false;

	if (!nvml->event_set || !nvml->event_register || !nvml->event_wait || !nvml->event_free ||
	    nvml->event_set(&source->events) != NVML_OK) {
		source->events = NULL;
		return;
	}
	for (unsigned int i = 0; i < source->gpu_count; i++)
		any |= nvml->event_register(source->gpus[i].handle, NVML_EVENT_XID, source->events) == NVML_OK;
	if (!any) {
		nvml->event_free(source->events);
		source->events = NULL;
	}
}

static int start(struct nvml_source *source)
{
	unsigned int count = 0;
	int result = source->nvml.init();

	if (result != NVML_OK)
		return result;
	result = source->nvml.device_count(&count);
	/* One that cannot be opened (another cgroup's, lost) is none of ours. */
	for (unsigned int i = 0; result == NVML_OK && i < count && source->gpu_count < GPUS; i++)
		if (nvml_gpu_open(&source->gpus[source->gpu_count], &source->nvml, i) == NVML_OK)
			source->gpu_count++;
	open_events(source);
	return result;
}

static void read_gpus(struct nvml_source *source, bool slow)
{
	for (unsigned int i = 0; i < source->gpu_count && !atomic_load(&source->stop); i++) {
		struct message message = { .is_event = false };

		call_begins(source);
		nvml_gpu_read(&source->gpus[i], &source->nvml, clock_monotonic_ns(), slow);
		call_ends(source);
		message.state = source->gpus[i].state;
		put(source, &message);
	}
}

static void report_xid(struct nvml_source *source, const struct nvml_event *event)
{
	struct message message = { .is_event = true };

	for (unsigned int i = 0; i < source->gpu_count; i++) {
		if (source->gpus[i].handle != event->device)
			continue;
		message.event = (struct analysis_gpu_event){ .source = ANALYSIS_GPU_NVML,
							     .at_ns = clock_monotonic_ns(),
							     .xid = (uint32_t)event->data,
							     .pid = -1 };
		memcpy(message.event.uuid, source->gpus[i].state.uuid, sizeof(message.event.uuid));
		memcpy(message.event.pci, source->gpus[i].state.pci, sizeof(message.event.pci));
		put(source, &message);
	}
}

/* Is also the pause between two rounds. */
static void wait_for_event(struct nvml_source *source)
{
	const struct timespec pause = { .tv_nsec = WAIT_MS * 1000000L };
	struct nvml_event event;
	int result = NVML_NOT_SUPPORTED;

	memset(&event, 0, sizeof(event));
	if (source->events) {
		call_begins(source);
		result = source->nvml.event_wait(source->events, &event, WAIT_MS);
		call_ends(source);
	}
	if (result == NVML_OK && event.type & NVML_EVENT_XID)
		report_xid(source, &event);
	else if (result != NVML_OK && result != NVML_TIMED_OUT)
		nanosleep(&pause, NULL); /* no set, or it is broken: do not spin */
}

static void finish(struct nvml_source *source)
{
	call_begins(source);
	if (source->events)
		source->nvml.event_free(source->events);
	source->nvml.shutdown();
	call_ends(source);
}

static void *work(void *argument)
{
	struct nvml_source *source = argument;

	call_begins(source);
	int result = start(source);
	call_ends(source);
	if (result != NVML_OK)
		give_up(source, result);
	for (unsigned int round = 0; result == NVML_OK && !atomic_load(&source->stop); round++) {
		read_gpus(source, round % SLOW_ROUNDS == 0);
		for (int i = 0; i < WAITS && !atomic_load(&source->stop); i++)
			wait_for_event(source);
	}
	if (result == NVML_OK)
		finish(source);
	pthread_mutex_lock(&source->mutex);
	source->ended = true;
	pthread_cond_signal(&source->ended_changed);
	pthread_mutex_unlock(&source->mutex);
	return NULL;
}

int nvml_source_open(struct nvml_source **source, const char *file, char *why)
{
	struct nvml_source *made = calloc(1, sizeof(*made));

	*source = NULL;
	snprintf(why, WHY, "no memory");
	if (!made)
		return -ENOMEM;
	pthread_mutex_init(&made->mutex, NULL);
	pthread_cond_init(&made->ended_changed, NULL);
	int err = nvml_library_open(&made->nvml, file, why, WHY);

	if (!err) {
		err = source_thread_start(&made->thread, "rankwatch-nvml", work, made);
		if (err) {
			snprintf(why, WHY, "no thread for NVML: %s", strerror(-err));
			nvml_library_close(&made->nvml);
		}
	}
	if (err) {
		free(made);
		return err;
	}
	*source = made;
	return 0;
}

static bool has_ended_in_time(struct nvml_source *source)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += CLOSE_WAIT_S;
	pthread_mutex_lock(&source->mutex);
	while (!source->ended && pthread_cond_timedwait(&source->ended_changed, &source->mutex, &deadline) == 0)
		;
	bool ended = source->ended;
	pthread_mutex_unlock(&source->mutex);
	return ended;
}

void nvml_source_close(struct nvml_source *source)
{
	if (!source)
		return;
	atomic_store(&source->stop, true);
	if (!has_ended_in_time(source)) {
		pthread_detach(source->thread);
		return;
	}
	pthread_join(source->thread, NULL);
	nvml_library_close(&source->nvml);
	pthread_cond_destroy(&source->ended_changed);
	pthread_mutex_destroy(&source->mutex);
	free(source);
}

static bool take(struct nvml_source *source, struct message *message)
{
	pthread_mutex_lock(&source->mutex);
	bool found = source->count > 0;

	if (found) {
		*message = source->messages[source->first];
		source->first = (source->first + 1) % MESSAGES;
		source->count--;
	}
	pthread_mutex_unlock(&source->mutex);
	return found;
}

void nvml_source_poll(struct nvml_source *source, const struct nvml_source_events *events)
{
	struct message message;

	while (take(source, &message)) {
		if (message.is_event)
			events->event(events->argument, &message.event);
		else
			events->state(events->argument, &message.state);
	}
}

uint64_t nvml_source_in_call_since(const struct nvml_source *source)
{
	return atomic_load(&source->call_since_ns);
}

const char *nvml_source_why(const struct nvml_source *source)
{
	return atomic_load(&source->gave_up) ? source->why : "";
}
