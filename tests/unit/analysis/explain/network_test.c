/* SPDX-License-Identifier: MIT */
/* Slow transfers with network detail: which link or host it is, and when nobody can say. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/analysis/jobs/history.h"

enum { RANKS = 8, FIRST_SLOW = 20, ROOM = 64, PIECE_MS = 100 };

#define PROCESS(rank) ((analysis_process_id)(rank) + 100)

/* Shares of all time: what the transfers of a slow step take is half of it. */
static const double slow = 0.5, quiet = 0.02;

struct detail {
	double sends[RANKS][RANKS];  /* waits for the network; 0 = no such link */
	double taken[RANKS][RANKS];  /* by the sender: how long the receiver's GPU takes what has arrived */
	bool unseen[RANKS][RANKS];   /* the receiver's side */
};

struct run {
	struct history *history;
	struct analysis *analysis;
	const struct history_finding *findings;
	size_t count;
};

static struct run begin(int hosts)
{
	struct history_job job = { .ranks = RANKS, .steps = 60, .layers = 4, .compute_ms = 40, .jitter_ms = 2, .hosts = hosts,
				   .tail_ms = 1000 };
	job.faults[0] = (struct history_fault){ .kind = FAULT_TRANSFER, .first_step = FIRST_SLOW, .ms = 30 };
	struct run run = { .history = history_new(&job) };
	run.analysis = analysis_new(false, history_emit, run.history);
	cr_assert(run.analysis);
	return run;
}

static void end(struct run *run)
{
	analysis_free(run->analysis);
	history_free(run->history);
}

static void add(struct analysis *analysis, int rank, int peer, bool sends, double network, double gpu, double to_ms)
{
	struct analysis_network seen = {
		.process = PROCESS(rank),
		.peer = peer,
		.sends = sends,
		.network_ns = (uint64_t)(network * PIECE_MS * 1e6),
		.gpu_ns = (uint64_t)(gpu * PIECE_MS * 1e6),
		.from_ns = (uint64_t)((to_ms - PIECE_MS) * 1e6),
		.to_ns = (uint64_t)(to_ms * 1e6),
	};
	cr_assert_eq(analysis_add_network(analysis, &seen), 0);
}

static void add_detail(struct analysis *analysis, const struct detail *detail, double to_ms)
{
	for (int from = 0; from < RANKS; from++)
		for (int to = 0; to < RANKS; to++) {
			if (detail->sends[from][to] == 0)
				continue;
			add(analysis, from, to, true, detail->sends[from][to], 0.3, to_ms);
			if (!detail->unseen[from][to])
				add(analysis, to, from, false, 0.4, detail->taken[from][to], to_ms);
		}
}

/* Plays all of it; the detail comes from the step on in which the transfers become slow. */
static struct run play(int hosts, const struct detail *detail)
{
	struct run run = begin(hosts);
	double ms = history_step_ms(run.history, FIRST_SLOW);
	history_play(run.history, run.analysis, ms);
	for (; ms < history_end_ms(run.history); ms += PIECE_MS) {
		add_detail(run.analysis, detail, ms);
		history_play(run.history, run.analysis, ms);
	}
	history_play(run.history, run.analysis, 0);
	run.findings = history_findings(run.history, &run.count);
	cr_assert_gt(run.count, 0);
	for (size_t i = 0; i < run.count; i++) {
		cr_expect_eq(run.findings[i].kind, RW_KIND_SLOWDOWN, "%s", run.findings[i].text);
		cr_expect_str_eq(run.findings[i].id, run.findings[0].id, "one finding");
	}
	cr_expect_eq(run.findings[0].scope, RW_SCOPE_JOB, "before anything was recorded");
	return run;
}

static const struct history_finding *last(const struct run *run)
{
	return &run->findings[run->count - 1];
}

/* A ring over all ranks: between hosts where they meet. */
static struct detail ring(int hosts)
{
	struct detail detail = { 0 };
	int width = RANKS / hosts;
	for (int host = 0; host < hosts; host++)
		detail.sends[host * width + width - 1][(host + 1) * width % RANKS] = quiet;
	return detail;
}

/* Each rank with the one of its place on each other host. */
static struct detail rails(int hosts)
{
	struct detail detail = { 0 };
	int width = RANKS / hosts;
	for (int from = 0; from < RANKS; from++)
		for (int to = from % width; to < RANKS; to += width)
			detail.sends[from][to] = to == from ? 0 : quiet;
	return detail;
}

