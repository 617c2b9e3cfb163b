/* SPDX-License-Identifier: MIT */
/*
 * Which calls of the driver wait for a kernel that waits for others, as NCCL's do: a kernel spins until the host says
 * so, and another thread makes the call. Those that the plugin makes around a collective must return; so must a launch
 * while the driver's queue has room. What else waits is only told: the plugin makes those calls before a communicator
 * has work.
 *   gpu_scan_drill [look]: only what CUDA_DEVICE_MAX_CONNECTIONS does
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/scan/scan_image.h"
#include "rankwatch/operation.h"
#include "timing.h"

enum { WAIT_MS = 1000, WAIT_MS_STAND_IN = 400, QUEUE_MAX = 4096, ROOM = 1 << 20, STREAMS = 40 };

struct drill {
	int wait_ms;         /* what has not returned by then waits for the kernel */
	struct scan_gpu gpu; /* gpu.stream is ours */
	CUstream job;        /* where the kernel spins */
	CUstream side;       /* of the least priority */
	CUstream others[STREAMS];
	CUfunction fresh;
	CUmodule module;
	CUevent event;
	CUdeviceptr memory, more, flag_at, word;
	volatile uint64_t *flag; /* not 0 ends the kernel */
	uint64_t sequence;
	void *pinned;
	_Atomic uint64_t launched;
};

/* Each is the call of another thread; its context is current. */

static void load_module(struct drill *drill)
{
	const struct scan_image *image = scan_images();

	while (image->data && cuModuleLoadData(&drill->module, image->data) != CUDA_SUCCESS)
		image++;
}

static void get_function(struct drill *drill)
{
	DEVICE_CHECK(cuModuleGetFunction(&drill->fresh, drill->module, SCAN_KERNEL_NAME));
}

static void load_and_get(struct drill *drill)
{
	load_module(drill);
	get_function(drill);
}

static void launch_scan(struct drill *drill, CUfunction kernel, CUstream stream)
{
	void *parameters[] = { &drill->gpu.launch };

	drill->gpu.launch.segment_count = 1;
	drill->gpu.launch.segments[0] = (struct scan_segment){
		.address = drill->memory, .elements = ROOM / 4, .sequence = ++drill->sequence, .dtype = RW_DTYPE_FLOAT32
	};
	DEVICE_CHECK(cuLaunchKernel(kernel, 8, 1, 1, SCAN_THREADS, 1, 1, 0, stream, parameters, NULL));
}

static void await_scan(struct drill *drill)
{
	while (__atomic_load_n(&drill->gpu.launch.slots[0].sequence, __ATOMIC_ACQUIRE) != drill->sequence)
		device_pause_us(20);
}

static void first_launch(struct drill *drill)
{
	launch_scan(drill, drill->fresh, drill->gpu.stream);
	await_scan(drill);
}

static void later_launch(struct drill *drill)
{
	launch_scan(drill, drill->gpu.kernel, drill->gpu.stream);
	await_scan(drill);
}

static void side_launch(struct drill *drill)
{
	launch_scan(drill, drill->gpu.kernel, drill->side);
	await_scan(drill);
}

static void launch_behind(struct drill *drill)
{
	launch_scan(drill, drill->gpu.kernel, drill->job);
}

static void allocate(struct drill *drill)
{
	DEVICE_CHECK(cuMemAlloc(&drill->more, ROOM));
}

static void free_memory(struct drill *drill)
{
	DEVICE_CHECK(cuMemFree(drill->more));
}

static void allocate_pinned(struct drill *drill)
{
	DEVICE_CHECK(cuMemHostAlloc(&drill->pinned, ROOM, CU_MEMHOSTALLOC_PORTABLE));
}

static void free_pinned(struct drill *drill)
{
	DEVICE_CHECK(cuMemFreeHost(drill->pinned));
}

static void create_event(struct drill *drill)
{
	DEVICE_CHECK(cuEventCreate(&drill->event, CU_EVENT_DISABLE_TIMING));
}

