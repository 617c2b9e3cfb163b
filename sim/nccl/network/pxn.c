/* SPDX-License-Identifier: MIT */
#include "sim/nccl/network/pxn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/nccl/quirk.h"

/* One event on its way; small enough that the kernel writes it whole. */
struct record {
	struct transfer_events events;
	enum transfer_event event;
	int step;
	enum profiler_state state;
	size_t bytes;
};

/* What another rank's transfers have here. */
struct guest {
	struct guest *next;
	struct transfer_events events;
};

struct pxn {
	struct ncclComm *comm;
	int pipe[2]; /* others write to the second end, through /proc */
	int to;      /* the pipe of the rank that drives this one's transfers; -1: not opened yet */
	uint64_t started;
	struct guest *guests;
};

ncclResult_t pxn_open(struct pxn **out, struct ncclComm *comm)
{
	*out = NULL;
	if (!quirk_is_on(QUIRK_PXN) || comm->hosts.count == 1 || hosts_size(&comm->hosts) == 1)
		return ncclSuccess;
	struct pxn *pxn = calloc(1, sizeof(*pxn));
	if (!pxn || pipe2(pxn->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(pxn);
		return ncclSystemError;
	}
	pxn->comm = comm;
	pxn->to = -1;
	comm->segment.shared->ranks[comm->rank].pxn_pipe = pxn->pipe[1];
	*out = pxn;
	return ncclSuccess;
}

void pxn_close(struct pxn *pxn)
{
	if (!pxn)
		return;
	while (pxn->guests) {
		struct guest *guest = pxn->guests;
		pxn->guests = guest->next;
		free(guest);
	}
	close(pxn->pipe[0]);
	close(pxn->pipe[1]);
	if (pxn->to >= 0)
		close(pxn->to);
	free(pxn);
}

int pxn_fd(const struct pxn *pxn)
{
	return pxn->pipe[0];
}

/* The rank behind this one on its host, around. */
static int driver_rank(const struct hosts *hosts)
{
	int index = (hosts->places[hosts->rank].index + 1) % hosts_size(hosts);
	int rank = 0;

	while (hosts->places[rank].host != hosts->own || hosts->places[rank].index != index)
		rank++;
	return rank;
}

static int open_driver(const struct pxn *pxn)
{
	const struct segment_rank *ranks = pxn->comm->segment.shared->ranks;
	int rank = driver_rank(&pxn->comm->hosts);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", ranks[rank].pid, ranks[rank].pxn_pipe);
	return open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
}

static struct guest *find_guest(struct pxn *pxn, const struct transfer_events *events)
{
	struct guest *guest = pxn->guests;

	while (guest && (guest->events.rank != events->rank || guest->events.number != events->number))
		guest = guest->next;
	return guest;
}

static struct guest *guest_new(struct pxn *pxn, const struct transfer_events *events)
{
	struct guest *guest = calloc(1, sizeof(*guest));

	if (!guest)
		return NULL;
	guest->events = *events;
	guest->events.pxn = NULL;
	guest->next = pxn->guests;
	pxn->guests = guest;
	return guest;
}

static void remove_guest(struct pxn *pxn, struct guest *guest)
{
	struct guest **at = &pxn->guests;

	while (*at != guest)
		at = &(*at)->next;
	*at = guest->next;
	free(guest);
}

void pxn_receive(struct pxn *pxn)
{
	struct record record;

	while (read(pxn->pipe[0], &record, sizeof(record)) == sizeof(record)) {
		struct guest *guest =
		    record.event == TRANSFER_START ? guest_new(pxn, &record.events) : find_guest(pxn, &record.events);
		if (!guest)
			continue;
		profiler_transfer(&guest->events, record.event, record.step, record.state, record.bytes);
		if (record.event == TRANSFER_STOP)
			remove_guest(pxn, guest);
	}
}

/* A full pipe: the other rank may be waiting for us in turn. What comes after its end is lost. */
static void write_record(struct pxn *pxn, const struct record *record)
{
	struct pollfd fds[] = { { .fd = pxn->to, .events = POLLOUT }, { .fd = pxn->pipe[0], .events = POLLIN } };

	while (write(pxn->to, record, sizeof(*record)) < 0 && errno == EAGAIN) {
		poll(fds, 2, -1);
		pxn_receive(pxn);
	}
}

void pxn_send(struct pxn *pxn, struct transfer_events *events, enum transfer_event event, int step,
	      enum profiler_state state, size_t bytes)
{
	struct record record;

	if (pxn->to < 0)
		pxn->to = open_driver(pxn);
	if (pxn->to < 0)
		return;
	if (event == TRANSFER_START)
		events->number = pxn->started++;
	record = (struct record){ *events, event, step, state, bytes };
	write_record(pxn, &record);
}
