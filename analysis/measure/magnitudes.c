/* SPDX-License-Identifier: MIT */
#include "analysis/measure/magnitudes.h"

#include <math.h>

#include "analysis/model.h"
#include "analysis/report/naming.h"

/* CELLS_LINES: there is no more room. */
static uint32_t line_of(struct cells *cells, const struct communicator *communicator)
{
	for (uint32_t i = 0; i < cells->line_count; i++)
		if (cells->lines[i].communicator == communicator->id)
			return i;
	if (cells->line_count == CELLS_LINES) {
		cells->more_lines = true;
		return CELLS_LINES;
	}
	cells->lines[cells->line_count] = (struct cells_line){ .communicator = communicator->id };
	return cells->line_count++;
}

/* New in a column: more of its members may be known than in the last one, and then it has another name. */
static void name_line(struct analysis *analysis, const struct communicator *communicator, uint32_t line)
{
	char *name = analysis->cells.lines[line].name;

	naming_communicator(name, sizeof(analysis->cells.lines[line].name), &analysis->job, communicator);
}

static void note(struct analysis *analysis, const struct instance *instance, uint32_t member, enum value_side side,
		 float largest)
{
	uint32_t line = line_of(&analysis->cells, instance->communicator);
	int64_t step = instance_step_in_row(instance);
	uint64_t at_ns = instance->start_ns ? instance->start_ns : instance->created_ns;
	struct cell_magnitude *magnitude =
	    line < CELLS_LINES ? cells_magnitude_at(&analysis->cells, line, step > 0 ? (uint64_t)step : 0, at_ns)
			       : NULL;

	if (!magnitude)
		return;
	if (magnitude->brought <= 0 && magnitude->result <= 0)
		name_line(analysis, instance->communicator, line);
	if (side == VALUE_OUT && largest > magnitude->result)
		magnitude->result = largest;
	if (side == VALUE_IN && largest > magnitude->brought) {
		magnitude->brought = largest;
		magnitude->rank = instance->communicator->members[member].rank;
	}
}

void magnitudes_note(struct analysis *analysis, struct instance *instance)
{
	/* A loss or a norm is no tensor: beside one it would be all that is seen of its communicator. */
	if (!analysis->cells.limit || value_type_largest(instance->dtype) <= 0 || value_is_number(instance))
		return;
	for (uint32_t i = 0; i < instance->value_room && i < instance->communicator->member_count; i++)
		for (int side = VALUE_IN; side <= VALUE_OUT; side++) {
			const struct rw_scan *scan = value_scan(instance, i, (enum value_side)side);

			if (!scan || instance->values[i].noted & 1u << side)
				continue;
			instance->values[i].noted |= (uint8_t)(1u << side);
			if (scan->absmax > 0 && isfinite(scan->absmax))
				note(analysis, instance, i, (enum value_side)side, scan->absmax);
		}
}
