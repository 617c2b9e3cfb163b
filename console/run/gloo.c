/* SPDX-License-Identifier: MIT */
#include "console/run/gloo.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A fork bomb is not followed to its end. */
enum { PROCESSES_MAX = 4096 };

/* torch/csrc/distributed/c10d/ProcessGroupGloo.cpp: c10::setThreadName("pt_gloo_runloop"). */
static const char thread_name[] = "pt_gloo_runloop\n";

struct family {
	const char *proc;
	pid_t pids[PROCESSES_MAX];
	size_t count;
};

static FILE *open_of_thread(const struct family *family, pid_t pid, const char *tid, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%d/task/%s/%s", family->proc, (int)pid, tid, name);
	return fopen(path, "re");
}

static bool is_of_gloo(const struct family *family, pid_t pid, const char *tid)
{
	char name[32] = "";
	FILE *file = open_of_thread(family, pid, tid, "comm");

	if (!file)
		return false;
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	return !strcmp(name, thread_name);
}

static void add_children(struct family *family, pid_t pid, const char *tid)
{
	FILE *file = open_of_thread(family, pid, tid, "children");
	int child;

	if (!file)
		return;
	while (family->count < PROCESSES_MAX && fscanf(file, "%d", &child) == 1)
		family->pids[family->count++] = child;
	fclose(file);
}

/* Its threads; their children are added. */
static bool look_at(struct family *family, pid_t pid)
{
	char path[512];
	bool found = false;

	snprintf(path, sizeof(path), "%s/%d/task", family->proc, (int)pid);
	DIR *tasks = opendir(path);
	if (!tasks)
		return false;
	for (const struct dirent *entry; !found && (entry = readdir(tasks));) {
		if (entry->d_name[0] == '.')
			continue;
		found = is_of_gloo(family, pid, entry->d_name);
		add_children(family, pid, entry->d_name);
	}
	closedir(tasks);
	return found;
}

bool gloo_is_used(const char *proc, pid_t pid)
{
	struct family *family = calloc(1, sizeof(*family));
	bool found = false;

	if (!family)
		return false;
	family->proc = proc;
	family->pids[family->count++] = pid;
	for (size_t i = 0; i < family->count && !found; i++)
		found = look_at(family, family->pids[i]);
	free(family);
	return found;
}
