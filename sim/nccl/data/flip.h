/* SPDX-License-Identifier: MIT */
/*
 * One bit that a sick GPU or link turns over, once in each communicator:
 * SIM_NCCL_FLIP=SIDE:RANK:FUNCTION:NUMBER:BYTE:BIT is bit BIT (0 to 7) of byte BYTE of call NUMBER (from 0, in the
 * order of launches) of a collective FUNCTION by rank RANK of the communicator. AlltoAll, Gather and Scatter are
 * made of sends and receives. Any other text is ncclInvalidUsage.
 *
 * SIDE received: in the rank's receive buffer, after the last write to it; FUNCTION may also be Recv. That rank has
 * wrong data. SIDE sent: on the way out, the send buffer stays as it is. Of AllGather and Broadcast all other ranks
 * have wrong data, and agree; of reductions each rank that gets that part of the sum.
 */
#ifndef SIM_NCCL_DATA_FLIP_H
#define SIM_NCCL_DATA_FLIP_H

#include <stddef.h>
#include <stdint.h>

#include "sim/nccl/launch/plan.h"

/* ncclInvalidUsage, said on stderr once: the variable says nothing that could be done. */
ncclResult_t flip_check(void);

/* Both: the task is the communicator's call `number` of its function, from 0. Bytes [from, from + size) of what the
 * rank sends, as they leave it: its own buffer stays as it is. */
void flip_sent(const struct task *task, uint64_t number, void *bytes, size_t from, size_t size);
/* What it has received, all of it; of a Recv, too. */
void flip_received(const struct task *task, uint64_t number);

#endif
