/* SPDX-License-Identifier: MIT */
#include "collector/boxes/room.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rankwatch/blackbox.h>

#include "base/foreign_text.h"

/* With the shortest history. */
static const size_t smallest_box = RW_BOX_HEADER_SIZE + RW_BOX_CONTROL_SIZE +
				   RW_BOX_COMMS * (sizeof(struct rw_communicator) + sizeof(struct rw_gpu_progress)) +
				   RW_BOX_SAMPLES * sizeof(struct rw_host_sample) +
				   RW_BOX_RING_MIN * sizeof(struct rw_operation);

static bool has_room(const char *place, bool named_by_user, char why[BOX_WHY])
{
	int directory = box_directory_open(place, named_by_user, why);

	if (directory < 0)
		return false;

	unsigned long long left = box_directory_free(directory);

	close(directory);
	if (left >= smallest_box)
		return true;
	snprintf(why, BOX_WHY, "%.100s has %llu KiB left, a black box takes %zu KiB", place, left >> 10,
		 smallest_box >> 10);
	return false;
}

static bool is_named_by_user(const char *place)
{
	const char *directory = getenv("RANKWATCH_DIR");

	return directory && strcmp(place, directory) == 0;
}

static bool is_any(char (*places)[BOX_PLACE_PATH], int count, char why[BOX_WHY])
{
	char other[BOX_WHY];

	for (int i = 0; i < count; i++)
		if (has_room(places[i], is_named_by_user(places[i]), i ? other : why))
			return true;
	return false;
}

void room_poll(struct room *room, char (*places)[BOX_PLACE_PATH], int count)
{
	char why[BOX_WHY] = "no name";

	if (*room->why || is_any(places, count, why))
		return;
	memcpy(room->why, why, sizeof(room->why));
	foreign_line(stderr,
		     "rankwatch collect: no place for black boxes: ranks that start now record where no collector "
		     "sees them, and findings cannot be had live; set RANKWATCH_DIR to a directory on a tmpfs (%s)",
		     why);
}
