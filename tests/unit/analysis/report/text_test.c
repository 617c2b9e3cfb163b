/* SPDX-License-Identifier: MIT */
/* Numbers, and singular and plural, in the sentences of findings. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/cause_text.h"
#include "analysis/explain/convoy.h"
#include "analysis/model.h"
#include "analysis/report/text.h"

static struct record *record;
static const int32_t ranks[] = { 3, 5 }, others[] = { 0, 1, 2 };
static const struct rw_where where[] = { { .rank = 3, .host = "a" } };

static void begin(void)
{
	record = calloc(1, sizeof(*record));
	cr_assert(record);
	record->finding.scope = RW_SCOPE_RANK;
	record->finding.ranks = ranks;
	record->finding.rank_count = 1;
	record->finding.where = where;
	record->finding.late.waiting = others;
	record->finding.late.waiting_count = 3;
	record->finding.late.since_step = record->finding.late.until_step = -1;
	record->finding.late.lost_share = -1;
}

static void end(void)
{
	free(record);
}

TestSuite(text, .init = begin, .fini = end);

static const char *straggler(double lost_ms, double share, int64_t since)
{
	record->finding.late.lost_ms_per_step = lost_ms;
	record->finding.late.lost_share = share;
	record->finding.late.since_step = since;
	text_straggler(record);
	return record->text;
}

Test(text, how_long_in_three_digits)
{
	cr_expect_str_eq(straggler(45.4, -1, -1), "rank 3 makes every step 45 ms longer");
	cr_expect_str_eq(straggler(999.4, -1, -1), "rank 3 makes every step 999 ms longer");
	cr_expect_str_eq(straggler(1000, -1, -1), "rank 3 makes every step 1.00 s longer");
	cr_expect_str_eq(straggler(9994, -1, -1), "rank 3 makes every step 9.99 s longer");
	cr_expect_str_eq(straggler(9995, -1, -1), "rank 3 makes every step 10.0 s longer");
}

Test(text, of_a_straggler_what_is_known_is_said)
{
	cr_expect_str_eq(straggler(1310, 0.636, 9), "rank 3 makes every step 1.31 s longer: 64 % of the step, since step 9");
	cr_expect_str_eq(straggler(1310, 0, 0), "rank 3 makes every step 1.31 s longer: 0 % of the step, since step 0");
	record->finding.late.at_least = true;
	cr_expect_str_eq(straggler(1310, 0.636, -1),
			 "rank 3 makes every step at least 1.31 s longer: at least 64 % of the step");
	cr_expect_str_eq(straggler(-1, 0.5, 9), "rank 3 keeps the others waiting: at least 50 % of the time is lost");
	record->finding.late.at_least = false;
	record->finding.rank_count = 2;
	cr_expect_str_eq(straggler(-1, -1, 9), "ranks 3,5 keep the others waiting");
	cr_expect_str_eq(straggler(0, -1, -1), "ranks 3,5 make every step 0 ms longer");
	record->finding.scope = RW_SCOPE_HOST;
	cr_expect_str_eq(straggler(100, -1, -1), "host a (ranks 3,5) makes every step 100 ms longer");
}

Test(text, one_that_is_late_now_and_then_is_told_by_the_late_step)
{
	record->finding.late.one_in = 3;
	cr_expect_str_eq(straggler(100, 0.05, 4), "rank 3 makes 1 of 3 steps 300 ms longer: 5 % of the time, since step 4");
	record->finding.late.one_in = 1.75;
	cr_expect_str_eq(straggler(100, -1, -1), "rank 3 makes 1 of 2 steps 175 ms longer");
	record->finding.late.one_in = 1.74;
	cr_expect_str_eq(straggler(100, -1, -1), "rank 3 makes 6 of 10 steps 174 ms longer");
}

Test(text, one_that_works_longer)
{
	record->finding.late.longer_share = record->finding.late.lost_share = 0.09;
	record->longer_ms = 25;
	text_works_longer(record);
	cr_expect_str_eq(record->text, "rank 3 works 25 ms longer in a step than the others: 9 % of the step");
	record->finding.late.spread_out = true;
	record->finding.rank_count = 2;
	text_works_longer(record);
	cr_expect_str_eq(
	    record->text,
	    "ranks 3,5 work 25 ms longer in a step than the others, a little before each operation: 9 % of the step");
	record->finding.late.lost_share = 0.02;
	record->longer_ms = -1;
	text_works_longer(record);
	cr_expect_str_eq(
	    record->text,
	    "ranks 3,5 work longer than the others, a little before each operation: 9 % of the time; it costs about "
	    "2 %");
}

static const char *over(double lost_ms, double share, int64_t since, int64_t until, uint64_t steps)
{
	record->finding.late.lost_ms_per_step = lost_ms;
	record->finding.late.lost_share = share;
	record->finding.late.since_step = since;
	record->finding.late.until_step = until;
	text_straggler_over(record, &(struct text_over){ .steps = steps, .lasted_ns = 42100000000 });
	return record->text;
}

/* What is over goes on in no word. */
Test(text, of_a_straggler_that_is_over_is_said_which_steps_it_made_longer)
{
	cr_expect_str_eq(over(1310, 0.636, 9, 22, 14),
			 "rank 3 made 14 steps 1.31 s longer: 64 % of the step, from step 9 to 22");
	cr_expect_str_eq(over(1310, -1, 9, 9, 1), "rank 3 made 1 step 1.31 s longer, step 9");
	cr_expect_str_eq(over(1310, -1, 9, 8, 0), "rank 3 made steps 1.31 s longer, for 42.1 s");
	cr_expect_str_eq(over(1310, 0.636, -1, -1, 14), "rank 3 made 14 steps 1.31 s longer: 64 % of the step, for 42.1 s");
	cr_expect_str_eq(over(-1, 0.5, -1, -1, 14), "rank 3 kept the others waiting: 50 % of the time was lost, for 42.1 s");
	record->finding.late.at_least = true;
	cr_expect_str_eq(over(1310, 0.636, 9, 22, 14),
			 "rank 3 made 14 steps at least 1.31 s longer: at least 64 % of the step, from step 9 to 22");
	record->finding.late.at_least = false;
	record->finding.late.one_in = 3;
	cr_expect_str_eq(over(100, 0.05, 4, 64, 61),
			 "rank 3 made 1 of 3 steps 300 ms longer: 5 % of the time, from step 4 to 64");
	record->finding.late.one_in = 0;
	text_straggler_over(record, &(struct text_over){ .steps = 61, .told_late = true });
	cr_expect_str_eq(record->text, "rank 3 made 61 steps 100 ms longer: 5 % of the step, from step 4 to 64; that is over");
	record->finding.late.longer_share = 0.09;
	record->longer_ms = 25;
	record->finding.rank_count = 2;
	cr_expect_str_eq(over(1, 0.09, -1, -1, 0), "ranks 3,5 worked 25 ms longer in a step than the others: 9 % of the step");
	cr_expect_str_eq(over(1, 0.02, -1, -1, 0),
			 "ranks 3,5 worked 25 ms longer in a step than the others: 9 % of the step; it cost about 2 %");
}

