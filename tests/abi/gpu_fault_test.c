/* SPDX-License-Identifier: MIT */
/* The built plugin under stream capture, and with a driver whose calls fail: nothing is added to the program's graph,
 * no launch fails, and the box says once why there is no GPU progress. */
#include <criterion/criterion.h>
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/abi/player.h"

static struct player player;
static struct box_reader reader;
static CUstream stream;

static CUcontext open_driver(const char *faults)
{
	CUcontext context;

	setenv("SIM_CUDA_FAULTS", faults, 1);
	cr_assert_eq(cuInit(0), CUDA_SUCCESS);
	cr_assert_eq(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	cr_assert_eq(cuCtxSetCurrent(context), CUDA_SUCCESS);
	return context;
}

static void begin(const char *faults)
{
	const char *directory = player_directory();

	open_driver(faults);
	cr_assert_eq(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	player_init(&player, player_load(), 5, 0x5eed, 1, 4);
	cr_assert(player.mask);
	player_read(&reader, directory);
}

/* Up to KernelLaunch stop: the plan's own events are left to the caller. */
static void *launch(bool captured)
{
	void *group = player_api_group(&player);
	void *call = player_call(&player, group, "AllReduce", 8, "ncclFloat32", captured);

	player_stop(&player, call);
	player_stop(&player, player_launch(&player, stream));
	player_stop(&player, group);
	return call;
}

static void start_task(void *call)
{
	void *plan = player_plan(&player);

	player_stop(&player, player_task(&player, call, "AllReduce", 8));
	player_stop(&player, plan);
}

static const char *state(void)
{
	cr_assert_eq(box_reader_refresh(&reader), 0);
	return reader.header.gpu_progress_state;
}

static void *replay_main(void *call)
{
	start_task(call);
	return NULL;
}

/* As NCCL does for a plan with work for its progress thread. */
static void replay_on_a_callback_thread(void *call)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, replay_main, call), 0);
	pthread_join(thread, NULL);
}

