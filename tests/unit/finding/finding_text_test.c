/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rankwatch/operation.h>

#include "finding/finding_json.h"
#include "finding/finding_text.h"
#include "findings.h"

static char *printed_json(const json_t *json, bool colour)
{
	const struct finding_style style = { .colour = colour };
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	cr_assert(stream);
	cr_assert_eq(finding_print(stream, json, &style), 0);
	fclose(stream);
	return text;
}

static char *printed(const struct rw_finding *finding)
{
	json_t *json = finding_to_json(finding, OFFSET_NS);
	char *text = printed_json(json, false);

	json_decref(json);
	return text;
}

Test(finding_text, a_straggler_is_four_lines_who_because_late_do)
{
	struct rw_finding finding = straggler();
	char *text = printed(&finding);

	cr_expect_str_eq(
	    text,
	    "STRAGGLER  rank 0 (host a, pid 4711) makes every step 1.31 s longer: 64 % of the step, since step 9\n"
	    "  because  its thread \"python-main\" waits for its thread \"tb-writer\", 93 % in fsync(2) on "
	    "/…/events.out.tfevents.0 (ext4, loop3)\n"
	    "  late for AllGather #118 on ~fsdp by 1.30 s; ranks 1-7 waited · watchdog 100 s (RANKWATCH_TIMEOUT): "
	    "longest wait so far 1.4 s\n"
	    "  do       write the log to a local or memory file system, or let the writer's queue drop entries when it "
	    "is full\n");
	free(text);
}

Test(finding_text, waits_that_grow_are_told_with_where_they_lead)
{
	struct rw_finding finding = straggler();

	finding.watchdog.wait_grows_ms = 12;
	finding.watchdog.reached_step = 9962;
	finding.watchdog.reached_in_ms = 14.2 * 3600e3;
	char *text = printed(&finding);

	cr_expect(strstr(text, "longest wait so far 1.4 s, 12 ms longer in each step: the limit is reached at step "
			       "9962, in 14 h, if it goes on\n"),
		  "%s", text);
	free(text);
}

Test(finding_text, the_story_is_told_where_it_is_more_than_the_finding)
{
	static const struct rw_incident_link links[] = {
		{ .event = RW_INCIDENT_FINDING, .finding = "1", .text = "rank 3 brought 1 NaN" },
		{ .event = RW_INCIDENT_FINDING,
		  .finding = "2",
		  .follows = 0,
		  .confidence = RW_LIKELY,
		  .text = "rank 3 exited\033[2J" },
		{ .event = RW_INCIDENT_WAIT, .follows = 1, .text = "ranks 0-2 wait for it" },
	};
	struct rw_finding finding = straggler();

	finding.incident.id = "1";
	finding.incident.links = links;
	finding.incident.count = 3;
	char *text = printed(&finding);

	cr_expect(
	    strstr(text,
		   "\n  story    rank 3 brought 1 NaN → rank 3 exited\\x1b[2J (likely) → ranks 0-2 wait for it\n"),
	    "%s", text);
	free(text);
	static const struct rw_incident_link ended[] = {
		{ .event = RW_INCIDENT_FINDING, .finding = "1", .text = "rank 3 is gone" },
		{ .event = RW_INCIDENT_END, .follows = 0, .text = "ranks 0-2 waited 100 s" },
	};
	finding.incident.links = ended;
	finding.incident.count = 2;
	text = printed(&finding);
	cr_expect(strstr(text, "\n  story    ranks 0-2 waited 100 s\n"), "the finding itself is not said twice: %s", text);
	free(text);
	finding.incident.links = &links[1];
	finding.incident.count = 2;
	text = printed(&finding);
	cr_expect_not(strstr(text, "story"), "who waits is in the finding itself: %s", text);
	free(text);
}

Test(finding_text, nobody_is_late_for_a_slow_transfer)
{
	struct rw_finding finding = straggler();

	finding.kind = RW_KIND_SLOWDOWN;
	finding.late.kind = RW_LATE_TRANSFER;
	char *text = printed(&finding);

	cr_expect(strstr(text, "\n  slowest  AllGather #118 on ~fsdp took 1.30 s"), "%s", text);
	cr_expect_not(strstr(text, "late for"));
	cr_expect_not(strstr(text, "because"), "the first line says which link waits");
	free(text);
}

