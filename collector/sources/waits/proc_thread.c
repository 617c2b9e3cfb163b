/* SPDX-License-Identifier: MIT */
#include "collector/sources/waits/proc_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/sources/waits/polled.h"
#include "ebpf/descriptor_calls.h"
#include "ebpf/kernel_symbols.h"

enum { STAT, SCHEDSTAT, SYSTEM_CALL, WAIT_CHANNEL };
static const char *const names[PROC_THREAD_FILES] = { "stat", "schedstat", "syscall", "wchan" };

void proc_thread_begin(struct proc_thread *thread, uint32_t tid)
{
	*thread = (struct proc_thread){ .tid = tid };
	for (int file = 0; file < PROC_THREAD_FILES; file++)
		thread->files[file] = -1;
}

void proc_thread_close(struct proc_thread *thread)
{
	for (int file = 0; file < PROC_THREAD_FILES; file++) {
		if (thread->files[file] >= 0)
			close(thread->files[file]);
		thread->files[file] = -1;
	}
}

static int open_file(const struct proc_thread *thread, int process_fd, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "task/%" PRIu32 "/%s", thread->tid, name);
	return openat(process_fd, path, O_RDONLY | O_CLOEXEC);
}

/* Length of the text, or -errno. */
static int read_kept(struct proc_thread *thread, int process_fd, int file, char *text, size_t room)
{
	if (thread->files[file] < 0)
		thread->files[file] = open_file(thread, process_fd, names[file]);
	if (thread->files[file] < 0)
		return -errno;

	ssize_t length = pread(thread->files[file], text, room - 1, 0);
	if (length < 0)
		return -errno;
	text[length] = '\0';
	return (int)length;
}

/* "4711 (a name) S 1 …": the name may hold blanks and brackets, so it ends at the last bracket. */
static bool parse_stat(const char *text, struct analysis_wait *wait)
{
	const char *begin = strchr(text, '('), *end = strrchr(text, ')');

	if (!begin || !end || end < begin || end[1] != ' ' || !end[2])
		return false;
	snprintf(wait->thread, sizeof(wait->thread), "%.*s", (int)(end - begin - 1), begin + 1);
	wait->state = end[2] == 'I' ? 'S' : end[2];
	return true;
}

/* By the 32-bit interface (or x32's) a number means another call: all of such a program lies below 4 GiB. */
static bool is_foreign_call(int number, const char *text)
{
	const int x32 = 1 << 30;
	unsigned long long stack, instruction;

	if (number < 0)
		return false;
	if (sscanf(text, "%*d %*x %*x %*x %*x %*x %*x %llx %llx", &stack, &instruction) != 2)
		return number & x32;
	return number & x32 || (stack && stack >> 32 == 0 && instruction >> 32 == 0);
}

/* "74 0x3 0x0 …", "-1 0x7ffd… 0x7f…" outside of a system call, "running". */
static void parse_system_call(const char *text, int process_fd, struct analysis_wait *wait)
{
	int number;
	unsigned long long argument;

	if (sscanf(text, "%d %llx", &number, &argument) != 2 || is_foreign_call(number, text))
		return;
	wait->system_call = number;
	if (descriptor_call(number))
		wait->fd = (int32_t)argument;
	else if (descriptor_polled(number))
		wait->fd = polled_descriptor(process_fd, argument);
}

static void parse_stack_line(const char *line, struct analysis_wait *wait)
{
	char name[40];

	if (wait->frame_count == sizeof(wait->frames) / sizeof(wait->frames[0]))
		return;
	if (sscanf(line, "[<%*[^>]>] %39[^+. \n]", name) != 1 || kernel_entry_code(name))
		return;
	snprintf(wait->frames[wait->frame_count++], sizeof(wait->frames[0]), "%s", name);
}

static void read_stack(struct proc_thread *thread, int process_fd, struct analysis_wait *wait)
{
	char line[256];
	int fd = open_file(thread, process_fd, "stack");
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (fgets(line, sizeof(line), file))
		parse_stack_line(line, wait);
	fclose(file);
}

static void read_blocked(struct proc_thread *thread, int process_fd, bool with_stack, struct analysis_wait *wait)
{
	char text[256];

	if (read_kept(thread, process_fd, SYSTEM_CALL, text, sizeof(text)) > 0)
		parse_system_call(text, process_fd, wait);
	if (read_kept(thread, process_fd, WAIT_CHANNEL, text, sizeof(text)) > 0 && strcmp(text, "0"))
		snprintf(wait->wait_channel, sizeof(wait->wait_channel), "%.*s", (int)strcspn(text, "\n"), text);
	if (with_stack)
		read_stack(thread, process_fd, wait);
}

static int read_stat(struct proc_thread *thread, int process_fd, struct analysis_wait *wait)
{
	char text[512];
	int length = read_kept(thread, process_fd, STAT, text, sizeof(text));

	if (length < 0)
		return length == -ENOENT ? -ESRCH : length;
	return parse_stat(text, wait) ? 0 : -EINVAL;
}

int proc_thread_read(struct proc_thread *thread, int process_fd, bool keep, bool with_stack, struct analysis_wait *wait)
{
	char text[128];

	wait->tid = thread->tid;
	wait->system_call = -2;
	wait->fd = -1;
	int err = read_stat(thread, process_fd, wait);
	if (!err && read_kept(thread, process_fd, SCHEDSTAT, text, sizeof(text)) > 0)
		sscanf(text, "%" SCNu64 " %" SCNu64, &wait->cpu_ns, &wait->run_queue_ns);
	if (!err && wait->state != 'R')
		read_blocked(thread, process_fd, with_stack, wait);
	if (!keep || err)
		proc_thread_close(thread);
	return err;
}
