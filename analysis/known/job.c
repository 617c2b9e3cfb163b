/* SPDX-License-Identifier: MIT */
#include "analysis/known/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/known/process.h"
#include "analysis/known/usual.h"

enum {
	SLOTS_FIRST = 64,
	COMMUNICATOR_SIZE_MAX = 1 << 20,
};

/* The machine's first one, whose numbers are the kernel's: PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h.
 */
static const uint64_t first_pid_namespace = 0xEFFFFFFC;

/* Makes room for one more element; returns the (moved) array or NULL. */
static void *grow(void *array, uint32_t count, uint32_t *room, size_t size)
{
	if (count < *room)
		return array;
	uint32_t wanted = *room ? *room * 2 : 8;
	void *grown = realloc(array, wanted * size);
	if (grown)
		*room = wanted;
	return grown;
}

static uint32_t slot_of(const struct job *job, analysis_process_id id)
{
	uint32_t mask = job->process_slot_count - 1;
	uint32_t at = (id * 2654435761u) & mask;
	while (job->process_slots[at] && job->processes[job->process_slots[at] - 1]->id != id)
		at = (at + 1) & mask;
	return at;
}

struct process *job_process(const struct job *job, analysis_process_id id)
{
	if (!job->process_slot_count)
		return NULL;
	uint32_t index = job->process_slots[slot_of(job, id)];
	return index ? job->processes[index - 1] : NULL;
}

static int grow_slots(struct job *job)
{
	if (job->process_count * 2 < job->process_slot_count)
		return 0;
	uint32_t count = job->process_slot_count ? job->process_slot_count * 2 : SLOTS_FIRST;
	uint32_t *slots = calloc(count, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(job->process_slots);
	job->process_slots = slots;
	job->process_slot_count = count;
	for (uint32_t i = 0; i < job->process_count; i++)
		slots[slot_of(job, job->processes[i]->id)] = i + 1;
	return 0;
}

static uint32_t host_index(struct job *job, const char *name)
{
	for (uint32_t i = 0; i < job->host_count; i++)
		if (!strcmp(job->hosts[i], name))
			return i;
	char(*hosts)[64] = realloc(job->hosts, (job->host_count + 1) * sizeof(*hosts));
	if (!hosts)
		return JOB_NONE;
	job->hosts = hosts;
	strcpy(hosts[job->host_count], name);
	return job->host_count++;
}

int job_add_process(struct job *job, const struct analysis_process *described)
{
	if (!described->box)
		return -EINVAL;
	if (job_process(job, described->id))
		return -EEXIST;
	struct process **processes = grow(job->processes, job->process_count, &job->process_room, sizeof(*processes));
	if (!processes)
		return -ENOMEM;
	job->processes = processes;
	struct process *process = calloc(1, sizeof(*process));
	if (process)
		process->trace = calloc(JOB_TRACE, sizeof(*process->trace));
	if (!process || !process->trace || versions_read(&process->versions, described->box) || grow_slots(job)) {
		process_free(process);
		return -ENOMEM;
	}
	process->id = described->id;
	process->pid = described->pid;
	bool as_kernel = described->box->pid_namespace == first_pid_namespace && !described->pid_unproven;
	process->kernel_pid = as_kernel ? described->pid : 0;
	process->past = described->past;
	process->exit_status = -1;
	process->of_job = job;
	process->index = job->process_count;
	process_read_header(process, described->box);
	process->host = host_index(job, process->host_name);
	job->processes[job->process_count] = process;
	job->process_slots[slot_of(job, process->id)] = ++job->process_count;
	return 0;
}

static uint32_t rank_index(struct job *job, struct process *process, uint32_t device)
{
	for (uint32_t i = 0; i < job->rank_count; i++)
		if (job->ranks[i].process == process && job->ranks[i].device == device)
			return i;
	struct rank *ranks = grow(job->ranks, job->rank_count, &job->rank_room, sizeof(*ranks));
	if (!ranks)
		return JOB_NONE;
	job->ranks = ranks;
	ranks[job->rank_count] = (struct rank){ .process = process, .device = device, .world = -1 };
	process->devices_used++;
	return job->rank_count++;
}

static bool is_described(const struct communicator *communicator, const struct rw_communicator *described)
{
	return communicator->id == described->id &&
	       (!communicator->size || !described->nranks || communicator->size == described->nranks);
}

/* In how many of the same id and size the process has been on this device in this place, or in one that has ended: a
 * process with several devices, or several ranks on one, is in the same communicator more than once. */
static uint32_t count_before(const struct job *job, const struct process *process,
			     const struct rw_communicator *described)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < process->membership_count; i++) {
		const struct communicator *communicator = process->memberships[i].communicator;
		const struct member *member =
		    communicator ? &communicator->members[process->memberships[i].member] : NULL;
		if (!member || !is_described(communicator, described) ||
		    job->ranks[member->rank].device != described->device)
			continue;
		count += member->created_ns < described->created_ns &&
			 (member->comm_rank == described->rank || member->ended);
	}
	return count;
}

