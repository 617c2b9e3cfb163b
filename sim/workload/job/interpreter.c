/* SPDX-License-Identifier: MIT */
#include "sim/workload/job/interpreter.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/workload/job/options.h"
#include "sim/workload/job/rank.h"

enum { PYTHON_ARGUMENTS = 3 /* python3 rank.py workload.so */ };

static void (*run_lines)(int crowded);

/* A file that lies beside this program. -errno where it does not. */
static int find_beside(const char *name, char *path, size_t size)
{
	char self[PATH_MAX] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -errno;
	snprintf(path, size, "%s/%s", dirname(self), name);
	return access(path, R_OK) ? -errno : 0;
}

int interpreter_check(char *reason, size_t size)
{
	static const char *const files[] = { "rank.py", "workload.so" };
	char path[PATH_MAX + 16];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		int err = find_beside(files[i], path, sizeof(path));

		if (err) {
			snprintf(reason, size, "%s: %s", path, strerror(-err));
			return err;
		}
	}
	if (system("python3 -c 'import ctypes, threading' 2>/dev/null")) {
		snprintf(reason, size, "it needs python3 with ctypes");
		return -ENOENT;
	}
	return 0;
}

int interpreter_become(char **argv)
{
	char script[PATH_MAX + 16], library[PATH_MAX + 16];
	size_t count = 0;

	while (argv[count])
		count++;
	char **all = calloc(count + PYTHON_ARGUMENTS, sizeof(*all));
	int err = all ? find_beside("rank.py", script, sizeof(script)) : -ENOMEM;
	if (!err)
		err = find_beside("workload.so", library, sizeof(library));
	if (!err) {
		all[0] = "python3";
		all[1] = script;
		all[2] = library;
		memcpy(all + PYTHON_ARGUMENTS, argv + 1, count * sizeof(*argv)); /* with the NULL at its end */
		execvp(all[0], all);
		err = -errno;
	}
	free(all);
	return err;
}

void interpreter_run_lines(bool crowded)
{
	if (run_lines)
		run_lines(crowded);
}

int workload_rank(int argc, char **argv, void (*lines)(int crowded))
{
	struct options options;

	run_lines = lines;
	options_parse(&options, argc, argv);
	return rank_main(&options);
}
