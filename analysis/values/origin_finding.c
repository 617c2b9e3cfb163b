/* SPDX-License-Identifier: MIT */
/* From the first bad value of every rank to who made it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measure/aftermath.h"
#include "analysis/explain/gpu_evidence.h"
#include "analysis/model.h"
#include "analysis/report/naming.h"
#include "analysis/values/nature.h"
#include "analysis/values/origin_story.h"
#include "analysis/numbers/sorting.h"
#include "analysis/report/value_text.h"

enum {
	HARMLESS_SUBJECT = 1 << 29, /* ranks, beside the one story */
};

/* Half of what the type holds: rounding, and scaling by the number of ranks on the way, stay below that. */
static bool may_overflow(const struct instance *instance)
{
	double sum = 0;

	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		const struct rw_scan *scan = value_scan(instance, i, VALUE_IN);
		sum += scan ? (double)scan->absmax : 0;
	}
	return value_is_reduction(instance) && sum * 2 >= value_type_largest(instance->dtype);
}

static uint32_t count_chosen(const bool *chosen, uint32_t ranks)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ranks; i++)
		count += chosen[i];
	return count;
}

/* Who brought it, and who else may have. */
static void choose_makers(const struct origin_story *story, bool *named)
{
	for (uint32_t i = 0; i < story->ranks; i++)
		named[i] = story->upstream.suspects[i] ||
			   (story->beginnings[i].instance && story->beginnings[i].side == VALUE_IN);
}

static void choose_results(const struct instance *instance, bool *named)
{
	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		if (value_state(instance, i, VALUE_OUT) == VALUE_BAD)
			named[instance->communicator->members[i].rank] = true;
}

static uint32_t *collect(const bool *chosen, uint32_t ranks, uint32_t *count)
{
	uint32_t *list = calloc(ranks + 1, sizeof(*list));

	*count = 0;
	for (uint32_t i = 0; list && i < ranks; i++)
		if (chosen[i])
			list[(*count)++] = i;
	return list;
}

static enum rw_kind kind_of(const struct origin_story *story, bool inside)
{
	const struct first_bad *main = story->main;

	if (inside)
		return may_overflow(main->instance) ? RW_KIND_OVERFLOW : RW_KIND_CORRUPTION;
	return value_scan(main->instance, main->member, main->side)->nan ? RW_KIND_NAN : RW_KIND_INF;
}

/* The named ranks, and those that had it afterwards. */
static struct record *new_record(const struct analysis *analysis, const struct origin_story *story, bool inside)
{
	bool *named = calloc(story->ranks + 1, sizeof(*named));
	struct record *record = NULL;
	uint32_t count = 0, victim_count = 0;

	if (!named)
		return NULL;
	if (!inside)
		choose_makers(story, named);
	if (!count_chosen(named, story->ranks) && (inside || !origin_story_came_from_unseen(analysis, story)))
		choose_results(story->main->instance, named);
	uint32_t *ranks = collect(named, story->ranks, &count);
	for (uint32_t i = 0; i < story->ranks; i++)
		named[i] = !named[i] && story->firsts[i].instance;
	uint32_t *victims = collect(named, story->ranks, &victim_count);
	enum rw_kind kind = kind_of(story, inside);
	if (ranks && victims)
		record = record_new(&analysis->job, kind, kind == RW_KIND_OVERFLOW ? RW_SCOPE_JOB : RW_SCOPE_RANK,
				    ranks, count);
	if (record && record_set_waiting(record, &analysis->job, victims, victim_count)) {
		record_free(record);
		record = NULL;
	}
	free(named);
	free(ranks);
	free(victims);
	return record;
}

static enum rw_confidence trust(const struct origin_story *story, enum rw_kind kind, bool inside)
{
	const struct upstream *upstream = &story->upstream;
	uint32_t inputs, results, input = 0;

	if (inside)
		return kind == RW_KIND_OVERFLOW ? RW_CERTAIN : RW_INCONCLUSIVE;
	origin_story_count(story, &inputs, &results, &input);
	if (upstream->blind)
		return RW_INCONCLUSIVE;
	if (!inputs && upstream->count == 1 && !value_is_reduction(story->main->instance))
		return RW_LIKELY;
	/* A rank that is its own only suspect made it, if not here, then before. */
	bool own = inputs == 1 && upstream->count == 1 && upstream->suspects[input];
	if (results || (upstream->count && !own))
		return RW_INCONCLUSIVE;
	return upstream->discounted ? RW_LIKELY : RW_CERTAIN;
}

