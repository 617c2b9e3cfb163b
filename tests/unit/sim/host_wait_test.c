/* SPDX-License-Identifier: MIT */
/* How a thread of the program waits for its GPU: what the kernel and /proc see of it. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <cpu_module.h>
#include "sim/cuda/streams/host_wait.h"
#include "ranks.h"

#define EXPECT_CU(call) cr_assert_eq((call), CUDA_SUCCESS)

enum { LOOKS = 200, LOOK_US = 1000, BEGIN_ALIKE = 20, BEGIN_MOST = 10000, TICKS_LOOKS = 30000, SPUN_NS = 50000000,
       SPIN_NS = 1000000, AWAIT_MOST = 10000 };

static void run_hold(void **params, const struct cpu_launch *launch)
{
	(void)launch;
	sem_wait(*(sem_t **)params[0]);
}

static const struct cpu_module_kernel kernels[] = { { "hold", run_hold, 1, { sizeof(sem_t *) } } };
static const struct cpu_module_image image = { { 'r', 'w', 'c', 'p', 'u', 'm', 'o', 'd' }, 1, kernels };

enum waits_in { IN_STREAM, IN_EVENT, IN_BLOCKING_EVENT, IN_CONTEXT, IN_COPY };

/* A thread that waits for a stream that is held. */
struct waiter {
	unsigned int flags;
	enum waits_in in;
	sem_t until, ready;
	CUstream stream;
	CUmodule module;
	pthread_t thread;
	atomic_int tid;
	CUresult result;
	uint64_t cpu_ns;
};

/* What /proc showed of it. */
struct seen {
	int running, polling, sleeping, futex, looks;
	char path[256]; /* of what it polls */
};

static void hold(struct waiter *waiter)
{
	CUfunction function;
	sem_t *until = &waiter->until;
	void *params[] = { &until };

	EXPECT_CU(cuModuleLoadData(&waiter->module, &image));
	EXPECT_CU(cuModuleGetFunction(&function, waiter->module, "hold"));
	EXPECT_CU(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, waiter->stream, params, NULL));
}

static CUresult wait_for_it(struct waiter *waiter)
{
	CUevent event;
	CUdeviceptr memory;
	CUresult result;
	char byte;

	switch (waiter->in) {
	case IN_STREAM:
		return cuStreamSynchronize(waiter->stream);
	case IN_CONTEXT:
		return cuCtxSynchronize();
	case IN_COPY: /* of the legacy stream: behind the blocking stream that is held */
		EXPECT_CU(cuMemAlloc(&memory, 1));
		result = cuMemcpyDtoH(&byte, memory, 1);
		EXPECT_CU(cuMemFree(memory));
		return result;
	default:
		EXPECT_CU(cuEventCreate(&event, waiter->in == IN_BLOCKING_EVENT ? CU_EVENT_BLOCKING_SYNC : 0));
		EXPECT_CU(cuEventRecord(event, waiter->stream));
		result = cuEventSynchronize(event);
		EXPECT_CU(cuEventDestroy(event));
		return result;
	}
}

