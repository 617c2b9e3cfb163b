/* SPDX-License-Identifier: MIT */
/*
 * A job with little address space (RLIMIT_AS, "ulimit -v"): whatever is left when NCCL loads the plugin, init succeeds
 * and the job goes on. The plugin records, or says in one line that it does not and leaves no box behind; and where
 * there is enough, it leaves the job most of it. Standard error is a pipe: to a file, which can hang, it would say
 * nothing where there is no room for a thread.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/abi/player.h"

enum { STEP_KIB = 64, CLOSE_KIB = 2048, ENOUGH_KIB = 16 * 1024, RECORDS = 0, REFUSES = 2, LOG = 4096 };

static size_t used_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	size_t pages = 0;

	if (!file || fscanf(file, "%zu", &pages) != 1)
		exit(1);
	fclose(file);
	return pages * (size_t)getpagesize() / 1024;
}

static bool is_left(size_t kib)
{
	void *map = mmap(NULL, kib * 1024, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return map != MAP_FAILED && !munmap(map, kib * 1024);
}

static void fail(size_t kib, const char *what)
{
	fprintf(stderr, "with %zu KiB left: %s\n", kib, what);
	_exit(1);
}

static _Noreturn void play(size_t kib, int log_fd)
{
	void *library = player_load();
	size_t limit = (used_kib() + kib) * 1024;
	struct rlimit space = { .rlim_cur = limit, .rlim_max = limit };
	struct player player;

	dup2(log_fd, STDERR_FILENO);
	if (setrlimit(RLIMIT_AS, &space))
		fail(kib, "setrlimit");
	player_init(&player, library, 5, 1, 0, 8);
	if (player.result)
		fail(kib, "init returned an error");
	for (int i = 0; i < 100; i++)
		player_collective(&player, "AllReduce", 4096, "ncclFloat32");
	if (kib >= ENOUGH_KIB && !is_left(kib / 4 * 3))
		fail(kib, "more than a quarter of it is taken");
	bool records = player.mask != 0;

	player_finalize(&player);
	_exit(records ? RECORDS : REFUSES);
}

static int play_in_child(size_t kib, int log_fd)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		play(kib, log_fd);
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) == 1)
		fail(kib, "the process died");
	return WEXITSTATUS(status);
}

/* Removes them: each limit begins with none. */
static int take_boxes(const char *directory)
{
	DIR *list = opendir(directory);
	int count = 0;

	for (struct dirent *file; list && (file = readdir(list));)
		count += file->d_name[0] != '.' && !unlinkat(dirfd(list), file->d_name, 0);
	if (list)
		closedir(list);
	return count;
}

static void check(size_t kib, const char *directory, const int log[2], int *seen)
{
	static const char wanted[] = "rankwatch: not recording: ";
	char lines[LOG] = "";

	int status = play_in_child(kib, log[1]);
	int boxes = take_boxes(directory);

	seen[status == REFUSES]++;
	if (read(log[0], lines, sizeof(lines) - 1) < 0 && errno != EAGAIN)
		fail(kib, "read");
	if (status == REFUSES && (boxes || strncmp(lines, wanted, sizeof(wanted) - 1) ||
				  strchr(lines, '\n') != strrchr(lines, '\n')))
		fail(kib, *lines ? lines : "it does not record, without a word, or a box stays behind");
	if (status == RECORDS && kib >= CLOSE_KIB && !boxes)
		fail(kib, *lines ? lines : "it records, but not to a file");
}

int main(void)
{
	const char *directory = player_directory();
	int log[2], seen[2] = { 0 };

	if (pipe2(log, O_CLOEXEC | O_NONBLOCK))
		fail(0, "pipe");
	for (size_t kib = 0; kib <= 2 * CLOSE_KIB; kib += STEP_KIB)
		check(kib, directory, log, seen);
	for (size_t kib = ENOUGH_KIB; kib <= 8 * ENOUGH_KIB; kib += ENOUGH_KIB)
		check(kib, directory, log, seen);
	if (seen[0] && seen[1])
		return 0;
	fprintf(stderr, "%d times recorded, %d times not: both should have been seen\n", seen[0], seen[1]);
	return 1;
}
