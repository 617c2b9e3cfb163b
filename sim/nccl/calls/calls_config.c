/* SPDX-License-Identifier: MIT */
/* The collectives with a configuration of their own. Of that only the tag for profilers has an effect. */
#include "sim/nccl/calls/export.h"
#include "sim/nccl/calls/user_tag.h"
#include "sim/nccl/log.h"
#include "sim/nccl/release.h"

static ncclResult_t begin(const ncclCollConfig_t *config, const char *call)
{
	ncclResult_t result = release_offers(CALLS_2_31, call);

	if (result != ncclSuccess)
		return result;
	if (config && (config->magic != NCCL_CONFIG_MAGIC || config->size < sizeof(*config))) {
		log_warn("%s : config is not of NCCL_COLLCONFIG_INITIALIZER", call);
		return ncclInvalidArgument;
	}
	user_tag_of_call(config ? config->userProfilerTag : 0);
	return ncclSuccess;
}

#define LIST(...) __VA_ARGS__
#define WITH_CONFIG(NAME, PARAMETERS, ARGUMENTS)                                                                       \
	ncclResult_t pnccl##NAME##Config(LIST PARAMETERS, const ncclCollConfig_t *config)                              \
	{                                                                                                              \
		ncclResult_t result = begin(config, "nccl" #NAME "Config");                                            \
		if (result == ncclSuccess)                                                                             \
			result = pnccl##NAME ARGUMENTS;                                                                \
		user_tag_of_call(0);                                                                                   \
		return result;                                                                                         \
	}                                                                                                              \
	EXPORT_WEAK(NAME##Config)

/* clang-format off */
WITH_CONFIG(AllReduce, (const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
	    ncclComm_t comm, cudaStream_t stream), (send, recv, count, type, op, comm, stream));
WITH_CONFIG(Reduce, (const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
	    ncclComm_t comm, cudaStream_t stream), (send, recv, count, type, op, root, comm, stream));
WITH_CONFIG(ReduceScatter, (const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
	    ncclComm_t comm, cudaStream_t stream), (send, recv, count, type, op, comm, stream));
WITH_CONFIG(AllGather, (const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
	    cudaStream_t stream), (send, recv, count, type, comm, stream));
WITH_CONFIG(Broadcast, (const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
	    cudaStream_t stream), (send, recv, count, type, root, comm, stream));
WITH_CONFIG(AlltoAll, (const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
	    cudaStream_t stream), (send, recv, count, type, comm, stream));
WITH_CONFIG(Gather, (const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
	    cudaStream_t stream), (send, recv, count, type, root, comm, stream));
WITH_CONFIG(Scatter, (const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
	    cudaStream_t stream), (send, recv, count, type, root, comm, stream));
/* clang-format on */
