/* SPDX-License-Identifier: MIT */
/* Ranks of several hosts that wait for each other in transfers between two ranks. Made of messages, which come late and
 * out of order. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankwatch/message.h>
#include <rankwatch/operation.h>

#include "analysis/job/job_half.h"

enum { RANKS_MAX = 4, SECONDS = 20, COMM = 9, LONE = RW_MESSAGE_NO_OTHER_TRANSFER };

/* Where a rank stands; each is the only one of its host. */
struct stander {
	uint8_t function, flags;
	int32_t peer; /* or root; -1 none */
	uint64_t sequence;
};

struct batch {
	double comes_s;
	struct rw_batch header;
	struct rw_message messages[4];
};

struct heard {
	unsigned opened;
	enum rw_kind kind;
	enum rw_confidence confidence;
	size_t rank_count, waiting_count;
	char text[512];
};

static void keep(void *argument, const struct rw_finding *finding)
{
	struct heard *heard = argument;

	if (finding->state != RW_FINDING_OPEN)
		return;
	heard->opened++;
	heard->kind = finding->kind;
	heard->confidence = finding->confidence;
	heard->rank_count = finding->rank_count;
	heard->waiting_count = finding->late.waiting_count;
	snprintf(heard->text, sizeof(heard->text), "%s", finding->text);
}

static struct batch batch_of(int32_t rank, int second, const struct stander *stander, int32_t ranks)
{
	struct batch batch = { .header = { .magic = RW_BATCH_MAGIC,
					   .version = RW_BATCH_VERSION,
					   .count = 4,
					   .number = (uint64_t)second,
					   .start = 7 } };

	snprintf(batch.header.host, sizeof(batch.header.host), "h%d", rank);
	strcpy(batch.header.job, "j");
	batch.messages[0] = (struct rw_message){ .type = RW_MESSAGE_RANK, .rank = rank,
						 .of_rank = { .pid = 100 + rank, .world_size = ranks, .exit_status = -1 } };
	batch.messages[1] = (struct rw_message){ .type = RW_MESSAGE_MEMBER, .rank = rank,
						 .member = { .comm = COMM, .size = ranks, .comm_rank = rank, .hosts = ranks, .flags = RW_MESSAGE_SENDS } };
	/* Of the collectives each has called 40. */
	batch.messages[2] = (struct rw_message){ .type = RW_MESSAGE_CALLS, .function = RW_FUNCTION_ALL_REDUCE, .rank = rank,
						 .calls = { .comm = COMM, .next = stander->function == RW_FUNCTION_ALL_REDUCE ? 41 : 40, .calls = UINT64_MAX } };
	batch.messages[3] = (struct rw_message){
		.type = RW_MESSAGE_FLIGHT, .function = stander->function, .rank = rank,
		.flight = { .comm = COMM, .sequence = stander->sequence, .count = 1 << 20, .age_ms = (uint32_t)second * 1000 + 1000,
			    .peer_or_root = stander->peer, .phase = RW_PHASE_RUNNING,
			    .flags = RW_MESSAGE_ARRIVED | RW_MESSAGE_STILL | stander->flags |
				     (stander->function == RW_FUNCTION_ALL_REDUCE ? RW_MESSAGE_HOLDS : 0) }
	};
	return batch;
}

static int by_arrival(const void *left, const void *right)
{
	const struct batch *a = left, *b = right;

	return (a->comes_s > b->comes_s) - (a->comes_s < b->comes_s);
}

/* Each batch comes up to 1.5 s late, so that a later one of the same host may come first. */
static struct heard play(const struct stander *standers, int32_t ranks, unsigned seed)
{
	static struct batch batches[RANKS_MAX * SECONDS];
	struct heard heard = { 0 };
	struct job_half *half = job_half_new("j", keep, &heard);
	double ticked_s = 20;
	size_t count = 0;

	srand(seed);
	for (int second = 0; second < SECONDS; second++)
		for (int32_t rank = 0; rank < ranks; rank++) {
			batches[count] = batch_of(rank, second, &standers[rank], ranks);
			batches[count++].comes_s = 20 + second + 1.5 * rand() / RAND_MAX;
		}
	qsort(batches, count, sizeof(*batches), by_arrival);
	for (size_t i = 0; i < count; i++) {
		for (; ticked_s < batches[i].comes_s; ticked_s += 0.5)
			job_half_tick(half, (uint64_t)(ticked_s * 1e9));
		cr_assert_eq(job_half_take(half, &batches[i].header, sizeof(batches[i].header) + sizeof(batches[i].messages),
					   (uint64_t)(batches[i].comes_s * 1e9), NULL), 0);
	}
	job_half_free(half);
	return heard;
}