Test(finding_text, what_network_ports_showed_stands_below_what_is_slow)
{
	const struct rw_evidence ports[] = {
		{ .source = "self", .ms = 12, .what = "network" },
		{ .source = "port", .ms = -1, .what = "mlx5_2 port 1: link went down twice" },
		{ .source = "port", .ms = -1, .what = "e\033th: checksum errors +31" },
	};
	struct rw_finding finding = straggler();

	finding.kind = RW_KIND_SLOWDOWN;
	finding.late.kind = RW_LATE_TRANSFER;
	finding.evidence = ports;
	finding.evidence_count = 3;
	char *text = printed(&finding);

	cr_expect(strstr(text, "\n  ports    mlx5_2 port 1: link went down twice; e\\x1bth: checksum errors +31\n"),
		  "%s", text);
	free(text);
	finding.evidence_count = 1;
	text = printed(&finding);
	cr_expect_not(strstr(text, "  ports "));
	free(text);
}

static void expect_because(const struct rw_finding *finding, const char *expected)
{
	char *text = printed(finding), line[256];

	snprintf(line, sizeof(line), "  because  %s\n", expected);
	cr_expect(strstr(text, line), "%s", text);
	free(text);
}

static struct rw_finding straggler_without_file(enum rw_cause_class class_, const char *system_call, const char *what)
{
	struct rw_finding finding = straggler();

	finding.cause.class_ = class_;
	finding.cause.system_call = system_call;
	finding.cause.text = what;
	finding.cause.path = finding.cause.file_system = finding.cause.device = NULL;
	finding.cause.chain_count = 0;
	return finding;
}

Test(finding_text, a_direct_cause_names_its_thread_and_a_short_path_stays_whole)
{
	struct rw_finding finding = straggler();

	finding.cause.chain_count = 0;
	finding.cause.path = "/x/log";
	expect_because(&finding,
		       "its thread \"python-main\" was 93 % of the time in fsync(2) on /x/log (ext4, loop3)");
	finding.cause.share = -1;
	expect_because(&finding, "its thread \"python-main\" was in fsync(2) on /x/log (ext4, loop3)");
	finding.cause.thread = NULL;
	expect_because(&finding, "in fsync(2) on /x/log (ext4, loop3)");
}

Test(finding_text, what_was_lost_is_said_behind_the_cause)
{
	static const struct {
		uint64_t lost;
		const char *line;
	} cases[] = { { 1, "  lost     1 event of that time: a cause may be missing\n" },
		      { 42, "  lost     42 events of that time: a cause may be missing\n" } };
	struct rw_finding finding = straggler();
	char *text = printed(&finding);

	cr_expect_not(strstr(text, "  lost "), "%s", text);
	free(text);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		finding.lost = cases[i].lost;
		text = printed(&finding);
		cr_expect(strstr(text, cases[i].line), "%s", text);
		free(text);
	}
}

Test(finding_text, a_thread_waits_for_a_cpu_and_runs_on_one)
{
	struct rw_finding finding = straggler_without_file(RW_CAUSE_CPU, NULL, "waiting for a CPU");

	expect_because(&finding, "its thread \"python-main\" waited 93 % of the time for a CPU");
	finding.cause.share = -1;
	expect_because(&finding, "its thread \"python-main\" waited for a CPU");
	finding = straggler_without_file(RW_CAUSE_RUNNING, NULL, "running on the CPU");
	expect_because(&finding, "its thread \"python-main\" was 93 % of the time running on the CPU");
}

Test(finding_text, a_lock_has_a_holder_only_when_the_wait_was_followed_to_one)
{
	static const struct rw_chain_link chain[] = {
		{ .tid = 1, .thread = "python-main", .waits_for = "thread loader" },
		{ .tid = 2, .thread = "loader", .waits_for = "thread checkpointer" },
	};
	struct rw_finding finding = straggler_without_file(RW_CAUSE_LOCK, "futex", "futex(2)");

	expect_because(&finding, "its thread \"python-main\" was 93 % of the time in futex(2)");
	finding.cause.chain = chain + 1;
	finding.cause.chain_count = 1;
	expect_because(&finding, "its thread \"python-main\" waits for a lock that its thread \"checkpointer\" holds, "
				 "93 % in futex(2)");
	finding.cause.chain = chain;
	finding.cause.chain_count = 2;
	expect_because(&finding, "its thread \"python-main\" waits for its thread \"loader\", which waits for a lock "
				 "that its thread \"checkpointer\" holds, 93 % in futex(2)");
}

