/* SPDX-License-Identifier: MIT */
#include "sim/nccl/bootstrap/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/nccl/bootstrap/host.h"
#include "sim/nccl/log.h"

/* What a rank says: all of its entry but the bell, which others ring at any time. */
#define SAID_OFFSET offsetof(struct segment_rank, pid)
#define SAID_BYTES  (sizeof(struct segment_rank) - SAID_OFFSET)

static int host_of_rank(const struct hosts *hosts, int rank)
{
	for (int before = 0; before < rank; before++) {
		if (hosts->ranks[before].host == hosts->ranks[rank].host)
			return hosts->places[before].host;
	}
	return hosts->count;
}

static void number_hosts(struct hosts *hosts)
{
	for (int rank = 0; rank < hosts->nranks; rank++) {
		int host = host_of_rank(hosts, rank);
		if (host == hosts->count) {
			hosts->table[host].leader = rank;
			hosts->count++;
		}
		hosts->places[rank].host = host;
		hosts->places[rank].index = hosts->table[host].size++;
	}
	hosts->own = hosts->places[hosts->rank].host;
}

static bool is_leader(const struct hosts *hosts)
{
	return hosts->table[hosts->own].leader == hosts->rank;
}

/* The leader's file, by the kernel's own rules for who may see whose descriptors. */
static int open_memory(const struct meeting_rank *leader)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", leader->pid, leader->memory);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		log_warn(
		    "cannot open the shared memory of rank %d at %s (%s): ranks of one host must be of one user and "
		    "see each other in /proc; others need an NCCL_HOSTID of their own",
		    leader->rank, path, strerror(errno));
	return fd;
}

static ncclResult_t map_segment(const struct hosts *hosts, struct segment *segment, int memory)
{
	if (is_leader(hosts))
		return segment_map(segment, memory, hosts->nranks);
	int fd = open_memory(&hosts->ranks[hosts->table[hosts->own].leader]);
	if (fd < 0)
		return ncclSystemError;
	ncclResult_t result = segment_map(segment, fd, hosts->nranks);
	close(fd);
	return result;
}

/* Every host's leader calls the leader of host 0. */
static ncclResult_t connect_leaders(struct hosts *hosts, const atomic_bool *stop)
{
	ncclResult_t result = ncclSuccess;

	if (!is_leader(hosts) || hosts->count == 1)
		return ncclSuccess;
	if (hosts->own != 0)
		return meeting_call(&hosts->table[0].socket, &hosts->id, &hosts->ranks[hosts->table[0].leader],
				    hosts->rank, stop);
	for (int host = 1; host < hosts->count && result == ncclSuccess; host++) {
		int fd, caller;
		result = meeting_answer(&fd, &hosts->id, hosts->listener, &caller, stop);
		if (result != ncclSuccess)
			break;
		if (caller <= 0 || caller >= hosts->nranks || hosts->table[hosts->places[caller].host].socket >= 0) {
			close(fd);
			return ncclInternalError;
		}
		hosts->table[hosts->places[caller].host].socket = fd;
	}
	return result;
}

static ncclResult_t hosts_allocate(struct hosts *hosts)
{
	size_t nranks = (size_t)hosts->nranks;

	hosts->listener = -1;
	hosts->places = calloc(nranks, sizeof(*hosts->places));
	hosts->table = calloc(nranks, sizeof(*hosts->table));
	hosts->ranks = calloc(nranks, sizeof(*hosts->ranks));
	if (!hosts->places || !hosts->table || !hosts->ranks)
		return ncclSystemError;
	for (size_t host = 0; host < nranks; host++)
		hosts->table[host].socket = -1;
	return ncclSuccess;
}

/* Every rank brings an empty file: who leads is known only when all have come. */
static ncclResult_t join_with(struct hosts *hosts, struct segment *segment, int memory, const atomic_bool *stop)
{
	struct meeting_rank *mine = &hosts->ranks[hosts->rank];

	*mine = (struct meeting_rank){
		.rank = hosts->rank, .nranks = hosts->nranks, .host = host_hash(), .pid = getpid(), .memory = memory
	};
	ncclResult_t result = socket_listen(&hosts->listener, &mine->address);
	if (result == ncclSuccess)
		result = meeting_join(&hosts->id, hosts->ranks, hosts->nranks, hosts->rank, stop);
	if (result != ncclSuccess)
		return result;
	number_hosts(hosts);
	result = map_segment(hosts, segment, memory);
	if (result == ncclSuccess)
		result = connect_leaders(hosts, stop);
	/* The leader's file must stay until all have opened it. */
	return result == ncclSuccess ? hosts_meet(hosts, segment, stop) : result;
}

