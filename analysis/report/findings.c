/* SPDX-License-Identifier: MIT */
#include "analysis/report/findings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/report/incident.h"
#include "analysis/report/mask_doubt.h"
#include "analysis/explain/port_evidence.h"
#include "analysis/known/process.h"

static const uint64_t update_pause_ns = 1000000000;
static const double update_change = 0.10;
/* What is known about the cause settles in the first second; then a class gives way only to one that explains more. */
static const uint64_t settle_ns = 1000000000;

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * 0x100000001b3u;
	return hash;
}

/* Nothing that depends on who looks, since when, how deep, or in which order: another collector reaches the same id. So
 * the cause is not in it: it may be found later, or by one level and not by another. A desync is of one communicator:
 * the same ranks can have parted from the others on several at once, and these are as many findings. */
static void write_id(struct rw_finding *finding)
{
	uint64_t hash = 0xcbf29ce484222325u;
	int32_t parts[] = { finding->job.generation, (int32_t)finding->kind, (int32_t)finding->scope };
	hash = hash_bytes(hash, finding->job.id, strlen(finding->job.id));
	hash = hash_bytes(hash, parts, sizeof(parts));
	hash = hash_bytes(hash, finding->ranks, finding->rank_count * sizeof(*finding->ranks));
	if (finding->kind == RW_KIND_DESYNC)
		hash = hash_bytes(hash, &finding->operation.comm, sizeof(finding->operation.comm));
	snprintf(finding->id, sizeof(finding->id), "%08x-%d", (uint32_t)(hash ^ hash >> 32), finding->job.generation);
}

static int find(const struct findings *findings, enum rw_kind kind, uint32_t subject)
{
	for (uint32_t i = 0; i < findings->count; i++) {
		const struct record *record = findings->records[i];
		if (record->open && record->finding.kind == kind && record->subject == subject)
			return (int)i;
	}
	return -1;
}

static int find_id(const struct findings *findings, const char *id)
{
	for (uint32_t i = 0; i < findings->count; i++)
		if (!strcmp(findings->records[i]->finding.id, id))
			return (int)i;
	return -1;
}

static void drop(struct findings *findings, uint32_t at)
{
	record_free(findings->records[at]);
	memmove(&findings->records[at], &findings->records[at + 1],
		(findings->count - at - 1) * sizeof(*findings->records));
	findings->count--;
}

static void emit(struct findings *findings, struct record *record, enum rw_finding_state state, uint64_t now_ns)
{
	record->finding.state = state;
	record->finding.revision++;
	record->finding.time_ns = now_ns;
	record->told_ns = now_ns;
	record->open = state != RW_FINDING_CLOSED;
	findings->told = true;
	incident_write(findings, record);
	findings->emit(findings->argument, &record->finding);
}

/* Where all are open, the oldest of those that matter least makes room for one that matters more, and is closed: who
 * reads findings would take it for open for ever. One that does not is not told: else each of more findings than there
 * is room for would be opened again and again, as the next one takes its place. */
static bool make_room(struct findings *findings, enum rw_severity severity, uint64_t now_ns)
{
	uint32_t least = 0;

	if (findings->count < FINDINGS_MAX)
		return true;
	for (uint32_t i = 0; i < findings->count; i++) {
		if (!findings->records[i]->open) {
			drop(findings, i);
			return true;
		}
		if (findings->records[i]->finding.severity < findings->records[least]->finding.severity)
			least = i;
	}
	if (findings->records[least]->finding.severity >= severity)
		return false;
	emit(findings, findings->records[least], RW_FINDING_CLOSED, now_ns);
	drop(findings, least);
	return true;
}

static bool changed(double before, double after)
{
	return fabs(after - before) > update_change * fmax(fabs(before), 1e-3);
}

/* These have no numbers of their own: what they are about is in the words. */
static bool is_told_in_words(const struct rw_finding *finding)
{
	return finding->kind == RW_KIND_GPU || finding->kind == RW_KIND_MEMORY || finding->kind == RW_KIND_VERSION;
}

