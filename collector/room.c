/* SPDX-License-Identifier: MIT */
#include "collector/room.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rankwatch/blackbox.h>

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

bool room_for_boxes(char (*places)[BOX_PLACE_PATH], int count, const char *directory, char why[BOX_WHY])
{
	char other[BOX_WHY];

	*why = '\0';
	for (int i = 0; i < count; i++) {
		bool named_by_user = directory && strcmp(places[i], directory) == 0;

		if (has_room(places[i], named_by_user, *why ? other : why))
			return true;
	}
	return false;
}
