// SPDX-License-Identifier: MIT
/*
 * What the plugin's callbacks cost: replays the callback stream that NCCL 2.28 makes for AllReduces into the built
 * library, each thread with a communicator of its own (proxy events included, which in NCCL run on the proxy thread),
 * without a GPU. The same replay into an empty plugin is what "net" subtracts. CPU times are those of the threads that
 * replay. Prints one JSON object per stream. The plugin reads its
 * environment once: RANKWATCH_KERNELCH=1 is for the whole process, and the other streams then pay for it, too.
 *   callback_bench PLUGIN.so [STREAM [COLLECTIVES [THREADS [PROCESSES]]]] STREAM: base, kernel, proxy, large, "in
 *   place",
 * small, tagged, called or all; COLLECTIVES: of each thread
 * PROCESSES instead of threads (1 thread each) share nothing of ours, not even the library: what two of them take
 * longer than one is the machine's doing.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/nccl/profiler_v5.h"
#include "tests/bench/processors.h"
#include "tests/bench/stopwatch.h"

enum { CHANNELS = 16, PROXY_OPS = 8, PROXY_STEPS = 16, BLOCK = 64, BURST = 64 /* blocks */, PAUSE_US = 1000,
       SCANNED_BURST = 2, SCANNED_PAUSE_US = 20000, MOST_THREADS = 64,
       LARGE = 1 << 24 /* 64 MiB */, SMALL = 2 /* 8 bytes */ };

static float input[LARGE], output[LARGE]; /* nobody reads them: the driver of tests/null scans nothing (below) */

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
	size_t elements;
	bool in_place;
	bool tagged; /* NCCL 2.31: each block of collectives has another tag */
	bool called; /* before each collective the program says that a step begins */
};

static const struct stream streams[] = {
	{ "base", "base mask", false, false, BURST, PAUSE_US, LARGE, false },
	{ "kernel", "KernelCh on 16 channels", true, false, BURST, PAUSE_US, LARGE, false },
	{ "proxy", "8 x 16 proxy steps", false, true, BURST, PAUSE_US, LARGE, false },
	/* Where each collective is scanned no more may come than scans can be in flight, or the rest would not be. */
	{ "large", "base mask, in short bursts", false, false, SCANNED_BURST, SCANNED_PAUSE_US, LARGE, false },
	{ "small", "base mask, 8 bytes, in short bursts", false, false, SCANNED_BURST, SCANNED_PAUSE_US, SMALL, false },
	{ "in place", "base mask, in place, in short bursts", false, false, SCANNED_BURST, SCANNED_PAUSE_US, LARGE, true },
	{ "tagged", "base mask, with tags", false, false, BURST, PAUSE_US, LARGE, false, .tagged = true },
	{ "called", "base mask, a step each", false, false, BURST, PAUSE_US, LARGE, false, .called = true },
};

static const struct profiler_v5 *plugin;
static void (*step_begins)(uint64_t step);
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
	union event api = { .header.coll_api = { .function = "AllReduce", .count = stream->elements, .dtype = "ncclFloat32",
						 .stream = (void *)0x1000 } };
	union event launch = { .header.launch.stream = (void *)0x1000 };
	union event coll = { .header.coll = { .sequence = sequence, .function = "AllReduce", .send = input,
					      .recv = stream->in_place ? input : output, .count = stream->elements, .dtype = "ncclFloat32", .channels = 16,
					      .warps = 16, .algorithm = "RING", .protocol = "SIMPLE" } };
	if (stream->tagged)
		api.header.coll_api_v7.user_tag = 1 + sequence / BLOCK;
	if (stream->called)
		step_begins(sequence);
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

