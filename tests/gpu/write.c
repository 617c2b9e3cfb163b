/* SPDX-License-Identifier: MIT */
/*
 * What it costs to see a start and an end on the GPU (marks.h), with the driver alone: around nothing and around a
 * small kernel. gpu_write SECONDS      for each of the four
 */
#include <stdio.h>
#include <stdlib.h>

#include "marks.h"

enum { REPEAT = 20 };

struct work {
	struct device device;
	CUstream stream;
	CUdeviceptr word; /* 0: there is nothing to do */
};

static void operate(void *argument)
{
	const struct work *work = argument;

	if (work->word)
		device_stamp(&work->device, work->stream, work->word);
}

static void measure(struct marks *marks, struct work *work, double seconds, bool filled)
{
	marks_begin(marks, operate, work);
	const uint64_t end_ns = device_host_ns() + (uint64_t)(seconds * 1e9);

	do
		marks_turn(marks, filled, operate, work);
	while (!marks_are_full(marks) && device_host_ns() < end_ns);
	marks_print(marks, work->word ? "a small kernel" : "an empty stream", 1, filled);
}

int main(int argc, char **argv)
{
	static struct marks marks;
	const double seconds = argc == 2 ? strtod(argv[1], NULL) : 0;
	struct work work = { 0 };

	if (seconds <= 0) {
		fprintf(stderr, "usage: gpu_write SECONDS\n");
		return 2;
	}
	device_open(&work.device, 0);
	work.stream = device_stream();
	marks_open(&marks, &work.device, work.stream, REPEAT);
	for (int i = 0; i < 4; i++) {
		work.word = i / 2 ? device_memory(8) : 0;
		measure(&marks, &work, seconds, i % 2);
	}
	return 0;
}
