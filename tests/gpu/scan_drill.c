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
#include <time.h>

#include "plugin/gpu/scan_image.h"
#include "rankwatch/operation.h"
#include "timing.h"

enum { WAIT_MS = 1000, QUEUE_MAX = 4096, ROOM = 1 << 20 };

struct drill {
	struct scan_gpu gpu; /* gpu.stream is ours */
	CUstream job;        /* where the kernel spins */
	CUstream side;       /* of low priority */
	CUfunction spin, fresh;
	CUmodule module;
	CUevent event;
	CUdeviceptr memory, more, flag_at, word;
	uint64_t *flag; /* pinned; not 0 ends the kernel */
	uint64_t sequence;
	void *pinned;
	_Atomic uint64_t launched;
};

struct cpu_launch;
void gpu_test_spin__cpu(void **parameters, const struct cpu_launch *launch);

/* One thread, until the flag is not 0, 30 s at most. */
static const char spin_ptx[] = ".version 7.4\n"
			       ".target sm_80\n"
			       ".address_size 64\n"
			       ".visible .entry gpu_test_spin(.param .u64 flag)\n"
			       "{\n"
			       "	.reg .u64 %flag, %value, %end, %now;\n"
			       "	.reg .pred %over;\n"
			       "	ld.param.u64 %flag, [flag];\n"
			       "	mov.u64 %end, %globaltimer;\n"
			       "	add.u64 %end, %end, 30000000000;\n"
			       "again:\n"
			       "	ld.volatile.global.u64 %value, [%flag];\n"
			       "	setp.ne.u64 %over, %value, 0;\n"
			       "	@%over bra done;\n"
			       "	mov.u64 %now, %globaltimer;\n"
			       "	setp.lt.u64 %over, %now, %end;\n"
			       "	@%over bra again;\n"
			       "done:\n"
			       "	ret;\n"
			       "}\n";

static void pause_us(long us)
{
	nanosleep(&(struct timespec){ .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 }, NULL);
}

void gpu_test_spin__cpu(void **parameters, const struct cpu_launch *launch)
{
	const uint64_t *flag = *(const uint64_t **)parameters[0];

	(void)launch;
	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
		pause_us(100);
}

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
		pause_us(20);
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
	{ "a scan on a stream of low priority, and its result", NULL, side_launch, true },
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
	void *parameters[] = { &drill->flag_at };

	__atomic_store_n(drill->flag, 0, __ATOMIC_RELEASE);
	DEVICE_CHECK(cuLaunchKernel(drill->spin, 1, 1, 1, 1, 1, 1, 0, drill->job, parameters, NULL));
	pause_us(2000); /* it runs */
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
	for (int ms = 0; ms < WAIT_MS && worker.us == 0; ms++)
		pause_us(1000);
	const double us = worker.us;
	end_spinning(drill);
	pthread_join(thread, NULL);
	DEVICE_CHECK(cuCtxSynchronize());
	if (us > 0)
		snprintf(text, sizeof(text), "returns after %.0f us", us);
	timing_remark(text, "%s, while a kernel waits", step->name);
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
		pause_us(WAIT_MS * 1000);
	} while (drill->launched != before && worker.us == 0);
	const uint64_t room = drill->launched;
	end_spinning(drill);
	pthread_join(thread, NULL);
	DEVICE_CHECK(cuCtxSynchronize());
	timing_number((double)room, "launches", "taken by a stream that stands still (of %d tried)", QUEUE_MAX);
	return timing_claim(room >= 2 * 256, "room for 256 scans and as many kernels of the job");
}

/* Does a scan that waits behind a collective hold back what the job launches elsewhere afterwards? */
static void look_past(struct drill *drill)
{
	const char *connections = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
	uint64_t stamp = 0;
	bool done = false;

	DEVICE_CHECK(cuMemsetD8(drill->word, 0, 8));
	DEVICE_CHECK(cuCtxSynchronize());
	begin_spinning(drill);
	launch_scan(drill, drill->gpu.kernel, drill->job);
	device_stamp(&drill->gpu.device, drill->gpu.stream, drill->word);
	for (int ms = 0; ms < WAIT_MS && !done; ms++) {
		done = cuStreamQuery(drill->gpu.stream) == CUDA_SUCCESS;
		pause_us(1000);
	}
	end_spinning(drill);
	DEVICE_CHECK(cuCtxSynchronize());
	DEVICE_CHECK(cuMemcpyDtoH(&stamp, drill->word, sizeof(stamp)));
	timing_remark(
	    done && stamp ? "yes" : "no, it is held back",
	    "CUDA_DEVICE_MAX_CONNECTIONS=%s: a kernel of another stream runs while a scan waits behind a collective",
	    connections ? connections : "not set");
}

static void open_drill(struct drill *drill)
{
	int least, greatest;
	CUmodule module;
	void *flag;

	scan_gpu_open(&drill->gpu);
	drill->job = device_stream();
	DEVICE_CHECK(cuCtxGetStreamPriorityRange(&least, &greatest));
	DEVICE_CHECK(cuStreamCreateWithPriority(&drill->side, CU_STREAM_NON_BLOCKING, least));
	drill->memory = device_memory(ROOM);
	drill->word = device_memory(8);
	DEVICE_CHECK(cuMemHostAlloc(&flag, 8, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
	drill->flag = flag;
	*drill->flag = 0;
	DEVICE_CHECK(cuMemHostGetDevicePointer(&drill->flag_at, flag, 0));
	DEVICE_CHECK(cuModuleLoadData(&module, spin_ptx));
	DEVICE_CHECK(cuModuleGetFunction(&drill->spin, module, "gpu_test_spin"));
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
	look_past(&drill);
	for (size_t i = 0; !only_look && i < sizeof(steps) / sizeof(steps[0]); i++)
		right &= play(&drill, &steps[i]);
	if (!only_look)
		right &= fill_queue(&drill);
	return !right;
}
