/* SPDX-License-Identifier: MIT */
#include "analysis/match/value_judging.h"

#include "analysis/values/corruption.h"
#include "analysis/values/drift.h"
#include "analysis/measure/magnitudes.h"
#include "analysis/model.h"
#include "analysis/known/replays.h"
#include "analysis/known/values.h"

static bool is_settled(const struct instance *instance)
{
	if (!instance->finished)
		return false;
	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		const struct operation *operation = instance_joined(instance, i);
		if (!operation && instance_is_replay(instance) && instance_concerns(instance, i))
			return false; /* the others wait in vain for nobody: those without a result come never */
		if (operation && operation->state & OPERATION_SCANNING)
			return false;
	}
	return true;
}

static void judge(struct analysis *analysis, struct instance *instance, uint64_t now_ns)
{
	corruption_judge(analysis, instance, now_ns);
	for (uint32_t i = 0; i < instance->value_room && i < instance->communicator->member_count; i++)
		for (int side = VALUE_IN; side <= VALUE_OUT; side++)
			if (value_scan(instance, i, (enum value_side)side))
				origin_judge(analysis, instance, i, (enum value_side)side, now_ns);
	drift_judge(analysis, instance, now_ns);
	magnitudes_note(analysis, instance);
	if (analysis->values.visit)
		analysis->values.visit(analysis->values.visit_argument, instance, now_ns);
}

/* In the order in which they were first scanned: what is usual at a place follows the steps. */
void value_judging_tick(struct analysis *analysis, bool over, uint64_t now_ns)
{
	struct values *values = &analysis->values;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < values->count; i++) {
		struct values_waiting *waiting = &values->waiting[i];
		struct instance *instance = waiting->instance;
		if (instance->serial != waiting->serial)
			continue;
		if (!over && now_ns < waiting->since_ns + VALUES_SETTLE_NS && !is_settled(instance)) {
			values->waiting[kept++] = *waiting;
			continue;
		}
		instance->values_queued = false;
		judge(analysis, instance, now_ns);
	}
	values->count = kept;
}
