/* SPDX-License-Identifier: MIT */
#include "recording_plugin.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/nccl/profiler/adapter.h"

#define EXPORT       __attribute__((visibility("default")))
#define DEFAULT_MASK "0xE06"
#define HANDLES      4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char text[1 << 16];
static const char *handles[HANDLES];
static unsigned int handle_count, inits;
static int main_thread;
static int *nccl_mask;

EXPORT recording_text_function recording_text;
EXPORT recording_clear_function recording_clear;
EXPORT recording_set_mask_function recording_set_mask;

/* A copy, for NCCL's other threads go on writing: what was cleared still lies behind a line that is not complete. */
const char *recording_text(void)
{
	static char copy[sizeof(text)];

	pthread_mutex_lock(&lock);
	strcpy(copy, text);
	pthread_mutex_unlock(&lock);
	return copy;
}

void recording_clear(void)
{
	pthread_mutex_lock(&lock);
	text[0] = '\0';
	pthread_mutex_unlock(&lock);
}

void recording_set_mask(int mask)
{
	__atomic_store_n(nccl_mask, mask, __ATOMIC_RELAXED);
}

const char *recording_text_of(const char *string)
{
	uintptr_t poison;

	memset(&poison, ADAPTER_POISON, sizeof(poison));
	if ((uintptr_t)string == poison)
		return "*";
	return string ? string : "-";
}

static void write_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* RECORDING_FILE.PID, which needs nobody who asks: with an NCCL that cannot be looked into. */
static FILE *open_file(void)
{
	const char *wanted = getenv("RECORDING_FILE");
	char name[512];

	if (!wanted)
		return NULL;
	snprintf(name, sizeof(name), "%s.%d", wanted, (int)getpid());
	return fopen(name, "ae");
}

/* CLOCK_MONOTONIC ns and the thread, before the line. */
static void write_time(FILE *file)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	fprintf(file, "%lld %d ", (long long)now.tv_sec * 1000000000 + now.tv_nsec, (int)gettid());
}

static void write_line(const char *format, ...)
{
	static FILE *file;
	size_t used = 0;
	va_list arguments;

	if (!file && !inits)
		file = open_file();
	if (!file)
		used = strlen(text);
	if (gettid() != main_thread)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "(other thread) ");
	va_start(arguments, format);
	vsnprintf(text + used, sizeof(text) - used, format, arguments);
	va_end(arguments);
	if (!file)
		return;
	if (getenv("RECORDING_TIMES"))
		write_time(file);
	fputs(text, file);
	fflush(file); /* also what came before a kill */
	text[0] = '\0';
}

static const char *event_name(uint64_t type)
{
	static const char *const names[] = { "Group",     "Coll",      "P2p",      "ProxyOp",
					     "ProxyStep", "ProxyCtrl", "KernelCh", "NetPlugin",
					     "GroupApi",  "CollApi",   "P2pApi",   "KernelLaunch",
					     "CeColl",    "CeSync",    "CeBatch",  "KernelPhase" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (type == 1u << i)
			return names[i];
	}
	return "?";
}

static const char *name_of(void *handle)
{
	return handle ? *(const char **)handle : "-";
}

static unsigned long number(const char *name)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 0) : 0;
}

static ncclResult_t finish_init(void **context, int *mask)
{
	const char *wanted = getenv("RECORDING_MASK");

	if (!getenv("RECORDING_NO_CONTEXT"))
		*context = &lock;
	nccl_mask = mask;
	*mask = (int)strtol(wanted ? wanted : DEFAULT_MASK, NULL, 0);
	return ++inits == number("RECORDING_FAIL") ? ncclSystemError : ncclSuccess;
}

#if RECORDING_ABI <= 3
#define INIT_MEMBER v1
static ncclResult_t init(void **context, int *mask)
{
	pthread_mutex_lock(&lock);
	main_thread = getpid();
	write_line("init\n");
	pthread_mutex_unlock(&lock);
	return finish_init(context, mask);
}
#elif RECORDING_ABI == 4
#define INIT_MEMBER v4
static ncclResult_t init(void **context, int *mask, const char *comm_name, uint64_t comm_hash, int nodes, int nranks,
			 int rank, profiler_log *log)
#else
#define INIT_MEMBER v5
static ncclResult_t init(void **context, uint64_t comm_hash, int *mask, const char *comm_name, int nodes, int nranks,
			 int rank, profiler_log *log)
#endif
#if RECORDING_ABI >= 4
{
	pthread_mutex_lock(&lock);
	main_thread = getpid();
	write_line("init %s %d nodes %d rank %d of %d\n", recording_text_of(comm_name), comm_hash != 0, nodes, rank,
		   nranks);
	pthread_mutex_unlock(&lock);
	log(3, 0x4000, __FILE__, __LINE__, "recording plugin: init");
	return finish_init(context, mask);
}
#endif

static ncclResult_t start_event(void *context, void **handle, void *event)
{
	struct recorded_event decoded = { 0 };

	(void)context;
	recording_decode(event, &decoded);
	pthread_mutex_lock(&lock);
	const char **made = &handles[handle_count++ % HANDLES];
	*made = event_name(decoded.type);
	write_line("%s start in %s%s%s%s\n", *made, name_of(decoded.parent), decoded.details,
		   decoded.group ? " group " : "", decoded.group ? name_of(decoded.group) : "");
	if (!(decoded.type & number("RECORDING_SILENT")))
		*handle = decoded.type & number("RECORDING_NULL") ? NULL : made;
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

static const char *args_text(const struct profiler_state_args *args)
{
	uint64_t poison;

	memset(&poison, ADAPTER_POISON, sizeof(poison));
	if (!args)
		return "";
	if (args->timer == poison)
		return " *";
	return args->timer ? " timed" : " zero";
}

static ncclResult_t record_state(void *handle, enum profiler_state state, struct profiler_state_args *args)
{
	pthread_mutex_lock(&lock);
	write_line("%s state %d%s\n", name_of(handle), (int)state, args_text(args));
	pthread_mutex_unlock(&lock);
	return ncclSuccess;
}

static ncclResult_t finalize(void *context)
{
	pthread_mutex_lock(&lock);
	write_line("finalize%s\n", context ? "" : " nothing");
	pthread_mutex_unlock(&lock);
	return ncclSuccess;
}

#define PASTE(a, b) a##b
#define SYMBOL(abi) PASTE(ncclProfiler_v, abi)

EXPORT extern struct profiler_table SYMBOL(RECORDING_ABI);
struct profiler_table
    SYMBOL(RECORDING_ABI) = { "recording", { .INIT_MEMBER = init }, start_event, stop_event, record_state, finalize };
