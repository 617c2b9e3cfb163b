/* SPDX-License-Identifier: MIT */
#include "analysis/values/drift.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/model.h"
#include "analysis/numbers/sorting.h"
#include "analysis/known/usual.h"
#include "analysis/report/value_text.h"

/* How fast a rank's usual distance from the others follows what it does. */
static const float spread_pace = 0.1f;

enum trend { RISING, SATURATING, TRENDS };

static const enum rw_kind trend_kinds[] = { [RISING] = RW_KIND_DRIFT, [SATURATING] = RW_KIND_SATURATION };

enum {
	TREND_SUBJECT = 1 << 30, /* communicators, beside ranks */
};

static bool is_fp8(uint8_t dtype)
{
	return dtype == RW_DTYPE_FLOAT8_E4M3 || dtype == RW_DTYPE_FLOAT8_E5M2;
}

/* Binades below the type's maximum from which growth is told; fp8 is scaled up to its maximum on purpose. */
static float nearness(uint8_t dtype)
{
	if (dtype == RW_DTYPE_FLOAT16)
		return DRIFT_NEAR_FP16;
	return dtype == RW_DTYPE_FLOAT32 || dtype == RW_DTYPE_BFLOAT16 ? DRIFT_NEAR_WIDE : 0;
}

/* False: nothing finite but zeros. */
static bool level_of(const struct instance *instance, uint32_t member, enum value_side side, float *binades)
{
	const struct rw_scan *scan = value_scan(instance, member, side);

	if (!scan || !(scan->absmax > 0) || !isfinite(scan->absmax))
		return false;
	*binades = log2f(scan->absmax);
	return true;
}

static struct record *new_record(const struct analysis *analysis, const struct instance *instance, enum rw_kind kind,
				 const uint32_t *ranks, uint32_t count, uint32_t member, enum value_side side)
{
	struct record *record = record_new(&analysis->job, kind, RW_SCOPE_RANK, ranks, count);

	if (!record)
		return NULL;
	record->finding.severity = RW_WARNING;
	record->finding.confidence = RW_LIKELY;
	record_set_operation(record, &analysis->job, instance, RW_PHASE_NONE);
	record_set_values(record, instance, member, side, RW_ORIGIN_UNKNOWN);
	record->finding.values.first_bad = RW_NO_INDEX;
	record_add_missing(record, "whether it is a fault: magnitudes show that values are unusual, and not why");
	return record;
}

static uint64_t *parted_slot(struct analysis *analysis, uint32_t rank)
{
	struct drifts *drifts = &analysis->drifts;

	if (rank >= drifts->room) {
		uint32_t room = analysis->job.rank_count;
		uint64_t *parted = realloc(drifts->parted_since, room * sizeof(*parted));
		if (!parted)
			return NULL;
		for (uint32_t i = drifts->room; i < room; i++)
			parted[i] = 0;
		drifts->parted_since = parted;
		drifts->room = room;
	}
	return &drifts->parted_since[rank];
}

uint64_t drift_parted_since(const struct analysis *analysis, uint32_t rank)
{
	return rank < analysis->drifts.room ? analysis->drifts.parted_since[rank] : 0;
}

static void tell_parted(struct analysis *analysis, const struct instance *instance, uint32_t member,
			const struct level *level, float distance, uint64_t now_ns)
{
	uint32_t rank = instance->communicator->members[member].rank;
	uint64_t *since = parted_slot(analysis, rank);

	if (!since || *since)
		return;
	*since = level->since_step;
	struct record *record = new_record(analysis, instance, RW_KIND_DRIFT, &rank, 1, member, VALUE_IN);
	if (!record)
		return;
	record->subject = rank;
	record->finding.late.since_step = instance_told_step(instance, level->since_step);
	record_set_seen(record, instance, member, now_ns);
	value_text_parted(record, exp2((double)distance));
	findings_tell(&analysis->findings, record, now_ns);
}

static void end_parted(struct analysis *analysis, const struct instance *instance, uint32_t member, uint64_t now_ns)
{
	uint32_t rank = instance->communicator->members[member].rank;
	uint64_t *since = parted_slot(analysis, rank);

	if (!since || !*since)
		return;
	*since = 0;
	findings_close(&analysis->findings, RW_KIND_DRIFT, rank, now_ns);
}

