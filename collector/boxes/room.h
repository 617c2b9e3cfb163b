/* SPDX-License-Identifier: MIT */
/* Can a rank that starts now make a black box on this node? */
#ifndef COLLECTOR_BOXES_ROOM_H
#define COLLECTOR_BOXES_ROOM_H

#include "blackbox/directory.h"
#include "blackbox/place.h"

struct room {
	char why[BOX_WHY]; /* what was the matter with the first place when there was none; "" = there always was */
};

/* Looks at the places in the plugin's order, and makes directories as it does. The first time that a box could be made
 * in none of them, because it cannot be used or has no space, stderr gets a line: boxes then live in memory that nobody
 * else sees. Later calls do nothing. */
void room_poll(struct room *room, char (*places)[BOX_PLACE_PATH], int count);

#endif
