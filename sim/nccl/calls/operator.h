/* SPDX-License-Identifier: MIT */
/* Reduction operators that a program made for one communicator: sums of what each rank has multiplied before. */
#ifndef SIM_NCCL_CALLS_OPERATOR_H
#define SIM_NCCL_CALLS_OPERATOR_H

#include <stdbool.h>

#include "sim/nccl/comm/comm.h"
#include "sim/nccl/data/number.h"

/* False: neither one of NCCL's nor one of this communicator's. */
bool operator_exists(const struct ncclComm *comm, ncclRedOp_t op);
/* The operator's factor; not used for NCCL's own. ncclInvalidArgument: it was made for another type. */
ncclResult_t operator_factor(const struct ncclComm *comm, ncclRedOp_t op, ncclDataType_t type, struct factor *factor);

#endif
