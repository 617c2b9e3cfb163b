/* SPDX-License-Identifier: MIT */
#include "console/last_seen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"
#include "analysis/host/system_calls.h"
#include "feed/host_samples.h"

enum { BATCH = 256 };
static const uint64_t SECOND_NS = 1000000000;
/* Threads of a silent process are looked at every 50 ms. One look missed: it may have been at work in between. */
static const uint64_t MISSED_NS = 75000000;
/* Five looks missed: it was. */
static const uint64_t GAP_NS = 250000000;

static struct last_seen_thread *find(struct last_seen *seen, uint32_t tid)
{
	for (size_t i = 0; i < seen->count; i++) {
		if (seen->threads[i].wait.tid == tid)
			return &seen->threads[i];
	}
	return NULL;
}

/* Its run-queue time grows whenever it is woken. */
bool last_seen_stayed(const struct analysis_wait *before, const struct analysis_wait *now)
{
	uint64_t between_ns = now->end_ns - before->end_ns;
	bool woken = now->run_queue_ns != before->run_queue_ns;

	return before->state == now->state && before->system_call == now->system_call && before->fd == now->fd &&
	       !strcmp(before->wait_channel, now->wait_channel) && before->cpu_ns == now->cpu_ns &&
	       between_ns <= GAP_NS && !(woken && between_ns > MISSED_NS);
}

static int take(struct last_seen *seen, const struct analysis_wait *wait)
{
	struct last_seen_thread *thread = find(seen, wait->tid);

	if (!thread) {
		struct last_seen_thread *threads = reallocarray(seen->threads, seen->count + 1, sizeof(*threads));

		if (!threads)
			return -ENOMEM;
		seen->threads = threads;
		thread = &threads[seen->count++];
		*thread = (struct last_seen_thread){ .since_ns = wait->end_ns };
	} else if (!last_seen_stayed(&thread->wait, wait)) {
		thread->since_ns = wait->end_ns;
	}
	thread->wait = *wait;
	return 0;
}

static int take_all(struct last_seen *seen, const struct box_reader *reader, struct host_samples *names)
{
	struct rw_host_sample samples[BATCH];
	enum box_slot states[BATCH];
	uint64_t head = reader->header.samples_head, slots = reader->header.sample_slots;
	uint64_t first = head > slots ? head - slots : 0;
	int error = 0;

	names->machine = reader->header.machine;
	while (first < head && !error) {
		uint32_t room = head - first < BATCH ? (uint32_t)(head - first) : BATCH;
		int count = box_reader_samples(reader, first, room, samples, states);

		if (count <= 0)
			return count;
		for (int i = 0; i < count && !error; i++) {
			struct analysis_wait wait;

			if (states[i] == BOX_SLOT_OK && host_samples_take(names, &samples[i], NULL, NULL, &wait))
				error = take(seen, &wait);
		}
		first += (uint64_t)count;
	}
	return error;
}

/* Threads that were looked at in the last second of sampling; older ones had moved on. */
static void keep_last(struct last_seen *seen)
{
	uint64_t newest = 0;
	size_t kept = 0;

	for (size_t i = 0; i < seen->count; i++) {
		if (seen->threads[i].wait.end_ns > newest)
			newest = seen->threads[i].wait.end_ns;
	}
	for (size_t i = 0; i < seen->count; i++) {
		if (newest - seen->threads[i].wait.end_ns <= SECOND_NS)
			seen->threads[kept++] = seen->threads[i];
	}
	seen->count = kept;
}

/* The main thread's id is the process's, the lowest unless ids have wrapped. */
static int by_tid(const void *a, const void *b)
{
	const struct last_seen_thread *left = a, *right = b;

	return (left->wait.tid > right->wait.tid) - (left->wait.tid < right->wait.tid);
}

int last_seen_read(struct last_seen *seen, const struct box_reader *reader)
{
	struct host_samples *names = calloc(1, sizeof(*names));
	int error;

	*seen = (struct last_seen){ 0 };
	if (!names)
		return -ENOMEM;
	error = take_all(seen, reader, names);
	free(names);
	keep_last(seen);
	if (seen->count)
		qsort(seen->threads, seen->count, sizeof(*seen->threads), by_tid);
	return error;
}

void last_seen_free(struct last_seen *seen)
{
	free(seen->threads);
	*seen = (struct last_seen){ 0 };
}

/* "fsync(3)", "futex", or by number what the table does not know. */
static void call_text(const struct analysis_wait *wait, char *text, size_t size)
{
	const struct system_call *call = system_call_find(wait->system_call);
	char number[32], descriptor[16] = "";

	snprintf(number, sizeof(number), "system call %d", wait->system_call);
	if (wait->fd >= 0)
		snprintf(descriptor, sizeof(descriptor), "(%d)", wait->fd);
	snprintf(text, size, "in %s%s", call ? call->name : number, descriptor);
}

/* Where it is, without how long. */
static void place_text(const struct analysis_wait *wait, char *text, size_t size)
{
	char *path = foreign_text(wait->path), *channel = foreign_text(wait->wait_channel);
	bool has_channel = channel && *channel && strcmp(channel, "0");
	char call[64];

	if (wait->system_call >= 0)
		call_text(wait, call, sizeof(call));
	else if (wait->state == 'T' || wait->state == 't')
		snprintf(call, sizeof(call), "stopped");
	else if (wait->state == 'R')
		snprintf(call, sizeof(call), "running or waiting for a CPU");
	else
		snprintf(call, sizeof(call), "blocked outside a system call (%c)", wait->state ? wait->state : '?');
	snprintf(text, size, "%s%s%s%s%s%s", call, path && *path ? " on " : "", path ? path : "",
		 has_channel ? " (" : "", has_channel ? channel : "", has_channel ? ")" : "");
	free(path);
	free(channel);
}

char *last_seen_text(const struct last_seen_thread *thread, char *text, size_t size)
{
	char place[640];
	double seconds = (double)(thread->wait.end_ns - thread->since_ns) / 1e9;

	place_text(&thread->wait, place, sizeof(place));
	if (seconds >= 0.05)
		snprintf(text, size, "%s, for %.*f s", place, seconds < 10 ? 2 : 0, seconds);
	else
		snprintf(text, size, "%s", place);
	return text;
}