Test(text, one_waits_and_several_wait)
{
	record->finding.operation.function = RW_FUNCTION_ALL_GATHER;
	record->finding.operation.sequence = 118;
	record->finding.operation.comm_name = "~fsdp";
	record->finding.late.by_ms = 4200;
	text_hang(record);
	cr_expect_str_eq(record->text, "rank 3 has not joined AllGather #118 on ~fsdp: ranks 0-2 have waited 4.20 s");
	record->finding.late.waiting_count = 1;
	record->finding.rank_count = 2;
	text_hang(record);
	cr_expect_str_eq(record->text, "ranks 3,5 have not joined AllGather #118 on ~fsdp: rank 0 has waited 4.20 s");
	record->finding.late.waiting_count = 3;
	record->finding.operation.phase = RW_PHASE_RUNNING;
	text_standstill(record);
	cr_expect_str_eq(
	    record->text,
	    "ranks 0-2 have reached AllGather #118 on ~fsdp and it has not finished after 4.20 s: no rank is missing");
	record->finding.operation.phase = RW_PHASE_CONNECT;
	text_standstill(record);
	cr_expect_str_eq(
	    record->text,
	    "ranks 0-2 have reached AllGather #118 on ~fsdp and are not connected after 4.20 s: no rank is missing");
}

