/* SPDX-License-Identifier: MIT */
/* What is kept of the messages of many hosts, in whatever order they come; and which communicators are compared. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include <rankwatch/operation.h>

#include "analysis/job/job_rows.h"
#include "analysis/job/world.h"

enum { MESSAGES = 16 };

static uint64_t ms(uint64_t value)
{
	return value * 1000000;
}

struct batch {
	struct rw_batch header;
	struct rw_message messages[MESSAGES];
};

static struct batch batch_of(const char *host, uint64_t number)
{
	struct batch batch = {
		.header = { .magic = RW_BATCH_MAGIC, .version = RW_BATCH_VERSION, .number = number, .start = 7 }
	};

	strcpy(batch.header.host, host);
	strcpy(batch.header.job, "j");
	return batch;
}

static void add(struct batch *batch, struct rw_message message)
{
	cr_assert_lt(batch->header.count, MESSAGES);
	batch->messages[batch->header.count++] = message;
}

static struct rw_message rank_message(int32_t rank)
{
	return (struct rw_message){ .type = RW_MESSAGE_RANK, .rank = rank,
				    .of_rank = { .pid = 100 + rank, .world_size = 4, .exit_status = -1 } };
}

static struct rw_message finding_message(int32_t rank, enum rw_kind kind, enum rw_finding_state state)
{
	return (struct rw_message){ .type = RW_MESSAGE_FINDING,
				    .rank = rank,
				    .finding = { .kind = (uint8_t)kind,
						 .state = (uint8_t)state,
						 .severity = RW_CRITICAL,
						 .confidence = RW_CERTAIN } };
}

static void take(struct world *world, const struct batch *batch, uint64_t now_ns)
{
	if (!world->begun)
		world_begin(world, 0, now_ns);
	cr_assert_eq(world_take(world, &batch->header, batch, now_ns), 0);
}

static void tell(struct world *world, uint64_t number, enum rw_kind kind, enum rw_finding_state state)
{
	struct batch batch = batch_of("a", number);

	add(&batch, rank_message(3));
	add(&batch, finding_message(3, kind, state));
	take(world, &batch, ms(1000 + number));
}

static uint32_t found(const struct world *world)
{
	return world_rank(world, 3)->found;
}

/* What its own host has found of a rank, the job half does not tell again: so a batch that was overtaken must not undo
 * it. */
Test(world, an_older_batch_does_not_take_back_what_a_newer_one_found)
{
	struct world world = { 0 };

	tell(&world, 5, RW_KIND_HANG, RW_FINDING_OPEN);
	cr_expect_eq(found(&world), 1u << RW_KIND_HANG);
	tell(&world, 4, RW_KIND_HANG, RW_FINDING_CLOSED);
	cr_expect_eq(found(&world), 1u << RW_KIND_HANG);
	cr_expect_eq(world.ignored, 2, "the rank of batch 4, and its finding: %lu", world.ignored);
	tell(&world, 6, RW_KIND_HANG, RW_FINDING_CLOSED);
	cr_expect_eq(found(&world), 0);
	world_free(&world);
}

Test(world, an_older_batch_still_tells_of_another_kind)
{
	struct world world = { 0 };

	tell(&world, 5, RW_KIND_HANG, RW_FINDING_OPEN);
	tell(&world, 4, RW_KIND_STRAGGLER, RW_FINDING_OPEN);
	cr_expect_eq(found(&world), 1u << RW_KIND_HANG | 1u << RW_KIND_STRAGGLER);
	tell(&world, 6, RW_KIND_HANG, RW_FINDING_CLOSED);
	cr_expect_eq(found(&world), 1u << RW_KIND_STRAGGLER);
	world_free(&world);
}

/* One batch tells of several. */
Test(world, two_findings_of_one_batch_are_both_kept)
{
	struct world world = { 0 };
	struct batch batch = batch_of("a", 5);

	add(&batch, rank_message(3));
	add(&batch, finding_message(3, RW_KIND_HANG, RW_FINDING_OPEN));
	add(&batch, finding_message(3, RW_KIND_STRAGGLER, RW_FINDING_OPEN));
	add(&batch, finding_message(3, RW_KIND_HANG, RW_FINDING_CLOSED));
	take(&world, &batch, ms(1000));
	cr_expect_eq(found(&world), 1u << RW_KIND_STRAGGLER);
	world_free(&world);
}

/* Two hosts say that rank 3 is theirs. */
static void claim(struct world *world, const char *host, uint64_t number, uint8_t life)
{
	struct batch batch = batch_of(host, number);
	struct rw_message message = rank_message(3);

	message.of_rank.life = life;
	add(&batch, message);
	take(world, &batch, ms(1000 + number));
}