Test(finding_text, a_long_file_name_is_shortened_in_its_middle)
{
	struct rw_finding finding = straggler();

	finding.cause.path = "/x/events.out.tfevents.1700000000.node-with-a-long-name.example.org.4711.0";
	char *text = printed(&finding);

	cr_expect(strstr(text, " on /…/events.out.tfevents.1700…name.example.org.4711.0 (ext4, loop3)\n"), "%s", text);
	free(text);
}

Test(finding_text, a_hang_says_what_was_missed_and_what_the_watchdog_leaves)
{
	static const int32_t victims[] = { 0, 2, 4, 5, 6 };
	struct rw_finding finding = straggler();

	finding.kind = RW_KIND_HANG;
	finding.severity = RW_CRITICAL;
	finding.confidence = RW_LIKELY;
	finding.late.present = false;
	finding.cause.present = false;
	finding.victims = victims;
	finding.victim_count = 5;
	finding.text = "rank 0 has not joined for 12 s";
	finding.advice = NULL;
	char *text = printed(&finding);

	cr_expect_str_eq(text,
		"HANG       rank 0 (host a, pid 4711) has not joined for 12 s (likely)\n"
		"  missed   AllGather #118 on ~fsdp; ranks 0,2,4-6 wait · watchdog 100 s (RANKWATCH_TIMEOUT): "
		"99 s left\n");
	free(text);
}

Test(finding_text, what_the_first_line_says_of_a_hang_is_not_said_again)
{
	struct rw_finding finding = straggler();

	finding.kind = RW_KIND_HANG;
	finding.cause.class_ = RW_CAUSE_STOPPED;
	finding.cause.text = "stopped (SIGSTOP)";
	finding.cause.system_call = finding.cause.path = finding.cause.file_system = finding.cause.device = NULL;
	finding.text = "rank 0 has not joined AllGather #118 on ~fsdp: ranks 1-7 have waited 5.00 s";
	finding.advice = NULL;
	char *text = printed(&finding);

	cr_expect_str_eq(text,
		"HANG       rank 0 (host a, pid 4711) has not joined AllGather #118 on ~fsdp: "
		"ranks 1-7 have waited 5.00 s\n"
		"  because  stopped (SIGSTOP)\n"
		"  watchdog 100 s (RANKWATCH_TIMEOUT): 99 s left\n");
	free(text);
}

Test(finding_text, a_cause_that_is_not_known_says_what_would_settle_it)
{
	static const char *const missing[] = { "no sample of its threads" };
	struct rw_finding finding = straggler();

	finding.cause.class_ = RW_CAUSE_UNKNOWN;
	finding.cause.text = "not known";
	finding.cause.system_call = finding.cause.path = finding.cause.file_system = finding.cause.device = NULL;
	finding.missing = missing;
	finding.missing_count = 1;
	char *text = printed(&finding);

	cr_expect(strstr(text, "  because  not known: no sample of its threads\n"), "%s", text);
	free(text);
}

Test(finding_text, what_is_not_certain_has_a_line_that_says_what_was_not_seen)
{
	static const char *const missing[] = { "who ends that wait" };
	struct rw_finding finding = straggler();

	finding.missing = missing;
	finding.missing_count = 1;
	char *text = printed(&finding);
	cr_expect_null(strstr(text, "missing"), "%s", text);
	free(text);

	finding.confidence = RW_LIKELY;
	text = printed(&finding);
	cr_expect(strstr(text, "\n  missing  who ends that wait\n  do "), "%s", text);
	free(text);

	finding.cause.class_ = RW_CAUSE_UNKNOWN;
	finding.cause.text = "not known";
	finding.cause.system_call = finding.cause.path = finding.cause.file_system = finding.cause.device = NULL;
	text = printed(&finding);
	cr_expect(strstr(text, "  because  not known\n"), "%s", text);
	cr_expect(strstr(text, "\n  missing  who ends that wait\n"), "%s", text);
	free(text);
}

