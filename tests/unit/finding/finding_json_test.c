/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "finding/finding_json.h"
#include "findings.h"

static const char golden[] =
    "{\"schema\":1,\"id\":\"9f2c1e7a-3\",\"state\":\"open\",\"revision\":4,\"severity\":\"warning\","
    "\"confidence\":\"certain\",\"kind\":\"straggler\",\"ranks\":[0],\"scope\":\"rank\",\"level\":\"ebpf\","
    "\"arrival\":\"gpu\",\"time\":\"2026-11-20T18:56:31.482Z\",\"first_seen\":\"2026-11-20T18:56:27.900Z\","
    "\"detect_ms\":1870,"
    "\"job\":{\"id\":\"slurm-81123\",\"generation\":0,\"ranks_seen\":8,\"ranks_total\":8},"
    "\"where\":[{\"rank\":0,\"host\":\"a\",\"pid\":4711,\"gpu\":\"GPU-6f\",\"pci\":\"0000:3b:00\","
    "\"rank_from\":\"RANK\"}],"
    "\"operation\":{\"comm\":\"0x5eed\",\"comm_name\":\"~fsdp\",\"comm_size\":8,\"function\":\"AllGather\","
    "\"sequence\":118,\"replay\":null,\"step\":11,\"dtype\":\"bf16\",\"count\":4194304,\"algorithm\":\"RING\","
    "\"protocol\":\"SIMPLE\",\"phase\":\"launched\"},"
    "\"late\":{\"kind\":\"host\",\"by_ms\":1300.4,\"lost_ms_per_step\":1310.0,\"lost_share\":0.64,"
    "\"since_step\":9,\"waiting\":[1,2,3,4,5,6,7]},"
    "\"cause\":{\"class\":\"io\",\"share\":0.93,\"text\":\"fsync(2)\",\"syscall\":\"fsync\",\"fd\":3,"
    "\"path\":\"/mnt/slow/logs/run7/events.out.tfevents.0\",\"fs\":\"ext4\",\"device\":\"loop3\",\"tid\":4711,"
    "\"thread\":\"python-main\",\"at_tid\":4790,\"at_thread\":\"tb-writer\",\"chain\":[{\"tid\":4711,\"thread\":"
    "\"python-main\","
    "\"waits_for\":\"thread "
    "tb-writer\",\"waits_for_tid\":4790}],\"stack\":[\"ext4_sync_file\",\"jbd2_log_wait_commit\"]},"
    "\"watchdog\":{\"timeout_ms\":100000,\"from\":\"RANKWATCH_TIMEOUT\",\"left_ms\":98600,"
    "\"longest_wait_ms\":1400},"
    "\"values\":null,\"victims\":[1,2,3,4,5,6,7],"
    "\"evidence\":[{\"source\":\"bpf\",\"ms\":1209.0,\"what\":\"fsync\"}],\"missing\":[],"
    "\"text\":\"rank 0 makes every step 1.31 s longer: 64 % of the step, since step 9\","
    "\"advice\":\"write the log to a local or memory file system, or let the writer's queue drop entries when it is "
    "full\","
    "\"help\":\"rankwatch help straggler\",\"incident\":null}";

Test(finding_json, a_whole_finding_is_written_key_by_key_in_the_order_of_the_schema)
{
	struct rw_finding finding = straggler();
	char *line = finding_to_line(&finding, OFFSET_NS);

	cr_expect_str_eq(line, golden);
	free(line);
}

Test(finding_json, where_waits_lead_is_written_only_where_it_is_foreseen)
{
	struct rw_finding finding = straggler();

	finding.watchdog.wait_grows_ms = 12.5;
	finding.watchdog.reached_step = 9962;
	finding.watchdog.reached_in_ms = 51000000;
	char *line = finding_to_line(&finding, OFFSET_NS);

	cr_expect(
	    strstr(line,
		   "\"longest_wait_ms\":1400,\"reached\":{\"wait_grows_ms\":12.5,\"step\":9962,\"in_ms\":51000000}}"),
	    "%s", line);
	cr_expect_not(strstr(golden, "reached"));
	free(line);
}

