/* SPDX-License-Identifier: MIT */
#include "analysis/values/origin.h"

#include "analysis/measure/aftermath.h"
#include "analysis/model.h"
#include "analysis/known/usual.h"
#include "analysis/report/value_text.h"

/* A scalar, or a whole gradient, that is NaN is neither padding nor a mask. */
static bool is_mostly_nan(const struct instance *instance, enum value_side side, const struct rw_scan *scan)
{
	return value_is_reduction(instance) && scan->nan && (uint64_t)scan->nan * 2 >= value_elements(instance, side);
}

static void tell_usual(struct analysis *analysis, const struct instance *instance, uint32_t member,
		       enum value_side side, uint64_t now_ns)
{
	uint32_t rank = instance->communicator->members[member].rank;
	const struct rw_scan *scan = value_scan(instance, member, side);
	struct record *record =
	    record_new(&analysis->job, scan->nan ? RW_KIND_NAN : RW_KIND_INF, RW_SCOPE_RANK, &rank, 1);

	if (!record)
		return;
	/* One for each place and rank would be hundreds of the same. */
	record->subject = 1u << 31 | rank;
	record->finding.severity = RW_NOTICE;
	record_set_operation(record, &analysis->job, instance, RW_PHASE_NONE);
	record_set_values(record, instance, member, side, RW_ORIGIN_UNKNOWN);
	record_set_seen(record, instance, member, now_ns);
	value_text_usual(record);
	findings_tell(&analysis->findings, record, now_ns);
}

/* Bad values from the first time on at a place; nothing is learned while a story is going on. Returns whether they are
 * news: more, or of another kind, than they were. */
static bool judge_from_start(struct analysis *analysis, const struct instance *instance, uint32_t member,
			     enum value_side side, struct usual *usual, uint64_t now_ns)
{
	const struct rw_scan *scan = value_scan(instance, member, side);

	if (usual->bad >= USUAL_BAD_MIN && !usual_covers(usual, scan))
		return true;
	if (analysis->origin.pending || analysis->origin.open)
		return false;
	usual_widen(usual, scan);
	if (usual->bad >= USUAL_BAD_MIN && !usual->told)
		tell_usual(analysis, instance, member, side, now_ns);
	usual->told = usual->bad >= USUAL_BAD_MIN;
	return false;
}

static bool is_news(struct analysis *analysis, struct instance *instance, uint32_t member, enum value_side side,
		    struct usual *usual, uint64_t now_ns)
{
	const struct rw_scan *scan = value_scan(instance, member, side);

	if (usual && (usual->clean || usual->bad) && !usual->from_start)
		return true;
	if (usual) {
		usual->from_start = true;
		if (judge_from_start(analysis, instance, member, side, usual, now_ns))
			return true;
	}
	const struct usual *known = usual_find(instance, member, side);
	if (known && usual_covers(known, scan))
		return false;
	if (is_mostly_nan(instance, side, scan))
		return true;
	if (usual)
		return false;
	if (scan->nan && value_is_number(instance) && usual_is_outside(instance, member)) /* a metric */
		return !usual_came_early(instance, member, side);
	bool early = instance->communicator->members[member].clean_scans < ORIGIN_CLEAN_SCANS;
	if (early && !analysis->origin.pending && !analysis->origin.open)
		usual_keep_early(instance, member, side);
	return !early && scan->nan && !usual_came_early(instance, member, side);
}

static void end_story(struct analysis *analysis, uint64_t now_ns)
{
	struct origin *origin = &analysis->origin;

	if (origin->maker != JOB_NONE) {
		analysis->job.ranks[origin->maker].births++;
		analysis->job.ranks[origin->maker].birth_step = origin->maker_step;
	}
	origin->open = false;
	origin->beginning = NULL;
	origin->look_ns = 0;
	findings_close(&analysis->findings, origin->kind, 0, now_ns);
	last_bad_end(analysis);
}

static void begin_story(struct analysis *analysis, const struct rw_scan *scan, uint64_t now_ns)
{
	struct origin *origin = &analysis->origin;

	origin->pending = true;
	origin->nan = scan->nan != 0;
	origin->severity = RW_NOTICE;
	origin->maker = JOB_NONE;
	origin->pending_ns = now_ns;
	origin->look_ns = now_ns + ORIGIN_SETTLE_NS;
}

/* More has come of it: the other ranks' scans of that are given time, too. */
static void note_effect(struct analysis *analysis, const struct instance *instance, const struct rw_scan *scan,
			uint64_t now_ns)
{
	struct origin *origin = &analysis->origin;

	if (origin->open && origin->severity == RW_CRITICAL)
		return;
	if (value_effect(instance, scan) != VALUE_SPARES &&
	    (!origin->look_ns || origin->look_ns > now_ns + ORIGIN_SETTLE_NS))
		origin->look_ns = now_ns + ORIGIN_SETTLE_NS;
}