static void expect_circle(const struct stander *standers, int32_t ranks, const char *text)
{
	for (unsigned seed = 1; seed <= 5; seed++) {
		struct heard heard = play(standers, ranks, seed);

		cr_expect_eq(heard.opened, 1, "seed %u: %u findings", seed, heard.opened);
		cr_expect_eq(heard.kind, RW_KIND_HANG);
		cr_expect_eq(heard.confidence, RW_INCONCLUSIVE);
		cr_expect_eq(heard.rank_count, 0, "nobody is named");
		cr_expect_eq(heard.waiting_count, (size_t)ranks);
		cr_expect(strstr(heard.text, text), "seed %u: %s", seed, heard.text);
	}
}

static void expect_nothing(const struct stander *standers, int32_t ranks)
{
	for (unsigned seed = 1; seed <= 5; seed++) {
		struct heard heard = play(standers, ranks, seed);

		cr_expect_eq(heard.opened, 0, "seed %u: %s", seed, heard.text);
	}
}

Test(circles, two_that_send_to_each_other_and_receive_only_behind_that)
{
	const struct stander alike[] = { { RW_FUNCTION_SEND, LONE, 1, 40 }, { RW_FUNCTION_SEND, LONE, 0, 40 } };
	const struct stander unlike[] = { { RW_FUNCTION_SEND, LONE, 1, 40 }, { RW_FUNCTION_SEND, LONE, 0, 17 } };
	const struct stander receive[] = { { RW_FUNCTION_RECV, LONE, 1, 40 }, { RW_FUNCTION_RECV, LONE, 0, 41 } };

	expect_circle(alike, 2,
		      "ranks 0,1 wait for each other: rank 0 in Send #40 on a communicator of 2 ranks for rank 1, rank "
		      "1 in Send #40 ");
	expect_circle(unlike, 2,
		      "ranks 0,1 wait for each other: rank 0 in Send #40 on a communicator of 2 ranks for rank 1, rank "
		      "1 in Send #17 ");
	expect_circle(receive, 2, "ranks 0,1 wait for each other: rank 0 in Recv #40 ");
}

Test(circles, each_of_three_sends_to_the_next)
{
	const struct stander standers[] = { { RW_FUNCTION_SEND, LONE, 1, 40 },
					    { RW_FUNCTION_SEND, LONE, 2, 40 },
					    { RW_FUNCTION_SEND, LONE, 0, 41 } };

	expect_circle(standers, 3, "ranks 0-2 wait for each other: rank 0 in Send #40 ");
}

Test(circles, one_that_sends_and_one_that_reduces_first_on_the_same_communicator)
{
	const struct stander standers[] = { { RW_FUNCTION_SEND, LONE, 1, 40 }, { RW_FUNCTION_ALL_REDUCE, LONE, -1, 40 } };

	expect_circle(standers, 2,
		      "ranks 0,1 wait for each other: rank 0 in Send #40 on a communicator of 2 ranks for rank 1, rank "
		      "1 in AllReduce #40 ");
}

/* Rank 1 receives, and from another rank than the one that sends to it. */
Test(circles, who_receives_from_another_one_has_not_come)
{
	const struct stander standers[] = { { RW_FUNCTION_SEND, LONE, 1, 40 },
					    { RW_FUNCTION_RECV, LONE, 2, 40 },
					    { RW_FUNCTION_RECV, LONE, 0, 40 } };

	expect_circle(standers, 3, "ranks 0-2 wait for each other: rank 0 in Send #40 ");
}

/* In one group each has called the other end, too: it is the transfer that does not end. */
Test(circles, who_may_have_called_the_other_end_is_in_none)
{
	const struct stander group[] = { { RW_FUNCTION_SEND, 0, 1, 40 }, { RW_FUNCTION_SEND, 0, 0, 40 } };
	const struct stander half_known[] = { { RW_FUNCTION_SEND, LONE, 1, 40 }, { RW_FUNCTION_SEND, 0, 0, 40 } };
	const struct stander before[] = { { RW_FUNCTION_SEND_RECV, 0, 1, 40 }, { RW_FUNCTION_SEND_RECV, 0, 0, 40 } };

	expect_nothing(group, 2);
	expect_nothing(half_known, 2);
	expect_nothing(before, 2);
}

Test(circles, two_ends_of_one_transfer_are_in_none)
{
	const struct stander ends[] = { { RW_FUNCTION_SEND, LONE, 1, 40 }, { RW_FUNCTION_RECV, LONE, 0, 40 } };
	const struct stander one_is_late[] = { { RW_FUNCTION_SEND, LONE, 1, 41 }, { RW_FUNCTION_RECV, LONE, 0, 40 } };
	const struct stander chain[] = { { RW_FUNCTION_SEND, LONE, 1, 40 },
					 { RW_FUNCTION_SEND, LONE, 2, 40 },
					 { RW_FUNCTION_RECV, LONE, 1, 40 } };

	expect_nothing(ends, 2);
	expect_nothing(one_is_late, 2);
	expect_nothing(chain, 3);
}