static const char *why_not_scanned(const struct first_bad *main)
{
	const struct instance *instance = main->instance;
	const struct operation *operation = instance_joined(instance, main->member);

	if (operation && operation->flags & RW_FLAG_IN_PLACE)
		return " in place";
	if (operation && operation->flags & RW_FLAG_SAMPLED_OUT)
		return ", left out by sampling";
	return ", input not scanned";
}

/* They were scanned, and seen to be bad. */
static bool has_habit(const struct instance *instance)
{
	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		if (value_matters(instance, i, VALUE_IN) && value_state(instance, i, VALUE_IN) == VALUE_BAD)
			return true;
	return false;
}

static void add_missing(struct record *record, const struct origin_story *story)
{
	const struct first_bad *main = story->main;
	char what[160];

	if (!record->finding.rank_count) {
		record_add_missing(record, "whose input it came from: " VALUE_TEXT_CLEAN_INPUTS);
	} else if (main->side == VALUE_OUT && has_habit(main->instance)) {
		record_add_missing(record, "whether it came from this input: the input was bad again and again before, "
					   "with clean values in between, "
					   "and was taken for usual, as a mask is");
	} else if (main->side == VALUE_OUT) {
		snprintf(what, sizeof(what), "the rank that made it is not visible without `rankwatch run` (%s%s)",
			 naming_function(main->instance->function), why_not_scanned(main));
		record_add_missing(record, what);
	} else if (story->upstream.count) {
		snprintf(what, sizeof(what), "%u earlier operations that can have brought it were not scanned",
			 story->upstream.not_scanned);
		record_add_missing(record, what);
	}
	if (story->upstream.discounted && record->finding.confidence == RW_LIKELY)
		record_add_missing(record, "whether an earlier operation brought it: its result was not scanned, but "
					   "clean values came after it");
	if (story->upstream.blind)
		record_add_missing(
		    record,
		    "part of what came before was not seen (ranks without a box, captured or untracked operations)");
}

/* What else is known of those who brought it: their values before, and their GPUs. */
static void add_evidence(struct record *record, const struct analysis *analysis, const struct origin_story *story,
			 uint64_t now_ns)
{
	for (uint32_t i = 0; i < story->ranks; i++) {
		uint64_t step = drift_parted_since(analysis, i);
		int64_t told = instance_told_step(story->main->instance, step);
		char when[32] = "before", what[128];
		if (!story->beginnings[i].instance || story->beginnings[i].side == VALUE_OUT)
			continue;
		gpu_evidence_attach(analysis, record, i, record->finding.first_seen_ns, now_ns);
		if (!step)
			continue;
		if (told >= 0)
			snprintf(when, sizeof(when), "in step %" PRId64, told);
		snprintf(what, sizeof(what), "the largest value of rank %d left those of the others %s",
			 analysis->job.ranks[i].world, when);
		record_add_evidence(record, "scan", -1, what);
	}
}

/* What it made before, in this run. */
static void add_history(struct record *record, const struct analysis *analysis, uint32_t index)
{
	const struct rank *rank = &analysis->job.ranks[index];
	char what[128], when[32] = "";

	if (!rank->births)
		return;
	if (rank->birth_step >= 0)
		snprintf(when, sizeof(when), ", in step %" PRId64, rank->birth_step);
	snprintf(what, sizeof(what), "rank %d made bad values before%s, and was clean in between", rank->world, when);
	record_add_evidence(record, "scan", -1, what);
}

/* Who begins at the operation that is told of, and who elsewhere: none of them came after another one, so that all are
 * named, but nobody brings anything into a call of others. Returns what the caller frees; NULL: no memory. */
static int32_t *find_bringers(const struct analysis *analysis, const struct origin_story *story,
			      struct value_bringers *bringers)
{
	int32_t *here = calloc(2 * (size_t)story->ranks + 1, sizeof(*here)),
		*elsewhere = here ? here + story->ranks : NULL;

	*bringers = (struct value_bringers){ .here = here, .elsewhere = elsewhere };
	for (uint32_t i = 0; here && i < story->ranks; i++) {
		const struct first_bad *beginning = &story->beginnings[i];
		int32_t world = analysis->job.ranks[i].world;

		if (!beginning->instance || beginning->side != VALUE_IN)
			continue;
		if (beginning->instance == story->main->instance)
			here[bringers->here_count++] = world;
		else
			elsewhere[bringers->elsewhere_count++] = world;
	}
	if (here) {
		sort_i32(here, bringers->here_count);
		sort_i32(elsewhere, bringers->elsewhere_count);
	}
	return here;
}

