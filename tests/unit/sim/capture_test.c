/* SPDX-License-Identifier: MIT */
/* Stream capture and graphs of the stand-in driver: what becomes a node, what is refused, how a graph is replayed. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include <criterion/criterion.h>

#include "kernels.h"
#include "ranks.h"

#define REFUSED(call, why) cr_expect_eq((call), CUDA_ERROR_##why, "%s", #call " gives " #why)

static CUstream stream, other;
static CUevent event, back;

static void open_driver(void)
{
	open_kernels();
	EXPECT_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	EXPECT_CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	EXPECT_CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	EXPECT_CU(cuEventCreate(&back, CU_EVENT_DISABLE_TIMING));
}

TestSuite(capture, .init = open_driver, .timeout = 60);

static CUresult launch_note(CUstream where, int value)
{
	void *params[] = { &value };

	return cuLaunchKernel(note, 1, 1, 1, 1, 1, 1, 0, where, params, NULL);
}

static void launch_hold(CUstream where, sem_t *until)
{
	void *params[] = { &until };

	EXPECT_CU(cuLaunchKernel(hold, 1, 1, 1, 1, 1, 1, 0, where, params, NULL));
}

static void begin(CUstreamCaptureMode mode)
{
	EXPECT_CU(cuStreamBeginCapture(stream, mode));
}

static CUgraph end(void)
{
	CUgraph graph;

	EXPECT_CU(cuStreamEndCapture(stream, &graph));
	return graph;
}

static CUgraphExec instantiate(CUgraph graph)
{
	CUgraphExec exec;

	EXPECT_CU(cuGraphInstantiate(&exec, graph, 0));
	return exec;
}

static CUstreamCaptureStatus status(void)
{
	CUstreamCaptureStatus now;

	EXPECT_CU(cuStreamIsCapturing(stream, &now));
	return now;
}

static void expect_noted(const int *expected, int count)
{
	cr_assert_eq(atomic_load(&noted_count), count);
	for (int i = 0; i < count; i++)
		cr_expect_eq(noted[i], expected[i]);
	atomic_store(&noted_count, 0);
}

/* The call fails with the error, and the capture gives no graph. */
static void expect_invalidated(CUstreamCaptureMode mode, CUresult (*call)(void), CUresult error)
{
	CUgraph graph;

	begin(mode);
	cr_expect_eq(call(), error);
	cr_expect_eq(status(), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	REFUSED(launch_note(stream, 1), STREAM_CAPTURE_INVALIDATED);
	REFUSED(cuStreamEndCapture(stream, &graph), STREAM_CAPTURE_INVALIDATED);
	cr_expect_null(graph);
	cr_expect_eq(status(), CU_STREAM_CAPTURE_STATUS_NONE);
}

Test(capture, captured_work_runs_at_each_replay_and_not_before)
{
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	for (int i = 0; i < 3; i++)
		EXPECT_CU(launch_note(stream, i));
	cr_expect_eq(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
	CUgraph graph = end();
	CUgraphExec exec = instantiate(graph);
	EXPECT_CU(cuStreamSynchronize(stream));
	cr_expect_eq(atomic_load(&noted_count), 0);
	EXPECT_CU(cuGraphDestroy(graph)); /* what was made of it stays */
	EXPECT_CU(cuGraphLaunch(exec, stream));
	EXPECT_CU(cuGraphLaunch(exec, other)); /* launches of one graph never overlap */
	EXPECT_CU(cuStreamSynchronize(other));
	expect_noted((int[]){ 0, 1, 2, 0, 1, 2 }, 6);
	EXPECT_CU(cuGraphExecDestroy(exec));
}

Test(capture, each_kind_of_work_becomes_its_kind_of_node)
{
	static const CUgraphNodeType expected[] = {
		CU_GRAPH_NODE_TYPE_KERNEL,       CU_GRAPH_NODE_TYPE_MEMCPY,       CU_GRAPH_NODE_TYPE_MEMSET,
		CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_WAIT_EVENT,
	};
	CUdeviceptr memory;
	CUgraphNode nodes[8];
	size_t count, before;
	CUgraphNodeType type;
	uint64_t host = 1;

	EXPECT_CU(cuMemAlloc(&memory, 64));
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	EXPECT_CU(launch_note(stream, 1));
	EXPECT_CU(cuMemcpyHtoDAsync(memory, &host, sizeof(host), stream));
	EXPECT_CU(cuMemsetD8Async(memory + 8, 7, 8, stream));
	EXPECT_CU(cuStreamWriteValue64(stream, memory + 16, 42, 0));
	EXPECT_CU(cuEventRecord(back, stream)); /* an order, not a node */
	EXPECT_CU(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
	EXPECT_CU(cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
	CUgraph graph = end();
	EXPECT_CU(cuGraphGetNodes(graph, NULL, &count));
	cr_assert_eq(count, 6);
	EXPECT_CU(cuGraphGetNodes(graph, nodes, &count));
	for (size_t i = 0; i < count; i++) {
		EXPECT_CU(cuGraphNodeGetType(nodes[i], &type));
		cr_expect_eq(type, expected[i]);
		EXPECT_CU(cuGraphNodeGetDependencies(nodes[i], NULL, NULL, &before));
		cr_expect_eq(before, i > 0);
	}
	CUgraphExec exec = instantiate(graph);
	host = 2; /* a captured copy reads its source at the replay */
	EXPECT_CU(cuGraphLaunch(exec, stream));
	EXPECT_CU(cuEventSynchronize(event));
	EXPECT_CU(cuStreamSynchronize(stream));
	const uint64_t *words = (const uint64_t *)(uintptr_t)memory;
	cr_expect_eq(words[0], 2);
	cr_expect_eq(words[1], 0x0707070707070707u);
	cr_expect_eq(words[2], 42);
	EXPECT_CU(cuGraphExecDestroy(exec));
	EXPECT_CU(cuGraphDestroy(graph));
}

Test(capture, branches_fork_and_join_by_events_and_run_side_by_side)
{
	sem_t first, second;

	sem_init(&first, 0, 0);
	sem_init(&second, 0, 0);
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	EXPECT_CU(launch_note(stream, 1));
	EXPECT_CU(cuEventRecord(event, stream));
	EXPECT_CU(cuStreamWaitEvent(other, event, 0));
	launch_hold(stream, &first);
	launch_hold(other, &second);
	EXPECT_CU(launch_note(other, 2));
	EXPECT_CU(cuEventRecord(back, other));
	EXPECT_CU(cuStreamWaitEvent(stream, back, 0));
	EXPECT_CU(launch_note(stream, 3));
	CUgraph graph = end();
	CUgraphExec exec = instantiate(graph);
	EXPECT_CU(cuGraphLaunch(exec, stream));
	sem_post(&second); /* the second branch moves while the first stands still */
	while (atomic_load(&noted_count) < 2)
		sched_yield();
	sem_post(&first);
	EXPECT_CU(cuStreamSynchronize(stream));
	expect_noted((int[]){ 1, 2, 3 }, 3);
	EXPECT_CU(launch_note(other, 4)); /* the forked stream has left the capture with it */
	EXPECT_CU(cuStreamSynchronize(other));
	expect_noted((int[]){ 4 }, 1);
	EXPECT_CU(cuGraphExecDestroy(exec));
	EXPECT_CU(cuGraphDestroy(graph));
}

Test(capture, many_forks_and_joins_need_only_two_threads)
{
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	for (int i = 0; i < 20; i++) {
		EXPECT_CU(launch_note(stream, 2 * i));
		EXPECT_CU(cuEventRecord(event, stream));
		EXPECT_CU(cuStreamWaitEvent(other, event, 0));
		EXPECT_CU(launch_note(other, 2 * i + 1));
		EXPECT_CU(cuEventRecord(back, other));
		EXPECT_CU(cuStreamWaitEvent(stream, back, 0));
	}
	CUgraph graph = end();
	CUstream before, after;
	unsigned long long first, second;
	EXPECT_CU(cuStreamCreate(&before, 0));
	CUgraphExec exec = instantiate(graph);
	EXPECT_CU(cuStreamCreate(&after, 0));
	EXPECT_CU(cuStreamGetId(before, &first));
	EXPECT_CU(cuStreamGetId(after, &second));
	cr_expect_leq(second - first, 2, "%llu streams were made", second - first - 1);
	EXPECT_CU(cuGraphLaunch(exec, stream));
	EXPECT_CU(cuStreamSynchronize(stream));
	cr_expect_eq(atomic_load(&noted_count), 40);
	for (int i = 0; i < 40; i++)
		cr_expect_eq(noted[i], i);
	EXPECT_CU(cuGraphExecDestroy(exec));
	EXPECT_CU(cuGraphDestroy(graph));
}

static CUresult call_alloc(void)
{
	CUdeviceptr memory;

	return cuMemAlloc(&memory, 64);
}

static CUresult call_alloc_host(void)
{
	void *memory;

	return cuMemAllocHost(&memory, 64);
}

static CUresult call_query_other(void)
{
	return cuEventQuery(back);
}

static CUresult call_synchronize(void)
{
	return cuStreamSynchronize(stream);
}

static CUresult call_query_captured(void)
{
	EXPECT_CU(cuEventRecord(event, stream));
	return cuEventQuery(event);
}

static CUresult call_wait_outside(void)
{
	EXPECT_CU(cuEventRecord(back, other));
	return cuStreamWaitEvent(stream, back, 0);
}

Test(capture, unsafe_calls_are_prohibited_by_the_mode_and_invalidate)
{
	CUresult (*const unsafe[])(void) = { call_alloc, call_alloc_host, call_query_other };

	for (size_t i = 0; i < sizeof(unsafe) / sizeof(*unsafe); i++) {
		expect_invalidated(CU_STREAM_CAPTURE_MODE_GLOBAL, unsafe[i], CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
		expect_invalidated(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, unsafe[i],
				   CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
		begin(CU_STREAM_CAPTURE_MODE_RELAXED);
		EXPECT_CU(unsafe[i]());
		EXPECT_CU(cuGraphDestroy(end()));
	}
}

/* As the driver does it on an H100 (recordings/h100-nccl-2.28.3.jsonl). */
Test(capture, a_module_may_be_loaded_in_every_mode)
{
	CUmodule module;

	for (int mode = CU_STREAM_CAPTURE_MODE_GLOBAL; mode <= CU_STREAM_CAPTURE_MODE_RELAXED; mode++) {
		begin(mode);
		EXPECT_CU(cuModuleLoadData(&module, &image));
		cr_expect_eq(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
		EXPECT_CU(cuGraphDestroy(end()));
		EXPECT_CU(cuModuleUnload(module));
	}
}

Test(capture, what_conflicts_with_a_capture_is_refused_in_every_mode)
{
	for (int mode = CU_STREAM_CAPTURE_MODE_GLOBAL; mode <= CU_STREAM_CAPTURE_MODE_RELAXED; mode++) {
		expect_invalidated(mode, call_synchronize, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
		expect_invalidated(mode, call_wait_outside, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	}
	expect_invalidated(CU_STREAM_CAPTURE_MODE_RELAXED, call_query_captured, CUDA_ERROR_CAPTURED_EVENT);
	/* Also when the capture is over. */
	REFUSED(cuEventSynchronize(event), CAPTURED_EVENT);
	REFUSED(cuStreamWaitEvent(other, event, 0), CAPTURED_EVENT);
	EXPECT_CU(cuEventRecord(event, stream));
	EXPECT_CU(cuEventSynchronize(event));
}

Test(capture, a_thread_may_relax_its_own_mode_for_a_while)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	EXPECT_CU(cuThreadExchangeStreamCaptureMode(&mode));
	cr_expect_eq(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	EXPECT_CU(call_alloc());
	EXPECT_CU(cuThreadExchangeStreamCaptureMode(&mode));
	cr_expect_eq(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
	REFUSED(call_alloc(), STREAM_CAPTURE_UNSUPPORTED);
	cr_expect_eq(status(), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
}

static void *alloc_main(void *result)
{
	EXPECT_CU(cuCtxSetCurrent(context));
	*(CUresult *)result = call_alloc();
	return NULL;
}

static CUresult alloc_on_another_thread(void)
{
	CUresult result;
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, alloc_main, &result), 0);
	pthread_join(thread, NULL);
	return result;
}

Test(capture, another_thread_is_prohibited_only_beside_a_global_capture)
{
	begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	EXPECT_CU(alloc_on_another_thread());
	EXPECT_CU(cuGraphDestroy(end()));
	expect_invalidated(CU_STREAM_CAPTURE_MODE_GLOBAL, alloc_on_another_thread,
			   CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

Test(capture, the_legacy_stream_is_unusable_beside_a_capture_of_a_blocking_stream)
{
	CUstreamCaptureStatus now;
	CUstream blocking;
	CUgraph graph;

	REFUSED(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL), STREAM_CAPTURE_UNSUPPORTED);
	EXPECT_CU(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	EXPECT_CU(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
	REFUSED(cuStreamIsCapturing(NULL, &now), STREAM_CAPTURE_IMPLICIT);
	EXPECT_CU(cuStreamIsCapturing(blocking, &now));
	cr_expect_eq(now, CU_STREAM_CAPTURE_STATUS_ACTIVE, "asking does not invalidate");
	REFUSED(launch_note(NULL, 1), STREAM_CAPTURE_IMPLICIT);
	REFUSED(cuStreamEndCapture(blocking, &graph), STREAM_CAPTURE_INVALIDATED);
	EXPECT_CU(launch_note(NULL, 1));
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL); /* a non-blocking one does not concern it */
	EXPECT_CU(launch_note(NULL, 2));
	EXPECT_CU(cuGraphDestroy(end()));
}

static void *end_main(void *result)
{
	CUgraph graph;

	*(CUresult *)result = cuStreamEndCapture(stream, &graph);
	return NULL;
}

Test(capture, a_capture_ends_where_it_began_and_with_all_branches_joined)
{
	CUresult result;
	pthread_t thread;
	CUgraph graph;

	REFUSED(cuStreamEndCapture(stream, &graph), ILLEGAL_STATE);
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	REFUSED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), ILLEGAL_STATE);
	cr_assert_eq(pthread_create(&thread, NULL, end_main, &result), 0);
	pthread_join(thread, NULL);
	cr_expect_eq(result, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	EXPECT_CU(cuEventRecord(event, stream));
	EXPECT_CU(cuStreamWaitEvent(other, event, 0));
	EXPECT_CU(launch_note(other, 1));
	REFUSED(cuStreamEndCapture(stream, &graph), STREAM_CAPTURE_UNJOINED);
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	EXPECT_CU(cuEventRecord(event, stream));
	EXPECT_CU(cuStreamWaitEvent(other, event, 0));
	REFUSED(cuStreamEndCapture(other, &graph), STREAM_CAPTURE_UNMATCHED);
	REFUSED(cuStreamEndCapture(stream, &graph), STREAM_CAPTURE_INVALIDATED);
}

Test(capture, two_captures_do_not_merge)
{
	CUgraph graph;

	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	EXPECT_CU(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_GLOBAL));
	EXPECT_CU(cuEventRecord(event, stream));
	REFUSED(cuStreamWaitEvent(other, event, 0), STREAM_CAPTURE_MERGE);
	REFUSED(cuStreamEndCapture(stream, &graph), STREAM_CAPTURE_INVALIDATED);
	REFUSED(cuStreamEndCapture(other, &graph), STREAM_CAPTURE_INVALIDATED);
}

Test(capture, the_capture_can_be_asked_for_its_graph_and_dependencies)
{
	CUstreamCaptureStatus now;
	cuuint64_t id = 0;
	CUgraph asked, graph;
	const CUgraphNode *after;
	CUgraphNode first;
	size_t count;

	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	EXPECT_CU(launch_note(stream, 1));
	EXPECT_CU(cuStreamGetCaptureInfo(stream, &now, &id, &asked, &after, NULL, &count));
	cr_assert_eq(count, 1);
	first = after[0];
	EXPECT_CU(cuStreamUpdateCaptureDependencies(stream, NULL, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	EXPECT_CU(launch_note(stream, 2));
	EXPECT_CU(cuStreamUpdateCaptureDependencies(stream, &first, NULL, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
	EXPECT_CU(cuStreamGetCaptureInfo(stream, &now, &id, &asked, &after, NULL, &count));
	cr_expect_eq(count, 2);
	cr_expect_neq(id, 0);
	graph = end();
	cr_expect_eq(graph, asked);
	REFUSED(cuStreamUpdateCaptureDependencies(stream, &first, NULL, 1, 0), ILLEGAL_STATE);
	EXPECT_CU(cuGraphDestroy(graph));
}

static atomic_int destroyed;
static CUresult answer_in_host_function;
static pthread_t host_thread;

static void note_destroyed(void *argument)
{
	atomic_fetch_add(&destroyed, *(int *)argument);
}

Test(capture, a_user_object_lives_as_long_as_the_graphs_that_refer_to_it)
{
	CUuserObject object;
	sem_t until;
	int one = 1;

	sem_init(&until, 0, 0);
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	launch_hold(stream, &until);
	CUgraph graph = end();
	EXPECT_CU(cuUserObjectCreate(&object, &one, note_destroyed, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	EXPECT_CU(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
	CUgraphExec exec = instantiate(graph);
	EXPECT_CU(cuGraphDestroy(graph));
	EXPECT_CU(cuGraphLaunch(exec, stream));
	EXPECT_CU(cuGraphExecDestroy(exec));
	cr_expect_eq(atomic_load(&destroyed), 0, "the launch still runs");
	sem_post(&until);
	EXPECT_CU(cuStreamSynchronize(stream));
	while (!atomic_load(&destroyed))
		sched_yield();
	cr_expect_eq(atomic_load(&destroyed), 1);
}

static void ask_driver(void *argument)
{
	CUdeviceptr memory;

	host_thread = pthread_self();
	answer_in_host_function = cuMemAlloc(&memory, 64);
	noted[atomic_fetch_add(&noted_count, 1)] = *(int *)argument;
}

static int two = 2;

Test(capture, a_host_function_runs_in_order_on_the_callback_thread_and_may_not_call_the_driver)
{
	EXPECT_CU(launch_note(stream, 1));
	EXPECT_CU(cuLaunchHostFunc(stream, ask_driver, &two));
	EXPECT_CU(launch_note(stream, 3));
	EXPECT_CU(cuStreamSynchronize(stream));
	expect_noted((int[]){ 1, 2, 3 }, 3);
	cr_expect_eq(answer_in_host_function, CUDA_ERROR_NOT_PERMITTED);
	cr_expect_not(pthread_equal(host_thread, pthread_self()));
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	EXPECT_CU(cuLaunchHostFunc(stream, ask_driver, &two));
	CUgraph graph = end();
	CUgraphExec exec = instantiate(graph);
	for (int i = 0; i < 3; i++)
		EXPECT_CU(cuGraphLaunch(exec, stream));
	EXPECT_CU(cuStreamSynchronize(stream));
	expect_noted((int[]){ 2, 2, 2 }, 3);
	EXPECT_CU(cuGraphExecDestroy(exec));
	EXPECT_CU(cuGraphDestroy(graph));
}

/* Which the tests' other stream must stay. */
static CUstream join_new_stream(void)
{
	CUstream side;

	cr_assert_eq(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	EXPECT_CU(cuEventRecord(event, stream));
	EXPECT_CU(cuStreamWaitEvent(side, event, 0));
	return side;
}

/* NCCL destroys such streams. What they did must be joined all the same. */
Test(capture, a_stream_that_joined_may_be_destroyed_and_the_capture_goes_on)
{
	CUgraph graph;

	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	CUstream side = join_new_stream();
	EXPECT_CU(launch_note(side, 1));
	EXPECT_CU(cuEventRecord(event, side));
	EXPECT_CU(cuStreamWaitEvent(stream, event, 0));
	EXPECT_CU(cuStreamDestroy(side));
	EXPECT_CU(launch_note(stream, 2));
	EXPECT_CU(cuGraphDestroy(end()));
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	side = join_new_stream();
	EXPECT_CU(launch_note(side, 1));
	EXPECT_CU(cuStreamDestroy(side));
	REFUSED(cuStreamEndCapture(stream, &graph), STREAM_CAPTURE_UNJOINED);
}

/* NCCL moves its own streams on in this way. */
Test(capture, a_stream_whose_place_was_set_and_that_captured_nothing_since_is_joined)
{
	CUgraph graph;

	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	EXPECT_CU(cuEventRecord(event, stream));
	EXPECT_CU(cuStreamWaitEvent(other, event, 0));
	EXPECT_CU(launch_note(other, 1));
	EXPECT_CU(cuStreamUpdateCaptureDependencies(other, NULL, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	EXPECT_CU(cuGraphDestroy(end()));
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	EXPECT_CU(cuEventRecord(event, stream));
	EXPECT_CU(cuStreamWaitEvent(other, event, 0));
	EXPECT_CU(cuStreamUpdateCaptureDependencies(other, NULL, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	EXPECT_CU(launch_note(other, 1));
	REFUSED(cuStreamEndCapture(stream, &graph), STREAM_CAPTURE_UNJOINED);
}

Test(capture, destroying_the_stream_that_it_began_on_ends_a_capture)
{
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	EXPECT_CU(launch_note(stream, 1));
	EXPECT_CU(cuStreamDestroy(stream));
	EXPECT_CU(call_alloc());
}
