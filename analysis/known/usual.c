/* SPDX-License-Identifier: MIT */
#include "analysis/known/usual.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/model.h"

static const struct trace *trace_of(const struct instance *instance, uint32_t member)
{
	const struct operation *operation = instance_joined(instance, member);
	const struct process *process = instance->communicator->members[member].process;

	if (!operation)
		return NULL;
	const struct trace *trace = &process->trace[operation->ticket % JOB_TRACE];
	return trace->ticket == operation->ticket ? trace : NULL;
}

static void empty(struct usual_table *table)
{
	for (uint32_t i = 0; i < table->places; i++)
		free(table->rows[i]);
	free(table->rows);
	table->rows = NULL;
	table->places = 0;
	table->entries = 0;
}

bool usual_spot(const struct instance *instance, uint32_t member, struct usual_spot *spot)
{
	*spot = (struct usual_spot){ .communicator = instance->communicator,
				     .place = instance->place.place,
				     .step = instance->place.step,
				     .replay = instance_is_replay(instance) };
	if (spot->replay)
		return true;
	const struct trace *trace = trace_of(instance, member);
	if (!trace)
		return false;
	spot->version = trace->steps_version;
	spot->place = trace->place.place;
	spot->step = trace->place.step;
	return spot->place != STEPS_NO_PLACE;
}

bool usual_is_outside(const struct instance *instance, uint32_t member)
{
	const struct steps *steps = &instance->communicator->members[member].process->steps;
	struct usual_spot spot;

	return steps->trust >= STEPS_REGULAR && !usual_spot(instance, member, &spot);
}

bool usual_spot_is(const struct usual_spot *spot, const struct usual_spot *other)
{
	return spot->communicator == other->communicator && spot->version == other->version &&
	       spot->place == other->place && spot->replay == other->replay;
}

static bool is_current(const struct usual_table *table, const struct usual_spot *spot)
{
	return table && table->version == spot->version;
}

static struct usual_table **table_of(const struct instance *instance, uint32_t member)
{
	struct communicator *communicator = instance->communicator;

	return instance_is_replay(instance) ? &communicator->usual_replays : &communicator->members[member].usual;
}

struct usual_table *usual_table(const struct instance *instance, uint32_t member)
{
	return *table_of(instance, member);
}

/* Steps recognised anew make other places of the same operations. */
static struct usual_table *table_for(struct analysis *analysis, const struct instance *instance, uint32_t member,
				     const struct usual_spot *spot)
{
	struct usual_table **at = table_of(instance, member), *table = *at;

	if (!table)
		table = *at = calloc(1, sizeof(*table));
	else if (is_current(table, spot))
		return table;
	else if (spot->version < table->version)
		return NULL;
	if (!table)
		return NULL;
	analysis->usual_entries -= table->entries;
	empty(table);
	memset(table->trend_place, 0, sizeof(table->trend_place));
	table->version = spot->version;
	table->members = instance_is_replay(instance) ? instance->communicator->member_count : 1;
	return table;
}

static bool grow_places(struct usual_table *table, uint32_t place)
{
	if (place < table->places)
		return true;
	if (place >= USUAL_PLACES)
		return false;
	uint32_t places = place + 64;
	struct usual **rows = realloc(table->rows, places * sizeof(*rows));
	if (!rows)
		return false;
	memset(rows + table->places, 0, (places - table->places) * sizeof(*rows));
	table->rows = rows;
	table->places = places;
	return true;
}

static struct usual *row_for(struct analysis *analysis, struct usual_table *table, uint32_t place)
{
	if (!grow_places(table, place))
		return NULL;
	if (!table->rows[place] && analysis->usual_entries + table->members * 2 <= USUAL_MAX) {
		table->rows[place] = calloc(table->members * 2, sizeof(struct usual));
		if (table->rows[place]) {
			table->entries += table->members * 2;
			analysis->usual_entries += table->members * 2;
		}
	}
	return table->rows[place];
}

/* Has what it is a place of repeated for longer than the layers of a model do? */
static bool is_regular(const struct instance *instance, uint32_t member, const struct usual_spot *spot)
{
	const struct steps *steps = &instance->communicator->members[member].process->steps;

	return instance_is_replay(instance) || (steps->version == spot->version && steps->trust >= STEPS_REGULAR);
}

