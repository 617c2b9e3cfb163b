/* SPDX-License-Identifier: MIT */
/* What SIM_NCCL_QUIRKS does to a profiler. */
#include <sys/wait.h>

#include <criterion/criterion.h>

#include "network_watch.h"
#include "sim/nccl/profiler/profiler_abi.h"

#define NETWORK (EVENT_PROXY_OP | EVENT_PROXY_STEP)
#define COUNT   1000

TestSuite(quirk, .timeout = 90);

static void all_reduce(struct rank *rank)
{
	float *buffer = device_alloc(COUNT * sizeof(*buffer));

	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
}

/* Only then may a rank end: the events of another one come in its process. */
static void all_reduce_and_wait(struct rank *rank)
{
	all_reduce(rank);
	for (int i = 0; i < rank->nranks; i++)
		CHECK(watched_reaches(&watched(i)->transfers_ended, 2));
}

Test(quirk, with_pxn_the_events_come_in_another_process_with_the_pid_of_the_first)
{
	setenv("SIM_NCCL_QUIRKS", "pxn", 1);
	network_watch("2", NETWORK);
	ranks_run(4, all_reduce_and_wait);
	for (int rank = 0; rank < 4; rank++) {
		cr_expect_eq(watched(rank)->transfers_started, 2);
		cr_expect_eq(watched(rank)->foreign, 2);
		cr_expect_eq(watched(rank)->steps_ended, watched(rank)->steps_started);
	}
}

Test(quirk, without_it_all_events_are_of_the_own_process)
{
	network_watch("2", NETWORK);
	ranks_run(4, all_reduce_and_wait);
	for (int rank = 0; rank < 4; rank++) {
		cr_expect_eq(watched(rank)->transfers_started, 2);
		cr_expect_eq(watched(rank)->foreign, 0);
	}
}

Test(quirk, a_receive_may_start_its_step_twice)
{
	setenv("SIM_NCCL_QUIRKS", "recv-restart", 1);
	network_watch("2", NETWORK);
	ranks_run(2, all_reduce_and_wait);
	cr_expect_eq(watched(0)->restarts, watched(0)->steps_started / 2);
	cr_expect_gt(watched(0)->restarts, 0);
}

static void one_open_main(struct rank *rank)
{
	all_reduce(rank);
	CHECK(watched_reaches(&watched(rank->rank)->transfers_started, 1));
}

Test(quirk, an_operation_within_the_host_never_ends)
{
	setenv("SIM_NCCL_QUIRKS", "open-op", 1);
	network_watch("1", NETWORK);
	ranks_run(2, one_open_main);
	cr_expect_eq(watched(0)->transfers_ended, 0);
	cr_expect_eq(watched(0)->steps_started, 0);
}

/* An operation leaves its slot to the next one when the progress thread is done with it, and then that sleeps. */
static void channels_main(struct rank *rank)
{
	struct watched *mine = watched(rank->rank);

	CHECK(watched_reaches(&mine->control_states[STATE_SLEEP], 1));
	for (int i = 0; i < 3; i++) {
		all_reduce(rank);
		CHECK(watched_reaches(&mine->control_states[STATE_SLEEP], i + 2));
	}
	CHECK(mine->channels_started == 3);
}

Test(quirk, a_stopped_kernel_channel_is_stopped_again_when_its_slot_is_used_again)
{
	setenv("SIM_NCCL_QUIRKS", "stale-kernelch", 1);
	setenv("NCCL_CUMEM_ENABLE", "0", 1); /* the progress thread is there, and sleeps, from init on */
	network_watch("1", EVENT_KERNEL_CH | EVENT_PROXY_CTRL);
	ranks_run(2, channels_main);
	cr_expect_eq(watched(0)->channels_stopped_again, 2);
}

Test(quirk, the_end_of_a_kernel_channel_may_come_before_its_start_and_to_another_one)
{
	setenv("SIM_NCCL_QUIRKS", "early-kernelch", 1);
	setenv("NCCL_CUMEM_ENABLE", "0", 1); /* the progress thread is there, and sleeps, from init on */
	network_watch("1", EVENT_KERNEL_CH | EVENT_PROXY_CTRL);
	ranks_run(2, channels_main);
	cr_expect_eq(watched(0)->channels_started, 3);
	cr_expect_eq(watched(0)->channels_stopped, 2);
}

static void p2p_main(struct rank *rank)
{
	char *buffer = device_alloc(4);

	if (rank->rank == 0)
		NCCL(ncclSend(buffer, 4, ncclInt8, 1, rank->comm, rank->stream));
	else
		NCCL(ncclRecv(buffer, 4, ncclInt8, 0, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(watched_reaches(&watched(rank->rank)->channels_stopped, 1));
}

Test(quirk, fewer_channels_run_than_a_p2p_call_announces)
{
	setenv("SIM_NCCL_QUIRKS", "fewer-channels", 1);
	network_watch("1", EVENT_KERNEL_CH);
	ranks_run(2, p2p_main);
	cr_expect_eq(watched(0)->channels_announced, 2);
	cr_expect_eq(watched(0)->channels_started, 1);
}

static void unknown_main(struct rank *rank)
{
	(void)rank;
}

Test(quirk, a_word_that_is_no_quirk_makes_no_communicator)
{
	struct ranks ranks;
	int status;

	setenv("SIM_NCCL_QUIRKS", "pxn,nonsense", 1);
	ranks_start(&ranks, 1, unknown_main);
	cr_assert_eq(waitpid(ranks.pids[0], &status, 0), ranks.pids[0]);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}
