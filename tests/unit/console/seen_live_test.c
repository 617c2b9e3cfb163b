/* SPDX-License-Identifier: MIT */
/* What a collector kept, put to the findings of a replay of the same run. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/replay/seen_live.h"
#include "finding/finding_text.h"
#include "finding/value.h"

#define BEGIN_NS (UINT64_C(1795921200) * 1000000000) /* 2026-11-29T03:00:00Z */

static struct seen_live_process processes[4];
static struct seen_live_run run = { .processes = processes, .count = 4, .ranks = 4 };
static json_t *findings;
static struct kept_findings kept;

static void begin(void)
{
	run.communicators = json_pack("{s:n}", "0x5");
	for (int i = 0; i < 4; i++) {
		processes[i] = (struct seen_live_process){ .rank = i,
							   .pid = 100 + (unsigned)i,
							   .begin_ns = BEGIN_NS,
							   .end_ns = BEGIN_NS + 60 * UINT64_C(1000000000),
							   .ended = true };
		strcpy(processes[i].host, "h");
	}
	findings = json_object();
	kept = (struct kept_findings){ .entries = json_object() };
}

static void end(void)
{
	json_decref(findings);
	json_decref(run.communicators);
	kept_findings_free(&kept);
}

TestSuite(seen_live, .init = begin, .fini = end);

/* Times in seconds since the run began; rank 2 unless another is named. */
struct told {
	const char *kind, *state, *severity, *confidence, *level, *cause;
	int rank, first_seen, time, sequence;
};

static json_t *time_json(int seconds)
{
	char text[40];

	snprintf(text, sizeof(text), "2026-11-29T03:00:%02d.000Z", seconds);
	return json_string(text);
}

static const char *either(const char *text, const char *usual)
{
	return text ? text : usual;
}

static json_t *finding_of(const struct told *told)
{
	int rank = told->rank ? told->rank : 2;
	char id[24];

	snprintf(id, sizeof(id), "%d%d-0", (int)strlen(either(told->kind, "straggler")), rank);
	json_t *finding = json_pack(
	    "{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:[i], s:[{s:i, s:s, s:i}], s:o, s:o, s:o, s:{s:s, s:s, s:i}, s:n, "
	    "s:s, s:s}",
	    "schema", 1, "id", id, "state", either(told->state, "open"), "severity", either(told->severity, "warning"),
	    "confidence", either(told->confidence, "certain"), "kind", either(told->kind, "straggler"), "level",
	    either(told->level, "none"), "ranks", rank, "where", "rank", rank, "host", "h", "pid", 100 + rank,
	    "first_seen", time_json(told->first_seen), "time", time_json(told->time), "cause",
	    told->cause ? json_pack("{s:s, s:s}", "class", told->cause, "text", told->cause) : json_null(), "operation",
	    "comm", "0x5", "function", "AllReduce", "sequence", told->sequence, "values", "text", "rank 2 is late",
	    "advice", "look (py-spy dump --pid 102, gdb -p 102), not at 1024");
	cr_assert_not_null(finding);
	return finding;
}

static json_t *boxes_show(struct told told)
{
	json_t *finding = finding_of(&told);
	char key[32];

	snprintf(key, sizeof(key), "%zu@0 0", json_object_size(findings));
	json_object_set_new(findings, key, finding);
	return finding;
}

static json_t *collector_saw(struct told told)
{
	json_t *finding = finding_of(&told);
	char key[16];

	snprintf(key, sizeof(key), "%zu", json_object_size(kept.entries));
	json_object_set_new(kept.entries, key, finding);
	return finding;
}

static unsigned merge(void)
{
	return seen_live_merge(findings, &kept, &run);
}

/* The last one of the list. */
static const json_t *last(void)
{
	const char *key;
	json_t *finding, *found = NULL;

	json_object_foreach(findings, key, finding) found = finding;
	return found;
}

static const char *printed(const json_t *finding)
{
	static char text[2048];
	FILE *out = fmemopen(text, sizeof(text), "w");

	cr_assert_eq(finding_print(out, finding, NULL), 0);
	fclose(out);
	return text;
}

