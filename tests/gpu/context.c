/* SPDX-License-Identifier: MIT */
/*
 * What is left of memory that the CPU shares with the GPU, after a reset of the device and in the driver's own exit: a
 * thread of ours that still reads it lives, or dies by SIGSEGV. Each question in a process of its own.
 *   gpu_context
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timing.h"

enum { SIZE = 1 << 16, EXITS = 10, LOOK_US = 100, LIMIT_S = 20, NOT_HERE = 77 };

struct place {
	struct device device;
	volatile uint64_t *words;
};

/* As the plugin's results and graphs' ring are. */
static void take_driver_memory(struct place *place)
{
	CUdeviceptr address;

	place->words = device_words(SIZE / 8, &address);
}

/* As the black box is. */
static void register_own_memory(struct place *place)
{
	void *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(1);
	DEVICE_CHECK(cuMemHostRegister(at, SIZE, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
	place->words = at;
}

static _Atomic uint64_t passes; /* how often the reader has read all of it */

static void *read_on(void *argument)
{
	volatile uint64_t *words = argument;
	uint64_t sum = 0;

	for (;; atomic_fetch_add(&passes, 1))
		for (size_t i = 0; i < SIZE / 8; i++)
			sum += words[i];
	return (void *)sum;
}

/* Returns when the reader has read all of it from now on, however long it waits for a CPU. */
static void await_pass(void)
{
	const uint64_t begun = atomic_load(&passes) + 1;

	while (atomic_load(&passes) <= begun)
		device_pause_us(LOOK_US);
}

static void start_reader(const struct place *place)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, read_on, (void *)place->words) != 0)
		_exit(1);
	await_pass();
}

static CUresult reset_device(void)
{
	CUresult (*reset)(CUdevice) = NULL;

	*(void **)&reset = dlsym(RTLD_DEFAULT, "cuDevicePrimaryCtxReset_v2");
	if (!reset)
		_exit(NOT_HERE);
	return reset(0);
}

/* Without a reader, whose end would be theirs. */
static void tell_context_after_reset(const struct place *place)
{
	CUcontext current = NULL;
	char text[80];

	DEVICE_CHECK(reset_device());
	const CUresult after = cuCtxGetCurrent(&current);

	snprintf(text, sizeof(text), "error %d, %s", (int)after,
		 current == place->device.context ? "the same context" : "another context");
	timing_fact(text, "after a reset of the device: cuCtxGetCurrent");
	snprintf(text, sizeof(text), "error %d", (int)cuCtxSynchronize());
	timing_fact(text, "after a reset of the device: cuCtxSynchronize");
	_exit(0);
}

static void read_after_reset(const struct place *place)
{
	start_reader(place);
	DEVICE_CHECK(reset_device());
	await_pass();
	_exit(0);
}

static void read_during_exit(const struct place *place)
{
	start_reader(place);
	exit(0);
}

/* 0: it left as it should; a signal; or less than 0: its exit status. */
static int ask(void (*take)(struct place *place), void (*leave)(const struct place *place))
{
	const pid_t pid = fork();
	struct place place;
	int status;

	if (pid == 0) {
		alarm(LIMIT_S);
		device_open(&place.device, 0);
		take(&place);
		leave(&place);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) ? -WEXITSTATUS(status) : 0;
}

static bool is_fault(int answer)
{
	return answer == SIGSEGV || answer == SIGBUS;
}

/* How often of `times` the reader died. */
static void tell(const char *what, void (*take)(struct place *place), void (*leave)(const struct place *place),
		 int times)
{
	int died = 0, answer = 0;
	char text[64] = "lives";

	for (int i = 0; i < times; i++) {
		answer = ask(take, leave);
		if (answer != 0 && !is_fault(answer))
			break;
		died += answer != 0;
	}
	if (answer == -NOT_HERE)
		snprintf(text, sizeof(text), "not asked: there is no cuDevicePrimaryCtxReset");
	else if (answer < 0)
		snprintf(text, sizeof(text), "not known: status %d", -answer);
	else if (answer != 0 && !is_fault(answer))
		snprintf(text, sizeof(text), "not known: signal %d", answer);
	else if (died)
		snprintf(text, sizeof(text), "dies");
	if (died)
		timing_number(died, "times", "%s: it died, of %d", what, times);
	timing_fact(text, "%s", what);
}

int main(void)
{
	ask(register_own_memory, tell_context_after_reset);
	tell("a thread that reads cuMemHostAlloc's memory after a reset", take_driver_memory, read_after_reset, 1);
	tell("a thread that reads registered memory of its own after a reset", register_own_memory, read_after_reset,
	     1);
	tell("a thread that reads cuMemHostAlloc's memory while the process exits", take_driver_memory, read_during_exit,
	     EXITS);
	tell("a thread that reads registered memory of its own while the process exits", register_own_memory,
	     read_during_exit, EXITS);
	return 0;
}