static void fork_and_join(struct drill *drill)
{
	DEVICE_CHECK(cuEventRecord(drill->event, drill->job));
	DEVICE_CHECK(cuStreamWaitEvent(drill->side, drill->event, 0));
	DEVICE_CHECK(cuEventRecord(drill->event, drill->side));
	DEVICE_CHECK(cuStreamWaitEvent(drill->job, drill->event, 0));
}

static void ask_capturing(struct drill *drill)
{
	CUstreamCaptureStatus status;

	DEVICE_CHECK(cuStreamIsCapturing(drill->job, &status));
}

static void ask_pointer(struct drill *drill)
{
	unsigned int type = 0, managed = 0;
	void *values[] = { &type, &managed };
	CUpointer_attribute attributes[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED };

	DEVICE_CHECK(cuPointerGetAttributes(2, attributes, values, drill->memory));
}

static void write_value(struct drill *drill)
{
	DEVICE_CHECK(cuStreamWriteValue64(drill->job, drill->word, 1, 0));
}

static const struct step {
	const char *name;
	void (*prepare)(struct drill *drill); /* before the kernel spins; NULL: nothing */
	void (*call)(struct drill *drill);
	bool must_return; /* the plugin makes it around a collective */
} steps[] = {
	{ "cuPointerGetAttributes", NULL, ask_pointer, true },
	{ "cuStreamIsCapturing", NULL, ask_capturing, true },
	{ "cuStreamWriteValue64 behind the kernel", NULL, write_value, true },
	{ "a scan launched behind the kernel", NULL, launch_behind, true },
	{ "two events recorded and waited for", create_event, fork_and_join, true },
	{ "a scan beside the kernel, and its result", NULL, later_launch, true },
	{ "a scan on a stream of the least priority, and its result", NULL, side_launch, true },
	{ "cuModuleLoadData", NULL, load_module, false },
	{ "cuModuleGetFunction", load_module, get_function, false },
	{ "the first launch of a kernel, and its result", load_and_get, first_launch, false },
	{ "cuEventCreate", NULL, create_event, false },
	{ "cuMemAlloc", NULL, allocate, false },
	{ "cuMemFree", allocate, free_memory, false },
	{ "cuMemHostAlloc", NULL, allocate_pinned, false },
	{ "cuMemFreeHost", allocate_pinned, free_pinned, false },
};

struct worker {
	struct drill *drill;
	void (*call)(struct drill *drill);
	_Atomic double us; /* that it took; 0 not back yet */
};

static void *work(void *argument)
{
	struct worker *worker = argument;

	DEVICE_CHECK(cuCtxSetCurrent(worker->drill->gpu.device.context));
	const uint64_t begin_ns = device_host_ns();
	worker->call(worker->drill);
	worker->us = (double)(device_host_ns() - begin_ns) / 1000 + 0.001;
	return NULL;
}

static void begin_spinning(struct drill *drill)
{
	__atomic_store_n(drill->flag, 0, __ATOMIC_RELEASE);
	device_spin(&drill->gpu.device, drill->job, drill->flag_at);
	device_pause_us(2000); /* it runs */
}

static void end_spinning(struct drill *drill)
{
	__atomic_store_n(drill->flag, 1, __ATOMIC_RELEASE);
}

static pthread_t begin_work(struct worker *worker)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, worker) != 0)
		exit(1);
	return thread;
}

static bool play(struct drill *drill, const struct step *step)
{
	struct worker worker = { drill, step->call, 0 };
	char text[64] = "waits until the kernel has ended";

	if (step->prepare)
		step->prepare(drill);
	begin_spinning(drill);
	const pthread_t thread = begin_work(&worker);
	for (int ms = 0; ms < drill->wait_ms && worker.us == 0; ms++)
		device_pause_us(1000);
	const double us = worker.us;
	end_spinning(drill);
	pthread_join(thread, NULL);
	DEVICE_CHECK(cuCtxSynchronize());
	if (us > 0)
		snprintf(text, sizeof(text), "returns after %.0f us", us);
	timing_remark(text, "%s, while a kernel waits", step->name);
	timing_fact(us > 0 ? "returns" : "waits", "while a kernel waits: %s", step->name);
	return !step->must_return || timing_claim(us > 0, "%s returns while a kernel waits", step->name);
}