/* Median of what the ranks bring; false when there are too few to compare. */
static bool median_of(const struct instance *instance, float *median)
{
	uint32_t count = 0, members = instance->communicator->member_count;
	float *levels = malloc(members * sizeof(*levels));

	for (uint32_t i = 0; levels && i < members; i++)
		count += level_of(instance, i, VALUE_IN, &levels[count]);
	if (levels && count > DRIFT_OTHERS_MIN) {
		sort_floats(levels, count);
		*median = levels[count / 2];
	}
	free(levels);
	return count > DRIFT_OTHERS_MIN;
}

static bool is_beyond(const struct level *level, float distance)
{
	return level->compared >= DRIFT_HISTORY && fabsf(distance) > level->spread + DRIFT_PART;
}

/* More than a quarter of the ranks at once: it is not one of them that has parted. */
static bool is_common(const struct instance *instance, float median)
{
	uint32_t beyond = 0;
	float binades;

	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		const struct usual *usual = usual_find(instance, i, VALUE_IN);
		beyond += usual && level_of(instance, i, VALUE_IN, &binades) &&
			  is_beyond(&usual->level, binades - median);
	}
	return beyond > 1 && beyond * 4 > instance->communicator->member_count;
}

static void compare_rank(struct analysis *analysis, const struct instance *instance, uint32_t member, float median,
			 uint64_t now_ns)
{
	struct usual *usual = usual_find(instance, member, VALUE_IN);
	float binades;

	if (!usual || !level_of(instance, member, VALUE_IN, &binades))
		return;
	struct level *level = &usual->level;
	float distance = binades - median;
	if (is_beyond(level, distance)) {
		if (!level->parted++)
			level->since_step = instance->place.step;
		if (level->parted == DRIFT_IN_A_ROW)
			tell_parted(analysis, instance, member, level, distance, now_ns);
		return;
	}
	if (level->parted >= DRIFT_IN_A_ROW)
		end_parted(analysis, instance, member, now_ns);
	level->parted = 0;
	float more = fabsf(distance) - level->spread;
	if (more > 0)
		level->spread += level->compared < DRIFT_HISTORY ? more : more * spread_pace;
	level->compared++;
}

static void compare_ranks(struct analysis *analysis, const struct instance *instance, uint64_t now_ns)
{
	float median;

	if (value_elements(instance, VALUE_IN) < DRIFT_ELEMENTS_MIN)
		return;
	if (!median_of(instance, &median) || is_common(instance, median))
		return;
	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		compare_rank(analysis, instance, i, median, now_ns);
}

static float saturated_share(const struct instance *instance, uint32_t member, enum value_side side)
{
	const struct rw_scan *scan = value_scan(instance, member, side);
	uint64_t elements = value_elements(instance, side);

	return scan && elements && is_fp8(instance->dtype) ? (float)scan->saturated / (float)elements : 0;
}

/* Counts what goes beyond the mean of the first times; the first times make it. */
static void follow(const struct instance *instance, uint32_t member, enum value_side side, struct level *level)
{
	float binades, share = saturated_share(instance, member, side);

	if (!level_of(instance, member, side, &binades))
		return;
	if (level->times < DRIFT_HISTORY) {
		float weight = 1.0f / (float)++level->times;
		level->usual += (binades - level->usual) * weight;
		level->saturated += (share - level->saturated) * weight;
		return;
	}
	float limit = log2f((float)fmin(value_type_largest(instance->dtype), 3.4e38)) - nearness(instance->dtype);
	bool rising = nearness(instance->dtype) > 0 && binades > limit && binades > level->usual + DRIFT_GROWN;
	bool saturating = share >= DRIFT_SATURATED && share >= level->saturated * DRIFT_SATURATED_BY;
	level->trending[RISING] = rising ? level->trending[RISING] + 1 : 0;
	level->trending[SATURATING] = saturating ? level->trending[SATURATING] + 1 : 0;
}