static uint64_t clock_ns_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *waiter_main(void *argument)
{
	struct waiter *waiter = argument;
	CUcontext context;

	EXPECT_CU(cuDevicePrimaryCtxRetain(&context, 0));
	EXPECT_CU(cuCtxSetCurrent(context));
	EXPECT_CU(cuStreamCreate(&waiter->stream, 0));
	hold(waiter);
	waiter->tid = (int)syscall(SYS_gettid);
	sem_post(&waiter->ready);
	uint64_t before_ns = clock_ns_of(CLOCK_THREAD_CPUTIME_ID);
	waiter->result = wait_for_it(waiter);
	waiter->cpu_ns = clock_ns_of(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	return NULL;
}

static void start(struct waiter *waiter, const char *share)
{
	if (share)
		setenv("SIM_CUDA_SPIN", share, 1);
	EXPECT_CU(cuInit(0));
	EXPECT_CU(cuDevicePrimaryCtxSetFlags(0, waiter->flags));
	sem_init(&waiter->until, 0, 0);
	sem_init(&waiter->ready, 0, 0);
	pthread_create(&waiter->thread, NULL, waiter_main, waiter);
	sem_wait(&waiter->ready);
}

static void finish(struct waiter *waiter)
{
	sem_post(&waiter->until);
	pthread_join(waiter->thread, NULL);
	EXPECT_CU(waiter->result);
	EXPECT_CU(cuModuleUnload(waiter->module));
}

static size_t read_task(int tid, const char *file, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	return strlen(text);
}

static void note_descriptor(const char *arguments, struct seen *seen)
{
	struct pollfd polled;
	char link[64];
	void *at = (void *)strtoul(arguments, NULL, 16);

	memcpy(&polled, at, sizeof(polled)); /* the waiter's stack: it waits */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", polled.fd);
	ssize_t length = readlink(link, seen->path, sizeof(seen->path) - 1);
	seen->path[length > 0 ? length : 0] = '\0';
}

static void look(int tid, struct seen *seen)
{
	char stat[512], call[256], *end;

	read_task(tid, "stat", stat, sizeof(stat));
	read_task(tid, "syscall", call, sizeof(call));
	const char *state = strrchr(stat, ')');
	long number = strtol(call, &end, 10);
	seen->looks++;
	seen->running += (state && state[2] == 'R') || end == call;
	if (end == call)
		return;
	seen->futex += number == SYS_futex;
	seen->sleeping += number == SYS_nanosleep || number == SYS_clock_nanosleep;
	bool polls = number == SYS_ppoll;
#ifdef SYS_poll
	polls |= number == SYS_poll;
#endif
	seen->polling += polls;
	if (polls)
		note_descriptor(end, seen);
}

static bool is_as_expected(const struct seen *one, bool blocks)
{
	return blocks ? one->futex > 0 : !one->polling && !one->futex;
}

/* What is before the wait may take any time on a busy machine: looks from when it has looked like one for a while. */
static void watch(const struct waiter *waiter, bool blocks, struct seen *seen)
{
	for (int all = 0, alike = 0; all < BEGIN_MOST && alike < BEGIN_ALIKE; all++, usleep(LOOK_US)) {
		struct seen one = { 0 };
		look(waiter->tid, &one);
		alike = is_as_expected(&one, blocks) ? alike + 1 : 0;
	}
	*seen = (struct seen){ 0 };
	for (int i = 0; i < LOOKS; i++, usleep(LOOK_US))
		look(waiter->tid, seen);
}

static uint64_t processor_ns(int tid)
{
	char text[128];

	read_task(tid, "schedstat", text, sizeof(text));
	return strtoull(text, NULL, 10);
}

/* On a busy machine that takes its time. One that sleeps never gets there, and is not awaited for ever. */
static void await_processor(const struct waiter *waiter)
{
	uint64_t before_ns = processor_ns(waiter->tid);

	for (int looks = 0; looks < AWAIT_MOST && processor_ns(waiter->tid) < before_ns + SPIN_NS; looks++)
		usleep(LOOK_US);
}

static void expect_spin(struct waiter *waiter, const char *share)
{
	struct seen seen;

	start(waiter, share);
	watch(waiter, false, &seen);
	await_processor(waiter);
	finish(waiter);
	cr_expect_eq(seen.futex, 0, "%d of %d looks saw a futex", seen.futex, seen.looks);
	cr_expect_eq(seen.polling, 0);
	cr_expect_geq(waiter->cpu_ns, SPIN_NS, "%llu ns on a processor", (unsigned long long)waiter->cpu_ns);
}

TestSuite(host_wait, .timeout = 60);

Test(host_wait, by_default_a_thread_spins_and_nobody_wakes_it)
{
	for (enum waits_in in = IN_STREAM; in <= IN_COPY; in++) {
		struct waiter waiter = { .flags = CU_CTX_SCHED_AUTO, .in = in };
		if (in != IN_BLOCKING_EVENT)
			expect_spin(&waiter, NULL);
	}
}

Test(host_wait, the_whole_of_a_processor_is_a_true_spin)
{
	struct waiter waiter = { .flags = CU_CTX_SCHED_SPIN, .in = IN_STREAM };
	struct seen seen;

	start(&waiter, "100");
	watch(&waiter, false, &seen);
	finish(&waiter);
	cr_expect_eq(seen.running, seen.looks, "running in %d of %d looks", seen.running, seen.looks);
}

Test(host_wait, a_share_bounds_what_spinning_takes)
{
	struct waiter waiter = { .flags = CU_CTX_SCHED_YIELD, .in = IN_STREAM };
	struct seen seen;

	uint64_t begin_ns = clock_ns_of(CLOCK_MONOTONIC);
	start(&waiter, "1.25");
	watch(&waiter, false, &seen);
	/* How often it is met asleep depends on how long it then waits for a processor. */
	for (int i = 0; i < BEGIN_MOST && !seen.sleeping; i++, usleep(LOOK_US))
		look(waiter.tid, &seen);
	finish(&waiter);
	uint64_t waited_ns = clock_ns_of(CLOCK_MONOTONIC) - begin_ns;
	/* A burst is bounded in time, not in processor time, so it can only be less; sched_yield and the sleep add to
	 * it, with a sanitizer on a busy machine five times as much (16.8 of 250 ms were seen). */
	cr_expect_lt(waiter.cpu_ns, waited_ns / 8, "%llu of %llu ns", (unsigned long long)waiter.cpu_ns,
		     (unsigned long long)waited_ns);
	cr_expect_gt(seen.sleeping, 0);
}

/* The driver's thread for events, by its name. */
static int find_handler(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	char name[32];
	int tid = 0;

	while (tasks && !tid && (entry = readdir(tasks))) {
		int number = atoi(entry->d_name);
		read_task(number, "comm", name, sizeof(name));
		tid = strcmp(name, "cuda-EvtHandlr\n") == 0 ? number : 0;
	}
	closedir(tasks);
	return tid;
}

/* Waits until it waits. */
static void watch_handler(struct seen *seen)
{
	int tid = 0;

	for (int all = 0; all < BEGIN_MOST && !tid; all++, usleep(LOOK_US))
		tid = find_handler();
	cr_assert(tid, "there is no cuda-EvtHandlr");
	*seen = (struct seen){ 0 };
	for (int all = 0; all < BEGIN_MOST && !seen->polling; all++, usleep(LOOK_US))
		look(tid, seen);
}

/* As on an H100. */
Test(host_wait, blocking_is_a_futex_and_a_thread_of_the_driver_polls_the_device)
{
	for (enum waits_in in = IN_STREAM; in <= IN_COPY; in++) {
		struct waiter waiter = { .flags = CU_CTX_SCHED_BLOCKING_SYNC, .in = in };
		struct seen seen, handler;
		if (in == IN_EVENT)
			waiter.flags = CU_CTX_SCHED_BLOCKING_SYNC | CU_CTX_MAP_HOST;
		start(&waiter, NULL);
		watch(&waiter, true, &seen);
		watch_handler(&handler);
		finish(&waiter);
		cr_expect_eq(seen.futex, seen.looks, "case %d: on a futex in %d of %d looks", in, seen.futex, seen.looks);
		cr_expect(strstr(handler.path, "/dev/nvidia0"), "case %d: it polls '%s'", in, handler.path);
		cr_expect_lt(waiter.cpu_ns, 5000000u);
	}
}

Test(host_wait, an_event_made_to_block_blocks_in_a_context_that_spins)
{
	struct waiter waiter = { .flags = CU_CTX_SCHED_SPIN, .in = IN_BLOCKING_EVENT };
	struct seen seen;

	start(&waiter, NULL);
	watch(&waiter, true, &seen);
	finish(&waiter);
	cr_expect_eq(seen.futex, seen.looks);
}

Test(host_wait, where_no_file_can_be_made_it_blocks_all_the_same)
{
	struct waiter waiter = { .flags = CU_CTX_SCHED_BLOCKING_SYNC, .in = IN_STREAM };
	struct seen seen, handler;

	setenv("TMPDIR", "/nonexistent", 1);
	start(&waiter, NULL);
	watch(&waiter, true, &seen);
	watch_handler(&handler);
	finish(&waiter);
	cr_expect_eq(seen.futex, seen.looks);
	cr_expect(strstr(handler.path, "eventfd"), "it polls '%s'", handler.path);
}

/* No thread can wake it. */
Test(host_wait, where_no_descriptor_is_left_it_spins)
{
	struct waiter waiter = { .flags = CU_CTX_SCHED_BLOCKING_SYNC, .in = IN_STREAM };
	struct rlimit before, none;
	clockid_t clock;
	uint64_t cpu_ns = 0;

	EXPECT_CU(cuInit(0));
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	start(&waiter, "100");
	cr_assert_eq(pthread_getcpuclockid(waiter.thread, &clock), 0);
	for (int all = 0; all < BEGIN_MOST && cpu_ns < SPUN_NS; all++, usleep(LOOK_US))
		cpu_ns = clock_ns_of(clock);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	finish(&waiter);
	cr_expect_geq(cpu_ns, SPUN_NS);
}

static void wait_for(void *semaphore)
{
	sem_wait(semaphore);
}

/* Whether a GPU's driver lets it is not known; here it must not be what a program hangs in. */
Test(host_wait, a_host_function_that_does_not_end_holds_up_no_host_that_blocks)
{
	struct waiter waiter = { .flags = CU_CTX_SCHED_BLOCKING_SYNC, .in = IN_STREAM };
	struct seen seen;
	CUcontext context;
	CUstream stream;
	sem_t until;

	sem_init(&until, 0, 0);
	start(&waiter, NULL);
	watch(&waiter, true, &seen);
	EXPECT_CU(cuDevicePrimaryCtxRetain(&context, 0));
	EXPECT_CU(cuCtxSetCurrent(context));
	EXPECT_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	EXPECT_CU(cuLaunchHostFunc(stream, wait_for, &until));
	finish(&waiter);
	sem_post(&until);
	EXPECT_CU(cuStreamSynchronize(stream));
}

/* The queue holds 1024 tasks: one more waits for its GPU, and is let in. */
Test(host_wait, a_full_launch_queue_is_a_wait_for_the_gpu)
{
	struct waiter waiter = { .flags = CU_CTX_SCHED_BLOCKING_SYNC, .in = IN_BLOCKING_EVENT };
	CUcontext context;
	CUevent event;

	start(&waiter, NULL);
	EXPECT_CU(cuDevicePrimaryCtxRetain(&context, 0));
	EXPECT_CU(cuCtxSetCurrent(context));
	EXPECT_CU(cuEventCreate(&event, 0));
	sem_post(&waiter.until);
	for (int i = 0; i < 3 * STREAM_QUEUE; i++)
		EXPECT_CU(cuEventRecord(event, waiter.stream));
	EXPECT_CU(cuStreamSynchronize(waiter.stream));
	pthread_join(waiter.thread, NULL);
	EXPECT_CU(waiter.result);
	EXPECT_CU(cuEventDestroy(event));
	EXPECT_CU(cuModuleUnload(waiter.module));
}

Test(host_wait, flags_are_those_of_the_context)
{
	unsigned int flags;
	int active;
	CUcontext own;

	EXPECT_CU(cuInit(0));
	cr_expect_eq(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuDevicePrimaryCtxSetFlags(0, 0x100), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuDevicePrimaryCtxSetFlags(99, 0), CUDA_ERROR_INVALID_DEVICE);
	EXPECT_CU(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_YIELD));
	EXPECT_CU(cuDevicePrimaryCtxGetState(0, &flags, &active));
	cr_expect_eq(flags, CU_CTX_SCHED_YIELD);
	cr_expect_not(active);
	EXPECT_CU(cuCtxCreate(&own, NULL, CU_CTX_SCHED_BLOCKING_SYNC, 0));
	EXPECT_CU(cuCtxGetFlags(&flags));
	cr_expect_eq(flags, CU_CTX_SCHED_BLOCKING_SYNC);
	EXPECT_CU(cuCtxDestroy(own));
	cr_expect_eq(cuCtxCreate(&own, NULL, 0x7, 0), CUDA_ERROR_INVALID_VALUE);
}

