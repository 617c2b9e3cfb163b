/* SPDX-License-Identifier: MIT */
/* The small pure parts: addresses, lines, requests, messages, the board. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/address.h"
#include "finding/board.h"
#include "protocol/line_buffer.h"
#include "protocol/message.h"
#include "protocol/request.h"

Test(address, root_and_users_have_the_paths_of_the_contract)
{
	struct address address;

	cr_assert_eq(address_fill(&address, "/run/user/0", 0, "j/1"), 0);
	cr_expect_str_eq(address.shared, "/run/rankwatch/socket");
	cr_expect_str_eq(address.own, "/run/rankwatch/j_1.socket");
	cr_expect_str_eq(address.all_nodes, "/run/rankwatch/j_1.all-nodes");
	cr_assert_eq(address_fill(&address, "/run/user/7", 7, "j"), 0);
	cr_expect_str_eq(address.shared, "/run/user/7/rankwatch.sock");
	cr_expect_str_eq(address.own, "/run/user/7/rankwatch-j.sock");
	cr_expect_str_eq(address.all_nodes, "/run/user/7/rankwatch-j.all-nodes");
	cr_assert_eq(address_fill(&address, NULL, 7, "j"), 0);
	cr_expect_str_eq(address.shared, "/tmp/rankwatch-7/rankwatch.sock");
}

Test(address, a_directory_too_long_for_a_socket_is_an_error_and_not_a_cut_name)
{
	struct address address;
	char directory[200];

	memset(directory, 'd', sizeof(directory));
	directory[0] = '/';
	directory[sizeof(directory) - 1] = '\0';
	cr_expect_eq(address_fill(&address, directory, 7, "j"), -ENAMETOOLONG);
	directory[90] = '\0';
	cr_expect_eq(address_fill(&address, directory, 7, "a-long-name-for-a-job"), -ENAMETOOLONG);
	directory[85] = '\0';
	cr_expect_eq(address_fill(&address, directory, 7, "jobs"), 0);
	cr_expect_str_eq(address.all_nodes, "", "only the longest of them does not fit");
}

static char seen[64];

static void on_line(void *argument, char *line, size_t length)
{
	(void)argument;
	cr_expect_eq(strlen(line), length);
	strcat(seen, line);
	strcat(seen, "|");
}

Test(line_buffer, lines_come_whole_however_they_were_cut)
{
	static const char text[] = "one\ntwo\n\nthree\nrest";

	for (size_t step = 1; step < sizeof(text); step++) {
		struct line_buffer buffer = { .limit = 16 };

		*seen = '\0';
		for (size_t at = 0; at < sizeof(text) - 1; at += step) {
			size_t left = sizeof(text) - 1 - at;

			cr_assert_eq(line_buffer_add(&buffer, text + at, left < step ? left : step, on_line, NULL), 0);
		}
		cr_expect_str_eq(seen, "one|two||three|", "step %zu", step);
		line_buffer_free(&buffer);
	}
}

Test(line_buffer, a_line_above_the_limit_is_refused)
{
	struct line_buffer buffer = { .limit = 4 };

	cr_expect_eq(line_buffer_add(&buffer, "1234\n", 5, on_line, NULL), 0);
	cr_expect_eq(line_buffer_add(&buffer, "123", 3, on_line, NULL), 0);
	cr_expect_eq(line_buffer_add(&buffer, "45", 2, on_line, NULL), -EMSGSIZE);
	line_buffer_free(&buffer);
}

static struct request parsed(const char *line)
{
	struct request request;

	request_parse(line, strlen(line), &request);
	return request;
}

Test(request, what_is_not_understood_is_nothing)
{
	static const struct {
		const char *line;
		enum request_kind kind;
	} cases[] = {
		{ "{\"join\":\"run\"}", REQUEST_JOIN },
		{ "{\"leave\":\"run\",\"x\":1}", REQUEST_LEAVE },
		{ "{\"join\":\"party\"}", REQUEST_UNKNOWN },
		{ "{\"join\":7}", REQUEST_UNKNOWN },
		{ "[\"join\"]", REQUEST_UNKNOWN },
		{ "", REQUEST_UNKNOWN },
		{ "{\"join\":\"run\"", REQUEST_UNKNOWN },
		{ "{\"subscribe\":[]}", REQUEST_SUBSCRIBE },
		{ "{\"subscribe\":\"ranks\"}", REQUEST_UNKNOWN },
		{ "{\"get\":{\"rank\":3}}", REQUEST_GET_RANK },
		{ "{\"get\":{\"rank\":-1}}", REQUEST_UNKNOWN },
		{ "{\"get\":{\"rank\":4294967296}}", REQUEST_UNKNOWN },
		{ "{\"get\":{\"finding\":\"9f2c-3\"}}", REQUEST_GET_FINDING },
		{ "{\"get\":{\"finding\":\"an id that is longer than any that there is\"}}", REQUEST_UNKNOWN },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(parsed(cases[i].line).kind, cases[i].kind, "%s", cases[i].line);
}

Test(request, a_subscription_keeps_the_topics_that_are_known_and_a_bearable_pace)
{
	struct request request = parsed("{\"id\":7,\"subscribe\":[\"cells\",\"weather\",3,\"ranks\"],\"every_ms\":1}");

	cr_expect_eq(request.id, 7);
	cr_expect_eq(request.topics, (unsigned)(REQUEST_CELLS | REQUEST_RANKS));
	cr_expect_eq(request.every_ms, (unsigned)REQUEST_EVERY_LEAST_MS);
	cr_expect_eq(parsed("{\"subscribe\":[]}").every_ms, (unsigned)REQUEST_EVERY_MS);
	cr_expect_eq(parsed("{\"subscribe\":[],\"every_ms\":900000}").every_ms, (unsigned)REQUEST_EVERY_MOST_MS);
	cr_expect_eq(parsed("{\"id\":-5,\"subscribe\":[]}").id, -1);
	cr_expect_eq(parsed("{\"get\":{\"rank\":3}}").rank, 3);
	cr_expect_str_eq(parsed("{\"get\":{\"finding\":\"9f2c-3\"}}").finding, "9f2c-3");
}

Test(message, a_hello_says_the_level_and_why_it_is_no_deeper)
{
	const struct sight sight = { .level = RW_LEVEL_PROC, .below = RW_LEVEL_PROC, .why = "no CAP_BPF" };
	char *line = message_hello("slurm-\xff", &sight, 2, NULL, true, false, "/proc/../tmp");
	json_t *message = json_loads(line, 0, NULL), *hello = json_object_get(message, "hello");

	cr_expect_str_eq(json_string_value(json_object_get(hello, "job")), "slurm-\\xff");
	cr_expect_str_eq(json_string_value(json_object_get(hello, "level")), "proc");
	cr_expect_str_eq(json_string_value(json_object_get(hello, "why")), "no CAP_BPF");
	cr_expect_eq(json_integer_value(json_object_get(hello, "open")), 2);
	cr_expect(json_is_true(json_object_get(hello, "on_finding")));
	cr_expect(message_hello_looks_in(hello, "/tmp/."));
	cr_expect_not(message_hello_looks_in(hello, "/proc"), "another directory");
	cr_expect_not(message_hello_looks_in(hello, NULL), "where boxes go by themselves");
	json_decref(message);
	free(line);
}

static void expect_own_hello(const char *job)
{
	char *line = message_hello(job, &(struct sight){ .level = RW_LEVEL_EBPF }, 0, NULL, false, false, "");
	json_t *message = json_loads(line, 0, NULL);

	cr_expect(message_hello_is_of(json_object_get(message, "hello"), job), "%s", line);
	cr_expect_not(message_hello_is_of(json_object_get(message, "hello"), "another"));
	cr_expect(message_hello_looks_in(json_object_get(message, "hello"), NULL));
	cr_expect_not(message_hello_looks_in(json_object_get(message, "hello"), "/tmp"));
	json_decref(message);
	free(line);
}

Test(message, a_job_knows_its_own_hello_also_when_its_name_is_not_utf8)
{
	expect_own_hello("train");
	expect_own_hello("j\xff\xfe/..");
	expect_own_hello("a\033b");
}

static char *printed(const struct message_summary *summary)
{
	char *line = message_summary(summary), *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	json_t *message = json_loads(line, 0, NULL);

	message_print_summary(stream, "rankwatch", message);
	fclose(stream);
	json_decref(message);
	free(line);
	return text;
}

Test(message, a_summary_says_what_was_seen_what_was_not_and_how_to_look_again)
{
	char *text = printed(&(struct message_summary){
	    .job = "j",
	    .sight.level = RW_LEVEL_EBPF,
	    .directory = "/dev/shm/rankwatch-0/j",
	    .analysis = { .processes = 8,
			  .ranks_total = 16,
			  .communicators = 3,
			  .operations = 12345,
			  .captured = 7,
			  .forgotten = 2,
			  .steps = 40,
			  .step_ms = 2050,
			  .first_step_ms = 720 },
	    .findings = { 1, 2, 0 },
	});

	cr_expect_str_eq(text, "rankwatch: 8 of 16 ranks, 3 communicators, 12345 operations, 40 steps, of 0.72 s at "
			       "first and 2.05 s at last\n"
			       "  not seen   7 times of calls inside CUDA graphs\n"
			       "  not seen   2 calls of groups were forgotten before all their ranks had ended them: too many had "
			       "not ended, and nobody was judged by these\n"
			       "  findings   0 critical, 2 warning\n"
			       "  boxes      /dev/shm/rankwatch-0/j\n"
			       "  look again rankwatch report /dev/shm/rankwatch-0/j\n");
	free(text);
}

Test(message, a_summary_says_where_the_time_went)
{
	struct message_summary summary = {
		.job = "j",
		.analysis = { .processes = 8, .ranks_total = 8, .step_ms = -1, .first_step_ms = -1 },
		.account = { .known = true, .own = 0.38, .wait = 0.58, .transfer = 0.04, .loss_count = 3,
			     .losses = { { .rank = 0, .share = 0.58, .steps = 9, .of_steps = 100, .step_ms = 1302,
					   .by = RW_LATE_HOST, .cause_class = RW_CAUSE_IO, .cause = "fsync(2)",
					   .path = "/lustre/run/step50\x1b.pt" },
					 { .rank = 3, .share = 0.12, .spread_out = true },
					 { .rank = -1, .share = 0.07, .steps = 1, .of_steps = 100, .step_ms = 900,
					   .by = RW_LATE_DEVICE, .at_least = true } } }
	};
	char *text = printed(&summary), *line = message_summary(&summary);
	json_t *message = json_loads(line, 0, NULL), *time = json_object_get(json_object_get(message, "summary"), "time");
	json_t *first = json_array_get(json_object_get(time, "waited_for"), 0),
	       *second = json_array_get(json_object_get(time, "waited_for"), 1);

	cr_expect_str_eq(
	    text,
	    "rankwatch: 8 of 8 ranks, 0 communicators, 0 operations\n"
	    "  findings   none\n"
	    "  time       own work 38 %, waiting for other ranks 58 %, transfers 4 %, not seen 0 %\n"
	    "  waited     others waited 58 % of the time for rank 0: 9 of 100 steps, 1302 ms in each, fsync(2) on "
	    "/lustre/run/step50\\x1b.pt\n"
	    "  waited     others waited 12 % of the time for rank 3, a little in each operation\n"
	    "  waited     others waited at least 7 % of the time for a rank whose number is not known: seen in 1 of "
	    "100 steps, 900 ms in "
	    "each, late by its GPU\n",
	    "%s", text);
	cr_expect_float_eq(json_number_value(json_object_get(time, "wait")), 0.58, 1e-9);
	cr_expect_eq(json_integer_value(json_object_get(first, "steps")), 9);
	cr_expect(json_is_false(json_object_get(first, "at_least")));
	cr_expect(json_is_true(json_object_get(json_array_get(json_object_get(time, "waited_for"), 2), "at_least")));
	cr_expect_str_eq(json_string_value(json_object_get(first, "class")), "io");
	cr_expect(json_is_null(json_object_get(second, "cause")));
	cr_expect_str_eq(json_string_value(json_object_get(first, "confidence")), "certain");
	cr_expect(json_is_null(json_object_get(second, "confidence")));
	json_decref(message);
	free(line);
	free(text);
}

/* As the finding with this cause says it is. */
Test(message, a_summary_says_which_cause_is_only_likely)
{
	struct message_summary summary = {
		.job = "j",
		.analysis = { .processes = 8, .ranks_total = 8, .step_ms = -1, .first_step_ms = -1 },
		.account = { .known = true, .own = 0.4, .wait = 0.6, .loss_count = 1,
			     .losses = { { .rank = 0, .share = 0.58, .steps = 9, .of_steps = 100, .step_ms = 1302, .by = RW_LATE_HOST,
					   .cause_class = RW_CAUSE_IO, .cause = "fsync(2)", .path = "/a", .likely = true } } }
	};
	char *text = printed(&summary), *line = message_summary(&summary);
	json_t *message = json_loads(line, 0, NULL), *time = json_object_get(json_object_get(message, "summary"), "time");
	json_t *first = json_array_get(json_object_get(time, "waited_for"), 0);

	cr_expect_not_null(strstr(text, "9 of 100 steps, 1302 ms in each, likely fsync(2) on /a\n"), "%s", text);
	cr_expect_str_eq(json_string_value(json_object_get(first, "confidence")), "likely");
	cr_expect_str_eq(json_string_value(json_object_get(first, "cause")), "fsync(2)");
	json_decref(message);
	free(line);
	free(text);
}

