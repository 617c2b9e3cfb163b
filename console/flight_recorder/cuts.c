/* SPDX-License-Identifier: MIT */
#include "console/flight_recorder/cuts.h"

#include <errno.h>
#include <stdlib.h>

#define NEVER UINT64_MAX

static int compare(const void *a, const void *b)
{
	const struct cut *left = a, *right = b;

#define ORDER(field)                                                                                                   \
	if (left->field != right->field)                                                                               \
	return left->field < right->field ? -1 : 1
	ORDER(communicator);
	ORDER(function);
	ORDER(from);
	ORDER(to);
	ORDER(unannounced);
#undef ORDER
	return 0;
}

bool cut_of(const struct rw_operation *operation, const struct rw_communicator *communicator, struct cut *line)
{
	bool send = operation->function == RW_FUNCTION_SEND, recv = operation->function == RW_FUNCTION_RECV;
	bool peer_known =
	    operation->known & (RW_KNOWN_TASK | RW_KNOWN_CALL) && !(operation->flags & RW_FLAG_PEER_UNKNOWN);
	uint32_t peer = operation->root_or_peer;

	if (!communicator || !communicator->id || !(operation->known & RW_KNOWN_IDENT) ||
	    operation->flags & RW_FLAG_CAPTURED)
		return false;
	if ((send || recv) &&
	    (!peer_known || peer >= (uint32_t)communicator->nranks || peer == (uint32_t)communicator->rank))
		return false;
	*line = (struct cut){
		.communicator = communicator->id,
		.from = send   ? communicator->rank
			: recv ? (int32_t)peer
			       : -1,
		.to = send   ? (int32_t)peer
		      : recv ? communicator->rank
			     : -1,
		.function = recv ? RW_FUNCTION_SEND : operation->function,
		.unannounced = operation->flags & RW_FLAG_UNANNOUNCED,
		.first = operation->sequence,
		.first_unfinished = NEVER,
		.ranks = 1,
	};
	return true;
}

static int append(struct cuts *cuts, const struct cut *line)
{
	if (cuts->count == cuts->room) {
		size_t room = cuts->room ? 2 * cuts->room : 256;
		struct cut *list = reallocarray(cuts->list, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		cuts->list = list;
		cuts->room = room;
	}
	cuts->list[cuts->count++] = *line;
	return 0;
}

static struct cut *find(const struct cuts *cuts, const struct cut *line)
{
	return cuts->count ? bsearch(line, cuts->list, cuts->count, sizeof(*cuts->list), compare) : NULL;
}

/* Of one box, newest first: the line reaches back as long as no number is missing. */
static void extend(struct cut *own, const struct cut *line, bool ended)
{
	if (line->first + 1 != own->first)
		return;
	own->first = line->first;
	if (!ended)
		own->first_unfinished = line->first;
}

/* What one box adds to what all have: the later beginning, the earlier unfinished one. */
static void merge(struct cut *all, const struct cut *own)
{
	all->first = all->first > own->first ? all->first : own->first;
	all->first_unfinished =
	    all->first_unfinished < own->first_unfinished ? all->first_unfinished : own->first_unfinished;
	all->ranks += own->ranks;
}

/* Lines of one box, gathered in the order of their newest operation. */
static struct cut *find_in(const struct cuts *box, const struct cut *line)
{
	for (size_t i = 0; i < box->count; i++)
		if (compare(&box->list[i], line) == 0)
			return &box->list[i];
	return NULL;
}

int cuts_add(struct cuts *cuts, const struct box_operations *operations, bool forgot)
{
	struct cuts box = { 0 };
	int err = 0;

	for (size_t i = operations->count; i-- > 0 && !err;) {
		const struct rw_operation *operation = &operations->list[i];
		bool ended = box_operations_state(operations, operation) == OPERATION_ENDED;
		struct cut line, *own;

		if (!cut_of(operation, box_operations_communicator(operations, operation), &line))
			continue;
		own = find_in(&box, &line);
		line.first_unfinished = ended ? NEVER : line.first;
		if (own)
			extend(own, &line, ended);
		else
			err = append(&box, &line);
	}
	for (size_t i = 0; i < box.count && !err; i++)
		err = append(cuts, &box.list[i]);
	cuts->forgetful += forgot;
	cuts_free(&box);
	return err;
}

void cuts_order(struct cuts *cuts)
{
	size_t count = 0;

	if (cuts->count)
		qsort(cuts->list, cuts->count, sizeof(*cuts->list), compare);
	for (size_t i = 0; i < cuts->count; i++) {
		if (count && compare(&cuts->list[count - 1], &cuts->list[i]) == 0)
			merge(&cuts->list[count - 1], &cuts->list[i]);
		else
			cuts->list[count++] = cuts->list[i];
	}
	cuts->count = count;
}

/* Where a rank of the line has none of it and some box has forgotten operations, it may be that rank that has forgotten
 * these: only what somebody still waits for is of use then. */
static uint64_t first_kept(const struct cuts *cuts, const struct cut *cut, size_t ranks)
{
	bool complete = cut->ranks >= ranks || !cuts->forgetful;

	return complete || cut->first_unfinished < cut->first ? cut->first : cut->first_unfinished;
}

bool cuts_keep(const struct cuts *cuts, const struct cut *line, uint64_t sequence, size_t ranks)
{
	const struct cut *cut = find(cuts, line);

	return cut && sequence >= first_kept(cuts, cut, ranks);
}

void cuts_free(struct cuts *cuts)
{
	free(cuts->list);
	*cuts = (struct cuts){ 0 };
}
