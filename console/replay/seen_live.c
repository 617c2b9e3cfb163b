/* SPDX-License-Identifier: MIT */
#include "console/replay/seen_live.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "blackbox/evidence.h"
#include "collector/nats/finding_head.h"
#include "console/boxes/box_folder.h"
#include "console/boxes/boxes.h"
#include "console/replay/seen_live_match.h"
#include "finding/best_cause.h"
#include "finding/finding_json.h"
#include "finding/seen_live_text.h"
#include "finding/value.h"
#include "finding/weight.h"

enum { FILES_MOST = 1024 /* in one directory */ };

/* Writes the advice with PID for the process's number, as a word of its own. Returns whether that was there. */
static bool write_without(FILE *out, const char *advice, const char *pid)
{
	size_t length = strlen(pid);
	bool found = false;

	for (const char *at = advice; *at;) {
		bool is = !strncmp(at, pid, length) && !isalnum((unsigned char)at[length]) &&
			  (at == advice || !isalnum((unsigned char)at[-1]));

		fputs(is ? "PID" : "", out);
		if (!is)
			fputc(*at, out);
		at += is ? length : 1;
		found |= is;
	}
	return found;
}

/* What takes a living process is for the next time. */
static void put_past(json_t *finding, json_int_t number)
{
	const char *advice = value_text(finding, "advice");
	char pid[24], *text = NULL;
	size_t size;
	FILE *out = advice && number > 0 ? open_memstream(&text, &size) : NULL;

	if (!out)
		return;
	snprintf(pid, sizeof(pid), "%lld", (long long)number);
	fputs("next time, while it runs: ", out);
	bool found = write_without(out, advice, pid);

	if (fclose(out) == 0 && found)
		json_object_set_new(finding, "advice", json_string(text));
	free(text);
}

/* As of a job whose processes have ended: no process is there to be looked at, and no time is left. The advice is that
 * of `live`, to whose collector the process may have had another number. */
static void put_ended(json_t *finding, const json_t *live, const struct seen_live_run *run)
{
	const json_t *where = json_array_get(json_object_get(live, "where"), 0);
	json_t *watchdog = json_object_get(finding, "watchdog");

	for (size_t i = 0; i < run->count; i++)
		if (run->processes[i].ended &&
		    run->processes[i].rank == json_integer_value(json_object_get(where, "rank")))
			put_past(finding, json_integer_value(json_object_get(where, "pid")));
	if (json_is_object(watchdog) && seen_live_match_is_over(run))
		json_object_set_new(watchdog, "left_ms", json_null());
}

/* Of values the whole finding rests on what was scanned. Its state and its place in an incident are as the boxes show
 * them. */
static void take_values(json_t *finding, const json_t *live)
{
	static const char *const left[] = { "state", "revision", "time", "detect_ms", "incident" };
	json_t *copy = json_deep_copy(live);

	for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++)
		json_object_del(copy, left[i]);
	json_object_update(finding, copy);
	json_decref(copy);
}

/* Whether a missing rank made progress, for example, shows better live; but a collector that was killed did not see how
 * it went on. */
static void take_severity(json_t *finding, const json_t *live)
{
	if (value_is(live, "state", "closed") || weight_is_more_severe(live, finding))
		json_object_set(finding, "severity", json_object_get(live, "severity"));
}

/* Both are about the same; the finding may be one that was only seen live, by the collector of another host. */
static void take_better(json_t *finding, const json_t *live, const struct seen_live_run *run)
{
	bool in_boxes = !json_is_false(json_object_get(json_object_get(finding, "seen_live"), "in_boxes"));

	if (!best_cause_is_better(live, finding))
		return;
	if (json_is_object(json_object_get(finding, "values")))
		take_values(finding, live);
	else
		best_cause_take(finding, live);
	take_severity(finding, live);
	put_ended(finding, live, run);
	json_object_set_new(finding, "seen_live", seen_live_json(live, in_boxes));
}

