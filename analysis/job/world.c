/* SPDX-License-Identifier: MIT */
#include "analysis/job/world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/batch.h"
#include "analysis/job/course.h"
#include "analysis/job/search.h"

enum { SLOTS_FIRST = 64, COMMUNICATOR_MAX = 1 << 20 };

/* One message on its way in. */
struct taking {
	struct world *world;
	const struct rw_batch *header;
	const struct rw_message *message;
	uint32_t host;
	uint64_t now_ns;
};

static void *grow(void *array, uint32_t count, uint32_t *room, size_t size)
{
	if (count < *room)
		return array;
	uint32_t wanted = *room ? *room * 2 : 2;
	void *grown = realloc(array, wanted * size);
	if (grown)
		*room = wanted;
	return grown;
}

bool world_is_dead(const struct world_rank *rank)
{
	return rank->told && rank->life >= RW_MESSAGE_EXITED;
}

bool world_has_left(const struct world *world, const struct world_rank *rank)
{
	bool left = rank->membership_count;

	for (uint32_t i = 0; left && i < rank->membership_count; i++)
		left = world_joined(world, rank, i)->members[rank->memberships[i].member].left;
	return left || world_is_dead(rank);
}

bool world_is_named(const struct world_rank *rank)
{
	return rank->found & (1u << RW_KIND_HANG | 1u << RW_KIND_GONE | 1u << RW_KIND_DESYNC);
}

bool world_is_explained(const struct world *world, uint32_t host)
{
	for (uint32_t i = 0; i < world->rank_room; i++)
		if (world->ranks[i].host == host && world_is_named(&world->ranks[i]))
			return true;
	return false;
}

/* The share of its latest batches that did not come, or not yet; of those from the oldest on of which it is known. */
static double lost_share(const struct world_host *host)
{
	if (!host->came)
		return 0;
	int known = 64 - __builtin_clzll(host->came);
	return 1 - (double)__builtin_popcountll(host->came) / known;
}

