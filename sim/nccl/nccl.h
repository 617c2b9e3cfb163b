/* SPDX-License-Identifier: MIT */
/*
 * The part of NCCL 2.28.9's public interface that the stand-in offers: same names, values, types and layouts as NCCL's
 * own nccl.h, so that a program compiles against either. Written from the documented interface;
 * tests/unit/sim/nccl_header_check.c holds both headers to the same facts. What the functions do here, and what they
 * do not, is in docs/stand-in.md.
 */
#ifndef NCCL_H_
#define NCCL_H_

#include <limits.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CUDA's runtime and driver agree on this type, so that no CUDA header is needed here. */
typedef struct CUstream_st *cudaStream_t;

#define NCCL_MAJOR	  2
#define NCCL_MINOR	  28
#define NCCL_PATCH	  9
#define NCCL_SUFFIX	  ""
#define NCCL_VERSION_CODE 22809
#define NCCL_VERSION(X, Y, Z) \
	(((X) <= 2 && (Y) <= 8) ? (X) * 1000 + (Y) * 100 + (Z) : (X) * 10000 + (Y) * 100 + (Z))

#define NCCL_COMM_NULL	      NULL
#define NCCL_UNIQUE_ID_BYTES  128
#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_SPLIT_NOCOLOR    -1

#define NCCL_UNDEF_FLOAT      -1.0f

#define NCCL_CTA_POLICY_DEFAULT    0x00
#define NCCL_CTA_POLICY_EFFICIENCY 0x01
#define NCCL_CTA_POLICY_ZERO	   0x02

#define NCCL_WIN_DEFAULT	    0x00
#define NCCL_WIN_COLL_SYMMETRIC	    0x01
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096

#define NCCL_SUSPEND_MEM    0x01
#define NCCL_SHRINK_DEFAULT 0x00
#define NCCL_SHRINK_ABORT   0x01
#define NCCL_REVOKE_DEFAULT 0x00

typedef struct ncclComm *ncclComm_t;
typedef struct ncclWindow_vidmem *ncclWindow_t;

typedef struct {
	char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
	ncclSuccess = 0,
	ncclUnhandledCudaError = 1,
	ncclSystemError = 2,
	ncclInternalError = 3,
	ncclInvalidArgument = 4,
	ncclInvalidUsage = 5,
	ncclRemoteError = 6,
	ncclInProgress = 7,
	ncclNumResults = 8
} ncclResult_t;

typedef struct ncclConfig_v22800 {
	size_t size;
	unsigned int magic;
	unsigned int version;
	int blocking;
	int cgaClusterSize;
	int minCTAs;
	int maxCTAs;
	const char *netName;
	int splitShare;
	int trafficClass;
	const char *commName;
	int collnetEnable;
	int CTAPolicy;
	int shrinkShare;
	int nvlsCTAs;
	int nChannelsPerNetPeer;
	int nvlinkCentricSched;
} ncclConfig_t;

#define NCCL_CONFIG_MAGIC 0xcafebeef
#define NCCL_CONFIG_INITIALIZER                                                                                   \
	{                                                                                                         \
		sizeof(ncclConfig_t), NCCL_CONFIG_MAGIC, NCCL_VERSION_CODE, NCCL_CONFIG_UNDEF_INT,                \
			NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR, \
			NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT, \
			NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, \
			NCCL_CONFIG_UNDEF_INT                                                                     \
	}

/* Of one collective (2.31). */
typedef struct ncclCollConfig_v23100 {
	size_t size;
	unsigned int magic;
	unsigned int version;
	void *ext;
	int minCTAs;
	int maxCTAs;
	int nvlsCTAs;
	int cgaClusterSize;
	const char *algSelection;
	int forceAlgSelection;
	int CTAPolicy;
	unsigned long long userProfilerTag;
} ncclCollConfig_t;

#define NCCL_COLLCONFIG_INITIALIZER                                                                                   \
	{                                                                                                             \
		sizeof(ncclCollConfig_t), NCCL_CONFIG_MAGIC, NCCL_VERSION_CODE, NULL, NCCL_CONFIG_UNDEF_INT,          \
			NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR, 1, \
			NCCL_CONFIG_UNDEF_INT, 0                                                                      \
	}

typedef struct ncclSimInfo_v22200 {
	size_t size;
	unsigned int magic;
	unsigned int version;
	float estimatedTime;
} ncclSimInfo_t;