static void write_born(struct record *record, const struct analysis *analysis, const struct origin_story *story)
{
	struct value_bringers bringers;
	int32_t *room = find_bringers(analysis, story, &bringers);

	if (room)
		value_text_born(record, &bringers);
	free(room);
}

static void write_text(struct record *record, const struct analysis *analysis, const struct origin_story *story,
		       bool inside)
{
	enum rw_kind kind = record->finding.kind;

	if (inside && kind == RW_KIND_OVERFLOW)
		value_text_overflow(record);
	else if (inside)
		value_text_damaged(record);
	else if (!record->finding.rank_count)
		value_text_unseen(record);
	else if (record->finding.confidence == RW_INCONCLUSIVE || story->main->side == VALUE_OUT)
		value_text_unknown(record, story->main->side == VALUE_OUT,
				   job_unseen(story->main->instance->communicator) > 0);
	else
		write_born(record, analysis, story);
}

/* Numerics or hardware? Only where it is known who made it. */
static void add_nature(struct record *record, const struct analysis *analysis, const struct origin_story *story)
{
	uint32_t inputs, results, rank = 0;
	char nature[128];

	if (record->finding.confidence == RW_INCONCLUSIVE)
		return;
	if (nature_tell(analysis, story, nature, sizeof(nature)))
		value_text_nature(record, nature);
	origin_story_count(story, &inputs, &results, &rank);
	if (inputs != 1)
		return;
	add_history(record, analysis, rank);
	gpu_evidence_explain_value(analysis, record, rank, record->finding.first_seen_ns);
}

static enum rw_values_origin origin_of(const struct record *record, const struct origin_story *story, bool inside)
{
	if (inside)
		return record->finding.kind == RW_KIND_OVERFLOW ? RW_ORIGIN_REDUCTION : RW_ORIGIN_TRANSPORT;
	if (record->finding.confidence == RW_INCONCLUSIVE)
		return RW_ORIGIN_UNKNOWN;
	return story->main->side == VALUE_OUT ? RW_ORIGIN_RECEIVED : RW_ORIGIN_BORN;
}

static enum rw_values_seen seen_of(const struct rw_finding *finding, const struct origin_story *story)
{
	if (finding->kind == RW_KIND_CORRUPTION)
		return RW_VALUES_SEEN_NONE;
	if (finding->confidence != RW_INCONCLUSIVE)
		return RW_VALUES_SEEN_MAKER;
	if (story->main->side == VALUE_IN)
		return RW_VALUES_SEEN_INPUT;
	return finding->rank_count ? RW_VALUES_SEEN_UNSCANNED : RW_VALUES_SEEN_RESULT;
}

static void keep_beginning(struct origin *origin, const struct first_bad *main, const struct rw_finding *finding)
{
	origin->kind = finding->kind;
	origin->beginning = finding->operation.step < 0 ? main->instance : NULL;
	origin->beginning_serial = main->instance->serial;
	origin->maker = finding->rank_count == 1 && finding->confidence != RW_INCONCLUSIVE && main->side == VALUE_IN
				? main->instance->communicator->members[main->member].rank
				: JOB_NONE;
	origin->maker_step = finding->operation.step;
}

/* What was told when more was remembered, and nearer to it, stands. */
static bool contradicts(const struct record *told, const struct rw_finding *finding)
{
	if (!told)
		return false;
	const struct rw_finding *before = &told->finding;
	return before->operation.comm != finding->operation.comm ||
	       before->operation.function != finding->operation.function ||
	       before->operation.sequence != finding->operation.sequence || before->confidence != finding->confidence ||
	       before->rank_count != finding->rank_count ||
	       memcmp(before->ranks, finding->ranks, before->rank_count * sizeof(*before->ranks));
}

static enum rw_severity severity_of(enum rw_kind kind, enum aftermath aftermath)
{
	if (aftermath == AFTERMATH_HARMLESS || aftermath == AFTERMATH_SCALED)
		return RW_NOTICE;
	return (kind == RW_KIND_NAN && aftermath == AFTERMATH_SPOILT) || kind == RW_KIND_CORRUPTION ? RW_CRITICAL
												    : RW_WARNING;
}

static struct record *make_record(struct analysis *analysis, const struct origin_story *story, bool inside,
				  enum aftermath aftermath, uint64_t now_ns)
{
	const struct first_bad *main = story->main;
	struct record *record = new_record(analysis, story, inside);

