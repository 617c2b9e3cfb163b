/* SPDX-License-Identifier: MIT */
#include "sim/workload/job/event_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/workload/job/clock.h"

static struct {
	int fd;
	int rank;
} event_log = { .fd = -1 };

int event_log_open(const char *path, int rank)
{
	event_log.rank = rank;
	if (!path)
		return 0;
	event_log.fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	return event_log.fd < 0 ? -errno : 0;
}

/* One write a line: several ranks append to the same file. */
__attribute__((format(printf, 1, 2))) static void append(const char *format, ...)
{
	char line[256];
	va_list arguments;

	if (event_log.fd < 0)
		return;
	va_start(arguments, format);
	int length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (write(event_log.fd, line, length) != length)
		perror("workload: fault log");
}

void event_log_start(void)
{
	append("{\"event\":\"start\",\"rank\":%d,\"pid\":%d,\"monotonic_ns\":%llu}\n", event_log.rank, (int)getpid(),
	       (unsigned long long)clock_now_ns(CLOCK_MONOTONIC));
}

void event_log_fault(const char *kind, int step)
{
	append("{\"event\":\"fault\",\"kind\":\"%s\",\"rank\":%d,\"step\":%d,\"monotonic_ns\":%llu}\n", kind,
	       event_log.rank, step, (unsigned long long)clock_now_ns(CLOCK_MONOTONIC));
}

void event_log_late_step(int step, double late_ms)
{
	append("{\"event\":\"late_step\",\"rank\":%d,\"step\":%d,\"late_ms\":%.1f,\"monotonic_ns\":%llu}\n",
	       event_log.rank, step, late_ms, (unsigned long long)clock_now_ns(CLOCK_MONOTONIC));
}
