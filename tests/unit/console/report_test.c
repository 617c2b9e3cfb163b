/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "console/boxes/boxes.h"
#include "console/flight_recorder/left_dumps.h"
#include "console/replay/replay.h"
#include "console/report/flight.h"
#include "console/report/inits.h"
#include "console/report/report_findings.h"
#include "console/report/run_head.h"
#include "crafted_box.h"

static struct boxes boxes;
static struct replay replay;
static uint64_t mask_missing; /* in the boxes of all ranks but 1 */

static void fail_on_refusal(void *argument, const char *path, const char *why)
{
	(void)argument;
	cr_assert_fail("%s: %s", path, why);
}

/* A box of `rank` in which the first `operations` AllGathers were launched and none is done. */
static void make_rank(const char *directory, int32_t rank, uint64_t operations)
{
	struct box_writer writer;
	char made[512], named[512];

	crafted_box(&writer, directory, "one", rank, 0x5eed);
	snprintf(writer.header->gpu_progress_state, sizeof(writer.header->gpu_progress_state), "not\033here");
	writer.header->nccl_version = 22809;
	writer.header->mask_missing = rank == 1 ? 0 : mask_missing;
	for (uint64_t sequence = 0; sequence < operations; sequence++)
		crafted_operation(&writer, sequence, RW_KNOWN_IDENT | RW_KNOWN_API);
	snprintf(made, sizeof(made), "%s", writer.path);
	snprintf(named, sizeof(named), "%s/rank%d" RW_BOX_SUFFIX, directory, rank);
	box_writer_close(&writer);
	cr_assert_eq(rename(made, named), 0);
}

/* Ranks 0 and 2 have enqueued the operation that rank 1 has not; five ranks left no box. */
static void replay_hang(void)
{
	const char *directory = crafted_directory();
	char *paths[] = { (char *)directory };

	make_rank(directory, 0, 1);
	make_rank(directory, 1, 0);
	make_rank(directory, 2, 1);
	cr_assert_eq(boxes_open(&boxes, paths, 1, fail_on_refusal, NULL), 0);
	cr_assert_eq(boxes.run_count, 1);
	cr_assert_eq(replay_open(&replay, boxes.entries, boxes.count, NULL, NULL, NULL), 0);
}

struct seen {
	int flights;
	char text[4096];
	json_t *json;
};

static void note_flight(void *argument, const struct analysis_flight *flight)
{
	struct seen *seen = argument;
	FILE *out = fmemopen(seen->text, sizeof(seen->text), "w");

	seen->flights++;
	flight_print(out, &replay, flight, 120);
	fclose(out);
	seen->json = flight_to_json(&replay, flight);
}

Test(report, a_flight_names_who_joined_who_did_not_and_how_many_are_unseen)
{
	struct seen seen = { 0 };

	replay_hang();
	replay_visit_flights(&replay, note_flight, &seen);
	cr_assert_eq(seen.flights, 1);
	cr_expect(strstr(seen.text, "AllGather #0 on fsdp (8 ranks), 4,194,304 × bf16"), "%s", seen.text);
	cr_expect(strstr(seen.text, "joined  ranks 0,2: enqueued"), "%s", seen.text);
	cr_expect(strstr(seen.text, "missing rank 1 (host host-a, pid "), "%s", seen.text);
	cr_expect(strstr(seen.text, "unseen  5 ranks"), "%s", seen.text);
	json_decref(seen.json);
	replay_close(&replay);
	boxes_close(&boxes);
}

/* A mark of exit() is all that a box has of its end: without it, _exit(0) looks as a kill does. */
Test(report, a_box_without_the_mark_of_exit_is_not_called_killed_alone)
{
	static const char without[] = "killed, crashed, or left by _exit or exec";
	struct seen seen = { 0 };
	char head[2048] = "";

	replay_hang();
	replay.processes[1].life = BOX_ORPHANED;
	replay_visit_flights(&replay, note_flight, &seen);
	cr_expect(strstr(seen.text, without), "%s", seen.text);
	FILE *out = fmemopen(head, sizeof(head), "w");
	run_head_print_record(out, &replay, 0, 400);
	fclose(out);
	cr_expect(strstr(head, "1 ended without exit() (") && strstr(head, without), "%s", head);
	json_decref(seen.json);
	replay_close(&replay);
	boxes_close(&boxes);
}

