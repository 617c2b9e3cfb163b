/* SPDX-License-Identifier: MIT */
#include "finding/finding_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <time.h>

#include <rankwatch/operation.h>

#include "finding/json_text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NAME(names, value) name_or_null(names, COUNT(names), (size_t)(value))

/* Indexed by the enums of rankwatch/finding.h and rankwatch/operation.h; a hole is null. */
static const char *const states[] = { "open", "update", "closed" };
static const char *const severities[] = { "notice", "warning", "critical" };
static const char *const confidences[] = { "certain", "likely", "inconclusive" };
static const char *const scopes[] = { "rank", "host", "link", "stage", "job" };
static const char *const standings[] = { NULL, "circle", "together" };
static const char *const levels[] = { "none", "self", "proc", "root", "ebpf" };
static const char *const arrivals[] = { "none", "host", "stamp", "gpu" };
static const char *const late_kinds[] = { NULL, "host", "device", "transfer" };
static const char *const origins[] = { "unknown", "born", "reduction", "received", "transport" };
static const char *const sights[] = { NULL, "result", "unscanned", "input", "maker" };
static const char *const events[] = { "finding", "wait", "end" };
static const char *const phases[] = { NULL, "init", "connect", "enqueued", "launched", "running" };

static json_t *name_or_null(const char *const *names, size_t count, size_t value)
{
	return value < count ? json_text(names[value]) : json_null();
}

static json_t *integer_or_null(int64_t value)
{
	return value < 0 ? json_null() : json_integer(value);
}

/* Absent is negative. Three decimals: microseconds of a duration, a tenth of a percent of a share. */
static json_t *real_or_null(double value)
{
	return isfinite(value) && value >= 0 ? json_real(round(value * 1000) / 1000) : json_null();
}

static json_t *whole_ms_or_null(double ms)
{
	return isfinite(ms) && ms >= 0 && ms < 1e15 ? json_integer(llround(ms)) : json_null();
}

static json_t *time_value(uint64_t monotonic_ns, int64_t realtime_offset_ns)
{
	int64_t realtime_ns;
	/* Both come from a box, which may be damaged. */
	bool no_time =
	    !monotonic_ns || __builtin_add_overflow(monotonic_ns, realtime_offset_ns, &realtime_ns) || realtime_ns < 0;

	if (no_time)
		return json_null();
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	int ms = (int)(realtime_ns % 1000000000 / 1000000);
	struct tm utc;
	char date[32], text[48];

	if (!gmtime_r(&seconds, &utc) || !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc))
		return json_null();
	snprintf(text, sizeof(text), "%s.%03dZ", date, ms);
	return json_string(text);
}

static json_t *ranks_value(const int32_t *ranks, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_integer(ranks[i]));
	return list;
}

static json_t *texts_value(const char *const *texts, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_text(texts[i]));
	return list;
}

static json_t *where_value(const struct rw_finding *finding)
{
	json_t *list = json_array();

	for (size_t i = 0; i < finding->where_count; i++) {
		const struct rw_where *where = &finding->where[i];

		json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}",
			"rank", integer_or_null(where->rank), "host", json_text(where->host),
			"pid", integer_or_null(where->pid > 0 ? where->pid : -1), "gpu", json_text(where->gpu),
			"pci", json_text(where->pci), "rank_from", json_text(where->rank_from)));
	}
	return list;
}

static json_t *operation_value(const struct rw_finding *finding)
{
	if (!finding->operation.present)
		return json_null();

	char comm[24];

	snprintf(comm, sizeof(comm), "0x%" PRIx64, finding->operation.comm);
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"comm", comm, "comm_name", json_text(finding->operation.comm_name),
		"comm_size", integer_or_null(finding->operation.comm_size),
		"function", json_text(finding_function_name(finding->operation.function)),
		"sequence", integer_or_null((int64_t)finding->operation.sequence),
		"replay", integer_or_null((int64_t)finding->operation.replay - 1),
		"step", integer_or_null(finding->operation.step),
		"dtype", json_text(finding_dtype_name(finding->operation.dtype)),
		"count", integer_or_null((int64_t)finding->operation.count),
		"algorithm", json_text(finding_algorithm_name(finding->operation.algorithm)),
		"protocol", json_text(finding_protocol_name(finding->operation.protocol)),
		"phase", NAME(phases, finding->operation.phase));
}

static json_t *late_value(const struct rw_finding *finding)
{
	if (!finding->late.present)
		return json_null();
	json_t *late = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}",
		"kind", NAME(late_kinds, finding->late.kind), "by_ms", real_or_null(finding->late.by_ms),
		"lost_ms_per_step", real_or_null(finding->late.lost_ms_per_step),
		"lost_share", real_or_null(finding->late.lost_share),
		"since_step", integer_or_null(finding->late.since_step),
		"waiting", ranks_value(finding->late.waiting, finding->late.waiting_count));

	if (late && finding->late.over)
		json_object_set_new(late, "over", json_true());
	if (late && finding->late.over && finding->late.until_step >= 0)
		json_object_set_new(late, "until_step", json_integer(finding->late.until_step));
	if (late && finding->late.one_in > 0)
		json_object_set_new(late, "one_in", json_real(finding->late.one_in));
	if (late && finding->late.longer_share > 0)
		json_object_set_new(late, "longer_share", json_real(finding->late.longer_share));
	if (late && finding->late.spread_out)
		json_object_set_new(late, "spread_out", json_true());
	if (late && finding->late.at_least)
		json_object_set_new(late, "at_least", json_true());
	return late;
}