Test(finding_json, an_incident_is_written_with_its_chain)
{
	static const struct rw_incident_link links[] = {
		{ .event = RW_INCIDENT_FINDING, .finding = "7-3", .kind = RW_KIND_MEMORY, .follows = -1, .text = "full" },
		{ .event = RW_INCIDENT_END, .follows = 0, .confidence = RW_LIKELY, .at_ns = 1, .text = "over" },
	};
	struct rw_finding finding = straggler();

	finding.incident.id = "7-3";
	finding.incident.links = links;
	finding.incident.count = 2;
	json_t *json = finding_to_json(&finding, OFFSET_NS);
	char *text = json_dumps(json_object_get(json, "incident"), JSON_COMPACT);

	cr_expect_str_eq(
	    text, "{\"id\":\"7-3\",\"chain\":[{\"event\":\"finding\",\"finding\":\"7-3\",\"kind\":\"memory\","
		  "\"follows\":null,"
		  "\"confidence\":\"certain\",\"time\":null,\"text\":\"full\"},{\"event\":\"end\",\"finding\":null,"
		  "\"kind\":null,\"follows\":0,\"confidence\":\"likely\",\"time\":\"2026-11-20T18:40:00.000Z\","
		  "\"text\":\"over\"}]}");
	free(text);
	json_decref(json);
}

Test(finding_json, one_that_is_late_now_and_then_says_how_often)
{
	struct rw_finding finding = straggler();

	finding.late.one_in = 10;
	json_t *json = finding_to_json(&finding, OFFSET_NS);

	cr_expect_float_eq(json_number_value(json_object_get(json_object_get(json, "late"), "one_in")), 10, 1e-9);
	json_decref(json);
}

Test(finding_json, one_that_is_over_says_its_last_late_step)
{
	struct rw_finding finding = straggler();

	finding.state = RW_FINDING_CLOSED;
	finding.late.until_step = 22;
	finding.late.over = true;
	json_t *json = finding_to_json(&finding, OFFSET_NS), *late = json_object_get(json, "late");

	cr_expect(json_is_true(json_object_get(late, "over")));
	cr_expect_eq(json_integer_value(json_object_get(late, "until_step")), 22);
	json_decref(json);
}

Test(finding_json, what_is_a_lower_bound_and_what_is_spread_out_says_so)
{
	struct rw_finding finding = straggler();

	finding.late.at_least = finding.late.spread_out = true;
	json_t *json = finding_to_json(&finding, OFFSET_NS), *late = json_object_get(json, "late");

	cr_expect(json_is_true(json_object_get(late, "at_least")));
	cr_expect(json_is_true(json_object_get(late, "spread_out")));
	json_decref(json);
}

Test(finding_json, how_ranks_stand_that_nobody_is_named_for_is_one_word)
{
	static const char *const words[] = { NULL, "circle", "together" };

	for (int standing = RW_STANDING_NONE; standing <= RW_STANDING_TOGETHER; standing++) {
		struct rw_finding finding = straggler();

		finding.standing = standing;
		json_t *json = finding_to_json(&finding, OFFSET_NS);
		const char *word = json_string_value(json_object_get(json, "standing"));

		cr_expect(words[standing] ? word && !strcmp(word, words[standing]) : !word, "%d: %s", standing, word ? word : "none");
		json_decref(json);
	}
}

