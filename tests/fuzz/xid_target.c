/* SPDX-License-Identifier: MIT */
/* The kernel log, which anybody may write to: one line through the parser and into the analysis, and all as a file. */
#include "tests/fuzz/box_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/numbers/xid.h"
#include "kernel_log/kernel_log.h"
#include "kernel_log/xid_line.h"

static void check(const struct xid_line *line)
{
	struct xid xid = xid_find(line->xid, line->text);

	if (!xid.meaning || !xid.action || strlen(line->pci) < strlen("0:0:0"))
		abort();
	for (const char *at = line->text; *at; at++)
		if ((unsigned char)*at < 0x20 || (unsigned char)*at > 0x7e)
			abort();
}

static void parse_line(const uint8_t *data, size_t size)
{
	/* An allocation of the exact size: a read behind the end is seen. */
	char *bytes = malloc(size ? size : 1);
	struct xid_line line;

	if (!bytes)
		return;
	memcpy(bytes, data, size);
	if (xid_line_parse(bytes, size, &line) == 0)
		check(&line);
	free(bytes);
}

static void on_event(void *argument, const struct analysis_gpu_event *event)
{
	(void)argument;
	if (!memchr(event->pci, '\0', sizeof(event->pci)) || !memchr(event->text, '\0', sizeof(event->text)))
		abort();
}

static void on_oom(void *argument, int32_t pid, uint64_t at_ns)
{
	(void)argument, (void)at_ns;
	if (pid <= 0)
		abort();
}

static void read_log(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[32];
	struct kernel_log *log;

	if (fd < 0) {
		fd = memfd_create("kmsg", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size || kernel_log_open(&log, path))
		abort();
	kernel_log_hear_oom(log, on_oom, NULL);
	if (kernel_log_read_all(log, on_event, NULL))
		abort();
	kernel_log_begins(log);
	kernel_log_close(log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parse_line(data, size);
	read_log(data, size);
	return 0;
}