Test(finding_text, a_cause_that_is_no_system_call_stands_for_itself)
{
	struct rw_finding finding = straggler();

	finding.kind = RW_KIND_GONE;
	finding.late.present = false;
	finding.cause.class_ = RW_CAUSE_GONE;
	finding.cause.text = "killed by signal 9";
	finding.text = "rank 0 is gone";
	finding.cause.share = -1;
	finding.cause.system_call = finding.cause.path = finding.cause.thread = NULL;
	finding.cause.file_system = finding.cause.device = NULL;
	finding.cause.chain_count = 0;
	char *text = printed(&finding);

	cr_expect(strstr(text, "  because  killed by signal 9\n"), "%s", text);
	free(text);

	finding.text = "rank 0 was killed by signal 9: ranks 1-7 wait";
	text = printed(&finding);
	cr_expect_null(strstr(text, "because"), "%s", text);
	free(text);
}

Test(finding_text, a_closed_finding_is_one_line)
{
	struct rw_finding finding = straggler();

	finding.state = RW_FINDING_CLOSED;
	finding.text = "rank 0 made 14 steps 1.31 s longer: 64 % of the step, from step 9 to 22";
	char *text = printed(&finding);

	cr_expect_str_eq(text, "STRAGGLER  closed after 3.58 s: rank 0 (host a, pid 4711) made 14 steps 1.31 s longer: "
			       "64 % of the step, from step 9 to 22\n");
	free(text);
}

Test(finding_text, kinds_and_keys_of_a_newer_collector_are_printed_or_ignored)
{
	json_t *json = json_pack("{s:i, s:s, s:s, s:{s:s}}", "schema", 7, "kind", "quantum", "text", "rank 1 is odd",
				 "cause", "text", "something new");
	char *text = printed_json(json, false);

	cr_expect_str_eq(text, "QUANTUM    rank 1 is odd\n  because  something new\n");
	free(text);
	json_decref(json);
}

Test(finding_text, what_is_not_a_finding_is_refused_without_a_byte_of_output)
{
	json_t *json = json_pack("{s:{}}", "hello");
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	cr_expect_eq(finding_print(stream, json, NULL), -EPROTO);
	fclose(stream);
	cr_expect_eq(size, 0);
	free(text);
	json_decref(json);
}

Test(finding_text, wrong_types_under_known_keys_do_no_harm)
{
	json_t *json = json_pack("{s:i, s:s, s:i, s:[], s:s, s:{s:s, s:i}, s:{s:[i], s:s}, s:i}", "schema", 1, "kind",
				 "hang", "text", 3, "where", "ranks", "x", "operation", "sequence", "y", "function", 2,
				 "late", "waiting", 1, "by_ms", "z", "advice", 5);
	char *text = printed_json(json, false);

	cr_expect(strstr(text, "HANG"));
	free(text);
	json_decref(json);
}

Test(finding_text, colour_comes_only_when_asked)
{
	json_t *json = json_pack("{s:i, s:s, s:s}", "schema", 1, "kind", "hang", "text", "t");
	char *plain = printed_json(json, false), *coloured = printed_json(json, true);

	cr_expect_null(strchr(plain, '\033'));
	cr_expect_not_null(strchr(coloured, '\033'));
	free(plain);
	free(coloured);
	json_decref(json);
}

Test(finding_text, a_NaN_is_four_lines_who_values_missing_do)
{
	static const char *const missing[] = { "3 operations before it were not scanned" };
	struct rw_finding finding = born_nan();

	finding.missing = missing;
	finding.missing_count = 1;
	char *text = printed(&finding);

	cr_expect_str_eq(text,
		"NAN        rank 0 (host a, pid 4711) brought 12 NaN into AllGather #118 on ~fsdp in step 11\n"
		"  values   12 NaN; first at element 4711; largest value before 0.0312; then in ranks 1-7\n"
		"  missing  3 operations before it were not scanned\n"
		"  do       look at this GPU (Xid, ECC)\n");
	free(text);
}

Test(finding_text, a_rank_that_never_came_has_no_pid_and_missed_no_operation)
{
	struct rw_finding finding = straggler_without_file(RW_CAUSE_GONE, NULL, NULL);
	struct rw_where nowhere = { .rank = 0, .host = "a" };

	finding.kind = RW_KIND_GONE;
	finding.where = &nowhere;
	finding.where_count = 1;
	finding.operation.function = RW_FUNCTION_UNKNOWN;
	finding.operation.sequence = 0;
	finding.text = "rank 0 has no process: ranks 1-7 have waited 10.1 s for it in ncclCommInitRank of 8 ranks";
	finding.advice = NULL;
	char *text = printed(&finding);

	cr_expect_str_eq(text, "GONE       rank 0 has no process: ranks 1-7 have waited 10.1 s for it in "
			       "ncclCommInitRank of 8 ranks\n"
			       "  watchdog 100 s (RANKWATCH_TIMEOUT): 99 s left\n");
	free(text);
}

