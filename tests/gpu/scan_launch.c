/* SPDX-License-Identifier: MIT */
/*
 * What a scan costs beside reading: loading its images, the thread that launches it, the stream that a small one stands
 * in, and how soon the host has the result.
 *   gpu_scan_launch
 */
#include <stdio.h>
#include <stdlib.h>

#include "plugin/scan/scan_image.h"
#include "rankwatch/operation.h"
#include "timing.h"

enum { CALLS = 200, ROUNDS = 400, BURST = 50, ROOM = 16 << 20 };

struct costs {
	struct scan_gpu gpu;
	CUdeviceptr memory, word;
	uint64_t bytes;
	unsigned int blocks;
	bool scans; /* else only what stands before the scan */
};

static void load_images(void)
{
	for (const struct scan_image *image = scan_images(); image->data; image++) {
		const uint64_t begin_ns = device_host_ns();
		CUfunction function;
		CUmodule module;
		CUresult result = cuModuleLoadData(&module, image->data);

		if (result == CUDA_SUCCESS)
			result = cuModuleGetFunction(&function, module, SCAN_KERNEL_NAME);
		/* scan_gpu_open() has found one that loads. */
		if (result == CUDA_SUCCESS)
			timing_number((double)(device_host_ns() - begin_ns) / 1e6, "ms", "loading the kernel as %s",
				      image->name);
		else
			timing_remark("the driver does not take it", "loading the kernel as %s", image->name);
	}
}

static void set_segments(struct costs *costs, uint32_t count, uint64_t bytes)
{
	costs->gpu.launch.segment_count = count;
	for (uint32_t i = 0; i < count; i++)
		costs->gpu.launch.segments[i] = (struct scan_segment){ .address = costs->memory,
								       .elements = bytes / 2,
								       .slot = i,
								       .sequence = 1,
								       .dtype = RW_DTYPE_BFLOAT16 };
	costs->bytes = bytes * count;
	costs->blocks = bytes * count / SCAN_TILE_BYTES < SCAN_BLOCKS
			    ? (unsigned int)(bytes * count / SCAN_TILE_BYTES) + 1
			    : SCAN_BLOCKS;
}

/* Host time of one launch, without a queue that is full. segments: 0 for a kernel of one argument. */
static double launch_ns(struct costs *costs, uint32_t segments)
{
	double ns[ROUNDS];

	set_segments(costs, segments ? segments : 1, 1024);
	for (int i = 0; i < ROUNDS; i++) {
		const uint64_t begin_ns = device_host_ns();

		if (segments)
			scan_gpu_launch(&costs->gpu, 1);
		else
			device_stamp(&costs->gpu.device, costs->gpu.stream, costs->word);
		ns[i] = (double)(device_host_ns() - begin_ns);
		if (i % BURST == BURST - 1)
			DEVICE_CHECK(cuStreamSynchronize(costs->gpu.stream));
	}
	return device_median(ns, ROUNDS);
}

static void stamp_and_scan(void *argument)
{
	struct costs *costs = argument;

	device_stamp(&costs->gpu.device, costs->gpu.stream, costs->word);
	if (costs->scans)
		scan_gpu_launch(&costs->gpu, costs->blocks);
}

static void stream_costs(struct costs *costs)
{
	static const unsigned int kib[] = { 0, 1, 64, 1024, 16384 };

	for (size_t i = 0; i < sizeof(kib) / sizeof(kib[0]); i++) {
		set_segments(costs, 1, kib[i] * 1024ULL);
		costs->scans = false;
		const double without = timing_us(&costs->gpu, CALLS, stamp_and_scan, costs);
		costs->scans = true;
		timing_number(timing_us(&costs->gpu, CALLS, stamp_and_scan, costs) - without, "us",
			      "stream time that a scan of %u KiB adds behind a kernel", kib[i]);
	}
}

/* As the plugin's thread sees it: no CUDA call. */
static void await_result(struct costs *costs, uint64_t sequence)
{
	while (__atomic_load_n(&costs->gpu.launch.slots[0].sequence, __ATOMIC_ACQUIRE) != sequence)
		;
}

static double round_trip_us(struct costs *costs, bool polls)
{
	double us[ROUNDS];

	set_segments(costs, 1, 0);
	for (int i = 0; i < ROUNDS; i++) {
		costs->gpu.launch.segments[0].sequence = (uint64_t)i + 2;
		const uint64_t begin_ns = device_host_ns();

		scan_gpu_launch(&costs->gpu, 1);
		if (polls)
			await_result(costs, (uint64_t)i + 2);
		else
			DEVICE_CHECK(cuStreamSynchronize(costs->gpu.stream));
		us[i] = (double)(device_host_ns() - begin_ns) / 1000;
		DEVICE_CHECK(cuStreamSynchronize(costs->gpu.stream));
	}
	return device_median(us, ROUNDS);
}

int main(void)
{
	static struct costs costs;

	setenv("CUDA_CACHE_DISABLE", "1", 1); /* or compiling PTX takes no time the second time */
	scan_gpu_open(&costs.gpu);
	costs.memory = device_memory(ROOM);
	costs.word = device_memory(8);
	load_images();
	timing_number(launch_ns(&costs, 0), "ns", "host time to launch a kernel of one argument");
	timing_number(launch_ns(&costs, 1), "ns", "host time to launch a scan of one buffer");
	timing_number(launch_ns(&costs, SCAN_SEGMENTS), "ns", "host time to launch a scan of %d buffers",
		      SCAN_SEGMENTS);
	stream_costs(&costs);
	timing_number(round_trip_us(&costs, true), "us", "from a launch to its result in pinned memory");
	timing_number(round_trip_us(&costs, false), "us", "from a launch to the end of cuStreamSynchronize");
	return 0;
}
