/* SPDX-License-Identifier: MIT */
#include "analysis/known/values.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model.h"

/* By type: bytes can be anything (FSDP2 sends groups of mixed types as uint8). */
static const struct {
	double largest;
	bool whole; /* integers: neither NaN nor Inf */
} types[RW_DTYPE_COUNT] = {
	[RW_DTYPE_INT32] = { 0, true },
	[RW_DTYPE_UINT32] = { 0, true },
	[RW_DTYPE_INT64] = { 0, true },
	[RW_DTYPE_UINT64] = { 0, true },
	[RW_DTYPE_FLOAT16] = { 65504, false },
	[RW_DTYPE_FLOAT32] = { FLT_MAX, false },
	[RW_DTYPE_FLOAT64] = { DBL_MAX, false },
	[RW_DTYPE_BFLOAT16] = { 0x1.fep127, false },
	[RW_DTYPE_FLOAT8_E4M3] = { 448, false },
	[RW_DTYPE_FLOAT8_E5M2] = { 57344, false },
};

/* What an operation reads and writes. */
enum reach { EVERYBODY, ROOT, SOURCE, TARGET };

static const struct {
	uint8_t in, out; /* enum reach */
	bool reduces, symmetric;
} functions[RW_FUNCTION_COUNT] = {
	[RW_FUNCTION_ALL_GATHER] = { .symmetric = true },
	[RW_FUNCTION_ALL_REDUCE] = { .symmetric = true, .reduces = true },
	[RW_FUNCTION_BROADCAST] = { .in = ROOT, .symmetric = true },
	[RW_FUNCTION_GATHER] = { .out = ROOT },
	[RW_FUNCTION_REDUCE] = { .out = ROOT, .reduces = true },
	[RW_FUNCTION_REDUCE_SCATTER] = { .reduces = true },
	[RW_FUNCTION_SCATTER] = { .in = ROOT },
	[RW_FUNCTION_SEND_RECV] = { .in = SOURCE, .out = TARGET },
};

static bool is_reached(const struct instance *instance, int32_t rank, uint8_t reach)
{
	switch (reach) {
	case ROOT:
		return instance->root_or_peer < 0 || instance->root_or_peer == rank;
	case SOURCE:
		return instance->source == rank;
	case TARGET:
		return instance->target == rank;
	}
	return true;
}

bool value_matters(const struct instance *instance, uint32_t member, enum value_side side)
{
	uint8_t function = instance->function;

	return is_reached(instance, instance->communicator->members[member].comm_rank,
			  side == VALUE_IN ? functions[function].in : functions[function].out);
}

bool value_is_reduction(const struct instance *instance)
{
	return functions[instance->function].reduces;
}

bool value_is_number(const struct instance *instance)
{
	return value_is_reduction(instance) && instance->count <= VALUES_NUMBERS;
}

enum value_effect value_effect(const struct instance *instance, const struct rw_scan *scan)
{
	if (!value_is_reduction(instance))
		return VALUE_SPARES;
	switch (instance->reduction) {
	case RW_OPERATOR_MAX:
	case RW_OPERATOR_MIN:
		return scan->nan && value_is_number(instance) ? VALUE_SPOILS : VALUE_SPARES;
	case RW_OPERATOR_UNKNOWN:
		/* Nobody scatters a maximum. */
		return scan->nan || instance->function == RW_FUNCTION_REDUCE_SCATTER ? VALUE_SPOILS : VALUE_MAY_SPOIL;
	default:
		return VALUE_SPOILS;
	}
}

bool value_is_symmetric(const struct instance *instance)
{
	return functions[instance->function].symmetric;
}

uint64_t value_elements(const struct instance *instance, enum value_side side)
{
	bool gathers = instance->function == RW_FUNCTION_ALL_GATHER && side == VALUE_OUT;
	bool scatters = instance->function == RW_FUNCTION_ALL_TO_ALL ||
			(instance->function == RW_FUNCTION_REDUCE_SCATTER && side == VALUE_IN);
	int32_t size = instance->communicator->size;

	return gathers || scatters ? instance->count * (uint64_t)(size > 0 ? size : 1) : instance->count;
}

double value_type_largest(uint8_t dtype)
{
	return types[dtype].largest;
}

const struct rw_scan *value_scan(const struct instance *instance, uint32_t member, enum value_side side)
{
	if (!instance->values || member >= instance->value_room)
		return NULL;
	const struct value *value = &instance->values[member];
	return value->known & 1u << side ? &value->scans[side] : NULL;
}

enum value_state value_state(const struct instance *instance, uint32_t member, enum value_side side)
{
	const struct rw_scan *scan = value_scan(instance, member, side);

	if (types[instance->dtype].whole)
		return VALUE_CLEAN;
	if (!scan)
		return VALUE_UNKNOWN;
	if (scan->nan || scan->inf)
		return VALUE_BAD;
	/* Without a magnitude the bytes were not read as numbers (unless all are 0): they have a digest only. */
	bool zero = types[instance->dtype].largest > 0 && !scan->lane_sum;
	return scan->absmax > 0 || zero ? VALUE_CLEAN : VALUE_UNKNOWN;
}

static struct value *reserve(struct instance *instance, uint32_t member)
{
	if (!instance->values)
		instance->value_room = 0;
	if (member >= instance->value_room) {
		struct value *values = realloc(instance->values, instance->room * sizeof(*values));
		if (!values)
			return NULL;
		memset(values + instance->value_room, 0, (instance->room - instance->value_room) * sizeof(*values));
		instance->values = values;
		instance->value_room = instance->room;
	}
	return &instance->values[member];
}

void values_queue(struct analysis *analysis, struct instance *instance)
{
	struct values *values = &analysis->values;

	if (instance->values_queued)
		return;
	if (values->count == values->room) {
		uint32_t room = values->room ? values->room * 2 : 256;
		struct values_waiting *waiting = realloc(values->waiting, room * sizeof(*waiting));
		if (!waiting)
			return;
		values->waiting = waiting;
		values->room = room;
	}
	values->waiting[values->count++] =
	    (struct values_waiting){ .instance = instance, .serial = instance->serial, .since_ns = analysis->now_ns };
	instance->values_queued = true;
}

void values_note(struct analysis *analysis, struct instance *instance, uint32_t member, const struct rw_operation *slot)
{
	const struct rw_scan *const scans[] = { [VALUE_IN] = &slot->scan_in, [VALUE_OUT] = &slot->scan_out };
	static const uint32_t known[] = { [VALUE_IN] = RW_KNOWN_SCAN_IN, [VALUE_OUT] = RW_KNOWN_SCAN_OUT };
	struct value *value = reserve(instance, member);

	for (int side = VALUE_IN; value && side <= VALUE_OUT; side++) {
		if (!(slot->known & known[side]) || value->known & 1u << side ||
		    !value_matters(instance, member, (enum value_side)side))
			continue;
		value->scans[side] = *scans[side];
		value->bytes[side] = call_bytes(&(struct call){ .dtype = slot->dtype, .count = slot->count });
		value->known |= (uint8_t)(1u << side);
		analysis->values.seen = true;
		values_queue(analysis, instance);
	}
}

void values_free(struct values *values)
{
	free(values->waiting);
	*values = (struct values){ 0 };
}
