/* SPDX-License-Identifier: MIT */
/* A trace of PyTorch's profiler, that `rankwatch trace --merge` is to put beside ours: what it writes of it is JSON. */
#include "tests/fuzz/box_target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "console/trace/kineto_merge.h"

static int merge(const char *path, struct trace_sink *sink)
{
	struct replay_process process = { .rank = 3 };
	struct replay replay = { .processes = &process, .count = 1 };
	struct host_clock host = { .realtime_offset_ns = INT64_C(1795000000000000000) };
	struct host_clocks clocks = { .hosts = &host, .count = 1 };
	struct kineto_merge merge = { .path = path };
	char why[KINETO_WHY] = "";
	uint32_t next = 9;
	int err = kineto_merge_write(&merge, sink, &replay, &clocks, &next, why);

	/* Whoever named the file is told what is wrong with it. */
	if (err == -EBADMSG && !*why)
		abort();
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64], *text = NULL;
	size_t length;
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct trace_sink sink = { .format = &trace_chrome, .out = open_memstream(&text, &length) };

	if (fd < 0 || !sink.out || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (sink.format->open(&sink, &(struct trace_head){ .rank = 3, .world_size = 8, .job = "fuzz" }))
		abort();
	merge(path, &sink);
	sink.format->close(&sink);
	fclose(sink.out);
	json_t *written = json_loads(text, 0, NULL);
	if (!written)
		abort();
	json_decref(written);
	free(text);
	close(fd);
	return 0;
}
