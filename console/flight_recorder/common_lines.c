/* SPDX-License-Identifier: MIT */
#include "console/flight_recorder/common_lines.h"

#include <errno.h>
#include <stdlib.h>

#define NEVER UINT64_MAX

static int compare(const void *a, const void *b)
{
	const struct common_line *left = a, *right = b;

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

bool common_line_of(const struct rw_operation *operation, const struct rw_communicator *communicator,
		    struct common_line *line)
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
	*line = (struct common_line){
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

static int append(struct common_lines *lines, const struct common_line *line)
{
	if (lines->count == lines->room) {
		size_t room = lines->room ? 2 * lines->room : 256;
		struct common_line *list = reallocarray(lines->list, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		lines->list = list;
		lines->room = room;
	}
	lines->list[lines->count++] = *line;
	return 0;
}

static struct common_line *find(const struct common_lines *lines, const struct common_line *line)
{
	return lines->count ? bsearch(line, lines->list, lines->count, sizeof(*lines->list), compare) : NULL;
}

/* Of one box, newest first: the line reaches back as long as no number is missing. */
static void extend(struct common_line *own, const struct common_line *line, bool ended)
{
	if (line->first + 1 != own->first)
		return;
	own->first = line->first;
	if (!ended)
		own->first_unfinished = line->first;
}

/* What one box adds to what all have: the later beginning, the earlier unfinished one. */
static void merge(struct common_line *all, const struct common_line *own)
{
	all->first = all->first > own->first ? all->first : own->first;
	all->first_unfinished =
	    all->first_unfinished < own->first_unfinished ? all->first_unfinished : own->first_unfinished;
	all->ranks += own->ranks;
}

/* Lines of one box, gathered in the order of their newest operation. */
static struct common_line *find_in(const struct common_lines *box, const struct common_line *line)
{
	for (size_t i = 0; i < box->count; i++)
		if (compare(&box->list[i], line) == 0)
			return &box->list[i];
	return NULL;
}

int common_lines_add(struct common_lines *lines, const struct box_operations *operations, bool forgot)
{
	struct common_lines box = { 0 };
	int err = 0;

	for (size_t i = operations->count; i-- > 0 && !err;) {
		const struct rw_operation *operation = &operations->list[i];
		bool ended = box_operations_state(operations, operation) == OPERATION_ENDED;
		struct common_line line, *own;

		if (!common_line_of(operation, box_operations_communicator(operations, operation), &line))
			continue;
		own = find_in(&box, &line);
		line.first_unfinished = ended ? NEVER : line.first;
		if (own)
			extend(own, &line, ended);
		else
			err = append(&box, &line);
	}
	for (size_t i = 0; i < box.count && !err; i++)
		err = append(lines, &box.list[i]);
	lines->forgetful += forgot;
	common_lines_free(&box);
	return err;
}

void common_lines_order(struct common_lines *lines)
{
	size_t count = 0;

	if (lines->count)
		qsort(lines->list, lines->count, sizeof(*lines->list), compare);
	for (size_t i = 0; i < lines->count; i++) {
		if (count && compare(&lines->list[count - 1], &lines->list[i]) == 0)
			merge(&lines->list[count - 1], &lines->list[i]);
		else
			lines->list[count++] = lines->list[i];
	}
	lines->count = count;
}

/* Where a rank of the line has none of it and some box has forgotten operations, it may be that rank that has forgotten
 * these: only what somebody still waits for is of use then. */
static uint64_t first_kept(const struct common_lines *lines, const struct common_line *common, size_t ranks)
{
	bool complete = common->ranks >= ranks || !lines->forgetful;

	return complete || common->first_unfinished < common->first ? common->first : common->first_unfinished;
}

bool common_lines_keep(const struct common_lines *lines, const struct common_line *line, uint64_t sequence,
		       size_t ranks)
{
	const struct common_line *common = find(lines, line);

	return common && sequence >= first_kept(lines, common, ranks);
}

void common_lines_free(struct common_lines *lines)
{
	free(lines->list);
	*lines = (struct common_lines){ 0 };
}