Test(text, who_was_killed_and_who_exited)
{
	record->finding.operation.function = RW_FUNCTION_ALL_REDUCE;
	record->finding.operation.sequence = 7;
	record->finding.operation.comm_name = "dp";
	snprintf(record->cause_text, sizeof(record->cause_text), "killed by signal 9");
	text_gone(record);
	cr_expect_str_eq(record->text, "rank 3 was killed by signal 9: ranks 0-2 wait for it in AllReduce #7 on dp");
	text_ended_first(record, 62);
	cr_expect_str_eq(record->text, "rank 3 was killed by signal 9, 62 ms before ranks 0-2 ended");
	text_ended_first(record, 0);
	cr_expect_str_eq(record->text, "rank 3 was killed by signal 9, 0 ms before ranks 0-2 ended");
	text_ended_first(record, -1);
	cr_expect_str_eq(record->text, "rank 3 was killed by signal 9, and ranks 0-2 ended with it");
	snprintf(record->cause_text, sizeof(record->cause_text), "exited with status 3");
	record->finding.late.waiting_count = 1;
	text_gone(record);
	cr_expect_str_eq(record->text, "rank 3 exited with status 3: rank 0 waits for it in AllReduce #7 on dp");
	record->finding.cause.class_ = RW_CAUSE_STOPPED;
	text_gone(record);
	cr_expect_str_eq(record->text, "rank 3 was stopped: rank 0 waits for it in AllReduce #7 on dp");
}

static const char *end_of(enum analysis_life life, int status)
{
	static char text[128];
	struct process process = { .life = life, .exit_status = status };

	cause_text_end(text, sizeof(text), &process);
	return text;
}

Test(text, how_a_process_ended)
{
	cr_expect_str_eq(end_of(ANALYSIS_KILLED, SIGSEGV), "killed by signal 11");
	cr_expect_str_eq(end_of(ANALYSIS_EXITED, 3 << 8), "exited with status 3");
	cr_expect_str_eq(end_of(ANALYSIS_EXITED, 0), "exited with status 0");
	cr_expect_str_eq(end_of(ANALYSIS_EXITED, -1), "exited");
	cr_expect_eq(strncmp(end_of(ANALYSIS_KILLED, -1), "fell silent", 11), 0);
	cr_expect_eq(strncmp(end_of(ANALYSIS_ALIVE, -1), "its thread", 10), 0);
}

static const char *cause_of(struct cause cause)
{
	static char text[96];
	struct process process = { .life = ANALYSIS_EXITED, .exit_status = 0 };

	cause_text(text, sizeof(text), &cause, &process);
	return text;
}