Test(world, of_two_hosts_that_claim_a_rank_the_first_one_keeps_it_while_it_lives)
{
	struct world world = { 0 };

	claim(&world, "a", 1, RW_MESSAGE_ALIVE);
	claim(&world, "b", 1, RW_MESSAGE_ALIVE);
	cr_expect_str_eq(world.hosts[world_rank(&world, 3)->host].name, "a");
	claim(&world, "a", 2, RW_MESSAGE_EXITED);
	cr_expect_str_eq(world.hosts[world_rank(&world, 3)->host].name, "a");
	claim(&world, "b", 2, RW_MESSAGE_ALIVE);
	cr_expect_str_eq(world.hosts[world_rank(&world, 3)->host].name, "b");
	world_free(&world);
}

/* As where two hosts' collectors see all processes of one machine. */
Test(world, a_host_that_has_the_box_of_a_rank_is_believed_before_one_that_has_only_seen_its_process)
{
	struct world world = { 0 };
	struct batch batch = batch_of("b", 0);

	add(&batch, (struct rw_message){ .type = RW_MESSAGE_ABSENT,
					 .rank = 3,
					 .absent = { .pid = 103, .absence = RW_MESSAGE_ABSENT_IDLE } });
	take(&world, &batch, ms(1000));
	cr_expect_str_eq(world.hosts[world_rank(&world, 3)->host].name, "b");
	claim(&world, "a", 1, RW_MESSAGE_ALIVE);
	cr_expect_str_eq(world.hosts[world_rank(&world, 3)->host].name, "a");
	batch.header.number = 1;
	take(&world, &batch, ms(1000));
	cr_expect_str_eq(world.hosts[world_rank(&world, 3)->host].name, "a");
	world_free(&world);
}

static void tell_life(struct world *world, uint64_t start, uint64_t number, uint8_t life)
{
	struct batch batch = batch_of("a", number);
	struct rw_message message = rank_message(3);

	batch.header.start = start;
	message.of_rank.life = life;
	add(&batch, message);
	take(world, &batch, ms(1000));
}

/* A collector that starts anew numbers its batches from 0. */
Test(world, what_a_host_tells_after_its_collector_started_anew_is_newer)
{
	struct world world = { 0 };

	tell_life(&world, 7, 5000, RW_MESSAGE_ALIVE);
	tell_life(&world, 8, 0, RW_MESSAGE_STOPPED);
	cr_expect_eq(world_rank(&world, 3)->life, RW_MESSAGE_STOPPED);
	tell_life(&world, 7, 5001, RW_MESSAGE_ALIVE);
	cr_expect_eq(world_rank(&world, 3)->life, RW_MESSAGE_STOPPED, "a late batch of the former sender");
	tell_life(&world, 8, UINT64_MAX, RW_MESSAGE_ALIVE);
	tell_life(&world, 9, 0, RW_MESSAGE_STOPPED);
	cr_expect_eq(world_rank(&world, 3)->life, RW_MESSAGE_STOPPED, "whatever number a sender has reached");
	world_free(&world);
}

static struct rw_message first_row(int32_t rank, uint64_t comm)
{
	return (struct rw_message){ .type = RW_MESSAGE_ROW,
				    .rank = rank,
				    .function = RW_FUNCTION_ALL_REDUCE,
				    .row = { .comm = comm, .row = 1, .calls = 10, .steps = 1 } };
}

/* By their number it is seen that ranks are to be compared in another way: so none of them may be missed, whatever else
 * a batch has. */
Test(world, each_rank_and_membership_that_is_new_is_a_change)
{
	struct world world = { 0 };
	uint64_t changes = 0;

	for (int32_t rank = 0; rank < 3; rank++)
		for (uint64_t comm = 8; comm < 10; comm++) {
			struct batch batch = batch_of("a", (uint64_t)rank);
			add(&batch, first_row(rank, comm));
			take(&world, &batch, ms(1000));
			cr_expect_gt(world.changes, changes, "rank %d on %lu: %lu changes", rank, comm, world.changes);
			changes = world.changes;
			add(&batch, rank_message(rank));
			batch.header.number += 10;
			take(&world, &batch, ms(1000));
			changes = world.changes;
			take(&world, &batch, ms(1000));
			cr_expect_eq(world.changes, changes, "what is known is no change");
		}
	world_begin(&world, 1, ms(2000));
	cr_expect_gt(world.changes, changes, "so is a later start of the job");
	world_free(&world);
}

