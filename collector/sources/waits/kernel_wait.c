/* SPDX-License-Identifier: MIT */
#include "collector/sources/waits/kernel_wait.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "collector/sources/waits/descriptor.h"
#include "collector/sources/waits/polled.h"
#include "ebpf/descriptor_calls.h"

static enum analysis_wait_kind kind_of(uint32_t kind)
{
	switch (kind) {
	case RW_KERNEL_RUN_QUEUE:
		return ANALYSIS_WAIT_RUN_QUEUE;
	case RW_KERNEL_SHORT_WAITS:
		return ANALYSIS_WAIT_SHORT;
	case RW_KERNEL_NOW:
		return ANALYSIS_WAIT_SAMPLE;
	default:
		return ANALYSIS_WAIT_INTERVAL;
	}
}

/* The kernel's task states (include/linux/sched.h), the same since 4.14. */
static char state_of(uint32_t state)
{
	static const struct {
		uint32_t bit;
		char letter;
	} states[] = { { 1, 'S' }, { 2, 'D' }, { 4, 'T' }, { 8, 't' }, { 0x10, 'Z' }, { 0x20, 'Z' }, { 0x80, 'Z' } };

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (state & states[i].bit)
			return states[i].letter;
	}
	return state ? 0 : 'R';
}

/* Kernels before 5.14 do not report the inode: then the name must do. */
static bool same_file(const struct rw_kernel_wait *record, uint64_t device, const struct descriptor *descriptor)
{
	const char *slash = strrchr(descriptor->path, '/');

	if (descriptor->device && descriptor->device != device)
		return false;
	if (descriptor->inode)
		return descriptor->inode == record->inode;
	return slash && !strncmp(slash + 1, record->file, sizeof(record->file) - 1);
}

/* As the link of an open one would read, where that is its inode alone; else the last part of the path. */
static void name_closed_file(const struct rw_kernel_wait *record, struct analysis_wait *wait)
{
	unsigned long long inode = record->inode;

	if (!strcmp(wait->file_system, "pipefs"))
		snprintf(wait->path, sizeof(wait->path), "pipe:[%llu]", inode);
	else if (!strcmp(wait->file_system, "sockfs"))
		snprintf(wait->path, sizeof(wait->path), "socket:[%llu]", inode);
	else
		snprintf(wait->path, sizeof(wait->path), "%.31s", record->file);
}

/* Returns whether the descriptor is seen, and still stands for the file. */
static bool read_file(const struct rw_kernel_wait *record, const char *proc_root, struct mounts *mounts,
		      struct analysis_wait *wait)
{
	struct descriptor descriptor;
	bool is_open = !descriptor_read(proc_root, (pid_t)record->tgid, record->fd, mounts, &descriptor) &&
		       same_file(record, wait->device, &descriptor);

	snprintf(wait->file_system, sizeof(wait->file_system), "%.15s", record->file_system);
	if (is_open)
		memcpy(wait->path, descriptor.path, sizeof(wait->path));
	else
		name_closed_file(record, wait);

	const struct mount_entry *mount = mounts_by_device(mounts, (pid_t)record->tgid, wait->device);
	if (mount) {
		memcpy(wait->file_system, mount->file_system, sizeof(wait->file_system));
		memcpy(wait->device_name, mount->source, sizeof(wait->device_name));
	}
	return is_open;
}

static void fill_file(const struct rw_kernel_wait *record, const char *proc_root, struct mounts *mounts,
		      struct file_names *names, struct analysis_wait *wait)
{
	if (record->fd < 0 || !record->file_system[0])
		return;
	wait->device = makedev(record->device >> 20, record->device & 0xfffff);
	if (!file_names_find(names, record, wait) && read_file(record, proc_root, mounts, wait))
		file_names_keep(names, record, wait);
}

/* A thread that was in poll(2) before its process was watched: its memory can still be asked. */
static void fill_polled(const struct rw_kernel_wait *record, const char *proc_root, struct mounts *mounts,
			struct analysis_wait *wait)
{
	struct descriptor descriptor;

	if (record->kind != RW_KERNEL_NOW || record->fd >= 0 || !descriptor_polled(record->system_call))
		return;
	wait->fd = polled_by_thread(proc_root, (pid_t)record->tgid, record->tid);
	if (wait->fd < 0 || descriptor_read(proc_root, (pid_t)record->tgid, wait->fd, mounts, &descriptor))
		return;
	memcpy(wait->path, descriptor.path, sizeof(wait->path));
	memcpy(wait->file_system, descriptor.file_system, sizeof(wait->file_system));
}

/* ksoftirqd runs other tasks' timers and packets: its wakes say nothing. */
static void fill_waker(const struct rw_kernel_wait *record, struct analysis_wait *wait)
{
	if (!record->waker_tid || !strncmp(record->waker, "ksoftirqd/", 10))
		return;
	wait->waker_tid = record->waker_tid;
	wait->out_of_process_wake = record->waker_tgid != record->tgid;
	wait->waker_pid = (int32_t)record->waker_tgid;
	snprintf(wait->waker, sizeof(wait->waker), "%.15s", record->waker);
}

void kernel_wait_fill(const struct rw_kernel_wait *record, const char *proc_root, struct mounts *mounts,
		      struct file_names *names, struct analysis_wait *wait)
{
	*wait = (struct analysis_wait){
		.kind = kind_of(record->kind),
		.level = RW_LEVEL_EBPF,
		.tid = record->tid,
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.blocked_ns = record->blocked_ns,
		.run_queue_ns = record->run_queue_ns,
		.longest_ns = record->longest_ns,
		.cpu_ns = record->cpu_ns,
		.state = state_of(record->state),
		.system_call = record->system_call,
		.fd = record->fd,
		.io_wait = record->io_wait,
	};
	snprintf(wait->thread, sizeof(wait->thread), "%.15s", record->thread);
	fill_waker(record, wait);
	fill_file(record, proc_root, mounts, names, wait);
	fill_polled(record, proc_root, mounts, wait);
}