Test(finding_json, absent_parts_are_null_and_empty_lists_stay_lists)
{
	struct rw_finding finding = {
		.id = "1", .kind = RW_KIND_GONE, .severity = RW_CRITICAL, .state = RW_FINDING_CLOSED, .detect_ms = -1,
		.job = { .ranks_total = -1 }, .text = "rank 3 is gone",
	};
	char *line = finding_to_line(&finding, 0);

	cr_expect_str_eq(line,
		"{\"schema\":1,\"id\":\"1\",\"state\":\"closed\",\"revision\":0,\"severity\":\"critical\","
		"\"confidence\":\"certain\",\"kind\":\"gone\",\"ranks\":[],\"scope\":\"rank\",\"level\":\"none\","
		"\"arrival\":\"none\",\"time\":null,\"first_seen\":null,\"detect_ms\":null,"
		"\"job\":{\"id\":null,\"generation\":0,\"ranks_seen\":0,\"ranks_total\":null},\"where\":[],"
		"\"operation\":null,\"late\":null,\"cause\":null,\"watchdog\":null,\"values\":null,\"victims\":[],"
		"\"evidence\":[],\"missing\":[],\"text\":\"rank 3 is gone\",\"advice\":null,"
		"\"help\":\"rankwatch help gone\",\"incident\":null}");
	free(line);
}

Test(finding_json, a_path_that_is_not_utf8_is_escaped_and_the_finding_survives)
{
	struct rw_finding finding = straggler();

	finding.cause.path = "/x/\xff\x01.log";
	json_t *json = finding_to_json(&finding, OFFSET_NS);

	cr_assert(json);
	cr_expect_str_eq(json_string_value(json_object_get(json_object_get(json, "cause"), "path")),
			 "/x/\\xff\\x01.log");
	json_decref(json);
}

Test(finding_json, enums_beyond_the_tables_are_null_and_not_a_read_outside_them)
{
	struct rw_finding finding = straggler();

	finding.kind = (enum rw_kind)99;
	finding.operation.function = 255;
	finding.operation.dtype = 255;
	finding.operation.algorithm = 255;
	json_t *json = finding_to_json(&finding, OFFSET_NS);
	const json_t *operation = json_object_get(json, "operation");

	cr_assert(json);
	cr_expect(json_is_null(json_object_get(json, "kind")));
	cr_expect(json_is_null(json_object_get(operation, "function")));
	cr_expect(json_is_null(json_object_get(operation, "dtype")));
	cr_expect(json_is_null(json_object_get(operation, "algorithm")));
	json_decref(json);
}

Test(finding_json, every_kind_and_cause_has_a_name)
{
	for (int kind = 0; kind < RW_KIND_COUNT; kind++)
		cr_expect(finding_kind_name((enum rw_kind)kind), "kind %d", kind);
	for (int cause = 0; cause < RW_CAUSE_COUNT; cause++)
		cr_expect(finding_cause_name((enum rw_cause_class)cause), "cause %d", cause);
}

static void expect_values(const struct rw_finding *finding, const char *expected)
{
	json_t *json = finding_to_json(finding, OFFSET_NS);

	cr_assert(json);
	char *values = json_dumps(json_object_get(json, "values"), JSON_COMPACT | JSON_REAL_PRECISION(12));

	cr_expect_str_eq(values, expected);
	free(values);
	json_decref(json);
}

Test(finding_json, values_are_written_with_magnitudes_as_small_as_they_are)
{
	struct rw_finding finding = born_nan();

	finding.values.absmax_before = 3e-39;
	expect_values(&finding, "{\"side\":\"input\",\"nan\":12,\"inf\":0,\"first_bad\":4711,\"absmax_before\":3e-39,"
				"\"saturated\":null,\"origin\":\"born\",\"digest\":\"0x0000000000001234\",\"not_scanned\":0,"
				"\"seen\":\"maker\",\"whole\":true}");
	finding.values.output = true;
	finding.values.nan = 0;
	finding.values.inf = 3;
	finding.values.first_bad = RW_NO_INDEX;
	finding.values.absmax_before = -1;
	finding.values.saturated = 5;
	finding.values.origin = RW_ORIGIN_REDUCTION;
	finding.values.digest = 0;
	finding.values.not_scanned = 7;
	finding.values.seen = RW_VALUES_SEEN_UNSCANNED;
	finding.values.whole = false;
	expect_values(&finding, "{\"side\":\"output\",\"nan\":0,\"inf\":3,\"first_bad\":null,\"absmax_before\":null,"
				"\"saturated\":5,\"origin\":\"reduction\",\"digest\":null,\"not_scanned\":7,"
				"\"seen\":\"unscanned\",\"whole\":false}");
	finding.values.seen = RW_VALUES_SEEN_NONE;
	expect_values(&finding, "{\"side\":\"output\",\"nan\":0,\"inf\":3,\"first_bad\":null,\"absmax_before\":null,"
				"\"saturated\":5,\"origin\":\"reduction\",\"digest\":null,\"not_scanned\":7,"
				"\"seen\":null,\"whole\":null}");
}