/* So many of that id the process was in before, of whatever size: all its members that were in all of them count alike.
 */
static uint64_t told_id(const struct job *job, const struct process *process, const struct rw_communicator *described,
			uint32_t occurrence)
{
	uint64_t before = occurrence;
	for (uint32_t i = 0; i < process->membership_count; i++) {
		const struct communicator *communicator = process->memberships[i].communicator;
		const struct member *member =
		    communicator ? &communicator->members[process->memberships[i].member] : NULL;
		before += member && communicator->id == described->id && !is_described(communicator, described) &&
			  member->created_ns < described->created_ns &&
			  job->ranks[member->rank].device == described->device;
	}
	return described->id + before * 0x9e3779b97f4a7c15u;
}

static struct communicator *find_communicator(struct job *job, const struct process *process,
					      const struct rw_communicator *described)
{
	uint32_t occurrence = count_before(job, process, described);
	for (uint32_t i = 0; i < job->communicator_count; i++)
		if (is_described(job->communicators[i], described) && job->communicators[i]->occurrence == occurrence)
			return job->communicators[i];
	struct communicator **communicators =
	    grow(job->communicators, job->communicator_count, &job->communicator_room, sizeof(*communicators));
	if (!communicators)
		return NULL;
	job->communicators = communicators;
	struct communicator *made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	made->id = described->id;
	made->told_id = told_id(job, process, described, occurrence);
	made->occurrence = occurrence;
	made->size = described->nranks;
	made->hosts = described->nnodes;
	made->index = job->communicators_made++;
	snprintf(made->name, sizeof(made->name), "%.*s", (int)sizeof(described->name), described->name);
	communicators[job->communicator_count++] = made;
	return made;
}

static struct membership *reserve_membership(struct process *process, uint32_t index)
{
	if (index >= process->membership_count) {
		struct membership *memberships = realloc(process->memberships, (index + 1) * sizeof(*memberships));
		if (!memberships)
			return NULL;
		memset(memberships + process->membership_count, 0,
		       (index + 1 - process->membership_count) * sizeof(*memberships));
		process->memberships = memberships;
		process->membership_count = index + 1;
	}
	return &process->memberships[index];
}

/* The same place in a communicator claimed by a second process: the first may be a dead one of an earlier start. */
static uint32_t find_member(const struct communicator *communicator, int32_t comm_rank)
{
	for (uint32_t i = 0; i < communicator->member_count; i++)
		if (communicator->members[i].comm_rank == comm_rank)
			return i;
	return JOB_NONE;
}

/* Whoever was left out of one that was shrunk takes another of the same id for it. */
static bool is_mixed_by(const struct job *job, const struct communicator *communicator, const struct process *process,
			const struct rw_communicator *described)
{
	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct member *member = &communicator->members[i];
		bool own = member->process == process && job->ranks[member->rank].device == described->device;
		bool other = member->process != process && member->process->world_rank != process->world_rank;
		if (member->comm_rank == described->rank ? other : own)
			return true;
	}
	return false;
}

/* The largest communicator gives a rank its number; of one whose size nobody tells, what was seen counts. */
static void note_size(struct job *job, const struct communicator *communicator)
{
	uint32_t first = communicator->size ? communicator->member_count - 1 : 0;
	int32_t size = communicator->size;

	for (uint32_t i = 0; !communicator->size && i < communicator->member_count; i++)
		size = communicator->members[i].comm_rank >= size ? communicator->members[i].comm_rank + 1 : size;
	for (uint32_t i = first; i < communicator->member_count; i++) {
		struct rank *rank = &job->ranks[communicator->members[i].rank];
		if (size <= rank->largest)
			continue;
		rank->largest = size;
		rank->largest_rank = communicator->members[i].comm_rank;
	}
}

static bool claimed_alone(const struct job *job, const struct process *process)
{
	for (uint32_t i = 0; i < job->process_count; i++)
		if (job->processes[i] != process && job->processes[i]->world_rank == process->world_rank)
			return false;
	return true;
}

/* World ranks are the launcher's where a process has one device and nobody else claims it. */
static void number_ranks(struct job *job)
{
	for (uint32_t i = 0; i < job->rank_count; i++) {
		struct rank *rank = &job->ranks[i];
		const struct process *process = rank->process;
		bool launcher_knows =
		    process->world_rank >= 0 && process->devices_used == 1 && claimed_alone(job, process);
		rank->world = launcher_knows ? process->world_rank : rank->largest_rank;
	}
}