Test(report, a_flight_as_json_has_the_same)
{
	struct seen seen = { 0 };

	replay_hang();
	replay_visit_flights(&replay, note_flight, &seen);
	cr_assert(seen.json);
	cr_expect_str_eq(json_string_value(json_object_get(seen.json, "comm")), "0x5eed");
	cr_expect_str_eq(json_string_value(json_object_get(seen.json, "function")), "AllGather");
	cr_expect_eq(json_array_size(json_object_get(seen.json, "joined")), 2);
	json_t *missing = json_object_get(seen.json, "missing");

	cr_assert_eq(json_array_size(missing), 1);
	cr_expect_eq(json_integer_value(json_object_get(json_array_get(missing, 0), "rank")), 1);
	cr_expect(json_is_array(json_object_get(json_array_get(missing, 0), "threads")));
	cr_expect_eq(json_integer_value(json_object_get(seen.json, "unseen")), 5);
	json_decref(seen.json);
	replay_close(&replay);
	boxes_close(&boxes);
}

Test(report, the_head_says_who_left_a_box_and_escapes_what_the_job_wrote)
{
	char text[2048] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	replay_hang();
	run_head_print_job(out, &replay, 80);
	run_head_print_record(out, &replay, 0, 80);
	fclose(out);
	cr_expect(strstr(text, "job       one, host host-a\n"), "%s", text);
	cr_expect(strstr(text, "left a black box: 0-2\n"), "%s", text);
	cr_expect(strstr(text, "NCCL      2.28.9"), "%s", text);
	cr_expect(strstr(text, "level     self: "), "%s", text);
	cr_expect_null(strchr(text, '\033'));
	replay_close(&replay);
	boxes_close(&boxes);
}

static void print_head(char *text, size_t size)
{
	FILE *out = fmemopen(text, size, "w");

	replay_hang();
	run_head_print_record(out, &replay, 0, 1000);
	fclose(out);
	replay_close(&replay);
	boxes_close(&boxes);
}

Test(report, the_head_has_no_line_of_the_mask_where_nothing_was_missing)
{
	char text[4096] = "";

	print_head(text, sizeof(text));
	cr_expect_null(strstr(text, "event mask"), "%s", text);
}

Test(report, the_head_says_when_nccl_was_told_not_to_tell_us)
{
	char text[4096] = "";

	mask_missing = 0x202;
	print_head(text, sizeof(text));
	cr_expect(strstr(text, "\nmask      NCCL's event mask lacked 0x202 of what"), "%s", text);
	cr_expect(strstr(text, ", in 2 of 3 processes: "), "%s", text);
}

Test(report, without_the_interposer_the_head_says_which_calls_2_28_tells_nobody_of)
{
	char text[2048] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	replay_hang();
	run_head_print_record(out, &replay, 0, 200);
	fclose(out);
	cr_expect(strstr(text, "; calls by the copy engine are not seen without the interposer\n"), "%s", text);
	replay_close(&replay);
	boxes_close(&boxes);
}

static char *printed(const json_t *findings, bool json, size_t expected)
{
	const struct report_findings all = { .list = findings, .json = json, .style = { .width = 400 } };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_expect_eq(report_findings_print(out, &all), expected);
	fclose(out);
	return text;
}

static size_t count_text(const char *text, const char *part)
{
	size_t count = 0;

	while ((text = strstr(text, part))) {
		count++;
		text += strlen(part);
	}
	return count;
}