/* Whichever is heard of first, and up to the largest number that is taken. */
Test(world, there_is_room_for_each_rank_up_to_the_bound)
{
	static const int32_t ranks[] = { 0, 63, 64, 65, 79, 80, 81, 99, 100, 5000, WORLD_RANKS - 1 };

	for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks); i++) {
		struct world world = { 0 };
		struct batch batch = batch_of("a", 1);
		add(&batch, rank_message(ranks[i]));
		add(&batch, rank_message(WORLD_RANKS));
		take(&world, &batch, ms(1000));
		cr_assert_gt(world.rank_room, (uint32_t)ranks[i], "rank %d has no room", ranks[i]);
		const struct world_rank *rank = world_rank(&world, (uint32_t)ranks[i]);
		cr_assert_not_null(rank, "rank %d", ranks[i]);
		cr_expect_eq(rank->pid, 100 + ranks[i]);
		cr_expect_eq(world.rank_count, 1);
		cr_expect_eq(world.ignored, 1, "a rank beyond the bound is ignored");
		cr_expect_leq(world.rank_room, WORLD_RANKS);
		world_free(&world);
	}
}

/* More than there are slots at first: each is found again, and none is taken for another one. */
Test(world, hosts_and_communicators_are_found_again_however_many_they_are)
{
	enum { HOSTS = 300, EACH = 3 };
	struct world world = { 0 };

	for (uint64_t number = 0; number < 2; number++)
		for (int32_t i = 0; i < HOSTS; i++) {
			char name[16];
			snprintf(name, sizeof(name), "host-%d", i);
			struct batch batch = batch_of(name, number);
			for (uint64_t k = 0; k < EACH; k++)
				add(&batch, first_row(i, (uint64_t)i * EACH + k));
			take(&world, &batch, ms(1000 + number));
		}
	cr_expect_eq(world.host_count, HOSTS);
	cr_expect_eq(world.comm_count, HOSTS * EACH);
	for (uint32_t i = 0; i < HOSTS; i++) {
		char name[16];
		snprintf(name, sizeof(name), "host-%u", i);
		const struct world_rank *rank = world_rank(&world, i);
		cr_assert_not_null(rank);
		cr_expect_str_eq(world.hosts[rank->host].name, name);
		cr_expect_eq(world.hosts[rank->host].taken, 2);
		cr_expect_eq(world.hosts[rank->host].ranks, 1);
		cr_expect_eq(rank->membership_count, EACH);
		for (uint32_t k = 0; k < EACH; k++)
			cr_expect_eq(world_joined(&world, rank, k)->id, i * EACH + k);
	}
	world_free(&world);
}

