/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ebpf/descriptor_calls.h"
#include "machine.h"

enum { THREADS = 2048, FILES = 5, TIMES = 1, SYSTEM_CALL = 2, GRAIN_NS = 1000000, STAT_FIELDS = 23 };

static const char *const names[FILES] = { "stat", "schedstat", "syscall", "wchan", "stack" };

struct watched_thread {
	pid_t pid, tid;
	int files[FILES];
	unsigned int round;
};

struct recorded_threads {
	struct watched_thread threads[THREADS];
	size_t count;
	unsigned int round;
};

ssize_t machine_read(const char *path, char *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t used = 0, got = 1;

	while (fd >= 0 && got > 0 && used < TAPE_TEXT_MAX) {
		got = read(fd, text + used, (size_t)(TAPE_TEXT_MAX - used));
		used += got > 0 ? got : 0;
	}
	if (fd >= 0)
		close(fd);
	return fd < 0 || got < 0 ? -1 : used;
}

bool machine_is_gpu(const char *thread_name)
{
	return !strncmp(thread_name, "cuda-stream", strlen("cuda-stream"));
}

struct recorded_threads *recorded_threads_new(void)
{
	return calloc(1, sizeof(struct recorded_threads));
}

void recorded_threads_descriptor(struct recording *recording, pid_t pid, int fd)
{
	char real[64], path[64], text[TAPE_TEXT_MAX];

	snprintf(real, sizeof(real), "/proc/%d/fd/%d", (int)pid, fd);
	ssize_t length = readlink(real, text, TAPE_PATH);

	if (length < 0) {
		recording_gone(recording, real + 1);
		return;
	}
	text[length] = '\0';
	recording_link(recording, real + 1, text);
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)pid, fd);
	length = machine_read(path, text);
	if (length >= 0)
		recording_text(recording, path + 1, text, (size_t)length);
}

void recorded_threads_polled(struct recording *recording, pid_t pid, uint64_t address)
{
	struct pollfd first;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	int memory = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = memory < 0 ? -1 : pread(memory, &first, sizeof(first), (off_t)address);

	if (memory >= 0)
		close(memory);
	if (length != (ssize_t)sizeof(first))
		return;
	snprintf(path, sizeof(path), "proc/%d/mem@%llx", (int)pid, (unsigned long long)address);
	recording_text(recording, path, (const char *)&first, sizeof(first));
	if (first.fd >= 0)
		recorded_threads_descriptor(recording, pid, first.fd);
}

static struct watched_thread *thread_of(struct recorded_threads *threads, pid_t pid, pid_t tid)
{
	for (size_t i = 0; i < threads->count; i++)
		if (threads->threads[i].pid == pid && threads->threads[i].tid == tid)
			return &threads->threads[i];
	if (threads->count == THREADS)
		return NULL;
	struct watched_thread *made = &threads->threads[threads->count++];

	*made = (struct watched_thread){ .pid = pid, .tid = tid };
	for (int file = 0; file < FILES; file++)
		made->files[file] = -1;
	return made;
}

static void forget(struct recorded_threads *threads, struct recording *recording, size_t index)
{
	struct watched_thread *thread = &threads->threads[index];
	char prefix[64];

	for (int file = 0; file < FILES; file++)
		if (thread->files[file] >= 0)
			close(thread->files[file]);
	snprintf(prefix, sizeof(prefix), "proc/%d/task/%d/", (int)thread->pid, (int)thread->tid);
	recording_all_gone(recording, prefix);
	*thread = threads->threads[--threads->count];
}

/* The text without an end, or -1. */
static ssize_t read_file(struct watched_thread *thread, int file, char *text, size_t room)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)thread->pid, (int)thread->tid, names[file]);
	if (thread->files[file] < 0)
		thread->files[file] = open(path, O_RDONLY | O_CLOEXEC);
	return thread->files[file] < 0 ? -1 : pread(thread->files[file], text, room, 0);
}

/* "cpu-ns run-queue-ns slices", the times in whole milliseconds: the rest is noise. */
static ssize_t coarsen(char *text, size_t room)
{
	unsigned long long cpu_ns, delay_ns, slices;

	if (sscanf(text, "%llu %llu %llu", &cpu_ns, &delay_ns, &slices) != 3)
		return (ssize_t)strlen(text);
	return snprintf(text, room, "%llu %llu %llu\n", cpu_ns - cpu_ns % GRAIN_NS, delay_ns - delay_ns % GRAIN_NS,
			slices);
}

/* Of "4711 (a name) S 1 …" what is said of the thread: behind its start stand the whole process's pages, which change
 * in every thread's file at once. */
static ssize_t shorten(char *text)
{
	char *end = strrchr(text, ')');

	for (int fields = 2; end && *end && fields < STAT_FIELDS; fields++)
		end = strchr(end + 1, ' ') ? strchr(end + 1, ' ') : end + strlen(end);
	if (end && *end == ' ')
		strcpy(end, "\n");
	return (ssize_t)strlen(text);
}

/* Only what a source looks at: of a thread that runs /proc tells no system call. */
static bool look(struct watched_thread *thread, struct recording *recording)
{
	char path[64], text[4096];
	bool runs = false;

	for (int file = 0; file < FILES && !(runs && file >= SYSTEM_CALL); file++) {
		ssize_t length = read_file(thread, file, text, sizeof(text) - 1);
		unsigned long long argument;
		int number;

		if (length < 0 && file == 0)
			return false;
		if (length < 0)
			continue;
		text[length] = '\0';
		if (file == 0 && strchr(text, '(') && machine_is_gpu(strchr(text, '(') + 1))
			return true;
		if (file == 0)
			length = shorten(text);
		if (file == TIMES)
			length = coarsen(text, sizeof(text));
		snprintf(path, sizeof(path), "proc/%d/task/%d/%s", (int)thread->pid, (int)thread->tid, names[file]);
		recording_text(recording, path, text, (size_t)length);
		const char *after = file == 0 ? strrchr(text, ')') : NULL;

		runs |= after && !strncmp(after, ") R", 3);
		if (file != SYSTEM_CALL || sscanf(text, "%d %llx", &number, &argument) != 2)
			continue;
		if (descriptor_call(number))
			recorded_threads_descriptor(recording, thread->pid, (int)argument);
		else if (descriptor_polled(number))
			recorded_threads_polled(recording, thread->pid, argument);
	}
	return true;
}

void recorded_threads_look(struct recorded_threads *threads, struct recording *recording, pid_t pid)
{
	char path[64];
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	directory = opendir(path);
	threads->round++;
	for (const struct dirent *entry; directory && (entry = readdir(directory));) {
		pid_t tid = atoi(entry->d_name);
		struct watched_thread *thread = tid ? thread_of(threads, pid, tid) : NULL;

		if (thread && look(thread, recording))
			thread->round = threads->round;
	}
	if (directory)
		closedir(directory);
	for (size_t i = threads->count; i-- > 0;)
		if (threads->threads[i].pid == pid && threads->threads[i].round != threads->round)
			forget(threads, recording, i);
}

void recorded_threads_free(struct recorded_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++)
		for (int file = 0; file < FILES; file++)
			if (threads->threads[i].files[file] >= 0)
				close(threads->threads[i].files[file]);
	free(threads);
}
