/* SPDX-License-Identifier: MIT */
/* In place of ebpf/probes.c: hands the kernel's records over as they were recorded. */
#include "ebpf/probes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "played.h"

enum { WATCHED = 64 };

struct probes {
	probes_record *record;
	void *argument;
	pid_t watched[WATCHED];
	size_t count;
	const struct kernel_record *handed; /* whose callback is running */
};

static int keep(const struct kernel_record *record)
{
	if (played->fresh_count == played->fresh_room) {
		size_t room = played->fresh_room * 2 + 64;
		struct kernel_record *larger = realloc(played->fresh, room * sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		played->fresh = larger;
		played->fresh_room = room;
	}
	played->fresh[played->fresh_count++] = *record;
	return 0;
}

static int add_frame(struct span *names)
{
	const uint8_t *end = memchr(names->at, 0, (size_t)(names->end - names->at));
	size_t length = end ? (size_t)(end - names->at) : sizeof(played->frames[0]);

	if (played->frame_count == PLAYED_FRAMES || length >= sizeof(played->frames[0]))
		return -EINVAL;
	memcpy(played->frames[played->frame_count++], names->at, length);
	names->at = end + 1;
	return 0;
}

static void advance(struct rw_kernel_wait *wait, uint64_t at_ns)
{
	wait->longest_ns += wait->longest_ns && at_ns > wait->end_ns ? at_ns - wait->end_ns : 0;
	wait->end_ns = at_ns;
}

/* Of threads that have not moved since the last look there is only the moment of this one. */
static int apply_look(struct span *streams)
{
	struct span *content = &streams[TAPE_LOOK];
	struct kernel_memory *memory = &played->kernel;
	uint32_t tgid = (uint32_t)take_number(content);
	uint64_t at_ns = kernel_coarse(played->now_ns) + ((uint64_t)take_signed(content) << KERNEL_GRAIN_BITS);

	for (uint64_t tid; (tid = take_number(content));) {
		struct kernel_record *record = kernel_memory_of(memory, true, (uint32_t)tid);

		if (record)
			memory->live[record - memory->records] = false;
	}
	for (size_t i = 0; i < memory->count; i++)
		if (memory->live[i] && memory->records[i].wait.tgid == tgid)
			advance(&memory->records[i].wait, at_ns);
	while (take_number(content)) {
		const struct kernel_record *record = take_kernel(streams, TAPE_LOOK, memory);

		if (!record)
			return -EINVAL;
		memory->live[record - memory->records] = true;
	}
	return content->bad ? -EINVAL : 0;
}

int played_probes_apply(struct tape *tape, enum tape_record type)
{
	if (type == TAPE_FRAME)
		return add_frame(&tape->streams[TAPE_FRAME]);
	if (type == TAPE_LOOK)
		return apply_look(tape->streams);
	const struct kernel_record *record = take_kernel(tape->streams, TAPE_KERNEL, &played->kernel);

	return record ? keep(record) : -EINVAL;
}

void played_probes_forget(void)
{
	played->fresh_count = 0;
}

int probes_open(struct probes **probes, uint64_t threshold_ns, probes_record *record, void *argument, char *why)
{
	(void)threshold_ns;
	*probes = NULL;
	if (!played->with_kernel) {
		snprintf(why, 256, "the tape is played without the kernel's records");
		return -EPERM;
	}
	*probes = calloc(1, sizeof(**probes));
	if (!*probes)
		return -ENOMEM;
	(*probes)->record = record;
	(*probes)->argument = argument;
	return 0;
}

void probes_close(struct probes *probes)
{
	free(probes);
}

static size_t index_of(const struct probes *probes, pid_t tgid)
{
	size_t i = 0;

	while (i < probes->count && probes->watched[i] != tgid)
		i++;
	return i;
}

int probes_watch(struct probes *probes, pid_t tgid)
{
	if (probes->count == WATCHED)
		return -ENOSPC;
	probes->watched[probes->count++] = tgid;
	return 0;
}

void probes_unwatch(struct probes *probes, pid_t tgid)
{
	size_t i = index_of(probes, tgid);

	if (i < probes->count)
		probes->watched[i] = probes->watched[--probes->count];
}

static void hand_over(struct probes *probes, const struct kernel_record *record)
{
	if (index_of(probes, (pid_t)record->wait.tgid) == probes->count)
		return;
	probes->handed = record;
	probes->record(probes->argument, &record->wait);
	probes->handed = NULL;
}

int probes_poll(struct probes *probes)
{
	for (size_t i = 0; i < played->fresh_count; i++)
		hand_over(probes, &played->fresh[i]);
	return (int)played->fresh_count;
}

int probes_sample(struct probes *probes, pid_t tgid)
{
	const struct kernel_memory *memory = &played->kernel;

	for (size_t i = 0; i < memory->count; i++)
		if (memory->live[i] && memory->records[i].wait.tgid == (uint32_t)tgid)
			hand_over(probes, &memory->records[i]);
	return 0;
}

int probes_stack(struct probes *probes, int32_t stack_id, char (*frames)[40], int room)
{
	int count = 0;

	(void)stack_id;
	for (uint32_t i = 0; probes->handed && i < probes->handed->frame_count && count < room; i++)
		if (probes->handed->frames[i] < played->frame_count)
			memcpy(frames[count++], played->frames[probes->handed->frames[i]], sizeof(*frames));
	return count;
}

void probes_loss(struct probes *probes, struct probes_loss *loss)
{
	(void)probes;
	*loss = (struct probes_loss){ 0 };
}

uint64_t probes_own_ns(struct probes *probes)
{
	(void)probes;
	return 0;
}
