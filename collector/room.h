/* SPDX-License-Identifier: MIT */
/* Can a rank that starts now make a black box on this node? */
#ifndef COLLECTOR_ROOM_H
#define COLLECTOR_ROOM_H

#include <stdbool.h>

#include "blackbox/directory.h"
#include "blackbox/place.h"

/* Looks at the places in the plugin's order, and makes directories as it does. directory: the place that RANKWATCH_DIR
 * names, or NULL. False: boxes would live in memory that nobody else sees; `why` tells what is the matter with the
 * first place. */
bool room_for_boxes(char (*places)[BOX_PLACE_PATH], int count, const char *directory, char why[BOX_WHY]);

#endif