static bool misses_other(const struct rw_finding *before, const struct rw_finding *after)
{
	if (before->missing_count != after->missing_count)
		return true;
	for (size_t i = 0; i < before->missing_count; i++)
		if (strcmp(before->missing[i], after->missing[i]))
			return true;
	return false;
}

/* Steps are recognised after the first of them, and counted anew when it turns out what they are. */
static bool learns_step(const struct rw_finding *before, const struct rw_finding *after)
{
	return (before->operation.step < 0 && after->operation.step >= 0) ||
	       before->late.since_step != after->late.since_step;
}

static size_t count_ports(const struct rw_finding *finding)
{
	size_t count = 0;
	for (size_t i = 0; i < finding->evidence_count; i++)
		count += !strcmp(finding->evidence[i].source, PORT_SOURCE);
	return count;
}

/* What ports showed when it began is not kept for as long as it may last. */
static void keep_ports(struct record *record, const struct rw_finding *before)
{
	if (count_ports(&record->finding))
		return;
	for (size_t i = 0; i < before->evidence_count; i++)
		if (!strcmp(before->evidence[i].source, PORT_SOURCE))
			record_add_evidence(record, PORT_SOURCE, -1, before->evidence[i].what);
}

static bool is_news(const struct rw_finding *before, const struct rw_finding *after)
{
	return before->severity != after->severity || before->cause.class_ != after->cause.class_ ||
	       before->confidence != after->confidence || learns_step(before, after) ||
	       (before->kind == RW_KIND_SLOWDOWN && misses_other(before, after)) ||
	       before->operation.phase != after->operation.phase || before->late.at_least != after->late.at_least ||
	       before->late.over != after->late.over ||
	       (before->watchdog.reached_step == 0) != (after->watchdog.reached_step == 0) ||
	       count_ports(after) > count_ports(before) ||
	       changed(before->late.lost_ms_per_step, after->late.lost_ms_per_step) ||
	       (before->kind != RW_KIND_STRAGGLER && changed(before->late.by_ms, after->late.by_ms)) ||
	       (is_told_in_words(after) && strcmp(before->text, after->text));
}

/* A class that was reported stays unless the new one is known and at least as well seen, or the ranks of the host turn
 * out to have different ones. */
static bool is_worse_seen(const struct rw_finding *before, const struct record *record)
{
	const struct rw_finding *after = &record->finding;

	if (before->cause.class_ == RW_CAUSE_UNKNOWN || before->cause.class_ == after->cause.class_ ||
	    after->cause.text == record->differing)
		return false;
	return after->cause.class_ == RW_CAUSE_UNKNOWN || after->level < before->level || after->cause.share < 0.5;
}

/* Nothing was known of the cause, and now it is known that its ranks have different ones. */
static bool turns_out_different(const struct rw_finding *before, const struct record *record)
{
	return record->finding.cause.text == record->differing && before->cause.text &&
	       strcmp(before->cause.text, record->differing) != 0;
}

static void update(struct findings *findings, uint32_t at, struct record *record, uint64_t now_ns)
{
	struct record *before = findings->records[at];
	bool settling = now_ns < before->finding.first_seen_ns + settle_ns;
	/* That somebody is named at last may be the last thing there is to say. */
	bool too_soon = now_ns < before->told_ns + update_pause_ns &&
			record->finding.severity <= before->finding.severity &&
			record->finding.scope == before->finding.scope;
	if (too_soon ||
	    !(is_news(&before->finding, &record->finding) || turns_out_different(&before->finding, record)) ||
	    (!settling && is_worse_seen(&before->finding, record))) {
		record_free(record);
		return;
	}
	memcpy(record->finding.id, before->finding.id, sizeof(record->finding.id));
	record->finding.revision = before->finding.revision;
	record->finding.first_seen_ns = before->finding.first_seen_ns;
	record->finding.detect_ms = before->finding.detect_ms;
	keep_ports(record, &before->finding);
	if (before->finding.severity == RW_NOTICE && record->finding.severity > RW_NOTICE)
		findings->opened++;
	findings->records[at] = record;
	record_free(before);
	emit(findings, record, RW_FINDING_UPDATE, now_ns);
}

