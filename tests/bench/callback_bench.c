// SPDX-License-Identifier: MIT
/*
 * What the plugin's callbacks cost: replays the callback stream that NCCL 2.28 makes for AllReduces into the built
 * library, each thread with a communicator of its own (proxy events included, which in NCCL run on the proxy thread),
 * without a GPU. The same replay into an empty plugin is what "net" subtracts. CPU times are those of the threads that
 * replay. Prints one JSON object per stream. The plugin reads its
 * environment once: RANKWATCH_KERNELCH=1 is for the whole process, and the other streams then pay for it, too.
 *   callback_bench PLUGIN.so [STREAM [COLLECTIVES [THREADS]]]     STREAM: base, kernel, proxy, scanned or all;
 *   COLLECTIVES: of each thread
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/nccl/profiler_v5.h"
#include "tests/bench/stopwatch.h"

enum { CHANNELS = 16, PROXY_OPS = 8, PROXY_STEPS = 16, BLOCK = 64, BURST = 64 /* blocks */, PAUSE_US = 1000,
       SCANNED_BURST = 2, SCANNED_PAUSE_US = 20000, ELEMENTS = 1 << 14, MOST_THREADS = 64 };

static float input[ELEMENTS], output[ELEMENTS]; /* where there is a driver, it scans them */

/* As large as the largest version's descriptor; NCCL keeps it on its stack likewise. */
union event {
	struct profiler_v5_event header;
	char bytes[136];
};

enum state { SEND_GPU_WAIT = 8, SEND_WAIT = 9, PROXY_IN_PROGRESS = 19, SEND_PEER_WAIT = 20, KERNEL_STOP = 22,
	     GROUP_START_STOP = 23, GROUP_END_START = 24 };

struct stream {
	const char *word, *name;
	bool kernel_channels;
	bool proxy;
	unsigned int burst, pause_us; /* blocks, and then a pause */
};

static const struct stream streams[] = {
	{ "base", "base mask", false, false, BURST, PAUSE_US },
	{ "kernel", "KernelCh on 16 channels", true, false, BURST, PAUSE_US },
	{ "proxy", "8 x 16 proxy steps", false, true, BURST, PAUSE_US },
	/* Where each collective is scanned no more may come than scans can be in flight, or the rest would not be. */
	{ "scanned", "base mask, in short bursts", false, false, SCANNED_BURST, SCANNED_PAUSE_US },
};

static const struct profiler_v5 *plugin;
static __thread void *context;
static __thread uint64_t gpu_clock = UINT64_C(1767225600000000000); /* %globaltimer counts from about 1970 */

static void *start(uint64_t type, void *parent, union event *event)
{
	void *handle = NULL;

	event->header.type = type;
	event->header.parent = parent;
	plugin->start_event(context, &handle, &event->header);
	return handle;
}

/* NCCL skips stop and record for a NULL handle. */
static void stop(void *handle)
{
	if (handle)
		plugin->stop_event(handle);
}

static void record(void *handle, enum state state)
{
	uint64_t arguments = gpu_clock;

	if (handle)
		plugin->record_event_state(handle, (int)state, &arguments);
}

/* Kernels of 40 to 47 us, 10 us apart; the channels start and stop within 1 us of each other. */
static void replay_kernel_channels(void *collective, uint64_t sequence)
{
	void *handles[CHANNELS];
	uint64_t begin = gpu_clock + 10000;

	for (int channel = 0; channel < CHANNELS; channel++) {
		union event event = { 0 };

		event.header.kernel_ch.channel = (uint8_t)channel;
		event.header.kernel_ch.timer = begin + (uint64_t)channel * 7 % CHANNELS * 64;
		handles[channel] = start(PROFILER_KERNEL_CH, collective, &event);
	}
	for (int channel = 0; channel < CHANNELS; channel++) {
		gpu_clock = begin + 40000 + sequence % 8 * 1000 + (uint64_t)channel * 5 % CHANNELS * 64;
		record(handles[channel], KERNEL_STOP);
		stop(handles[channel]);
	}
}

