/* SPDX-License-Identifier: MIT */
/*
 * The path of a call through the interposer's wrappers: after init, 10,000 collectives, sends and groups of a thread
 * that may make no system call at all must not need one, must not allocate and must not lock; nor a group that makes
 * nothing. Another thread is inside a group that creates a communicator, all the while.
 * wrapper_path ABI     of the callbacks that NCCL makes meanwhile; 0: none, the wrappers make the operations
 * NCCL and the driver do nothing (null_nccl.h, null_cuda.h): what is seen is the interposer's and the plugin's.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/abi/path_guard.h"
#include "tests/abi/player.h"
#include "tests/null/null_cuda.h"
#include "tests/null/null_nccl.h"
#include "tests/null/null_player.h"

enum { CALLS = 10000, WARM = 3, COUNT = 64 };

static float buffer[8 * COUNT];
static void *comm;

static void play_once(int i)
{
	int state;

	ncclAllReduce(buffer, buffer, COUNT, NULL_NCCL_FLOAT, NULL_NCCL_SUM, comm, NULL);
	ncclGroupStart();
	ncclAllGather(buffer, buffer, COUNT, NULL_NCCL_FLOAT, comm, NULL);
	ncclGroupStart();
	ncclSend(buffer, COUNT, NULL_NCCL_FLOAT, i % 8, comm, NULL);
	ncclRecv(buffer, COUNT, NULL_NCCL_FLOAT, i % 8, comm, NULL);
	ncclGroupEnd();
	ncclGroupEnd();
	ncclGroupStart();
	ncclGroupEnd();
	ncclCommGetAsyncError(comm, &state);
}

static sem_t is_inside;

static void *create_another(void *unused)
{
	static void *another;

	ncclGroupStart();
	if (ncclCommInitRank(&another, 8, (struct null_unique_id){ { 2 } }, 0) != 0)
		_exit(1);
	sem_post(&is_inside);
	for (;;)
		pause();
	return unused;
}

static void begin_another(void)
{
	pthread_t thread;

	sem_init(&is_inside, 0, 0);
	if (pthread_create(&thread, NULL, create_another, NULL) != 0)
		_exit(1);
	sem_wait(&is_inside);
}

int main(int argc, char **argv)
{
	null_player_use(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0);
	player_directory();
	path_guard_fork();
	if (ncclCommInitRank(&comm, 8, (struct null_unique_id){ { 1 } }, 0) != 0 || !null_player_records()) {
		fprintf(stderr, "the interposer does not record\n");
		_exit(1);
	}
	for (int i = 0; i < WARM; i++)
		play_once(i);
	begin_another();
	unsigned long before = null_cuda_calls(NULL);
	path_guard_begin();
	for (int i = 0; i < CALLS; i++)
		play_once(i);
	if (null_cuda_calls(NULL) == before)
		fprintf(stderr, "note: no call of the driver was on the path\n");
	path_guard_end("calls through wrappers");
}
