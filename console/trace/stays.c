/* SPDX-License-Identifier: MIT */
#include "console/trace/stays.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/host/system_calls.h"
#include "console/report/last_seen.h"
#include "feed/host_samples.h"

enum { BATCH = 256, THREADS = HOST_SAMPLES_THREADS };
#define TIME_MAX ((uint64_t)INT64_MAX)
/* Looks lie 50 ms apart: five that are missing are a pause in looking. */
static const uint64_t GAP_NS = 250000000;

/* The last look at each thread, and the stay that it belongs to. */
struct looked_at {
	uint32_t tid;
	size_t stay;
	struct analysis_wait wait;
};

struct reading {
	struct stays *stays;
	size_t room;
	struct host_samples names;
	struct looked_at threads[THREADS];
	size_t thread_count;
};

static struct looked_at *find(struct reading *reading, uint32_t tid)
{
	for (size_t i = 0; i < reading->thread_count; i++)
		if (reading->threads[i].tid == tid)
			return &reading->threads[i];
	return NULL;
}

static int add(struct reading *reading, const struct analysis_wait *wait)
{
	struct stays *stays = reading->stays;

	if (stays->count == reading->room) {
		size_t room = reading->room ? 2 * reading->room : 64;
		struct stay *list = reallocarray(stays->list, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		stays->list = list;
		reading->room = room;
	}
	struct stay *stay = &stays->list[stays->count++];

	*stay = (struct stay){
		.tid = wait->tid,
		.looks = 1,
		.times = 1,
		.begin_ns = wait->end_ns,
		.end_ns = wait->end_ns,
		.system_call = wait->system_call,
		.fd = wait->fd,
		.state = wait->state,
	};
	memcpy(stay->channel, wait->wait_channel, sizeof(stay->channel));
	memcpy(stay->path, wait->path, sizeof(stay->path));
	memcpy(stay->thread, wait->thread, sizeof(stay->thread));
	return 0;
}

/* In the same place at both samples, which need not be one wait. */
static bool goes_on(const struct analysis_wait *before, const struct analysis_wait *now)
{
	return now->end_ns >= before->end_ns && now->end_ns - before->end_ns <= GAP_NS && before->state == now->state &&
	       before->system_call == now->system_call && before->fd == now->fd &&
	       !strcmp(before->wait_channel, now->wait_channel) && !strcmp(before->path, now->path);
}

static int take(struct reading *reading, const struct analysis_wait *wait)
{
	struct looked_at *thread = find(reading, wait->tid);
	int err;

	if (wait->end_ns > TIME_MAX)
		return 0;
	if (thread && goes_on(&thread->wait, wait)) {
		struct stay *stay = &reading->stays->list[thread->stay];

		stay->end_ns = wait->end_ns;
		stay->looks++;
		stay->times += !last_seen_stayed(&thread->wait, wait);
		thread->wait = *wait;
		return 0;
	}
	err = add(reading, wait);
	if (!err && !thread && reading->thread_count < THREADS)
		thread = &reading->threads[reading->thread_count++];
	if (!err && thread)
		*thread = (struct looked_at){ wait->tid, reading->stays->count - 1, *wait };
	return err;
}

static int read_all(struct reading *reading, const struct box_reader *reader)
{
	uint64_t head = reader->header.samples_head, slots = reader->header.sample_slots;
	uint64_t next = head > slots ? head - slots : 0;
	struct rw_host_sample samples[BATCH];
	enum box_slot states[BATCH];
	int err = 0;

	reading->names.machine = reader->header.machine;
	while (next < head && !err) {
		uint32_t room = head - next < BATCH ? (uint32_t)(head - next) : BATCH;
		int count = box_reader_samples(reader, next, room, samples, states);

		if (count <= 0)
			return count;
		for (int i = 0; i < count && !err; i++) {
			struct analysis_wait wait;

			if (states[i] == BOX_SLOT_OK &&
			    host_samples_take(&reading->names, &samples[i], NULL, NULL, &wait))
				err = take(reading, &wait);
		}
		next += (uint64_t)count;
	}
	return err;
}

int stays_read(struct stays *stays, const struct box_reader *reader)
{
	struct reading *reading = calloc(1, sizeof(*reading));

	*stays = (struct stays){ 0 };
	if (!reading)
		return -ENOMEM;
	reading->stays = stays;
	int err = read_all(reading, reader);

	free(reading);
	return err;
}

void stays_free(struct stays *stays)
{
	free(stays->list);
	*stays = (struct stays){ 0 };
}

static const char *state_text(const struct stay *stay)
{
	if (stay->state == 'T' || stay->state == 't')
		return "stopped";
	return stay->state == 'R' ? "running" : "blocked outside a system call";
}

char *stay_text(const struct stay *stay, char *text, size_t size)
{
	const struct system_call *call = stay->system_call >= 0 ? system_call_find(stay->system_call) : NULL;
	const char *slash = strrchr(stay->path, '/');
	char name[40], descriptor[16] = "";

	if (stay->system_call < 0) {
		snprintf(text, size, "%s", state_text(stay));
		return text;
	}
	snprintf(name, sizeof(name), "system call %d", stay->system_call);
	if (stay->fd >= 0)
		snprintf(descriptor, sizeof(descriptor), "(%d)", stay->fd);
	snprintf(text, size, "%s%s%s%s", call ? call->name : name, descriptor, stay->path[0] ? " " : "",
		 slash && slash[1] ? slash + 1 : stay->path);
	return text;
}
