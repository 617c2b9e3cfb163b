/* SPDX-License-Identifier: MIT */
#include "analysis/node/roster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool roster_spans(const struct communicator *communicator)
{
	return communicator->hosts > 1 || (communicator->hosts != 1 && job_unseen(communicator) != 0);
}

bool roster_is_told(const struct communicator *communicator)
{
	return communicator->point_to_point || roster_spans(communicator);
}

struct roster_rank *roster_rank(struct roster *roster, const struct job *job, uint32_t rank)
{
	if (rank >= roster->rank_count) {
		struct roster_rank *ranks = realloc(roster->ranks, job->rank_count * sizeof(*ranks));
		if (!ranks)
			return NULL;
		memset(&ranks[roster->rank_count], 0, (job->rank_count - roster->rank_count) * sizeof(*ranks));
		roster->ranks = ranks;
		roster->rank_count = job->rank_count;
	}
	struct roster_rank *entry = &roster->ranks[rank];
	const struct process *process = job->ranks[rank].process;
	if (entry->process != process || entry->id != process->id)
		*entry = (struct roster_rank){ .process = process, .id = process->id };
	return entry;
}

/* Where it is, or belongs. */
static uint32_t place_of(const struct roster *roster, uint32_t index)
{
	uint32_t low = 0, high = roster->comm_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (roster->comms[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void free_members(struct roster_comm *comm)
{
	for (uint32_t i = 0; i < comm->member_room; i++)
		free(comm->members[i].results);
	free(comm->members);
}

static struct roster_comm *comm_of(struct roster *roster, const struct communicator *communicator)
{
	uint32_t at = place_of(roster, communicator->index);
	struct roster_comm *comms = roster->comms;

	if (at < roster->comm_count && comms[at].index == communicator->index) {
		if (comms[at].id != communicator->id) {
			free_members(&comms[at]);
			comms[at] = (struct roster_comm){ .index = communicator->index, .id = communicator->id };
		}
		return &comms[at];
	}
	if (roster->comm_count == roster->comm_room) {
		uint32_t room = roster->comm_room ? roster->comm_room * 2 : 16;
		comms = realloc(comms, room * sizeof(*comms));
		if (!comms)
			return NULL;
		roster->comms = comms;
		roster->comm_room = room;
	}
	memmove(&comms[at + 1], &comms[at], (roster->comm_count - at) * sizeof(*comms));
	roster->comm_count++;
	comms[at] = (struct roster_comm){ .index = communicator->index, .id = communicator->id };
	return &comms[at];
}

struct roster_member *roster_member(struct roster *roster, const struct communicator *communicator, uint32_t member)
{
	struct roster_comm *comm = comm_of(roster, communicator);

	if (!comm)
		return NULL;
	if (member >= comm->member_room) {
		uint32_t room = communicator->member_count;
		struct roster_member *members = realloc(comm->members, room * sizeof(*members));
		if (!members)
			return NULL;
		memset(&members[comm->member_room], 0, (room - comm->member_room) * sizeof(*members));
		comm->members = members;
		comm->member_room = room;
	}
	struct roster_member *entry = &comm->members[member];
	analysis_process_id id = communicator->members[member].process->id;
	if (!entry->known || entry->id != id) {
		free(entry->results);
		*entry = (struct roster_member){ .known = true, .id = id };
	}
	return entry;
}

bool roster_address(struct rw_message *message, const struct rank *rank, enum rw_message_type type)
{
	*message = (struct rw_message){ .type = (uint8_t)type, .rank = rank->world };
	if (rank->process->generation > 0)
		message->generation = (uint16_t)rank->process->generation;
	return rank->world >= 0;
}

bool roster_is_addressed(const struct rw_message *message, const struct rank *rank)
{
	int32_t generation = rank->process->generation > 0 ? rank->process->generation : 0;

	return rank->world == message->rank && (uint16_t)generation == message->generation;
}

/* FNV-1a, Fowler, Noll and Vo 1991. */
static uint64_t hash_of(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * 0x100000001b3u;
	return hash | 1;
}

bool roster_follows_transfers(const struct member *member)
{
	return !member->captured && !member->unfollowed_transfer && !member->process->dropped;
}

bool roster_is_due_again(struct said *said, uint64_t hash, uint64_t now_ns)
{
	bool news = said->hash != hash;

	if (!news && now_ns < said->at_ns + said->pause_ns)
		return false;
	uint64_t pause_ns = news ? ROSTER_FIRST_NS : said->pause_ns * 2;
	*said = (struct said){
		.hash = hash, .at_ns = now_ns, .pause_ns = pause_ns < ROSTER_AGAIN_NS ? pause_ns : ROSTER_AGAIN_NS
	};
	return true;
}

bool roster_is_due(struct said *said, const void *bytes, size_t size, uint64_t now_ns)
{
	return roster_is_due_again(said, hash_of(bytes, size), now_ns);
}

uint32_t roster_ms_since(uint64_t since_ns, uint64_t now_ns)
{
	uint64_t ms = now_ns > since_ns ? (now_ns - since_ns) / 1000000 : 0;

	return ms < RW_MESSAGE_AGE_MAX ? (uint32_t)ms : RW_MESSAGE_AGE_MAX;
}

uint8_t roster_life(const struct process *process)
{
	static const uint8_t lives[] = {
		[ANALYSIS_ALIVE] = RW_MESSAGE_ALIVE,
		[ANALYSIS_STOPPED] = RW_MESSAGE_STOPPED,
		[ANALYSIS_EXITED] = RW_MESSAGE_EXITED,
		[ANALYSIS_KILLED] = RW_MESSAGE_KILLED,
	};

	return lives[process->life];
}

static uint8_t count_sending(const struct process *process, uint32_t rank)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < process->membership_count; i++) {
		const struct member *member = job_member_of(&process->memberships[i]);
		count += member && member->rank == rank && process->memberships[i].communicator->point_to_point;
	}
	return count < UINT8_MAX ? (uint8_t)count : UINT8_MAX;
}

static void tell_rank(struct roster *roster, const struct job *job, uint32_t i, struct outbox *outbox, uint64_t now_ns)
{
	const struct rank *rank = &job->ranks[i];
	const struct process *process = rank->process;
	const struct rw_device *device = &process->devices[rank->device];
	struct roster_rank *entry = roster_rank(roster, job, i);
	struct rw_message message;

	if (!entry || !roster_address(&message, rank, RW_MESSAGE_RANK))
		return;
	struct rw_message_rank *told = &message.of_rank;
	told->pid = process->pid;
	told->world_size = process->world_size;
	told->watchdog_ms = process->watchdog_ms < UINT32_MAX ? (uint32_t)process->watchdog_ms : 0;
	told->exit_status = process->exit_status;
	told->life = roster_life(process);
	told->local_rank =
	    process->local_rank >= 0 && process->local_rank <= INT16_MAX ? (int16_t)process->local_rank : -1;
	told->sending = count_sending(process, i);
	if (device->used)
		memcpy(told->gpu, device->uuid, sizeof(told->gpu));
	bool due = roster_is_due(&entry->said, &message, sizeof(message), now_ns);
	told->age_ms = roster_ms_since(process->life_ns ? process->life_ns : process->created_ns, now_ns);
	if (due)
		outbox_add(outbox, &message);
}

static void tell_member(struct roster *roster, const struct job *job, const struct communicator *communicator,
			uint32_t i, struct outbox *outbox, uint64_t now_ns)
{
	const struct member *member = &communicator->members[i];
	struct roster_member *entry = roster_member(roster, communicator, i);
	struct rw_message message;

	if (!entry || !roster_address(&message, job_member_rank(job, member), RW_MESSAGE_MEMBER))
		return;
	message.member.comm = communicator->told_id;
	message.member.size = communicator->size;
	message.member.comm_rank = member->comm_rank;
	message.member.hosts = communicator->hosts;
	message.member.flags =
	    (communicator->point_to_point ? RW_MESSAGE_SENDS : 0) | (member->ended ? RW_MESSAGE_LEFT : 0) |
	    (communicator->mixed || communicator->uneven ? RW_MESSAGE_MIXED : 0) |
	    (member->process->mask_ns ? RW_MESSAGE_MASKED : 0) |
	    (communicator->point_to_point && !roster_follows_transfers(member) ? RW_MESSAGE_UNFOLLOWED : 0);
	snprintf(message.member.name, sizeof(message.member.name), "%.*s", (int)sizeof(message.member.name) - 1,
		 communicator->name);
	if (roster_is_due(&entry->said, &message, sizeof(message), now_ns))
		outbox_add(outbox, &message);
}

/* Of communicators that were given back. */
static void forget(struct roster *roster, const struct job *job)
{
	uint32_t kept = 0, at = 0;

	for (uint32_t i = 0; i < roster->comm_count; i++) {
		while (at < job->communicator_count && job->communicators[at]->index < roster->comms[i].index)
			at++;
		bool known = at < job->communicator_count && job->communicators[at]->index == roster->comms[i].index;
		if (known)
			roster->comms[kept++] = roster->comms[i];
		else
			free_members(&roster->comms[i]);
	}
	roster->comm_count = kept;
}

void roster_tick(struct roster *roster, const struct job *job, struct outbox *outbox, uint64_t now_ns)
{
	for (uint32_t i = 0; i < job->rank_count; i++)
		tell_rank(roster, job, i, outbox, now_ns);
	for (uint32_t i = 0; i < job->communicator_count; i++) {
		const struct communicator *communicator = job->communicators[i];
		for (uint32_t k = 0; roster_is_told(communicator) && k < communicator->member_count; k++)
			tell_member(roster, job, communicator, k, outbox, now_ns);
	}
	if (roster->comm_count > job->communicator_count)
		forget(roster, job);
}

void roster_free(struct roster *roster)
{
	for (uint32_t i = 0; i < roster->comm_count; i++)
		free_members(&roster->comms[i]);
	free(roster->comms);
	free(roster->ranks);
}
