/* SPDX-License-Identifier: MIT */
/*
 * Eight threads at once in the interposer: each creates two communicators in a group, uses both, destroys one and
 * leaves the other to its neighbour, which aborts it at any time, also before and during its first use. Then no
 * communicator in the box is left that has not ended.
 *   wrapper_races blocking|nonblocking of communicators that do not block it is found out at the first use what they
 *   are wrapper_races shared instead: a thread calls on a communicator while another is in a group with it, which NCCL
 *   does not allow; the group ends all the same
 * Bare program, over a NCCL and a driver that do nothing: ThreadSanitizer sees the interposer's threads.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/abi/player.h"
#include "tests/null/null_nccl.h"

enum {
	THREADS = 8,
	ROUNDS = 60 /* fewer communicators than the box has places */,
	CALLS = 4,
	COUNT = 16,
	LIMIT_S = 100
};

static float buffer[COUNT];
static void *_Atomic given[THREADS]; /* a communicator that thread is to abort */
static atomic_int failures;

static void expect(int result)
{
	failures += result != 0;
}

static void use(void *comm, int i)
{
	int state;

	expect(ncclGroupStart());
	expect(ncclAllReduce(buffer, buffer, COUNT, NULL_NCCL_FLOAT, NULL_NCCL_SUM, comm, NULL));
	expect(ncclSend(buffer, COUNT, NULL_NCCL_FLOAT, i % THREADS, comm, NULL));
	expect(ncclGroupEnd());
	expect(ncclCommGetAsyncError(comm, &state));
}

static void abort_one(int number)
{
	void *comm = atomic_exchange(&given[number], NULL);

	if (comm)
		expect(ncclCommAbort(comm));
}

static void give(int number, void *comm)
{
	void *before = atomic_exchange(&given[number], comm);

	if (before)
		expect(ncclCommAbort(before));
}

static struct null_unique_id id_of(int number, int round, int which)
{
	struct null_unique_id id = { { (char)(number + 1), (char)(round + 1), (char)(which + 1) } };

	return id;
}

static void *play(void *argument)
{
	int number = (int)(intptr_t)argument;

	for (int round = 0; round < ROUNDS; round++) {
		void *own, *others;

		expect(ncclGroupStart());
		expect(ncclCommInitRank(&own, THREADS, id_of(number, round, 0), number));
		expect(ncclCommInitRank(&others, THREADS, id_of(number, round, 1), number));
		expect(ncclGroupEnd());
		give((number + 1) % THREADS, others);
		for (int i = 0; i < CALLS; i++) {
			use(own, i);
			if (round % 2)
				abort_one(number);
			use(others, i); /* also when it has been aborted */
		}
		abort_one(number);
		expect(ncclCommDestroy(own));
	}
	return NULL;
}

static int check(const char *directory)
{
	static struct rw_communicator communicators[RW_BOX_COMMS];
	struct box_reader reader;
	int count = 0, left = 0;

	player_read(&reader, directory);
	int places = box_reader_communicators(&reader, 0, RW_BOX_COMMS, communicators);
	for (int i = 0; i < places; i++) {
		bool used = atomic_load(&communicators[i].created_ns) != 0;

		count += used;
		left += used && atomic_load(&communicators[i].ended_ns) == 0;
	}
	printf("%d communicators in the box, %d have not ended, %d calls failed, %llu operations\n", count, left, failures,
	       (unsigned long long)reader.header.head);
	bool whole = count >= THREADS * ROUNDS && !left && !failures && reader.header.head;
	box_reader_close(&reader);
	return !whole;
}

static int make_first(void)
{
	void *comm;

	return ncclCommInitRank(&comm, THREADS, id_of(0, 0, 2), 0) || ncclCommDestroy(comm);
}

static void *use_shared(void *comm)
{
	expect(ncclAllReduce(buffer, buffer, COUNT, NULL_NCCL_FLOAT, NULL_NCCL_SUM, comm, NULL));
	return NULL;
}

static int share(void)
{
	pthread_t thread;
	void *comm;

	expect(ncclCommInitRank(&comm, THREADS, id_of(0, 0, 0), 0));
	expect(ncclGroupStart());
	use_shared(comm);
	if (pthread_create(&thread, NULL, use_shared, comm))
		return 1;
	pthread_join(thread, NULL);
	use_shared(comm);
	expect(ncclGroupEnd());
	expect(ncclCommDestroy(comm));
	return failures != 0;
}

int main(int argc, char **argv)
{
	const char *directory = player_directory();
	pthread_t threads[THREADS];

	if (argc != 2) {
		fprintf(stderr, "usage: wrapper_races blocking|nonblocking|shared\n");
		return 2;
	}
	setenv("NCCL_COMM_BLOCKING", strcmp(argv[1], "nonblocking") == 0 ? "0" : "1", 1);
	alarm(LIMIT_S);
	/* ThreadSanitizer takes the mmap of the page that says whether this process records for a write to it. */
	if (make_first())
		return 1;
	if (strcmp(argv[1], "shared") == 0)
		return share();
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, play, (void *)(intptr_t)i))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		abort_one(i);
	return check(directory);
}
