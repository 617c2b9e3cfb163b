/* SPDX-License-Identifier: MIT */
/* Moves the data of tasks through the communicator's shared memory. False: the communicator was aborted meanwhile. */
#ifndef SIM_NCCL_DATA_MOVER_H
#define SIM_NCCL_DATA_MOVER_H

#include "sim/nccl/launch/plan.h"

bool mover_collective(const struct task *task);
/* All tasks of the list advance together, so that ranks may send to each other in one group. */
bool mover_p2p(struct task *tasks);

#endif
