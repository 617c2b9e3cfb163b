/* SPDX-License-Identifier: MIT */
#include "kernel_log/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/in_time.h"
#include "kernel_log/oom_line.h"
#include "kernel_log/xid_line.h"

enum {
	OPEN_MS = 1000,    /* of a file that the user named, on any file system */
	RECORD_MAX = 8192, /* a smaller read of /dev/kmsg fails with EINVAL and makes no progress */
	ROUNDS_MAX = 4096, /* records per poll: somebody who floods the log does not keep the collector busy */
};

struct kernel_log {
	int fd;
	bool caught_up; /* everything that was there at the start has been read */
	size_t used;    /* of the buffer: the beginning of a line */
	bool begun;     /* the first record has been seen */
	uint64_t begins_ns; /* its stamp; 0 when it is the first since the machine was started */
	kernel_log_oom *oom; /* NULL: nobody asks */
	void *oom_argument;
	char buffer[2 * RECORD_MAX];
};

int kernel_log_open(struct kernel_log **log, const char *path)
{
	struct kernel_log *made = calloc(1, sizeof(*made));

	*log = NULL;
	if (!made)
		return -ENOMEM;
	made->fd = in_time_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, OPEN_MS);
	if (made->fd < 0) {
		int err = made->fd;

		free(made);
		return err;
	}
	*log = made;
	return 0;
}

static const char machine_log[] = "/dev/kmsg";

void kernel_log_explain(const char *path, int err, char *why, size_t room)
{
	snprintf(why, room, "%s: %s%s", path ? path : machine_log, strerror(-err),
		 !path && (err == -EPERM || err == -EACCES) ? ", needs CAP_SYSLOG" : "");
}

int kernel_log_open_chosen(struct kernel_log **log, const char *path, char *why, size_t room)
{
	int err = kernel_log_open(log, path ? path : machine_log);

	if (err)
		kernel_log_explain(path, err, why, room);
	return err;
}

void kernel_log_close(struct kernel_log *log)
{
	if (!log)
		return;
	close(log->fd);
	free(log);
}

static uint64_t time_of(const struct kernel_log *log, uint64_t stamp_us, uint64_t now_ns)
{
	uint64_t stamp_ns = stamp_us < UINT64_MAX / 1000 ? stamp_us * 1000 : now_ns;

	return log->caught_up || stamp_ns > now_ns ? now_ns : stamp_ns;
}

static int report(const struct kernel_log *log, const char *bytes, size_t length, uint64_t now_ns,
		kernel_log_event *event, void *argument)
{
	struct analysis_gpu_event reported = { .source = ANALYSIS_GPU_KERNEL_LOG };
	struct xid_line line;

	if (xid_line_parse(bytes, length, &line))
		return 0;
	reported.at_ns = time_of(log, line.stamp_us, now_ns);
	reported.xid = line.xid;
	reported.pid = line.pid;
	memcpy(reported.pci, line.pci, sizeof(reported.pci));
	memcpy(reported.text, line.text, sizeof(reported.text));
	event(argument, &reported);
	return 1;
}

static void report_oom(const struct kernel_log *log, const char *line, uint64_t now_ns)
{
	uint64_t stamp_us;
	int32_t pid;

	if (log->oom && !oom_line_parse(line, &pid, &stamp_us))
		log->oom(log->oom_argument, pid, time_of(log, stamp_us, now_ns));
}

/* Records are numbered from 0: "6,339,5140900,-;…" */
static void note_begin(struct kernel_log *log, const char *bytes)
{
	unsigned long long number, stamp_us;

	if (log->begun)
		return;
	log->begun = true;
	if (sscanf(bytes, "%*u,%llu,%llu,", &number, &stamp_us) == 2 && number)
		log->begins_ns = stamp_us < UINT64_MAX / 1000 ? stamp_us * 1000 : 0;
}

/* Whole lines out of the buffer. Continuation lines (" KEY=value") are no records and fall out by themselves. */
static int take_lines(struct kernel_log *log, uint64_t now_ns, kernel_log_event *event, void *argument)
{
	char *at = log->buffer, *end = log->buffer + log->used, *newline;
	int found = 0;

	for (; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		*newline = '\0'; /* ends what sscanf() looks at: the buffer may be full */
		note_begin(log, at);
		report_oom(log, at, now_ns);
		found += report(log, at, (size_t)(newline - at), now_ns, event, argument);
	}
	log->used = (size_t)(end - at);
	if (log->used > RECORD_MAX)
		log->used = 0; /* no record is so long */
	memmove(log->buffer, at, log->used);
	return found;
}

void kernel_log_hear_oom(struct kernel_log *log, kernel_log_oom *oom, void *argument)
{
	log->oom = oom;
	log->oom_argument = argument;
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

int kernel_log_read_all(struct kernel_log *log, kernel_log_event *event, void *argument)
{
	uint64_t now_ns = clock_monotonic_ns();
	int found = 0;

	while (found >= 0 && !log->caught_up)
		found = kernel_log_poll(log, now_ns, event, argument);
	return found < 0 ? found : 0;
}

uint64_t kernel_log_begins(const struct kernel_log *log)
{
	return log->begins_ns;
}