Test(text, a_cause_is_the_system_call_where_that_says_it)
{
	cr_expect_str_eq(cause_of((struct cause){ .class_ = RW_CAUSE_IO, .system_call = "fsync" }), "fsync(2)");
	cr_expect_str_eq(
	    cause_of((struct cause){ .class_ = RW_CAUSE_IO, .system_call = "write", .second_call = "fsync" }),
	    "write(2) and fsync(2)");
	cr_expect_str_eq(cause_of((struct cause){ .class_ = RW_CAUSE_IO }), "waiting for a disk");
	cr_expect_str_eq(cause_of((struct cause){ .class_ = RW_CAUSE_CPU, .system_call = "read" }), "waiting for a CPU");
	cr_expect_str_eq(cause_of((struct cause){ .class_ = RW_CAUSE_RUNNING, .system_call = "read" }), "running on the CPU");
	cr_expect_eq(strncmp(cause_of((struct cause){ .class_ = RW_CAUSE_STOPPED, .system_call = "read" }), "stopped", 7), 0);
	cr_expect_str_eq(cause_of((struct cause){ .class_ = RW_CAUSE_UNKNOWN }), "not known");
	cr_expect_str_eq(
	    cause_of((struct cause){ .class_ = RW_CAUSE_THROTTLE, .gpu_text = "power cap", .system_call = "read" }),
	    "power cap");
	cr_expect_str_eq(cause_of((struct cause){ .class_ = RW_CAUSE_GONE, .gpu_text = "power cap" }), "exited with status 0");
	cr_expect_str_eq(cause_of((struct cause){
			     .class_ = RW_CAUSE_LOCK, .system_call = "futex", .convoy = true, .like_python = true }),
			 "futex(2), 5 ms at a time as for Python's lock");
	cr_expect_str_eq(cause_of((struct cause){ .class_ = RW_CAUSE_LOCK, .system_call = "futex", .convoy = true }),
			 "futex(2)");
	cr_expect_str_eq(
	    cause_of((struct cause){
		.class_ = RW_CAUSE_LOCK, .system_call = "futex", .convoy = true, .holders = 3, .holders_cpu = 1.804 }),
	    "futex(2); its 3 holders use 180 % of a CPU");
	cr_expect_str_eq(
	    cause_of((struct cause){
		.class_ = RW_CAUSE_LOCK, .system_call = "futex", .convoy = true, .holders = 9, .holders_cpu = -1 }),
	    "futex(2); it has 9 holders in turn");
	cr_expect_str_eq(cause_of((struct cause){ .class_ = RW_CAUSE_LOCK,
						  .system_call = "futex",
						  .convoy = true,
						  .like_python = true,
						  .holders = CONVOY_HOLDERS,
						  .holders_cpu = 0.964 }),
			 "futex(2), 5 ms at a time as for Python's lock; its 64 or more holders use 96 % of a CPU");
	cr_expect_str_eq(
	    cause_of((struct cause){ .class_ = RW_CAUSE_LOCK, .system_call = "futex", .like_python = true }),
	    "futex(2)");
}

static const char *network_of(enum rw_scope scope, bool both_ways)
{
	const struct network_answer answer = { .scope = scope, .share = 0.857, .both_ways = both_ways };

	record->finding.operation.comm_name = "~fsdp";
	text_transfer(record, "transfers", 520, 110);
	text_network(record, &answer, (struct text_end){ 3, "a" }, (struct text_end){ 4, "b" });
	return record->text;
}

Test(text, a_slow_transfer_and_between_whom)
{
	record->finding.operation.comm_name = "~fsdp";
	record->finding.late.since_step = 12;
	record->finding.severity = RW_NOTICE;
	text_transfer(record, "transfers", 520, 110);
	cr_expect_str_eq(record->text, "transfers on ~fsdp take 520 ms a step instead of 110 ms, since step 12, and "
				       "steps take hardly longer; no rank is late");
	record->finding.severity = RW_WARNING;
	text_transfer(record, "transfers", 520, 110);
	cr_expect_str_eq(record->text,
			 "transfers on ~fsdp take 520 ms a step instead of 110 ms, since step 12; no rank is late");
	cr_expect_eq(record->finding.advice, record->advice);
	record->finding.late.since_step = -1;
	cr_expect_str_eq(network_of(RW_SCOPE_LINK, false),
			 "transfers on ~fsdp take 520 ms a step instead of 110 ms: the ranks of a wait 86 % of that "
			 "time for the network to b");
	record->finding.rank_count = 2;
	cr_expect_str_eq(network_of(RW_SCOPE_LINK, true),
			 "transfers on ~fsdp take 520 ms a step instead of 110 ms: rank 3 (a) waits 86 % of that time "
			 "for the network to rank 4 (b), and the other way round");
	cr_expect_str_eq(network_of(RW_SCOPE_RANK, false),
			 "transfers on ~fsdp take 520 ms a step instead of 110 ms: 86 % of that time goes into the "
			 "network between rank 3 (a) and its peers");
	cr_expect_str_eq(network_of(RW_SCOPE_HOST, false),
			 "transfers on ~fsdp take 520 ms a step instead of 110 ms: 86 % of that time goes into the "
			 "network between a and the other hosts");
}
