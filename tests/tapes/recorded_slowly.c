/* SPDX-License-Identifier: MIT */
/* Of files that tell of more than the job only the lines that matter are kept: a tape is for everybody to read. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

static char text[TAPE_TEXT_MAX + 1], kept[TAPE_TEXT_MAX + 1];

typedef bool keep_line(const char *line);

/* Records the lines for which keep() is true. Returns what was kept, "" when nothing was, or the file is not there. */
static const char *record_lines(struct recording *recording, const char *path, keep_line *keep)
{
	ssize_t length = machine_read(path, text);
	size_t used = 0;

	kept[0] = '\0';
	if (length < 0) {
		recording_gone(recording, path + 1);
		return kept;
	}
	text[length] = '\0';
	for (char *rest, *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (keep(line))
			used += (size_t)snprintf(kept + used, sizeof(kept) - used, "%s\n", line);
	recording_text(recording, path + 1, kept, used);
	return kept;
}

static bool any_line(const char *line)
{
	(void)line;
	return true;
}

/* Where processes of a demo have their files; what else is mounted here is nobody's business. */
static bool is_of_the_job(const char *line)
{
	char point[TAPE_PATH];

	if (sscanf(line, "%*s %*s %*s %*s %255s", point) != 1)
		return false;
	return !strcmp(point, "/") || !strcmp(point, "/tmp") || !strcmp(point, "/dev/shm") || strstr(point, "rankwatch");
}

static bool is_control_group(const char *line)
{
	char type[32];

	return sscanf(line, "%*s %*s %31s", type) == 1 && !strncmp(type, "cgroup", 6);
}

static bool is_of_memory(const char *line)
{
	return strstr(line, ":memory:") || !strncmp(line, "0::", 3);
}

static bool is_held(const char *line)
{
	static const char *const held[] = { "total_rss ", "total_shmem ", "anon ", "shmem " };

	for (size_t i = 0; i < sizeof(held) / sizeof(*held); i++)
		if (!strncmp(line, held[i], strlen(held[i])))
			return true;
	return false;
}

static void record_group(struct recording *recording, const char *directory)
{
	static const struct {
		const char *name;
		keep_line *keep;
	} files[] = {
		{ "memory.limit_in_bytes", any_line }, { "memory.usage_in_bytes", any_line }, { "memory.failcnt", any_line },
		{ "memory.memsw.failcnt", any_line },  { "memory.stat", is_held },            { "memory.max", any_line },
		{ "memory.events", any_line },
	};
	char path[TAPE_PATH];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (snprintf(path, sizeof(path), "%s/%s", directory, files[i].name) < (int)sizeof(path))
			record_lines(recording, path, files[i].keep);
}

/* The group and those above it, under the mount point of the memory controller (version 1) or of version 2. */
static void record_groups(struct recording *recording, const char *group)
{
	static const char *const mounts[] = { "/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };
	char path[TAPE_PATH];

	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		if (snprintf(path, sizeof(path), "%s%s", mounts[i], group) >= (int)sizeof(path))
			return;
		while (strlen(path) >= strlen(mounts[i])) {
			record_group(recording, path);
			*strrchr(path, '/') = '\0';
		}
	}
}

static void record_process(struct recording *recording, pid_t pid)
{
	char path[64], groups[TAPE_PATH];

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	record_lines(recording, path, is_of_the_job);
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	snprintf(groups, sizeof(groups), "%s", record_lines(recording, path, is_of_memory));
	for (char *rest, *line = strtok_r(groups, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *first = strchr(line, ':'), *group = first ? strchr(first + 1, ':') : NULL;

		if (group)
			record_groups(recording, group[1] == '/' && !group[2] ? "" : group + 1);
	}
}

/* Reads a process's environment into `text`: its size when it is one of the job's, else -1. */
static ssize_t job_environment(const char *pid, const char *directory)
{
	char path[300], wanted[TAPE_PATH + 16];

	snprintf(path, sizeof(path), "/proc/%s/environ", pid);
	ssize_t size = machine_read(path, text);

	snprintf(wanted, sizeof(wanted), "RANKWATCH_DIR=%s", directory);
	for (ssize_t at = 0; at < size; at += (ssize_t)strnlen(text + at, (size_t)(size - at)) + 1)
		if (!strcmp(text + at, wanted))
			return size;
	return -1;
}

void recorded_variable(const char *directory, const char *name, char value[TAPE_PATH])
{
	DIR *proc = opendir("/proc");
	size_t length = strlen(name);

	value[0] = '\0';
	for (const struct dirent *entry; !*value && proc && (entry = readdir(proc));) {
		ssize_t size = isdigit((unsigned char)*entry->d_name) ? job_environment(entry->d_name, directory) : -1;

		for (ssize_t at = 0; at < size; at += (ssize_t)strnlen(text + at, (size_t)(size - at)) + 1)
			if (!strncmp(text + at, name, length) && text[at + (ssize_t)length] == '=')
				snprintf(value, TAPE_PATH, "%s", text + at + length + 1);
	}
	if (proc)
		closedir(proc);
}

/* What tells rank and job of a process. */
static bool is_identity(const char *variable)
{
	static const char *const names[] = { "RANK=", "WORLD_SIZE=", "LOCAL_RANK=", "LOCAL_WORLD_SIZE=", "RANKWATCH_JOB=",
					     "RANKWATCH_RANK=", "TORCHELASTIC_RESTART_COUNT=", "NODE_NAME=" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(variable, names[i], strlen(names[i])))
			return true;
	return false;
}

static struct ranked {
	pid_t pid;
	int rank;
} ranked[2 * TAPE_BOXES];
static size_t ranked_count;

static bool has_box(int rank, const pid_t *boxed, size_t boxed_count)
{
	for (size_t i = 0; i < ranked_count; i++)
		for (size_t k = 0; k < boxed_count; k++)
			if (ranked[i].rank == rank && ranked[i].pid == boxed[k])
				return true;
	return false;
}

/* Children of a rank have its environment, and are no rank. */
size_t recorded_absentees(const pid_t *boxed, size_t boxed_count, pid_t *pids, size_t room)
{
	size_t count = 0;

	for (size_t i = 0; i < ranked_count; i++)
		if (!has_box(ranked[i].rank, boxed, boxed_count) && count < room)
			pids[count++] = ranked[i].pid;
	return count;
}

/* A process of the job that tells its rank: as the collector looks for ranks without a box. */
static void record_absentee(struct recording *recording, const char *pid, const char *directory)
{
	ssize_t size = job_environment(pid, directory);
	char path[64], number[16];
	int rank = -1;
	size_t used = 0;

	for (ssize_t at = 0; at < size; at += (ssize_t)strnlen(text + at, (size_t)(size - at)) + 1) {
		if (!is_identity(text + at))
			continue;
		if (!strncmp(text + at, "RANK=", 5))
			rank = atoi(text + at + 5);
		memcpy(kept + used, text + at, strlen(text + at) + 1);
		used += strlen(text + at) + 1;
	}
	snprintf(number, sizeof(number), "%.10s", pid);
	snprintf(path, sizeof(path), "/proc/%s/environ", number);
	if (rank < 0) {
		recording_gone(recording, path + 1);
		return;
	}
	recording_text(recording, path + 1, kept, used);
	if (ranked_count < sizeof(ranked) / sizeof(*ranked))
		ranked[ranked_count++] = (struct ranked){ atoi(pid), rank };
	snprintf(path, sizeof(path), "/proc/%s/stat", number);
	record_lines(recording, path, any_line);
	snprintf(path, sizeof(path), "/proc/%s/io", number);
	record_lines(recording, path, any_line);
}

/* Processes that are gone leave /proc altogether. */
static void record_ends(struct recording *recording)
{
	for (size_t i = 0; i < recording->file_count; i++) {
		char real[TAPE_PATH + 1], prefix[32];
		struct recorded_file *file = &recording->files[i];
		int pid;

		if (!file->there || sscanf(file->path, "proc/%d/", &pid) != 1)
			continue;
		snprintf(real, sizeof(real), "/proc/%d/stat", pid);
		if (machine_read(real, text) >= 0)
			continue;
		snprintf(prefix, sizeof(prefix), "proc/%d/", pid);
		recording_all_gone(recording, prefix);
	}
}

void recorded_slowly_look(struct recording *recording, const pid_t *pids, size_t count, const char *directory)
{
	DIR *proc = opendir("/proc");

	ranked_count = 0;
	record_lines(recording, "/proc/self/mounts", is_control_group);
	for (size_t i = 0; i < count; i++)
		record_process(recording, pids[i]);
	for (const struct dirent *entry; proc && (entry = readdir(proc));)
		if (isdigit((unsigned char)*entry->d_name))
			record_absentee(recording, entry->d_name, directory);
	if (proc)
		closedir(proc);
	record_ends(recording);
}