Test(report, of_values_that_are_bad_again_and_again_the_text_prints_some_and_json_all)
{
	enum { TIMES = 100 };
	json_t *findings = json_object();

	for (int i = 0; i < TIMES; i++) {
		char key[32], text[64];

		snprintf(key, sizeof(key), "5a-0 %d", i);
		snprintf(text, sizeof(text), "rank 5 brought 1 NaN in step %d", i);
		json_object_set_new(findings, key,
				    json_pack("{s:i, s:s, s:s, s:s, s:s, s:[i], s:s}", "schema", 1, "id", "5a-0",
					      "kind", "nan", "severity", "critical", "state", "closed", "ranks", 5,
					      "text", text));
	}
	json_object_set_new(findings, "6b-0",
			    json_pack("{s:i, s:s, s:s, s:s, s:s, s:[i], s:s}", "schema", 1, "id", "6b-0", "kind",
				      "hang", "severity", "warning", "state", "open", "ranks", 2, "text",
				      "rank 2 has not joined"));
	char *text = printed(findings, false, TIMES + 1), *json = printed(findings, true, TIMES + 1);

	cr_expect_eq(count_text(text, "brought 1 NaN"), REPORT_FINDINGS_TIMES);
	cr_expect(strstr(text, "rank 2 has not joined"), "what is behind them is printed: %s", text);
	cr_expect(strstr(text, "\nand 92 more of ranks whose values"), "%s", text);
	cr_expect_eq(count_text(json, "brought 1 NaN"), TIMES);
	cr_expect_eq(report_findings_worst(findings, RW_NOTICE), RW_CRITICAL);
	free(text);
	free(json);
	json_decref(findings);
}

static json_t *finding_of(const char *severity, const char *confidence, const char *first_seen, const char *text)
{
	return json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "schema", 1, "id", text, "kind", "hang", "state",
			 "open", "severity", severity, "confidence", confidence, "first_seen", first_seen, "text",
			 text);
}

/* The page has the same one at its top. */
Test(report, as_text_the_verdict_comes_first_and_as_json_what_was_found_first)
{
	json_t *findings = json_object();

	json_object_set_new(findings, "a", finding_of("warning", "certain", "2026-11-23T05:49:50.585Z", "mild"));
	json_object_set_new(findings, "b", finding_of("critical", "likely", "2026-11-23T05:49:51.585Z", "unsure"));
	json_object_set_new(findings, "c", finding_of("critical", "certain", "2026-11-23T05:49:53.585Z", "later"));
	json_object_set_new(findings, "d", finding_of("critical", "certain", "2026-11-23T05:49:52.585Z", "verdict"));
	char *text = printed(findings, false, 4), *json = printed(findings, true, 4);
	const char *places[] = { strstr(text, "verdict"), strstr(text, "later"), strstr(text, "unsure"),
				 strstr(text, "mild") };

	for (size_t i = 1; i < 4; i++)
		cr_expect(places[i - 1] && places[i] && places[i - 1] < places[i], "%zu: %s", i, text);
	cr_expect(strstr(json, "mild") < strstr(json, "unsure") && strstr(json, "unsure") < strstr(json, "verdict"),
		  "%s", json);
	free(text);
	free(json);
	json_decref(findings);
}

Test(report, a_process_is_found_by_its_rank)
{
	replay_hang();
	cr_assert(replay_find(&replay, 1));
	cr_expect_eq(replay_find(&replay, 1)->rank, 1);
	cr_expect_null(replay_find(&replay, 7));
	replay_close(&replay);
	boxes_close(&boxes);
}

static void make_waiting(const char *directory, int32_t rank)
{
	struct box_writer writer;
	char named[512];

	crafted_box(&writer, directory, "one", rank, 0);
	writer.header->comms_used = 0;
	writer.communicators[0].created_ns = 0;
	writer.header->world_size = 4;
	writer.header->init.id = 0xb1;
	writer.header->init.nranks = 4;
	writer.header->init.rank = rank;
	writer.header->init.since_ns = 5;
	snprintf(named, sizeof(named), "%s/waiting%d" RW_BOX_SUFFIX, directory, rank);
	cr_assert_eq(rename(writer.path, named), 0);
	box_writer_close(&writer);
}

