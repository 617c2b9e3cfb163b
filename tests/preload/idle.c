/* SPDX-License-Identifier: MIT */
/*
 * A process that never calls NCCL has nothing of us but mapped memory: no file, no socket, no thread, no look at the
 * environment, no system call of ours. The library is preloaded, as into every process below `rankwatch run`.
 */
#include <dirent.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 200, AT_ONCE = 20 };

extern char **environ;

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                        \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static int environment_reads;

/* The library binds to this one. */
char *getenv(const char *name)
{
	environment_reads += strncmp(name, "RANKWATCH", 9) == 0;
	for (char **at = environ; *at; at++)
		if (strncmp(*at, name, strlen(name)) == 0 && (*at)[strlen(name)] == '=')
			return *at + strlen(name) + 1;
	return NULL;
}

static int entries(const char *path)
{
	DIR *list = opendir(path);
	int count = 0;

	CHECK(list);
	for (struct dirent *entry; (entry = readdir(list));)
		count += entry->d_name[0] != '.';
	closedir(list);
	return count;
}

static int is_mapped(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	int found = 0;

	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, name) != NULL;
	fclose(maps);
	return found;
}

static void check_this_process(int descriptors)
{
	CHECK(is_mapped("libnccl-profiler-rankwatch.so"));
	CHECK(entries("/proc/self/task") == 1);
	CHECK(entries("/proc/self/fd") == descriptors);
	CHECK(environment_reads == 0);
}

/* fork and exec, as torchrun, data loaders and compile workers do all day. */
static void storm(void)
{
	char *argv[] = { (char *)"/bin/true", NULL };
	int status;

	for (int started = 0, ended = 0; ended < PROCESSES;) {
		pid_t pid;

		if (started < PROCESSES && started - ended < AT_ONCE) {
			CHECK(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == 0);
			started++;
		} else {
			CHECK(wait(&status) > 0 && status == 0);
			ended++;
		}
	}
}

static void forks(int descriptors)
{
	int status;

	for (int i = 0; i < PROCESSES; i++) {
		if (fork() == 0) {
			check_this_process(descriptors);
			exit(0); /* with our destructor */
		}
		CHECK(wait(&status) > 0 && status == 0);
	}
}

int main(void)
{
	char directory[] = "/tmp/preload-idle-XXXXXX";
	int descriptors = entries("/proc/self/fd"); /* with the one that looks */

	CHECK(mkdtemp(directory));
	setenv("RANKWATCH_DIR", directory, 1);
	check_this_process(descriptors);
	forks(descriptors);
	storm();
	CHECK(entries(directory) == 0);
	rmdir(directory);
	return 0;
}
