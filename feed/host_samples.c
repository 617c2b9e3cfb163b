/* SPDX-License-Identifier: MIT */
#include "feed/host_samples.h"

#include <stdio.h>
#include <string.h>

#include "blackbox/system_call_numbers.h"

enum { PIECE = sizeof(((struct rw_host_sample *)NULL)->text) };

static struct sampled_thread *find_thread(struct host_samples *samples, uint32_t tid)
{
	for (size_t i = 0; i < HOST_SAMPLES_THREADS; i++)
		if (samples->threads[i].tid == tid)
			return &samples->threads[i];
	return NULL;
}

static struct sampled_file *find_file(struct host_samples *samples, uint32_t tid, int32_t fd)
{
	for (size_t i = 0; i < HOST_SAMPLES_FILES; i++)
		if (samples->files[i].tid == tid && samples->files[i].fd == fd)
			return &samples->files[i];
	return NULL;
}

static void take_thread(struct host_samples *samples, const struct rw_host_sample *sample)
{
	struct sampled_thread *thread = find_thread(samples, sample->tid);

	if (!thread)
		thread = &samples->threads[samples->threads_seen++ % HOST_SAMPLES_THREADS];
	thread->tid = sample->tid;
	snprintf(thread->name, sizeof(thread->name), "%.15s", sample->text);
}

static void take_file(struct host_samples *samples, const struct rw_host_sample *sample)
{
	struct sampled_file *file = find_file(samples, sample->tid, sample->fd);
	size_t at = (size_t)(unsigned char)sample->state * PIECE;

	if (!at) {
		if (!file)
			file = &samples->files[samples->files_seen++ % HOST_SAMPLES_FILES];
		*file = (struct sampled_file){ .tid = sample->tid, .fd = sample->fd, .device = sample->detail };
	}
	/* A piece whose predecessors were overwritten belongs to nothing. */
	if (file && strlen(file->path) == at && at < sizeof(file->path))
		snprintf(file->path + at, sizeof(file->path) - at, "%.*s", PIECE, sample->text);
}

static void add_file(const struct sampled_file *file, struct analysis_wait *wait)
{
	wait->device = file->device;
	memcpy(wait->path, file->path, sizeof(wait->path));
	memcpy(wait->file_system, file->file_system, sizeof(wait->file_system));
	memcpy(wait->device_name, file->device_name, sizeof(wait->device_name));
}

static void fill_wait(struct host_samples *samples, const struct rw_host_sample *sample, feed_mount *mount,
		      void *argument, struct analysis_wait *wait)
{
	const struct sampled_thread *thread = find_thread(samples, sample->tid);
	struct sampled_file *file = sample->fd >= 0 ? find_file(samples, sample->tid, sample->fd) : NULL;

	*wait = (struct analysis_wait){
		.kind = ANALYSIS_WAIT_SAMPLE,
		.level = RW_LEVEL_SELF,
		.tid = sample->tid,
		.start_ns = sample->monotonic_ns,
		.end_ns = sample->monotonic_ns,
		.run_queue_ns = sample->run_delay_ns,
		.cpu_ns = sample->detail * UINT64_C(1000000),
		.state = sample->state,
		.system_call = system_call_here(samples->machine, sample->system_call),
		.fd = sample->fd,
		.io_wait = sample->state == 'D',
	};
	if (thread)
		memcpy(wait->thread, thread->name, sizeof(wait->thread));
	snprintf(wait->wait_channel, sizeof(wait->wait_channel), "%.*s", PIECE, sample->text);
	if (file && mount && !file->mount_sought) {
		file->mount_sought = true;
		mount(argument, file->device, file->file_system, file->device_name);
	}
	if (file)
		add_file(file, wait);
}

bool host_samples_take(struct host_samples *samples, const struct rw_host_sample *sample, feed_mount *mount,
		       void *argument, struct analysis_wait *wait)
{
	switch (sample->kind) {
	case RW_SAMPLE_THREAD:
		take_thread(samples, sample);
		return false;
	case RW_SAMPLE_FILE:
		take_file(samples, sample);
		return false;
	case RW_SAMPLE_STATE:
		fill_wait(samples, sample, mount, argument, wait);
		return true;
	default: /* of a newer writer */
		return false;
	}
}

const char *host_samples_thread_name(const struct host_samples *samples, uint32_t tid)
{
	const struct sampled_thread *thread = tid ? find_thread((struct host_samples *)samples, tid) : NULL;

	return thread ? thread->name : NULL;
}