static void add(json_t *findings, const json_t *live, const struct seen_live_run *run)
{
	json_t *finding = json_deep_copy(live);
	char key[64];

	if (!finding)
		return;
	put_ended(finding, live, run);
	json_object_set_new(finding, "seen_live", seen_live_json(live, false));
	/* The replay's own keys have no such beginning. */
	snprintf(key, sizeof(key), "live %s %" PRIu64, value_text(live, "id"), value_time(live, "first_seen"));
	json_object_set_new(findings, key, finding);
}

/* Of two that say different things of one operation the surer one stays; what the collector itself took back counts for
 * nothing. */
static void contradict(json_t *findings, const char *key, const json_t *live, const struct seen_live_run *run)
{
	if (value_is(live, "state", "closed") || !seen_live_match_is_surer(live, json_object_get(findings, key)))
		return;
	json_object_del(findings, key);
	add(findings, live, run);
}

static void merge_one(json_t *findings, const json_t *live, const struct seen_live_run *run)
{
	const char *key = seen_live_match_same(findings, live);

	if (key) {
		take_better(json_object_get(findings, key), live, run);
		return;
	}
	key = seen_live_match_other(findings, live);
	if (key) {
		contradict(findings, key, live, run);
		return;
	}
	key = seen_live_match_before(findings, live);
	if (key)
		json_object_del(findings, key);
	add(findings, live, run);
}

unsigned seen_live_merge(json_t *findings, const struct kept_findings *kept, const struct seen_live_run *run)
{
	unsigned wrong = kept->refused;
	json_t *live;
	const char *key;

	json_object_foreach(kept->entries, key, live)
	{
		char why[FINDING_HEAD_WHY];
		struct rw_finding head;

		if (finding_head_read(live, &head, why) || !seen_live_match_has_ranks(run, live))
			wrong++;
		else if (seen_live_match_is_of(run, live))
			merge_one(findings, live, run);
	}
	return wrong;
}

static void add_communicator(json_t *communicators, uint64_t number)
{
	char id[24];

	snprintf(id, sizeof(id), "0x%" PRIx64, number);
	json_object_set_new(communicators, id, json_null());
}

/* And the one that is being made. */
static void gather_communicators(json_t *communicators, const struct replay_process *process)
{
	const struct rw_init *init = &replay_header(process)->init;
	struct rw_communicator *entries;
	uint32_t count;

	box_communicators(feed_reader(process->feed), &entries, &count);
	for (uint32_t i = 0; i < count; i++)
		if (entries[i].created_ns)
			add_communicator(communicators, entries[i].id);
	free(entries);
	if (init->since_ns)
		add_communicator(communicators, init->id);
}

static void gather_process(struct seen_live_run *run, const struct replay *replay, const struct replay_process *process)
{
	const struct rw_box_header *header = replay_header(process);
	uint64_t last_ns = feed_last_ns(process->feed);
	struct seen_live_process *one = &run->processes[run->count++];

	if (header->drain_ns > last_ns)
		last_ns = header->drain_ns;
	*one = (struct seen_live_process){
		.rank = process->rank,
		.pid = header->pid,
		.begin_ns = header->created_realtime_ns,
		.end_ns = last_ns + (uint64_t)replay_machine_of(replay, process)->realtime_offset_ns,
		.ended = process->life == BOX_ORPHANED,
	};
	snprintf(one->host, sizeof(one->host), "%.*s", (int)sizeof(header->host) - 1, header->host);
	if (header->world_size > run->ranks)
		run->ranks = header->world_size;
	gather_communicators(run->communicators, process);
}

static int gather(struct seen_live_run *run, const struct replay *replay)
{
	*run = (struct seen_live_run){ .processes = calloc(replay->count + 1, sizeof(*run->processes)),
				       .communicators = json_object() };
	if (!run->processes || !run->communicators)
		return -1;
	for (size_t i = 0; i < replay->count; i++)
		gather_process(run, replay, &replay->processes[i]);
	return 0;
}

/* One directory of boxes. */
struct place {
	struct replay *replay;
	const struct seen_live_run *run;
	char path[PATH_MAX];
	int directory;
	uid_t owner; /* of the box */
	unsigned files;
};

