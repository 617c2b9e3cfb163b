/* SPDX-License-Identifier: MIT */
/* As cuda_header_check.c, for nccl.h: NCCL's own is checked where it is installed and is of 2.28. */
#include <stddef.h>

#include <nccl.h>

#define VALUE(name, value) _Static_assert((long)(name) == (value), #name)
#define TYPE(function, ...) \
	_Static_assert(__builtin_types_compatible_p(__typeof__(&function), ncclResult_t(*)(__VA_ARGS__)), #function)

VALUE(NCCL_VERSION_CODE, 22809);
VALUE(NCCL_VERSION(2, 28, 9), 22809);
VALUE(NCCL_CONFIG_UNDEF_INT, INT_MIN);
VALUE(NCCL_SPLIT_NOCOLOR, -1);
VALUE(NCCL_CTA_POLICY_DEFAULT, 0);
VALUE(NCCL_CTA_POLICY_EFFICIENCY, 1);
VALUE(NCCL_CTA_POLICY_ZERO, 2);
VALUE(NCCL_WIN_DEFAULT, 0);
VALUE(NCCL_WIN_COLL_SYMMETRIC, 1);
VALUE(NCCL_WIN_REQUIRED_ALIGNMENT, 4096);
VALUE(NCCL_SHRINK_DEFAULT, 0);
VALUE(NCCL_SHRINK_ABORT, 1);
VALUE(NCCL_REVOKE_DEFAULT, 0);
VALUE(ncclScalarDevice, 0);
VALUE(ncclScalarHostImmediate, 1);
VALUE(ncclMaxRedOp, 0x7fffffff);
VALUE(ncclSuccess, 0);
VALUE(ncclUnhandledCudaError, 1);
VALUE(ncclSystemError, 2);
VALUE(ncclInternalError, 3);
VALUE(ncclInvalidArgument, 4);
VALUE(ncclInvalidUsage, 5);
VALUE(ncclRemoteError, 6);
VALUE(ncclInProgress, 7);
VALUE(ncclNumResults, 8);
VALUE(ncclSum, 0);
VALUE(ncclProd, 1);
VALUE(ncclMax, 2);
VALUE(ncclMin, 3);
VALUE(ncclAvg, 4);
VALUE(ncclNumOps, 5);
VALUE(ncclInt8, 0);
VALUE(ncclUint8, 1);
VALUE(ncclInt32, 2);
VALUE(ncclUint32, 3);
VALUE(ncclInt64, 4);
VALUE(ncclUint64, 5);
VALUE(ncclFloat16, 6);
VALUE(ncclFloat32, 7);
VALUE(ncclFloat64, 8);
VALUE(ncclBfloat16, 9);
VALUE(ncclFloat8e4m3, 10);
VALUE(ncclFloat8e5m2, 11);
VALUE(ncclNumTypes, 12);

VALUE(sizeof(ncclUniqueId), 128);
VALUE(sizeof(ncclRedOp_t), 4);
VALUE(sizeof(ncclConfig_t), 80);
VALUE(offsetof(ncclConfig_t, magic), 8);
VALUE(offsetof(ncclConfig_t, version), 12);
VALUE(offsetof(ncclConfig_t, blocking), 16);
VALUE(offsetof(ncclConfig_t, netName), 32);
VALUE(offsetof(ncclConfig_t, splitShare), 40);
VALUE(offsetof(ncclConfig_t, commName), 48);
VALUE(offsetof(ncclConfig_t, collnetEnable), 56);
VALUE(offsetof(ncclConfig_t, CTAPolicy), 60);
VALUE(offsetof(ncclConfig_t, shrinkShare), 64);
VALUE(offsetof(ncclConfig_t, nvlinkCentricSched), 76);
VALUE(sizeof(ncclSimInfo_t), 24);
VALUE(offsetof(ncclSimInfo_t, magic), 8);
VALUE(offsetof(ncclSimInfo_t, estimatedTime), 16);

TYPE(ncclCommInitRank, ncclComm_t *, int, ncclUniqueId, int);
TYPE(ncclCommInitRankConfig, ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *);
TYPE(ncclCommInitAll, ncclComm_t *, int, const int *);
TYPE(ncclCommSplit, ncclComm_t, int, int, ncclComm_t *, ncclConfig_t *);
TYPE(ncclCommInitRankScalable, ncclComm_t *, int, int, int, ncclUniqueId *, ncclConfig_t *);
TYPE(ncclCommShrink, ncclComm_t, int *, int, ncclComm_t *, ncclConfig_t *, int);
TYPE(ncclCommRevoke, ncclComm_t, int);
TYPE(ncclCommRegister, ncclComm_t, void *, size_t, void **);
TYPE(ncclCommDeregister, ncclComm_t, void *);
TYPE(ncclCommWindowRegister, ncclComm_t, void *, size_t, ncclWindow_t *, int);
TYPE(ncclCommWindowDeregister, ncclComm_t, ncclWindow_t);
TYPE(ncclRedOpCreatePreMulSum, ncclRedOp_t *, void *, ncclDataType_t, ncclScalarResidence_t, ncclComm_t);
TYPE(ncclRedOpDestroy, ncclRedOp_t, ncclComm_t);
TYPE(ncclGroupSimulateEnd, ncclSimInfo_t *);
TYPE(ncclAlltoAll, const void *, void *, size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
TYPE(ncclGather, const void *, void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
TYPE(ncclScatter, const void *, void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
TYPE(ncclAllReduce, const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t);
TYPE(ncclReduce, const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t, cudaStream_t);
TYPE(ncclReduceScatter, const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t);
TYPE(ncclAllGather, const void *, void *, size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
TYPE(ncclBroadcast, const void *, void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
TYPE(ncclBcast, void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
TYPE(ncclSend, const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
TYPE(ncclRecv, void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);

#define BOTH(name) (void *)nccl##name, (void *)pnccl##name

static void *const functions[] = {
	BOTH(GetVersion), BOTH(GetUniqueId), BOTH(GetErrorString), BOTH(GetLastError), BOTH(MemAlloc), BOTH(MemFree),
	BOTH(CommInitRank), BOTH(CommInitRankConfig), BOTH(CommInitAll), BOTH(CommSplit), BOTH(CommFinalize),
	BOTH(CommDestroy), BOTH(CommAbort), BOTH(CommGetAsyncError), BOTH(CommCount), BOTH(CommCuDevice),
	BOTH(CommUserRank), BOTH(GroupStart), BOTH(GroupEnd), BOTH(AllReduce), BOTH(Reduce), BOTH(ReduceScatter),
	BOTH(AllGather), BOTH(Broadcast), BOTH(Bcast), BOTH(Send), BOTH(Recv),
	BOTH(CommInitRankScalable), BOTH(CommShrink), BOTH(CommRevoke), BOTH(CommRegister), BOTH(CommDeregister),
	BOTH(CommWindowRegister), BOTH(CommWindowDeregister), BOTH(RedOpCreatePreMulSum), BOTH(RedOpDestroy),
	BOTH(GroupSimulateEnd), BOTH(AlltoAll), BOTH(Gather), BOTH(Scatter),
};

int main(void)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
	int version = 0;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		if (!functions[i])
			return 1;
	}
	if (config.magic != 0xcafebeef || config.size != sizeof(config) || config.blocking != NCCL_CONFIG_UNDEF_INT)
		return 1;
	if (info.magic != 0x74685283 || info.size != sizeof(info) || info.estimatedTime != -1.0f)
		return 1;
	return ncclGetVersion(&version) == ncclSuccess && version == NCCL_VERSION_CODE ? 0 : 1;
}