Test(world, a_host_is_silent_after_twice_its_longest_pause_between_two_limits)
{
	static const struct {
		uint64_t pause_ms, silent_ms;
	} cases[] = { { 0, 6000 },      { 1000, 6000 },   { 3000, 6000 },  { 3001, 6002 },
		      { 14999, 29998 }, { 15000, 30000 }, { 40000, 30000 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world_host host = { .heard_ns = ms(100), .pause_ns = ms(cases[i].pause_ms) };
		cr_expect_not(world_is_silent(&host, ms(100 + cases[i].silent_ms) - 1), "a pause of %lu ms", cases[i].pause_ms);
		cr_expect(world_is_silent(&host, ms(100 + cases[i].silent_ms)), "a pause of %lu ms", cases[i].pause_ms);
		host.ended = true;
		cr_expect_not(world_is_silent(&host, ms(100000)), "it has ended as it should");
	}
}

/* Nobody is lost because seven batches in a row are, where one in three always is. */
Test(world, a_host_is_silent_after_more_batches_than_chance_loses)
{
	static const struct {
		uint64_t came, silent_ms;
	} cases[] = {
		{ 0, 6000 }, { 1, 6000 },       { UINT64_MAX, 6000 },
		{ 0x7fffffffffffffff, 6000 },   /* none is lost: 63 have come so far */
		{ 0xeeeeeeeeeeeeeeee, 11000 },  /* 0.25^9 is less than 1/100,000; 2 s longest pause */
		{ 0xaaaaaaaaaaaaaaaa, 19000 },  /* 0.5^17 */
		{ 5, 13000 },                   /* one of three: 0.33^11 */
		{ UINT64_C(1) << 63, 30000 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world_host host = { .heard_ns = ms(100), .pause_ns = ms(2000), .came = cases[i].came };
		cr_expect_not(world_is_silent(&host, ms(100 + cases[i].silent_ms) - 1), "%lx", cases[i].came);
		cr_expect(world_is_silent(&host, ms(100 + cases[i].silent_ms)), "%lx", cases[i].came);
	}
}

/* A pause weighs less with each batch that comes without one. */
Test(world, the_longest_pause_of_a_host_is_the_longest_of_late)
{
	struct world world = { 0 };
	uint64_t at_ms = 1000, number = 0;

	for (int i = 0; i < 2; i++) {
		struct batch batch = batch_of("a", number++);
		take(&world, &batch, ms(at_ms));
		at_ms += 2560;
	}
	cr_expect_eq(world.hosts[0].pause_ns, ms(2560));
	at_ms -= 2560;
	for (uint64_t i = 0; i < 2; i++) {
		struct batch batch = batch_of("a", number++);
		take(&world, &batch, ms(at_ms += 100));
		cr_expect_eq(world.hosts[0].pause_ns, i ? UINT64_C(2540039063) : ms(2550), "%lu ns", world.hosts[0].pause_ns);
	}
	for (int i = 0; i < 2000; i++) {
		struct batch batch = batch_of("a", number++);
		take(&world, &batch, ms(at_ms += 100));
	}
	cr_expect_eq(world.hosts[0].pause_ns, ms(100), "%lu ns", world.hosts[0].pause_ns);
	struct batch late = batch_of("a", number);
	take(&world, &late, ms(at_ms - 50));
	cr_expect_lt(world.hosts[0].pause_ns, ms(100) + 1, "a clock that goes back makes no pause");
	world_free(&world);
}

/* A communicator of `size` ranks from `first` on, each on a host of its own, whose rows last for `period_ms`. */
struct row_comm {
	uint64_t id;
	int size;
	uint32_t period_ms;
	int first;
	uint16_t steps; /* 0: they are not known */
};

static void end_rows(struct world *world, const struct row_comm *comms, int count)
{
	static const char *const hosts[] = { "a", "b", "c", "d", "e", "f" };

	for (uint64_t number = 0; number < 2; number++)
		for (int32_t rank = 0; rank < 6; rank++) {
			struct batch batch = batch_of(hosts[rank], number);
			add(&batch, rank_message(rank));
			for (int i = 0; i < count; i++) {
				if (rank < comms[i].first || rank >= comms[i].first + comms[i].size)
					continue;
				add(&batch, (struct rw_message){ .type = RW_MESSAGE_MEMBER,
								 .rank = rank,
								 .member = { .comm = comms[i].id,
									     .size = comms[i].size,
									     .comm_rank = rank - comms[i].first } });
				add(&batch, (struct rw_message){
						.type = RW_MESSAGE_ROW,
						.rank = rank,
						.function = RW_FUNCTION_ALL_REDUCE,
						.row = { .comm = comms[i].id,
							 .row = (uint32_t)(1 + number),
							 .calls = 10,
							 .steps = comms[i].steps,
							 .own_us = (uint32_t)number * comms[i].period_ms * 1000 } });
			}
			take(world, &batch, ms(1000 + number));
		}
}

/* Which of them ranks are compared by, the better one first; another one is not needed where it has no other ranks. */
static void expect_judged(const char *what, const struct row_comm *comms, int count, const uint64_t *ids,
			  uint32_t judged)
{
	struct world world = { 0 };
	struct job_rows rows = { 0 };

	end_rows(&world, comms, count);
	job_rows_tick(&rows, &world, ms(1100));
	cr_expect_eq(rows.chosen_count, judged, "%s: %u are judged", what, rows.chosen_count);
	for (uint32_t i = 0; i < judged && i < rows.chosen_count; i++)
		cr_expect_eq(world.comms[rows.chosen[i]]->id, ids[i], "%s: %u: %lu", what, i, world.comms[rows.chosen[i]]->id);
	job_rows_forget(&rows, &world);
	world_free(&world);
}

Test(job_rows, ranks_are_compared_by_the_largest_communicators_whose_rows_are_of_steps_if_there_are_any)
{
	enum { LARGE = 7, SMALL = 8, OTHERS = 9, MORE = 10 };
	static const struct {
		const char *what;
		struct row_comm comms[4];
		uint64_t ids[4];
	} cases[] = {
		{ "the larger one", { { SMALL, 2, 1000, 0, 1 }, { LARGE, 4, 12000, 0, 1 } }, { LARGE } },
		{ "the same before steps are known", { { SMALL, 2, 1000 }, { LARGE, 4, JOB_ROWS_OFTEN_MS } }, { LARGE } },
		{ "its rows last too long", { { SMALL, 2, 1000 }, { LARGE, 4, JOB_ROWS_OFTEN_MS + 1 } }, { SMALL } },
		{ "only the small one's are of steps", { { SMALL, 2, 1000, 0, 1 }, { LARGE, 4, 1000 } }, { SMALL } },
		{ "of two that are alike the smaller number", { { SMALL, 4, 1000, 0, 1 }, { LARGE, 4, 1000, 0, 1 } }, { LARGE } },
		{ "behind one that is not needed another may be",
		  { { LARGE, 4, 1000, 0, 1 }, { SMALL, 3, 1000, 1, 1 }, { OTHERS, 2, 1000, 4, 1 }, { MORE, 2, 1000, 3, 1 } },
		  { LARGE, OTHERS } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int count = 0, judged = 0;
		while (count < 4 && cases[i].comms[count].id)
			count++;
		while (cases[i].ids[judged])
			judged++;
		expect_judged(cases[i].what, cases[i].comms, count, cases[i].ids, (uint32_t)judged);
	}
}
