/* SPDX-License-Identifier: MIT */
/* A program that leaves through exit() without finalize, as most do: its box must say so. Executes itself, because a
 * test runner's exit is not a program's. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/abi/player.h"

static void play_and_exit(void)
{
	struct player player;

	player_init(&player, player_load(), 5, 1, 0, 2);
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	exit(0);
}

int main(int argc, char **argv)
{
	struct box_reader reader;
	int status = -1;

	if (argc > 1)
		play_and_exit();
	const char *directory = player_directory();
	pid_t child = fork();
	if (child == 0) {
		execl(argv[0], argv[0], "play", NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
		fprintf(stderr, "the playing program: status %d\n", status);
		return 1;
	}
	player_read(&reader, directory);
	if (reader.header.end == RW_BOX_EXITED)
		return 0;
	fprintf(stderr, "the box does not say that its process left through exit()\n");
	return 1;
}
