/* SPDX-License-Identifier: MIT */
/* One bit that a sick GPU or link turns over, chosen with SIM_NCCL_FLIP; docs/stand-in.md says how. */
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
