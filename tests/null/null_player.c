/* SPDX-License-Identifier: MIT */
#include "tests/null/null_player.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/abi/player.h"
#include "tests/null/null_nccl.h"

enum { CALLS = 16, COMMUNICATORS = 4 };

static struct {
	void *comm;
	struct player player;
} communicators[COMMUNICATORS];
static void *library;
static int version;
static bool records;
static void *group;
static struct {
	void *handle;
	struct null_call call;
} calls[CALLS]; /* of the group */
static int count;

static struct player *player_of(const void *comm)
{
	for (int i = 0; i < COMMUNICATORS; i++)
		if (__atomic_load_n(&communicators[i].comm, __ATOMIC_ACQUIRE) == comm)
			return &communicators[i].player;
	abort();
}

/* Before its init, which may not have returned when the next one begins. */
static struct player *take_player(void *comm)
{
	for (int i = 0; i < COMMUNICATORS; i++) {
		void *none = NULL;

		if (__atomic_compare_exchange_n(&communicators[i].comm, &none, comm, 0, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return &communicators[i].player;
	}
	abort();
}

static void on_init(void *comm, int nranks, int rank)
{
	struct player *player = take_player(comm);

	player_init(player, library, version, 0x5eed + (uint64_t)(uintptr_t)comm, rank, nranks);
	records = player->mask;
}

static void on_call(const struct null_call *call)
{
	struct player *player = player_of(call->comm);

	if (count == CALLS)
		abort();
	if (!group)
		group = player_api_group(player);
	player->stream = call->stream;
	calls[count].call = *call;
	calls[count].handle = call->peer < 0
				  ? player_call(player, group, call->function, call->count, "ncclFloat32", false)
				  : player_p2p_call(player, group, call->function, call->count);
	player_stop(player, calls[count++].handle);
}

static void play_task(struct player *player, const struct null_call *call, void *handle)
{
	player->send = call->send;
	player->recv = call->recv;
	player_stop(player, call->peer < 0 ? player_task(player, handle, call->function, call->count)
					   : player_p2p_task(player, handle, call->function, call->count, call->peer));
}

/* All calls of a group are of one communicator here. */
static void on_launch(void)
{
	struct player *player = count ? player_of(calls[0].call.comm) : NULL;

	if (!player)
		return;
	player_stop(player, player_launch(player, player->stream));
	void *plan = player_plan(player);
	for (int i = 0; i < count; i++)
		play_task(player, &calls[i].call, calls[i].handle);
	player_stop(player, plan);
	player_stop(player, group);
	group = NULL;
	count = 0;
}

static void on_end(void *comm)
{
	player_finalize(player_of(comm));
	for (int i = 0; i < COMMUNICATORS; i++)
		if (communicators[i].comm == comm)
			__atomic_store_n(&communicators[i].comm, NULL, __ATOMIC_RELEASE);
}

void null_player_use(int abi)
{
	version = abi;
	if (!abi)
		return;
	library = player_load();
	null_nccl_hooks =
	    (struct null_nccl_hooks){ .init = on_init, .call = on_call, .launch = on_launch, .end = on_end };
}

bool null_player_records(void)
{
	return !version || records;
}
