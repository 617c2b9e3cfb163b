/* SPDX-License-Identifier: MIT */
/*
 * Many threads claim, fill and finish operations in a small ring while another process reads it. Fails when the reader
 * meets an operation that is not whole, when a claim is lost without being counted, or when an operation in flight is
 * overwritten. Each thread hands its operations to one drain thread, as the plugin does.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blackbox/reader.h"
#include "tests/stress/stress_directory.h"
#include "tests/stress/pattern.h"

enum {
	PRODUCERS = 6,
	OPERATIONS = 60000, /* per producer: the ring of 1024 turns some 350 times */
	HANDED = 64,	    /* a producer's operations that the drain thread has not finished yet */
	STUCK = 16,	    /* per producer: in flight until the end */
	PREEMPTED = 500,    /* one operation of so many */
};

/* One producer, and its queue to the drain thread. */
struct producer {
	pthread_t thread;
	_Atomic uint64_t handed, drained;
	uint64_t tickets[HANDED]; /* 0: no slot was free */
	uint64_t stuck[STUCK];
	uint64_t published, refused;
};

static struct box_writer writer;
static struct producer producers[PRODUCERS];

static void enqueue(struct producer *producer, uint64_t *ticket)
{
	struct rw_operation *slot = box_claim(&writer, RW_OWNER_HOST | RW_OWNER_GPU, ticket);

	if (!slot) {
		producer->refused++;
		return;
	}
	pattern_fill(slot, *ticket, RW_KNOWN_API);
	box_known(slot, RW_KNOWN_API);
	/* Now and then the thread loses its CPU half-way: the reader must not take the slot for what it was before. */
	if (producer->published % PREEMPTED == 0)
		usleep(200);
	box_publish(slot, *ticket);
	pattern_fill(slot, *ticket, RW_KNOWN_LAUNCH);
	box_known(slot, RW_KNOWN_LAUNCH);
	producer->published++;
}

static void finish_host_side(uint64_t ticket)
{
	struct rw_operation *slot = box_slot(&writer, ticket);

	pattern_fill(slot, ticket, RW_KNOWN_RETURN);
	box_known(slot, RW_KNOWN_RETURN);
	box_release(slot, ticket, RW_OWNER_HOST);
}

static void finish_gpu_side(uint64_t ticket)
{
	struct rw_operation *slot = box_slot(&writer, ticket);

	pattern_fill(slot, ticket, RW_KNOWN_DONE);
	box_known(slot, RW_KNOWN_DONE);
	box_release(slot, ticket, RW_OWNER_GPU);
}

static void hand_over(struct producer *producer, uint64_t ticket)
{
	uint64_t handed = atomic_load_explicit(&producer->handed, memory_order_relaxed);

	while (handed - atomic_load_explicit(&producer->drained, memory_order_acquire) == HANDED)
		sched_yield();
	producer->tickets[handed % HANDED] = ticket;
	atomic_store_explicit(&producer->handed, handed + 1, memory_order_release);
	/* Races with the drain thread for the last release on purpose. */
	if (ticket)
		finish_host_side(ticket);
}

static void *produce(void *argument)
{
	struct producer *producer = argument;

	for (int i = 0; i < STUCK; i++)
		enqueue(producer, &producer->stuck[i]);
	for (int i = 0; i < OPERATIONS; i++) {
		uint64_t ticket;

		enqueue(producer, &ticket);
		hand_over(producer, ticket);
	}
	return NULL;
}

static bool drain_one(struct producer *producer)
{
	uint64_t drained = atomic_load_explicit(&producer->drained, memory_order_relaxed);

	if (drained == atomic_load_explicit(&producer->handed, memory_order_acquire))
		return false;

	uint64_t ticket = producer->tickets[drained % HANDED];

	if (ticket)
		finish_gpu_side(ticket);
	atomic_store_explicit(&producer->drained, drained + 1, memory_order_release);
	return true;
}

static void *drain(void *argument)
{
	const uint64_t all = (uint64_t)PRODUCERS * OPERATIONS;

	(void)argument;
	for (uint64_t drained = 0; drained < all;) {
		uint64_t before = drained;

		for (int i = 0; i < PRODUCERS; i++)
			drained += drain_one(&producers[i]);
		if (drained == before)
			sched_yield();
	}
	return NULL;
}

/* What the reading process has seen. */
struct sight {
	uint64_t whole, busy, gone, torn;
};

