/* SPDX-License-Identifier: MIT */
#include "analysis/known/instances.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/steps/numbering.h"

enum {
	SLOT_COUNT = INSTANCES_MAX * 2,
};

static uint32_t hash_key(const struct instance_key *key)
{
	uint64_t hash = key->sequence * 0x9e3779b97f4a7c15u;
	hash ^= ((uint64_t)key->communicator << 10 | (uint64_t)key->timed << 9 | (uint64_t)key->by_interposer << 8 |
		 key->function) *
		0xc2b2ae3d27d4eb4fu;
	hash ^= ((uint64_t)(uint32_t)key->source << 32 | (uint32_t)key->target) * 0x165667b19e3779f9u;
	return (uint32_t)(hash >> 32) ^ (uint32_t)hash;
}

static struct instance_key key_of(const struct instance *instance)
{
	return (struct instance_key){
		.communicator = instance->communicator->index,
		.function = instance->function,
		.by_interposer = instance->by_interposer,
		.timed = instance->timed,
		.source = instance->source,
		.target = instance->target,
		.sequence = instance->sequence,
	};
}

static bool has_key(const struct instance *instance, const struct instance_key *key)
{
	return instance->sequence == key->sequence && instance->communicator->index == key->communicator &&
	       instance->function == key->function && instance->by_interposer == key->by_interposer &&
	       instance->timed == key->timed && instance->source == key->source && instance->target == key->target;
}

/* The hash in a slot answers for its instance, which is likely in no cache. */
static uint32_t find_slot(const struct instances *instances, const struct instance_key *key, uint32_t hash)
{
	const struct instance_slot *slots = instances->slots;
	uint32_t mask = instances->slot_count - 1, at = hash & mask;

	while (slots[at].instance && (slots[at].hash != hash || !has_key(slots[at].instance, key)))
		at = (at + 1) & mask;
	return at;
}

/* Moves later entries back over the hole, so that no probe sequence is cut. */
static void clear_slot(struct instances *instances, uint32_t hole)
{
	struct instance_slot *slots = instances->slots;
	uint32_t mask = instances->slot_count - 1;

	for (uint32_t at = (hole + 1) & mask; slots[at].instance; at = (at + 1) & mask) {
		if (((at - slots[at].hash) & mask) < ((at - hole) & mask))
			continue;
		slots[hole] = slots[at];
		hole = at;
	}
	slots[hole] = (struct instance_slot){ 0 };
}

static void unlink_from(struct instance **first, struct instance **last, struct instance *instance)
{
	*(instance->previous ? &instance->previous->next : first) = instance->next;
	*(instance->next ? &instance->next->previous : last) = instance->previous;
	instance->previous = instance->next = NULL;
}

static void append_to(struct instance **first, struct instance **last, struct instance *instance)
{
	instance->previous = *last;
	instance->next = NULL;
	*(*last ? &(*last)->next : first) = instance;
	*last = instance;
}

static void forget(struct instances *instances, struct instance *instance)
{
	struct instance_key key = key_of(instance);
	clear_slot(instances, find_slot(instances, &key, hash_key(&key)));
	struct communicator *communicator = instance->communicator;
	if (instance->finished) {
		unlink_from(&instances->finished_first, &instances->finished_last, instance);
		communicator->finished_count--;
	} else {
		unlink_from(&communicator->unfinished_first, &communicator->unfinished_last, instance);
		communicator->unfinished_count--;
	}
	instances->count--;
	instance->serial++;
	free(instance->values);
	instance->values = NULL;
	instance->next = instances->free;
	instances->free = instance;
}

void instances_forget(struct instances *instances, struct communicator *communicator)
{
	struct instance *next;

	while (communicator->unfinished_first)
		forget(instances, communicator->unfinished_first);
	for (struct instance *at = instances->finished_first; at && communicator->finished_count; at = next) {
		next = at->next;
		if (at->communicator == communicator)
			forget(instances, at);
	}
}

/* The oldest finished; when nothing is finished, the oldest of the communicator itself, if it is older than the new. */
static void make_room(struct instances *instances, struct communicator *communicator, uint64_t created_ns)
{
	bool full = instances->count >= INSTANCES_MAX || instances->operation_room >= INSTANCES_OPERATIONS_MAX;
	if (!full || instances->free)
		return;
	if (instances->finished_first) {
		forget(instances, instances->finished_first);
	} else if (communicator->unfinished_first && communicator->unfinished_first->created_ns <= created_ns) {
		forget(instances, communicator->unfinished_first);
		instances->forgotten++;
	}
}

static struct instance *take(struct instances *instances, struct communicator *communicator, uint64_t created_ns)
{
	make_room(instances, communicator, created_ns);
	struct instance *instance = instances->free;
	if (!instance)
		return instances->count < INSTANCES_MAX ? calloc(1, sizeof(*instance)) : NULL;
	instances->free = instance->next;
	struct operation *operations = instance->operations;
	uint32_t room = instance->room, serial = instance->serial;
	if (operations)
		memset(operations, 0, room * sizeof(*operations));
	*instance = (struct instance){ .operations = operations, .room = room, .serial = serial };
	return instance;
}