#define NCCL_SIM_INFO_MAGIC	  0x74685283
#define NCCL_SIM_INFO_INITIALIZER { sizeof(ncclSimInfo_t), NCCL_SIM_INFO_MAGIC, NCCL_VERSION_CODE, NCCL_UNDEF_FLOAT }

typedef enum {
	ncclSum = 0,
	ncclProd = 1,
	ncclMax = 2,
	ncclMin = 3,
	ncclAvg = 4,
	ncclNumOps = 5,
	ncclMaxRedOp = 0x7fffffff
} ncclRedOp_t;

typedef enum {
	ncclInt8 = 0,
	ncclChar = 0,
	ncclUint8 = 1,
	ncclInt32 = 2,
	ncclInt = 2,
	ncclUint32 = 3,
	ncclInt64 = 4,
	ncclUint64 = 5,
	ncclFloat16 = 6,
	ncclHalf = 6,
	ncclFloat32 = 7,
	ncclFloat = 7,
	ncclFloat64 = 8,
	ncclDouble = 8,
	ncclBfloat16 = 9,
	ncclFloat8e4m3 = 10,
	ncclFloat8e5m2 = 11,
	ncclNumTypes = 12
} ncclDataType_t;

typedef enum {
	ncclScalarDevice = 0,       /* read while the collective runs */
	ncclScalarHostImmediate = 1 /* read before ncclRedOpCreate… returns */
} ncclScalarResidence_t;

typedef struct {
	int opCnt, peer, sigIdx, ctx;
} ncclWaitSignalDesc_t;

/* Every function also exists as pnccl…, strong, while nccl… is weak: a preloaded library may replace it. */
#define NCCL_FUNCTION(type, name, ...) \
	type nccl##name(__VA_ARGS__);  \
	type pnccl##name(__VA_ARGS__)

#pragma GCC visibility push(default)

NCCL_FUNCTION(ncclResult_t, GetVersion, int *version);
NCCL_FUNCTION(ncclResult_t, GetUniqueId, ncclUniqueId *uniqueId);
NCCL_FUNCTION(const char *, GetErrorString, ncclResult_t result);
NCCL_FUNCTION(const char *, GetLastError, ncclComm_t comm);
NCCL_FUNCTION(ncclResult_t, MemAlloc, void **ptr, size_t size);
NCCL_FUNCTION(ncclResult_t, MemFree, void *ptr);

NCCL_FUNCTION(ncclResult_t, CommInitRank, ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank);
NCCL_FUNCTION(ncclResult_t, CommInitRankConfig, ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank,
	      ncclConfig_t *config);
NCCL_FUNCTION(ncclResult_t, CommInitAll, ncclComm_t *comm, int ndev, const int *devlist);
NCCL_FUNCTION(ncclResult_t, CommSplit, ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
	      ncclConfig_t *config);
NCCL_FUNCTION(ncclResult_t, CommInitRankScalable, ncclComm_t *newcomm, int nranks, int myrank, int nId,
	      ncclUniqueId *commIds, ncclConfig_t *config);
NCCL_FUNCTION(ncclResult_t, CommShrink, ncclComm_t comm, int *excludeRanksList, int excludeRanksCount,
	      ncclComm_t *newcomm, ncclConfig_t *config, int shrinkFlags);
NCCL_FUNCTION(ncclResult_t, CommGetUniqueId, ncclComm_t comm, ncclUniqueId *uniqueId);
NCCL_FUNCTION(ncclResult_t, CommGrow, ncclComm_t comm, int nRanks, const ncclUniqueId *uniqueId, int rank,
	      ncclComm_t *newcomm, ncclConfig_t *config);
NCCL_FUNCTION(ncclResult_t, CommRevoke, ncclComm_t comm, int revokeFlags);
NCCL_FUNCTION(ncclResult_t, CommSuspend, ncclComm_t comm, int flags);
NCCL_FUNCTION(ncclResult_t, CommResume, ncclComm_t comm);
NCCL_FUNCTION(ncclResult_t, CommFinalize, ncclComm_t comm);
NCCL_FUNCTION(ncclResult_t, CommDestroy, ncclComm_t comm);
NCCL_FUNCTION(ncclResult_t, CommAbort, ncclComm_t comm);
NCCL_FUNCTION(ncclResult_t, CommGetAsyncError, ncclComm_t comm, ncclResult_t *asyncError);
NCCL_FUNCTION(ncclResult_t, CommCount, const ncclComm_t comm, int *count);
NCCL_FUNCTION(ncclResult_t, CommCuDevice, const ncclComm_t comm, int *device);
NCCL_FUNCTION(ncclResult_t, CommUserRank, const ncclComm_t comm, int *rank);