static char *styled(const struct finding_style *style)
{
	json_t *json = json_pack("{s:i, s:s, s:s, s:s, s:s}", "schema", 1, "kind", "hang", "time", "2026-02-03T14:05:06.789Z",
				 "text", "rank 1 has not joined AllGather #118 for 12 s", "advice",
				 "look at what its main thread does");
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	cr_assert_eq(finding_print(stream, json, style), 0);
	fclose(stream);
	json_decref(json);
	return text;
}

Test(finding_text, begins_with_the_local_time_of_day_where_it_is_asked_for)
{
	const struct finding_style style = { .clock = true };

	setenv("TZ", "UTC-2", 1);
	tzset();
	char *text = styled(&style);

	cr_expect_eq(strncmp(text, "16:05:06 HANG       rank 1 has", 30), 0, "%s", text);
	free(text);
}

Test(finding_text, is_broken_at_spaces_where_the_terminal_ends)
{
	const struct finding_style style = { .clock = true, .width = 46 };

	setenv("TZ", "UTC", 1);
	tzset();
	char *text = styled(&style);

	cr_expect_str_eq(text, "14:05:06 HANG       rank 1 has not joined\n"
			       "           AllGather #118 for 12 s\n"
			       "  do       look at what its main thread does\n");
	free(text);
}

/* Python before 3.14 names no thread. */
Test(finding_text, threads_that_are_called_alike_are_told_apart)
{
	static const struct {
		int32_t tid;
		const char *thread, *awaited, *says, *does;
	} cases[] = {
		{ 4711, "python3", "thread python3", "its main thread waits for its thread \"python3\" (tid 4790), " },
		{ 4712, "python3", "thread python3",
		  "its thread \"python3\" (tid 4712) waits for its thread \"python3\" (tid 4790), " },
		{ 4711, "python3", "thread tb-writer", "its thread \"python3\" waits for its thread \"tb-writer\", " },
		{ 4711, "python3", "process 4790 \"pt_data_worker\"",
		  "its thread \"python3\" waits for process 4790 \"pt_data_worker\", " },
		{ 4711, "python3", "its child 4790 \"pt_data_worker\"",
		  "its thread \"python3\" waits for its child 4790 \"pt_data_worker\", which computes; 93 % in "
		  "fsync(2)",
		  "computes" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rw_finding finding = straggler();
		const struct rw_chain_link link = { .tid = cases[i].tid, .thread = cases[i].thread,
						    .waits_for = cases[i].awaited, .waits_for_tid = 4790, .does = cases[i].does };

		finding.cause.tid = cases[i].tid;
		finding.cause.thread = cases[i].thread;
		finding.cause.chain = &link;
		char *text = printed(&finding);

		cr_expect(strstr(text, cases[i].says), "%zu: %s", i, text);
		free(text);
	}
}

Test(finding_text, a_host_s_cause_is_said_to_be_that_of_a_rank)
{
	struct rw_finding finding = straggler();

	finding.cause.rank = 9;
	char *text = printed(&finding);
	cr_expect(strstr(text, "  because  its thread "), "of one rank it is its own: %s", text);
	free(text);
	finding.scope = RW_SCOPE_HOST;
	text = printed(&finding);
	cr_expect(strstr(text, "  because  rank 9's thread "), "%s", text);
	free(text);
	finding.cause.class_ = RW_CAUSE_STOPPED;
	finding.cause.text = "stopped by a signal, a debugger or the freezer";
	text = printed(&finding);
	cr_expect(strstr(text, "  because  rank 9: stopped by a signal"), "%s", text);
	free(text);
	finding.cause.rank = -1;
	text = printed(&finding);
	cr_expect(strstr(text, "  because  stopped by a signal"), "%s", text);
	free(text);
}

Test(finding_text, the_job_is_named_where_its_reader_does_not_know_it)
{
	struct rw_finding finding = straggler();
	json_t *json = finding_to_json(&finding, OFFSET_NS);
	const char *job = json_string_value(json_object_get(json_object_get(json, "job"), "id"));
	const struct {
		const char *known;
		bool named;
	} cases[] = { { NULL, false }, { job, false }, { "", true }, { "another", true } };
	char expected[128];

	cr_assert(job);
	snprintf(expected, sizeof(expected), "STRAGGLER  job %s: rank 0 (host a, pid 4711) makes", job);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct finding_style style = { .job = cases[i].known };
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		finding_print(out, json, &style);
		fclose(out);
		cr_expect_eq(strncmp(text, expected, strlen(expected)) == 0, cases[i].named, "%s", text);
		free(text);
	}
	json_decref(json);
}

