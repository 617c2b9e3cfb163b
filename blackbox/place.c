/* SPDX-License-Identifier: MIT */
#include "blackbox/place.h"

#include <stdio.h>
#include <string.h>

enum { ROOM_FOR_NAME = 65 }; /* a box's file name and the slash before it */

void box_job_component(const char *job, char component[BOX_JOB_COMPONENT])
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = 0;

	for (; job && job[length] && length < BOX_JOB_COMPONENT - 1; length++)
		component[length] = strchr(allowed, job[length]) ? job[length] : '_';
	component[length] = '\0';
	if (!length || !strcmp(component, ".") || !strcmp(component, ".."))
		strcpy(component, "_");
}

int box_places(const char *directory, const char *runtime_dir, uid_t uid, const char *job,
	       char (*paths)[BOX_PLACE_PATH])
{
	char component[BOX_JOB_COMPONENT];
	char candidates[BOX_PLACES][2 * BOX_PLACE_PATH] = { 0 };
	size_t size = sizeof(candidates[0]);
	int count = 0;

	box_job_component(job, component);
	if (directory)
		snprintf(candidates[0], size, "%s", directory);
	snprintf(candidates[1], size, "/dev/shm/rankwatch-%u/%s", (unsigned)uid, component);
	if (runtime_dir && *runtime_dir)
		snprintf(candidates[2], size, "%s/rankwatch/%s", runtime_dir, component);
	snprintf(candidates[3], size, "/tmp/rankwatch-%u/%s", (unsigned)uid, component);

	for (int i = 0; i < BOX_PLACES; i++) {
		size_t length = strlen(candidates[i]);

		if (length > 0 && length < BOX_PLACE_PATH - ROOM_FOR_NAME)
			memcpy(paths[count++], candidates[i], length + 1);
	}
	return count;
}