/* The time of a scan is not the plugin's: the driver of tests/null, where it is loaded, leaves it out from now on. */
static void scan_nothing(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void (*leave_out)(void);

	*(void **)&leave_out = driver ? dlsym(driver, "null_cuda_scan_nothing") : NULL;
	if (leave_out)
		leave_out();
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

static void empty_step(uint64_t step)
{
	(void)step;
}

static const struct profiler_v5 empty = { "empty", empty_init, empty_start, empty_stop, empty_record, empty_stop };

/* The table of callbacks that is measured: of this library, or the empty one. */
struct table {
	const char *path, *symbol;
};

static const struct profiler_v5 *table_load(const struct table *table)
{
	void *library = table->path ? dlopen(table->path, RTLD_NOW | RTLD_LOCAL) : NULL;
	const struct profiler_v5 *loaded = library ? dlsym(library, table->symbol) : &empty;

	if (table->path && (!library || !loaded)) {
		fprintf(stderr, "callback_bench: %s\n", dlerror());
		exit(2);
	}
	step_begins = library ? (void (*)(uint64_t))dlsym(library, "rankwatch_step") : empty_step;
	return loaded;
}

struct extent {
	size_t collectives; /* of each thread */
	unsigned int threads, processes;
};

static bool extent_is_possible(const struct extent *extent)
{
	return extent->threads && extent->processes && extent->threads <= MOST_THREADS && extent->processes <= MOST_THREADS &&
	       (extent->threads == 1 || extent->processes == 1);
}

struct cost {
	double mean, p50, cpu;
	double met; /* median of the blocks during which another thread finished one, too; 0: none did */
};

struct block {
	uint64_t begin_ns, end_ns;
};

struct replay {
	const struct stream *stream;
	size_t collectives;
	uint64_t communicator;
	unsigned int number; /* of the thread */
	bool alone;
	pthread_barrier_t *together; /* of all threads: their communicators are there, and so is each after a pause */
	struct block *blocks;
	struct cost cost;
};

/* What the threads of one measurement share, in memory that processes share, too. */
struct round {
	pthread_barrier_t together;
	struct replay replays[MOST_THREADS];
};

static double cpu_ns(void)
{
	struct timespec spent;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
	return (double)spent.tv_sec * 1e9 + (double)spent.tv_nsec;
}

static size_t block_count(const struct replay *replay)
{
	return replay->collectives / BLOCK;
}

static void *run(void *argument)
{
	struct replay *replay = argument;
	size_t blocks = block_count(replay), burst = replay->stream->burst;
	double cpu = 0;
	int mask = 0;
	uint64_t sequence = 0;

	if (!replay->alone)
		processors_settle(replay->number);
	plugin->init(&context, replay->communicator, &mask, NULL, 1, 8, 0, NULL);
	scan_nothing();
	for (size_t block = 0; block < blocks; block++) {
		/* Else the threads would meet by chance: their bursts are as long as the pauses between them. */
		if (block % burst == 0)
			pthread_barrier_wait(replay->together);
		double cpu_begin = cpu_ns();
		uint64_t begin_ns = stopwatch_now();

		for (int i = 0; i < BLOCK; i++)
			replay_collective(replay->stream, sequence++);
		replay->blocks[block] = (struct block){ begin_ns, stopwatch_now() };
		cpu += cpu_ns() - cpu_begin;
		/* Real steps have pauses; the drain thread gets to run and slots become free. */
		if (block % burst == burst - 1)
			usleep(replay->stream->pause_us);
	}
	plugin->finalize(context);
	replay->cost.cpu = blocks ? cpu / (double)(blocks * BLOCK) : 0;
	return NULL;
}

static double time_of(const struct block *block)
{
	return (double)(block->end_ns - block->begin_ns) / BLOCK;
}

/* Did the other thread finish a block during this one? *at: where in the other's blocks the search goes on. */
static bool has_met(const struct block *block, const struct replay *other, size_t *at)
{
	while (*at < block_count(other) && other->blocks[*at].end_ns <= block->begin_ns)
		(*at)++;
	return *at < block_count(other) && other->blocks[*at].end_ns <= block->end_ns;
}

static double met_median(const struct replay *replay, const struct replay *other, double *times)
{
	size_t met = 0, at = 0;

	for (size_t i = 0; i < block_count(replay); i++)
		if (has_met(&replay->blocks[i], other, &at))
			times[met++] = time_of(&replay->blocks[i]);
	return stopwatch_median(times, met);
}

/* other: the thread that this one may have met; itself where there is none. */
static void sum_up(struct replay *replay, const struct replay *other)
{
	size_t blocks = block_count(replay);
	double *times = calloc(blocks + 1, sizeof(*times));

	if (!times)
		exit(1);
	if (other != replay)
		replay->cost.met = met_median(replay, other, times);
	for (size_t i = 0; i < blocks; i++)
		times[i] = time_of(&replay->blocks[i]);
	replay->cost.mean = stopwatch_mean(times, blocks);
	replay->cost.p50 = stopwatch_median(times, blocks);
	free(times);
}

static void *shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	return memory;
}