static const char *cause_of(const json_t *finding)
{
	return value_text(json_object_get(finding, "cause"), "class");
}

Test(seen_live, a_finding_takes_the_better_cause_and_says_so)
{
	json_t *finding = boxes_show(
	    (struct told){ .confidence = "likely", .level = "self", .cause = "sleep", .first_seen = 10, .time = 20 });

	collector_saw((struct told){ .level = "ebpf", .cause = "io", .first_seen = 12, .time = 15 });
	cr_expect_eq(merge(), 0);
	cr_expect_eq(json_object_size(findings), 1);
	cr_expect_str_eq(cause_of(finding), "io");
	cr_expect_str_eq(value_text(finding, "confidence"), "certain");
	cr_expect(strstr(printed(finding), "live     seen live, by eBPF\n"), "%s", printed(finding));
	cr_expect(
	    strstr(printed(finding), "next time, while it runs: look (py-spy dump --pid PID, gdb -p PID), not at 1024"),
	    "%s", printed(finding));
}

Test(seen_live, a_finding_keeps_a_cause_that_says_as_much)
{
	json_t *finding = boxes_show((struct told){ .level = "self", .cause = "sleep", .first_seen = 10, .time = 20 });

	collector_saw((struct told){ .level = "self", .cause = "io", .first_seen = 12, .time = 15 });
	collector_saw((struct told){ .level = "ebpf", .first_seen = 12, .time = 15 });
	merge();
	cr_expect_eq(json_object_size(findings), 1);
	cr_expect_str_eq(cause_of(finding), "sleep");
	cr_expect_null(json_object_get(finding, "seen_live"));
}

/* The ring was overwritten, or the collector saw it in what the kernel showed. */
Test(seen_live, what_the_boxes_do_not_show_is_listed_as_seen_live)
{
	boxes_show((struct told){ .rank = 1, .first_seen = 30, .time = 40 });
	collector_saw((struct told){ .level = "ebpf", .cause = "io", .first_seen = 10, .time = 20 });
	merge();
	cr_expect_eq(json_object_size(findings), 2);
	cr_expect(strstr(printed(last()),
			 "seen live until 2026-11-29 03:00:20 UTC, by eBPF; the black boxes alone do not show it"),
		  "%s", printed(last()));
	cr_expect_null(cause_of(json_object_get(findings, "0@0 0")), "nobody else gets its cause");
}

/* The cause of the one need not be that of the other. */
Test(seen_live, another_time_of_the_same_rank_is_another_finding)
{
	json_t *finding = boxes_show((struct told){ .level = "self", .cause = "sleep", .first_seen = 40, .time = 50 });

	collector_saw((struct told){ .state = "closed", .level = "ebpf", .cause = "io", .first_seen = 10, .time = 20 });
	merge();
	cr_expect_str_eq(cause_of(finding), "sleep");
	cr_expect_eq(json_object_size(findings), 2);
	cr_expect_str_eq(cause_of(last()), "io");
}

Test(seen_live, of_several_times_that_only_the_collector_saw_the_last_is_told)
{
	collector_saw((struct told){ .state = "closed", .level = "ebpf", .cause = "io", .first_seen = 10, .time = 15 });
	collector_saw(
	    (struct told){ .state = "closed", .level = "ebpf", .cause = "lock", .first_seen = 20, .time = 25 });
	merge();
	cr_expect_eq(json_object_size(findings), 1);
	cr_expect_str_eq(cause_of(last()), "lock");
}

Test(seen_live, collectors_of_two_hosts_that_saw_the_same_tell_it_once)
{
	collector_saw((struct told){ .kind = "desync", .level = "proc", .cause = "io", .first_seen = 10, .time = 15 });
	merge();
	collector_saw(
	    (struct told){ .kind = "desync", .level = "ebpf", .cause = "lock", .first_seen = 11, .time = 16 });
	merge();
	cr_expect_eq(json_object_size(findings), 1);
	cr_expect_str_eq(cause_of(last()), "lock");
	cr_expect(json_is_false(json_object_get(json_object_get(last(), "seen_live"), "in_boxes")));
}