static void replay_proxy(void *collective)
{
	for (int op = 0; op < PROXY_OPS; op++) {
		union event event = { 0 };
		int pid = getpid();

		memcpy(event.bytes + 24, &pid, sizeof(pid)); /* proxyOp.pid */
		void *proxy = start(PROFILER_PROXY_OP, collective, &event);

		record(proxy, PROXY_IN_PROGRESS);
		for (int step = 0; step < PROXY_STEPS; step++) {
			void *handle = start(PROFILER_PROXY_STEP, proxy, &(union event){ 0 });

			record(handle, SEND_GPU_WAIT);
			record(handle, SEND_PEER_WAIT);
			record(handle, SEND_WAIT);
			stop(handle);
		}
		stop(proxy);
	}
}

static void replay_collective(const struct stream *stream, uint64_t sequence)
{
	union event group_api = { .header.group_api.depth = 1 };
	union event api = { .header.coll_api = { .function = "AllReduce", .count = ELEMENTS, .dtype = "ncclFloat32",
						 .stream = (void *)0x1000 } };
	union event launch = { .header.launch.stream = (void *)0x1000 };
	union event coll = { .header.coll = { .sequence = sequence, .function = "AllReduce", .send = input,
					      .recv = output, .count = ELEMENTS, .dtype = "ncclFloat32", .channels = 16,
					      .warps = 16, .algorithm = "RING", .protocol = "SIMPLE" } };
	void *group_handle = start(PROFILER_GROUP_API, NULL, &group_api);

	record(group_handle, GROUP_START_STOP);
	void *api_handle = start(PROFILER_COLL_API, group_handle, &api);

	stop(api_handle);
	record(group_handle, GROUP_END_START);
	stop(start(PROFILER_KERNEL_LAUNCH, group_handle, &launch));
	void *plan = start(PROFILER_GROUP, NULL, &(union event){ 0 });

	coll.header.coll.group = plan;
	void *collective = start(PROFILER_COLL, api_handle, &coll);

	stop(collective);
	stop(plan);
	stop(group_handle);
	if (stream->kernel_channels)
		replay_kernel_channels(collective, sequence);
	if (stream->proxy)
		replay_proxy(collective);
}

struct cost {
	double mean, p50, cpu;
};

struct replay {
	const struct stream *stream;
	size_t collectives;
	uint64_t communicator;
	unsigned int number;          /* of the thread */
	bool alone;
	pthread_barrier_t *together; /* of all threads: their communicators are there, and so is each after a pause */
	struct cost cost;
};

static double cpu_ns(void)
{
	struct timespec spent;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
	return (double)spent.tv_sec * 1e9 + (double)spent.tv_nsec;
}

/* Each to a processor of its own, in turn, as far as there are: else a busy machine runs several on one of them, and
 * what they cost each other is not seen. */
static void settle(unsigned int number)
{
	cpu_set_t allowed, own;
	unsigned int left;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	left = number % (unsigned int)CPU_COUNT(&allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || left--)
			continue;
		CPU_ZERO(&own);
		CPU_SET(cpu, &own);
		sched_setaffinity(0, sizeof(own), &own);
		return;
	}
}

static void *run(void *argument)
{
	struct replay *replay = argument;
	size_t blocks = replay->collectives / BLOCK, burst = replay->stream->burst;
	double *times = calloc(blocks, sizeof(*times)), cpu = 0;
	int mask = 0;
	uint64_t sequence = 0;

	if (!times)
		exit(1);
	if (!replay->alone)
		settle(replay->number);
	plugin->init(&context, replay->communicator, &mask, NULL, 1, 8, 0, NULL);
	for (size_t block = 0; block < blocks; block++) {
		/* Else the threads would meet by chance: their bursts are as long as the pauses between them. */
		if (block % burst == 0)
			pthread_barrier_wait(replay->together);
		double cpu_begin = cpu_ns();
		uint64_t begin = stopwatch_now();

		for (int i = 0; i < BLOCK; i++)
			replay_collective(replay->stream, sequence++);
		times[block] = (double)(stopwatch_now() - begin) / BLOCK;
		cpu += cpu_ns() - cpu_begin;
		/* Real steps have pauses; the drain thread gets to run and slots become free. */
		if (block % burst == burst - 1)
			usleep(replay->stream->pause_us);
	}
	plugin->finalize(context);
	replay->cost.mean = stopwatch_mean(times, blocks);
	replay->cost.p50 = stopwatch_median(times, blocks);
	replay->cost.cpu = blocks ? cpu / (double)(blocks * BLOCK) : 0;
	free(times);
	return NULL;
}

