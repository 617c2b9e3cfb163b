/* SPDX-License-Identifier: MIT */
/*
 * The path of a collective: after init, 10,000 collectives and p2p calls of a thread that may make no system call at
 * all must not need one, must not allocate and must not lock. Versions 5, 4 and, with a tag for each step, 7. Steps are marked.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/abi/path_guard.h"
#include "tests/abi/player.h"

enum { CALLS = 10000 };

int main(void)
{
	struct player modern, old, tagged;
	void *library = player_load();
	void (*step_begins)(uint64_t) = (void (*)(uint64_t))dlsym(library, "rankwatch_step");

	player_directory();
	path_guard_fork();
	player_init(&modern, player_load(), 5, 1, 0, 8);
	player_init(&old, player_load(), 4, 2, 0, 8);
	player_init(&tagged, library, 7, 3, 0, 8);
	if (!modern.mask || !old.mask || !tagged.mask || !step_begins) {
		fprintf(stderr, "the plugin does not record\n");
		_exit(1);
	}
	path_guard_begin();
	for (int i = 0; i < CALLS; i++) {
		player_collective(&modern, "AllGather", 4096, "ncclBfloat16");
		player_collective(&old, "AllReduce", 4096, "ncclFloat32");
		player_p2p(&modern, i % 2 ? "Send" : "Recv", 16, i % 8);
		/* The first half by tags, which calls bring to an end. */
		tagged.tag = 1 + (uint64_t)i / 4;
		player_collective(&tagged, "AllReduce", 4096, "ncclFloat32");
		player_p2p(&tagged, "Send", 16, i % 8);
		if (i > CALLS / 2)
			step_begins((uint64_t)i / 3);
	}
	path_guard_end("collectives");
}