/* Boxes that end with everything cannot say who of those who wait is to blame. */
Test(seen_live, of_one_operation_the_surer_finding_stays)
{
	boxes_show((struct told){ .kind = "hang",
				  .severity = "critical",
				  .confidence = "inconclusive",
				  .rank = 3,
				  .sequence = 7,
				  .first_seen = 30,
				  .time = 40 });
	collector_saw((struct told){ .kind = "hang",
				     .severity = "critical",
				     .level = "ebpf",
				     .cause = "lock",
				     .rank = 2,
				     .sequence = 7,
				     .first_seen = 30,
				     .time = 41 });
	collector_saw((struct told){ .kind = "hang",
				     .severity = "critical",
				     .confidence = "inconclusive",
				     .rank = 1,
				     .sequence = 7,
				     .first_seen = 30,
				     .time = 41 });
	merge();
	cr_expect_eq(json_object_size(findings), 1);
	cr_expect_eq(json_integer_value(json_array_get(json_object_get(last(), "ranks"), 0)), 2);
}

Test(seen_live, what_the_collector_took_back_does_not_displace_what_the_boxes_show)
{
	boxes_show((struct told){
	    .kind = "hang", .confidence = "likely", .rank = 3, .sequence = 7, .first_seen = 30, .time = 40 });
	collector_saw((struct told){ .kind = "hang",
				     .state = "closed",
				     .level = "ebpf",
				     .cause = "lock",
				     .rank = 2,
				     .sequence = 7,
				     .first_seen = 30,
				     .time = 31 });
	merge();
	cr_expect_eq(json_object_size(findings), 1);
	cr_expect_eq(json_integer_value(json_array_get(json_object_get(last(), "ranks"), 0)), 3);
}

Test(seen_live, how_severe_it_was_is_said_by_who_saw_it_to_its_end)
{
	json_t *finding = boxes_show(
	    (struct told){ .kind = "hang", .state = "closed", .severity = "critical", .first_seen = 10, .time = 20 });
	json_t *longer =
	    boxes_show((struct told){ .kind = "gone", .severity = "critical", .first_seen = 10, .time = 20 });

	collector_saw((struct told){ .kind = "hang",
				     .state = "closed",
				     .severity = "notice",
				     .level = "ebpf",
				     .cause = "io",
				     .first_seen = 12,
				     .time = 19 });
	collector_saw((struct told){
	    .kind = "gone", .severity = "notice", .level = "ebpf", .cause = "io", .first_seen = 12, .time = 19 });
	merge();
	cr_expect_str_eq(value_text(finding, "severity"), "notice");
	cr_expect_str_eq(value_text(longer, "severity"), "critical", "the collector was killed meanwhile");
}

Test(seen_live, what_was_a_warning_live_is_no_notice)
{
	json_t *finding = boxes_show((struct told){ .severity = "notice", .first_seen = 10, .time = 20 });

	collector_saw((struct told){ .level = "ebpf", .cause = "io", .first_seen = 12, .time = 15 });
	merge();
	cr_expect_str_eq(value_text(finding, "severity"), "warning");
}

/* Ranks are killed one after the other when a job is ended: for a moment others wait for those. */
Test(seen_live, what_follows_at_the_end_does_not_displace_what_was_seen_first)
{
	collector_saw((struct told){ .kind = "hang",
				     .state = "closed",
				     .severity = "critical",
				     .confidence = "likely",
				     .rank = 2,
				     .first_seen = 10,
				     .time = 30 });
	collector_saw((struct told){ .kind = "gone",
				     .state = "closed",
				     .severity = "critical",
				     .confidence = "likely",
				     .rank = 1,
				     .first_seen = 10,
				     .time = 30 });
	merge();
	cr_expect_eq(json_object_size(findings), 1);
	cr_expect_str_eq(value_text(last(), "kind"), "hang");
}

