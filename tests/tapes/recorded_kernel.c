/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/probes.h"
#include "machine.h"

/* As the collector asks for (collector/sources/waits/kernel_source.c). */
enum { THRESHOLD_NS = 10000000, WATCHED = 64, LOOKED = 2048 };

struct recorded_kernel {
	struct recording *recording;
	struct probes *probes;
	pid_t watched[WATCHED];
	size_t count;
	struct kernel_record looked[LOOKED]; /* of one process, in this look */
	size_t looked_count;
};

/* Takes the record over with its stack, whose number means nothing outside of this callback. */
static void fill(struct recorded_kernel *kernel, const struct rw_kernel_wait *wait, struct kernel_record *record)
{
	char frames[KERNEL_FRAMES][40];
	int count = probes_stack(kernel->probes, wait->stack_id, frames, KERNEL_FRAMES);

	*record = (struct kernel_record){ .wait = *wait, .frame_count = count > 0 ? (uint32_t)count : 0 };
	record->wait.stack_id = record->frame_count ? 0 : -1;
	for (uint32_t i = 0; i < record->frame_count; i++)
		record->frames[i] = recording_frame(kernel->recording, frames[i]);
	kernel_record_coarsen(record);
}

static void on_record(void *argument, const struct rw_kernel_wait *wait)
{
	struct recorded_kernel *kernel = argument;
	struct kernel_record record;

	if (machine_is_gpu(wait->thread))
		return;
	fill(kernel, wait, &record);
	if (wait->fd >= 0)
		recorded_threads_descriptor(kernel->recording, (pid_t)wait->tgid, wait->fd);
	if (wait->kind == RW_KERNEL_NOW) {
		if (kernel->looked_count < LOOKED)
			kernel->looked[kernel->looked_count++] = record;
		return;
	}
	put_kernel(kernel->recording->streams, TAPE_KERNEL, &kernel->recording->kernel, &record);
	recording_note(kernel->recording, TAPE_KERNEL);
}

struct recorded_kernel *recorded_kernel_new(struct recording *recording, char why[256])
{
	struct recorded_kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return NULL;
	kernel->recording = recording;
	if (!probes_open(&kernel->probes, THRESHOLD_NS, on_record, kernel, why))
		return kernel;
	free(kernel);
	return NULL;
}

static bool contains(const pid_t *pids, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

void recorded_kernel_watch(struct recorded_kernel *kernel, const pid_t *pids, size_t count)
{
	for (size_t i = kernel->count; i-- > 0;) {
		if (contains(pids, count, kernel->watched[i]))
			continue;
		probes_unwatch(kernel->probes, kernel->watched[i]);
		kernel->watched[i] = kernel->watched[--kernel->count];
	}
	for (size_t i = 0; i < count; i++)
		if (!contains(kernel->watched, kernel->count, pids[i]) && kernel->count < WATCHED &&
		    !probes_watch(kernel->probes, pids[i]))
			kernel->watched[kernel->count++] = pids[i];
}

/* But for the moment of the look, and how long the thread has slept by then. */
static bool is_as_before(const struct kernel_record *before, const struct kernel_record *now)
{
	struct kernel_record then = *before;

	then.wait.end_ns = now->wait.end_ns;
	then.wait.longest_ns = now->wait.longest_ns;
	return !memcmp(&then, now, sizeof(then));
}

static bool was_looked_at(const struct recorded_kernel *kernel, uint32_t tid)
{
	for (size_t i = 0; i < kernel->looked_count; i++)
		if (kernel->looked[i].wait.tid == tid)
			return true;
	return false;
}

/* Threads that are gone. */
static void put_ends(struct recorded_kernel *kernel, pid_t pid, struct buffer *stream)
{
	struct kernel_memory *memory = &kernel->recording->kernel;

	for (size_t i = 0; i < memory->count; i++) {
		const struct rw_kernel_wait *wait = &memory->records[i].wait;

		if (wait->kind != RW_KERNEL_NOW || wait->tgid != (uint32_t)pid || !memory->live[i] ||
		    was_looked_at(kernel, wait->tid))
			continue;
		put_number(stream, wait->tid);
		memory->live[i] = false;
	}
	put_number(stream, 0);
}

static bool has_moved(const struct kernel_memory *memory, const struct kernel_record *before,
		      const struct kernel_record *now)
{
	return before && !(memory->live[before - memory->records] && is_as_before(before, now));
}

static void put_look(struct recorded_kernel *kernel, pid_t pid)
{
	struct kernel_memory *memory = &kernel->recording->kernel;
	struct buffer *stream = &kernel->recording->streams[TAPE_LOOK];
	uint64_t at_ns = kernel->looked_count ? kernel->looked[0].wait.end_ns : kernel->recording->tick_ns;

	put_number(stream, (uint64_t)pid);
	put_signed(stream, (int64_t)(at_ns - kernel_coarse(kernel->recording->tick_ns)) >> KERNEL_GRAIN_BITS);
	put_ends(kernel, pid, stream);
	for (size_t i = 0; i < kernel->looked_count; i++) {
		const struct kernel_record *record = &kernel->looked[i];
		struct kernel_record *before = kernel_memory_of(memory, true, record->wait.tid);

		if (!has_moved(memory, before, record))
			continue;
		put_number(stream, 1);
		put_kernel(kernel->recording->streams, TAPE_LOOK, memory, record);
		memory->live[before - memory->records] = true;
	}
	put_number(stream, 0);
	recording_note(kernel->recording, TAPE_LOOK);
}

void recorded_kernel_look(struct recorded_kernel *kernel)
{
	probes_poll(kernel->probes);
	for (size_t i = 0; i < kernel->count; i++) {
		kernel->looked_count = 0;
		if (!probes_sample(kernel->probes, kernel->watched[i]))
			put_look(kernel, kernel->watched[i]);
	}
}

void recorded_kernel_free(struct recorded_kernel *kernel)
{
	if (!kernel)
		return;
	probes_close(kernel->probes);
	free(kernel);
}