/* Else "findings none" beside it would look like a contradiction. */
Test(message, a_summary_says_why_who_was_waited_for_is_not_named)
{
	static const struct {
		enum analysis_unnamed unnamed;
		const char *said;
	} cases[] = {
		{ ANALYSIS_UNNAMED_STEPS, "which operations make a step is not known, and what its time adds up to has "
					  "not been clearly more than others' for long enough" },
		{ ANALYSIS_UNNAMED_SHORT, "5 steps were seen; ranks are judged for being late from the 8th on" },
		{ ANALYSIS_UNNAMED_EARLY, "only 5 steps were seen: until the 24th, only steady lateness, a sudden one "
					  "of a fifth of the step, or one whose "
					  "cause is seen can be told from chance" },
		{ ANALYSIS_UNNAMED_SPREAD, "it is late by a little in many operations, and what that adds up to has "
					   "not been clearly more than others' for "
					   "long enough" },
		{ ANALYSIS_UNNAMED_LITTLE, "no training step lost 20 ms to it, the least that is judged" },
		{ ANALYSIS_UNNAMED_FEW,
		  "it was late in 2 of 9 steps: fewer than three in a row, or four in all, may be chance" },
		{ ANALYSIS_UNNAMED_UNSURE, "it was late, but steps would not clearly be shorter without it" },
		{ ANALYSIS_UNNAMED_ONE, "there is only one other rank to compare it with: that takes 24 steps of "
					"steady lateness, or a cause that is seen" },
		{ ANALYSIS_UNNAMED_CHANCE, "others were at times late by nearly as much, so it may be chance" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct message_summary summary = {
			.job = "j",
			.analysis = { .processes = 8, .ranks_total = 8, .step_ms = -1, .first_step_ms = -1 },
			.account = { .known = true, .own = 0.25, .wait = 0.75, .loss_count = 1,
				     .losses = { { .rank = 3, .share = 0.75, .steps = 2, .of_steps = 9, .step_ms = 1302, .compared = 5,
						   .unnamed = cases[i].unnamed } } }
		};
		char *text = printed(&summary), line[320];

		snprintf(line, sizeof(line), "1302 ms in each\n  not named  rank 3: %s\n", cases[i].said);
		cr_expect_not_null(strstr(text, line), "%s", text);
		free(text);
	}
}

Test(message, a_summary_says_how_waiting_goes_round)
{
	struct message_summary summary = {
		.job = "j",
		.analysis = { .processes = 8, .ranks_total = 8, .step_ms = -1, .first_step_ms = -1 },
		.account = { .known = true,
			     .own = 0.5,
			     .wait = 0.5,
			     .turns = { .times = 96,
					.of_steps = 200,
					.share = 0.47,
					.each_ms = 180.4,
					.rank_count = 6,
					.ranks = { { 3, 14 }, { 5, 13 }, { 0, 12 }, { -1, 12 } },
					.by = RW_LATE_HOST,
					.cause_class = RW_CAUSE_RUNNING,
					.caused = 5,
					.seen = 6,
					.collecting = 4,
					.cause = "running on the CPU",
					.function = "collate",
					.file = "/work\x1b/data.py",
					.line = 41 } }
	};
	char *text = printed(&summary);

	cr_expect_not_null(
	    strstr(text, "  waited     47 % of the time by turns: 96 times in 200 steps, 180 ms each; for rank 3 14 "
			 "times, rank 5 13, rank 0 12, a rank whose number is "
			 "not known 12 and 2 others\n"
			 "  because    Python collected garbage, as seen of 4 of 6 ranks, in collate (data.py:41)\n"
			 "  do         collect garbage on all ranks in the same step (gc.disable(), then gc.collect() "
			 "every N steps), or call gc.freeze() for long-lived "
			 "objects\n"),
	    "%s", text);
	cr_expect_null(strstr(text, "for each other by turns"), "%s", text);
	free(text);
	summary.account.turns.collecting = 0;
	summary.account.turns.likely = summary.account.turns.at_least = true;
	text = printed(&summary);
	cr_expect_not_null(strstr(text, "at least 47 % of the time by turns"), "%s", text);
	cr_expect_not_null(
	    strstr(text, "  because    likely running on the CPU, as seen of 5 of 6 ranks, in collate (data.py:41)\n"),
	    "%s", text);
	cr_expect_not_null(strstr(text, "  do         let all ranks pause in the same step"), "%s", text);
	free(text);
	summary.account.turns = (struct analysis_turns){ .times = 12,
							 .of_steps = 20,
							 .share = 0.2,
							 .each_ms = 30,
							 .rank_count = 2,
							 .ranks = { { 0, 7 }, { 1, 5 } },
							 .by = RW_LATE_DEVICE };
	text = printed(&summary);
	cr_expect_not_null(strstr(text, "for rank 0 7 times and rank 1 5\n  because    their GPUs came late\n"), "%s",
			   text);
	cr_expect_null(strstr(text, "  do  "), "%s", text);
	free(text);
}

/* What cannot be said of a rank is said of nobody, and what is as it should be is not spoken of. */
Test(message, a_summary_names_nobody_where_nobody_can_be_told)
{
	static const struct {
		struct analysis_account account;
		const char *said;
	} cases[] = {
		{ { .known = true, .own = 0.9, .wait = 0.04, .transfer = 0.06 }, NULL },
		{ { .known = true, .own = 0.9, .wait = 0.05, .transfer = 0.05 },
		  "  waited     the ranks for each other by turns: in the steps that ended none was late more than the "
		  "others\n" },
		{ { .known = true, .own = 0.9, .wait = 0.05, .nobody = 0.05, .transfer = 0.05 },
		  "  waited     5 % of the time where no single rank was late: half of the ranks came as late, or too "
		  "little was seen of them\n" },
		{ { .known = true, .own = 0.75, .transfer = 0.25 },
		  "  transfers  for 25 % of the time all ranks had come: the transfers were slow, or GPUs had no room "
		  "for NCCL's kernels\n" },
		{ { .known = true, .own = 0.8, .wait = 0.1, .transfer = 0.1 },
		  "  waited     the ranks for each other by turns: in the steps that ended none was late more than the "
		  "others\n" },
		{ { .known = true, .own = 0.8, .wait = 0.15, .nobody = 0.1, .transfer = 0.05 },
		  "  waited     10 % of the time where no single rank was late: half of the ranks came as late, or too "
		  "little was seen of them\n" },
		{ { .known = true, .own = 0.1, .unseen = 0.9, .left_out = true },
		  "  not seen   most of the time: the budget pays for the GPU progress of a part of the small "
		  "operations; "
		  "RANKWATCH_GPU_TIME=watermark records all of them\n" },
		{ { .known = true, .own = 0.1, .unseen = 0.9 }, NULL },
		{ { .known = true, .own = 0.6, .transfer = 0.4 },
		  "  transfers  for 40 % of the time all ranks had come: the transfers were slow, or GPUs had no room "
		  "for NCCL's kernels\n" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = printed(&(struct message_summary){
		    .job = "j", .analysis = { .processes = 8, .ranks_total = 8, .step_ms = -1, .first_step_ms = -1 },
		    .account = cases[i].account });
		if (cases[i].said)
			cr_expect(strstr(text, cases[i].said), "%s", text);
		else
			cr_expect_not(strstr(text, "  time"), "%s", text);
		free(text);
	}
}

Test(message, a_rank_whose_box_was_given_up_is_missing_in_the_summary)
{
	char *text = printed(&(struct message_summary){
	    .job = "j",
	    .analysis = { .processes = 8, .ranks_total = 8, .step_ms = -1, .first_step_ms = -1 },
	    .given_up = 1 });

	cr_expect_str_eq(text, "rankwatch: 7 of 8 ranks, 0 communicators, 0 operations\n"
			       "  not seen   1 rank to its end: its black box could no longer be read\n"
			       "  findings   none\n");
	free(text);
}

Test(message, a_summary_does_not_say_none_of_an_end_that_was_not_looked_at)
{
	json_t *message =
	    json_pack("{s:{s:{s:i, s:i}, s:b}}", "summary", "findings", "critical", 0, "warning", 0, "unjudged", 1);
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	message_print_summary(stream, "rankwatch", message);
	fclose(stream);
	cr_expect_not_null(
	    strstr(text, "  findings   none while the job ran; how it ended was not looked at in time\n"), "%s", text);
	json_decref(message);
	free(text);
}

Test(message, a_summary_says_who_was_seen_less_well_and_what_was_lost)
{
	struct message_summary summary = {
		.job = "j",
		.analysis = { .processes = 8, .ranks_total = 8, .step_ms = -1, .first_step_ms = -1 },
		.sight = { .level = RW_LEVEL_EBPF,
			   .below = RW_LEVEL_ROOT,
			   .processes = 8,
			   .with_ebpf = 7,
			   .why = "process 4711: No such process" },
		.lost = { { [LOSS_RING] = 40, [LOSS_LOOKS] = 2 } }
	};
	char *text = printed(&summary), *line = message_summary(&summary);
	json_t *message = json_loads(line, 0, NULL), *body = json_object_get(message, "summary");

	cr_expect_str_eq(text, "rankwatch: 8 of 8 ranks, 0 communicators, 0 operations\n"
			       "  host       watching 7 of 8 ranks with eBPF, the others through /proc only (as root): "
			       "process 4711: No such process\n"
			       "  not seen   42 events of the host were lost: a cause may be missing\n"
			       "  findings   none\n");
	cr_expect_str_eq(json_string_value(json_object_get(body, "level")), "ebpf");
	cr_expect_eq(json_integer_value(json_object_get(body, "with_ebpf")), 7);
	cr_expect_eq(json_integer_value(json_object_get(body, "events_lost")), 42);
	cr_expect_eq(json_integer_value(json_object_get(json_object_get(body, "lost"), "ring")), 40);
	cr_expect_eq(json_integer_value(json_object_get(json_object_get(body, "lost"), "looks")), 2);
	json_decref(message);
	free(line);
	free(text);
}

Test(message, one_rank_is_no_ranks)
{
	char *text = printed(&(struct message_summary){
	    .job = "j", .analysis = { .processes = 1, .ranks_total = -1, .step_ms = -1, .first_step_ms = -1 } });

	cr_expect_not_null(strstr(text, "rankwatch: 1 rank, 0 communicators"), "%s", text);
	free(text);
}

Test(message, a_summary_of_nothing_claims_nothing)
{
	char *text = printed(&(struct message_summary){
	    .job = "j", .analysis = { .ranks_total = -1, .step_ms = -1, .first_step_ms = -1 } });

	cr_expect_str_eq(text, "rankwatch: 0 ranks, 0 communicators, 0 operations\n  findings   none\n");
	free(text);
}

Test(board, a_closed_finding_is_no_longer_open_and_still_counted_by_its_worst)
{
	struct rw_finding finding = { .id = "a", .severity = RW_CRITICAL };
	struct board board = { 0 };

	cr_assert_eq(board_put(&board, &finding, "one"), 0);
	finding.severity = RW_WARNING;
	finding.state = RW_FINDING_UPDATE;
	cr_assert_eq(board_put(&board, &finding, "two"), 0);
	cr_expect_eq(board_open(&board), 1);
	cr_expect_str_eq(board.entries[0].line, "two");
	finding.state = RW_FINDING_CLOSED;
	cr_assert_eq(board_put(&board, &finding, "three"), 0);
	cr_expect_eq(board_open(&board), 0);
	cr_expect_eq(board_count(&board, RW_CRITICAL), 1);
	cr_expect_eq(board_count(&board, RW_WARNING), 0);
	board_free(&board);
}

static bool is_news(struct board *board, enum rw_finding_state state, enum rw_severity severity)
{
	struct rw_finding finding = { .id = "a-1", .state = state, .severity = severity };

	cr_assert_eq(board_put(board, &finding, "line"), 0);
	return board_report(board, &finding);
}

Test(board, news_is_what_opens_gets_more_severe_or_closes)
{
	struct board board = { 0 };

	cr_expect_not(is_news(&board, RW_FINDING_OPEN, RW_NOTICE));
	cr_expect(is_news(&board, RW_FINDING_UPDATE, RW_WARNING));
	cr_expect_not(is_news(&board, RW_FINDING_UPDATE, RW_WARNING));
	cr_expect(is_news(&board, RW_FINDING_UPDATE, RW_CRITICAL));
	cr_expect_not(is_news(&board, RW_FINDING_UPDATE, RW_WARNING));
	cr_expect(is_news(&board, RW_FINDING_CLOSED, RW_WARNING));
	cr_expect_not(is_news(&board, RW_FINDING_CLOSED, RW_WARNING));
	cr_expect(is_news(&board, RW_FINDING_OPEN, RW_WARNING), "it has come back");
	board_free(&board);
}

static bool is_news_of(struct board *board, const char *id, enum rw_finding_state state, enum rw_severity severity)
{
	struct rw_finding finding = { .id = "", .state = state, .severity = severity, .incident.id = "a-1" };

	snprintf(finding.id, sizeof(finding.id), "%s", id);
	cr_assert_eq(board_put(board, &finding, "line"), 0);
	return board_report(board, &finding);
}

Test(board, of_an_incident_only_what_makes_it_worse_is_news)
{
	struct board board = { 0 };

	cr_expect(is_news_of(&board, "a-1", RW_FINDING_OPEN, RW_WARNING));
	cr_expect_not(is_news_of(&board, "b-1", RW_FINDING_OPEN, RW_WARNING), "it follows from the first");
	cr_expect(is_news_of(&board, "c-1", RW_FINDING_OPEN, RW_CRITICAL));
	cr_expect_not(is_news_of(&board, "a-1", RW_FINDING_UPDATE, RW_CRITICAL));
	cr_expect_not(is_news_of(&board, "b-1", RW_FINDING_CLOSED, RW_WARNING), "nobody heard of it");
	cr_expect(is_news_of(&board, "a-1", RW_FINDING_CLOSED, RW_WARNING));
	cr_expect(is_news_of(&board, "c-1", RW_FINDING_CLOSED, RW_CRITICAL));
	cr_expect(is_news_of(&board, "b-1", RW_FINDING_OPEN, RW_WARNING), "it has come back, alone");
	board_free(&board);
}

static void expect_shared(const char *runtime_dir, uid_t uid, const char *expected)
{
	struct address address;

	cr_assert_eq(address_find(&address, runtime_dir, uid, "j"), 0);
	cr_expect_str_eq(address.shared, expected);
}

Test(address, a_runtime_directory_that_cannot_serve_is_as_good_as_none)
{
	uid_t user = geteuid() ? geteuid() : 7;
	char directory[] = "/tmp/rankwatch-runtime-XXXXXX", own[64], fallback[64];

	cr_assert(mkdtemp(directory));
	cr_assert(geteuid() || !chown(directory, user, (gid_t)-1));
	snprintf(own, sizeof(own), "%s/rankwatch.sock", directory);
	snprintf(fallback, sizeof(fallback), "/tmp/rankwatch-%u/rankwatch.sock", (unsigned)user);
	expect_shared(directory, user, own);
	cr_assert_eq(chmod(directory, 0770), 0);
	expect_shared(directory, user, fallback);
	cr_assert_eq(chmod(directory, 0700), 0);
	rmdir(directory);
	expect_shared(directory, user, fallback);
	expect_shared("/", user, fallback); /* root's */
	expect_shared("", user, fallback);
	expect_shared(NULL, user, fallback);
}
