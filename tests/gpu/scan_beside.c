/* SPDX-License-Identifier: MIT */
/*
 * What scans and other work take from each other: a copy of device memory, as a stand for a collective, with its input
 * scanned before it and beside it; a kernel that fills the GPU with arithmetic, alone and beside scans.
 *   gpu_scan_beside
 */
#include <stdio.h>

#include "rankwatch/operation.h"
#include "timing.h"

enum { CALLS = 5, FORKS = 200, WORK_THREADS = 1024, WORK_WAVES = 20, WORK_LOOPS = 90, SCANS = 60 };

struct cpu_launch;
void gpu_test_work__cpu(void **parameters, const struct cpu_launch *launch);

/* So many times 128 products on each thread, however long that takes: what else runs shows. About 100 us a block. */
static const char work_ptx[] =
    ".version 7.4\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".visible .entry gpu_test_work(.param .u64 loops)\n"
    "{\n"
    "	.reg .u64 %loops;\n"
    "	.reg .f32 %a, %b, %c;\n"
    "	.reg .u32 %i;\n"
    "	.reg .pred %more, %never;\n"
    "	ld.param.u64 %loops, [loops];\n"
    "	mov.f32 %a, 0f3F800000;\n"
    "	mov.f32 %b, 0f3F000000;\n"
    "	mov.f32 %c, 0f3E800000;\n"
    "again:\n"
    "	mov.u32 %i, 64;\n"
    "multiply:\n"
    "	fma.rn.f32 %a, %a, %b, %c;\n"
    "	fma.rn.f32 %c, %c, %b, %a;\n"
    "	sub.u32 %i, %i, 1;\n"
    "	setp.ne.u32 %more, %i, 0;\n"
    "	@%more bra multiply;\n"
    "	sub.u64 %loops, %loops, 1;\n"
    "	setp.ne.u64 %more, %loops, 0;\n"
    "	@%more bra again;\n"
    "	setp.eq.f32 %never, %a, 0fC2280000;\n" /* so that the products are not left out */
    "	@%never trap;\n"
    "	ret;\n"
    "}\n";

void gpu_test_work__cpu(void **parameters, const struct cpu_launch *launch)
{
	(void)parameters, (void)launch;
}

struct beside {
	struct scan_gpu gpu; /* gpu.stream is the job's */
	CUfunction work;
	CUstream low, same; /* side streams, by priority */
	CUstream side;      /* of this turn */
	CUevent fork, join;
	CUdeviceptr from, to;
	uint64_t bytes;
	unsigned int blocks;
};

static void launch_on(struct beside *beside, CUstream stream)
{
	void *parameters[] = { &beside->gpu.launch };

	DEVICE_CHECK(
	    cuLaunchKernel(beside->gpu.kernel, beside->blocks, 1, 1, SCAN_THREADS, 1, 1, 0, stream, parameters, NULL));
}

static void fork_side(struct beside *beside)
{
	DEVICE_CHECK(cuEventRecord(beside->fork, beside->gpu.stream));
	DEVICE_CHECK(cuStreamWaitEvent(beside->side, beside->fork, 0));
}

static void join_side(struct beside *beside)
{
	DEVICE_CHECK(cuEventRecord(beside->join, beside->side));
	DEVICE_CHECK(cuStreamWaitEvent(beside->gpu.stream, beside->join, 0));
}

static void copy(void *argument)
{
	struct beside *beside = argument;

	DEVICE_CHECK(cuMemcpyDtoDAsync(beside->to, beside->from, beside->bytes, beside->gpu.stream));
}

static void scan_then_copy(void *argument)
{
	struct beside *beside = argument;

	launch_on(beside, beside->gpu.stream);
	copy(beside);
}

static void scan_beside_copy(void *argument)
{
	struct beside *beside = argument;

	fork_side(beside);
	copy(beside);
	launch_on(beside, beside->side);
	join_side(beside);
}