static void look(const struct rw_operation *slot, enum box_slot state, struct sight *sight)
{
	sight->busy += state == BOX_SLOT_BUSY;
	sight->gone += state == BOX_SLOT_GONE;
	if (state != BOX_SLOT_OK && state != BOX_SLOT_OLDER)
		return;
	sight->whole++;
	/* A free slot has been finished: whoever frees it says so before. */
	if (pattern_holds(slot) && (slot->owner & RW_OWNER_PENDING || slot->known & RW_KNOWN_DONE))
		return;
	if (!sight->torn++)
		fprintf(stderr, "torn: ticket %llu known %#x owner %#x\n", (unsigned long long)slot->ticket,
			slot->known, slot->owner);
}

static int read_until(const char *path, int stop)
{
	static struct rw_operation slots[RW_BOX_RING_MIN];
	static enum box_slot states[RW_BOX_RING_MIN];
	struct box_reader reader;
	struct sight sight = { 0 };
	char why[160], byte;

	if (box_reader_open(&reader, AT_FDCWD, path, geteuid(), why)) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	fcntl(stop, F_SETFL, O_NONBLOCK);
	while (read(stop, &byte, 1) != 1) {
		uint64_t head;

		if (box_reader_refresh(&reader))
			return 1;
		head = reader.header.head;

		uint64_t first = head > RW_BOX_RING_MIN ? head - RW_BOX_RING_MIN : 0;
		int count = box_reader_operations(&reader, first, (uint32_t)(head - first), slots, states);

		for (int i = 0; i < count; i++)
			look(&slots[i], states[i], &sight);
	}
	printf("reader: %llu whole, %llu busy, %llu gone, %llu torn\n", (unsigned long long)sight.whole,
	       (unsigned long long)sight.busy, (unsigned long long)sight.gone, (unsigned long long)sight.torn);
	box_reader_close(&reader);
	return sight.torn || !sight.whole;
}

/* The reader is a process without our threads: it starts before them and gets the path when there is one. */
static pid_t start_reader(int path_pipe[2], int stop_pipe[2])
{
	if (pipe(path_pipe) || pipe(stop_pipe))
		exit(1);

	pid_t reader = fork();

	if (reader)
		return reader;

	char path[sizeof(writer.path)];

	if (read(path_pipe[0], path, sizeof(path)) != sizeof(path))
		_exit(1);

	int failed = read_until(path, stop_pipe[0]);

	fflush(NULL);
	_exit(failed);
}

static int count_overwritten(void)
{
	int overwritten = 0;

	for (int i = 0; i < PRODUCERS * STUCK; i++) {
		uint64_t ticket = producers[i / STUCK].stuck[i % STUCK];
		struct rw_operation *slot = box_slot(&writer, ticket);

		if (!ticket) /* dropped and counted */
			continue;
		if (!slot || !pattern_holds(slot) || slot->owner != box_owner(ticket, RW_OWNER_HOST | RW_OWNER_GPU))
			overwritten++;
	}
	return overwritten;
}

static int judge(void)
{
	uint64_t published = 0, refused = 0, calls = (uint64_t)PRODUCERS * (OPERATIONS + STUCK);
	int overwritten = count_overwritten();

	for (int i = 0; i < PRODUCERS; i++) {
		published += producers[i].published;
		refused += producers[i].refused;
	}
	printf("%llu claims: %llu published, %llu dropped and counted; %d of %d in flight overwritten\n",
	       (unsigned long long)calls, (unsigned long long)published, (unsigned long long)writer.header->dropped,
	       overwritten, PRODUCERS * STUCK);
	return calls != published + refused || refused != writer.header->dropped || overwritten;
}

int main(void)
{
	int path_pipe[2], stop_pipe[2], status;
	pthread_t drainer;

	stress_directory_make();

	pid_t reader = start_reader(path_pipe, stop_pipe);

	stress_directory_create(&writer);
	if (write(path_pipe[1], writer.path, sizeof(writer.path)) != sizeof(writer.path))
		return 1;
	pthread_create(&drainer, NULL, drain, NULL);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_create(&producers[i].thread, NULL, produce, &producers[i]);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i].thread, NULL);
	pthread_join(drainer, NULL);

	int failed = judge() | (write(stop_pipe[1], "", 1) != 1);

	waitpid(reader, &status, 0);
	stress_directory_remove();
	return failed || status;
}
