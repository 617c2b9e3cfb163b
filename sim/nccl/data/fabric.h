/* SPDX-License-Identifier: MIT */
/* What the way between GPUs does to collectives: SIM_NCCL_STALL, SIM_NCCL_SKEW, SIM_NCCL_SLOW; docs/stand-in.md says
 * how. */
#ifndef SIM_NCCL_DATA_FABRIC_H
#define SIM_NCCL_DATA_FABRIC_H

#include <stdint.h>

#include "sim/nccl/launch/plan.h"

/* ncclInvalidUsage, said on stderr once: a variable says nothing that could be done. */
ncclResult_t fabric_check(void);
/* Once all ranks of the host have come to the task, the communicator's call `number` of its function: returns when data
 * may move. False: never, and the communicator was aborted. */
bool fabric_let_pass(const struct task *task, uint64_t number);
/* At the end of a collective: the rank's place in the ring has its end so much later. */
void fabric_end(const struct task *task);
/* While a communicator is made: finding out how the ranks reach each other takes so long. An error: it was aborted. */
ncclResult_t fabric_search(struct ncclComm *comm);
/* All that have to connect have come: making the connections takes so long. An error: the communicator was aborted. */
ncclResult_t fabric_connect(struct ncclComm *comm);

#endif
