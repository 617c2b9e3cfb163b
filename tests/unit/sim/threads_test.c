/* SPDX-License-Identifier: MIT */
/* The threads that the stand-in's NCCL makes, and what they are called. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "ranks.h"

static bool is_named(const char *task, const char *wanted)
{
	char path[300], name[32] = "";

	snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task);
	FILE *file = fopen(path, "re");
	bool read = file && fgets(name, sizeof(name), file);
	if (file)
		fclose(file);
	return read && strncmp(name, wanted, strlen(wanted)) == 0;
}

static int count_threads(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	int count = 0;

	CHECK(tasks);
	for (const struct dirent *entry; (entry = readdir(tasks));)
		count += entry->d_name[0] != '.' && is_named(entry->d_name, name);
	closedir(tasks);
	return count;
}

static void names_main(struct rank *rank)
{
	(void)rank;
	CHECK(count_threads("NCCL Progress") == atoi(getenv("EXPECTED_NAMED")));
}

Test(threads, have_names_only_when_asked_to)
{
	setenv("EXPECTED_NAMED", "0", 1);
	ranks_run(2, names_main);
	setenv("NCCL_SET_THREAD_NAME", "0", 1);
	ranks_run(2, names_main);
	setenv("NCCL_SET_THREAD_NAME", "1", 1);
	setenv("EXPECTED_NAMED", "1", 1);
	setenv("NCCL_CUMEM_ENABLE", "0", 1);
	ranks_run(2, names_main);
}

Test(threads, where_connections_are_made_at_first_use_init_makes_no_progress_thread)
{
	setenv("NCCL_SET_THREAD_NAME", "1", 1);
	setenv("EXPECTED_NAMED", "0", 1);
	ranks_run(2, names_main);
}

Test(threads, one_rank_alone_has_no_progress_thread)
{
	setenv("NCCL_CUMEM_ENABLE", "0", 1);
	setenv("NCCL_SET_THREAD_NAME", "1", 1);
	setenv("EXPECTED_NAMED", "0", 1);
	ranks_run(1, names_main);
}