static json_t *chain_value(const struct rw_finding *finding)
{
	json_t *list = json_array();

	for (size_t i = 0; i < finding->cause.chain_count; i++) {
		const struct rw_chain_link *link = &finding->cause.chain[i];

		json_t *value = json_pack("{s:o, s:o, s:o, s:o}",
			"tid", integer_or_null(link->tid), "thread", json_text(link->thread),
			"waits_for", json_text(link->waits_for), "waits_for_tid", integer_or_null(link->waits_for_tid));

		if (value && link->does)
			json_object_set_new(value, "does", json_text(link->does));
		json_array_append_new(list, value);
	}
	return list;
}

static json_t *python_place_value(const struct rw_python_place *place)
{
	if (!place->function)
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "function", json_text(place->function), "file", json_text(place->file),
			 "line", integer_or_null(place->line ? place->line : -1));
}

static json_t *python_value(const struct rw_finding *finding)
{
	json_t *lock = json_null();

	if (finding->cause.python.waits)
		lock = json_pack("{s:I, s:I, s:o, s:o}", "waits", (json_int_t)finding->cause.python.waits,
				 "held", (json_int_t)finding->cause.python.held,
				 "tid", integer_or_null(finding->cause.python.holder_tid),
				 "at", python_place_value(&finding->cause.python.holder));
	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:I}", "looks", (json_int_t)finding->cause.python.looks,
			 "seen", (json_int_t)finding->cause.python.seen,
			 "at", python_place_value(&finding->cause.python.place),
			 "inside", python_place_value(&finding->cause.python.inner), "lock", lock,
			 "collecting", (json_int_t)finding->cause.python.collecting);
}

static json_t *turns_value(const struct rw_finding *finding)
{
	return json_pack("{s:I, s:o, s:b}", "holders", (json_int_t)finding->cause.turns.holders, "cpu",
			 real_or_null(finding->cause.turns.cpu), "like_python", finding->cause.turns.like_python);
}

static json_t *cause_value(const struct rw_finding *finding)
{
	if (!finding->cause.present)
		return json_null();
	json_t *cause = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"class", json_text(finding_cause_name(finding->cause.class_)),
		"share", real_or_null(finding->cause.share), "text", json_text(finding->cause.text),
		"syscall", json_text(finding->cause.system_call), "fd", integer_or_null(finding->cause.fd),
		"path", json_text(finding->cause.path), "fs", json_text(finding->cause.file_system),
		"device", json_text(finding->cause.device), "tid", integer_or_null(finding->cause.tid),
		"thread", json_text(finding->cause.thread), "at_tid", integer_or_null(finding->cause.at_tid),
		"at_thread", json_text(finding->cause.at_thread), "chain", chain_value(finding),
		"stack", texts_value(finding->cause.stack, finding->cause.stack_count));

	if (cause && finding->scope == RW_SCOPE_HOST && finding->cause.rank >= 0)
		json_object_set_new(cause, "rank", json_integer(finding->cause.rank));
	if (cause && finding->cause.turns.holders)
		json_object_set_new(cause, "turns", turns_value(finding));
	if (cause && finding->cause.python.looks)
		json_object_set_new(cause, "python", python_value(finding));
	return cause;
}

static json_t *watchdog_value(const struct rw_finding *finding)
{
	if (!finding->watchdog.present)
		return json_null();
	json_t *watchdog = json_pack("{s:o, s:o, s:o, s:o}",
		"timeout_ms", whole_ms_or_null(finding->watchdog.timeout_ms),
		"from", json_text(finding->watchdog.from), "left_ms", whole_ms_or_null(finding->watchdog.left_ms),
		"longest_wait_ms", whole_ms_or_null(finding->watchdog.longest_wait_ms));

	if (watchdog && finding->watchdog.reached_step)
		json_object_set_new(watchdog, "reached",
				    json_pack("{s:f, s:I, s:o}", "wait_grows_ms", finding->watchdog.wait_grows_ms,
					      "step", (json_int_t)finding->watchdog.reached_step, "in_ms",
					      whole_ms_or_null(finding->watchdog.reached_in_ms)));
	return watchdog;
}

/* Magnitudes go from 1e-45 to 1e308: not rounded. */
static json_t *magnitude_or_null(double value)
{
	return isfinite(value) && value >= 0 ? json_real(value) : json_null();
}