void findings_tell(struct findings *findings, struct record *record, uint64_t now_ns)
{
	mask_doubt_apply(record, findings->job);
	int at = find(findings, record->finding.kind, record->subject);
	if (at >= 0) {
		update(findings, (uint32_t)at, record, now_ns);
		return;
	}
	write_id(&record->finding);
	int known = find_id(findings, record->finding.id);
	const struct rw_finding *before = known >= 0 ? &findings->records[known]->finding : NULL;
	/* For who reads it, what has the same id is the same finding: it goes on, also where it is about something else
	 * now. */
	bool goes_on = before && findings->records[known]->open;
	bool counted = goes_on && before->severity > RW_NOTICE;
	if (before)
		record->finding.revision = before->revision;
	if (goes_on)
		record->finding.first_seen_ns = before->first_seen_ns;
	if (before)
		drop(findings, (uint32_t)known);
	if (!make_room(findings, record->finding.severity, now_ns)) {
		record_free(record);
		return;
	}
	findings->records[findings->count++] = record;
	findings->opened += record->finding.severity > RW_NOTICE && !counted;
	emit(findings, record, goes_on ? RW_FINDING_UPDATE : RW_FINDING_OPEN, now_ns);
}

void findings_close(struct findings *findings, enum rw_kind kind, uint32_t subject, uint64_t now_ns)
{
	int at = find(findings, kind, subject);
	if (at >= 0)
		emit(findings, findings->records[at], RW_FINDING_CLOSED, now_ns);
}

struct record *findings_over(const struct findings *findings, enum rw_kind kind, uint32_t subject)
{
	int at = find(findings, kind, subject);

	return at >= 0 ? findings->records[at] : NULL;
}

void findings_close_all(struct findings *findings, uint64_t now_ns)
{
	for (uint32_t i = 0; i < findings->count; i++)
		if (findings->records[i]->open)
			emit(findings, findings->records[i], RW_FINDING_CLOSED, now_ns);
}

const struct record *findings_open(const struct findings *findings, enum rw_kind kind, uint32_t subject)
{
	return findings_over(findings, kind, subject);
}

const struct record *findings_latest(const struct findings *findings, enum rw_kind kind, uint32_t subject)
{
	for (uint32_t i = findings->count; i--;)
		if (findings->records[i]->finding.kind == kind && findings->records[i]->subject == subject)
			return findings->records[i];
	return NULL;
}

static uint32_t count_ended(const struct job *job)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < job->process_count; i++)
		count += process_is_dead(job->processes[i]);
	return count;
}

/* The one that it began with tells the story; where that is closed, those that are open do. */
static void tell_story(struct findings *findings, struct record *record, bool over, uint64_t now_ns)
{
	const struct record *root = incident_root(findings, record);
	uint32_t before = record->chain_hash;
	if (!record->open || record->finding.severity < RW_WARNING || (root != record && root->open))
		return;
	incident_write(findings, record);
	if (record->chain_hash == before)
		return;
	if (!over && now_ns < record->told_ns + update_pause_ns) {
		record->chain_hash = before;
		findings->told = true;
		return;
	}
	emit(findings, record, RW_FINDING_UPDATE, now_ns);
}

void findings_tick(struct findings *findings, uint64_t now_ns)
{
	uint32_t ended = findings->count ? count_ended(findings->job) : 0;
	bool over = findings->count && ended == findings->job->process_count;
	if (!findings->told && ended == findings->ended)
		return;
	findings->told = false;
	findings->ended = ended;
	for (uint32_t i = 0; i < findings->count; i++)
		tell_story(findings, findings->records[i], over, now_ns);
}

void findings_replay_open(struct findings *findings, uint64_t now_ns)
{
	for (uint32_t i = 0; i < findings->count; i++)
		if (findings->records[i]->open)
			emit(findings, findings->records[i], RW_FINDING_OPEN, now_ns);
}

void findings_free(struct findings *findings)
{
	for (uint32_t i = 0; i < findings->count; i++)
		record_free(findings->records[i]);
	findings->count = 0;
}
