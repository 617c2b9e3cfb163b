/* SPDX-License-Identifier: MIT */
#include "recording_plugin.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler_abi.h"

#define EXPORT       __attribute__((visibility("default")))
#define DEFAULT_MASK "0xE06"

struct handle {
	const char *name;
	struct event_v5 event;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char text[1 << 16];
static struct handle handles[4096];
static unsigned int handle_count;
static int main_thread;

EXPORT recording_text_function recording_text;
EXPORT recording_clear_function recording_clear;

const char *recording_text(void)
{
	return text;
}

void recording_clear(void)
{
	pthread_mutex_lock(&lock);
	text[0] = '\0';
	pthread_mutex_unlock(&lock);
}

static void write_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void write_line(const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	if (gettid() != main_thread)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "(other thread) ");
	va_start(arguments, format);
	vsnprintf(text + used, sizeof(text) - used, format, arguments);
	va_end(arguments);
}

static const char *event_name(uint64_t type)
{
	static const char *const names[] = {
		"Group",    "Coll",      "P2p",      "ProxyOp", "ProxyStep", "ProxyCtrl",
		"KernelCh", "NetPlugin", "GroupApi", "CollApi", "P2pApi",    "KernelLaunch"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (type == 1u << i)
			return names[i];
	}
	return "?";
}

static const char *name_of(const void *pointer)
{
	const struct handle *handle = pointer;

	return handle ? handle->name : "-";
}

static void write_details(const struct event_v5 *event)
{
	switch (event->type) {
	case EVENT_GROUP_API:
		write_line(" depth %d\n", event->group_api.depth);
		break;
	case EVENT_COLL_API:
		write_line(" %s %zu %s root %d\n", event->coll_api.function, event->coll_api.count,
			   event->coll_api.type, event->coll_api.root);
		break;
	case EVENT_P2P_API:
		write_line(" %s %zu %s\n", event->p2p_api.function, event->p2p_api.count, event->p2p_api.type);
		break;
	case EVENT_COLL:
		write_line(" %s #%llu %zu %s root %d rank %d group %s\n", event->coll.v4.function,
			   (unsigned long long)event->coll.v4.sequence, event->coll.v4.count, event->coll.v4.type,
			   event->coll.v4.root, event->rank, name_of(event->coll.group));
		break;
	case EVENT_P2P:
		write_line(" %s %zu %s peer %d rank %d group %s\n", event->p2p.v4.function, event->p2p.v4.count,
			   event->p2p.v4.type, event->p2p.v4.peer, event->rank, name_of(event->p2p.group));
		break;
	case EVENT_KERNEL_CH:
		write_line(" channel %d %s\n", event->kernel_ch.channel, event->kernel_ch.timer ? "timed" : "untimed");
		break;
	default:
		write_line("\n");
	}
}

/* Continues a line: only the first part of a line names the thread. */
static void record_start(const struct event_v5 *event, struct handle *handle)
{
	*handle = (struct handle){ event_name(event->type), *event };
	write_line("%s start in %s", handle->name, name_of(event->parent));
	int thread = main_thread;
	main_thread = gettid();
	write_details(event);
	main_thread = thread;
}

static ncclResult_t init(void **context, uint64_t comm_id, int *mask, const char *comm_name, int nodes, int nranks,
			 int rank, profiler_log *log)
{
	const char *wanted = getenv("RECORDING_MASK");

	pthread_mutex_lock(&lock);
	main_thread = getpid();
	write_line("init %s %llx nodes %d rank %d of %d\n", comm_name ? comm_name : "-",
		   (unsigned long long)(comm_id ? 1 : 0), nodes, rank, nranks);
	pthread_mutex_unlock(&lock);
	*context = &lock;
	*mask = (int)strtol(wanted ? wanted : DEFAULT_MASK, NULL, 0);
	log(3, 0x4000, __FILE__, __LINE__, "recording plugin: mask %d", *mask);
	return ncclSuccess;
}

static ncclResult_t start_event(void *context, void **handle, struct event_v5 *event)
{
	(void)context;
	pthread_mutex_lock(&lock);
	struct handle *made = &handles[handle_count++ % (sizeof(handles) / sizeof(*handles))];
	record_start(event, made);
	*handle = made;
	pthread_mutex_unlock(&lock);
	return ncclSuccess;
}

static ncclResult_t stop_event(void *handle)
{
	pthread_mutex_lock(&lock);
	write_line("%s stop\n", name_of(handle));
	pthread_mutex_unlock(&lock);
	return ncclSuccess;
}

static ncclResult_t record_state(void *handle, enum profiler_state state, union profiler_state_args *args)
{
	pthread_mutex_lock(&lock);
	write_line("%s state %d%s\n", name_of(handle), (int)state, args && args->timer ? " timed" : "");
	pthread_mutex_unlock(&lock);
	return ncclSuccess;
}

static ncclResult_t finalize(void *context)
{
	(void)context;
	pthread_mutex_lock(&lock);
	write_line("finalize\n");
	pthread_mutex_unlock(&lock);
	return ncclSuccess;
}

EXPORT extern struct profiler_v5 ncclProfiler_v5;
struct profiler_v5 ncclProfiler_v5 = { "recording", init, start_event, stop_event, record_state, finalize };
