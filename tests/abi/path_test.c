/* SPDX-License-Identifier: MIT */
/*
 * The path of a collective: after init, 10,000 collectives and p2p calls of a thread that may make no system call at
 * all must not need one, must not allocate and must not lock. Versions 5, 4 and, with a tag for each step, 7. Steps are
 * marked. With "kernels" NCCL's kernel events come as well, and each call is also captured and replayed.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/abi/path_guard.h"
#include "tests/abi/player.h"

enum { CALLS = 10000, CHANNELS = 4 };

static void run_kernel(struct player *player, void *task, uint64_t begin)
{
	void *handles[CHANNELS];

	for (uint8_t channel = 0; channel < CHANNELS; channel++)
		handles[channel] = player_channel(player, task, channel, begin + channel);
	for (int channel = 0; channel < CHANNELS; channel++)
		player_channel_stop(player, handles[channel], begin + 100);
}

static void capture_and_replay(struct player *player, uint64_t begin)
{
	void *group = player_api_group(player), *call = player_call(player, group, "AllReduce", 4096, "ncclFloat32", true);

	player_stop(player, call);
	player_stop(player, group);
	for (int i = 0; i < 2; i++) {
		void *plan = player_plan(player), *task = player_task(player, call, "AllReduce", 4096);
		player_stop(player, task);
		player_stop(player, plan);
		run_kernel(player, task, begin + 1000 * (uint64_t)i);
	}
}

int main(int argc, char **argv)
{
	bool kernels = argc > 1 && argv[1];
	struct player modern, old, tagged;
	void *library = player_load();
	void (*step_begins)(uint64_t) = (void (*)(uint64_t))dlsym(library, "rankwatch_step");

	player_directory();
	setenv("RANKWATCH_KERNELCH", kernels ? "1" : "0", 1);
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
		void *task = player_collective(&modern, "AllGather", 4096, "ncclBfloat16");
		if (kernels)
			run_kernel(&modern, task, 1000 * (uint64_t)i + 1);
		player_collective(&old, "AllReduce", 4096, "ncclFloat32");
		player_p2p(&modern, i % 2 ? "Send" : "Recv", 16, i % 8);
		/* The first half by tags, which calls bring to an end. */
		tagged.tag = 1 + (uint64_t)i / 4;
		player_collective(&tagged, "AllReduce", 4096, "ncclFloat32");
		player_p2p(&tagged, "Send", 16, i % 8);
		if (kernels)
			capture_and_replay(&tagged, 10000 * (uint64_t)i + 1);
		if (i > CALLS / 2)
			step_begins((uint64_t)i / 3);
	}
	path_guard_end("collectives");
}