struct instance *instances_get(struct instances *instances, struct communicator *communicator,
			       const struct instance_key *key, uint64_t created_ns)
{
	if (!instances->slots) {
		instances->slots = calloc(SLOT_COUNT, sizeof(*instances->slots));
		if (!instances->slots)
			return NULL;
		instances->slot_count = SLOT_COUNT;
	}
	uint32_t hash = hash_key(key), at = find_slot(instances, key, hash);
	if (instances->slots[at].instance)
		return instances->slots[at].instance;
	struct instance *instance = take(instances, communicator, created_ns);
	if (!instance)
		return NULL;
	instance->communicator = communicator;
	instance->function = key->function;
	instance->by_interposer = key->by_interposer;
	instance->timed = key->timed;
	instance->source = key->source;
	instance->target = key->target;
	instance->sequence = key->sequence;
	instance->place_member = JOB_NONE;
	instance->marked_member = JOB_NONE;
	instance->place.place = STEPS_NO_PLACE;
	at = find_slot(instances, key, hash); /* take() may have moved entries */
	instances->slots[at] = (struct instance_slot){ instance, hash };
	instances->count++;
	append_to(&communicator->unfinished_first, &communicator->unfinished_last, instance);
	communicator->unfinished_count++;
	return instance;
}

const struct instance *instances_find(const struct instances *instances, const struct instance_key *key)
{
	return instances->slots ? instances->slots[find_slot(instances, key, hash_key(key))].instance : NULL;
}

void instances_finish(struct instances *instances, struct instance *instance)
{
	struct communicator *communicator = instance->communicator;
	unlink_from(&communicator->unfinished_first, &communicator->unfinished_last, instance);
	communicator->unfinished_count--;
	communicator->finished_count++;
	instance->finished = true;
	append_to(&instances->finished_first, &instances->finished_last, instance);
}

struct operation *instance_operation(struct instances *instances, struct instance *instance, uint32_t member)
{
	if (member >= instance->room) {
		uint32_t room = 8;
		while (room < instance->communicator->member_count)
			room *= 2;
		struct operation *operations = realloc(instance->operations, room * sizeof(*operations));
		if (!operations)
			return NULL;
		memset(operations + instance->room, 0, (room - instance->room) * sizeof(*operations));
		instances->operation_room += room - instance->room;
		instance->operations = operations;
		instance->room = room;
	}
	return &instance->operations[member];
}

/* NULL: not known, or by a pattern that has been replaced. */
static const struct steps *steps_of(const struct instance *instance)
{
	if (instance->place_member == JOB_NONE || instance->place.place == STEPS_NO_PLACE ||
	    instance_is_replay(instance))
		return NULL;
	const struct steps *steps = &instance->communicator->members[instance->place_member].process->steps;
	return steps->version == instance->steps_version ? steps : NULL;
}

bool instance_is_in_step(const struct instance *instance)
{
	const struct steps *steps = steps_of(instance);
	return steps && steps->trust == STEPS_CERTAIN;
}

bool instance_is_regular(const struct instance *instance)
{
	const struct steps *steps = steps_of(instance);
	return instance_is_replay(instance) || (steps && steps->trust >= STEPS_REGULAR);
}

int64_t instance_told_step(const struct instance *instance, uint64_t step)
{
	if (!steps_of(instance))
		return -1;
	return numbering_told(instance->communicator->members[instance->place_member].process, step);
}

/* NULL: no member's program says which step it is in. */
static const struct process *marked_process(const struct instance *instance)
{
	if (instance->marked_member == JOB_NONE)
		return NULL;
	const struct process *process = instance->communicator->members[instance->marked_member].process;
	return process->steps.marked ? process : NULL;
}

bool instance_is_marked(const struct instance *instance)
{
	return marked_process(instance);
}

int64_t instance_step_in_row(const struct instance *instance)
{
	const struct process *process = marked_process(instance);
	return process && process->steps.marks.irregular ? -1 : instance_step(instance);
}

int64_t instance_step(const struct instance *instance)
{
	const struct process *process = marked_process(instance);
	if (process)
		return numbering_told_at(process, instance->marked_ticket);
	return instance_told_step(instance, instance->place.step);
}

bool instance_keeps_all(const struct instance *instance)
{
	switch (instance->function) {
	case RW_FUNCTION_ALL_GATHER:
	case RW_FUNCTION_ALL_REDUCE:
	case RW_FUNCTION_ALL_TO_ALL:
	case RW_FUNCTION_REDUCE_SCATTER:
		return (!instance_is_replay(instance) || instance->timed) && instance->count;
	default:
		return false;
	}
}

bool instance_concerns(const struct instance *instance, uint32_t member)
{
	int32_t comm_rank = instance->communicator->members[member].comm_rank;
	return !instance_is_point_to_point(instance) || comm_rank == instance->source || comm_rank == instance->target;
}

bool instance_is_told(const struct instance *instance, uint32_t member)
{
	const struct process *process = instance->communicator->members[member].process;
	if (instance_is_point_to_point(instance))
		return true;
	return instance->by_interposer ? process->interposed : !process->counts_calls;
}

bool instance_awaits(const struct instance *instance, uint32_t member)
{
	const struct member *seen = &instance->communicator->members[member];
	if (!instance_concerns(instance, member) || !instance_is_told(instance, member))
		return false;
	return instance_is_point_to_point(instance) ||
	       seen->last_sequence[instance->by_interposer][instance->function] <= instance->sequence;
}

bool instance_lacks(const struct instance *instance, uint32_t member)
{
	const struct member *seen = &instance->communicator->members[member];
	return !instance_joined(instance, member) && !seen->ended && instance_awaits(instance, member);
}

static void free_list(struct instance *instance)
{
	while (instance) {
		struct instance *next = instance->next;
		free(instance->operations);
		free(instance->values);
		free(instance);
		instance = next;
	}
}

void instances_free(struct instances *instances)
{
	for (uint32_t i = 0; i < instances->slot_count; i++) {
		struct instance *instance = instances->slots[i].instance;
		if (!instance)
			continue;
		free(instance->operations);
		free(instance->values);
		free(instance);
	}
	free_list(instances->free);
	free(instances->slots);
	*instances = (struct instances){ 0 };
}