static void expect_turns(const struct rw_finding *finding, const char *expected)
{
	json_t *json = finding_to_json(finding, OFFSET_NS);
	char *text =
	    json_dumps(json_object_get(json_object_get(json, "cause"), "turns"), JSON_COMPACT | JSON_REAL_PRECISION(3));

	cr_expect(text ? expected && !strcmp(text, expected) : !expected, "%s", text ? text : "none");
	free(text);
	json_decref(json);
}

Test(finding_json, how_many_threads_hold_a_lock_in_turn_is_written_where_they_do)
{
	struct rw_finding finding = straggler();

	expect_turns(&finding, NULL);
	finding.cause.turns.holders = 8;
	finding.cause.turns.cpu = -1;
	expect_turns(&finding, "{\"holders\":8,\"cpu\":null,\"like_python\":false}");
	finding.cause.turns.cpu = 0.76;
	finding.cause.turns.like_python = true;
	expect_turns(&finding, "{\"holders\":8,\"cpu\":0.76,\"like_python\":true}");
}

static struct rw_finding late_in_python(void)
{
	struct rw_finding finding = straggler();

	finding.cause.python.looks = 6;
	finding.cause.python.seen = 5;
	finding.cause.python.place = (struct rw_python_place){ "Trainer.save", "/job/train.py", 212 };
	finding.cause.python.holder_tid = -1;
	return finding;
}

static void expect_python(const struct rw_finding *finding, const char *expected)
{
	json_t *json = finding_to_json(finding, OFFSET_NS);
	char *text = json_dumps(json_object_get(json_object_get(json, "cause"), "python"), JSON_COMPACT);

	cr_expect_str_eq(text, expected);
	free(text);
	json_decref(json);
}

Test(finding_json, where_a_thread_was_in_python_is_written_where_somebody_looked)
{
	struct rw_finding finding = late_in_python();

	expect_python(
	    &finding,
	    "{\"looks\":6,\"seen\":5,\"at\":{\"function\":\"Trainer.save\",\"file\":\"/job/train.py\",\"line\":212},"
	    "\"inside\":null,\"lock\":null,\"collecting\":0}");
	finding.cause.python.inner = (struct rw_python_place){ "Event.wait", "/usr/lib/python3.11/threading.py", 0 };
	finding.cause.python.waits = 4;
	finding.cause.python.held = 3;
	finding.cause.python.holder_tid = 4712;
	finding.cause.python.holder = (struct rw_python_place){ "pre\xff" "fetch", NULL, 3 };
	finding.cause.python.collecting = 6;
	expect_python(
	    &finding,
	    "{\"looks\":6,\"seen\":5,\"at\":{\"function\":\"Trainer.save\",\"file\":\"/job/train.py\",\"line\":212},"
	    "\"inside\":{\"function\":\"Event.wait\",\"file\":\"/usr/lib/python3.11/threading.py\",\"line\":null},"
	    "\"lock\":{\"waits\":4,\"held\":3,\"tid\":4712,\"at\":{\"function\":\"pre\\\\xfffetch\",\"file\":null,"
	    "\"line\":3}},"
	    "\"collecting\":6}");
}
