/* SPDX-License-Identifier: MIT */
#include "analysis/report/naming.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankwatch/operation_names.h>

#include "analysis/numbers/sorting.h"

enum {
	MESH_DIMENSIONS = 8,
	HASH_DIGITS = 18, /* of 40, as many as a message has room for */
};

struct dimension {
	char name[32];
	int32_t size, stride;
};

static int write_range(char *text, size_t room, int32_t first, int32_t last, bool more)
{
	const char *comma = more ? "," : "";
	if (first == last)
		return snprintf(text, room, "%s%d", comma, first);
	return snprintf(text, room, last == first + 1 ? "%s%d,%d" : "%s%d-%d", comma, first, last);
}

const char *naming_ranks(char *text, size_t room, const int32_t *ranks, size_t count)
{
	size_t used = (size_t)snprintf(text, room, count == 1 ? "rank " : "ranks ");
	for (size_t i = 0; i < count;) {
		size_t last = i;
		while (last + 1 < count && ranks[last + 1] == ranks[last] + 1)
			last++;
		int length = write_range(text + used, room - used, ranks[i], ranks[last], i > 0);
		if (used + (size_t)length + sizeof(",…") > room) {
			snprintf(text + used, room - used, ",…");
			break;
		}
		used += (size_t)length;
		i = last + 1;
	}
	return text;
}

/* "pp=2,fsdp=4", outermost first → sizes and strides in world ranks. Returns their number, 0 when it is not a mesh. */
static size_t parse_mesh(const char *mesh, struct dimension *dimensions)
{
	size_t count = 0;
	const char *at = mesh;
	for (; *at && count < MESH_DIMENSIONS; count++) {
		struct dimension *dimension = &dimensions[count];
		int length = 0;
		if (sscanf(at, "%31[^=,]=%d%n", dimension->name, &dimension->size, &length) != 2 || dimension->size < 1)
			return 0;
		at += length;
		if (*at == ',')
			at++;
		else if (*at)
			return 0;
	}
	if (*at)
		return 0; /* the strides of these would be wrong, too */
	int32_t stride = 1;
	for (size_t i = count; i > 0; i--) {
		dimensions[i - 1].stride = stride;
		if (__builtin_mul_overflow(stride, dimensions[i - 1].size, &stride))
			return 0;
	}
	return count;
}

/* Distance between neighbours in world ranks, from any two members seen; 0 when they are not evenly spaced. */
static int32_t stride_of(const struct job *job, const struct communicator *communicator)
{
	int32_t stride = 0;
	const struct member *first = &communicator->members[0];
	for (uint32_t i = 1; i < communicator->member_count; i++) {
		const struct member *member = &communicator->members[i];
		int32_t ranks = member->comm_rank - first->comm_rank;
		int32_t world = job_member_rank(job, member)->world - job_member_rank(job, first)->world;
		if (!ranks || world % ranks || world / ranks < 1 || (stride && world / ranks != stride))
			return 0;
		stride = world / ranks;
	}
	return stride;
}

static bool name_by_mesh(char *text, size_t room, const struct job *job, const struct communicator *communicator)
{
	struct dimension dimensions[MESH_DIMENSIONS];
	if (!communicator->member_count)
		return false;
	size_t count = parse_mesh(communicator->members[0].process->mesh, dimensions);
	int32_t stride = stride_of(job, communicator);
	int32_t size = job_unseen(communicator) ? communicator->size : (int32_t)communicator->member_count;
	for (size_t i = 0; i < count; i++) {
		if (dimensions[i].size != size || dimensions[i].stride != stride)
			continue;
		snprintf(text, room, "~%s", dimensions[i].name);
		return true;
	}
	return false;
}

/* Ascending; NULL without memory, the caller frees. */
static int32_t *ranks_of(const struct job *job, const struct communicator *communicator)
{
	int32_t *ranks = calloc(communicator->member_count + 1, sizeof(*ranks));

	if (!ranks)
		return NULL;
	for (uint32_t i = 0; i < communicator->member_count; i++)
		ranks[i] = job_member_rank(job, &communicator->members[i])->world;
	sort_i32(ranks, communicator->member_count);
	return ranks;
}

