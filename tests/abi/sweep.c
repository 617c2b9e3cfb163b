/* SPDX-License-Identifier: MIT */
/*
 * Every version of the interface × every type of event, known or not × contexts and parents that are valid, NULL,
 * stale, foreign or garbage × states with and without arguments; the same behind a chained plugin when one is named.
 * Nothing of it may crash, return an error, leave a handle unwritten or spoil the next operation. Then 100 rounds of
 * init and finalize a version, which must not make the process grow. Bare program: the sanitizers see all of it. sweep
 * [VERSION CHAINED-PLUGIN]
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/abi/player.h"

enum { NEWEST = 7, TYPES = 20, STATES = 40, CONTEXTS = 6, PARENTS = 10, ROUNDS = 100 };

struct sweep {
	void *library;
	struct player player;
	void *contexts[CONTEXTS], *parents[PARENTS];
	unsigned int events, failures;
};

static void fail(struct sweep *sweep, const char *what, uint64_t type)
{
	fprintf(stderr, "version %d, type %#lx: %s\n", sweep->player.abi, (unsigned long)type, what);
	sweep->failures++;
}

static void *ended_context(struct sweep *sweep)
{
	struct player ended;

	player_init(&ended, sweep->library, sweep->player.abi, 0xdead, 0, 2);
	player_collective(&ended, "AllReduce", 1, "ncclFloat32");
	player_finalize(&ended);
	return ended.context;
}

static void fill(struct sweep *sweep)
{
	struct player *player = &sweep->player;
	void *task = player_collective(player, "AllReduce", 1, "ncclFloat32");
	void *stale = task, *call = NULL;

	if (player->abi >= 5)
		call = player_call(player, NULL, "AllReduce", 1, "ncclFloat32", false);
	for (int i = 0; i < 10; i++)
		task = player_collective(player, "AllReduce", 1, "ncclFloat32");
	void *contexts[CONTEXTS] = { player->context,        NULL,      ended_context(sweep),
				     (void *)0x7f0012345678, (void *)1, (void *)-1 };
	void *parents[PARENTS] = { NULL,
				   task,
				   stale,
				   call,
				   player->context,
				   (void *)0x7f0012345678,
				   (void *)1,
				   (void *)-1,
				   (void *)0x5300ffffffffffff,
				   (void *)0x5101000000000000 };
	memcpy(sweep->contexts, contexts, sizeof(contexts));
	memcpy(sweep->parents, parents, sizeof(parents));
}

/* A raw pointer is the chained plugin's own, where there is one; it gets nothing but its own back. */
static bool is_ours(const void *pointer)
{
	return !pointer || (uintptr_t)pointer >> 56;
}

static void play_states(struct sweep *sweep, void *handle)
{
	unsigned char poison[16];

	memset(poison, 0xa5, sizeof(poison));
	for (int state = 0; state < STATES; state++) {
		player_state(&sweep->player, handle, state, poison);
		/* NCCL gives NULL with the states of GroupApi. */
		player_state(&sweep->player, handle, state, NULL);
	}
	player_stop(&sweep->player, handle);
	player_stop(&sweep->player, handle);
}

static void play_event(struct sweep *sweep, void *context, uint64_t type, void *parent)
{
	void *handle;

	if (!player_raw(&sweep->player, context, type, parent, &handle))
		fail(sweep, "an error was returned", type);
	if (handle == (void *)0x5a5a)
		fail(sweep, "the handle was not written", type);
	else
		play_states(sweep, handle);
	sweep->events++;
}

static void play_all(struct sweep *sweep, bool chained)
{
	for (int bit = -1; bit < TYPES; bit++) {
		uint64_t type = bit < 0 ? 0 : UINT64_C(1) << bit;

		for (int i = 0; i < CONTEXTS * PARENTS; i++) {
			void *context = sweep->contexts[i / PARENTS], *parent = sweep->parents[i % PARENTS];

			if (!chained || (is_ours(context) && is_ours(parent)))
				play_event(sweep, context, type, parent);
		}
	}
	for (int i = 0; i < CONTEXTS + PARENTS; i++) {
		void *pointer = i < CONTEXTS ? sweep->contexts[i] : sweep->parents[i - CONTEXTS];

		if (pointer && (!chained || is_ours(pointer)))
			play_states(sweep, pointer);
	}
}

/* All but the first, which is in use. */
static void finalize_others(struct sweep *sweep)
{
	struct player other = sweep->player;

	for (int i = 1; i < CONTEXTS; i++) {
		other.context = sweep->contexts[i];
		player_finalize(&other);
	}
}

static void expect_whole(struct sweep *sweep, struct box_reader *reader)
{
	struct rw_operation op;

	player_collective(&sweep->player, "ReduceScatter", 3, "ncclFloat32");
	if (box_reader_refresh(reader) != 0 || !player_operation(reader, reader->header.head - 1, &op))
		fail(sweep, "the next operation is not in the box", 0);
	else if (!(op.known & RW_KNOWN_TASK) || op.function != RW_FUNCTION_REDUCE_SCATTER || op.owner)
		fail(sweep, "the next operation is not whole", 0);
}

static int count_entries(const char *path)
{
	DIR *entries = opendir(path);
	int count = 0;

	while (entries && readdir(entries))
		count++;
	if (entries)
		closedir(entries);
	return count;
}

static void play_rounds(struct sweep *sweep)
{
	int descriptors = count_entries("/proc/self/fd"), threads = count_entries("/proc/self/task");

	for (int round = 0; round < ROUNDS; round++) {
		struct player player;

		player_init(&player, sweep->library, sweep->player.abi, 0xf00 + (uint64_t)round, 0, 2);
		player_collective(&player, "AllReduce", 1, "ncclFloat32");
		player_finalize(&player);
	}
	if (count_entries("/proc/self/fd") != descriptors || count_entries("/proc/self/task") != threads)
		fail(sweep, "100 rounds left descriptors or threads behind", 0);
}

static void sweep_version(struct sweep *sweep, int abi, bool chained, struct box_reader *reader, const char *directory)
{
	player_init(&sweep->player, sweep->library, abi, 0x5eed, 1, 4);
	if (!reader->header.total_size)
		player_read(reader, directory);
	if (sweep->player.result != 0 || !sweep->player.mask)
		fail(sweep, "init", 0);
	fill(sweep);
	play_all(sweep, chained);
	finalize_others(sweep);
	expect_whole(sweep, reader);
	player_finalize(&sweep->player);
	play_all(sweep, chained);
	play_rounds(sweep);
}

int main(int argc, char **argv)
{
	const char *directory = player_directory();
	struct box_reader reader = { .fd = -1 };
	struct sweep sweep = { 0 };
	char why[64] = "";

	setenv("RANKWATCH_KERNELCH", "1", 1);
	if (argc > 2) {
		setenv("RANKWATCH_CHAIN", argv[2], 1);
		snprintf(why, sizeof(why), ", chained");
	}
	sweep.library = player_load();
	/* With a chained plugin only its own version: the first NCCL of the process decides. */
	int newest = argc > 2 ? atoi(argv[1]) : NEWEST, oldest = argc > 2 ? newest : 1;
	for (int abi = newest; abi >= oldest; abi--)
		sweep_version(&sweep, abi, argc > 2, &reader, directory);
	if (reader.header.comms_refused || reader.header.dropped)
		fail(&sweep, "communicators or operations were refused", 0);
	printf("%u events%s, %u failures\n", sweep.events, why, sweep.failures);
	box_reader_close(&reader);
	return sweep.failures != 0;
}
