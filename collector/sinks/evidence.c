/* SPDX-License-Identifier: MIT */
#include "collector/sinks/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/foreign_text.h"
#include "blackbox/evidence.h"
#include "blackbox/run_mark.h"
#include "collector/nats/finding_head.h"
#include "finding/best_cause.h"
#include "finding/kept_findings.h"
#include "finding/value.h"

enum {
	RETRY_MS = 30000,
	WAIT_MS = 1000, /* for the first box */
	NEAR_MS = 20,   /* each revision of a finding is given its time of day anew */
};

/* A finding from its opening to its end. One that comes back later is another entry, although it has the same id. */
struct entry {
	json_int_t number;
	json_t *finding;
	size_t size;   /* bytes as a line; 0: not written yet */
	uint64_t reported; /* the higher, the later */
	bool news;
};

struct evidence_sink {
	char name[EVIDENCE_NAME];
	struct entry *entries; /* in the order in which they were opened: who reads the file goes by that */
	size_t count, room, bytes;
	json_int_t last_number;
	uint64_t created_ns, retry_ns, reported;
	bool news, loaded, stale; /* stale: the file is to be made anew */
	bool unsaved;             /* evidence_sink_news() has not reported it */
	bool quiet, said;
};

struct evidence_sink *evidence_sink_new(const char *job, const char *host, bool quiet)
{
	struct evidence_sink *sink = calloc(1, sizeof(*sink));

	if (!sink)
		return NULL;
	evidence_name(job, host, sink->name);
	sink->quiet = quiet;
	sink->created_ns = clock_realtime_ns();
	return sink;
}

/* A job of the same name that was started again has the same findings' ids. */
static bool has_same_processes(const json_t *left, const json_t *right)
{
	const json_t *here = json_object_get(left, "where"), *there = json_object_get(right, "where");
	size_t count = json_array_size(here);

	for (size_t i = 0; i < count && i < json_array_size(there); i++)
		if (!json_equal(json_object_get(json_array_get(here, i), "pid"),
				json_object_get(json_array_get(there, i), "pid")))
			return false;
	return true;
}

static bool is_near(uint64_t left_ns, uint64_t right_ns)
{
	return (left_ns > right_ns ? left_ns - right_ns : right_ns - left_ns) <= NEAR_MS * UINT64_C(1000000);
}

static bool goes_on(const json_t *before, const json_t *finding)
{
	uint64_t first_ns = value_time(finding, "first_seen");

	if (!value_is(before, "id", value_text(finding, "id")) || !has_same_processes(before, finding))
		return false;
	if (is_near(first_ns, value_time(before, "first_seen")))
		return true;
	/* Another collector may have seen another instance of it first. Values that are bad again are another finding.
	 */
	return !json_is_object(json_object_get(finding, "values")) && !value_is(before, "state", "closed") &&
	       first_ns <= value_time(before, "time");
}

static void remove_entry(struct evidence_sink *sink, size_t place)
{
	json_decref(sink->entries[place].finding);
	sink->bytes -= sink->entries[place].size;
	sink->count--;
	memmove(&sink->entries[place], &sink->entries[place + 1], (sink->count - place) * sizeof(*sink->entries));
}

static struct entry *add_entry(struct evidence_sink *sink)
{
	if (sink->count == sink->room) {
		size_t room = sink->room ? sink->room * 2 : 16;
		struct entry *entries = reallocarray(sink->entries, room, sizeof(*entries));

		if (!entries)
			return NULL;
		sink->entries = entries;
		sink->room = room;
	}
	sink->entries[sink->count] = (struct entry){ .number = ++sink->last_number };
	return &sink->entries[sink->count++];
}

/* The newest entry of this finding; NULL: none. */
static struct entry *find(const struct evidence_sink *sink, const json_t *finding)
{
	for (size_t i = sink->count; i > 0; i--)
		if (goes_on(sink->entries[i - 1].finding, finding))
			return &sink->entries[i - 1];
	return NULL;
}

/* Takes the finding. */
static void put(struct evidence_sink *sink, json_t *finding)
{
	struct entry *entry = find(sink, finding);

	if (entry && best_cause_is_better(entry->finding, finding))
		best_cause_take(finding, entry->finding);
	if (!entry)
		entry = add_entry(sink);
	if (!entry) {
		json_decref(finding);
		return;
	}
	json_decref(entry->finding);
	entry->finding = finding;
	entry->reported = ++sink->reported;
	entry->news = sink->news = true;
}

void evidence_sink_put(struct evidence_sink *sink, const char *line)
{
	json_t *finding = sink ? json_loads(line, 0, NULL) : NULL;

	if (finding)
		put(sink, finding);
}

static const char *words_of(int err)
{
	if (err == -EPERM)
		return "the directory is another user's, or others may write to it";
	return err == -EINVAL ? "the directory is on no tmpfs" : strerror(-err);
}

static void say(struct evidence_sink *sink, const char *directory, int err)
{
	if (!sink->quiet && !sink->said)
		foreign_line(stderr, "rankwatch: %s: what the collector sees is not kept beside the black boxes: %s",
			     directory, words_of(err));
	sink->said = true;
}