static void judge_bad(struct analysis *analysis, struct instance *instance, uint32_t member, enum value_side side,
		      struct usual *usual, uint64_t now_ns)
{
	struct origin *origin = &analysis->origin;
	const struct operation *operation = instance_joined(instance, member);
	const struct rw_scan *scan = value_scan(instance, member, side);

	if (!operation ||
	    operation->ticket < job_member_rank(&analysis->job, &instance->communicator->members[member])->values_from)
		return;
	bool news = is_news(analysis, instance, member, side, usual, now_ns);
	if (news && origin->open && !origin->last_bad.count)
		end_story(analysis, now_ns);
	if (news && !origin->open && !origin->pending)
		begin_story(analysis, scan, now_ns);
	const struct usual *known = usual_find(instance, member, side);
	if (known && usual_covers(known, scan))
		return;
	origin->bad_ns = now_ns;
	if (!origin->pending && !origin->open)
		return;
	if (origin->open)
		last_bad_note(analysis, instance, member, side);
	note_effect(analysis, instance, scan, now_ns);
}

static void note_clean(struct instance *instance, uint32_t member, enum value_side side, bool again)
{
	struct member *of = &instance->communicator->members[member];
	const struct operation *operation = instance_joined(instance, member);

	of->clean_scans += !again;
	if (side == VALUE_IN && operation && operation->ticket > of->clean_ticket)
		of->clean_ticket = operation->ticket;
}

void origin_judge(struct analysis *analysis, struct instance *instance, uint32_t member, enum value_side side,
		  uint64_t now_ns)
{
	struct value *value = &instance->values[member];
	uint8_t bit = (uint8_t)(1u << side);
	bool placed = value->placed & bit, judged = value->judged & bit;
	struct usual *usual = placed ? NULL : usual_get(analysis, instance, member, side);

	if (judged && !usual)
		return;
	value->judged |= bit;
	if (usual)
		value->placed |= bit;
	enum value_state state = value_state(instance, member, side);
	if (state == VALUE_BAD) {
		judge_bad(analysis, instance, member, side, usual, now_ns);
	} else if (state == VALUE_CLEAN) {
		analysis->origin.clean_ns = now_ns;
		note_clean(instance, member, side, judged);
		last_bad_clean(analysis, instance, member, side);
		if (usual) {
			usual->clean++;
			usual->absmax = value->scans[side].absmax;
		}
	}
}

/* In which step it was, is known only after a few more of them; and what came of it, later still. */
static void tell_more(struct analysis *analysis, uint64_t now_ns)
{
	struct origin *origin = &analysis->origin;
	struct instance *beginning = origin->beginning;
	bool due = origin->look_ns && now_ns >= origin->look_ns;

	if (beginning && beginning->serial != origin->beginning_serial)
		origin->beginning = beginning = NULL;
	if (!due && !(beginning && instance_step(beginning) >= 0))
		return;
	origin->look_ns = 0;
	origin_tell(analysis, true, now_ns);
}

/* Where steps take long, so does what comes of a value. */
static uint64_t wait_ns(const struct analysis *analysis)
{
	uint64_t steps_ns = 3 * pace_step_ns(&analysis->stragglers.pace, PACE_FEW);

	return steps_ns > AFTERMATH_WAIT_NS ? steps_ns : AFTERMATH_WAIT_NS;
}

static void try_to_tell(struct analysis *analysis, bool over, uint64_t now_ns)
{
	struct origin *origin = &analysis->origin;
	uint64_t since_ns = now_ns - origin->pending_ns;
	enum origin_told told = origin_tell(analysis, over || since_ns >= wait_ns(analysis), now_ns);

	if (told == ORIGIN_WAITS) {
		origin->look_ns = now_ns + (since_ns < ORIGIN_LOOK_NS ? since_ns : ORIGIN_LOOK_NS);
		return;
	}
	origin->pending = false;
	origin->look_ns = 0;
	origin->open = told == ORIGIN_STORY;
}

void origin_tick(struct analysis *analysis, bool over, uint64_t now_ns)
{
	struct origin *origin = &analysis->origin;

	if (origin->pending && (over || now_ns >= origin->look_ns))
		try_to_tell(analysis, over, now_ns);
	if (origin->open)
		tell_more(analysis, now_ns);
	if (!origin->open || origin->clean_ns <= origin->bad_ns || now_ns < origin->bad_ns + ORIGIN_CLEAN_NS)
		return;
	end_story(analysis, now_ns);
}
