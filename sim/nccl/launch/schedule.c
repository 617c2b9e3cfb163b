/* SPDX-License-Identifier: MIT */
#include "sim/nccl/launch/schedule.h"

#include <stdlib.h>

#include "sim/nccl/data/number.h"
#include "sim/nccl/log.h"
#include "sim/nccl/quirk.h"

#define BYTES_PER_CHANNEL (64u << 10)
#define GROUP_RANKS       8 /* of one host, that the schedule serves one after the other when there are several hosts */
#define BIN_UNIT_LOG2     10
#define BIN_MAX           ((size_t)1 << 30)
#define BINS_LOG2         2 /* between one power of two and the next */

static void set_channels(struct task *task)
{
	size_t channels = task->count * number_size(task->type) / BYTES_PER_CHANNEL + 1;

	task->channels = (uint8_t)(channels < PLAN_CHANNELS_MAX ? channels : PLAN_CHANNELS_MAX);
}

/* What a GPU does for an operator: one code for smallest and largest; averages and a program's own scale first. */
static int device_operator(const struct task *task)
{
	bool whole = task->type <= ncclUint64;

	if (task->function == FUNCTION_ALLGATHER || task->function == FUNCTION_BROADCAST)
		return -1;
	if (task->op == ncclMin)
		return ncclMax;
	if (task->op == ncclAvg && whole)
		return ncclAvg;
	return task->op < ncclAvg ? (int)task->op : ncclNumOps;
}

/* AllGather and Broadcast move bytes, whatever their type. */
static ncclDataType_t device_type(const struct task *task)
{
	bool bytes = task->function == FUNCTION_ALLGATHER || task->function == FUNCTION_BROADCAST;

	return bytes ? ncclInt8 : task->type;
}

bool schedule_same_kind(const struct task *a, const struct task *b)
{
	return a->function == b->function && device_operator(a) == device_operator(b) &&
	       device_type(a) == device_type(b);
}

/* Sizes are compared roughly: by the KiB below 4 KiB, then in four bins for each power of two. */
static unsigned int size_bin(const struct task *task)
{
	size_t traffic = task_traffic(task);
	size_t units = (traffic < BIN_MAX ? traffic : BIN_MAX) >> BIN_UNIT_LOG2;
	unsigned int doublings = 0;

	while (units >> doublings >= 2u << BINS_LOG2)
		doublings++;
	return (doublings << BINS_LOG2) + (unsigned int)(units >> doublings);
}

/* Of equals the last. */
static const struct task *largest(const struct task *list)
{
	const struct task *found = list;

	for (; list; list = list->next) {
		if (size_bin(list) >= size_bin(found))
			found = list;
	}
	return found;
}

/* Behind all of its kind that are not larger. */
static void insert_by_size(struct task **list, struct task *task)
{
	while (*list && size_bin(*list) <= size_bin(task))
		list = &(*list)->next;
	task->next = *list;
	*list = task;
}

static struct task *take_kind(struct task **list, struct task kind)
{
	struct task *taken = NULL;

	while (*list) {
		struct task *task = *list;
		if (!schedule_same_kind(task, &kind)) {
			list = &task->next;
			continue;
		}
		*list = task->next;
		insert_by_size(&taken, task);
	}
	return taken;
}

void schedule_collectives(struct task **list)
{
	struct task *left = *list, **tail = list;

	for (struct task *task = left; task; task = task->next)
		set_channels(task);
	while (left) {
		*tail = take_kind(&left, *largest(left));
		while (*tail)
			tail = &(*tail)->next;
	}
}

/* Ranks of a host that form one place of the schedule: as many on every host. */
static int group_ranks(const struct hosts *hosts)
{
	int size = hosts->count > 1 ? GROUP_RANKS : hosts->nranks;

	for (int host = 0; host < hosts->count; host++) {
		int rest = hosts->table[host].size;
		while (rest) { /* the greatest common divisor */
			int next = size % rest;
			size = rest;
			rest = next;
		}
	}
	return size;
}

struct places {
	int size, count, own, local; /* own: this rank's place; local: its index there */
	const struct hosts *hosts;
};

/* Places are numbered host by host. */
static int rank_at(const struct places *places, int place, int local)
{
	const struct hosts *hosts = places->hosts;
	int host = 0, rank = 0;

	for (; place * places->size >= hosts->table[host].size; host++)
		place -= hosts->table[host].size / places->size;
	while (hosts->places[rank].host != host || hosts->places[rank].index != place * places->size + local)
		rank++;
	return rank;
}

static struct places find_places(const struct hosts *hosts)
{
	struct places places = { .size = group_ranks(hosts), .hosts = hosts };
	int index = hosts->places[hosts->rank].index;

