/* SPDX-License-Identifier: MIT */
/* What SIM_NCCL_FLIP does to data. */
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "ranks.h"

#define RANKS 4
#define COUNT 300001 /* more than one piece of anything */

TestSuite(flip, .timeout = 90);

/* The bits that a rank's word at `index` should not have, or has not; others are as they must be. */
static uint32_t difference(const uint32_t *words, size_t count, uint32_t expected, size_t index)
{
	for (size_t i = 0; i < count; i++)
		CHECK(i == index || words[i] == expected);
	return words[index] ^ expected;
}

static void all_reduce_main(struct rank *rank)
{
	uint32_t *buffer = device_alloc(COUNT * sizeof(*buffer));

	for (int call = 0; call < 3; call++) {
		for (size_t i = 0; i < COUNT; i++)
			buffer[i] = 1;
		NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclUint32, ncclSum, rank->comm, rank->stream));
		CU(cuStreamSynchronize(rank->stream));
		bool hit = rank->rank == 2 && call == 1;
		CHECK(difference(buffer, COUNT, RANKS, 250000) == (hit ? 1u << 11 : 0));
	}
}

Test(flip, received_is_one_bit_of_one_call_on_one_rank)
{
	setenv("SIM_NCCL_FLIP", "received:2:AllReduce:1:1000001:3", 1);
	ranks_run(RANKS, all_reduce_main);
}

/* In place, as FSDP gathers. */
static void all_gather_main(struct rank *rank)
{
	uint32_t *whole = device_alloc(RANKS * COUNT * sizeof(*whole)), *own = whole + rank->rank * COUNT;

	for (size_t i = 0; i < COUNT; i++)
		own[i] = 7;
	NCCL(ncclAllGather(own, whole, COUNT, ncclUint32, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	size_t index = 3 * COUNT + 250000;
	CHECK(difference(whole, RANKS * COUNT, 7, index) == (rank->rank == 3 ? 0 : 1));
}

Test(flip, sent_is_seen_by_all_but_the_sender)
{
	setenv("SIM_NCCL_FLIP", "sent:3:AllGather:0:1000000:0", 1);
	ranks_run(RANKS, all_gather_main);
}

static void reduce_scatter_main(struct rank *rank)
{
	uint32_t *send = device_alloc(RANKS * COUNT * sizeof(*send)), *recv = device_alloc(COUNT * sizeof(*recv));

	NCCL(ncclReduceScatter(send, recv, COUNT, ncclUint32, ncclSum, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(difference(recv, COUNT, 0, 5) == (rank->rank == 2 ? 1 : 0));
	CHECK(send[2 * COUNT + 5] == 0);
}

Test(flip, what_is_sent_to_one_rank_arrives_there)
{
	char text[64];

	snprintf(text, sizeof(text), "sent:0:ReduceScatter:0:%d:0", (2 * COUNT + 5) * 4);
	setenv("SIM_NCCL_FLIP", text, 1);
	ranks_run(RANKS, reduce_scatter_main);
}

Test(flip, what_cannot_be_done_makes_no_communicator)
{
	static const char *const wrong[] = { "received:0:AllReduce:0:0", "received:0:AllReduce:0:0:8",
					     "lost:0:AllReduce:0:0:1", "sent:0:Send:0:0:1", "sent:0:AllReduce:0:0:1x" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		pid_t pid = fork();

		if (pid == 0) {
			ncclUniqueId id;
			ncclComm_t comm;
			setenv("SIM_NCCL_FLIP", wrong[i], 1);
			NCCL(ncclGetUniqueId(&id));
			CHECK(ncclCommInitRank(&comm, 1, id, 0) == ncclInvalidUsage);
			_exit(0);
		}
		int status = 1;
		cr_assert(waitpid(pid, &status, 0) == pid && status == 0, "%s", wrong[i]);
	}
}
