/* SPDX-License-Identifier: MIT */
/* Two jobs that have one name send to one reader: who came first is judged, what the other one sends is left out, and
 * that is said. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include <rankwatch/message.h>

#include "analysis/job/job_half.h"

enum { TICKS_PER_S = 10, EACH_MOST = 4 };

/* A host of one of the jobs, from … until, in seconds. */
struct sender {
	const char *name;
	uint64_t start, comm; /* 0: it is in no communicator */
	int first_rank, ranks, world_size, generation;
	int from_s, until_s;
	uint8_t boot;
	bool dies; /* its ranks end after ten seconds, and are told so */
};

static struct {
	struct job_half *half;
	char said[8][JOB_HALF_NEWS];
	double said_s[8];
	int said_count;
} play;

static uint64_t ns(double seconds)
{
	return (uint64_t)((seconds + 1000) * 1e9);
}

static void emit_nothing(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	(void)finding;
}

/* As a node half: at the start, 2, 4, 8 and 16 s later, and every 30 s. */
static bool restates(int second)
{
	return second == 0 || second == 2 || second == 4 || second == 8 || second == 16 || second % 30 == 0;
}

static void send(const struct sender *sender, int second)
{
	static struct {
		struct rw_batch header;
		struct rw_message messages[2 * EACH_MOST];
	} batch;
	uint32_t count = 0;
	const char *why = "nothing";
	int age_s = second - sender->from_s;
	bool dead = sender->dies && age_s >= 10;

	memset(&batch, 0, sizeof(batch));
	for (int i = 0; i < sender->ranks && (restates(age_s) || (dead && age_s < 12)); i++) {
		uint16_t generation = (uint16_t)sender->generation;
		batch.messages[count++] =
		    (struct rw_message){ .type = RW_MESSAGE_RANK,
					 .generation = generation,
					 .rank = sender->first_rank + i,
					 .of_rank = { .pid = 100,
						      .world_size = sender->world_size,
						      .exit_status = -1,
						      .life = dead ? RW_MESSAGE_EXITED : RW_MESSAGE_ALIVE } };
		if (sender->comm)
			batch.messages[count++] = (struct rw_message){ .type = RW_MESSAGE_MEMBER,
								       .generation = generation,
								       .rank = sender->first_rank + i,
								       .member = { .comm = sender->comm,
										   .size = sender->world_size,
										   .comm_rank = sender->first_rank + i,
										   .hosts = 2 } };
	}
	batch.header = (struct rw_batch){ .magic = RW_BATCH_MAGIC,
					  .version = RW_BATCH_VERSION,
					  .count = count,
					  .number = (uint64_t)age_s,
					  .start = sender->start,
					  .boot = { sender->boot } };
	strcpy(batch.header.host, sender->name);
	strcpy(batch.header.job, "j");
	cr_assert_eq(job_half_take(play.half, &batch, sizeof(batch.header) + count * RW_MESSAGE_SIZE, ns(second), &why),
		     0, "%s", why);
}

static struct job_half_summary play_out(const struct sender *senders, size_t count, int seconds)
{
	struct job_half_summary summary;

	memset(&play, 0, sizeof(play));
	play.half = job_half_new("j", emit_nothing, NULL);
	for (int tick = 0; tick < seconds * TICKS_PER_S; tick++) {
		double now_s = (double)tick / TICKS_PER_S;
		for (size_t i = 0; tick % TICKS_PER_S == 0 && i < count; i++)
			if (now_s >= senders[i].from_s && now_s < senders[i].until_s)
				send(&senders[i], tick / TICKS_PER_S);
		job_half_tick(play.half, ns(now_s));
		char line[JOB_HALF_NEWS];
		while (job_half_news(play.half, line)) {
			cr_assert_lt(play.said_count, 8, "%s", line);
			play.said_s[play.said_count] = now_s;
			strcpy(play.said[play.said_count++], line);
		}
	}
	job_half_summarise(play.half, &summary);
	job_half_free(play.half);
	return summary;
}

#define PLAY(senders, seconds) play_out(senders, sizeof(senders) / sizeof(*(senders)), seconds)