/* So many batches in a row are lost by chance in one of 100,000 cases, of which a live host sends one each second. */
static uint64_t lost_by_chance_ns(const struct world_host *host)
{
	double share = lost_share(host), chance = share;
	uint64_t ns = 0;

	for (; chance > WORLD_SILENT_CHANCE && ns < WORLD_SILENT_MAX_NS; chance *= share)
		ns += WORLD_BATCH_NS;
	return ns + WORLD_BATCH_NS;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

bool world_is_silent(const struct world_host *host, uint64_t now_ns)
{
	uint64_t silent_ns = larger(host->pause_ns + larger(host->pause_ns, lost_by_chance_ns(host)), WORLD_SILENT_NS);

	if (silent_ns > WORLD_SILENT_MAX_NS || host->excused_ns)
		silent_ns = WORLD_SILENT_MAX_NS;
	return !host->ended && now_ns >= world_silent_since(host) + silent_ns;
}

bool world_is_awaited(const struct world_host *host, uint64_t now_ns)
{
	return host->excused_ns && !host->ended && !world_is_silent(host, now_ns);
}

bool world_is_stranger(const struct world_host *host, uint64_t now_ns)
{
	return host->stranger_ns && now_ns < host->stranger_ns + WORLD_STRANGER_NS;
}

uint64_t world_silent_since(const struct world_host *host)
{
	return host->excused_ns ? host->excused_ns : host->heard_ns;
}

struct world_rank *world_rank(const struct world *world, uint32_t rank)
{
	return rank < world->rank_room && world->ranks[rank].host != WORLD_NONE ? &world->ranks[rank] : NULL;
}

struct world_member *world_member(const struct world *world, const struct world_comm *comm, uint32_t rank)
{
	const struct world_rank *known = world_rank(world, rank);

	for (uint32_t i = 0; known && i < known->membership_count; i++)
		if (known->memberships[i].comm == comm->index)
			return &comm->members[known->memberships[i].member];
	return NULL;
}

struct world_row *world_row(const struct world_member *member, uint64_t end)
{
	for (uint32_t i = 0; end && member->rows && i < WORLD_ROWS; i++)
		if (member->rows->kept[i].end == end)
			return &member->rows->kept[i];
	return NULL;
}

struct world_row *world_row_place(struct world_rows *rows, uint64_t end)
{
	struct world_row *oldest = &rows->kept[0];

	for (uint32_t i = 1; i < WORLD_ROWS; i++)
		if (rows->kept[i].end < oldest->end)
			oldest = &rows->kept[i];
	return oldest->end < end ? oldest : NULL;
}

/* NULL: none has told of any. */
static struct world_results *results_of(const struct world_comm *comm, const struct world_member *member)
{
	size_t at = (size_t)(member - comm->members);

	return comm->agreements && at < comm->agreements->room ? &comm->agreements->results[at] : NULL;
}

static bool is_same_row(const struct world_result *left, const struct world_result *right)
{
	return left->function == right->function && left->row == right->row && left->set == right->set;
}

const struct world_result *world_result(const struct world_comm *comm, const struct world_member *member,
					const struct world_result *like)
{
	const struct world_results *results = results_of(comm, member);

	for (uint32_t i = 0; results && i < WORLD_RESULTS; i++)
		if (is_same_row(&results->newest[i], like))
			return &results->newest[i];
	return NULL;
}

/* FNV-1a, Fowler, Noll and Vo 1991. */
static uint32_t host_slot(const struct world *world, const char *name)
{
	uint64_t hash = 0xcbf29ce484222325u;
	uint32_t mask = world->host_slot_count - 1;

	for (const char *at = name; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
	uint32_t slot = (uint32_t)(hash ^ hash >> 32) & mask;
	while (world->host_slots[slot] && strcmp(world->hosts[world->host_slots[slot] - 1].name, name))
		slot = (slot + 1) & mask;
	return slot;
}

static bool grow_host_slots(struct world *world)
{
	if (world->host_count * 2 < world->host_slot_count)
		return true;
	uint32_t count = world->host_slot_count ? world->host_slot_count * 2 : SLOTS_FIRST;
	uint32_t *slots = calloc(count, sizeof(*slots));
	if (!slots)
		return false;
	free(world->host_slots);
	world->host_slots = slots;
	world->host_slot_count = count;
	for (uint32_t i = 0; i < world->host_count; i++)
		slots[host_slot(world, world->hosts[i].name)] = i + 1;
	return true;
}

uint32_t world_known_host(const struct world *world, const char *name)
{
	return world->host_slot_count ? world->host_slots[host_slot(world, name)] - 1 : WORLD_NONE;
}

/* A host whose machine was started anew is the same host, with another sender. */
static uint32_t find_host(struct world *world, const struct rw_batch *header)
{
	uint32_t known = world_known_host(world, header->host);

	if (known != WORLD_NONE)
		return known;
	if (world->host_count == WORLD_HOSTS || !grow_host_slots(world))
		return WORLD_NONE;
	struct world_host *hosts = grow(world->hosts, world->host_count, &world->host_room, sizeof(*hosts));
	if (!hosts)
		return WORLD_NONE;
	world->hosts = hosts;
	hosts[world->host_count] = (struct world_host){ .start = header->start, .epoch = 1 };
	memcpy(hosts[world->host_count].name, header->host, sizeof(header->host));
	memcpy(hosts[world->host_count].boot, header->boot, sizeof(header->boot));
	world->host_slots[host_slot(world, header->host)] = world->host_count + 1;
	return world->host_count++;
}

static void note_pause(struct world_host *host, uint64_t now_ns)
{
	uint64_t pause_ns = host->heard_ns && now_ns > host->heard_ns ? now_ns - host->heard_ns : 0;

	if (host->excused_ns || pause_ns >= WORLD_SILENT_NS)
		host->back_ns = now_ns;
	if (host->excused_ns) /* it was not the host that paused */
		pause_ns = 0;
	host->excused_ns = 0;
	host->pause_ns -= host->pause_ns / 256;
	if (pause_ns > host->pause_ns)
		host->pause_ns = pause_ns;
}

/* False: this batch has come before. Its messages say the same again. */
static bool note_number(struct world_host *host, uint64_t number)
{
	enum { KEPT = 64 };

	if (number >= host->next && number < UINT64_MAX) {
		uint64_t further = number + 1 - host->next;
		host->came = (further < KEPT ? host->came << further : 0) | 1;
		host->next = number + 1;
		return true;
	}
	uint64_t before = host->next - 1 - number;
	if (before >= KEPT)
		return true; /* it is not known any more */
	bool came = host->came >> before & 1;
	host->came |= UINT64_C(1) << before;
	return !came;
}

/* False: it comes late, from a sender that another one has followed. */
static bool note_batch(struct world *world, uint32_t i, const struct rw_batch *header, uint64_t now_ns)
{
	struct world_host *host = &world->hosts[i];

	if (header->start != host->start) {
		if (header->start == host->former) {
			bool is_twin = !host->twin && now_ns >= host->sender_ns + WORLD_TWIN_NS && !host->ended;
			host->twin |= is_twin;
			world->twins += is_twin;
			return false;
		}
		host->former = host->start;
		host->start = header->start;
		host->restarted = memcmp(host->boot, header->boot, sizeof(host->boot)) != 0;
		memcpy(host->boot, header->boot, sizeof(host->boot));
		host->epoch++;
		host->next = host->taken = host->came = host->unsent = 0;
		host->ended = host->kin = false;
		host->contradicts_ns = host->stranger_ns = 0;
		host->sender_ns = now_ns;
	}
	bool newest = header->number >= host->next;
	host->taken += note_number(host, header->number);
	if (newest)
		host->unsent = header->lost;
	host->ended |= header->flags & RW_BATCH_LAST;
	note_pause(host, now_ns);
	host->heard_ns = now_ns;
	return true;
}

static bool has_rank(struct world *world, uint32_t rank)
{
	if (rank < world->rank_room)
		return true;
	uint32_t room = world->rank_room ? world->rank_room : 64;
	while (room <= rank)
		room += room / 4;
	room = room < WORLD_RANKS ? room : WORLD_RANKS;
	struct world_rank *ranks = realloc(world->ranks, room * sizeof(*ranks));
	if (!ranks)
		return false;
	memset(&ranks[world->rank_room], 0, (room - world->rank_room) * sizeof(*ranks));
	for (uint32_t i = world->rank_room; i < room; i++)
		ranks[i].host = WORLD_NONE;
	world->ranks = ranks;
	world->rank_room = room;
	return true;
}

/* Its totals, and what it was seen to do, are another process's. Its memberships may be the same. */
static void move(struct world *world, uint32_t number, uint32_t host)
{
	struct world_rank *rank = &world->ranks[number];

	world->hosts[rank->host].ranks--;
	world->hosts[host].ranks++;
	for (uint32_t i = 0; i < rank->membership_count; i++) {
		struct world_member *member = &world->comms[rank->memberships[i].comm]->members[rank->memberships[i].member];
		member->number = member->left_number = 0;
		if (member->standing)
			*member->standing = (struct world_standing){ 0 };
		if (member->orders)
			*member->orders = (struct world_orders){ 0 };
		if (member->rows)
			*member->rows = (struct world_rows){ 0 };
		struct world_results *results = results_of(world->comms[rank->memberships[i].comm], member);
		if (results)
			*results = (struct world_results){ 0 };
	}
	rank->host = host;
	rank->told = false;
	rank->number = rank->why_number = rank->finding_number = rank->why_ns = 0;
	rank->found = 0;
	free(rank->reason);
	rank->reason = NULL;
	if (rank->birth)
		*rank->birth = (struct world_birth){ 0 };
	world->changes++;
}

void world_want_absence(struct world *world, uint32_t rank, const struct world_birth *birth, uint64_t now_ns)
{
	if (rank >= WORLD_RANKS || !has_rank(world, rank) || world->ranks[rank].absence_wanted_ns == now_ns)
		return;
	world->ranks[rank].absence_wanted_ns = now_ns;
	world->ranks[rank].wanted_parent = birth->parent;
	world->ranks[rank].wanted_splits = birth->splits;
}

/* Two hosts that claim one rank: who came first keeps it while it lives and is heard of. */
static struct world_rank *claim(struct taking *taking, uint32_t number)
{
	struct world *world = taking->world;

	if (!has_rank(world, number))
		return NULL;
	struct world_rank *rank = &world->ranks[number];
	bool only_seen = taking->message->type == RW_MESSAGE_ABSENT;
	if (rank->host == WORLD_NONE) {
		*rank = (struct world_rank){ .host = taking->host, .world_size = -1, .exit_status = -1, .only_seen = only_seen };
		world->hosts[taking->host].ranks++;
		world->rank_count++;
		world->changes++;
		if (world->course)
			course_add(world->course, number);
	} else if (rank->host != taking->host) {
		const struct world_host *host = &world->hosts[rank->host];
		bool better = rank->only_seen && !only_seen;
		if (!better && !world_is_dead(rank) && !host->ended && !world_is_silent(host, taking->now_ns))
			return NULL;
		move(world, number, taking->host);
	}
	rank->only_seen &= only_seen;
	return rank;
}

static uint64_t hash_of(uint64_t id)
{
	id ^= id >> 32;
	id *= 0x9e3779b97f4a7c15u;
	return id ^ id >> 29;
}

static uint32_t slot_of(const struct world *world, uint64_t id)
{
	uint32_t mask = world->slot_count - 1, at = (uint32_t)hash_of(id) & mask;

	while (world->slots[at] && world->comms[world->slots[at] - 1]->id != id)
		at = (at + 1) & mask;
	return at;
}

static bool grow_slots(struct world *world)
{
	if (world->comm_count * 2 < world->slot_count)
		return true;
	uint32_t count = world->slot_count ? world->slot_count * 2 : SLOTS_FIRST;
	uint32_t *slots = calloc(count, sizeof(*slots));
	if (!slots)
		return false;
	free(world->slots);
	world->slots = slots;
	world->slot_count = count;
	for (uint32_t i = 0; i < world->comm_count; i++)
		slots[slot_of(world, world->comms[i]->id)] = i + 1;
	return true;
}

const struct world_comm *world_comm(const struct world *world, uint64_t id)
{
	uint32_t index = world->slot_count ? world->slots[slot_of(world, id)] : 0;

	return index ? world->comms[index - 1] : NULL;
}

static struct world_comm *find_comm(struct world *world, uint64_t id)
{
	uint32_t index = world->slot_count ? world->slots[slot_of(world, id)] : 0;

	if (index)
		return world->comms[index - 1];
	if (world->comm_count == WORLD_COMMS || !grow_slots(world))
		return NULL;
	struct world_comm **comms = grow(world->comms, world->comm_count, &world->comm_room, sizeof(struct world_comm *));
	struct world_comm *comm = comms ? calloc(1, sizeof(*comm)) : NULL;
	if (comms)
		world->comms = comms;
	if (!comm)
		return NULL;
	comm->id = id;
	comm->index = world->comm_count;
	comms[world->comm_count++] = comm;
	world->slots[slot_of(world, id)] = world->comm_count;
	return comm;
}

static bool add_membership(struct world_rank *rank, uint32_t comm, uint32_t member)
{
	if (rank->membership_count == rank->membership_room) {
		uint32_t room = rank->membership_room ? rank->membership_room * 2u : 4;
		struct world_membership *more =
		    room <= WORLD_MEMBERSHIPS ? realloc(rank->memberships, room * sizeof(*more)) : NULL;
		if (!more)
			return false;
		rank->memberships = more;
		rank->membership_room = (uint8_t)room;
	}
	rank->memberships[rank->membership_count++] = (struct world_membership){ .comm = comm, .member = member };
	return true;
}

/* Known, or new: any message about it says that it is one. */
static struct world_member *find_member(struct taking *taking, struct world_rank *rank, uint64_t id,
					struct world_comm **comm)
{
	struct world *world = taking->world;
	uint32_t number = (uint32_t)taking->message->rank;

	*comm = find_comm(world, id);
	if (!*comm)
		return NULL;
	struct world_member *member = world_member(world, *comm, number);
	if (member)
		return member;
	struct world_member *members =
	    grow((*comm)->members, (*comm)->member_count, &(*comm)->member_room, sizeof(*members));
	if (!members)
		return NULL;
	(*comm)->members = members;
	if (!add_membership(rank, (*comm)->index, (*comm)->member_count))
		return NULL;
	members[(*comm)->member_count] = (struct world_member){ .rank = number, .comm_rank = -1 };
	world->changes++;
	return &members[(*comm)->member_count++];
}

static uint64_t ago(const struct taking *taking, uint32_t ms)
{
	uint64_t ns = (uint64_t)ms * 1000000;

	return ns < taking->now_ns ? taking->now_ns - ns : 1;
}

/* Batches are numbered from 0, and anew by each sender of a host; what was never told has 0. */
static uint64_t number_of(const struct taking *taking)
{
	const uint64_t last = (UINT64_C(1) << 48) - 2, number = taking->header->number;

	return (uint64_t)taking->world->hosts[taking->host].epoch << 48 | ((number < last ? number : last) + 1);
}

/* A rank that was stopped meanwhile, perhaps with all others, waits since it went on. */
static uint64_t waits_since(const struct world_rank *rank, uint64_t since_ns)
{
	return rank->went_on_ns > since_ns ? rank->went_on_ns : since_ns;
}

static void go_on(const struct world *world, struct world_rank *rank)
{
	rank->went_on_ns = rank->life_ns;
	for (uint32_t i = 0; i < rank->membership_count; i++) {
		const struct world_membership *membership = &rank->memberships[i];
		struct world_standing *standing = world->comms[membership->comm]->members[membership->member].standing;
		if (standing)
			standing->flight.since_ns = waits_since(rank, standing->flight.since_ns);
	}
	if (rank->birth)
		rank->birth->since_ns = waits_since(rank, rank->birth->since_ns);
}

static bool take_rank(struct taking *taking, struct world_rank *rank)
{
	const struct rw_message_rank *told = &taking->message->of_rank;

	if (number_of(taking) < rank->number)
		return false;
	if (told->sending != rank->sending || !rank->told)
		taking->world->changes++;
	rank->number = number_of(taking);
	rank->told = true;
	rank->pid = told->pid;
	rank->world_size = told->world_size;
	rank->watchdog_ms = told->watchdog_ms;
	rank->exit_status = told->exit_status;
	rank->life_ns = ago(taking, told->age_ms);
	bool goes_on = rank->life == RW_MESSAGE_STOPPED && told->life == RW_MESSAGE_ALIVE;
	rank->life = told->life;
	if (goes_on)
		go_on(taking->world, rank);
	rank->sending = told->sending;
	memcpy(rank->gpu, told->gpu, sizeof(rank->gpu));
	if (told->world_size > taking->world->world_size)
		taking->world->world_size = told->world_size;
	return true;
}

/* Whoever was left out of a communicator that was shrunk takes another of the same id for it: then two of the ranks
 * claim one place in it, or it has two sizes. */
static bool is_mixed_by(const struct world_comm *comm, const struct world_member *member,
			const struct rw_message_member *told)
{
	if (told->flags & RW_MESSAGE_MIXED || (comm->size && told->size && comm->size != told->size))
		return true;
	for (uint32_t i = 0; i < comm->member_count && member->comm_rank != told->comm_rank; i++)
		if (&comm->members[i] != member && comm->members[i].comm_rank == told->comm_rank && !comm->members[i].left)
			return true;
	return false;
}

static bool take_membership(struct taking *taking, struct world_rank *rank)
{
	const struct rw_message_member *told = &taking->message->member;
	struct world_comm *comm;

	if (told->size > COMMUNICATOR_MAX || (told->size && told->comm_rank >= told->size))
		return false;
	struct world_member *member = find_member(taking, rank, told->comm, &comm);
	if (!member || number_of(taking) < member->number)
		return false;
	comm->mixed |= is_mixed_by(comm, member, told);
	if (comm->size && told->size && comm->size != told->size)
		return false;
	bool sends = told->flags & RW_MESSAGE_SENDS, left = told->flags & RW_MESSAGE_LEFT;
	if (member->comm_rank != told->comm_rank || member->left != left || (sends && !comm->sends))
		taking->world->changes++;
	member->number = number_of(taking);
	member->comm_rank = told->comm_rank;
	member->left = left;
	member->unfollowed = told->flags & RW_MESSAGE_UNFOLLOWED;
	if (told->flags & RW_MESSAGE_MASKED && !taking->world->masked_ns)
		taking->world->masked_ns = taking->now_ns;
	comm->sends |= sends;
	comm->size = told->size ? told->size : comm->size;
	memcpy(comm->name, told->name, sizeof(told->name));
	return true;
}

/* Whether it has waited for the way to be free. */
static bool is_of_queue(const struct taking *taking)
{
	uint64_t back_ns = taking->world->hosts[taking->host].back_ns;

	return back_ns && taking->now_ns < back_ns + WORLD_BACK_NS;
}

/* How long a row lasts, by the newest end before this one of the same member. */
static void note_period(struct world_comm *comm, const struct world_rows *rows, const struct world_row *row)
{
	const struct world_row *before = NULL;

	for (uint32_t i = 0; i < WORLD_ROWS; i++) {
		const struct world_row *other = &rows->kept[i];
		if (other->end && !other->between && other->end < row->end && (!before || other->end > before->end))
			before = other;
	}
	if (!before)
		return;
	uint64_t us = (uint64_t)(row->own_us - before->own_us) + (row->inside_us - before->inside_us) +
		      (row->unseen_us - before->unseen_us);
	comm->period_ms = us < 1000 ? 1 : us / 1000 > UINT32_MAX ? UINT32_MAX : (uint32_t)(us / 1000);
}

/* NULL: it is of an earlier sender, or of calls that no longer end rows; or there is no memory. */
static struct world_rows *open_rows(const struct taking *taking, struct world_comm *comm, struct world_member *member)
{
	uint16_t epoch = taking->world->hosts[taking->host].epoch;

	if (!member->rows) {
		member->rows = calloc(1, sizeof(*member->rows));
		comm->in_rows += member->rows != NULL;
		taking->world->in_rows += member->rows != NULL;
	}
	struct world_rows *rows = member->rows;
	if (!rows || (rows->function == taking->message->function && rows->epoch == epoch))
		return rows;
	if (number_of(taking) < rows->number)
		return NULL;
	comm->in_steps -= rows->steps != 0;
	*rows = (struct world_rows){ .epoch = epoch, .function = taking->message->function };
	return rows;
}

/* Batches may overtake each other: what has not come when a later one has may be lost, or on its way. */
static void note_behind(struct world_rows *rows, uint64_t end, uint64_t now_ns)
{
	uint64_t first_ns = now_ns;

	for (uint32_t i = 0; i < WORLD_ROWS; i++)
		if (rows->kept[i].end > end && rows->kept[i].came_ns < first_ns)
			first_ns = rows->kept[i].came_ns;
	rows->behind_ns -= rows->behind_ns / 256;
	rows->behind_ns = larger(rows->behind_ns, now_ns - first_ns);
}

static bool take_row(struct taking *taking, struct world_rank *rank)
{
	const struct rw_message_row *told = &taking->message->row;
	uint64_t end = (uint64_t)told->row * told->calls;
	struct world_comm *comm;
	struct world_member *member = find_member(taking, rank, told->comm, &comm);
	struct world_rows *rows = member ? open_rows(taking, comm, member) : NULL;
	struct world_row *row = !rows || world_row(member, end) ? NULL : world_row_place(rows, end);

	if (!row)
		return false;
	note_behind(rows, end, taking->now_ns);
	*row = (struct world_row){
		.end = end,
		.came_ns = taking->now_ns,
		.own_us = told->own_us,
		.inside_us = told->inside_us,
		.unseen_us = told->unseen_us,
		.host_us = told->host_us,
		.device_us = told->device_us,
		.operations = told->operations,
	};
	rows->newest = end > rows->newest ? end : rows->newest;
	comm->row_ns = taking->now_ns;
	if (!is_of_queue(taking))
		comm->fresh_row_ns = taking->now_ns;
	note_period(comm, rows, row);
	if (taking->world->course)
		course_note_row(taking->world->course, member->rank, row,
				taking->world->hosts[taking->host].epoch, taking->now_ns);
	if (number_of(taking) < rows->number)
		return true;
	rows->number = number_of(taking);
	rows->came_ns = taking->now_ns;
	rows->calls = told->calls;
	comm->in_steps += (told->steps != 0) - (rows->steps != 0);
	rows->steps = told->steps;
	return true;
}

static struct world_standing *standing_of(struct world_comm *comm, struct world_member *member)
{
	if (!member->standing) {
		member->standing = calloc(1, sizeof(*member->standing));
		comm->standing += member->standing != NULL;
	}
	return member->standing;
}

static bool take_flight(struct taking *taking, struct world_rank *rank)
{
	const struct rw_message_flight *told = &taking->message->flight;
	struct world_comm *comm;
	struct world_member *member = find_member(taking, rank, told->comm, &comm);
	struct world_standing *standing = member ? standing_of(comm, member) : NULL;

	if (!standing || number_of(taking) < standing->flight.number)
		return false;
	standing->flight = (struct world_flight){
		.sequence = told->sequence,
		.count = told->count,
		.since_ns = waits_since(rank, ago(taking, told->age_ms)),
		.heard_ns = taking->now_ns,
		.number = number_of(taking),
		.peer_or_root = told->peer_or_root,
		.awaits = told->flags & RW_MESSAGE_AWAITS ? (uint32_t)told->awaits : WORLD_NONE,
		.function = taking->message->function,
		.dtype = told->dtype,
		.phase = told->phase,
		.flags = told->flags,
	};
	return true;
}

static struct world_place *place_of(struct world_comm *comm, uint64_t calls)
{
	struct world_place *first = &comm->places[0];

	for (uint32_t i = 0; i < WORLD_PLACES; i++) {
		if (comm->places[i].calls == calls)
			return &comm->places[i];
		if (comm->places[i].calls < first->calls)
			first = &comm->places[i];
	}
	return first->calls < calls ? first : NULL;
}

/* The places of all members: that some of them differ is seen at once. */
static void compare_order(const struct taking *taking, struct world_comm *comm, const struct world_order *order)
{
	struct world_place *place = place_of(comm, order->calls);

	if (!place)
		return;
	if (place->calls != order->calls)
		*place = (struct world_place){ .calls = order->calls, .hash = order->hash };
	if (place->hash == order->hash || place->parted_ns)
		return;
	place->parted_ns = taking->now_ns;
	if (!comm->parted_ns)
		comm->parted_ns = taking->now_ns;
}

/* An equal place, or the first of them. */
static struct world_order *order_of(struct world_orders *orders, uint64_t calls)
{
	struct world_order *first = &orders->newest[0];

	for (uint32_t i = 0; i < WORLD_ORDERS; i++) {
		if (orders->newest[i].calls == calls)
			return &orders->newest[i];
		if (orders->newest[i].calls < first->calls)
			first = &orders->newest[i];
	}
	return first->calls < calls ? first : NULL;
}

/* Whatever came before it: a hash is of all calls up to its place. */
static bool take_order(const struct taking *taking, struct world_comm *comm, struct world_member *member)
{
	const struct world_order order = { .calls = taking->message->calls.calls, .hash = taking->message->calls.hash };

	if (!order.calls || !order.hash || order.calls == UINT64_MAX)
		return false;
	if (!member->orders) {
		member->orders = calloc(1, sizeof(*member->orders));
		comm->ordered += member->orders != NULL;
	}
	struct world_order *kept = member->orders ? order_of(member->orders, order.calls) : NULL;
	if (!kept)
		return false;
	*kept = order;
	compare_order(taking, comm, &order);
	return true;
}

static bool take_calls(struct taking *taking, struct world_rank *rank)
{
	const struct rw_message_calls *told = &taking->message->calls;
	struct world_comm *comm;
	struct world_member *member = find_member(taking, rank, told->comm, &comm);
	bool ordered = member && take_order(taking, comm, member);

	if (!taking->message->function)
		return ordered;
	struct world_standing *standing = member ? standing_of(comm, member) : NULL;
	for (uint32_t i = 0; standing && i < WORLD_FUNCTIONS; i++) {
		struct world_calls *calls = &standing->calls[i];
		if (calls->function && calls->function != taking->message->function)
			continue;
		if (number_of(taking) < calls->number)
			return false;
		*calls = (struct world_calls){
			.next = told->next, .number = number_of(taking), .function = taking->message->function
		};
		return true;
	}
	return false;
}

/* Room for the results of this member; NULL on lack of memory. */
static struct world_results *open_results(struct world_comm *comm, const struct world_member *member)
{
	if (!comm->agreements)
		comm->agreements = calloc(1, sizeof(*comm->agreements));
	struct world_agreements *agreements = comm->agreements;
	if (agreements && agreements->room < comm->member_count) {
		struct world_results *results = realloc(agreements->results, comm->member_room * sizeof(*results));
		if (!results)
			return NULL;
		memset(results + agreements->room, 0, (comm->member_room - agreements->room) * sizeof(*results));
		agreements->results = results;
		agreements->room = comm->member_room;
	}
	return results_of(comm, member);
}

/* Of all members: that some of them differ is seen at once. */
static void compare_result(const struct taking *taking, struct world_agreements *agreements,
			   const struct world_result *result)
{
	struct world_agreement *found = NULL;

	for (uint32_t i = 0; i < WORLD_RESULTS; i++)
		if (is_same_row(&agreements->newest[i].first, result))
			found = &agreements->newest[i];
	if (!found) {
		found = &agreements->newest[agreements->count++ % WORLD_RESULTS];
		*found = (struct world_agreement){ .first = *result, .operations = taking->message->results.operations };
	}
	if (found->first.digests == result->digests || found->parted_ns)
		return;
	found->parted_ns = taking->now_ns;
	if (!agreements->parted_ns)
		agreements->parted_ns = taking->now_ns;
}

static bool take_results(struct taking *taking, struct world_rank *rank)
{
	const struct rw_message_results *told = &taking->message->results;
	const struct world_result result = {
		.row = told->row, .set = told->set, .digests = told->digests, .function = taking->message->function
	};
	struct world_comm *comm;
	struct world_member *member = find_member(taking, rank, told->comm, &comm);
	bool known = member && world_result(comm, member, &result);
	struct world_results *results = member && !known ? open_results(comm, member) : NULL;

	if (!results)
		return false;
	results->newest[results->count++ % WORLD_RESULTS] = result;
	compare_result(taking, comm->agreements, &result);
	return true;
}

static bool take_why(struct taking *taking, struct world_rank *rank)
{
	const struct rw_message_why *told = &taking->message->why;

	if (number_of(taking) < rank->why_number)
		return false;
	rank->why_number = number_of(taking);
	rank->why_ns = taking->now_ns;
	rank->progress = told->progress;
	rank->level = told->level;
	rank->class_ = told->class_;
	memcpy(rank->why, told->text, sizeof(rank->why));
	return true;
}

/* Only the newest of each kind counts; of another kind an older batch may still tell. */
static bool take_finding(struct taking *taking, struct world_rank *rank)
{
	const struct rw_message_finding *told = &taking->message->finding;
	uint32_t bit = 1u << told->kind;

	if (number_of(taking) < rank->finding_number && !(~rank->found & bit))
		return false;
	if (number_of(taking) > rank->finding_number)
		rank->finding_number = number_of(taking);
	bool open = told->state != RW_FINDING_CLOSED && told->severity >= RW_WARNING && told->confidence != RW_INCONCLUSIVE;
	rank->found = open ? rank->found | bit : rank->found & ~bit;
	if (!open)
		return true;
	rank->found_class = told->class_;
	memcpy(rank->found_cause, told->cause, sizeof(told->cause));
	return true;
}

static bool take_reason(struct taking *taking, struct world_rank *rank)
{
	const struct rw_message_reason *told = &taking->message->reason;

	if (!rank->asked_ns)
		return false; /* nobody has asked */
	if (!rank->reason)
		rank->reason = calloc(1, sizeof(*rank->reason));
	struct world_reason *reason = rank->reason;
	if (!reason || number_of(taking) < reason->number)
		return false;
	if (number_of(taking) != reason->number) {
		reason->number = number_of(taking);
		reason->have = 0;
		memset(reason->coming, 0, sizeof(reason->coming));
	}
	memcpy(reason->coming + told->piece * RW_REASON_PIECE, told->text, RW_REASON_PIECE);
	reason->have |= (uint16_t)(1u << told->piece);
	if (reason->have != (1u << told->pieces) - 1)
		return true;
	reason->heard_ns = taking->now_ns;
	reason->class_ = told->class_;
	reason->level = told->level;
	reason->late_kind = told->late_kind;
	memcpy(reason->text, reason->coming, sizeof(reason->coming));
	return true;
}

/* Of communicators on which nothing is searched, nothing is kept. */
static bool take_called(struct taking *taking, struct world_rank *rank)
{
	const uint32_t number = (uint32_t)taking->message->rank;

	for (uint32_t i = 0; i < rank->membership_count; i++) {
		struct world_comm *comm = world_joined(taking->world, rank, i);
		if (comm->id == taking->message->called.comm)
			return comm->search && search_take(comm->search, number, taking->message);
	}
	return false;
}

static struct world_birth *birth_of(struct world *world, struct world_rank *rank)
{
	if (!rank->birth) {
		rank->birth = calloc(1, sizeof(*rank->birth));
		world->birth_count += rank->birth != NULL;
	}
	return rank->birth;
}

/* Of a rank without a communicator, nothing else tells who it is. */
static void note_process(struct world_rank *rank, int32_t pid)
{
	if (!rank->told)
		rank->pid = pid;
}

static bool take_init(struct taking *taking, struct world_rank *rank)
{
	const struct rw_message_init *told = &taking->message->init;
	struct world_birth *birth = told->world_size <= WORLD_RANKS ? birth_of(taking->world, rank) : NULL;

	if (!birth || number_of(taking) < birth->number)
		return false;
	birth->number = number_of(taking);
	birth->heard_ns = taking->now_ns;
	birth->since_ns = waits_since(rank, ago(taking, told->age_ms));
	birth->id = told->init;
	birth->size = told->size;
	birth->comm_rank = told->comm_rank;
	birth->world_size = told->world_size;
	birth->watchdog_ms = told->watchdog_ms;
	birth->life = told->life;
	birth->parent = told->parent;
	birth->splits = told->splits;
	note_process(rank, told->pid);
	if (told->world_size > taking->world->world_size)
		taking->world->world_size = told->world_size;
	return true;
}

static bool take_absent(struct taking *taking, struct world_rank *rank)
{
	const struct rw_message_absent *told = &taking->message->absent;
	struct world_birth *birth = birth_of(taking->world, rank);

	if (!birth || number_of(taking) < birth->absent_number)
		return false;
	birth->absent_number = number_of(taking);
	birth->absent_heard_ns = taking->now_ns;
	birth->absent_since_ns = ago(taking, told->age_ms);
	birth->absence = told->absence;
	birth->level = told->level;
	birth->class_ = told->class_;
	birth->of = told->of;
	memcpy(birth->text, told->text, sizeof(birth->text));
	note_process(rank, told->pid);
	return true;
}

/* What a rank does now, as against what has happened or is so for good. */
static bool is_of_the_present(uint8_t type)
{
	return type == RW_MESSAGE_FLIGHT || type == RW_MESSAGE_WHY || type == RW_MESSAGE_INIT ||
	       type == RW_MESSAGE_ABSENT;
}

/* What all hosts have kept for us comes from one after the other: what one of them says of then would be held against
 * what others say of now. */
static bool is_stale(const struct taking *taking)
{
	uint64_t excused_ns = taking->world->excused_ns;

	return excused_ns && taking->now_ns < excused_ns + WORLD_SILENT_MAX_NS && is_of_queue(taking) &&
	       is_of_the_present(taking->message->type);
}

static bool take_message(struct taking *taking)
{
	static bool (*const takes[RW_MESSAGE_TYPES])(struct taking *, struct world_rank *) = {
		[RW_MESSAGE_RANK] = take_rank,     [RW_MESSAGE_MEMBER] = take_membership,
		[RW_MESSAGE_FLIGHT] = take_flight, [RW_MESSAGE_CALLS] = take_calls,       [RW_MESSAGE_WHY] = take_why,
		[RW_MESSAGE_FINDING] = take_finding, [RW_MESSAGE_REASON] = take_reason,
		[RW_MESSAGE_RESULTS] = take_results, [RW_MESSAGE_CALLED] = take_called,
		[RW_MESSAGE_INIT] = take_init,     [RW_MESSAGE_ABSENT] = take_absent, [RW_MESSAGE_ROW] = take_row,
	};
	const struct rw_message *message = taking->message;

	if (message->rank < 0 || message->rank >= WORLD_RANKS || message->generation != taking->world->generation ||
	    is_stale(taking))
		return false;
	struct world_rank *rank = claim(taking, (uint32_t)message->rank);
	return rank && takes[message->type] && takes[message->type](taking, rank);
}

bool world_is_later(const struct world *world, uint16_t generation)
{
	return !world->begun || (int16_t)(uint16_t)(generation - world->generation) > 0;
}

int world_take(struct world *world, const struct rw_batch *header, const void *bytes, uint64_t now_ns)
{
	if (!world->has_job) {
		memcpy(world->job, header->job, sizeof(world->job));
		world->has_job = true;
	}
	uint32_t host = find_host(world, header);
	if (host == WORLD_NONE)
		return -ENOMEM;
	world->batches++;
	if (!note_batch(world, host, header, now_ns) || world_is_stranger(&world->hosts[host], now_ns)) {
		world->ignored += header->count;
		return 0;
	}
	for (uint32_t i = 0; i < header->count; i++) {
		struct rw_message message;
		struct taking taking = { .world = world, .header = header, .message = &message, .host = host, .now_ns = now_ns };
		bool taken = batch_message(bytes, i, &message) && take_message(&taking);
		world->messages += taken;
		world->ignored += !taken;
	}
	return 0;
}

static void forget_comm(struct world_comm *comm)
{
	for (uint32_t i = 0; i < comm->member_count; i++) {
		free(comm->members[i].standing);
		free(comm->members[i].orders);
		free(comm->members[i].rows);
	}
	free(comm->members);
	if (comm->agreements)
		free(comm->agreements->results);
	free(comm->agreements);
	free(comm->search);
	free(comm);
}

static void forget(struct world *world)
{
	for (uint32_t i = 0; i < world->comm_count; i++)
		forget_comm(world->comms[i]);
	for (uint32_t i = 0; i < world->rank_room; i++) {
		free(world->ranks[i].memberships);
		free(world->ranks[i].reason);
		free(world->ranks[i].birth);
	}
	free(world->comms);
	free(world->ranks);
	free(world->slots);
	world->comms = NULL;
	world->ranks = NULL;
	world->slots = NULL;
	world->comm_count = world->comm_room = world->rank_room = world->rank_count = world->slot_count =
	    world->birth_count = 0;
	world->world_size = -1;
	for (uint32_t i = 0; i < world->host_count; i++)
		world->hosts[i].ranks = 0;
	world->changes++;
}

void world_begin(struct world *world, uint16_t generation, uint64_t now_ns)
{
	forget(world);
	if (world->course)
		course_begin(world->course);
	world->begun = true;
	world->begun_ns = now_ns;
	world->masked_ns = 0;
	world->generation = generation;
}

void world_free(struct world *world)
{
	forget(world);
	free(world->hosts);
	free(world->host_slots);
}

static size_t agreements_bytes(const struct world_agreements *agreements)
{
	return agreements ? sizeof(*agreements) + agreements->room * sizeof(*agreements->results) : 0;
}

size_t world_bytes(const struct world *world)
{
	size_t bytes = world->host_room * sizeof(*world->hosts) + world->rank_room * sizeof(*world->ranks) +
		       world->slot_count * sizeof(*world->slots) + world->host_slot_count * sizeof(*world->host_slots);

	for (uint32_t i = 0; i < world->rank_room; i++)
		bytes += world->ranks[i].membership_room * sizeof(struct world_membership) +
			 (world->ranks[i].reason ? sizeof(struct world_reason) : 0) +
			 (world->ranks[i].birth ? sizeof(struct world_birth) : 0);
	for (uint32_t i = 0; i < world->comm_count; i++)
		bytes += sizeof(struct world_comm *) + sizeof(struct world_comm) +
			 world->comms[i]->member_room * sizeof(struct world_member) +
			 world->comms[i]->standing * sizeof(struct world_standing) +
			 world->comms[i]->ordered * sizeof(struct world_orders) +
			 world->comms[i]->in_rows * sizeof(struct world_rows) +
			 agreements_bytes(world->comms[i]->agreements) + (world->comms[i]->search ? sizeof(struct search) : 0);
	return bytes;
}