Test(report, who_waits_for_a_communicator_to_be_made_is_in_flight)
{
	const char *directory = crafted_directory();
	char *paths[] = { (char *)directory };
	char text[1024] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	make_waiting(directory, 0);
	make_waiting(directory, 1);
	cr_assert_eq(boxes_open(&boxes, paths, 1, fail_on_refusal, NULL), 0);
	cr_assert_eq(replay_open(&replay, boxes.entries, boxes.count, NULL, NULL, NULL), 0);
	cr_expect_eq(inits_print(out, &replay), 1);
	fclose(out);
	cr_expect_str_eq(text, "  ncclCommInitRank of 4 ranks: 2 seen in it\n"
			       "    joined  ranks 0,1\n"
			       "    missing ranks 2,3\n");
	replay_close(&replay);
	boxes_close(&boxes);
}

/* An empty file of that name, written `seconds` from now. */
static void leave_file(const char *directory, const char *name, long seconds)
{
	char path[600];
	struct timespec times[2];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	FILE *file = fopen(path, "w");

	cr_assert(file);
	fclose(file);
	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec += seconds;
	times[1] = times[0];
	cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void expect_dumps(const char *expected)
{
	json_t *dumps = left_dumps_find(&replay), *wanted = json_loads(expected, 0, NULL);
	char *found = json_dumps(dumps, JSON_COMPACT);

	cr_expect(json_equal(dumps, wanted), "%s", found);
	free(found);
	json_decref(wanted);
	json_decref(dumps);
}

Test(report, dumps_that_pytorch_left_are_pointed_to_if_they_are_of_this_run)
{
	char cache[] = "/dev/shm/rankwatch-dumps-XXXXXX", torch[64], link[96], expected[256];

	cr_assert(mkdtemp(cache));
	snprintf(torch, sizeof(torch), "%s/torch", cache);
	snprintf(link, sizeof(link), "%s/comm_lib_trace_rank_2", torch);
	cr_assert_eq(mkdir(torch, 0700), 0);
	setenv("XDG_CACHE_HOME", cache, 1);
	replay_hang();
	expect_dumps("[]");

	leave_file(torch, "comm_lib_trace_rank_0", 5);
	leave_file(torch, "comm_lib_trace_rank_1", -3600);  /* of an earlier run */
	cr_assert_eq(symlink("comm_lib_trace_rank_0", link), 0); /* may lead anywhere */
	leave_file(torch, "comm_lib_trace_rank_7", 5);      /* of a rank that nothing is known of */
	snprintf(expected, sizeof(expected),
		 "[{\"directory\":\"%s\",\"prefix\":\"comm_lib_trace_rank_\",\"ranks\":[0]}]", torch);
	expect_dumps(expected);

	cr_assert_eq(unlink(link), 0);
	leave_file(torch, "comm_lib_trace_rank_0", 7200); /* of a later run */
	expect_dumps("[]");

	leave_file(torch, "comm_lib_trace_rank_0", 5);
	leave_file(torch, "comm_lib_trace_rank_2", 5);
	char *head = NULL;
	size_t size;
	FILE *out = open_memstream(&head, &size);

	run_head_print_record(out, &replay, 0, 1000);
	fclose(out);
	snprintf(expected, sizeof(expected),
		 "PyTorch   Flight Recorder dumps of ranks 0,2, written while it ran: torchfrtrace --prefix "
		 "comm_lib_trace_rank_ %s\n", torch);
	cr_expect(strstr(head, expected), "%s", head);
	free(head);
	for (int rank = 0; rank < 8; rank++) {
		snprintf(link, sizeof(link), "%s/comm_lib_trace_rank_%d", torch, rank);
		unlink(link);
	}
	rmdir(torch);
	rmdir(cache);
}