Test(strangers, of_two_jobs_with_the_same_ranks_the_first_one_is_judged)
{
	static const struct sender senders[] = {
		{ "a", 1, 7, 0, 2, 4, 0, 0, 99, 1, false },
		{ "b", 2, 7, 2, 2, 4, 0, 0, 99, 2, false },
		{ "x", 3, 8, 0, 2, 4, 0, 10, 99, 3, false },
		{ "y", 4, 8, 2, 2, 4, 0, 10, 99, 4, false },
	};
	struct job_half_summary summary = PLAY(senders, 90);

	cr_expect_eq(play.said_count, 1);
	cr_expect_str_eq(play.said[0], "two jobs of this name at once: a and x both have rank 0, and share no "
				       "communicator. Not judged: 2 hosts: x, y. "
				       "RANKWATCH_JOB or --job gives each job a name");
	cr_expect_eq(summary.ranks, 4);
	cr_expect_eq(summary.communicators, 1, "nothing of the other job is taken: %u", summary.communicators);
}

/* Its other ranks were taken before a rank of it contradicted anybody. */
Test(strangers, what_was_taken_of_a_larger_job_is_forgotten)
{
	static const struct sender senders[] = {
		{ "a", 1, 7, 0, 2, 4, 0, 0, 99, 1, false },
		{ "b", 2, 7, 2, 2, 4, 0, 0, 99, 2, false },
		{ "x", 3, 8, 4, 4, 8, 0, 5, 99, 3, false },
	};
	struct job_half_summary summary = PLAY(senders, 90);

	cr_expect_eq(play.said_count, 1);
	cr_expect(
	    strstr(play.said[0],
		   "a is of a job of 4 ranks, x of one of 8, and they share no communicator. Not judged: 1 host: x."),
	    "%s", play.said[0]);
	cr_expect_eq(summary.ranks, 4);
	cr_expect_eq(summary.ranks_total, 4);
	cr_expect_eq(summary.communicators, 1);
}

/* As one whose program computes with two sizes, or whose rank has moved. */
Test(strangers, who_shares_a_communicator_is_of_the_same_job)
{
	static const struct sender sizes[] = {
		{ "a", 1, 7, 0, 2, 4, 0, 0, 99, 1, false },
		{ "b", 2, 7, 2, 2, 8, 0, 3, 99, 2, false },
	};
	static const struct sender moved[] = {
		{ "a", 1, 7, 0, 2, 4, 0, 0, 99, 1, true },
		{ "b", 2, 7, 2, 2, 4, 0, 0, 99, 2, false },
		{ "c", 3, 9, 0, 2, 4, 0, 9, 99, 3, false },
	};

	PLAY(sizes, 90);
	cr_expect_eq(play.said_count, 0, "%s", play.said[0]);
	struct job_half_summary summary = PLAY(moved, 90);
	cr_expect_eq(play.said_count, 0, "%s", play.said[0]);
	cr_expect_eq(summary.communicators, 2, "it took the ranks that ended");
}

Test(strangers, who_stays_in_an_earlier_start_is_not_judged)
{
	static const struct sender senders[] = {
		{ "a", 1, 7, 0, 2, 4, 0, 0, 199, 1, false },
		{ "x", 3, 8, 0, 2, 4, 1, 10, 199, 3, false },
	};
	struct job_half_summary summary = PLAY(senders, 180);

	cr_expect_eq(play.said_count, 1);
	cr_expect_float_eq(play.said_s[0], 95, 1, "a restart may take its time on some hosts: %.1f", play.said_s[0]);
	cr_expect(strstr(play.said[0], "a is in start 0 of the job, the others are in start 1. Not judged: 1 host: a."),
		  "%s", play.said[0]);
	cr_expect_eq(summary.generation, 1);
	cr_expect_eq(summary.ranks, 2);
}

Test(strangers, two_collectors_under_one_name_are_said)
{
	static const struct sender machines[] = {
		{ "a", 1, 7, 0, 2, 4, 0, 0, 99, 1, false },
		{ "a", 2, 7, 2, 2, 4, 0, 5, 99, 2, false },
	};
	static const struct sender after[] = {
		{ "a", 1, 7, 0, 2, 4, 0, 0, 12, 1, false },
		{ "a", 2, 7, 0, 2, 4, 0, 10, 99, 1, false },
	};

	PLAY(machines, 60);
	cr_expect_eq(play.said_count, 1);
	cr_expect(strstr(play.said[0], "two collectors on two machines call themselves host a "), "%s", play.said[0]);
	PLAY(after, 60);
	cr_expect_eq(play.said_count, 0, "%s", play.said[0]);
}