	if (!record)
		return NULL;
	struct rw_finding *finding = &record->finding;
	finding->severity = severity_of(finding->kind, aftermath);
	finding->confidence = trust(story, finding->kind, inside);
	record_set_operation(record, &analysis->job, main->instance, RW_PHASE_NONE);
	record_set_values(record, main->instance, main->member, main->side, origin_of(record, story, inside));
	finding->values.not_scanned = story->upstream.not_scanned;
	finding->values.seen = seen_of(finding, story);
	finding->values.whole = !job_unseen(main->instance->communicator) && !story->upstream.blind;
	record_set_seen(record, main->instance, main->member, now_ns);
	if (!inside) {
		add_missing(record, story);
		add_evidence(record, analysis, story, now_ns);
	}
	if (inside && finding->confidence != RW_CERTAIN)
		record_add_missing(
		    record,
		    "which rank or link it was: all inputs were clean, and too small for their sum to overflow");
	if (aftermath == AFTERMATH_UNSEEN && !inside)
		record_add_missing(record, "what came of it: no sum over ranks was scanned afterwards");
	write_text(record, analysis, story, inside);
	return record;
}

static void tell(struct analysis *analysis, const struct origin_story *story, bool inside, enum aftermath aftermath,
		 uint64_t now_ns)
{
	struct origin *origin = &analysis->origin;
	struct record *record = make_record(analysis, story, inside, aftermath, now_ns);

	if (!record)
		return;
	struct rw_finding *finding = &record->finding;
	if (origin->open && finding->severity < origin->severity)
		finding->severity = origin->severity;
	if (!inside)
		add_nature(record, analysis, story);
	origin->severity = finding->severity;
	keep_beginning(origin, story->main, finding);
	if (contradicts(findings_open(&analysis->findings, finding->kind, record->subject), finding))
		record_free(record);
	else
		findings_tell(&analysis->findings, record, now_ns);
}

/* Was each of the named seen to bring it? */
static bool all_had_it(const struct origin_story *story)
{
	for (uint32_t i = 0; i < story->ranks; i++)
		if (story->upstream.suspects[i] &&
		    !(story->beginnings[i].instance && story->beginnings[i].side == VALUE_IN))
			return false;
	return story->main->side == VALUE_IN;
}

static void write_scaled(struct record *record, const struct analysis *analysis, const struct origin_story *story)
{
	struct value_bringers bringers;
	int32_t *room = all_had_it(story) ? find_bringers(analysis, story, &bringers) : NULL;

	value_text_scaled(record, room ? &bringers : NULL);
	free(room);
}

/* What harmed nothing: one for each rank that began it, and what a loss scale did is over when it is told. */
static void tell_harmless(struct analysis *analysis, const struct origin_story *story, enum aftermath aftermath,
			  uint64_t now_ns)
{
	struct record *record = make_record(analysis, story, false, aftermath, now_ns);

	if (!record)
		return;
	enum rw_kind kind = record->finding.kind;
	uint32_t subject = record->subject = HARMLESS_SUBJECT | (uint32_t)(story->main - story->beginnings);
	if (aftermath == AFTERMATH_SCALED)
		write_scaled(record, analysis, story);
	else
		value_text_harmless(record);
	findings_tell(&analysis->findings, record, now_ns);
	if (aftermath == AFTERMATH_SCALED)
		findings_close(&analysis->findings, kind, subject, now_ns);
}

static enum origin_told tell_by(struct analysis *analysis, const struct origin_story *story, bool waited,
				uint64_t now_ns)
{
	if (story->main->instance->corrupted) /* another finding says so */
		return ORIGIN_STORY;
	bool inside = origin_story_is_made_inside(analysis, story);
	enum aftermath aftermath = inside ? AFTERMATH_SPOILT : aftermath_judge(analysis, story, waited);
	if (!analysis->origin.open && aftermath == AFTERMATH_OPEN)
		return ORIGIN_WAITS;
	bool harmless = aftermath == AFTERMATH_HARMLESS || aftermath == AFTERMATH_SCALED;
	if (harmless && !analysis->origin.open) {
		tell_harmless(analysis, story, aftermath, now_ns);
		aftermath_excuse(analysis, story, aftermath == AFTERMATH_HARMLESS);
		return ORIGIN_NOTICE;
	}
	tell(analysis, story, inside, aftermath, now_ns);
	return ORIGIN_STORY;
}

enum origin_told origin_tell(struct analysis *analysis, bool waited, uint64_t now_ns)
{
	struct origin_story story;
	enum origin_told told = ORIGIN_NOTHING;

	if (origin_story_read(analysis, &story))
		told = tell_by(analysis, &story, waited, now_ns);
	if (told == ORIGIN_STORY)
		aftermath_note_last_bad(analysis, &story);
	origin_story_free(&story);
	return told;
}