static int take_membership(struct job *job, struct process *process, struct membership *membership,
		     const struct rw_communicator *described)
{
	struct communicator *communicator = find_communicator(job, process, described);
	if (!communicator)
		return -ENOMEM;
	communicator->mixed |= is_mixed_by(job, communicator, process, described);
	if (find_member(communicator, described->rank) != JOB_NONE)
		return -EINVAL;
	struct member *members =
	    grow(communicator->members, communicator->member_count, &communicator->member_room, sizeof(*members));
	if (!members)
		return -ENOMEM;
	communicator->members = members;
	uint32_t rank = rank_index(job, process, described->device);
	if (rank == JOB_NONE)
		return -ENOMEM;
	members[communicator->member_count] = (struct member){
		.process = process, .rank = rank, .comm_rank = described->rank, .created_ns = described->created_ns
	};
	*membership = (struct membership){ .communicator = communicator, .member = communicator->member_count++ };
	communicator->unlike |= members[0].process->interposed != process->interposed;
	note_size(job, communicator);
	number_ranks(job);
	return 0;
}

/* A place in a communicator that may be; 0 ranks: their number is not known. */
static bool is_size(const struct rw_communicator *described)
{
	int32_t most = described->nranks ? described->nranks : COMMUNICATOR_SIZE_MAX;

	return described->nranks >= 0 && described->nranks <= COMMUNICATOR_SIZE_MAX && described->rank >= 0 &&
	       described->rank < most;
}

int job_add_communicator(struct job *job, struct process *process, uint32_t index,
			 const struct rw_communicator *described)
{
	if (index >= RW_BOX_COMMS || described->device >= RW_BOX_DEVICES || !is_size(described))
		return -EINVAL;
	struct membership *membership = reserve_membership(process, index);
	if (!membership)
		return -ENOMEM;
	if (membership->left_ns && membership->left_ns == described->created_ns)
		return 0;
	struct member *owner = job_member_of(membership);
	if (owner && owner->created_ns != described->created_ns) {
		owner->ended = true;
		membership->communicator = NULL; /* the entry has a new owner */
	}
	if (!membership->communicator) {
		int err = take_membership(job, process, membership, described);
		if (err)
			return err;
	}
	/* What one process knows holds for all; its interposer can tell the size later than NCCL the rest. */
	if (!membership->communicator->size)
		membership->communicator->size = described->nranks;
	membership->communicator->members[membership->member].ended = described->ended_ns != 0;
	membership->communicator->members[membership->member].captured = described->captured;
	membership->communicator->members[membership->member].timed =
	    described->replays_timed <= described->captured ? described->replays_timed : 0;
	process->captures |= described->captured != 0;
	membership->communicator->members[membership->member].splits = described->splits;
	membership->communicator->members[membership->member].announced = described->api_count;
	return 0;
}

bool job_hides_waits(const struct process *process)
{
	/* Between its operations it may have waited for a signal, and nothing says so (NCCL 2.29 and later). */
	if (process->one_sided)
		return true;
	for (uint32_t i = 0; i < process->membership_count && process->captures; i++) {
		const struct member *member = job_member_of(&process->memberships[i]);
		if (member && job_untimed_calls(member))
			return true;
	}
	return false;
}

int32_t job_unseen(const struct communicator *communicator)
{
	if (communicator->size)
		return communicator->size - (int32_t)communicator->member_count;
	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct process *process = communicator->members[i].process;
		if (process->devices_used != 1 || process->world_size != (int32_t)communicator->member_count)
			return -1;
	}
	return communicator->member_count ? 0 : -1;
}

int32_t job_world_size(const struct job *job)
{
	int32_t size = -1;
	for (uint32_t i = 0; i < job->process_count; i++)
		if (job->processes[i]->devices_used && job->processes[i]->world_size > 0)
			return job->processes[i]->world_size;
	for (uint32_t i = 0; i < job->communicator_count; i++)
		if (job->communicators[i]->size > size && job->communicators[i]->size)
			size = job->communicators[i]->size;
	return size;
}

bool job_is_partial(const struct job *job)
{
	return job_world_size(job) > (int32_t)job->rank_count;
}

void job_leave_communicator(const struct communicator *communicator)
{
	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct member *member = &communicator->members[i];
		struct process *process = member->process;
		process->captured_before += job_untimed_calls(member);
		for (uint32_t k = 0; k < process->membership_count; k++)
			if (process->memberships[k].communicator == communicator)
				process->memberships[k] = (struct membership){ .left_ns = member->created_ns };
	}
}

void communicator_free(struct communicator *communicator)
{
	for (uint32_t i = 0; i < communicator->member_count; i++) {
		usual_free(communicator->members[i].usual);
		free(communicator->members[i].kernels);
		free(communicator->members[i].replay_kernels);
	}
	free(communicator->members);
	if (communicator->order)
		call_order_free(communicator->order);
	free(communicator->order);
	usual_free(communicator->usual_replays);
	free(communicator->pair);
	free(communicator);
}

void job_free(struct job *job)
{
	for (uint32_t i = 0; i < job->process_count; i++)
		process_free(job->processes[i]);
	for (uint32_t i = 0; i < job->communicator_count; i++)
		communicator_free(job->communicators[i]);
	free(job->processes);
	free(job->process_slots);
	free(job->ranks);
	free(job->communicators);
	free(job->hosts);
	*job = (struct job){ 0 };
}
