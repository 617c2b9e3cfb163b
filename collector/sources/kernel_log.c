/* SPDX-License-Identifier: MIT */
#include "collector/sources/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/sources/xid_line.h"

enum {
	RECORD_MAX = 8192, /* a smaller read of /dev/kmsg fails with EINVAL and makes no progress */
	ROUNDS_MAX = 4096, /* records per poll: somebody who floods the log does not keep the collector busy */
};

struct kernel_log {
	int fd;
	bool caught_up; /* everything that was there at the start has been read */
	size_t used;    /* of the buffer: the beginning of a line */
	char buffer[2 * RECORD_MAX];
};

int kernel_log_open(struct kernel_log **log, const char *path)
{
	struct kernel_log *made = calloc(1, sizeof(*made));

	*log = NULL;
	if (!made)
		return -ENOMEM;
	made->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (made->fd < 0) {
		int err = -errno;

		free(made);
		return err;
	}
	*log = made;
	return 0;
}

void kernel_log_close(struct kernel_log *log)
{
	if (!log)
		return;
	close(log->fd);
	free(log);
}

static uint64_t time_of(const struct kernel_log *log, const struct xid_line *line, uint64_t now_ns)
{
	uint64_t stamp_ns = line->stamp_us < UINT64_MAX / 1000 ? line->stamp_us * 1000 : now_ns;

	return log->caught_up || stamp_ns > now_ns ? now_ns : stamp_ns;
}

static int tell(const struct kernel_log *log, const char *bytes, size_t length, uint64_t now_ns,
		kernel_log_event *event, void *argument)
{
	struct analysis_gpu_event told = { .source = ANALYSIS_GPU_KERNEL_LOG };
	struct xid_line line;

	if (xid_line_parse(bytes, length, &line))
		return 0;
	told.at_ns = time_of(log, &line, now_ns);
	told.xid = line.xid;
	told.pid = line.pid;
	memcpy(told.pci, line.pci, sizeof(told.pci));
	memcpy(told.text, line.text, sizeof(told.text));
	event(argument, &told);
	return 1;
}

/* Whole lines out of the buffer. Continuation lines (" KEY=value") are no records and fall out by themselves. */
static int take_lines(struct kernel_log *log, uint64_t now_ns, kernel_log_event *event, void *argument)
{
	char *at = log->buffer, *end = log->buffer + log->used, *newline;
	int found = 0;

	for (; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1)
		found += tell(log, at, (size_t)(newline - at), now_ns, event, argument);
	log->used = (size_t)(end - at);
	if (log->used > RECORD_MAX)
		log->used = 0; /* no record is so long */
	memmove(log->buffer, at, log->used);
	return found;
}

int kernel_log_poll(struct kernel_log *log, uint64_t now_ns, kernel_log_event *event, void *argument)
{
	int found = 0;

	for (int round = 0; round < ROUNDS_MAX; round++) {
		ssize_t got = read(log->fd, log->buffer + log->used, sizeof(log->buffer) - log->used);

		if (got < 0 && (errno == EPIPE || errno == EINTR))
			continue; /* EPIPE: records were overwritten before they were read; the next read goes on behind
				   */
		if (got < 0 && errno != EAGAIN)
			return -errno;
		if (got <= 0) {
			log->caught_up = true;
			break;
		}
		log->used += (size_t)got;
		found += take_lines(log, now_ns, event, argument);
	}
	return found;
}
