/* SPDX-License-Identifier: MIT */
/* NCCL under stream capture: results of replays, and what a profiler plugin hears at the capture and at each replay. */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "ranks.h"
#include "recording.h"

#define COUNT 1000

TestSuite(graph, .timeout = 100);

static CUgraphExec end_capture(CUstream stream)
{
	CUgraph graph;
	CUgraphExec exec;

	CU(cuStreamEndCapture(stream, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	return exec;
}

static void begin_capture(struct rank *rank)
{
	CU(cuStreamBeginCapture(rank->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

static void all_reduce(struct rank *rank, float *buffer)
{
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
}

static CUgraphExec capture_all_reduce(struct rank *rank, float *buffer)
{
	begin_capture(rank);
	all_reduce(rank, buffer);
	return end_capture(rank->stream);
}

static void replay(struct rank *rank, CUgraphExec exec)
{
	CU(cuGraphLaunch(exec, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
}

static void fill(float *buffer, float value)
{
	for (int i = 0; i < COUNT; i++)
		buffer[i] = value;
}

static void results_main(struct rank *rank)
{
	float *buffer = device_alloc(COUNT * sizeof(float)), *other = device_alloc(COUNT * sizeof(float));

	fill(buffer, 1);
	begin_capture(rank);
	all_reduce(rank, buffer);
	NCCL(ncclGroupStart());
	if (rank->rank == 0)
		NCCL(ncclSend(buffer, COUNT, ncclFloat32, 1, rank->comm, rank->stream));
	else
		NCCL(ncclRecv(other, COUNT, ncclFloat32, 0, rank->comm, rank->stream));
	NCCL(ncclGroupEnd());
	CUgraphExec exec = end_capture(rank->stream);
	CHECK(buffer[0] == 1);
	for (int i = 0; i < 3; i++)
		CU(cuGraphLaunch(exec, rank->stream));
	all_reduce(rank, buffer); /* an ordinary one behind them */
	CU(cuStreamSynchronize(rank->stream));
	CHECK(buffer[0] == 16 && buffer[COUNT - 1] == 16);
	CHECK(rank->rank == 0 || other[COUNT - 1] == 8);
	CU(cuGraphExecDestroy(exec));
}

Test(graph, replays_of_captured_calls_move_the_data_each_time)
{
	ranks_run(2, results_main);
}

Test(graph, replays_move_the_data_between_hosts)
{
	setenv("TEST_HOSTS", "2", 1);
	ranks_run(2, results_main);
}

static void streams_main(struct rank *rank)
{
	float *buffer = device_alloc(COUNT * sizeof(float)), *other = device_alloc(COUNT * sizeof(float));
	CUstream second;
	CUevent fork, join;

	fill(buffer, 1);
	fill(other, 1);
	CU(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	CU(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	CU(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	begin_capture(rank);
	CU(cuEventRecord(fork, rank->stream));
	CU(cuStreamWaitEvent(second, fork, 0));
	NCCL(ncclGroupStart());
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
	NCCL(ncclAllReduce(other, other, COUNT, ncclFloat32, ncclSum, rank->comm, second));
	NCCL(ncclGroupEnd());
	CU(cuEventRecord(join, second));
	CU(cuStreamWaitEvent(rank->stream, join, 0));
	CUgraphExec exec = end_capture(rank->stream);
	replay(rank, exec);
	CHECK(buffer[0] == 2 && other[0] == 2);
	CU(cuGraphExecDestroy(exec));
	/* Half of a group in a capture is an error, and says so. */
	begin_capture(rank);
	NCCL(ncclGroupStart());
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
	NCCL(ncclAllReduce(other, other, COUNT, ncclFloat32, ncclSum, rank->comm, second));
	CHECK(ncclGroupEnd() == ncclInvalidUsage);
	CUgraph graph;
	CU(cuStreamEndCapture(rank->stream, &graph));
	CU(cuGraphDestroy(graph));
}

Test(graph, a_group_over_two_captured_streams_is_one_launch)
{
	ranks_run(2, streams_main);
}

/* Two communicators in one graph, one of them in a second graph as well, and ordinary calls in between. */
static void communicators_main(struct rank *rank)
{
	float *buffer = device_alloc(COUNT * sizeof(float)), *other = device_alloc(COUNT * sizeof(float));
	struct rank second = *rank;

	fill(buffer, 1);
	fill(other, 1);
	NCCL(ncclCommSplit(rank->comm, 0, rank->rank, &second.comm, NULL));
	begin_capture(rank);
	all_reduce(rank, buffer);
	all_reduce(&second, other);
	all_reduce(rank, buffer);
	CUgraphExec both = end_capture(rank->stream), one = capture_all_reduce(rank, buffer);
	CU(cuGraphLaunch(both, rank->stream)); /* 4, 2 */
	CU(cuGraphLaunch(one, rank->stream));  /* 8 */
	all_reduce(&second, other);            /* 4 */
	CU(cuGraphLaunch(both, rank->stream)); /* 32, 8 */
	CU(cuStreamSynchronize(rank->stream));
	CHECK(buffer[0] == 32 && buffer[COUNT - 1] == 32);
	CHECK(other[0] == 8 && other[COUNT - 1] == 8);
	CU(cuGraphExecDestroy(both));
	CU(cuGraphExecDestroy(one));
	NCCL(ncclCommDestroy(second.comm));
}

Test(graph, communicators_share_graphs_and_graphs_communicators)
{
	ranks_run(2, communicators_main);
}

Test(graph, communicators_share_graphs_with_callbacks)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	setenv("RECORDING_MASK", "0xE46", 1);
	ranks_run(2, communicators_main);
}

#define CAPTURED                                                                                                       \
	"GroupApi start in - depth 1\n"                                                                                \
	"GroupApi state 23\n"                                                                                          \
	"CollApi start in GroupApi AllReduce 1000 ncclFloat32 root 0 captured\n"                                       \
	"CollApi stop\n"                                                                                               \
	"GroupApi state 24\n"                                                                                          \
	"KernelLaunch start in GroupApi\n"                                                                             \
	"KernelLaunch stop\n"
#define EVENTS(thread, number)                                                                                         \
	thread "Group start in -\n" thread "Coll start in CollApi AllReduce #" number                                  \
	       " 1000 ncclFloat32 root 0 rank 0 group Group\n" thread "Coll stop\n" thread "Group stop\n"
#define OTHER "(other thread) "

static void inline_main(struct rank *rank)
{
	float *buffer = device_alloc(COUNT * sizeof(float));

	recording_attach();
	recording_drop();
	CUgraphExec exec = capture_all_reduce(rank, buffer);
	if (rank->rank == 0)
		recording_expect("the capture", CAPTURED EVENTS("", "0") "GroupApi stop\n");
	replay(rank, exec);
	replay(rank, exec);
	if (rank->rank == 0)
		recording_expect("the replays", "");
	all_reduce(rank, buffer);
	if (rank->rank == 0 && !strstr(recording_read(), "AllReduce #0 "))
		CHECK(!"captured plans without KernelCh take no number");
	CU(cuStreamSynchronize(rank->stream));
	CU(cuGraphExecDestroy(exec));
}

Test(graph, without_work_for_the_proxy_the_plugin_hears_of_the_capture_only)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	ranks_run(2, inline_main);
}

static bool begins_with(const char *line, const char *start)
{
	return strncmp(line, start, strlen(start)) == 0;
}

/* Without the progress thread's lines, and for those of the callback's thread without the caller's: they come between
 * them as they like. */
static bool has_lines(const char *wanted)
{
	static char text[1 << 16];
	size_t used = 0;

	for (const char *line = recording_read(), *end; (end = strchr(line, '\n')); line = end + 1) {
		size_t length = (size_t)(end - line) + 1;
		if (memmem(line, length, "KernelCh", 8) || (begins_with(wanted, OTHER) && !begins_with(line, OTHER)))
			continue;
		memcpy(text + used, line, length);
		used += length;
	}
	text[used] = '\0';
	return strstr(text, wanted) != NULL;
}

static void wait_for_stops(int count)
{
	for (const char *at; count; usleep(1000)) {
		int seen = 0;
		for (at = recording_read(); (at = strstr(at, "KernelCh stop")); at++)
			seen++;
		if (seen >= count)
			return;
	}
}

static void channels_main(struct rank *rank)
{
	float *buffer = device_alloc(COUNT * sizeof(float));

	recording_attach();
	recording_drop();
	CUgraphExec exec = capture_all_reduce(rank, buffer);
	if (rank->rank == 0)
		recording_expect("the capture", CAPTURED "GroupApi stop\n");
	for (int i = 0; i < 2; i++) {
		replay(rank, exec);
		if (rank->rank)
			continue;
		wait_for_stops(1);
		CHECK(has_lines(i ? EVENTS(OTHER, "1") : EVENTS(OTHER, "0")));
		CHECK(strstr(recording_read(), OTHER "KernelCh start in Coll channel 0 timed\n"));
		recording_drop();
	}
	CU(cuGraphExecDestroy(exec));
}

Test(graph, with_channel_events_each_replay_is_heard_from_a_host_callback)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	setenv("RECORDING_MASK", "0xE46", 1);
	ranks_run(2, channels_main);
}

static void expect_age(const struct rank *rank, const char *what, const char *age)
{
	char line[64];

	snprintf(line, sizeof(line), "KernelCh start in Coll channel 0 %s\n", age);
	if (rank->rank)
		return;
	wait_for_stops(1);
	if (!strstr(recording_read(), line))
		fprintf(stderr, "%s, expected %s:\n%s", what, age, recording_read());
	CHECK(strstr(recording_read(), line));
	recording_drop();
}

/* What NCCL's src/proxy.cc, SaveProxyProfiler(), counts up to 2.30.7, and what it counts since. */
static void ages_main(struct rank *rank)
{
	const char *wrong = getenv("EXPECTED");
	float *buffer = device_alloc(COUNT * sizeof(float));

	recording_attach();
	all_reduce(rank, buffer);
	CU(cuStreamSynchronize(rank->stream));
	expect_age(rank, "a call before the capture", "timed");
	CUgraphExec exec = capture_all_reduce(rank, buffer);
	recording_drop();
	for (int i = 0; i < 3; i++) {
		replay(rank, exec);
		expect_age(rank, "a replay", "timed");
	}
	all_reduce(rank, buffer);
	CU(cuStreamSynchronize(rank->stream));
	expect_age(rank, "the first call behind replays", "timed");
	replay(rank, exec);
	expect_age(rank, "a replay behind a call", wrong);
	all_reduce(rank, buffer);
	CU(cuStreamSynchronize(rank->stream));
	expect_age(rank, "a call behind that", wrong);
	CU(cuGraphExecDestroy(exec));
}

static void play_ages(const char *release, const char *plugin, const char *wrong)
{
	setenv("SIM_NCCL_VERSION", release, 1);
	setenv("NCCL_PROFILER_PLUGIN", plugin, 1);
	setenv("RECORDING_MASK", "0xE46", 1);
	setenv("RECORDING_AGES", "1", 1);
	setenv("EXPECTED", wrong, 1);
	ranks_run(2, ages_main);
}

Test(graph, up_to_2_30_7_kernels_have_the_times_of_others_once_a_graph_runs_behind_a_call)
{
	play_ages("2.28.9", RECORDING_PLUGIN_V5, "of before");
}

Test(graph, from_2_31_on_all_kernels_have_their_own_times)
{
	play_ages("2.31.2", RECORDING_PLUGIN_V7, "timed");
}

static void broadcasts(struct rank *rank, float *buffer, int roots)
{
	NCCL(ncclGroupStart());
	for (int root = 0; root < roots; root++)
		NCCL(ncclBroadcast(buffer, buffer, COUNT, ncclFloat32, root, rank->comm, rank->stream));
	NCCL(ncclGroupEnd());
	CU(cuStreamSynchronize(rank->stream));
}

/* What the GPU notes at the places that Broadcasts leave empty comes only when it is 64 works further. */
static void held_up_main(struct rank *rank)
{
	int roots = atoi(getenv("ROOTS"));
	float *buffer = device_alloc(COUNT * sizeof(float));

	recording_attach();
	broadcasts(rank, buffer, roots);
	for (int i = 0; i < 64 - roots; i++) {
		all_reduce(rank, buffer);
		CU(cuStreamSynchronize(rank->stream));
		CHECK(!strstr(recording_read(), "KernelCh"));
	}
	all_reduce(rank, buffer);
	CU(cuStreamSynchronize(rank->stream));
	wait_for_stops(1);
	for (int i = 0; i < roots; i++)
		all_reduce(rank, buffer);
	CU(cuStreamSynchronize(rank->stream));
}

/* Until 64 works have followed, a proxy would not let the communicator go. */
static void counted_main(struct rank *rank)
{
	float *buffer = device_alloc(COUNT * sizeof(float));

	recording_attach();
	broadcasts(rank, buffer, 1);
	all_reduce(rank, buffer);
	CU(cuStreamSynchronize(rank->stream));
	expect_age(rank, "a call behind a Broadcast", "timed");
}

static void play_broadcasts(const char *release, const char *plugin, const char *roots, rank_main *play)
{
	setenv("SIM_NCCL_VERSION", release, 1);
	setenv("NCCL_PROFILER_PLUGIN", plugin, 1);
	setenv("RECORDING_MASK", "0xE46", 1);
	setenv("RECORDING_AGES", "1", 1);
	setenv("ROOTS", roots, 1);
	ranks_run(2, play);
}

Test(graph, in_2_30_7_broadcasts_of_several_roots_hold_up_what_is_heard_of_the_next_64_works)
{
	play_broadcasts("2.30.7", RECORDING_PLUGIN_V6, "2", held_up_main);
}

Test(graph, in_2_31_each_broadcast_holds_it_up)
{
	play_broadcasts("2.31.2", RECORDING_PLUGIN_V7, "1", held_up_main);
}

Test(graph, in_2_30_7_broadcasts_of_one_root_are_counted)
{
	play_broadcasts("2.30.7", RECORDING_PLUGIN_V6, "1", counted_main);
}

static void left_main(struct rank *rank)
{
	float *buffer = device_alloc(COUNT * sizeof(float));

	broadcasts(rank, buffer, 1);
	all_reduce(rank, buffer);
	CU(cuStreamSynchronize(rank->stream));
}

Test(graph, in_2_31_a_communicator_ends_without_what_was_not_heard)
{
	play_broadcasts("2.31.2", RECORDING_PLUGIN_V7, "1", left_main);
}

static void network_main(struct rank *rank)
{
	float *buffer = device_alloc(COUNT * sizeof(float));

	recording_attach();
	recording_drop();
	CUgraphExec exec = capture_all_reduce(rank, buffer);
	if (rank->rank == 0)
		recording_expect("the capture", CAPTURED "GroupApi stop\n");
	for (int i = 0; i < 2; i++) {
		replay(rank, exec);
		if (rank->rank == 0)
			recording_expect("a replay", EVENTS(OTHER, "0"));
	}
	CU(cuGraphExecDestroy(exec));
}

Test(graph, over_a_network_each_replay_is_heard_with_the_same_number)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	setenv("TEST_HOSTS", "2", 1);
	ranks_run(2, network_main);
}

#define EAGER                                                                                                          \
	"GroupApi start in - depth 1\n"                                                                                \
	"GroupApi state 23\n"                                                                                          \
	"CollApi start in GroupApi AllReduce 1000 ncclFloat32 root 0\n"                                                \
	"CollApi stop\n"                                                                                               \
	"GroupApi state 24\n"                                                                                          \
	"KernelLaunch start in GroupApi\n"

static void blocking_main(struct rank *rank)
{
	float *buffer = device_alloc(COUNT * sizeof(float));

	recording_attach();
	recording_drop();
	fill(buffer, 1);
	all_reduce(rank, buffer);
	CHECK(buffer[0] == 2); /* the launch has waited for the kernel */
	if (rank->rank)
		return;
	wait_for_stops(1);
	CHECK(has_lines(EVENTS(OTHER, "0")));
	CHECK(has_lines("KernelLaunch start in GroupApi\n"));
	CHECK(!has_lines("\nGroup start"));
}

Test(graph, with_blocking_launches_the_events_come_from_a_host_callback)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	setenv("RECORDING_MASK", "0xE46", 1);
	setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
	ranks_run(2, blocking_main);
}

static void wait_for_flag(void *flag)
{
	while (!atomic_load((atomic_bool *)flag))
		usleep(1000);
}

static void behind_main(struct rank *rank)
{
	static atomic_bool go;
	float *buffer = device_alloc(COUNT * sizeof(float));
	CUstream second;

	CU(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	recording_attach();
	begin_capture(rank);
	CU(cuLaunchHostFunc(rank->stream, wait_for_flag, &go));
	all_reduce(rank, buffer);
	CUgraphExec exec = end_capture(rank->stream);
	CU(cuGraphLaunch(exec, rank->stream)); /* its callbacks cannot run yet */
	recording_drop();
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclSum, rank->comm, second));
	if (rank->rank == 0)
		recording_expect("an ordinary call behind a graph", EAGER "KernelLaunch stop\nGroupApi stop\n");
	atomic_store(&go, true);
	CU(cuStreamSynchronize(second));
	CHECK(rank->rank || has_lines(EVENTS(OTHER, "0")));
	CHECK(rank->rank || has_lines(EVENTS(OTHER, "1")));
	CU(cuGraphExecDestroy(exec));
}

Test(graph, an_ordinary_call_behind_a_graph_with_callbacks_has_its_events_from_one_too)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	setenv("RECORDING_MASK", "0xE46", 1);
	ranks_run(2, behind_main);
}

/* KernelCh makes every replay start its Coll anew; from the second on the plugin writes no handle. */
static void silent_main(struct rank *rank)
{
	float *buffer = device_alloc(COUNT * sizeof(float));

	recording_attach();
	CUgraphExec exec = capture_all_reduce(rank, buffer);
	replay(rank, exec);
	setenv("RECORDING_SILENT", "0x2", 1);
	recording_drop();
	replay(rank, exec);
	CHECK(strstr(recording_read(), "Coll start"));
	CHECK(!strstr(recording_read(), "Coll stop") == (getenv("EXPECTED")[0] == '-'));
	CU(cuGraphExecDestroy(exec));
}

Test(graph, a_replay_that_gets_no_handle_has_that_of_the_last_one_until_2_31)
{
	setenv("RECORDING_MASK", "0x42", 1);
	setenv("SIM_NCCL_VERSION", "2.28.9", 1);
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	setenv("EXPECTED", "+", 1);
	ranks_run(2, silent_main);
	setenv("SIM_NCCL_VERSION", "2.31.2", 1);
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V7, 1);
	setenv("EXPECTED", "-", 1);
	ranks_run(2, silent_main);
}