static void read_file(void *argument, const char *name)
{
	struct place *place = argument;
	struct kept_findings kept = { 0 };
	char why[EVIDENCE_WHY];
	uint64_t created_ns;
	unsigned damaged = 0;

	if (place->files++ >= FILES_MOST)
		return;
	if (evidence_read(place->directory, name, place->owner, kept_findings_take, &kept, &created_ns, &damaged, why))
		foreign_line(stderr, "rankwatch: %s/%s", place->path, why);
	else
		damaged += seen_live_merge(place->replay->findings, &kept, place->run);
	if (damaged)
		foreign_line(stderr,
			     "rankwatch: %s/%s: %u record%s of what was seen live %s damaged, or of ranks that the run "
			     "does not have: left out",
			     place->path, name, damaged, damaged == 1 ? "" : "s", damaged == 1 ? "is" : "are");
	kept_findings_free(&kept);
}

static void read_place(struct place *place, const char *box)
{
	struct stat status;

	if (stat(box, &status) || !box_folder_name(box, place->path))
		return;
	place->owner = status.st_uid;
	place->directory = box_folder_open(box);
	if (place->directory < 0)
		return;
	evidence_list(place->directory, read_file, place);
	close(place->directory);
}

static bool is_first_of_its_directory(const struct replay *replay, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (box_folder_is_same(replay->processes[i].path, replay->processes[number].path))
			return false;
	return true;
}

static void read_places(struct replay *replay, const struct seen_live_run *run)
{
	for (size_t i = 0; i < replay->count; i++) {
		struct place place = { .replay = replay, .run = run };

		if (is_first_of_its_directory(replay, i))
			read_place(&place, replay->processes[i].path);
	}
}

void seen_live_add(struct replay *replay)
{
	struct seen_live_run run;

	if (gather(&run, replay) == 0)
		read_places(replay, &run);
	free(run.processes);
	json_decref(run.communicators);
}

bool seen_live_any(const struct replay *replay)
{
	const char *key;
	json_t *finding;

	json_object_foreach(replay->findings, key, finding)
		if (seen_live_text_is(finding))
			return true;
	return false;
}

/* NULL: none that was seen live is about this rank alone, or reports who was late. */
static const json_t *find_of_rank(const json_t *findings, int32_t rank)
{
	const char *key;
	json_t *finding;

	json_object_foreach((json_t *)findings, key, finding)
	{
		const json_t *ranks = json_object_get(finding, "ranks");
		bool late = value_is(finding, "kind", "straggler") || value_is(finding, "kind", "hang") ||
			    value_is(finding, "kind", "gone");

		if (late && seen_live_text_is(finding) && json_array_size(ranks) == 1 &&
		    json_integer_value(json_array_get(ranks, 0)) == rank)
			return finding;
	}
	return NULL;
}

static enum rw_cause_class class_of(const json_t *cause)
{
	for (int class_ = 0; class_ < RW_CAUSE_COUNT; class_++)
		if (value_is(cause, "class", finding_cause_name((enum rw_cause_class)class_)))
			return (enum rw_cause_class)class_;
	return RW_CAUSE_UNKNOWN;
}

static void correct(struct analysis_loss *loss, const json_t *finding)
{
	const json_t *cause = json_object_get(finding, "cause");
	const char *text = value_text(cause, "text"), *path = value_text(cause, "path");

	loss->unnamed = ANALYSIS_NAMED;
	/* A finding that the boxes do not show may be of another time. */
	if (!json_is_true(json_object_get(json_object_get(finding, "seen_live"), "in_boxes")) || !text ||
	    class_of(cause) == RW_CAUSE_UNKNOWN)
		return;
	loss->cause_class = class_of(cause);
	loss->likely = !value_is(finding, "confidence", "certain");
	snprintf(loss->cause, sizeof(loss->cause), "%s", text);
	snprintf(loss->path, sizeof(loss->path), "%s", path ? path : "");
}

void seen_live_correct(const struct replay *replay, struct analysis_account *account)
{
	for (uint32_t i = 0; i < account->loss_count; i++) {
		const json_t *finding = find_of_rank(replay->findings, account->losses[i].rank);

		if (finding)
			correct(&account->losses[i], finding);
	}
}