static void launch_many(struct drill *drill)
{
	while (drill->launched < QUEUE_MAX) {
		device_stamp(&drill->gpu.device, drill->job, drill->word);
		drill->launched++;
	}
}

/* How many launches a stream that stands still takes before the next one waits. */
static bool fill_queue(struct drill *drill)
{
	struct worker worker = { drill, launch_many, 0 };
	uint64_t before;

	begin_spinning(drill);
	const pthread_t thread = begin_work(&worker);
	do {
		before = drill->launched;
		device_pause_us((uint64_t)drill->wait_ms * 1000);
	} while (drill->launched != before && worker.us == 0);
	const uint64_t room = drill->launched;
	end_spinning(drill);
	pthread_join(thread, NULL);
	DEVICE_CHECK(cuCtxSynchronize());
	timing_number((double)room, "launches", "taken by a stream that stands still (of %d tried)", QUEUE_MAX);
	return timing_claim(room >= 2 * 256, "room for 256 scans and as many kernels of the job");
}

static void record_event(struct drill *drill)
{
	DEVICE_CHECK(cuEventRecord(drill->event, drill->job));
}

static void nothing(struct drill *drill)
{
	(void)drill;
}

/*
 * Does what waits behind a collective hold back what the job launches elsewhere afterwards? More streams than the GPU
 * has connections, so that some must share one. NCCL and frameworks record events there, rankwatch writes and scans.
 */
static void look_past(struct drill *drill, const char *what, void (*behind)(struct drill *))
{
	const char *connections = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
	unsigned int done = 0;

	begin_spinning(drill);
	behind(drill);
	for (int i = 0; i < STREAMS; i++)
		device_stamp(&drill->gpu.device, drill->others[i], drill->word);
	for (int ms = 0; ms < drill->wait_ms && done < STREAMS; ms++) {
		done = 0;
		for (int i = 0; i < STREAMS; i++)
			done += cuStreamQuery(drill->others[i]) == CUDA_SUCCESS;
		device_pause_us(1000);
	}
	end_spinning(drill);
	DEVICE_CHECK(cuCtxSynchronize());
	timing_number(
	    done, "streams",
	    "CUDA_DEVICE_MAX_CONNECTIONS=%s: of %d other streams go on while %s waits behind a collective",
	    connections ? connections : "not set", STREAMS, what);
}

static void open_drill(struct drill *drill)
{
	int least, greatest;

	scan_gpu_open(&drill->gpu);
	drill->wait_ms = drill->gpu.stand_in ? WAIT_MS_STAND_IN : WAIT_MS;
	drill->job = device_stream();
	DEVICE_CHECK(cuCtxGetStreamPriorityRange(&least, &greatest));
	DEVICE_CHECK(cuStreamCreateWithPriority(&drill->side, CU_STREAM_NON_BLOCKING, least));
	for (int i = 0; i < STREAMS; i++)
		drill->others[i] = device_stream();
	drill->memory = device_memory(ROOM);
	drill->word = device_memory(8);
	drill->flag = device_words(1, &drill->flag_at);
	timing_fact(least == 0 ? "0, the default" : "another than the default", "the least priority of a stream");
	timing_fact(greatest < 0 ? "below 0" : "0", "the greatest priority of a stream");
	create_event(drill);
	/* Everything that is no drill itself has been launched once. */
	later_launch(drill);
	begin_spinning(drill);
	end_spinning(drill);
	DEVICE_CHECK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	static struct drill drill;
	const bool only_look = argc == 2 && strcmp(argv[1], "look") == 0;
	bool right = true;

	open_drill(&drill);
	look_past(&drill, "nothing", nothing);
	look_past(&drill, "an event", record_event);
	look_past(&drill, "a write of progress", write_value);
	look_past(&drill, "a scan", launch_behind);
	for (size_t i = 0; !only_look && i < sizeof(steps) / sizeof(steps[0]); i++)
		right &= play(&drill, &steps[i]);
	if (!only_look)
		right &= fill_queue(&drill);
	return !right;
}
