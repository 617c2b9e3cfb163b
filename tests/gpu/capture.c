/* SPDX-License-Identifier: MIT */
/*
 * What a stream under capture allows, in each capture mode: which calls give which error, and whether the capture is
 * whole afterwards. By the thread that captures, and by another one as the plugin's calls at a communicator's init
 * come; there also with the other thread's mode exchanged for the relaxed one. gpu_capture
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "timing.h"

enum { SIZE = 1 << 16 };

struct captured {
	struct scan_gpu gpu;
	CUstream stream; /* that waits for the legacy stream, as a program's own default does */
	CUstream other, legacy;
	CUdeviceptr word, more;
	void *memory, *pinned;
	CUmodule module;
};

static CUresult ask_stream(struct captured *captured)
{
	CUstreamCaptureStatus status;

	return cuStreamIsCapturing(captured->stream, &status);
}

static CUresult ask_legacy(struct captured *captured)
{
	CUstreamCaptureStatus status;

	return cuStreamIsCapturing(captured->legacy, &status);
}

static CUresult write_elsewhere(struct captured *captured)
{
	return cuStreamWriteValue64(captured->other, captured->word, 1, 0);
}

static CUresult write_legacy(struct captured *captured)
{
	return cuStreamWriteValue64(captured->legacy, captured->word, 1, 0);
}

static CUresult register_memory(struct captured *captured)
{
	const CUresult result = cuMemHostRegister(captured->memory, SIZE, CU_MEMHOSTREGISTER_PORTABLE);

	if (result == CUDA_SUCCESS)
		cuMemHostUnregister(captured->memory);
	return result;
}

static CUresult allocate(struct captured *captured)
{
	const CUresult result = cuMemAlloc(&captured->more, SIZE);

	if (result == CUDA_SUCCESS)
		cuMemFree(captured->more);
	return result;
}

static CUresult allocate_pinned(struct captured *captured)
{
	return cuMemHostAlloc(&captured->pinned, SIZE, CU_MEMHOSTALLOC_PORTABLE);
}

static CUresult load_module(struct captured *captured)
{
	const struct scan_image *image = scan_images();
	CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;

	for (; image->data && result != CUDA_SUCCESS; image++)
		result = cuModuleLoadData(&captured->module, image->data);
	return result;
}

static CUresult query_elsewhere(struct captured *captured)
{
	return cuStreamQuery(captured->other);
}

static CUresult synchronize_elsewhere(struct captured *captured)
{
	return cuStreamSynchronize(captured->other);
}

static CUresult launch_elsewhere(struct captured *captured)
{
	CUdeviceptr to = captured->word;
	void *parameters[] = { &to };

	return cuLaunchKernel(captured->gpu.device.stamp, 1, 1, 1, 1, 1, 1, 0, captured->other, parameters, NULL);
}

static const struct {
	const char *name;
	CUresult (*call)(struct captured *captured);
} calls[] = {
	{ "cuStreamIsCapturing of the stream", ask_stream },
	{ "cuStreamIsCapturing of the legacy stream", ask_legacy },
	{ "cuStreamWriteValue64 into another stream", write_elsewhere },
	{ "cuStreamWriteValue64 into the legacy stream", write_legacy },
	{ "cuLaunchKernel into another stream", launch_elsewhere },
	{ "cuMemHostRegister", register_memory },
	{ "cuMemAlloc", allocate },
	{ "cuMemHostAlloc", allocate_pinned },
	{ "cuModuleLoadData", load_module },
	{ "cuStreamQuery of another stream", query_elsewhere },
	{ "cuStreamSynchronize of another stream", synchronize_elsewhere },
};

struct asked {
	struct captured *captured;
	CUresult (*call)(struct captured *captured);
	bool relaxed;
	CUresult result;
};

static void *ask(void *argument)
{
	struct asked *asked = argument;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	DEVICE_CHECK(cuCtxSetCurrent(asked->captured->gpu.device.context));
	if (asked->relaxed)
		DEVICE_CHECK(cuThreadExchangeStreamCaptureMode(&mode));
	asked->result = asked->call(asked->captured);
	return NULL;
}

/* by: 0 the thread that captures, 1 another, 2 another whose mode is relaxed. */
static CUresult make_call(struct asked *asked, int by)
{
	pthread_t thread;

	if (by == 0)
		return asked->call(asked->captured);
	asked->relaxed = by == 2;
	if (pthread_create(&thread, NULL, ask, asked) != 0)
		return CUDA_ERROR_UNKNOWN;
	pthread_join(thread, NULL);
	return asked->result;
}

static void play(struct captured *captured, size_t number, CUstreamCaptureMode mode, const char *mode_name, int by)
{
	static const char *const whose[] = { "by the same thread", "by another", "by another, its mode relaxed" };
	struct asked asked = { .captured = captured, .call = calls[number].call };
	CUgraph graph = NULL;
	char text[64];

	DEVICE_CHECK(cuStreamBeginCapture(captured->stream, mode));
	device_stamp(&captured->gpu.device, captured->stream, captured->word);
	const CUresult result = make_call(&asked, by);
	const CUresult end = cuStreamEndCapture(captured->stream, &graph);

	if (graph)
		cuGraphDestroy(graph);
	snprintf(text, sizeof(text), "error %d, the capture %s", (int)result, end ? "is broken" : "is whole");
	timing_fact(text, "while a stream is captured (%s): %s, %s", mode_name, calls[number].name, whose[by]);
	cuCtxSynchronize();
}

int main(void)
{
	static struct captured captured;
	static const struct {
		CUstreamCaptureMode mode;
		const char *name;
	} modes[] = { { CU_STREAM_CAPTURE_MODE_GLOBAL, "global" },
		      { CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, "thread local" },
		      { CU_STREAM_CAPTURE_MODE_RELAXED, "relaxed" } };

	scan_gpu_open(&captured.gpu);
	DEVICE_CHECK(cuStreamCreate(&captured.stream, CU_STREAM_DEFAULT));
	captured.other = device_stream();
	captured.legacy = CU_STREAM_LEGACY;
	captured.word = device_memory(8);
	captured.memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (captured.memory == MAP_FAILED)
		return 1;
	for (size_t mode = 0; mode < 3; mode++)
		for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
			for (int by = 0; by < 3; by++)
				play(&captured, i, modes[mode].mode, modes[mode].name, by);
	return 0;
}