/* What an earlier collector kept comes first, and what we have found goes on from there. */
static void load(struct evidence_sink *sink, const char *path, int directory)
{
	struct kept_findings kept = { 0 };
	struct entry *entries = sink->entries;
	size_t count = sink->count;
	char why[EVIDENCE_WHY];
	uint64_t created_ns;
	unsigned damaged = 0;
	const char *key;
	json_t *finding;

	sink->entries = NULL;
	sink->count = sink->room = sink->bytes = 0;
	int err =
	    evidence_read(directory, sink->name, geteuid(), kept_findings_take, &kept, &created_ns, &damaged, why);

	if (!err)
		sink->created_ns = created_ns;
	else if (err != -ENOENT && !sink->quiet)
		foreign_line(stderr, "rankwatch: %s/%s: made anew", path, why);
	json_object_foreach(kept.entries, key, finding)
	{
		struct rw_finding head;
		char wrong[FINDING_HEAD_WHY];

		if (!finding_head_read(finding, &head, wrong))
			put(sink, json_incref(finding));
	}
	for (size_t i = 0; i < count; i++)
		put(sink, entries[i].finding);
	free(entries);
	kept_findings_free(&kept);
	sink->loaded = sink->stale = true;
}

/* What is open is needed most. */
static bool is_needed_less(const struct entry *left, const struct entry *right)
{
	bool is_over = value_is(left->finding, "state", "closed");

	return is_over != value_is(right->finding, "state", "closed") ? is_over : left->reported < right->reported;
}

static size_t least_needed(const struct evidence_sink *sink)
{
	size_t least = 0;

	for (size_t i = 1; i < sink->count; i++)
		if (is_needed_less(&sink->entries[i], &sink->entries[least]))
			least = i;
	return least;
}

/* What is too large for a record is left out. */
static void write_entry(struct evidence_sink *sink, struct entry *entry, FILE *lines)
{
	char *record = kept_findings_record(entry->number, entry->finding);
	size_t size = record ? strlen(record) : 0;

	sink->bytes -= entry->size;
	entry->size = size + 10;
	sink->bytes += entry->size;
	entry->news = false;
	if (size && size <= EVIDENCE_RECORD_MOST)
		evidence_put(lines, record);
	free(record);
}

static char *lines_of(struct evidence_sink *sink, bool all, size_t *size)
{
	char *text = NULL;
	FILE *lines = open_memstream(&text, size);

	if (!lines)
		return NULL;
	for (size_t i = 0; i < sink->count; i++)
		if (all || sink->entries[i].news)
			write_entry(sink, &sink->entries[i], lines);
	if (fclose(lines) == 0)
		return text;
	free(text);
	return NULL;
}

static int write_anew(struct evidence_sink *sink, int directory)
{
	size_t size;
	char *lines = lines_of(sink, true, &size);

	while (lines && sink->bytes > EVIDENCE_STATE_MOST && sink->count > 1) {
		while (sink->bytes > EVIDENCE_STATE_MOST && sink->count > 1)
			remove_entry(sink, least_needed(sink));
		free(lines);
		lines = lines_of(sink, true, &size);
	}
	int err = lines ? evidence_write(directory, sink->name, sink->created_ns, lines, size) : -ENOMEM;

	free(lines);
	sink->stale = err != 0;
	return err;
}

static int write_news(struct evidence_sink *sink, int directory)
{
	size_t size;
	char *lines = sink->stale ? NULL : lines_of(sink, false, &size);
	int err = lines ? evidence_append(directory, sink->name, lines, size) : -EFBIG;

	free(lines);
	return err && err != -EPERM ? write_anew(sink, directory) : err;
}

static int open_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void evidence_sink_tick(struct evidence_sink *sink, const char *path, uint64_t now_ns)
{
	if (!sink || !path || !sink->news || now_ns < sink->retry_ns)
		return;
	int directory = open_directory(path), err = directory < 0 ? directory : 0;

	if (!err && !sink->loaded)
		load(sink, path, directory);
	if (!err)
		err = write_news(sink, directory);
	if (directory >= 0)
		close(directory);
	sink->news = err != 0;
	sink->unsaved |= !err;
	sink->stale |= err != 0;
	if (err && err != -ENOENT)
		say(sink, path, err);
	if (err)
		sink->retry_ns = now_ns + (err == -ENOENT ? WAIT_MS : RETRY_MS) * UINT64_C(1000000);
}

const char *evidence_sink_news(struct evidence_sink *sink)
{
	bool news = sink && sink->unsaved;

	if (news)
		sink->unsaved = false;
	return news ? sink->name : NULL;
}

void evidence_sink_free(struct evidence_sink *sink, const char *path)
{
	int directory = sink && path ? open_directory(path) : -1;

	if (directory >= 0) {
		if (!run_mark_holds_box(directory))
			unlinkat(directory, sink->name, 0);
		close(directory);
	}
	while (sink && sink->count)
		remove_entry(sink, sink->count - 1);
	if (sink)
		free(sink->entries);
	free(sink);
}
