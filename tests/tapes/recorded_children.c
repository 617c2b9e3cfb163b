/* SPDX-License-Identifier: MIT */
/* The children of a rank: who they are, what their threads do, and which pipes and sockets they have open. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"

enum { CHILDREN = 8, DESCRIPTORS = 64 };

/* Other files of theirs are nobody's business, unless they wait for one. */
static bool is_channel(pid_t pid, const char *fd)
{
	char path[64], link[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%.16s", (int)pid, fd);
	ssize_t length = readlink(path, link, sizeof(link) - 1);

	link[length > 0 ? length : 0] = '\0';
	return !strncmp(link, "pipe:", strlen("pipe:")) || !strncmp(link, "socket:", strlen("socket:"));
}

static void record_channels(struct recording *recording, pid_t pid)
{
	char path[64];
	int count = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *directory = opendir(path);

	for (const struct dirent *entry; directory && count < DESCRIPTORS && (entry = readdir(directory));)
		if (entry->d_name[0] != '.' && is_channel(pid, entry->d_name)) {
			recorded_threads_descriptor(recording, pid, atoi(entry->d_name));
			count++;
		}
	if (directory)
		closedir(directory);
}

void recorded_children_look(struct recorded_threads *threads, struct recording *recording, pid_t pid,
			    bool with_descriptors)
{
	char path[64], text[TAPE_TEXT_MAX + 1], *end = text;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	ssize_t length = machine_read(path, text);

	if (length <= 0) {
		recording_gone(recording, path + 1);
		return;
	}
	text[length] = '\0';
	recording_text(recording, path + 1, text, (size_t)length);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = (pid_t)strtol(end, &end, 10);

		if (child <= 0)
			return;
		recorded_threads_look(threads, recording, child);
		if (with_descriptors)
			record_channels(recording, child);
	}
}
