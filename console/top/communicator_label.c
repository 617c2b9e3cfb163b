/* SPDX-License-Identifier: MIT */
#include "console/top/communicator_label.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "finding/rank_list.h"

/* NULL: it is the only one of its name, or has ended. */
static const struct model_communicator *one_of_several(const struct model *model, const char *id, const char *name)
{
	const struct model_communicator *found = NULL;
	size_t named = 0;

	for (size_t i = 0; i < model->communicator_count; i++) {
		const struct model_communicator *communicator = &model->communicators[i];

		named += !strcmp(communicator->name, name);
		if (!strcmp(communicator->id, id))
			found = communicator;
	}
	return named > 1 ? found : NULL;
}

char *communicator_label(const struct model *model, const char *id, const char *name, char *text, size_t size)
{
	const struct model_communicator *communicator = *name ? one_of_several(model, id, name) : NULL;
	int32_t *ranks = communicator ? calloc(communicator->member_count + 1, sizeof(*ranks)) : NULL;
	char list[128];

	snprintf(text, size, "%s", *name ? name : id);
	for (size_t i = 0; ranks && i < communicator->member_count; i++)
		ranks[i] = communicator->members[i].rank;
	if (ranks && communicator->member_count)
		snprintf(text, size, "%s (%s)", name,
			 rank_list_text(list, sizeof(list), ranks, communicator->member_count));
	free(ranks);
	return text;
}
