/* SPDX-License-Identifier: MIT */
/* What the sink keeps beside the boxes of a job, read as a report reads it. */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blackbox/evidence.h"
#include "collector/sinks/evidence.h"
#include "collector/sinks/outlet.h"
#include "finding/kept_findings.h"
#include "finding/value.h"

#define SECOND UINT64_C(1000000000)
#define NAME   "job-host" EVIDENCE_SUFFIX

static char place[] = "/dev/shm/rankwatch-evidence-XXXXXX";
static int directory = -1;
static uint64_t now_ns = SECOND;

static void begin(void)
{
	cr_assert_not_null(mkdtemp(place));
	directory = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(openat(directory, "rank0-1.rwbox", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static void end(void)
{
	evidence_clear(directory);
	unlinkat(directory, "rank0-1.rwbox", 0);
	rmdir(place);
}

TestSuite(evidence_sink, .init = begin, .fini = end);

/* A straggler of rank 2; first_seen and time in seconds. */
struct told {
	const char *id, *state, *level, *cause;
	int pid, first_seen, time;
	bool values;
};

static char *line_of(const struct told *told)
{
	char first[40], time[40], *line;

	snprintf(first, sizeof(first), "2026-11-29T03:%02d:%02d.000Z", told->first_seen / 60, told->first_seen % 60);
	snprintf(time, sizeof(time), "2026-11-29T03:%02d:%02d.000Z", told->time / 60, told->time % 60);
	json_t *finding = json_pack(
	    "{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:[i], s:[{s:i, s:s, s:i}], s:s, s:s, s:o, s:o, s:s}", "schema", 1,
	    "id", told->id, "state", told->state, "severity", "warning", "confidence", "likely", "kind", "straggler",
	    "level", told->level, "ranks", 2, "where", "rank", 2, "host", "h", "pid", told->pid, "first_seen", first,
	    "time", time, "cause", told->cause ? json_pack("{s:s}", "class", told->cause) : json_null(), "values",
	    told->values ? json_object() : json_null(), "text", "rank 2 is late");

	cr_assert_not_null(finding);
	line = json_dumps(finding, JSON_COMPACT);
	json_decref(finding);
	return line;
}

static void tell(struct evidence_sink *sink, const struct told *told)
{
	char *line = line_of(told);

	evidence_sink_put(sink, line);
	evidence_sink_tick(sink, place, now_ns += SECOND);
	free(line);
}

static struct evidence_sink *new_sink(void)
{
	return evidence_sink_new("job", "host", true);
}

static struct kept_findings read_kept(void)
{
	struct kept_findings kept = { 0 };
	char why[EVIDENCE_WHY] = "";
	uint64_t created_ns;
	unsigned damaged = 0;

	cr_assert_eq(evidence_read(directory, NAME, geteuid(), kept_findings_take, &kept, &created_ns, &damaged, why),
		     0, "%s", why);
	cr_expect_eq(damaged, 0);
	cr_expect_eq(kept.refused, 0);
	return kept;
}

/* "STATE LEVEL CAUSE;" of each. */
static const char *kept_text(void)
{
	static char text[512];
	struct kept_findings kept = read_kept();
	json_t *finding;
	const char *key;
	size_t used = 0;

	*text = '\0';
	json_object_foreach(kept.entries, key, finding)
	{
		const char *cause = value_text(json_object_get(finding, "cause"), "class");

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %s %s;", value_text(finding, "state"),
					 value_text(finding, "level"), cause ? cause : "-");
	}
	kept_findings_free(&kept);
	return text;
}

/* Whoever hears of a finding may end the collector at once. No turn of its loop comes between the two. */
Test(evidence_sink, a_finding_is_kept_before_anybody_hears_of_it)
{
	struct outlet outlet;
	char *line = line_of(&(struct told){ "a", "open", "ebpf", "io", 10, 1, 2 });
	json_t *finding = json_loads(line, 0, NULL);

	cr_assert_eq(outlet_open(&outlet, NULL, true), 0);
	outlet.evidence = new_sink();
	outlet.directory = place;
	outlet_put_json(&outlet, finding);
	cr_expect_str_eq(kept_text(), "open ebpf io;");
	json_decref(finding);
	free(line);
	evidence_sink_free(outlet.evidence, place);
	outlet_close(&outlet);
}

Test(evidence_sink, the_latest_state_is_kept_with_the_best_cause)
{
	struct evidence_sink *sink = new_sink();

	tell(sink, &(struct told){ "a-0", "open", "ebpf", "io", .pid = 7, .first_seen = 10, .time = 11 });
	cr_expect_str_eq(kept_text(), "open ebpf io;");
	tell(sink, &(struct told){ "a-0", "update", "self", "sleep", .pid = 7, .first_seen = 10, .time = 12 });
	tell(sink, &(struct told){ "a-0", "closed", "none", NULL, .pid = 7, .first_seen = 10, .time = 13 });
	cr_expect_str_eq(kept_text(), "closed ebpf io;");
	evidence_sink_free(sink, place);
	cr_expect_str_eq(kept_text(), "closed ebpf io;");
}

/* What was the cause of the first need not be that of the second. */
Test(evidence_sink, a_finding_that_comes_back_is_another_entry)
{
	struct evidence_sink *sink = new_sink();

	tell(sink, &(struct told){ "a-0", "open", "ebpf", "io", .pid = 7, .first_seen = 10, .time = 11 });
	tell(sink, &(struct told){ "a-0", "closed", "ebpf", "io", .pid = 7, .first_seen = 10, .time = 20 });
	tell(sink, &(struct told){ "a-0", "open", "self", "sleep", .pid = 7, .first_seen = 30, .time = 31 });
	cr_expect_str_eq(kept_text(), "closed ebpf io;open self sleep;");
	tell(sink, &(struct told){ "a-0", "closed", "self", "sleep", .pid = 7, .first_seen = 30, .time = 40 });
	tell(sink, &(struct told){ "a-0", "open", "none", NULL, .pid = 7, .first_seen = 39, .time = 41 });
	cr_expect_str_eq(kept_text(), "closed ebpf io;closed self sleep;open none -;",
			 "also where it was late already when the other was over");
	evidence_sink_free(sink, place);
}

Test(evidence_sink, values_that_are_bad_again_are_another_entry)
{
	struct evidence_sink *sink = new_sink();

	tell(sink,
	     &(struct told){ "n-0", "open", "none", NULL, .pid = 7, .first_seen = 10, .time = 40, .values = true });
	tell(sink,
	     &(struct told){ "n-0", "open", "none", NULL, .pid = 7, .first_seen = 30, .time = 31, .values = true });
	cr_expect_str_eq(kept_text(), "open none -;open none -;");
	evidence_sink_free(sink, place);
}

/* It was killed: the next one tells of what is still open, seen with less. */
Test(evidence_sink, another_collector_goes_on_with_what_the_first_kept)
{
	struct evidence_sink *first = new_sink(), *second = new_sink();

	tell(first, &(struct told){ "a-0", "open", "ebpf", "io", .pid = 7, .first_seen = 10, .time = 20 });
	tell(first, &(struct told){ "b-0", "closed", "ebpf", "lock", .pid = 7, .first_seen = 10, .time = 20 });
	tell(second, &(struct told){ "a-0", "open", "self", "sleep", .pid = 7, .first_seen = 15, .time = 25 });
	cr_expect_str_eq(kept_text(), "open ebpf io;closed ebpf lock;");
	evidence_sink_free(first, NULL);
	evidence_sink_free(second, NULL);
}

/* The job was started again by hand under its old name. */
Test(evidence_sink, other_processes_have_findings_of_their_own)
{
	struct evidence_sink *sink = new_sink();

	tell(sink, &(struct told){ "a-0", "open", "ebpf", "io", .pid = 7, .first_seen = 10, .time = 20 });
	tell(sink, &(struct told){ "a-0", "open", "self", "sleep", .pid = 8, .first_seen = 15, .time = 25 });
	cr_expect_str_eq(kept_text(), "open ebpf io;open self sleep;");
	evidence_sink_free(sink, place);
}

Test(evidence_sink, what_comes_before_the_directory_is_known_is_written_when_it_is)
{
	struct evidence_sink *sink = new_sink();
	char *line = line_of(&(struct told){ "a-0", "open", "ebpf", "io", .pid = 7, .first_seen = 10, .time = 20 });

	evidence_sink_put(sink, line);
	evidence_sink_tick(sink, NULL, now_ns);
	cr_expect_null(evidence_sink_news(sink));
	evidence_sink_tick(sink, place, now_ns);
	cr_expect_str_eq(evidence_sink_news(sink), NAME);
	cr_expect_null(evidence_sink_news(sink), "it is told once");
	cr_expect_str_eq(kept_text(), "open ebpf io;");
	free(line);
	evidence_sink_free(sink, place);
}

/* Longest not told goes first; the file never has more than a reader takes, not while it is made anew either. */
Test(evidence_sink, there_is_a_bound_and_the_newest_stay, .timeout = 60)
{
	struct evidence_sink *sink = new_sink();
	static char text[60000];
	struct stat status;
	char id[32], *line;

	memset(text, 'x', sizeof(text) - 1);
	for (int i = 0; i < 400; i++) {
		snprintf(id, sizeof(id), "%x-0", i);
		line = line_of(&(struct told){ id, "open", "ebpf", "io", .pid = 7, .first_seen = 10, .time = 20 });
		json_t *finding = json_loads(line, 0, NULL);

		json_object_set_new(finding, "text", json_string(text));
		free(line);
		line = json_dumps(finding, JSON_COMPACT);
		evidence_sink_put(sink, line);
		evidence_sink_tick(sink, place, now_ns += SECOND);
		free(line);
		json_decref(finding);
		cr_assert_eq(fstatat(directory, NAME, &status, 0), 0);
		cr_assert_leq((uint64_t)status.st_size, EVIDENCE_APPENDED_MOST);
	}
	struct kept_findings kept = read_kept();
	size_t count = json_object_size(kept.entries);
	const char *key;
	json_t *finding;
	bool last = false, first = false;

	cr_expect_gt(count, 60);
	json_object_foreach(kept.entries, key, finding)
	{
		last |= value_is(finding, "id", "18f-0");
		first |= value_is(finding, "id", "0-0");
	}
	cr_expect(last);
	cr_expect_not(first);
	kept_findings_free(&kept);
	evidence_sink_free(sink, place);
}

Test(evidence_sink, a_file_of_somebody_elses_making_is_replaced)
{
	struct evidence_sink *sink = new_sink();
	int fd = openat(directory, NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert_eq(write(fd, "nonsense", 8), 8);
	close(fd);
	tell(sink, &(struct told){ "a-0", "open", "ebpf", "io", .pid = 7, .first_seen = 10, .time = 20 });
	cr_expect_str_eq(kept_text(), "open ebpf io;");
	evidence_sink_free(sink, place);
}

Test(evidence_sink, the_file_goes_with_the_boxes)
{
	struct evidence_sink *sink = new_sink();

	tell(sink, &(struct told){ "a-0", "open", "ebpf", "io", .pid = 7, .first_seen = 10, .time = 20 });
	unlinkat(directory, "rank0-1.rwbox", 0);
	tell(sink, &(struct told){ "a-0", "closed", "ebpf", "io", .pid = 7, .first_seen = 10, .time = 21 });
	evidence_sink_free(sink, place);
	cr_expect_neq(faccessat(directory, NAME, F_OK, 0), 0);
}