Test(network, the_one_link_that_waits_is_named_with_both_its_ends)
{
	struct detail detail = ring(2);
	detail.sends[3][4] = slow;
	struct run run = play(2, &detail);
	const struct history_finding *told = last(&run);
	cr_expect_eq(told->scope, RW_SCOPE_LINK);
	cr_expect_eq(told->rank_count, 2);
	cr_expect_eq(told->rank, 3);
	cr_expect_eq(told->last_rank, 4);
	cr_expect_eq(told->class_, RW_CAUSE_NETWORK);
	cr_expect_eq(told->late_kind, RW_LATE_TRANSFER);
	cr_expect_eq(told->confidence, RW_CERTAIN);
	cr_expect(told->share > 0.8 && told->share <= 1, "%f", told->share);
	cr_expect(strstr(told->text, "since step 20: rank 3 (a) waits "), "%s", told->text);
	cr_expect(strstr(told->text, " % of that time for the network to rank 4 (b)"), "%s", told->text);
	cr_expect_eq(told->waiting_count, RANKS - 2);
	cr_expect_eq(told->missing_count, 0);
	end(&run);
}

Test(network, it_is_likely_only_while_the_receiver_was_not_seen)
{
	struct detail detail = ring(2);
	detail.sends[3][4] = slow;
	detail.unseen[3][4] = true;
	struct run run = play(2, &detail);
	cr_expect_eq(last(&run)->scope, RW_SCOPE_LINK);
	cr_expect_eq(last(&run)->confidence, RW_LIKELY);
	end(&run);
}

Test(network, a_link_that_is_slow_both_ways_is_one_link)
{
	struct detail detail = rails(2);
	detail.sends[2][6] = slow;
	detail.sends[6][2] = 0.8 * slow;
	struct run run = play(2, &detail);
	cr_expect_eq(last(&run)->scope, RW_SCOPE_LINK);
	cr_expect_eq(last(&run)->rank_count, 2);
	cr_expect_eq(last(&run)->last_rank, 6);
	cr_expect(strstr(last(&run)->text, "the other way round"), "%s", last(&run)->text);
	end(&run);
}

Test(network, all_ranks_of_a_host_that_wait_for_the_same_other_one_are_a_link_between_hosts)
{
	struct detail detail = rails(2);
	for (int rank = 4; rank < RANKS; rank++) {
		detail.sends[rank][rank - 4] = slow;
		detail.sends[rank - 4][rank] = 0.2; /* what says that it arrived goes the slow way */
	}
	struct run run = play(2, &detail);
	cr_expect_eq(last(&run)->scope, RW_SCOPE_LINK);
	cr_expect_eq(last(&run)->rank_count, RANKS);
	cr_expect_eq(last(&run)->confidence, RW_LIKELY, "there is no other to compare it with");
	cr_expect(strstr(last(&run)->text, "the ranks of b wait "), "%s", last(&run)->text);
	cr_expect(strstr(last(&run)->text, "for the network to a"), "%s", last(&run)->text);
	end(&run);
}

Test(network, a_host_that_is_slow_to_all_others_is_named)
{
	struct detail detail = rails(4);
	for (int to = 0; to < 6; to++)
		for (int from = 6; from < RANKS; from++)
			detail.sends[from][to] = detail.sends[from][to] == 0 ? 0 : slow;
	struct run run = play(4, &detail);
	cr_expect_eq(last(&run)->scope, RW_SCOPE_HOST);
	cr_expect_eq(last(&run)->rank_count, 2);
	cr_expect_eq(last(&run)->rank, 6);
	cr_expect_eq(last(&run)->last_rank, 7);
	cr_expect_eq(last(&run)->confidence, RW_LIKELY);
	end(&run);
}

Test(network, a_rank_that_is_slow_to_all_its_peers_is_named)
{
	struct detail detail = rails(4);
	for (int to = 0; to < RANKS; to++)
		detail.sends[5][to] = detail.sends[5][to] == 0 ? 0 : slow;
	struct run run = play(4, &detail);
	cr_expect_eq(last(&run)->scope, RW_SCOPE_RANK);
	cr_expect_eq(last(&run)->rank_count, 1);
	cr_expect_eq(last(&run)->rank, 5);
	cr_expect(strstr(last(&run)->text, "between rank 5 (c) and its peers"), "%s", last(&run)->text);
	end(&run);
}

Test(network, a_rank_to_which_all_its_peers_are_slow_is_named)
{
	struct detail detail = rails(4);
	for (int from = 0; from < RANKS; from++)
		detail.sends[from][5] = detail.sends[from][5] == 0 ? 0 : slow;
	struct run run = play(4, &detail);
	cr_expect_eq(last(&run)->scope, RW_SCOPE_RANK);
	cr_expect_eq(last(&run)->rank_count, 1);
	cr_expect_eq(last(&run)->rank, 5);
	end(&run);
}

static void expect_nobody(const struct run *run, const char *because)
{
	for (size_t i = 0; i < run->count; i++) {
		cr_expect_eq(run->findings[i].scope, RW_SCOPE_JOB, "%s", run->findings[i].text);
		cr_expect_eq(run->findings[i].rank_count, RANKS);
		cr_expect_neq(run->findings[i].class_, RW_CAUSE_NETWORK);
	}
	cr_expect(strstr(last(run)->missing, because), "%s", last(run)->missing);
}