static int64_t sum_of(const struct job *job, const struct communicator *communicator)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < communicator->member_count; i++)
		sum += job_member_rank(job, &communicator->members[i])->world;
	return sum;
}

/* In front of the group's name stands its description, where it has one. */
#define NO_DESCRIPTION "undefined:"

static bool is_undescribed(const char *name)
{
	return !strncmp(name, NO_DESCRIPTION, strlen(NO_DESCRIPTION));
}

const char *naming_group_number(const char *name)
{
	const char *number = is_undescribed(name) ? name + strlen(NO_DESCRIPTION) : name;
	size_t digits = strspn(number, "0123456789");

	return digits && digits < HASH_DIGITS && !number[digits] ? number : NULL;
}

static bool is_hash(const char *name)
{
	return strlen(name) >= HASH_DIGITS && !name[strspn(name, "0123456789abcdef")];
}

bool naming_is_telling(const char *name)
{
	return *name && !is_undescribed(name) && !naming_group_number(name) && !is_hash(name);
}

/* How many communicators of the same ranks, which have no telling names either, were made before this one. */
static uint32_t count_before(const struct job *job, const struct communicator *communicator, const int32_t *ranks)
{
	int64_t sum = sum_of(job, communicator);
	uint32_t before = 0;

	for (uint32_t i = 0; i < job->communicator_count && job->communicators[i] != communicator; i++) {
		const struct communicator *other = job->communicators[i];
		if (naming_is_telling(other->name) || other->member_count != communicator->member_count ||
		    sum_of(job, other) != sum)
			continue;
		int32_t *others = ranks_of(job, other);
		before += others && !memcmp(others, ranks, communicator->member_count * sizeof(*ranks));
		free(others);
	}
	return before;
}

/* "ranks 0-3 (second communicator)": else one that waits in one of them would seem to wait with those in the other. */
static void add_ordinal(char *text, size_t room, uint32_t before)
{
	static const char *const ordinals[] = { "second", "third", "fourth", "fifth" };
	size_t used = strlen(text);

	if (before && before <= sizeof(ordinals) / sizeof(*ordinals))
		snprintf(text + used, room - used, " (%s communicator)", ordinals[before - 1]);
	else if (before)
		snprintf(text + used, room - used, " (communicator %u)", before + 1);
}

/* One of several communicators of the same ranks is told by the number that its program gave it, or by their order. */
static void tell_apart(char *text, size_t room, const struct job *job, const struct communicator *communicator,
		       const int32_t *ranks)
{
	const char *number = naming_group_number(communicator->name);
	size_t used = strlen(text);

	if (number)
		snprintf(text + used, room - used, " (group %s)", number);
	else if (ranks)
		add_ordinal(text, room, count_before(job, communicator, ranks));
}

const char *naming_communicator(char *text, size_t room, const struct job *job, const struct communicator *communicator)
{
	if (naming_is_telling(communicator->name)) {
		snprintf(text, room, "%s", communicator->name);
		return text;
	}
	if (name_by_mesh(text, room, job, communicator)) {
		tell_apart(text, room, job, communicator, NULL);
		return text;
	}
	int32_t *ranks = ranks_of(job, communicator);
	int32_t unseen = job_unseen(communicator);
	if (!ranks || unseen) {
		free(ranks);
		if (unseen < 0)
			snprintf(text, room, "%u ranks seen, size not known", communicator->member_count);
		else
			snprintf(text, room, "a communicator of %d ranks (%u seen)", communicator->size,
				 communicator->member_count);
		return text;
	}
	naming_ranks(text, room, ranks, communicator->member_count);
	tell_apart(text, room, job, communicator, ranks);
	free(ranks);
	return text;
}

const char *naming_function(uint8_t function)
{
	static const char *const names[RW_FUNCTION_COUNT] = RW_FUNCTION_NAMES;
	return function < RW_FUNCTION_COUNT && names[function] ? names[function] : "operation";
}

const char *naming_dtype(uint8_t dtype)
{
	static const char *const names[RW_DTYPE_COUNT] = RW_DTYPE_NAMES;
	return dtype < RW_DTYPE_COUNT && names[dtype] ? names[dtype] : "elements";
}
