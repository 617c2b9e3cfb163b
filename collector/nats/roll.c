/* SPDX-License-Identifier: MIT */
#include "collector/nats/roll.h"

#include <stdio.h>

enum { MORE = 32 /* bytes of " and N more" */ };

void roll_add(struct roll *roll, const char *name)
{
	if (!roll->count)
		roll->used = 0;
	if (roll->count++ >= ROLL_NAMES)
		return;
	int written = snprintf(roll->text + roll->used, sizeof(roll->text) - MORE - roll->used, "%s%s",
			       roll->used ? ", " : "", name);

	roll->used += (size_t)written;
	if (roll->used > sizeof(roll->text) - MORE - 1)
		roll->used = sizeof(roll->text) - MORE - 1;
}

const char *roll_take(struct roll *roll)
{
	if (!roll->count)
		return NULL;
	if (roll->count > ROLL_NAMES)
		snprintf(roll->text + roll->used, MORE, " and %zu more", roll->count - ROLL_NAMES);
	roll->count = 0;
	return roll->text;
}
