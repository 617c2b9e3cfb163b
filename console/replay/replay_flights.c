/* SPDX-License-Identifier: MIT */
/* What was in flight at the end, of all machines together: by the order of calls, whatever their clocks say. */
#include <stdlib.h>
#include <string.h>

#include "console/replay/replay.h"
#include "console/trace/box_operations.h"

/* A copy of what one machine or several say of one operation. */
struct known_flight {
	struct analysis_flight flight;
	char name[96];
	int32_t *joined, *missing;
	const char **phases;
	uint64_t machines; /* bits of those that reported it, of the first 64 */
};

struct gathering {
	const struct replay *replay;
	struct known_flight *list;
	size_t count, machine;
};

static struct known_flight *find(const struct gathering *gathering, const struct analysis_flight *flight)
{
	for (size_t i = 0; i < gathering->count; i++) {
		const struct analysis_flight *known = &gathering->list[i].flight;

		if (known->comm == flight->comm && known->function == flight->function &&
		    known->sequence == flight->sequence)
			return &gathering->list[i];
	}
	return NULL;
}

/* No more ranks can be in it than left a box. */
static struct known_flight *add(struct gathering *gathering, const struct analysis_flight *flight)
{
	struct known_flight *list = reallocarray(gathering->list, gathering->count + 1, sizeof(*list)), *known;
	size_t room = gathering->replay->count + flight->joined_count + flight->missing_count + 1;

	if (!list)
		return NULL;
	gathering->list = list;
	known = &list[gathering->count];
	*known = (struct known_flight){ .flight = *flight,
					.joined = calloc(room, sizeof(int32_t)),
					.missing = calloc(room, sizeof(int32_t)),
					.phases = calloc(room, sizeof(char *)) };
	gathering->count++;
	if (flight->comm_name)
		strncpy(known->name, flight->comm_name, sizeof(known->name) - 1);
	known->flight.joined_count = known->flight.missing_count = 0;
	return known;
}

static bool has_room(const struct gathering *gathering, const struct known_flight *known)
{
	return known->joined && known->missing && known->phases &&
	       known->flight.joined_count + known->flight.missing_count < gathering->replay->count;
}

static void take(void *argument, const struct analysis_flight *flight)
{
	struct gathering *gathering = argument;
	struct known_flight *known = find(gathering, flight);

	if (!known)
		known = add(gathering, flight);
	if (!known)
		return;
	known->machines |= gathering->machine < 64 ? UINT64_C(1) << gathering->machine : 0;
	for (size_t i = 0; i < flight->joined_count && has_room(gathering, known); i++) {
		known->phases[known->flight.joined_count] = flight->joined_phase[i];
		known->joined[known->flight.joined_count++] = flight->joined[i];
	}
	for (size_t i = 0; i < flight->missing_count && has_room(gathering, known); i++)
		known->missing[known->flight.missing_count++] = flight->missing[i];
}

static bool is_member(const struct replay_process *process, const struct analysis_flight *flight)
{
	struct rw_communicator *communicators;
	uint32_t count;
	bool member = false;

	box_communicators(feed_reader(process->feed), &communicators, &count);
	for (uint32_t i = 0; i < count; i++)
		member |= communicators[i].created_ns && communicators[i].id == flight->comm;
	free(communicators);
	return member;
}

/* Has a process that is in this communicator not come to the operation? Each of its calls that the box still has must
 * be numbered as the operation is, and the ring must have kept one, or everything: else nothing is known. */
static bool has_not_called(const struct replay_process *process, const struct analysis_flight *flight)
{
	const struct rw_box_header *header = replay_header(process);
	bool seen = header->head <= header->ring_slots;
	struct box_operations operations;

	if (!is_member(process, flight))
		return false;
	bool certain = box_operations_read(&operations, feed_reader(process->feed)) == 0, called = false;

	for (size_t i = 0; i < operations.count && certain; i++) {
		const struct rw_operation *operation = &operations.list[i];
		const struct rw_communicator *communicator = box_operations_communicator(&operations, operation);

		if (!communicator || communicator->id != flight->comm || operation->function != flight->function)
			continue;
		certain =
		    operation->known & RW_KNOWN_IDENT && !(operation->flags & (RW_FLAG_UNANNOUNCED | RW_FLAG_CAPTURED));
		seen = true;
		called |= operation->sequence >= flight->sequence;
	}
	box_operations_free(&operations);
	return certain && seen && !called;
}

static bool is_pair(const struct analysis_flight *flight)
{
	return flight->function == RW_FUNCTION_SEND || flight->function == RW_FUNCTION_RECV ||
	       flight->function == RW_FUNCTION_SEND_RECV;
}

static bool is_whole(const struct analysis_flight *flight)
{
	return flight->comm_size > 0 && flight->joined_count + flight->missing_count >= (size_t)flight->comm_size;
}

/* Ranks of machines on which it is not in flight. Boxes are read for it only while somebody is unaccounted for. */
static void add_missing(const struct gathering *gathering, struct known_flight *known)
{
	const struct replay *replay = gathering->replay;

	for (size_t i = 0;
	     !is_pair(&known->flight) && !is_whole(&known->flight) && i < replay->count && has_room(gathering, known);
	     i++) {
		const struct replay_process *process = &replay->processes[i];
		size_t machine = (size_t)(replay_machine_of(replay, process) - replay->machines);

		if (machine < 64 && !(known->machines >> machine & 1) && process->rank >= 0 &&
		    has_not_called(process, &known->flight))
			known->missing[known->flight.missing_count++] = process->rank;
	}
}

/* Insertion: each machine's are ascending. The phases go along. */
static void sort(int32_t *ranks, const char **phases, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		for (size_t at = i; at > 0 && ranks[at - 1] > ranks[at]; at--) {
			int32_t rank = ranks[at];

			ranks[at] = ranks[at - 1];
			ranks[at - 1] = rank;
			if (!phases)
				continue;
			const char *phase = phases[at];

			phases[at] = phases[at - 1];
			phases[at - 1] = phase;
		}
	}
}

static void report(struct known_flight *known, analysis_flight_visit *visit, void *argument)
{
	struct analysis_flight *flight = &known->flight;
	int32_t seen = (int32_t)(flight->joined_count + flight->missing_count);

	sort(known->joined, known->phases, flight->joined_count);
	sort(known->missing, NULL, flight->missing_count);
	flight->comm_name = known->name;
	flight->joined = known->joined;
	flight->joined_phase = known->phases;
	flight->missing = known->missing;
	if (!is_pair(flight) && flight->comm_size > 0)
		flight->unseen = flight->comm_size > seen ? flight->comm_size - seen : 0;
	visit(argument, flight);
}

void replay_visit_flights(const struct replay *replay, analysis_flight_visit *visit, void *argument)
{
	struct gathering gathering = { .replay = replay };

	if (replay->machine_count == 1) {
		analysis_visit_flights(replay->machines[0].analysis, visit, argument);
		return;
	}
	for (; gathering.machine < replay->machine_count; gathering.machine++)
		analysis_visit_flights(replay->machines[gathering.machine].analysis, take, &gathering);
	for (size_t i = 0; i < gathering.count; i++) {
		add_missing(&gathering, &gathering.list[i]);
		report(&gathering.list[i], visit, argument);
		free(gathering.list[i].joined);
		free(gathering.list[i].missing);
		free(gathering.list[i].phases);
	}
	free(gathering.list);
}
