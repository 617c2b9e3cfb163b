/* SPDX-License-Identifier: MIT */
/*
 * What the hosts must say to each other of a collective: after each phase of each piece, a host needs the outboxes of
 * the ranks of the others (mover_collective.c). Both ends compute the same numbers.
 */
#ifndef SIM_NCCL_NETWORK_EXCHANGE_H
#define SIM_NCCL_NETWORK_EXCHANGE_H

#include "sim/nccl/launch/plan.h"

#define EXCHANGE_PHASES 2

/* The elements [from, to) of a piece that one rank reduces for all. */
struct exchange_share {
	size_t from, to;
};

struct exchange_share exchange_share(int rank, int nranks, size_t count);
/* Elements of the task that are moved at a time. */
size_t exchange_piece(const struct task *task);
/* Bytes of a rank's outbox that a host needs after this phase of a piece of count elements. */
size_t exchange_bytes(const struct task *task, int phase, size_t count, int rank, int host);
/* Steps of a link that so many bytes of one phase take: as many as NCCL's ring has, more where they would be too large.
 */
size_t exchange_phase_steps(const struct task *task, size_t bytes);
/* The same for the whole task. */
int exchange_steps(const struct task *task, int rank, int host);

#endif
