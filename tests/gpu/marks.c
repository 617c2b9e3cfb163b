/* SPDX-License-Identifier: MIT */
#include "marks.h"

#include <stdio.h>

enum { FILL_BLOCK_US = 50, FILL_WAVES = 400 };

static const char *const names[MARKS_METHODS] = {
	"nothing",
	"2 stream memory operations",
	"2 stream memory operations and what the plugin asks before",
	"2 events",
	"2 stamp kernels",
};

void marks_open(struct marks *marks, const struct device *device, CUstream stream, int repeat)
{
	marks->device = device;
	marks->stream = stream;
	marks->repeat = repeat;
	marks->filler = device_stream();
	for (int side = 0; side < 2; side++) {
		DEVICE_CHECK(cuEventCreate(&marks->timed[side], CU_EVENT_DEFAULT));
		DEVICE_CHECK(cuEventCreate(&marks->plain[side], CU_EVENT_DISABLE_TIMING));
	}
	device_words(2, &marks->words);
}

static void ask(CUstream stream)
{
	CUstreamCaptureStatus capturing;
	CUcontext context;

	DEVICE_CHECK(cuCtxGetCurrent(&context));
	DEVICE_CHECK(cuStreamIsCapturing(stream, &capturing));
}

static void mark(struct marks *marks, enum marks_method method, int side)
{
	const CUdeviceptr word = marks->words + (CUdeviceptr)(side * 8);

	if (method == MARKS_PLUGIN && side == 0)
		ask(marks->stream);
	switch (method) {
	case MARKS_MEMORY:
	case MARKS_PLUGIN:
		DEVICE_CHECK(cuStreamWriteValue64(marks->stream, word, 1, 0));
		return;
	case MARKS_EVENTS:
		DEVICE_CHECK(cuEventRecord(marks->plain[side], marks->stream));
		return;
	case MARKS_STAMPS:
		device_stamp(marks->device, marks->stream, word);
		return;
	default:
		return;
	}
}

/* Host time of the two marks, stream time of everything; each for one operation. */
static void sample(struct marks *marks, enum marks_method method, marks_operation *operation, void *argument)
{
	uint64_t host_ns = 0;
	float ms = 0;

	DEVICE_CHECK(cuEventRecord(marks->timed[0], marks->stream));
	for (int i = 0; i < marks->repeat; i++) {
		uint64_t begin_ns = device_host_ns();

		mark(marks, method, 0);
		host_ns += device_host_ns() - begin_ns;
		operation(argument);
		begin_ns = device_host_ns();
		mark(marks, method, 1);
		host_ns += device_host_ns() - begin_ns;
	}
	DEVICE_CHECK(cuEventRecord(marks->timed[1], marks->stream));
	DEVICE_CHECK(cuStreamSynchronize(marks->stream));
	DEVICE_CHECK(cuEventElapsedTime(&ms, marks->timed[0], marks->timed[1]));
	marks->host_ns[method][marks->count] = (double)host_ns / marks->repeat;
	marks->stream_us[method][marks->count] = ms * 1000 / marks->repeat;
}

static void fill(struct marks *marks, bool begin)
{
	if (begin) {
		device_fill(marks->device, marks->filler, FILL_WAVES, FILL_BLOCK_US);
		return;
	}
	marks->unfilled += cuStreamQuery(marks->filler) == CUDA_SUCCESS;
	DEVICE_CHECK(cuStreamSynchronize(marks->filler));
}

void marks_begin(struct marks *marks, marks_operation *operation, void *argument)
{
	marks->count = 0;
	marks->unfilled = 0;
	for (int method = MARKS_NOTHING; method < MARKS_METHODS; method++)
		sample(marks, method, operation, argument);
}

void marks_turn(struct marks *marks, bool filled, marks_operation *operation, void *argument)
{
	for (size_t i = 0; i < MARKS_METHODS; i++) {
		if (filled)
			fill(marks, true);
		sample(marks, (enum marks_method)((i + marks->count) % MARKS_METHODS), operation, argument);
		if (filled)
			fill(marks, false);
	}
	marks->count++;
}

void marks_print(struct marks *marks, const char *around, int ranks, bool filled)
{
	const double base_ns = device_median(marks->host_ns[MARKS_NOTHING], marks->count);
	const double base_us = device_median(marks->stream_us[MARKS_NOTHING], marks->count);

	for (int method = MARKS_NOTHING; method < MARKS_METHODS; method++)
		printf("{\"around\":\"%s\",\"ranks\":%d,\"filled\":%s,\"method\":\"%s\",\"samples\":%zu,"
		       "\"unfilled\":%u,\"added_host_ns\":%.0f,\"stream_us\":%.3f,\"added_stream_us\":%.3f}\n",
		       around, ranks, filled ? "true" : "false", names[method], marks->count, marks->unfilled,
		       device_median(marks->host_ns[method], marks->count) - base_ns,
		       device_median(marks->stream_us[method], marks->count),
		       device_median(marks->stream_us[method], marks->count) - base_us);
	fflush(stdout);
}
