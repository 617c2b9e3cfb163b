/* SPDX-License-Identifier: MIT */
/* The calls that need no communicator. */
#include "sim/nccl/bootstrap/meeting.h"
#include "sim/nccl/calls/export.h"
#include "sim/nccl/driver.h"
#include "sim/nccl/log.h"
#include "sim/nccl/release.h"

ncclResult_t pncclGetVersion(int *version)
{
	if (!version)
		return ncclInvalidArgument;
	*version = release()->code;
	return release_check();
}
EXPORT_WEAK(GetVersion);

ncclResult_t pncclGetUniqueId(ncclUniqueId *id)
{
	ncclResult_t result = id ? release_check() : ncclInvalidArgument;

	return result == ncclSuccess ? meeting_open(id) : result;
}
EXPORT_WEAK(GetUniqueId);

static const char *const error_texts[ncclNumResults] = {
	[ncclSuccess] = "no error",
	[ncclUnhandledCudaError] = "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
	[ncclSystemError] = "unhandled system error (run with NCCL_DEBUG=INFO for details)",
	[ncclInternalError] = "internal error - please report this issue to the rankwatch developers",
	[ncclInvalidArgument] = "invalid argument (run with NCCL_DEBUG=WARN for details)",
	[ncclInvalidUsage] = "invalid usage (run with NCCL_DEBUG=WARN for details)",
	[ncclRemoteError] = "remote process exited or there was a network error",
	[ncclInProgress] = "NCCL operation in progress",
};

const char *pncclGetErrorString(ncclResult_t result)
{
	return (unsigned int)result < ncclNumResults ? error_texts[result] : "unknown result code";
}
EXPORT_WEAK(GetErrorString);

const char *pncclGetLastError(ncclComm_t comm)
{
	(void)comm;
	return log_last_warning();
}
EXPORT_WEAK(GetLastError);

ncclResult_t pncclMemAlloc(void **pointer, size_t size)
{
	CUdeviceptr device;
	ncclResult_t result = pointer ? driver_open() : ncclInvalidArgument;

	if (result == ncclSuccess)
		result = DRIVER(cuMemAlloc, &device, size);
	if (result == ncclSuccess)
		*pointer = (void *)(uintptr_t)device;
	return result;
}
EXPORT_WEAK(MemAlloc);

ncclResult_t pncclMemFree(void *pointer)
{
	ncclResult_t result = driver_open();

	return result == ncclSuccess ? DRIVER(cuMemFree, (CUdeviceptr)(uintptr_t)pointer) : result;
}
EXPORT_WEAK(MemFree);
