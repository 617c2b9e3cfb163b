/* SPDX-License-Identifier: MIT */
#include "sim/nccl/bootstrap/host.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/nccl/bootstrap/meeting.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static uint64_t hash;

static size_t read_boot_id(char *text, size_t size)
{
	int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, size);

	if (fd >= 0)
		close(fd);
	return got > 0 ? (size_t)got : 0;
}

static void hash_once(void)
{
	const char *claimed = getenv("NCCL_HOSTID");
	char text[256] = "";

	if (claimed && *claimed) {
		hash = meeting_hash(claimed, strlen(claimed), 0);
		return;
	}
	gethostname(text, sizeof(text) / 2);
	size_t length = strnlen(text, sizeof(text) / 2);
	hash = meeting_hash(text, length + read_boot_id(text + length, sizeof(text) - length), 0);
}

uint64_t host_hash(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, hash_once);
	return hash;
}