/* Means over the threads. */
static struct cost measure(const struct profiler_v5 *target, const struct stream *stream, size_t collectives, unsigned int threads)
{
	struct replay replays[MOST_THREADS];
	pthread_t others[MOST_THREADS];
	pthread_barrier_t together;
	struct cost cost = { 0 };

	plugin = target;
	pthread_barrier_init(&together, NULL, threads);
	for (unsigned int i = 0; i < threads; i++)
		replays[i] = (struct replay){ stream, collectives, 0x5eed + i, i, threads == 1, &together, { 0 } };
	/* One alone is this thread: where it runs is its caller's to say. */
	for (unsigned int i = 0; i < threads && threads > 1; i++)
		if (pthread_create(&others[i], NULL, run, &replays[i]))
			exit(1);
	if (threads == 1)
		run(&replays[0]);
	for (unsigned int i = 0; i < threads && threads > 1; i++)
		pthread_join(others[i], NULL);
	for (unsigned int i = 0; i < threads; i++) {
		cost.mean += replays[i].cost.mean / threads;
		cost.p50 += replays[i].cost.p50 / threads;
		cost.cpu += replays[i].cost.cpu / threads;
	}
	return cost;
}

static int empty_init(void **empty_context, uint64_t id, int *mask, const char *name, int nodes, int ranks, int rank,
		      profiler_log *log)
{
	(void)id, (void)name, (void)nodes, (void)ranks, (void)rank, (void)log;
	*empty_context = empty_context;
	*mask = -1;
	return 0;
}

static int empty_start(void *empty_context, void **handle, struct profiler_v5_event *event)
{
	(void)event;
	*handle = empty_context;
	return 0;
}

static int empty_stop(void *handle)
{
	(void)handle;
	return 0;
}

static int empty_record(void *handle, int state, void *arguments)
{
	(void)handle, (void)state, (void)arguments;
	return 0;
}

static const struct profiler_v5 empty = { "empty", empty_init, empty_start, empty_stop, empty_record, empty_stop };

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	const struct profiler_v5 *ours = library ? dlsym(library, "ncclProfiler_v5") : NULL;
	const char *word = argc > 2 ? argv[2] : "all";
	size_t collectives = argc > 3 ? strtoul(argv[3], NULL, 10) : 200000;
	unsigned long threads = argc > 4 ? strtoul(argv[4], NULL, 10) : 1;

	if (!ours || !threads || threads > MOST_THREADS) {
		fprintf(stderr, "usage: callback_bench PLUGIN.so [STREAM [COLLECTIVES [THREADS]]]: %s\n",
			argc > 1 && !ours ? dlerror() : ours ? "1 to 64 threads" : "no plugin");
		return 2;
	}
	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
		if (strcmp(word, "all") != 0 && strcmp(word, streams[i].word) != 0)
			continue;
		struct cost gross = measure(ours, &streams[i], collectives, (unsigned int)threads);
		struct cost floor = measure(&empty, &streams[i], collectives, (unsigned int)threads);

		printf("{\"bench\":\"callbacks\",\"stream\":\"%s\",\"threads\":%lu,\"gross_mean_ns\":%.0f,\"gross_p50_ns\":%.0f,"
		       "\"net_mean_ns\":%.0f,\"net_p50_ns\":%.0f,\"net_cpu_ns\":%.1f}\n",
		       streams[i].name, threads, gross.mean, gross.p50, gross.mean - floor.mean, gross.p50 - floor.p50,
		       gross.cpu - floor.cpu);
	}
	return 0;
}