static json_t *values_value(const struct rw_finding *finding)
{
	if (!finding->values.present)
		return json_null();

	uint64_t first = finding->values.first_bad;
	char digest[24];

	snprintf(digest, sizeof(digest), "0x%016" PRIx64, finding->values.digest);
	return json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o}",
		"side", finding->values.output ? "output" : "input",
		"nan", (json_int_t)finding->values.nan, "inf", (json_int_t)finding->values.inf,
		"first_bad", first == RW_NO_INDEX ? json_null() : json_integer((json_int_t)first),
		"absmax_before", magnitude_or_null(finding->values.absmax_before),
		"saturated", integer_or_null(finding->values.saturated),
		"origin", NAME(origins, finding->values.origin),
		"digest", json_text(finding->values.digest ? digest : NULL),
		"not_scanned", (json_int_t)finding->values.not_scanned,
		"seen", NAME(sights, finding->values.seen),
		"whole", finding->values.seen ? json_boolean(finding->values.whole) : json_null());
}

static json_t *evidence_value(const struct rw_finding *finding)
{
	json_t *list = json_array();

	for (size_t i = 0; i < finding->evidence_count; i++) {
		const struct rw_evidence *evidence = &finding->evidence[i];

		json_array_append_new(list, json_pack("{s:o, s:o, s:o}",
			"source", json_text(evidence->source), "ms", real_or_null(evidence->ms),
			"what", json_text(evidence->what)));
	}
	return list;
}

static json_t *job_value(const struct rw_finding *finding)
{
	return json_pack("{s:o, s:i, s:o, s:o}",
		"id", json_text(finding->job.id), "generation", (int)finding->job.generation,
		"ranks_seen", integer_or_null(finding->job.ranks_seen),
		"ranks_total", integer_or_null(finding->job.ranks_total));
}

static json_t *head_value(const struct rw_finding *finding)
{
	return json_pack("{s:i, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"schema", RW_FINDING_SCHEMA, "id", json_text(finding->id), "state", NAME(states, finding->state),
		"revision", (json_int_t)finding->revision, "severity", NAME(severities, finding->severity),
		"confidence", NAME(confidences, finding->confidence),
		"kind", json_text(finding_kind_name(finding->kind)),
		"ranks", ranks_value(finding->ranks, finding->rank_count), "scope", NAME(scopes, finding->scope),
		"level", NAME(levels, finding->level), "arrival", NAME(arrivals, finding->arrival));
}

/* Takes `more`; `whole` keeps its own keys first. */
static json_t *append_keys(json_t *whole, json_t *more)
{
	if (!whole || !more || json_object_update(whole, more)) {
		json_decref(whole);
		whole = NULL;
	}
	json_decref(more);
	return whole;
}

/* The page that says what a finding of this kind means and what to do first. */
static json_t *help_value(const struct rw_finding *finding)
{
	const char *kind = finding_kind_name(finding->kind);

	return kind ? json_sprintf("rankwatch help %s", kind) : json_null();
}

/* What it belongs to, and how that went: docs/findings.md, "Incidents". */
static json_t *incident_value(const struct rw_finding *finding, int64_t realtime_offset_ns)
{
	json_t *chain = json_array();

	if (!finding->incident.count) {
		json_decref(chain);
		return json_null();
	}
	for (size_t i = 0; i < finding->incident.count; i++) {
		const struct rw_incident_link *link = &finding->incident.links[i];

		json_array_append_new(
		    chain,
		    json_pack("{s:o, s:s?, s:o, s:o, s:o, s:o, s:o}", "event", NAME(events, link->event), "finding",
			      link->finding, "kind",
			      link->finding ? json_text(finding_kind_name(link->kind)) : json_null(), "follows",
			      integer_or_null(link->follows), "confidence", NAME(confidences, link->confidence), "time",
			      time_value(link->at_ns, realtime_offset_ns), "text", json_text(link->text)));
	}
	return json_pack("{s:s, s:o}", "id", finding->incident.id, "chain", chain);
}

json_t *finding_to_json(const struct rw_finding *finding, int64_t realtime_offset_ns)
{
	json_t *head = append_keys(head_value(finding), json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}",
		"time", time_value(finding->time_ns, realtime_offset_ns),
		"first_seen", time_value(finding->first_seen_ns, realtime_offset_ns),
		"detect_ms", whole_ms_or_null(finding->detect_ms), "job", job_value(finding),
		"where", where_value(finding), "operation", operation_value(finding)));

	json_t *tail =
	    json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "late", late_value(finding), "cause",
		      cause_value(finding), "watchdog", watchdog_value(finding), "values", values_value(finding),
		      "victims", ranks_value(finding->victims, finding->victim_count), "evidence",
		      evidence_value(finding), "missing", texts_value(finding->missing, finding->missing_count), "text",
		      json_text(finding->text), "advice", json_text(finding->advice), "help", help_value(finding));

	if (tail)
		json_object_set_new(tail, "incident", incident_value(finding, realtime_offset_ns));
	if (tail && finding->standing)
		json_object_set_new(tail, "standing", NAME(standings, finding->standing));
	if (tail && finding->lost)
		json_object_set_new(tail, "lost", json_integer((json_int_t)finding->lost));
	return append_keys(head, tail);
}

char *finding_to_line(const struct rw_finding *finding, int64_t realtime_offset_ns)
{
	json_t *json = finding_to_json(finding, realtime_offset_ns);
	char *line = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;

	json_decref(json);
	return line;
}