static json_t *with_values(json_t *finding, const char *origin)
{
	json_object_set_new(finding, "values", json_pack("{s:s}", "origin", origin));
	return finding;
}

/* Text, counts and origin belong together. */
Test(seen_live, of_values_all_that_was_seen_is_taken_with_its_certainty)
{
	json_t *finding =
	    with_values(boxes_show((struct told){
			    .kind = "nan", .confidence = "likely", .sequence = 7, .first_seen = 10, .time = 50 }),
			"received");
	json_t *live = with_values(
	    collector_saw((struct told){ .kind = "nan", .sequence = 7, .first_seen = 10, .time = 11 }), "born");

	json_object_set_new(live, "text", json_string("rank 2 made a NaN"));
	with_values(collector_saw((struct told){ .kind = "nan", .sequence = 9, .first_seen = 12, .time = 13 }), "born");
	merge();
	cr_expect_str_eq(value_text(finding, "text"), "rank 2 made a NaN");
	cr_expect_str_eq(value_text(json_object_get(finding, "values"), "origin"), "born");
	cr_expect(strstr(value_text(finding, "time"), "03:00:50"), "its end is that of the boxes");
	cr_expect_eq(json_object_size(findings), 2, "another time is another finding");
}

Test(seen_live, findings_of_other_runs_are_left_out)
{
	json_t *before = collector_saw((struct told){ .first_seen = 10, .time = 20 }),
	       *other = collector_saw((struct told){ .first_seen = 10, .time = 20 });

	json_object_set_new(before, "first_seen", json_string("2026-11-29T02:10:00.000Z"));
	json_object_set_new(json_object_get(other, "operation"), "comm", json_string("0x6"));
	json_object_set_new(json_array_get(json_object_get(other, "where"), 0), "pid", json_integer(4711));
	cr_expect_eq(merge(), 0);
	cr_expect_eq(json_object_size(findings), 0);
}

Test(seen_live, ranks_that_the_run_does_not_have_are_a_lie)
{
	json_t *where = collector_saw((struct told){ .first_seen = 10, .time = 20 }),
	       *victims = collector_saw((struct told){ .first_seen = 10, .time = 20 });

	collector_saw((struct told){ .rank = 4, .first_seen = 10, .time = 20 });
	collector_saw((struct told){ .rank = -1, .first_seen = 10, .time = 20 });
	json_object_set_new(json_array_get(json_object_get(where, "where"), 0), "rank", json_integer(9));
	json_object_set_new(victims, "victims", json_pack("[i, s]", 1, "2"));
	cr_expect_eq(merge(), 4);
	cr_expect_eq(json_object_size(findings), 0);
}

Test(seen_live, what_is_no_finding_is_counted)
{
	json_object_set_new(kept.entries, "a", json_object());
	json_object_set_new(kept.entries, "b", json_pack("{s:i, s:s}", "schema", 1, "id", "../x"));
	kept.refused = 2;
	cr_expect_eq(merge(), 4);
	cr_expect_eq(json_object_size(findings), 0);
}

/* Whoever wrote the file may have said so himself. */
Test(seen_live, only_the_report_says_what_was_seen_live)
{
	json_t *finding = boxes_show((struct told){ .level = "self", .cause = "sleep", .first_seen = 10, .time = 20 });
	json_t *live = collector_saw((struct told){ .level = "proc", .cause = "io", .first_seen = 12, .time = 15 });

	json_object_set_new(live, "seen_live", json_pack("{s:[s]}", "by", "magic"));
	merge();
	cr_expect(strstr(printed(finding), "seen live, by /proc\n"), "%s", printed(finding));
}

Test(seen_live, hostile_text_is_escaped)
{
	json_t *live = collector_saw((struct told){ .level = "ebpf", .cause = "io", .first_seen = 10, .time = 20 });

	json_object_set_new(live, "text", json_string("\x1b[2J\nroot"));
	json_object_set_new(live, "time", json_string("2026-11-29T03:00:20\x1b[31mZZZZ"));
	merge();
	cr_expect_null(strchr(printed(last()), '\x1b'));
}