Test(host_wait, a_wrong_share_lets_no_program_begin)
{
	setenv("SIM_CUDA_SPIN", "much", 1);
	cr_expect_eq(cuInit(0), CUDA_ERROR_UNKNOWN);
}

/* Hundredths of a second in the program and in the kernel. */
struct ticks {
	unsigned long user, kernel;
};

static struct ticks ticks_of(int tid)
{
	char text[512];
	struct ticks ticks;

	read_task(tid, "stat", text, sizeof(text));
	const char *fields = strrchr(text, ')');
	cr_assert(fields && sscanf(fields + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &ticks.user,
				   &ticks.kernel) == 2);
	return ticks;
}

/* As the driver's documentation has it: contexts against processors. */
Test(host_wait, automatic_yields_when_there_are_more_contexts_than_processors)
{
	unsigned int processors = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	CUcontext context;

	setenv("SIM_CUDA_DEVICES", "1", 1);
	EXPECT_CU(cuInit(0));
	for (unsigned int made = 1; made <= processors + 1; made++)
		EXPECT_CU(cuCtxCreate(&context, NULL, CU_CTX_SCHED_AUTO, 0));
	struct waiter waiter = { .in = IN_STREAM };
	start(&waiter, "100");
	/* A yield is a system call, a spin is none: in a third of a second on a processor the kernel has its part. */
	struct ticks ticks = { 0 };
	for (int i = 0; i < TICKS_LOOKS && ticks.user + ticks.kernel < 33; i++, usleep(LOOK_US))
		ticks = ticks_of(waiter.tid);
	finish(&waiter);
	cr_expect_geq(ticks.user + ticks.kernel, 33, "it hardly ran");
	cr_expect_gt(ticks.kernel, ticks.user / 10, "%lu in the kernel, %lu outside", ticks.kernel, ticks.user);
}