static void tell_trend(struct analysis *analysis, const struct instance *instance, enum trend trend,
		       const uint32_t *ranks, uint32_t count, uint32_t member, enum value_side side, uint64_t now_ns)
{
	struct record *record = new_record(analysis, instance, trend_kinds[trend], ranks, count, member, side);

	if (!record)
		return;
	record->subject = TREND_SUBJECT | instance->communicator->index;
	record_set_seen(record, instance, member, now_ns);
	if (trend == RISING)
		value_text_rising(record, (double)value_scan(instance, member, side)->absmax,
				  value_type_largest(instance->dtype));
	else
		value_text_saturation(record, (double)saturated_share(instance, member, side),
				      (double)usual_find(instance, member, side)->level.saturated);
	findings_tell(&analysis->findings, record, now_ns);
}

/* The member that holds what is said of the place: of a transfer its sender. */
static uint32_t lead_of(const struct instance *instance)
{
	const struct communicator *communicator = instance->communicator;

	for (uint32_t i = 0; instance_is_point_to_point(instance) && i < communicator->member_count; i++)
		if (communicator->members[i].comm_rank == instance->source)
			return i;
	return 0;
}

/* One place speaks for the communicator: layers go the same way. */
static void judge_trend(struct analysis *analysis, const struct instance *instance, enum value_side side,
			enum trend trend, uint64_t now_ns)
{
	struct communicator *communicator = instance->communicator;
	uint32_t lead = lead_of(instance), count = 0, member = 0;
	uint32_t *open = &usual_table(instance, lead)->trend_place[trend];
	struct usual_spot spot;
	uint32_t *ranks = calloc(communicator->member_count + 1, sizeof(*ranks));

	for (uint32_t i = 0; ranks && i < communicator->member_count; i++) {
		const struct usual *usual = usual_find(instance, i, side);
		if (!usual || usual->level.trending[trend] < DRIFT_IN_A_ROW || !value_scan(instance, i, side))
			continue;
		member = i;
		ranks[count++] = communicator->members[i].rank;
	}
	usual_spot(instance, lead, &spot); /* it has one: drift_judge() found what is usual there */
	uint32_t place = spot.place * 2 + side + 1;
	if (count && !*open) {
		*open = place;
		tell_trend(analysis, instance, trend, ranks, count, member, side, now_ns);
	} else if (!count && *open == place) {
		*open = 0;
		findings_close(&analysis->findings, trend_kinds[trend], TREND_SUBJECT | communicator->index, now_ns);
	}
	free(ranks);
}

/* Each value once, when its place is known. */
static void follow_all(struct instance *instance, enum value_side side)
{
	for (uint32_t i = 0; i < instance->value_room && i < instance->communicator->member_count; i++) {
		struct usual *usual = value_scan(instance, i, side) ? usual_find(instance, i, side) : NULL;
		if (!usual || instance->values[i].followed & 1u << side)
			continue;
		instance->values[i].followed |= (uint8_t)(1u << side);
		follow(instance, i, side, &usual->level);
	}
}

void drift_judge(struct analysis *analysis, struct instance *instance, uint64_t now_ns)
{
	/* Where something bad is on its way, magnitudes say nothing. */
	if (analysis->origin.pending || analysis->origin.open)
		return;
	for (int side = VALUE_IN; side <= VALUE_OUT; side++)
		follow_all(instance, (enum value_side)side);
	if (instance->drift_judged || !usual_find(instance, lead_of(instance), VALUE_IN))
		return;
	instance->drift_judged = true;
	for (int side = VALUE_IN; side <= VALUE_OUT; side++)
		for (int trend = RISING; trend < TRENDS; trend++)
			judge_trend(analysis, instance, (enum value_side)side, (enum trend)trend, now_ns);
	compare_ranks(analysis, instance, now_ns);
}

bool drift_is_rising(const struct instance *instance, uint32_t member)
{
	const struct usual *usual = usual_find(instance, member, VALUE_IN);

	return usual && usual->level.trending[RISING] >= DRIFT_IN_A_ROW;
}

void drifts_free(struct drifts *drifts)
{
	free(drifts->parted_since);
	*drifts = (struct drifts){ 0 };
}
