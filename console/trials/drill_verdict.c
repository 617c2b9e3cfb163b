/* SPDX-License-Identifier: MIT */
#include "console/trials/drill_verdict.h"

#include <inttypes.h>
#include <string.h>

#include "base/foreign_text.h"
#include "finding/value.h"

static void read_log(struct drill_verdict *verdict, const json_t *log)
{
	const json_t *line;
	size_t i;

	json_array_foreach(log, i, line)
	{
		double at_ms = value_number(line, "unix_ms", 0);
		double delays = value_number(line, "delays", 0);

		verdict->ready |= value_is(line, "event", "ready");
		if (value_is(line, "event", "begun")) {
			verdict->begun = true;
			verdict->begun_ms = at_ms;
		}
		if (value_is(line, "event", "over")) {
			verdict->over = true;
			verdict->over_ms = at_ms;
		}
		verdict->delays = delays > 0 ? (uint64_t)delays : 0;
	}
}

static bool is_late(const json_t *finding)
{
	return value_is(finding, "kind", "straggler") && !value_is(finding, "severity", "notice") &&
	       !value_is(finding, "state", "closed");
}

static bool names_only(const json_t *finding, int32_t rank)
{
	const json_t *ranks = json_object_get(finding, "ranks");

	return json_array_size(ranks) == 1 && json_integer_value(json_array_get(ranks, 0)) == rank;
}

void drill_verdict_reach(struct drill_verdict *verdict, const json_t *log, const json_t *findings, int32_t rank)
{
	const json_t *finding;
	size_t i;

	*verdict = (struct drill_verdict){ 0 };
	read_log(verdict, log);
	json_array_foreach(findings, i, finding)
	{
		double reported_ms = (double)value_time(finding, "time") / 1e6;

		/* What was late before the drill is none of its findings. */
		if (!is_late(finding) || !verdict->begun || reported_ms < verdict->begun_ms)
			continue;
		if (!names_only(finding, rank))
			verdict->other = verdict->other ? verdict->other : finding;
		else if (!verdict->named) {
			verdict->named = finding;
			verdict->named_after_ms = reported_ms - verdict->begun_ms;
		}
	}
}

static const char *why_not(const struct drill_verdict *verdict)
{
	if (!verdict->ready)
		return "no NCCL call of that rank was seen: is there such a rank, and does it load NCCL as a shared "
		       "library?";
	if (!verdict->begun)
		return "the job ended before the delays began: --after is how long they wait for the job to be under "
		       "way";
	if (verdict->delays < 12)
		return "there were few delays: a rank is named when it is late again and again; let the job run "
		       "longer, or delay it oftener (--every)";
	return "its GPU may still have been busy with what it had been given before, so that nobody waited for it; or "
	       "the noise of this job "
	       "is as large: try a longer --delay";
}

void drill_verdict_print(FILE *out, const struct drill_verdict *verdict, int32_t rank)
{
	if (verdict->begun)
		fprintf(out, "rankwatch drill: rank %" PRId32 " was delayed %s%" PRIu64 " times; %s\n", rank,
			verdict->over ? "" : "at least ", verdict->delays,
			verdict->over ? "that ended by itself, while the job went on"
				      : "the job ended before that did");
	if (verdict->named) {
		fprintf(out, "rankwatch drill: it was named %.1f s after the first delay:\n",
			verdict->named_after_ms / 1e3);
		foreign_line(out, "  %s",
			     value_text(verdict->named, "text") ? value_text(verdict->named, "text") : "?");
	} else {
		foreign_line(out, "rankwatch drill: rank %" PRId32 " was NOT named: %s", rank, why_not(verdict));
	}
	if (verdict->other)
		foreign_line(out, "rankwatch drill: ANOTHER rank was named: %s",
			     value_text(verdict->other, "text") ? value_text(verdict->other, "text") : "?");
}

json_t *drill_verdict_json(const struct drill_verdict *verdict, int32_t rank)
{
	return json_pack("{s:i, s:b, s:o, s:b, s:b, s:I, s:O?, s:O?}", "rank", (int)rank, "named",
			 verdict->named != NULL, "named_after_ms",
			 verdict->named ? json_real(verdict->named_after_ms) : json_null(), "begun", verdict->begun,
			 "over", verdict->over, "delays", (json_int_t)verdict->delays, "finding",
			 (json_t *)verdict->named, "other", (json_t *)verdict->other);
}
