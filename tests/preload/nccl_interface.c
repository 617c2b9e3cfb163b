/* SPDX-License-Identifier: MIT */
/* Our declarations of NCCL's public interface against a header of NCCL's kind: the stand-in's, or NVIDIA's. */
#include <assert.h>
#include <stddef.h>

#include <nccl.h>

#include "plugin/nccl/nccl.h"

static_assert(NCCL_SUCCESS == (int)ncclSuccess, "nccl.h");
static_assert(NCCL_SYSTEM_ERROR == (int)ncclSystemError, "nccl.h");
static_assert(NCCL_IN_PROGRESS == (int)ncclInProgress, "nccl.h");
static_assert(NCCL_CONFIG_UNDEFINED == NCCL_CONFIG_UNDEF_INT, "nccl.h");
#ifdef NCCL_SUSPEND_MEM
static_assert(NCCL_SUSPEND_MEMORY == NCCL_SUSPEND_MEM, "nccl.h");
#endif
static_assert(NCCL_SPLIT_NO_COLOR == NCCL_SPLIT_NOCOLOR, "nccl.h");
static_assert(sizeof(struct nccl_unique_id) == sizeof(ncclUniqueId), "nccl.h");
static_assert(sizeof(ncclResult_t) == sizeof(int) && sizeof(ncclDataType_t) == sizeof(int), "nccl.h");
static_assert(sizeof(ncclRedOp_t) == sizeof(int), "nccl.h");
static_assert(offsetof(struct nccl_config, size) == offsetof(ncclConfig_t, size), "nccl.h");
static_assert(offsetof(struct nccl_config, blocking) == offsetof(ncclConfig_t, blocking), "nccl.h");
static_assert(offsetof(struct nccl_config, split_share) == offsetof(ncclConfig_t, splitShare), "nccl.h");
#if NCCL_VERSION_CODE >= 22703
static_assert(offsetof(struct nccl_config, name) == offsetof(ncclConfig_t, commName), "nccl.h");
#endif

int main(void) /* it compiles */
{
	return 0;
}
