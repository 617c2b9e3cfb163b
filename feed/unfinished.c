/* SPDX-License-Identifier: MIT */
#include "feed/unfinished.h"

#include <errno.h>
#include <stdlib.h>

static int make_room(struct unfinished *unfinished)
{
	size_t room = unfinished->room ? 2 * unfinished->room : 64;

	if (unfinished->count < unfinished->room)
		return 0;

	void *operations = realloc(unfinished->operations, room * sizeof(*unfinished->operations));

	if (!operations)
		return -ENOMEM;
	unfinished->operations = operations;
	unfinished->room = room;
	return 0;
}

int unfinished_add(struct unfinished *unfinished, const struct unfinished_operation *operation)
{
	if (make_room(unfinished))
		return -ENOMEM;
	unfinished->operations[unfinished->count++] = *operation;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct unfinished_operation *a = left, *b = right;

	if (a->claim != b->claim)
		return a->claim < b->claim ? -1 : 1;
	return (a->known < b->known) - (a->known > b->known);
}

void unfinished_order(struct unfinished *unfinished)
{
	struct unfinished_operation *operations = unfinished->operations;
	size_t kept = 0;

	if (!unfinished->count)
		return;
	qsort(operations, unfinished->count, sizeof(*operations), compare);
	for (size_t i = 1; i < unfinished->count; i++)
		if (operations[i].claim != operations[kept].claim)
			operations[++kept] = operations[i];
	unfinished->count = kept + 1;
}

void unfinished_free(struct unfinished *unfinished)
{
	free(unfinished->operations);
	*unfinished = (struct unfinished){ 0 };
}
