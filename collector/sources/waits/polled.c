/* SPDX-License-Identifier: MIT */
#include "collector/sources/waits/polled.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "ebpf/descriptor_calls.h"

int polled_descriptor(int process_fd, uint64_t address)
{
	struct pollfd first;
	int memory = openat(process_fd, "mem", O_RDONLY | O_CLOEXEC);

	if (memory < 0)
		return -1;
	ssize_t length = pread(memory, &first, sizeof(first), (off_t)address);
	close(memory);
	return length == (ssize_t)sizeof(first) && first.fd >= 0 ? first.fd : -1;
}

int polled_by_thread(const char *proc_root, pid_t pid, uint32_t tid)
{
	char path[192];
	int number = -1, fd = -1;
	uint64_t address;

	snprintf(path, sizeof(path), "%s/%d/task/%" PRIu32 "/syscall", proc_root, (int)pid, tid);
	FILE *file = fopen(path, "re");
	bool polls = file && fscanf(file, "%d %" SCNx64, &number, &address) == 2 && descriptor_polled(number);
	if (file)
		fclose(file);
	snprintf(path, sizeof(path), "%s/%d", proc_root, (int)pid);
	int process_fd = polls ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (process_fd < 0)
		return -1;
	fd = polled_descriptor(process_fd, address);
	close(process_fd);
	return fd;
}
