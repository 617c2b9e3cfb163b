// SPDX-License-Identifier: MIT
/*
 * What two threads that record at the same time cost each other, by what they share: nothing (a black box each), one
 * counter (the least that gives their operations an order), or one black box, as the threads of a process do, whose
 * places each takes one by one, as the plugin does, or several at a time. Between two operations each computes for 0.5
 * to 1.5 us, as a job does. Prints one JSON object; all times are ns per operation, net of the computing.
 *   sharing_bench [trip]     trip: only how long a cache line takes from one processor to the other and back
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blackbox/writer.h"
#include "tests/bench/processors.h"
#include "tests/bench/stopwatch.h"

enum {
	THREADS = 2,
	BLOCK = 64,
	BURST = 16 /* blocks */,
	BLOCKS = 640,
	TRIPS = 100000,
	LINES = 2 /* that are prefetched as one */
};

struct line {
	_Alignas(LINES * 64) _Atomic uint64_t word;
};

static struct line counter, ball;
static volatile uint64_t result; /* so that nothing of the computing is left out */

/* One way of recording. */
struct sharing {
	const char *name;
	unsigned int threads;
	bool one_box;
	bool counter;	 /* one more, that both add to */
	uint64_t places; /* of the ring, taken at a time */
};

static const struct sharing sharings[] = {
	{ "one", 1, true, false, 1 },
	{ "own_boxes", 2, false, false, 1 },
	{ "own_boxes_and_counter", 2, false, true, 1 },
	{ "one_box", 2, true, false, 1 },
	{ "one_box_by_4", 2, true, false, 4 },
	{ "one_box_by_16", 2, true, false, 16 },
};

struct part {
	const struct sharing *sharing;
	struct box_writer *writer; /* NULL: it only computes */
	uint64_t next, left;	   /* places that it has taken */
	unsigned int number;
	pthread_barrier_t *together;
	double p50;
};

static uint64_t compute(uint64_t *random)
{
	*random ^= *random >> 12;
	*random ^= *random << 25;
	*random ^= *random >> 27;

	uint64_t value = *random * UINT64_C(0x2545f4914f6cdd1d), turns = 400 + (value >> 32) % 800;

	for (uint64_t i = 0; i < turns; i++)
		value = value * UINT64_C(0x2545f4914f6cdd1d) + 1;
	return value;
}

/* As box_claim() does, but for `places` at a time. */
static struct rw_operation *claim(struct part *part, uint64_t *ticket)
{
	if (!part->left) {
		part->left = part->sharing->places;
		part->next = atomic_fetch_add_explicit(&part->writer->header->head, part->left, memory_order_relaxed);
	}
	part->left--;
	*ticket = ++part->next;

	struct rw_operation *slot = &part->writer->ring[(*ticket - 1) & part->writer->ring_mask];

	return box_take(slot, *ticket, RW_OWNER_HOST) ? slot : NULL;
}

/* As the callbacks of one collective: claim, fill, publish, release. */
static void record(struct part *part, uint64_t sequence)
{
	uint64_t ticket;
	struct rw_operation *slot = claim(part, &ticket);

	if (part->sharing->counter)
		atomic_fetch_add_explicit(&counter.word, 1, memory_order_relaxed);
	if (!slot)
		return;
	slot->function = RW_FUNCTION_ALL_REDUCE;
	slot->sequence = sequence;
	slot->api_ns = sequence; /* no clock: the recording alone is measured */
	atomic_store_explicit(&slot->known, RW_KNOWN_IDENT | RW_KNOWN_API, memory_order_relaxed);
	box_publish(slot, ticket);
	box_known(slot, RW_KNOWN_RETURN);
	box_release(slot, ticket, RW_OWNER_HOST);
}

static void *run(void *argument)
{
	struct part *part = argument;
	double *times = calloc(BLOCKS, sizeof(*times));
	uint64_t random = 0x5eed + part->number, sum = 0;

	if (!times)
		exit(1);
	processors_settle(part->number);
	for (int block = 0; block < BLOCKS; block++) {
		if (block % BURST == 0)
			pthread_barrier_wait(part->together);
		uint64_t begin = stopwatch_now();

		for (uint64_t i = 0; i < BLOCK; i++) {
			sum += compute(&random);
			if (part->writer)
				record(part, i);
		}
		times[block] = (double)(stopwatch_now() - begin) / BLOCK;
	}
	result = sum;
	part->p50 = stopwatch_median(times, BLOCKS);
	free(times);
	return NULL;
}