ncclResult_t hosts_join(struct hosts *hosts, struct segment *segment, const ncclUniqueId *id, int nranks, int rank,
			const atomic_bool *stop)
{
	*hosts = (struct hosts){ .rank = rank, .nranks = nranks, .id = *id };
	ncclResult_t result = hosts_allocate(hosts);
	if (result != ncclSuccess)
		return result;
	int memory = segment_new(nranks < SEGMENT_RANKS_MAX ? nranks : SEGMENT_RANKS_MAX);
	if (memory < 0) {
		log_warn("no shared memory for %d ranks: %s", nranks, strerror(errno));
		return ncclSystemError;
	}
	result = join_with(hosts, segment, memory, stop);
	close(memory);
	return result;
}

void hosts_leave(struct hosts *hosts)
{
	for (int host = 0; host < hosts->count; host++) {
		if (hosts->table[host].socket >= 0)
			close(hosts->table[host].socket);
	}
	if (hosts->ranks && hosts->listener >= 0)
		close(hosts->listener);
	free(hosts->places);
	free(hosts->table);
	free(hosts->ranks);
}

static void *said(const struct segment *segment, int rank)
{
	return (char *)&segment->shared->ranks[rank] + SAID_OFFSET;
}

/* Both ends go through the ranks in the same order, so that no message needs to say which it is about. */
static int send_said(const struct hosts *hosts, const struct segment *segment, int fd, int host, bool of_host)
{
	int err = 0;

	for (int rank = 0; rank < hosts->nranks && !err; rank++) {
		if ((hosts->places[rank].host == host) == of_host)
			err = socket_send(fd, said(segment, rank), SAID_BYTES);
	}
	return err;
}

static int receive_said(const struct hosts *hosts, const struct segment *segment, int fd, int host, bool of_host,
			const atomic_bool *stop)
{
	int err = 0;

	for (int rank = 0; rank < hosts->nranks && !err; rank++) {
		if ((hosts->places[rank].host == host) == of_host)
			err = socket_receive(fd, said(segment, rank), SAID_BYTES, -1, stop);
	}
	return err;
}

static int exchange_said(const struct hosts *hosts, const struct segment *segment, const atomic_bool *stop)
{
	int err = 0;

	if (hosts->own != 0) {
		err = send_said(hosts, segment, hosts->table[0].socket, hosts->own, true);
		return err ? err : receive_said(hosts, segment, hosts->table[0].socket, hosts->own, false, stop);
	}
	for (int host = 1; host < hosts->count && !err; host++)
		err = receive_said(hosts, segment, hosts->table[host].socket, host, true, stop);
	for (int host = 1; host < hosts->count && !err; host++)
		err = send_said(hosts, segment, hosts->table[host].socket, host, false);
	return err;
}

ncclResult_t hosts_meet_at(struct hosts *hosts, struct segment *segment, struct gate *gate, const atomic_bool *stop)
{
	struct segment_shared *shared = segment->shared;

	if (!gate_pass(gate, hosts_size(hosts), stop))
		return ncclInvalidUsage;
	if (hosts->count == 1)
		return ncclSuccess;
	int err = is_leader(hosts) ? exchange_said(hosts, segment, stop) : 0;
	if (err && err != -ECANCELED) {
		log_warn("Bootstrap : another host of the communicator is gone (%s)", strerror(-err));
		atomic_store(&shared->broken, true);
	}
	if (!gate_pass(gate, hosts_size(hosts), stop))
		return ncclInvalidUsage;
	return atomic_load(&shared->broken) ? ncclRemoteError : ncclSuccess;
}

ncclResult_t hosts_meet(struct hosts *hosts, struct segment *segment, const atomic_bool *stop)
{
	return hosts_meet_at(hosts, segment, &segment->shared->host_gate, stop);
}

int hosts_receiver(const struct hosts *hosts, int rank, int host)
{
	int index = hosts->places[rank].index % hosts->table[host].size;
	int found = hosts->table[host].leader;

	while (hosts->places[found].host != host || hosts->places[found].index != index)
		found++;
	return found;
}
