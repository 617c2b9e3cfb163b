/* SPDX-License-Identifier: MIT */
/* How members of a communicator are compared cut by cut, at the exact limits; and when a whole host is reported instead of its ranks. */
#include <criterion/criterion.h>

#include <malloc.h>
#include <string.h>

#include "analysis/report/findings.h"
#include "analysis/job/lanes.h"
#include "analysis/job/late.h"
#include "analysis/job/told.h"
#include "analysis/job/world.h"

enum { RANKS = 8, COMM = 9 };

static const struct row_lanes no_rows;

/* What a rank does in a cut. */
struct worked {
	uint32_t own_us, inside_us, unseen_us, operations;
};

/* `ranks` ranks of one communicator, `per_host` of them on each host, whose cuts arrive at the same time. */
struct compared {
	struct world world;
	struct lanes lanes;
	struct worked totals[RANKS];
	int32_t ranks, per_host;
	uint64_t cuts, now_ns;
};

struct batch {
	struct rw_batch header;
	struct rw_message messages[3];
};

static void take(struct compared *compared, int32_t rank, uint32_t count, const struct rw_message *messages)
{
	struct batch batch = { .header = { .magic = RW_BATCH_MAGIC, .version = RW_BATCH_VERSION, .count = count, .number = compared->cuts, .start = 7,
					   .host = "a", .job = "j" } };

	batch.header.host[0] = (char)('a' + rank / compared->per_host);
	memcpy(batch.messages, messages, count * sizeof(*messages));
	cr_assert_eq(world_take(&compared->world, &batch.header, &batch, compared->now_ns), 0);
}

static void begin(struct compared *compared, int32_t ranks, int32_t per_host)
{
	*compared = (struct compared){ .ranks = ranks, .per_host = per_host, .now_ns = 1000000000000 };
	world_begin(&compared->world, 0, 1);
}

static void end(struct compared *compared)
{
	lanes_forget(&compared->lanes, &compared->world);
	world_free(&compared->world);
}

/* The next cut: `odd` is what the last `odd_count` ranks do in it, `usual` what the others do. */
static void cut(struct compared *compared, const struct worked *usual, const struct worked *odd, int32_t odd_count)
{
	compared->now_ns += 2000000000;
	for (int32_t rank = 0; rank < compared->ranks; rank++) {
		const struct worked *worked = rank >= compared->ranks - odd_count ? odd : usual;
		struct worked *total = &compared->totals[rank];
		total->own_us += worked->own_us;
		total->inside_us += worked->inside_us;
		total->unseen_us += worked->unseen_us;
		total->operations += worked->operations;
		const struct rw_message messages[] = {
			{ .type = RW_MESSAGE_RANK, .rank = rank, .of_rank = { .pid = 100 + rank, .world_size = RANKS, .exit_status = -1 } },
			{ .type = RW_MESSAGE_MEMBER, .rank = rank, .member = { .comm = COMM, .size = RANKS, .comm_rank = rank } },
			{ .type = RW_MESSAGE_CUT, .rank = rank, .function = RW_FUNCTION_ALL_REDUCE,
			  .cut = { .comm = COMM, .sequence = 10 + 10 * compared->cuts, .own_us = total->own_us, .inside_us = total->inside_us,
				   .unseen_us = total->unseen_us, .operations = total->operations } },
		};
		take(compared, rank, 3, messages);
	}
	compared->cuts++;
	lanes_tick(&compared->lanes, &compared->world, compared->now_ns);
}

/* Lanes are chosen again only after LANES_LOOK_NS: the first cut shows only how long the others will last. */
static void cut_until_compared(struct compared *compared, const struct worked *usual)
{
	for (int i = 0; i < 10 && !compared->lanes.count; i++)
		cut(compared, usual, usual, 0);
	cr_assert_eq(compared->lanes.count, 1);
}

static const struct lane *lane_of(const struct compared *compared)
{
	cr_assert_eq(compared->lanes.count, 1);
	return compared->world.comms[compared->lanes.judged[0]]->lane;
}