/* One thread passes the ball, the other returns it. */
static void *return_ball(void *argument)
{
	struct part *part = argument;

	processors_settle(part->number);
	pthread_barrier_wait(part->together);
	for (uint64_t i = 0; i < TRIPS; i++) {
		while (atomic_load_explicit(&ball.word, memory_order_relaxed) != 2 * i + 1)
			;
		atomic_store_explicit(&ball.word, 2 * i + 2, memory_order_relaxed);
	}
	return NULL;
}

static void *pass_ball(void *argument)
{
	enum { PER_TIME = 1000 };
	static double times[TRIPS / PER_TIME];
	struct part *part = argument;

	processors_settle(part->number);
	pthread_barrier_wait(part->together);
	for (uint64_t i = 0; i < TRIPS;) {
		uint64_t begin = stopwatch_now();

		do {
			atomic_store_explicit(&ball.word, 2 * i + 1, memory_order_relaxed);
			while (atomic_load_explicit(&ball.word, memory_order_relaxed) != 2 * i + 2)
				;
		} while (++i % PER_TIME);
		times[i / PER_TIME - 1] = (double)(stopwatch_now() - begin) / PER_TIME;
	}
	part->p50 = stopwatch_median(times, TRIPS / PER_TIME);
	return NULL;
}

static void run_all(void *(*const functions[THREADS])(void *), struct part *parts, unsigned int threads)
{
	pthread_barrier_t together;
	pthread_t others[THREADS];

	pthread_barrier_init(&together, NULL, threads);
	for (unsigned int i = 0; i < threads; i++) {
		parts[i].number = i;
		parts[i].together = &together;
		if (pthread_create(&others[i], NULL, functions[i], &parts[i]))
			exit(1);
	}
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(others[i], NULL);
	pthread_barrier_destroy(&together);
}

/* ns of one operation, mean over the threads. */
static double measure(const struct sharing *sharing, struct box_writer *writers)
{
	static void *(*const both[THREADS])(void *) = { run, run };
	struct part parts[THREADS], idle[THREADS] = { { 0 } };
	double net = 0;

	for (unsigned int i = 0; i < THREADS; i++)
		parts[i] = (struct part){ .sharing = sharing, .writer = &writers[sharing->one_box ? 0 : i] };
	run_all(both, parts, sharing->threads);
	run_all(both, idle, sharing->threads);
	for (unsigned int i = 0; i < sharing->threads; i++)
		net += (parts[i].p50 - idle[i].p50) / sharing->threads;
	return net;
}

static double measure_trip(void)
{
	static void *(*const both[THREADS])(void *) = { pass_ball, return_ball };
	struct part parts[THREADS] = { { 0 } };

	run_all(both, parts, THREADS);
	return parts[0].p50;
}

static void open_boxes(struct box_writer *writers, char *directory)
{
	const char *jobs[THREADS] = { "bench-0", "bench-1" };

	if (!mkdtemp(directory)) {
		perror("sharing_bench: /dev/shm");
		exit(1);
	}
	for (int i = 0; i < THREADS; i++) {
		const struct box_request request = { .directory = directory, .job = jobs[i], .rank = i, .local_ranks = THREADS };
		int err = box_writer_create(&writers[i], &request);

		if (err || !writers[i].path[0]) {
			fprintf(stderr, "sharing_bench: no black box: %s\n", err ? strerror(-err) : writers[i].note);
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	char directory[] = "/dev/shm/rankwatch-bench-XXXXXX";
	struct box_writer writers[THREADS];

	printf("{\"bench\":\"sharing\",\"trip_ns\":%.0f", measure_trip());
	if (argc > 1 && !strcmp(argv[1], "trip")) {
		printf("}\n");
		return 0;
	}
	open_boxes(writers, directory);
	for (size_t i = 0; i < sizeof(sharings) / sizeof(sharings[0]); i++)
		printf(",\"%s_ns\":%.1f", sharings[i].name, measure(&sharings[i], writers));
	printf("}\n");
	for (int i = 0; i < THREADS; i++) {
		unlink(writers[i].path);
		box_writer_close(&writers[i]);
	}
	rmdir(directory);
	return 0;
}