	places.count = hosts->nranks / places.size;
	places.local = index % places.size;
	places.own = index / places.size;
	for (int host = 0; host < hosts->own; host++)
		places.own += hosts->table[host].size / places.size;
	return places;
}

struct round {
	int to, from;
};

static int add_rounds(const struct places *places, int distance, struct round *rounds)
{
	int to = (places->own + distance) % places->count;
	int from = (places->own - distance + places->count) % places->count;

	for (int step = 0; step < places->size; step++) {
		rounds[step].to = rank_at(places, to, (places->local + step) % places->size);
		rounds[step].from = rank_at(places, from, (places->local - step + places->size) % places->size);
	}
	return places->size;
}

/* The distances 0, 1, 3, 6, 10… modulo a power of two are all that are below it; those that are none are left out. */
static void find_rounds(const struct hosts *hosts, struct round *rounds)
{
	struct places places = find_places(hosts);
	int modulus = 1;

	while (modulus < places.count)
		modulus *= 2;
	for (int step = 0, distance = 0; step < modulus; step++, distance = (distance + step) % modulus) {
		if (distance < places.count)
			rounds += add_rounds(&places, distance, rounds);
	}
}

/* Rounds that follow each other lie far apart: the bits of the number in reverse order. */
static uint8_t first_channel(const struct hosts *hosts, int round)
{
	int number = round;
	uint8_t channel = 0;

	if (hosts->count > 1) {
		int size = group_ranks(hosts);
		number = round / size * ((size + GROUP_RANKS - 1) / GROUP_RANKS) + round % size / GROUP_RANKS;
	}
	for (int bit = 1; bit < SCHEDULE_P2P_CHANNELS; bit *= 2, number /= 2)
		channel = (uint8_t)(channel * 2 + number % 2);
	return channel;
}

static struct task **find(struct task **list, enum function function, int peer)
{
	while (*list && ((*list)->function != function || (*list)->root_or_peer != peer))
		list = &(*list)->next;
	return list;
}

static struct task *take(struct task **list, enum function function, int peer)
{
	struct task **at = find(list, function, peer), *task = *at;

	if (task)
		*at = task->next;
	return task;
}

static void set_round(struct task *task, int round, int work)
{
	task->round = round;
	task->work = work;
	task->first_channel = first_channel(&task->comm->hosts, round);
	set_channels(task);
	if (quirk_is_on(QUIRK_FEWER_CHANNELS) && task->channels == 1)
		task->channels = 2; /* announced; channel_op.c says which run */
}

static ncclResult_t check_own(struct task *left, int rank)
{
	bool sends = *find(&left, FUNCTION_SEND, rank);
	bool receives = *find(&left, FUNCTION_RECV, rank);

	if (sends == receives)
		return ncclSuccess;
	log_warn("Trying to %s to self without a matching %s", sends ? "send" : "recv", sends ? "recv" : "send");
	return ncclInvalidUsage;
}

struct order {
	struct task **tail;
	int works;
};

static void put(struct order *order, struct task *task, int round)
{
	if (!task)
		return;
	set_round(task, round, order->works);
	*order->tail = task;
	order->tail = &task->next;
	task->next = NULL;
}

static void put_pair(struct order *order, struct task *send, struct task *receive, int round)
{
	if (send && receive && task_is_own(send) && send->send == receive->recv) {
		free(send);
		free(receive);
		return;
	}
	put(order, send, round);
	put(order, receive, round);
	order->works += send || receive;
}

ncclResult_t schedule_p2p(struct ncclComm *comm, struct task **list)
{
	struct round rounds[SEGMENT_RANKS_MAX];
	struct task *left = *list;
	struct order order = { list, 0 };
	ncclResult_t result = ncclSuccess;

	if (!left)
		return ncclSuccess;
	find_rounds(&comm->hosts, rounds);
	*list = NULL;
	while (left && result == ncclSuccess) {
		result = check_own(left, comm->rank);
		for (int round = 0; round < comm->nranks && result == ncclSuccess; round++) {
			struct task *send = take(&left, FUNCTION_SEND, rounds[round].to);
			struct task *receive = take(&left, FUNCTION_RECV, rounds[round].from);
			put_pair(&order, send, receive, round);
		}
	}
	*order.tail = left; /* for whoever drops them */
	return result;
}

static void add_to_work(struct work *work, struct task *task)
{
	if (task->function == FUNCTION_SEND)
		work->send = task;
	else
		work->receive = task;
}

struct work schedule_next_work(struct task **list)
{
	struct task *first = *list;
	struct work work = { 0 };

	while (*list && (*list)->work == first->work) {
		add_to_work(&work, *list);
		*list = (*list)->next;
	}
	return work;
}
