/* SPDX-License-Identifier: MIT */
/* Reduction operators that a program made for one communicator: sums of what each rank has multiplied before. */
#ifndef SIM_NCCL_CALLS_OPERATOR_H
#define SIM_NCCL_CALLS_OPERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include <nccl.h>

/* What a rank multiplies its elements by. */
struct factor {
	bool used;
	const void *device; /* read while the collective runs; NULL: the value below */
	uint64_t value;     /* its first bytes are one element */
};

/* The communicator's; it frees the array. */
struct operator_list {
	struct user_operator *operators;
	int count;
};

/* False: neither one of NCCL's nor one of this communicator's. */
bool operator_exists(const struct ncclComm *comm, ncclRedOp_t op);
/* The operator's factor; not used for NCCL's own. ncclInvalidArgument: it was made for another type. */
ncclResult_t operator_factor(const struct ncclComm *comm, ncclRedOp_t op, ncclDataType_t type, struct factor *factor);

#endif