static void fill(void *argument)
{
	struct beside *beside = argument;

	unsigned int blocks = (unsigned int)beside->gpu.device.processors * 2 * WORK_WAVES;
	uint64_t loops = WORK_LOOPS;
	void *parameters[] = { &loops };

	DEVICE_CHECK(
	    cuLaunchKernel(beside->work, blocks, 1, 1, WORK_THREADS, 1, 1, 0, beside->gpu.stream, parameters, NULL));
}

/* Enough scans to last as long as the kernel. */
static void fill_beside_scans(void *argument)
{
	struct beside *beside = argument;
	const int scans = beside->gpu.stand_in ? 1 : SCANS;

	fork_side(beside);
	for (int i = 0; i < scans; i++)
		launch_on(beside, beside->side);
	fill(beside);
}

static void measure_copy(struct beside *beside)
{
	const unsigned int mib = (unsigned int)(beside->bytes >> 20);
	const double alone = timing_us(&beside->gpu, CALLS, copy, beside);

	timing_number(alone, "us", "a copy of %u MiB", mib);
	timing_number(timing_us(&beside->gpu, CALLS, scan_then_copy, beside) - alone, "us",
		      "a scan of its input before it adds, %u blocks", beside->blocks);
	beside->side = beside->low;
	timing_number(timing_us(&beside->gpu, CALLS, scan_beside_copy, beside) - alone, "us",
		      "a scan of its input beside it adds, %u blocks", beside->blocks);
}

static void measure_fill(struct beside *beside)
{
	static const unsigned int grids[] = { 8, 24, SCAN_BLOCKS, 64, 132 };
	const double alone = timing_us(&beside->gpu, 1, fill, beside);

	timing_number(alone, "us", "a kernel that fills the GPU with arithmetic");
	for (size_t i = 0; i < 2 * sizeof(grids) / sizeof(grids[0]); i++) {
		beside->blocks = grids[i / 2];
		beside->side = i % 2 ? beside->same : beside->low;
		const double us = timing_us(&beside->gpu, 1, fill_beside_scans, beside);
		DEVICE_CHECK(cuStreamSynchronize(beside->side));
		timing_number((us / alone - 1) * 100, "%", "it takes longer beside scans, %u blocks, %s priority",
			      beside->blocks, i % 2 ? "the same" : "low");
	}
}

static void measure_forks(struct beside *beside)
{
	double ns[FORKS];

	for (int i = 0; i < FORKS; i++) {
		const uint64_t begin_ns = device_host_ns();

		fork_side(beside);
		join_side(beside);
		ns[i] = (double)(device_host_ns() - begin_ns);
		DEVICE_CHECK(cuStreamSynchronize(beside->gpu.stream));
	}
	timing_number(device_median(ns, FORKS), "ns", "host time to fork a side stream and join it");
}

int main(void)
{
	static struct beside beside;
	int least, greatest;
	CUmodule module;

	scan_gpu_open(&beside.gpu);
	DEVICE_CHECK(cuCtxGetStreamPriorityRange(&least, &greatest));
	DEVICE_CHECK(cuStreamCreateWithPriority(&beside.low, CU_STREAM_NON_BLOCKING, least));
	beside.same = device_stream();
	DEVICE_CHECK(cuModuleLoadData(&module, work_ptx));
	DEVICE_CHECK(cuModuleGetFunction(&beside.work, module, "gpu_test_work"));
	DEVICE_CHECK(cuEventCreate(&beside.fork, CU_EVENT_DISABLE_TIMING));
	DEVICE_CHECK(cuEventCreate(&beside.join, CU_EVENT_DISABLE_TIMING));
	beside.bytes = beside.gpu.stand_in ? 1 << 20 : 512 << 20;
	beside.from = device_memory(beside.bytes);
	beside.to = device_memory(beside.bytes);
	beside.blocks = SCAN_BLOCKS;
	beside.gpu.launch.segment_count = 1;
	beside.gpu.launch.segments[0] = (struct scan_segment){
		.address = beside.from, .elements = beside.bytes / 2, .sequence = 1, .dtype = RW_DTYPE_BFLOAT16
	};
	measure_copy(&beside);
	measure_fill(&beside);
	measure_forks(&beside);
	return 0;
}
