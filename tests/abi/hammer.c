/* SPDX-License-Identifier: MIT */
/*
 * Eight threads at once: each makes its own communicators (concurrent init and finalize), plays calls, groups, p2p and
 * kernels in a version of the interface of its own, hands in stale and foreign handles; another process forks off in
 * the middle. Then the box must add up. With an argument: more communicators than the table holds, one after the other
 * in each thread, with contexts of ended ones handed in. Bare program: ThreadSanitizer sees the plugin's threads.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/abi/player.h"

enum { THREADS = 8, ROUNDS = 4, CALLS = 1500, CHURN = 400 };

static void *library;

static void hand_in_nonsense(struct player *player, void *stale)
{
	static void *const nonsense[] = { (void *)8, (void *)-1, (void *)0x5500000000000001 };

	player_task(player, NULL, "AllReduce", 1);
	player_task(player, stale, "AllReduce", 1);
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		player_task(player, nonsense[i], "AllReduce", 1);
		player_stop(player, nonsense[i]);
	}
	player_stop(player, stale);
	player_state(player, NULL, 23, NULL);
	player_stop(player, NULL);
}

/* Handles are stopped again at the next operation, as NCCL does. */
static void play_kernel(struct player *player, void *task, void *handles[4])
{
	for (uint8_t channel = 0; channel < 4; channel++) {
		player_channel_stop(player, handles[channel], 3);
		handles[channel] = player_channel(player, task, channel, 1);
	}
	for (int channel = 0; channel < 4; channel++)
		player_channel_stop(player, handles[channel], 2);
}

static void play_calls(struct player *player, int number)
{
	void *group = player_api_group(player);
	void *call = player_call(player, group, "Reduce", 1, "ncclFloat32", false);

	player_stop(player, player_task(player, call, "Reduce", 1));
	player_stop(player, group);
	if (player->abi >= 6 && number % 8 == 0) {
		void *copied = player_call(player, NULL, "AllGather", 1, "ncclFloat32", false);

		player_stop(player, player_copy(player, copied, "AllGather", 0, (void *)0x2000));
	}
	hand_in_nonsense(player, call);
}

static void *play(void *argument)
{
	uint64_t id = (uint64_t)(uintptr_t)argument;
	int abi = 1 + (int)(id - 1) % 7;
	struct player player;
	void *channels[4] = { NULL };

	for (uint64_t round = 0; round < ROUNDS; round++) {
		player_init(&player, library, abi, id * 100 + round, 0, THREADS);
		for (int i = 0; i < CALLS; i++) {
			if (abi >= 5)
				play_calls(&player, i);
			void *task = player_collective(&player, "AllReduce", 1, "ncclFloat32");
			if (abi >= 4)
				play_kernel(&player, task, channels);
			player_p2p(&player, "Send", 1, i % THREADS);
		}
		player_finalize(&player);
		player_collective(&player, "AllReduce", 1, "ncclFloat32"); /* stale context */
		player_finalize(&player);
	}
	return NULL;
}

static void *churn(void *argument)
{
	uint64_t id = (uint64_t)(uintptr_t)argument;
	struct player player, stale = { 0 };

	for (uint64_t i = 0; i < CHURN; i++) {
		player_init(&player, library, 1 + (int)(i % 7), id * CHURN + i + 1, 0, THREADS);
		player_collective(&player, "AllReduce", 1, "ncclFloat32");
		if (stale.context) {
			player_collective(&stale, "AllReduce", 1, "ncclFloat32");
			player_finalize(&stale);
		}
		player_finalize(&player);
		stale = player;
		usleep(1000); /* a job's communicators do not come faster than the plugin's thread looks */
	}
	return NULL;
}

/* Each has left its operation, or was refused and counted. */
static int check_churn(const char *directory)
{
	struct box_reader reader;

	player_read(&reader, directory);
	uint64_t refused = reader.header.comms_refused, used = reader.header.comms_used;
	printf("%d communicators: %llu entries, %llu refused, head %llu\n", THREADS * CHURN, (unsigned long long)used,
	       (unsigned long long)refused, (unsigned long long)reader.header.head);
	bool whole = used == RW_BOX_COMMS && reader.header.head + refused == THREADS * CHURN;
	box_reader_close(&reader);
	return !whole;
}

/* A forked child has neither box nor thread: it may call and exit, and nothing happens. */
static int fork_and_play(void)
{
	struct player player;
	int status = -1;

	player_init(&player, library, 5, 77, 0, 2);
	pid_t child = fork();
	if (child == 0) {
		player_collective(&player, "AllReduce", 1, "ncclFloat32");
		player_finalize(&player);
		player_init(&player, library, 5, 78, 0, 2);
		_exit(player.mask != 0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
		fprintf(stderr, "forked child: status %d\n", status);
		return 1;
	}
	player_finalize(&player);
	return 0;
}

/* A call with an event of its own: three in 5 and up, one more on the copy engines each eighth time in 6 and 7. */
static uint64_t expected_calls(void)
{
	uint64_t calls = 0;

	for (int thread = 0; thread < THREADS; thread++) {
		int abi = 1 + thread % 7;

		calls += (uint64_t)ROUNDS * CALLS * (abi < 5 ? 2 : 3);
		calls += abi < 6 ? 0 : (uint64_t)ROUNDS * ((CALLS + 7) / 8);
	}
	return calls;
}

static int check_box(const char *directory)
{
	struct box_reader reader;
	struct rw_communicator entries[THREADS * ROUNDS + 1];
	uint64_t calls = 0, expected = expected_calls();

	player_read(&reader, directory);
	int count = box_reader_communicators(&reader, 0, THREADS * ROUNDS + 1, entries);
	for (int i = 0; i < count; i++) {
		calls += entries[i].api_count;
		if (!entries[i].ended_ns)
			fprintf(stderr, "communicator %d has no end\n", i);
	}
	printf("%d communicators, %llu calls, head %llu, dropped %llu, own %llu ns in %llu callbacks\n", count,
	       (unsigned long long)calls, (unsigned long long)reader.header.head,
	       (unsigned long long)reader.header.dropped, (unsigned long long)reader.header.own_ns,
	       (unsigned long long)reader.header.callbacks);
	box_reader_close(&reader);
	if (count != THREADS * ROUNDS + 1 || calls != expected) {
		fprintf(stderr, "expected %d communicators, %llu calls\n", THREADS * ROUNDS + 1,
			(unsigned long long)expected);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool churns = argc > 1;
	const char *directory = player_directory();
	pthread_t threads[THREADS];
	int failed = 0;

	setenv("RANKWATCH_KERNELCH", "1", 1);
	library = player_load();
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, churns ? churn : play, (void *)(i + 1)))
			return 1;
	if (!churns)
		failed |= fork_and_play();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	(void)argv;
	return failed | (churns ? check_churn(directory) : check_box(directory));
}