static uint32_t row_of(const struct instance *instance, uint32_t member)
{
	return instance_is_replay(instance) ? member : 0;
}

struct usual *usual_get(struct analysis *analysis, const struct instance *instance, uint32_t member,
			enum value_side side)
{
	struct usual_spot spot;

	if (!usual_spot(instance, member, &spot) || !is_regular(instance, member, &spot))
		return NULL;
	struct usual_table *table = table_for(analysis, instance, member, &spot);
	/* A member that appeared later than the table is told from the others by nothing that was seen. */
	if (!table || row_of(instance, member) >= table->members)
		return NULL;
	struct usual *row = row_for(analysis, table, spot.place);
	return row ? &row[row_of(instance, member) * 2 + side] : NULL;
}

struct usual *usual_find(const struct instance *instance, uint32_t member, enum value_side side)
{
	const struct usual_table *table = usual_table(instance, member);
	struct usual_spot spot;

	if (!usual_spot(instance, member, &spot) || !is_current(table, &spot) || spot.place >= table->places ||
	    row_of(instance, member) >= table->members || !table->rows[spot.place])
		return NULL;
	return &table->rows[spot.place][row_of(instance, member) * 2 + side];
}

static uint64_t bad_elements(const struct rw_scan *scan)
{
	return (uint64_t)scan->nan + scan->inf;
}

bool usual_covers(const struct usual *usual, const struct rw_scan *scan)
{
	if (!usual->from_start || usual->bad < USUAL_BAD_MIN || (scan->nan && !usual->nan))
		return false;
	if (usual->same_first && scan->first_bad < usual->first)
		return false;
	return bad_elements(scan) <= usual->most * USUAL_GROWTH;
}

void usual_widen(struct usual *usual, const struct rw_scan *scan)
{
	if (!usual->bad++) {
		usual->first = scan->first_bad;
		usual->same_first = true;
	}
	usual->same_first = usual->same_first && usual->first == scan->first_bad;
	usual->nan = usual->nan || scan->nan;
	if (bad_elements(scan) > usual->most)
		usual->most = bad_elements(scan);
}

void usual_accept(struct usual *usual, const struct rw_scan *scan)
{
	usual->from_start = true;
	usual->told = true;
	usual_widen(usual, scan);
	if (usual->bad < USUAL_BAD_MIN)
		usual->bad = USUAL_BAD_MIN;
}

static struct early_bad *find_early(const struct instance *instance, uint32_t member, enum value_side side)
{
	struct member *of = &instance->communicator->members[member];
	const struct rw_scan *scan = value_scan(instance, member, side);

	for (uint32_t i = 0; i < of->early_count; i++) {
		struct early_bad *early = &of->early[i];
		if (early->function == instance->function && early->side == side && early->first == scan->first_bad &&
		    early->elements == bad_elements(scan) && early->nan == (scan->nan != 0))
			return early;
	}
	return NULL;
}

bool usual_came_early(const struct instance *instance, uint32_t member, enum value_side side)
{
	return find_early(instance, member, side) != NULL;
}

bool usual_recurs_early(const struct instance *instance, uint32_t member, enum value_side side)
{
	const struct early_bad *early = find_early(instance, member, side);

	return early && early->times > 1 && early->elements * 2 < value_elements(instance, side);
}

void usual_keep_early(const struct instance *instance, uint32_t member, enum value_side side)
{
	struct member *of = &instance->communicator->members[member];
	struct early_bad *early = find_early(instance, member, side);
	const struct rw_scan *scan = value_scan(instance, member, side);

	if (!early && of->early_count < sizeof(of->early) / sizeof(*of->early)) {
		early = &of->early[of->early_count++];
		*early = (struct early_bad){ .elements = bad_elements(scan),
					     .first = scan->first_bad,
					     .function = instance->function,
					     .side = (uint8_t)side,
					     .nan = scan->nan != 0 };
	}
	uint64_t ticket = instance_joined(instance, member)->ticket;
	if (!early || ticket <= early->ticket)
		return;
	early->times += !early->times || (of->clean_ticket > early->ticket && of->clean_ticket <= ticket);
	early->ticket = ticket;
}

void usual_free(struct usual_table *table)
{
	if (!table)
		return;
	empty(table);
	free(table);
}