Test(network, links_that_have_nothing_in_common_name_nobody)
{
	struct detail detail = rails(4);
	detail.sends[0][2] = slow;
	detail.sends[5][7] = slow;
	struct run run = play(4, &detail);
	expect_nobody(&run, "no rank and no host in common");
	end(&run);
}

Test(network, a_rank_to_which_some_of_its_peers_are_slow_is_not_named)
{
	struct detail detail = rails(4);
	detail.sends[1][5] = detail.sends[3][5] = slow;
	struct run run = play(4, &detail);
	expect_nobody(&run, "no rank and no host in common");
	end(&run);
}

/* One end of a slow link is blamed only if it is slow to several others. */
Test(network,
     a_rank_that_is_slow_to_one_of_its_peers_is_not_named_for_another_link_of_its_that_is_neither_slow_nor_quiet)
{
	struct detail detail = { 0 };
	detail.sends[3][4] = slow;
	detail.sends[7][3] = slow * 0.4;
	detail.sends[0][6] = quiet;
	struct run run = play(4, &detail);
	expect_nobody(&run, "no rank and no host in common");
	end(&run);
}

Test(network, half_of_the_links_between_two_hosts_name_nobody)
{
	struct detail detail = rails(2);
	detail.sends[0][4] = detail.sends[1][5] = slow;
	struct run run = play(2, &detail);
	expect_nobody(&run, "no rank and no host in common");
	end(&run);
}

Test(network, transfers_that_wait_for_something_else_name_nobody)
{
	struct detail detail = rails(2);
	struct run run = play(2, &detail);
	expect_nobody(&run, "no transfer's wait for the network");
	end(&run);
}

/* What was sent stays in the socket until the receiver's GPU takes what came before it. */
Test(network, a_send_that_is_held_up_by_its_receiver_is_not_the_networks)
{
	struct detail detail = ring(2);
	detail.sends[3][4] = slow;
	detail.taken[3][4] = slow;
	struct run run = play(2, &detail);
	expect_nobody(&run, "no transfer's wait for the network");
	end(&run);
}

Test(network, waits_of_links_in_all_places_name_no_wrong_rank)
{
	for (unsigned seed = 1; seed < 60; seed++) {
		struct detail detail = seed % 2 ? rails(4) : rails(2);
		unsigned random = seed;
		for (int from = 0; from < RANKS; from++)
			for (int to = 0; to < RANKS; to++) {
				random = random * 1103515245 + 12345;
				if (detail.sends[from][to] != 0)
					detail.sends[from][to] = 0.15 + (random >> 16) % 100 / 300.0;
			}
		struct run run = play(seed % 2 ? 4 : 2, &detail);
		cr_expect(last(&run)->scope == RW_SCOPE_JOB || last(&run)->rank_count == RANKS, "%s", last(&run)->text);
		end(&run);
	}
}

Test(network, detail_is_wanted_of_everybody_while_it_is_slow_for_half_a_minute_and_then_not)
{
	struct analysis_detail details[ROOM];
	struct run run = begin(2);
	history_play(run.history, run.analysis, history_step_ms(run.history, FIRST_SLOW));
	cr_expect_eq(analysis_wanted_details(run.analysis, details, ROOM), 0);
	double from_ms = 0, to_ms = 0;
	for (double ms = history_step_ms(run.history, FIRST_SLOW); ms < history_end_ms(run.history); ms += PIECE_MS) {
		history_play(run.history, run.analysis, ms);
		size_t count = analysis_wanted_details(run.analysis, details, ROOM);
		if (!count)
			continue;
		cr_expect_eq(count, RANKS);
		from_ms = from_ms == 0 ? ms : from_ms;
		to_ms = ms;
	}
	cr_expect_gt(from_ms, 0);
	cr_expect(to_ms - from_ms <= 30000 && to_ms - from_ms > 20000, "%f", to_ms - from_ms);
	cr_expect_eq(details[2].process, PROCESS(2));
	cr_expect_eq(details[2].comm, 0x5eed0000u);
	end(&run);
}

Test(network, detail_that_nobody_can_have_is_refused)
{
	struct run run = begin(2);
	struct analysis_network seen = { .process = 9999 };
	history_play(run.history, run.analysis, history_step_ms(run.history, 5));
	cr_expect_lt(analysis_add_network(run.analysis, &seen), 0);
	seen = (struct analysis_network){ .process = PROCESS(0), .index = 77 };
	cr_expect_lt(analysis_add_network(run.analysis, &seen), 0);
	seen = (struct analysis_network){ .process = PROCESS(0), .from_ns = 2, .to_ns = 1 };
	cr_expect_lt(analysis_add_network(run.analysis, &seen), 0);
	seen = (struct analysis_network){ .process = PROCESS(0), .peer = 4000, .network_ns = UINT64_MAX };
	cr_expect_eq(analysis_add_network(run.analysis, &seen), 0, "before anything is slow it is not kept");
	end(&run);
}
