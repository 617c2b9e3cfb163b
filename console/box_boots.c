/* SPDX-License-Identifier: MIT */
#include "console/box_boots.h"

#include <string.h>

bool box_boots_are_same(const struct box_entry *a, const struct box_entry *b)
{
	return !strncmp(a->reader.header.boot_id, b->reader.header.boot_id, sizeof(a->reader.header.boot_id));
}

size_t box_boots_gather(struct box_entry *entries, size_t count)
{
	size_t gathered = count ? 1 : 0;

	for (size_t i = 1; i < count; i++) {
		struct box_entry entry = entries[i];

		if (!box_boots_are_same(&entries[0], &entry))
			continue;
		memmove(&entries[gathered + 1], &entries[gathered], (i - gathered) * sizeof(*entries));
		entries[gathered++] = entry;
	}
	return gathered;
}
