/* SPDX-License-Identifier: MIT */
#include "sim/nccl/calls/operator.h"

#include <stdlib.h>
#include <string.h>

#include "sim/nccl/calls/export.h"
#include "sim/nccl/launch/work.h"
#include "sim/nccl/log.h"

#define OPERATORS_MAX 65536

struct user_operator {
	bool used;
	ncclDataType_t type;
	struct factor factor;
};

/* So that another communicator does not take it for one of its own. The low 16 bits stay the index. */
static int mangle(const struct ncclComm *comm, int number)
{
	return number ^ (int)(comm->hash * 0x9e3779b97f4a7c13u >> 48 << 16 & 0x7fff0000);
}

static struct user_operator *find(const struct ncclComm *comm, ncclRedOp_t op)
{
	int index = mangle(comm, (int)op) - ncclNumOps;

	if (index < 0 || index >= comm->operator_count || !comm->operators[index].used)
		return NULL;
	return &comm->operators[index];
}

bool operator_exists(const struct ncclComm *comm, ncclRedOp_t op)
{
	return (unsigned int)op < ncclNumOps || find(comm, op);
}

ncclResult_t operator_factor(const struct ncclComm *comm, ncclRedOp_t op, ncclDataType_t type, struct factor *factor)
{
	const struct user_operator *user = (unsigned int)op < ncclNumOps ? NULL : find(comm, op);

	*factor = (struct factor){ 0 };
	if (!user)
		return ncclSuccess;
	if (user->type != type) {
		log_warn(
		    "Data type supplied to user-created ncclRedOp_t does not match type given to reduction operation");
		return ncclInvalidArgument;
	}
	*factor = user->factor;
	return ncclSuccess;
}

/* The first unused place; the list grows when there is none. -1: out of memory, or too many. */
static int place(struct ncclComm *comm)
{
	int index = 0;

	while (index < comm->operator_count && comm->operators[index].used)
		index++;
	if (index < comm->operator_count)
		return index;
	if (index >= OPERATORS_MAX - ncclNumOps)
		return -1;
	struct user_operator *grown = realloc(comm->operators, (size_t)(index + 1) * sizeof(*grown));
	if (!grown)
		return -1;
	comm->operators = grown;
	comm->operator_count = index + 1;
	return index;
}

static ncclResult_t create_check(const ncclRedOp_t *op, const void *scalar, ncclDataType_t type, ncclComm_t comm)
{
	if (!op || !scalar || !comm || !number_size(type)) {
		log_warn("ncclRedOpCreatePreMulSum : an argument is NULL or type %d is none", (int)type);
		return ncclInvalidArgument;
	}
	return comm_ready(comm);
}

ncclResult_t pncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type,
				       ncclScalarResidence_t residence, ncclComm_t comm)
{
	struct user_operator user = { .used = true, .type = type, .factor.used = true };
	ncclResult_t result = create_check(op, scalar, type, comm);

	if (result != ncclSuccess)
		return result;
	if (residence == ncclScalarHostImmediate)
		memcpy(&user.factor.value, scalar, number_size(type));
	else
		user.factor.device = scalar;
	int index = place(comm);
	if (index < 0)
		return ncclSystemError;
	comm->operators[index] = user;
	*op = (ncclRedOp_t)mangle(comm, ncclNumOps + index);
	return ncclSuccess;
}
EXPORT_WEAK(RedOpCreatePreMulSum);

ncclResult_t pncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
	const char *why = NULL;

	if ((unsigned int)op < ncclNumOps)
		why = "operator is a NCCL builtin";
	else if (!comm)
		why = "invalid communicator passed";
	else if (!find(comm, op))
		why = "operator unknown to this communicator";
	if (why) {
		log_warn("ncclRedOpDestroy : %s.", why);
		return ncclInvalidArgument;
	}
	find(comm, op)->used = false;
	return ncclSuccess;
}
EXPORT_WEAK(RedOpDestroy);