static void run_threads(struct replay *replays, unsigned int threads)
{
	pthread_t others[MOST_THREADS];

	/* One alone is this thread: where it runs is its caller's to say. */
	if (threads == 1) {
		run(&replays[0]);
		return;
	}
	for (unsigned int i = 0; i < threads; i++)
		if (pthread_create(&others[i], NULL, run, &replays[i]))
			exit(1);
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(others[i], NULL);
}

static void run_process(const struct table *table, struct replay *replay)
{
	plugin = table_load(table);
	run(replay);
	_exit(0); /* exit() would print once more what the parent has not printed yet */
}

static void run_processes(const struct table *table, struct replay *replays, unsigned int processes)
{
	pid_t pids[MOST_THREADS];
	int status;

	for (unsigned int i = 0; i < processes; i++) {
		pids[i] = fork();
		if (!pids[i])
			run_process(table, &replays[i]);
	}
	for (unsigned int i = 0; i < processes; i++)
		if (pids[i] < 0 || waitpid(pids[i], &status, 0) != pids[i] || status)
			exit(1);
}

/* Means over the threads. */
static struct cost measure(const struct table *table, const struct stream *stream, const struct extent *extent)
{
	unsigned int threads = extent->threads > extent->processes ? extent->threads : extent->processes;
	size_t blocks_size = (extent->collectives / BLOCK + 1) * sizeof(struct block);
	struct round *round = shared(sizeof(*round));
	pthread_barrierattr_t shares;
	struct cost cost = { 0 };

	pthread_barrierattr_init(&shares);
	pthread_barrierattr_setpshared(&shares, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&round->together, &shares, threads);
	for (unsigned int i = 0; i < threads; i++)
		round->replays[i] = (struct replay){ stream, extent->collectives, 0x5eed + i, i, threads == 1, &round->together,
						     shared(blocks_size), { 0 } };
	if (extent->processes > 1) {
		run_processes(table, round->replays, threads);
	} else {
		plugin = table_load(table);
		run_threads(round->replays, threads);
	}
	for (unsigned int i = 0; i < threads; i++) {
		sum_up(&round->replays[i], &round->replays[(i + 1) % threads]);
		cost.mean += round->replays[i].cost.mean / threads;
		cost.p50 += round->replays[i].cost.p50 / threads;
		cost.met += round->replays[i].cost.met / threads;
		cost.cpu += round->replays[i].cost.cpu / threads;
	}
	for (unsigned int i = 0; i < threads; i++)
		munmap(round->replays[i].blocks, blocks_size);
	munmap(round, sizeof(*round));
	return cost;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : NULL;
	const char *word = argc > 2 ? argv[2] : "all";
	const struct extent extent = {
		.collectives = argc > 3 ? strtoul(argv[3], NULL, 10) : 200000,
		.threads = argc > 4 ? (unsigned int)strtoul(argv[4], NULL, 10) : 1,
		.processes = argc > 5 ? (unsigned int)strtoul(argv[5], NULL, 10) : 1,
	};

	if (!path || !extent_is_possible(&extent)) {
		fprintf(stderr,
			"usage: callback_bench PLUGIN.so [STREAM [COLLECTIVES [THREADS [PROCESSES]]]], 1 to %d of one "
			"of them\n",
			MOST_THREADS);
		return 2;
	}
	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
		if (strcmp(word, "all") != 0 && strcmp(word, streams[i].word) != 0)
			continue;
		const char *symbol = streams[i].tagged ? "ncclProfiler_v7" : "ncclProfiler_v5";
		struct cost gross = measure(&(struct table){ path, symbol }, &streams[i], &extent);
		struct cost floor = measure(&(struct table){ NULL, symbol }, &streams[i], &extent);

		printf("{\"bench\":\"callbacks\",\"stream\":\"%s\",\"threads\":%u,\"processes\":%u,\"gross_mean_ns\":%."
		       "0f,\"gross_p50_ns\":%.0f,"
		       "\"net_mean_ns\":%.0f,\"net_p50_ns\":%.0f,\"net_cpu_ns\":%.1f,\"net_met_ns\":%.1f,\"floor_cpu_"
		       "ns\":%.1f,\"floor_met_ns\":%.1f}\n",
		       streams[i].name, extent.threads, extent.processes, gross.mean, gross.p50,
		       gross.mean - floor.mean, gross.p50 - floor.p50, gross.cpu - floor.cpu, gross.met - floor.met,
		       floor.cpu, floor.met);
		fflush(stdout);
	}
	return 0;
}