NCCL_FUNCTION(ncclResult_t, CommRegister, const ncclComm_t comm, void *buff, size_t size, void **handle);
NCCL_FUNCTION(ncclResult_t, CommDeregister, const ncclComm_t comm, void *handle);
NCCL_FUNCTION(ncclResult_t, CommWindowRegister, ncclComm_t comm, void *buff, size_t size, ncclWindow_t *win,
	      int winFlags);
NCCL_FUNCTION(ncclResult_t, CommWindowDeregister, ncclComm_t comm, ncclWindow_t win);

NCCL_FUNCTION(ncclResult_t, RedOpCreatePreMulSum, ncclRedOp_t *op, void *scalar, ncclDataType_t datatype,
	      ncclScalarResidence_t residence, ncclComm_t comm);
NCCL_FUNCTION(ncclResult_t, RedOpDestroy, ncclRedOp_t op, ncclComm_t comm);

NCCL_FUNCTION(ncclResult_t, GroupStart, void);
NCCL_FUNCTION(ncclResult_t, GroupEnd, void);
NCCL_FUNCTION(ncclResult_t, GroupSimulateEnd, ncclSimInfo_t *simInfo);

NCCL_FUNCTION(ncclResult_t, AllReduce, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	      ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
NCCL_FUNCTION(ncclResult_t, Reduce, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	      ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream);
NCCL_FUNCTION(ncclResult_t, ReduceScatter, const void *sendbuff, void *recvbuff, size_t recvcount,
	      ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
NCCL_FUNCTION(ncclResult_t, AllGather, const void *sendbuff, void *recvbuff, size_t sendcount,
	      ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);
NCCL_FUNCTION(ncclResult_t, Broadcast, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	      int root, ncclComm_t comm, cudaStream_t stream);
NCCL_FUNCTION(ncclResult_t, Bcast, void *buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
	      cudaStream_t stream);
NCCL_FUNCTION(ncclResult_t, AlltoAll, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	      ncclComm_t comm, cudaStream_t stream);
NCCL_FUNCTION(ncclResult_t, Gather, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	      int root, ncclComm_t comm, cudaStream_t stream);
NCCL_FUNCTION(ncclResult_t, Scatter, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	      int root, ncclComm_t comm, cudaStream_t stream);
NCCL_FUNCTION(ncclResult_t, Send, const void *sendbuff, size_t count, ncclDataType_t datatype, int peer,
	      ncclComm_t comm, cudaStream_t stream);
NCCL_FUNCTION(ncclResult_t, PutSignal, const void *localbuff, size_t count, ncclDataType_t datatype, int peer,
	      ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
	      cudaStream_t stream);
NCCL_FUNCTION(ncclResult_t, Signal, int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
	      cudaStream_t stream);
NCCL_FUNCTION(ncclResult_t, WaitSignal, int nDesc, ncclWaitSignalDesc_t *signalDescs, ncclComm_t comm,
	      cudaStream_t stream);
NCCL_FUNCTION(ncclResult_t, Recv, void *recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
	      cudaStream_t stream);

NCCL_FUNCTION(ncclResult_t, AllReduceConfig, const void *sendbuff, void *recvbuff, size_t count,
	      ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream,
	      const ncclCollConfig_t *config);
NCCL_FUNCTION(ncclResult_t, ReduceConfig, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	      ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t *config);
NCCL_FUNCTION(ncclResult_t, ReduceScatterConfig, const void *sendbuff, void *recvbuff, size_t recvcount,
	      ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream,
	      const ncclCollConfig_t *config);
NCCL_FUNCTION(ncclResult_t, AllGatherConfig, const void *sendbuff, void *recvbuff, size_t sendcount,
	      ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t *config);
NCCL_FUNCTION(ncclResult_t, BroadcastConfig, const void *sendbuff, void *recvbuff, size_t count,
	      ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t *config);
NCCL_FUNCTION(ncclResult_t, AlltoAllConfig, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	      ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t *config);
NCCL_FUNCTION(ncclResult_t, GatherConfig, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	      int root, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t *config);
NCCL_FUNCTION(ncclResult_t, ScatterConfig, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	      int root, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t *config);

#pragma GCC visibility pop

#undef NCCL_FUNCTION

#ifdef __cplusplus
}
#endif
#endif