static void expect_python(const struct rw_finding *finding, const char *expected)
{
	char *text = printed(finding), line[512];

	snprintf(line, sizeof(line), "\n  python   %s\n", expected);
	cr_expect(strstr(text, line), "%s", text);
	free(text);
}

Test(finding_text, where_the_thread_was_in_python)
{
	struct rw_finding finding = straggler();

	finding.cause.python.looks = 6;
	finding.cause.python.seen = 6;
	finding.cause.python.holder_tid = -1;
	finding.cause.python.place = (struct rw_python_place){ "Trainer.save", "/job/train.py", 212 };
	expect_python(&finding, "its main thread in Trainer.save (train.py:212)");
	finding.cause.python.inner = (struct rw_python_place){ "Event.wait", "/usr/lib/python3.11/threading.py", 0 };
	finding.cause.python.seen = 4;
	finding.cause.tid = 4712;
	expect_python(&finding,
		      "that thread in Trainer.save (train.py:212), there in Event.wait (threading.py), 4 of 6 samples");
}

Test(finding_text, that_a_thread_pickles_is_said_of_functions_that_do)
{
	static const struct {
		struct rw_python_place inner;
		const char *says; /* the end of the line */
	} cases[] = {
		{ { "ForkingPickler.dumps", "/usr/lib/python3.11/multiprocessing/reduction.py", 51 },
		  ", there in ForkingPickler.dumps (reduction.py:51), which pickles" },
		{ { "_Pickler.save_dict", "/usr/lib/python3.11/pickle.py", 972 },
		  ", there in _Pickler.save_dict (pickle.py:972), which pickles" },
		{ { "_save", "/x/site-packages/torch/serialization.py", 850 },
		  ", there in _save (serialization.py:850), which pickles" },
		{ { "load", "/x/site-packages/torch/serialization.py", 1100 },
		  ", there in load (serialization.py:1100)" },
		{ { "DupFd", "/usr/lib/python3.11/multiprocessing/reduction.py", 190 },
		  ", there in DupFd (reduction.py:190)" },
		{ { "save", "/usr/lib/python3.11/unpickle.py", 3 }, ", there in save (unpickle.py:3)" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rw_finding finding = straggler();
		char line[256];

		finding.cause.python.looks = finding.cause.python.seen = 6;
		finding.cause.python.holder_tid = -1;
		finding.cause.python.place = (struct rw_python_place){ "Trainer.save", "/job/train.py", 212 };
		finding.cause.python.inner = cases[i].inner;
		snprintf(line, sizeof(line), "its main thread in Trainer.save (train.py:212)%s", cases[i].says);
		expect_python(&finding, line);
	}
}

Test(finding_text, who_has_the_lock_of_the_interpreter)
{
	struct rw_finding finding = straggler();

	finding.cause.python.looks = 6;
	finding.cause.python.waits = 6;
	finding.cause.python.holder_tid = -1;
	expect_python(&finding, "it waits for Python's lock (GIL)");
	finding.cause.python.held = 6;
	finding.cause.python.holder = (struct rw_python_place){ "compute", "data.py", 40 };
	expect_python(&finding, "it waits for Python's lock (GIL), which others hold in turn in compute (data.py:40)");
	finding.cause.python.held = 5;
	finding.cause.python.holder_tid = 4713;
	expect_python(&finding,
		      "it waits for Python's lock (GIL), which tid 4713 holds in compute (data.py:40), 5 of 6 samples");
	finding.cause.python.holder.function = NULL;
	finding.cause.python.seen = 6;
	finding.cause.python.place = (struct rw_python_place){ "step\033[2J", "/x/train\n.py", 212 };
	finding.cause.python.collecting = 3;
	expect_python(
	    &finding,
	    "its main thread in step\\x1b[2J (train\\x0a.py:212); it waits for Python's lock (GIL), which tid 4713 "
	    "holds, 5 of 6 samples; garbage is collected (gc), 3 of 6 samples");
}

Test(finding_text, what_child_processes_do_stands_below_the_cause)
{
	const struct rw_evidence children[] = {
		{ .source = "proc", .ms = 12, .what = "read" },
		{ .source = "children", .ms = -1, .what = "its child 4711 \"c\033c1\" uses 98 % of a CPU" },
	};
	struct rw_finding finding = straggler();

	finding.kind = RW_KIND_HANG;
	finding.evidence = children;
	finding.evidence_count = 2;
	char *text = printed(&finding);

	cr_expect(strstr(text, "\n  children its child 4711 \"c\\x1bc1\" uses 98 % of a CPU\n"), "%s", text);
	free(text);
	finding.evidence_count = 1;
	text = printed(&finding);
	cr_expect_not(strstr(text, "  children "));
	free(text);
}

Test(finding_text, of_a_job_that_is_over_a_closed_finding_says_why_and_what_to_do_as_an_open_one)
{
	static const struct finding_style whole = { .whole = true };
	struct rw_finding finding = straggler();
	json_t *json = finding_to_json(&finding, OFFSET_NS);
	char *text = NULL, *line;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	json_object_set_new(json, "state", json_string("closed"));
	json_object_set_new(json, "first_seen", json_string("2026-11-23T05:49:50.585Z"));
	json_object_set_new(json_object_get(json, "watchdog"), "from", json_string(""));
	cr_assert_eq(finding_print(stream, json, &whole), 0);
	fclose(stream);
	line = printed_json(json, false);
	cr_expect(strstr(text, "\n  because  its thread \"python-main\" waits"), "%s", text);
	cr_expect(strstr(text, "\n  do       write the log"), "%s", text);
	cr_expect(strstr(text, "\n  found    2026-11-23 05:49:50 UTC\n"), "%s", text);
	cr_expect(strstr(text, "watchdog 100 s: longest wait"), "where its time came from is not known: %s", text);
	cr_expect_eq(strchr(line, '\n'), line + strlen(line) - 1, "while a job runs it is one line: %s", line);
	json_decref(json);
	free(text);
	free(line);
}

Test(finding_text, of_a_hang_that_is_over_no_time_is_left)
{
	static const struct finding_style whole = { .whole = true };
	struct rw_finding finding = straggler();

	finding.kind = RW_KIND_HANG;
	json_t *json = finding_to_json(&finding, OFFSET_NS);
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	json_object_set_new(json_object_get(json, "watchdog"), "left_ms", json_integer(89932));
	finding_print(stream, json, &whole);
	json_object_set_new(json, "state", json_string("closed"));
	long open_end = ftell(stream);
	finding_print(stream, json, &whole);
	fclose(stream);
	cr_expect(strstr(text, ": 90 s left"), "%s", text);
	cr_expect_null(strstr(text + open_end, " left"), "%s", text);
	json_decref(json);
	free(text);
}

/* The job is over: nothing is left of any time, and no wait grows longer. */
Test(finding_text, a_watchdog_of_the_past_has_no_time_left)
{
	for (int kind = RW_KIND_STRAGGLER; kind <= RW_KIND_HANG; kind++) {
		struct rw_finding finding = straggler();

		finding.kind = kind;
		finding.watchdog.left_ms = -1;
		char *text = printed(&finding);

		cr_expect(strstr(text, "watchdog 100 s (RANKWATCH_TIMEOUT): longest wait 1.4 s\n"), "%s", text);
		cr_expect_null(strstr(text, " left"), "%s", text);
		free(text);
	}
}

Test(finding_text, a_hang_whose_watchdog_nobody_knows_says_how_to_get_a_countdown)
{
	static const char tells[] =
	    "  watchdog its time is not known: start the job with RANKWATCH_TIMEOUT=SECONDS for a countdown\n";
	json_t *json = json_pack("{s:i, s:s, s:s, s:s, s:n}", "schema", 1, "kind", "hang", "state", "open", "text",
				 "rank 1 has not joined", "watchdog");
	char *text = printed_json(json, false);

	cr_expect(strstr(text, tells), "%s", text);
	free(text);
	json_object_del(json, "watchdog");
	text = printed_json(json, false);
	cr_expect_null(strstr(text, tells), "who took it out shows its own: %s", text);
	free(text);
	json_decref(json);
}
