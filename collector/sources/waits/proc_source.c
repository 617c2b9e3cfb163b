/* SPDX-License-Identifier: MIT */
#include "collector/sources/waits/proc_source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/sources/waits/descriptor.h"
#include "collector/sources/waits/proc_thread.h"

/* Four descriptors each: stays well below the usual limit of 1024. */
enum { KEPT_THREADS = 128 };

struct process {
	pid_t pid;
	int fd; /* /proc/PID: bound to this process, whatever becomes of its number */
	struct proc_thread *threads;
	uint32_t count, room;
	uint32_t round;
};

struct proc_source {
	char proc_root[128];
	struct mounts *mounts;
	bool with_stack;
	struct process *processes;
	uint32_t count, room;
	uint32_t kept;
};

/* One call of proc_source_sample(). */
struct sampling {
	struct proc_source *source;
	struct process *process;
	struct analysis_wait wait;
	struct proc_source_view view;
	analysis_process_id id;
	uint64_t now_ns;
	source_wait *callback;
	void *argument;
	int err; /* the last thread that could not be read, unless it had just ended */
};

static bool stack_readable(const char *proc_root)
{
	char path[160], byte;

	snprintf(path, sizeof(path), "%s/self/stack", proc_root);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool readable = fd >= 0 && read(fd, &byte, 1) >= 0;
	if (fd >= 0)
		close(fd);
	return readable;
}

int proc_source_open(struct proc_source **source, const char *proc_root, struct mounts *mounts)
{
	struct proc_source *opened = calloc(1, sizeof(*opened));

	*source = opened;
	if (!opened)
		return -ENOMEM;
	snprintf(opened->proc_root, sizeof(opened->proc_root), "%s", proc_root);
	opened->mounts = mounts;
	opened->with_stack = stack_readable(proc_root);
	return 0;
}

enum rw_level proc_source_level(const struct proc_source *source)
{
	return source->with_stack ? RW_LEVEL_ROOT : RW_LEVEL_PROC;
}

static void drop_thread(struct proc_source *source, struct process *process, uint32_t index)
{
	proc_thread_close(&process->threads[index]);
	process->threads[index] = process->threads[--process->count];
	source->kept--;
}

static void drop_process(struct proc_source *source, struct process *process)
{
	while (process->count)
		drop_thread(source, process, process->count - 1);
	free(process->threads);
	close(process->fd);
	*process = source->processes[--source->count];
}

void proc_source_close(struct proc_source *source)
{
	if (!source)
		return;
	while (source->count)
		drop_process(source, &source->processes[0]);
	free(source->processes);
	free(source);
}

static struct process *find_process(struct proc_source *source, pid_t pid)
{
	for (uint32_t i = 0; i < source->count; i++) {
		if (source->processes[i].pid == pid)
			return &source->processes[i];
	}
	return NULL;
}

void proc_source_forget(struct proc_source *source, pid_t pid)
{
	struct process *process = find_process(source, pid);

	if (process)
		drop_process(source, process);
}

static void *grown(void *array, uint32_t count, uint32_t *room, size_t item)
{
	if (count < *room)
		return array;

	void *larger = realloc(array, (*room * 2 + 8) * item);
	if (larger)
		*room = *room * 2 + 8;
	return larger;
}

static int add_process(struct proc_source *source, pid_t pid, struct process **process)
{
	char path[160];
	struct process *processes = grown(source->processes, source->count, &source->room, sizeof(*processes));

	if (!processes)
		return -ENOMEM;
	source->processes = processes;
	snprintf(path, sizeof(path), "%s/%d", source->proc_root, (int)pid);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	*process = &source->processes[source->count++];
	**process = (struct process){ .pid = pid, .fd = fd };
	return 0;
}

/* NULL: not kept, because there are enough already. */
static struct proc_thread *kept_thread(struct proc_source *source, struct process *process, uint32_t tid)
{
	for (uint32_t i = 0; i < process->count; i++) {
		if (process->threads[i].tid == tid)
			return &process->threads[i];
	}
	if (source->kept == KEPT_THREADS)
		return NULL;

	struct proc_thread *threads = grown(process->threads, process->count, &process->room, sizeof(*threads));
	if (!threads)
		return NULL;
	process->threads = threads;
	source->kept++;
	proc_thread_begin(&threads[process->count], tid);
	return &threads[process->count++];
}

static void name_file(struct proc_source *source, pid_t pid, struct analysis_wait *wait)
{
	struct descriptor descriptor;

	if (wait->fd < 0 || descriptor_read(source->proc_root, pid, wait->fd, source->mounts, &descriptor))
		return;
	wait->device = descriptor.device;
	memcpy(wait->path, descriptor.path, sizeof(wait->path));
	memcpy(wait->file_system, descriptor.file_system, sizeof(wait->file_system));
	memcpy(wait->device_name, descriptor.device_name, sizeof(wait->device_name));
}

static int sample_thread(struct sampling *sampling, uint32_t tid)
{
	struct proc_source *source = sampling->source;
	struct proc_thread *kept = kept_thread(source, sampling->process, tid), once;

	if (!kept)
		proc_thread_begin(&once, tid);
	sampling->wait = (struct analysis_wait){ 0 };
	int err =
	    proc_thread_read(kept ? kept : &once, sampling->process->fd, kept, source->with_stack, &sampling->wait);
	if (err)
		return err; /* what was kept for it goes when the list is next swept */
	if (kept)
		kept->round = sampling->process->round;

	name_file(source, sampling->process->pid, &sampling->wait);
	sampling->wait.process = sampling->id;
	sampling->wait.kind = ANALYSIS_WAIT_SAMPLE;
	sampling->wait.level = proc_source_level(source);
	sampling->wait.end_ns = sampling->now_ns;
	sampling->view.threads++;
	sampling->view.stopped += sampling->wait.state == 'T' || sampling->wait.state == 't';
	sampling->callback(sampling->argument, &sampling->wait);
	return 0;
}

static void sweep(struct proc_source *source, struct process *process)
{
	for (uint32_t i = process->count; i-- > 0;) {
		if (process->threads[i].round != process->round)
			drop_thread(source, process, i);
	}
}

static int look_at_all(struct sampling *sampling)
{
	int fd = openat(sampling->process->fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *tasks = fd < 0 ? NULL : fdopendir(fd);

	if (!tasks) {
		int err = errno;
		if (fd >= 0)
			close(fd);
		return err == ENOENT ? -ESRCH : -err;
	}
	sampling->process->round++;
	for (const struct dirent *entry; (entry = readdir(tasks));) {
		unsigned long tid = strtoul(entry->d_name, NULL, 10);
		int err = tid ? sample_thread(sampling, (uint32_t)tid) : 0;
		if (err && err != -ESRCH)
			sampling->err = err;
	}
	closedir(tasks);
	sweep(sampling->source, sampling->process);
	return sampling->view.threads || sampling->err ? sampling->err : -ESRCH;
}

int proc_source_sample(struct proc_source *source, analysis_process_id process, pid_t pid, uint32_t tid,
		       uint64_t now_ns, source_wait *wait, void *argument, struct proc_source_view *view)
{
	struct sampling sampling = {
		.source = source, .id = process, .now_ns = now_ns, .callback = wait, .argument = argument
	};

	sampling.process = find_process(source, pid);
	int err = sampling.process ? 0 : add_process(source, pid, &sampling.process);
	if (!err)
		err = tid ? sample_thread(&sampling, tid) : look_at_all(&sampling);
	if (err == -ESRCH && !tid)
		proc_source_forget(source, pid);
	if (view)
		*view = sampling.view;
	return err;
}