Test(gpu_fault, a_captured_launch_gets_no_writes_and_no_slot_and_is_counted)
{
	struct rw_communicator entry;
	CUgraph graph;
	size_t nodes;

	begin("");
	cr_expect_str_eq(state(), "watermark");
	cr_assert_eq(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
	void *call = launch(true);
	cr_assert_eq(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS, "the capture stays valid");
	cr_assert_eq(cuGraphGetNodes(graph, NULL, &nodes), CUDA_SUCCESS);
	cr_expect_eq(nodes, 0, "%zu nodes of ours are in the program's graph", nodes);
	replay_on_a_callback_thread(call);
	replay_on_a_callback_thread(call);
	cr_assert_eq(box_reader_refresh(&reader), 0);
	cr_expect_eq(reader.header.head, 0);
	cr_assert_eq(box_reader_communicators(&reader, 0, 1, &entry), 1);
	cr_expect_eq(entry.captured, 1);
	cr_expect_str_eq(state(), "watermark");
	cr_expect_eq(cuGraphDestroy(graph), CUDA_SUCCESS);
}

/* `calls` launches and the events of their tasks: none may notice what the driver answers to us. */
static void play(int calls)
{
	for (int i = 0; i < calls; i++)
		start_task(launch(false));
	cr_expect_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
}

static void expect_unfollowed(const char *faults, const char *at_start, const char *in_the_end)
{
	struct rw_operation op;

	begin(faults);
	cr_expect_str_eq(state(), at_start);
	play(3);
	cr_expect_str_eq(state(), in_the_end);
	for (uint64_t number = 0; number < 3; number++) {
		cr_assert(player_operation(&reader, number, &op));
		cr_expect(op.known & RW_KNOWN_LAUNCH, "recorded all the same");
	}
	cr_expect_eq(op.progress, 0);
	cr_expect_eq(op.gpu_source, RW_GPU_SOURCE_NONE);
}

Test(gpu_fault, a_write_that_fails_turns_progress_off_and_is_said)
{
	expect_unfollowed("cuStreamWriteValue64_v2:fail=CUDA_ERROR_NOT_SUPPORTED", "watermark",
			  "off: cuStreamWriteValue64 failed with CUDA error 801");
}

Test(gpu_fault, a_later_write_that_fails_turns_progress_off_too_and_the_first_error_stays)
{
	expect_unfollowed("cuStreamWriteValue64_v2:fail=1,after=68,times=1;cuStreamIsCapturing:fail=2,after=3",
			  "watermark", "off: cuStreamWriteValue64 failed with CUDA error 1");
}

/* 906: another thread captures, and the stream is the legacy one. It says nothing about the driver. */
Test(gpu_fault, a_write_that_a_capture_elsewhere_forbids_is_not_waited_for_and_turns_nothing_off)
{
	struct rw_communicator entry;
	struct rw_operation op;

	begin("cuStreamWriteValue64_v2:fail=906,after=66,times=2"); /* 65 at init, to know what one costs */
	play(3);
	cr_expect_str_eq(state(), "watermark");
	cr_assert(player_wait_finished(&reader, 0, &op));
	cr_expect_eq(op.progress, 0, "its end was not written");
	cr_assert(player_wait_finished(&reader, 1, &op));
	cr_expect_eq(op.progress, 0, "its beginning was not written");
	cr_assert(player_wait_finished(&reader, 2, &op));
	cr_expect_gt(op.progress, 1, "a number that was in no stream before");
	cr_expect(op.known & RW_KNOWN_DONE);
	cr_assert_eq(box_reader_communicators(&reader, 0, 1, &entry), 1);
	cr_expect_eq(entry.launched, op.progress);
}

Test(gpu_fault, a_page_that_cannot_be_registered_is_said_at_start)
{
	static const char said[] = "off: cuMemHostRegister failed with CUDA error 801";

	expect_unfollowed("cuMemHostRegister_v2:fail=801", said, said);
}

Test(gpu_fault, a_page_without_a_device_address_is_said_at_start)
{
	static const char said[] = "off: cuMemHostGetDevicePointer failed with CUDA error 1";

	expect_unfollowed("cuMemHostGetDevicePointer_v2:fail=1", said, said);
}

Test(gpu_fault, a_device_that_cannot_write_is_said_at_start)
{
	static const char said[] = "none: device without 64-bit stream memory operations";

	expect_unfollowed("cuDeviceGetAttribute:fail=1", said, said);
}

static bool plugin_is_without_threads; /* as at a limit of RLIMIT_NPROC or pids.max */

/* Of the plugin, too: the program exports it. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	Dl_info caller;

	if (plugin_is_without_threads && dladdr(__builtin_return_address(0), &caller) &&
	    strcmp(caller.dli_fname, PLUGIN_PATH) == 0)
		return EAGAIN;
	*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	return real(thread, attributes, run, argument);
}

/* Nobody would read the results. */
Test(gpu_fault, without_a_thread_of_the_plugin_s_own_nothing_is_scanned)
{
	setenv("RANKWATCH_SCAN", "all", 1);
	plugin_is_without_threads = true;
	begin("");
	cr_expect_str_eq(reader.header.gpu_progress_state, "none: no thread of our own");
	cr_expect_str_eq(reader.header.scan_state, "off: no thread of our own");
	cr_expect_eq(reader.header.scan_every, 0);
}

static void *init_main(void *context)
{
	cuCtxSetCurrent(context);
	player_init(&player, player_load(), 5, 0x5eed, 1, 4);
	return NULL;
}

static void wait_for_box(const char *directory)
{
	char pattern[4096];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/*.rwbox", directory);
	while (glob(pattern, 0, NULL, &found) != 0)
		usleep(1000);
	globfree(&found);
}

Test(gpu_fault, an_init_that_the_driver_holds_up_says_where, .timeout = 30)
{
	const char *directory = player_directory();
	pthread_t thread;

	CUcontext context = open_driver("cuMemHostRegister_v2:block");
	cr_assert_eq(pthread_create(&thread, NULL, init_main, context), 0);
	pthread_detach(thread);
	wait_for_box(directory);
	player_read(&reader, directory);
	while (strcmp(state(), "cuMemHostRegister has not returned") != 0)
		usleep(1000);
}

Test(gpu_fault, late_calls_are_waited_for_and_leave_progress_on)
{
	begin("cuMemHostRegister_v2:late=20ms;cuStreamWriteValue64_v2:late=1ms");
	play(3);
	cr_expect_str_eq(state(), "watermark");
}