/* A member whose time was cut elsewhere, or that does other operations, is not compared with the others. */
Test(lanes, who_does_not_do_the_same_is_not_compared)
{
	static const struct worked usual = { 500000, 500000, 0, 1600 }, twice = { 1000000, 1000000, 0, 1600 };
	static const struct {
		const struct worked *usual;
		struct worked odd;
		uint32_t compared, unaligned;
	} cases[] = {
		{ &usual, { 500000, 500000, 0, 1600 }, 4, 0 },
		{ &usual, { 500000, 500000, 0, 1700 }, 4, 0 },
		{ &usual, { 500000, 500000, 0, 1701 }, 3, 0 },
		{ &usual, { 500000, 500000, 0, 1500 }, 4, 0 },
		{ &usual, { 500000, 500000, 0, 1499 }, 3, 0 },
		{ &usual, { 500000, 500000, LANES_UNEVEN_US, 1600 }, 4, 0 },
		{ &usual, { 500000, 500000, LANES_UNEVEN_US + 1, 1600 }, 3, 1 },
		{ &usual, { 500000 - LANES_UNEVEN_US, 500000, 0, 1600 }, 4, 0 },
		{ &usual, { 500000 - LANES_UNEVEN_US - 1, 500000, 0, 1600 }, 3, 1 },
		/* Of a long cut, the share counts. */
		{ &twice, { 1000000, 1000000, 40000, 1600 }, 4, 0 },
		{ &twice, { 1000000, 1000000, 40001, 1600 }, 3, 1 },
		{ &twice, { 960000, 1000000, 0, 1600 }, 4, 0 },
		{ &twice, { 959999, 1000000, 0, 1600 }, 3, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct compared compared;
		begin(&compared, 4, 1);
		cut_until_compared(&compared, cases[i].usual);
		uint64_t cuts = compared.lanes.cuts;
		cut(&compared, cases[i].usual, &cases[i].odd, 1);
		cr_expect_eq(compared.lanes.cuts, cuts + 1, "case %zu: %lu cuts were judged", i, compared.lanes.cuts - cuts);
		cr_expect_eq(lane_of(&compared)->compared, cases[i].compared, "case %zu: %u are compared", i, lane_of(&compared)->compared);
		cr_expect_eq(compared.lanes.unaligned, cases[i].unaligned, "case %zu", i);
		end(&compared);
	}
}

static const struct worked same = { 1000000, 1000000, 0, 100 };

static struct worked later_by(uint32_t us)
{
	return (struct worked){ same.own_us + us, same.inside_us - us, 0, same.operations };
}

static bool is_late(const struct compared *compared, uint32_t member)
{
	return lane_is_late(lane_of(compared), member);
}

/* Until it is certain that the last `count` ranks are late. */
static void cut_until_late(struct compared *compared, int32_t count)
{
	const struct worked late = later_by(400000);

	cut_until_compared(compared, &same);
	for (int i = 0; i < 60 && !is_late(compared, (uint32_t)compared->ranks - 1); i++)
		cut(compared, &same, &late, count);
	cr_assert(is_late(compared, (uint32_t)compared->ranks - 1));
	cr_expect_not(is_late(compared, 0));
}

/* Cuts of two seconds: half of 4 % of them is 40 ms. */
Test(lanes, who_was_late_is_no_longer_after_some_cuts_below_half_the_limit)
{
	const struct worked still = later_by(40000), hardly = later_by(39999);
	struct compared compared;

	begin(&compared, 4, 1);
	cut_until_late(&compared, 1);
	for (int i = 0; i < 3 * STRAGGLER_CLEAN; i++)
		cut(&compared, &same, &still, 1);
	cr_expect(is_late(&compared, 3), "half the limit is still late");
	for (int i = 0; i < STRAGGLER_CLEAN - 1; i++)
		cut(&compared, &same, &hardly, 1);
	cut(&compared, &same, &still, 1);
	for (int i = 0; i < STRAGGLER_CLEAN - 1; i++)
		cut(&compared, &same, &hardly, 1);
	cr_expect(is_late(&compared, 3), "they must be in a row");
	cut(&compared, &same, &hardly, 1);
	cr_expect_not(is_late(&compared, 3), "%d of them are enough", STRAGGLER_CLEAN);
	end(&compared);
}

/* Of each cut of two seconds: how much longer each rank works than the first one. */
struct evenly_case {
	const char *what;
	uint32_t longer_us[RANKS], per_host;
	uint32_t ragged_us; /* its last rank sees ends by so much later and earlier, by turns */
	bool late[RANKS];
};

static void cut_each(struct compared *compared, const struct evenly_case *given, int cuts)
{
	for (int i = 0; i < cuts; i++) {
		for (int32_t rank = 0; rank < compared->ranks; rank++) {
			bool ragged = rank == compared->ranks - 1;
			compared->totals[rank].own_us += given->longer_us[rank];
			compared->totals[rank].inside_us -= given->longer_us[rank];
			compared->totals[rank].inside_us += !ragged ? 0 : i % 2 ? -given->ragged_us : given->ragged_us;
		}
		cut(compared, &same, &same, 0);
	}
}

/* Each is too little for the other tests: half of 4 % of the time, at most. */
Test(lanes, who_is_late_evenly_is_suspected_where_the_others_differ_by_far_less)
{
	static const struct evenly_case cases[] = {
		{ "2 %", { [7] = 40000 }, 1, 0, { [7] = true } },
		{ "1.25 % and more", { [7] = 25100 }, 1, 0, { [7] = true } },
		{ "less than 1.25 %", { [7] = 24900 }, 1, 0, { 0 } },
		{ "another one is late by less than a third", { [2] = 13000, [7] = 40000 }, 1, 0, { [7] = true } },
		{ "another one is late by more than a third", { [2] = 13600, [7] = 40000 }, 1, 0, { 0 } },
		{ "another one works less by more than a third", { 13600, 13600, 0, 13600, 13600, 13600, 13600, 13600 + 40000 }, 1, 0, { 0 } },
		{ "a host of two ranks", { [6] = 40000, [7] = 36000 }, 2, 0, { 0 } },
		{ "two ranks of two hosts", { [5] = 40000, [7] = 36000 }, 1, 0, { 0 } },
		{ "it sees ends at other times", { [7] = 40000 }, 1, 20000, { 0 } },
		{ "it sees ends nearly as the others do", { [7] = 40000 }, 1, 150, { [7] = true } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct compared compared;
		begin(&compared, RANKS, (int32_t)cases[i].per_host);
		cut_until_compared(&compared, &same);
		cut_each(&compared, &cases[i], 80);
		for (uint32_t rank = 0; rank < RANKS; rank++)
			cr_expect_eq(is_late(&compared, rank), cases[i].late[rank], "%s: rank %u", cases[i].what, rank);
		end(&compared);
	}
}

/* Whatever was in the memory before; the two that join later begin with nothing, and the others keep what they have. */
Test(lanes, members_begin_with_nothing)
{
	struct compared compared;

	mallopt(M_PERTURB, 0x5a);
	begin(&compared, 4, 1);
	cut_until_late(&compared, 1);
	for (uint32_t i = 0; i < 3; i++) {
		cr_expect_eq(lane_of(&compared)->members[i].clean, 0, "member %u", i);
		cr_expect_float_eq(lane_of(&compared)->members[i].late, 0, 1e-300, "member %u", i);
		cr_expect_float_eq(lane_of(&compared)->members[i].host, 0, 1e-300, "member %u", i);
		cr_expect_eq(lane_of(&compared)->watched.suspects[i].decided_ns, 0, "member %u", i);
	}
	double late = lane_of(&compared)->members[3].late;
	size_t bytes = lanes_bytes(&compared.lanes, &compared.world);
	cr_expect_gt(late, 400000);
	cr_expect_eq(bytes, (compared.world.comm_count + 1) * sizeof(uint32_t) + sizeof(struct lane) + 4 * (sizeof(struct lane_member) + sizeof(struct suspect)));
	compared.ranks = 6;
	for (int i = 0; i < 3; i++)
		cut(&compared, &same, &same, 0);
	mallopt(M_PERTURB, 0);
	cr_assert_eq(lane_of(&compared)->room, 6);
	cr_expect_eq(lanes_bytes(&compared.lanes, &compared.world) - bytes, 2 * (sizeof(struct lane_member) + sizeof(struct suspect)));
	cr_expect(is_late(&compared, 3));
	cr_expect_gt(lane_of(&compared)->members[3].late, late / 2);
	for (uint32_t i = 4; i < 6; i++) {
		cr_expect_eq(lane_of(&compared)->members[i].clean, 0, "member %u", i);
		cr_expect_float_eq(lane_of(&compared)->members[i].late, 0, 1e-300, "member %u", i);
		cr_expect_eq(lane_of(&compared)->watched.suspects[i].decided_ns, 0, "member %u", i);
	}
	end(&compared);
}

/* Before the first cut, and of a member that joined after it. */
Test(lanes, who_was_not_compared_was_not_late)
{
	struct suspect suspects[2] = { 0 };
	struct lane lane = { .watched = { .suspects = suspects, .suspect_count = 2 }, .number = 5 };

	for (uint32_t i = 0; i < 2; i++)
		suspects[i].blames[5] = (struct blame){ .step = 5, .late_ns = LANES_WINDOW_NS, .shown_ns = LANES_WINDOW_NS };
	cr_expect_float_eq(lane_recent(&lane, 1), 0.2, 1e-9, "late by a whole cut in one of five: %f", lane_recent(&lane, 1));
	lane.watched.suspect_count = 1;
	cr_expect_float_eq(lane_recent(&lane, 1), 0, 1e-9, "%f", lane_recent(&lane, 1));
	lane.number = 0;
	cr_expect_float_eq(lane_recent(&lane, 0), 0, 1e-9, "%f", lane_recent(&lane, 0));
}

/* Findings about a host that is late, opened and closed. */
struct heard {
	unsigned opened, closed, of_ranks;
};

static void hear(void *argument, const struct rw_finding *finding)
{
	struct heard *heard = argument;
	bool of_host = finding->scope == RW_SCOPE_HOST;

	heard->opened += of_host && finding->state == RW_FINDING_OPEN;
	heard->closed += of_host && finding->state == RW_FINDING_CLOSED;
	heard->of_ranks += !of_host;
}

/* Its own host has found, or no longer finds, that this rank is a straggler. */
static void say_found(struct compared *compared, int32_t rank, enum rw_finding_state state)
{
	const struct rw_message message = { .type = RW_MESSAGE_FINDING, .rank = rank,
					    .finding = { .kind = RW_KIND_STRAGGLER, .state = (uint8_t)state, .severity = RW_WARNING, .confidence = RW_CERTAIN } };

	take(compared, rank, 1, &message);
}

static void cut_and_judge(struct compared *compared, struct findings *findings, int cuts)
{
	const struct worked late = later_by(400000);

	for (int i = 0; i < cuts; i++) {
		cut(compared, &same, &late, 2);
		late_tick(&compared->lanes, &no_rows, &compared->world, findings, compared->now_ns);
	}
}

/* A rank's host says that it makes other calls: before others are told to be late, or after that. */
static struct heard judge_after_desync(int32_t per_host, bool before)
{
	const struct rw_message desync = { .type = RW_MESSAGE_FINDING,
					   .rank = 1,
					   .finding = { .kind = RW_KIND_DESYNC,
							.state = RW_FINDING_OPEN,
							.severity = RW_CRITICAL,
							.confidence = RW_CERTAIN } };
	struct heard heard = { 0 };
	struct job nobody = { 0 };
	struct findings findings = { .emit = hear, .argument = &heard, .job = &nobody };
	struct compared compared;

	begin(&compared, RANKS, per_host);
	cut_until_late(&compared, 2);
	if (before)
		take(&compared, 1, 1, &desync);
	cut_and_judge(&compared, &findings, 8);
	if (!before) {
		take(&compared, 1, 1, &desync);
		cut_and_judge(&compared, &findings, 8);
	}
	findings_free(&findings);
	end(&compared);
	return heard;
}

Test(late, nobody_is_late_on_a_communicator_whose_calls_do_not_meet)
{
	struct heard heard = judge_after_desync(2, true);

	cr_expect_eq(heard.opened + heard.of_ranks, 0, "%u hosts, %u ranks", heard.opened, heard.of_ranks);
	heard = judge_after_desync(1, true);
	cr_expect_eq(heard.opened + heard.of_ranks, 0, "%u hosts, %u ranks", heard.opened, heard.of_ranks);
	heard = judge_after_desync(2, false);
	cr_expect_eq(heard.opened, 1, "what was told before goes on");
	cr_expect_eq(heard.closed, 0);
	heard = judge_after_desync(1, false);
	cr_expect_gt(heard.of_ranks, 0);
}

/* `found`: which of the last host's two ranks that host has found itself; -1: none. */
static struct heard judge_late_host(int32_t found)
{
	struct heard heard = { 0 };
	struct job nobody = { 0 };
	struct findings findings = { .emit = hear, .argument = &heard, .job = &nobody };
	struct compared compared;

	begin(&compared, RANKS, 2);
	cut_until_late(&compared, 2);
	if (found >= 0)
		say_found(&compared, found, RW_FINDING_OPEN);
	cut_and_judge(&compared, &findings, 8);
	if (found < 0) {
		cr_expect(findings_open(&findings, RW_KIND_STRAGGLER, TOLD_HOST | 3));
		say_found(&compared, 6, RW_FINDING_OPEN);
		cut_and_judge(&compared, &findings, 8);
	}
	cr_expect_null(findings_open(&findings, RW_KIND_STRAGGLER, TOLD_HOST | 3));
	findings_free(&findings);
	end(&compared);
	return heard;
}

Test(late, a_host_is_reported_once_and_not_where_it_has_found_one_of_its_ranks_itself)
{
	struct heard heard = judge_late_host(-1);

	cr_expect_eq(heard.opened, 1, "%u", heard.opened);
	cr_expect_eq(heard.closed, 1, "its own finding says it since");
	cr_expect_eq(heard.of_ranks, 0);
	for (int32_t found = RANKS - 2; found < RANKS; found++) {
		heard = judge_late_host(found);
		cr_expect_eq(heard.opened, 0, "it has found rank %d", found);
		cr_expect_eq(heard.of_ranks, 0, "it has found rank %d", found);
	}
}
