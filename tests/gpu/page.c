/* SPDX-License-Identifier: MIT */
/*
 * Can the GPU write into a black box? Registers memory of each kind with the driver, writes to it by a stream memory
 * operation and by a kernel, and looks from another process whether the value is there. One JSON line for each kind.
 *   gpu_page DIRECTORY     a tmpfs, as /dev/shm is
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"

enum { PAGE = 1024 * 64, BOX = 33 << 20, WITNESS_S = 60, ANSWER_MS = 5000, ROUNDS = 9, OFFSET = 4096 };

struct kind {
	const char *name;
	size_t size;
	bool shared_memory; /* a file in the directory; else anonymous */
};

static const struct kind kinds[] = {
	{ "progress page in tmpfs", PAGE, true },
	{ "whole box in tmpfs", BOX, true },
	{ "anonymous memory", PAGE, false },
};

/* Another process's view: it maps the file by itself, as a reader of the box does. */
struct witness {
	pid_t pid;
	int answers; /* one byte for each value seen: 1 and 2 */
};

static void *map_file(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *at = MAP_FAILED;

	if (fd >= 0 && posix_fallocate(fd, 0, (off_t)size) == 0)
		at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (fd >= 0)
		close(fd);
	return at;
}

static _Noreturn void watch(const char *path, size_t size, int answers)
{
	volatile uint64_t *words = map_file(path, size);
	uint64_t end_ns = device_host_ns() + WITNESS_S * 1000000000ULL;
	char seen = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (words == MAP_FAILED)
		_exit(1);
	while (seen < 2 && device_host_ns() < end_ns) {
		if (!words[OFFSET / 8 + (size_t)seen]) {
			usleep(100);
			continue;
		}
		seen++;
		if (write(answers, &seen, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static struct witness start_witness(const char *path, size_t size)
{
	struct witness witness = { .answers = -1 };
	int ends[2];

	if (!path || pipe(ends))
		return witness;
	witness.pid = fork();
	if (witness.pid == 0)
		watch(path, size, ends[1]);
	close(ends[1]);
	witness.answers = ends[0];
	return witness;
}

/* Did it see the next value? */
static bool saw(const struct witness *witness)
{
	struct pollfd answer = { .fd = witness->answers, .events = POLLIN };
	char seen;

	return poll(&answer, 1, ANSWER_MS) == 1 && read(witness->answers, &seen, 1) == 1;
}

static void end_witness(const struct witness *witness)
{
	if (witness->pid <= 0)
		return;
	kill(witness->pid, SIGKILL);
	waitpid(witness->pid, NULL, 0);
	close(witness->answers);
}

static double register_us(void *at, size_t size, CUresult *result)
{
	uint64_t begin_ns = device_host_ns();

	*result = cuMemHostRegister(at, size, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
	return (double)(device_host_ns() - begin_ns) / 1000;
}

/* Median, and the first one, of rounds of registering and forgetting; registered at the end. */
static CUresult measure(void *at, size_t size, double *first_us, double *median_us)
{
	double us[ROUNDS];
	CUresult result = CUDA_SUCCESS;

	for (int i = 0; i < ROUNDS; i++) {
		us[i] = register_us(at, size, &result);
		if (result)
			return result;
		if (i < ROUNDS - 1)
			DEVICE_CHECK(cuMemHostUnregister(at));
	}
	*first_us = us[0];
	*median_us = device_median(us, ROUNDS);
	return result;
}

static void write_and_watch(const struct device *device, const struct kind *kind, void *at,
			    const struct witness *witness, const double *us)
{
	volatile uint64_t *words = (uint64_t *)((char *)at + OFFSET);
	CUstream stream = device_stream();
	CUdeviceptr address;

	DEVICE_CHECK(cuMemHostGetDevicePointer(&address, at, 0));
	DEVICE_CHECK(cuStreamWriteValue64(stream, address + OFFSET, 42, 0));
	DEVICE_CHECK(cuStreamSynchronize(stream));
	bool written = words[0] == 42, seen = witness->pid > 0 && saw(witness);

	device_stamp(device, stream, address + OFFSET + 8);
	DEVICE_CHECK(cuStreamSynchronize(stream));
	bool stamped = words[1] != 0, stamp_seen = witness->pid > 0 && saw(witness);

	printf("{\"kind\":\"%s\",\"bytes\":%zu,\"error\":0,\"first_us\":%.1f,\"median_us\":%.1f,\"written\":%d,"
	       "\"seen_by_other\":%d,\"stamped\":%d,\"stamp_seen_by_other\":%d,\"same_address\":%d}\n",
	       kind->name, kind->size, us[0], us[1], written, seen, stamped, stamp_seen, address == (CUdeviceptr)at);
}

static int try_kind(const struct device *device, const struct kind *kind, const char *path,
		    const struct witness *witness)
{
	void *at = path ? map_file(path, kind->size)
			: mmap(NULL, kind->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double us[2] = { 0 };

	if (at == MAP_FAILED) {
		fprintf(stderr, "gpu_page: %s: %s\n", kind->name, strerror(errno));
		return 1;
	}
	CUresult result = measure(at, kind->size, &us[0], &us[1]);

	if (result)
		printf("{\"kind\":\"%s\",\"bytes\":%zu,\"error\":%d}\n", kind->name, kind->size, (int)result);
	else
		write_and_watch(device, kind, at, witness, us);
	return 0;
}

int main(int argc, char **argv)
{
	enum { KINDS = sizeof(kinds) / sizeof(*kinds) };
	struct witness witnesses[KINDS];
	char paths[KINDS][512];
	struct device device;
	int failed = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: gpu_page DIRECTORY\n");
		return 2;
	}
	/* Before the driver is there: a child of a process that uses it may not. */
	for (int i = 0; i < KINDS; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/gpu-page-%d", argv[1], i);
		witnesses[i] = start_witness(kinds[i].shared_memory ? paths[i] : NULL, kinds[i].size);
	}
	device_open(&device, 0);
	for (int i = 0; i < KINDS; i++) {
		failed |= try_kind(&device, &kinds[i], kinds[i].shared_memory ? paths[i] : NULL, &witnesses[i]);
		end_witness(&witnesses[i]);
		unlink(paths[i]);
	}
	return failed;
}
