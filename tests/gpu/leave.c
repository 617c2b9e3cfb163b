/* SPDX-License-Identifier: MIT */
/*
 * How programs leave while a plugin of theirs still reads memory that the driver owns. After some AllReduces:
 *   gpu_leave two|hosts destroy    destroys its communicator and returns from main
 *   gpu_leave two|hosts exit       exit() with the communicator as it is
 *   gpu_leave two|hosts flying     the same with work that has not been waited for
 *   gpu_leave two|hosts thread     another thread calls exit() while the main thread waits for the GPU
 *   gpu_leave two|hosts reset      resets the device, stays for 200 ms, and leaves
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "two_ranks.h"

enum { ELEMENTS = 1 << 16, CALLS = 20, STAY_US = 200000 };

static const char *way;

static ncclResult_t call(const struct two_ranks *rank, CUdeviceptr memory)
{
	ncclResult_t err = ncclSuccess;

	for (int i = 0; i < CALLS && err == ncclSuccess; i++)
		err = ncclAllReduce((void *)memory, (void *)(memory + ELEMENTS * 4), ELEMENTS, ncclFloat, ncclSum, rank->comm,
				    rank->stream);
	return err;
}

/* The other rank may have left before this one has made all of its calls: then it leaves in the middle of them. */
static void call_while_the_other_leaves(const struct two_ranks *rank, CUdeviceptr memory)
{
	ncclResult_t err = call(rank, memory);

	if (err != ncclRemoteError)
		NCCL_CHECK(err);
}

static void *leave(void *unused)
{
	(void)unused;
	exit(0);
}

/* As cudaDeviceReset(): whatever the context had is gone. */
static int reset_device(void)
{
	CUresult (*reset)(CUdevice) = NULL;
	CUdevice device;

	DEVICE_CHECK(cuCtxGetDevice(&device));
	*(void **)&reset = dlsym(RTLD_DEFAULT, "cuDevicePrimaryCtxReset_v2");
	if (!reset) {
		fprintf(stderr, "there is no cuDevicePrimaryCtxReset\n");
		return 77;
	}
	DEVICE_CHECK(reset(device));
	device_pause_us(STAY_US); /* who reads what is gone has time to do it */
	return 0;
}

static int be_rank(struct two_ranks *rank)
{
	const CUdeviceptr memory = device_memory(2 * ELEMENTS * 4);
	pthread_t thread;

	NCCL_CHECK(call(rank, memory));
	DEVICE_CHECK(cuStreamSynchronize(rank->stream));
	if (strcmp(way, "destroy") == 0)
		return 0;
	if (strcmp(way, "reset") == 0)
		exit(reset_device());
	if (strcmp(way, "exit") == 0)
		exit(0);
	call_while_the_other_leaves(rank, memory);
	if (strcmp(way, "flying") == 0)
		exit(0);
	if (pthread_create(&thread, NULL, leave, NULL) != 0)
		return 1;
	cuStreamSynchronize(rank->stream);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	static const char *const ways[] = { "destroy", "exit", "flying", "thread", "reset" };

	for (size_t i = 0; argc == 3 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[2], ways[i]) == 0)
			way = ways[i];
	if (!way) {
		fprintf(stderr, "usage: gpu_leave two|hosts destroy|exit|flying|thread|reset\n");
		return 2;
	}
	return two_ranks_run(2, !strcmp(argv[1], "hosts"), be_rank);
}
