/* SPDX-License-Identifier: MIT */
/* cuGetProcAddress: a name without suffix and a CUDA version give the entry point of that version. */
#include <stddef.h>
#include <string.h>

#include "versions.h"

/* clang-format off */
#define ENTRY(since, name)	      { #name, since, (void *)name }
#define ENTRY_AS(since, name, symbol) { #name, since, (void *)symbol }
/* clang-format on */

/* Entries of one name stand together, oldest first. */
static const struct entry {
	const char *name;
	int since;
	void *function;
} entries[] = {
	ENTRY(2000, cuInit),
	ENTRY(2020, cuDriverGetVersion),
	ENTRY(6000, cuGetErrorName),
	ENTRY(6000, cuGetErrorString),
	ENTRY(11030, cuGetProcAddress),
	ENTRY_AS(12000, cuGetProcAddress, cuGetProcAddress_v2),
	ENTRY(2000, cuDeviceGet),
	ENTRY(2000, cuDeviceGetCount),
	ENTRY(2000, cuDeviceGetName),
	ENTRY(9020, cuDeviceGetUuid),
	ENTRY_AS(11040, cuDeviceGetUuid, cuDeviceGetUuid_v2),
	ENTRY(4010, cuDeviceGetPCIBusId),
	ENTRY(2000, cuDeviceGetAttribute),
	ENTRY_AS(3020, cuDeviceTotalMem, cuDeviceTotalMem_v2),
	ENTRY(7000, cuDevicePrimaryCtxRetain),
	ENTRY(7000, cuDevicePrimaryCtxRelease),
	ENTRY_AS(11000, cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2),
	ENTRY(7000, cuDevicePrimaryCtxGetState),
	ENTRY_AS(3020, cuCtxCreate, cuCtxCreate_v2),
	ENTRY_AS(12050, cuCtxCreate, cuCtxCreate_v4),
	ENTRY_AS(4000, cuCtxDestroy, cuCtxDestroy_v2),
	ENTRY(4000, cuCtxSetCurrent),
	ENTRY(4000, cuCtxGetCurrent),
	ENTRY(2000, cuCtxGetDevice),
	ENTRY_AS(4000, cuCtxPushCurrent, cuCtxPushCurrent_v2),
	ENTRY_AS(4000, cuCtxPopCurrent, cuCtxPopCurrent_v2),
	ENTRY(2000, cuCtxSynchronize),
	ENTRY(5050, cuCtxGetStreamPriorityRange),
	ENTRY(2000, cuStreamCreate),
	ENTRY(5050, cuStreamCreateWithPriority),
	ENTRY_AS(4000, cuStreamDestroy, cuStreamDestroy_v2),
	ENTRY(2000, cuStreamQuery),
	ENTRY(2000, cuStreamSynchronize),
	ENTRY(3020, cuStreamWaitEvent),
	ENTRY(10000, cuStreamIsCapturing),
	ENTRY(10010, cuStreamGetCaptureInfo),
	ENTRY_AS(11030, cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2),
	ENTRY_AS(12030, cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v3),
	ENTRY(9020, cuStreamGetCtx),
	ENTRY(10010, cuThreadExchangeStreamCaptureMode),
	ENTRY(2000, cuEventCreate),
	ENTRY(2000, cuEventRecord),
	ENTRY(2000, cuEventQuery),
	ENTRY(2000, cuEventSynchronize),
	ENTRY(2000, cuEventElapsedTime),
	ENTRY_AS(12080, cuEventElapsedTime, cuEventElapsedTime_v2),
	ENTRY_AS(4000, cuEventDestroy, cuEventDestroy_v2),
	ENTRY_AS(3020, cuMemGetInfo, cuMemGetInfo_v2),
	ENTRY_AS(3020, cuMemAlloc, cuMemAlloc_v2),
	ENTRY_AS(3020, cuMemFree, cuMemFree_v2),
	ENTRY_AS(3020, cuMemAllocHost, cuMemAllocHost_v2),
	ENTRY(2020, cuMemHostAlloc),
	ENTRY(2000, cuMemFreeHost),
	ENTRY_AS(6050, cuMemHostRegister, cuMemHostRegister_v2),
	ENTRY(4000, cuMemHostUnregister),
	ENTRY_AS(3020, cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2),
	ENTRY(4000, cuPointerGetAttribute),
	ENTRY(7000, cuPointerGetAttributes),
	ENTRY(4000, cuMemcpy),
	ENTRY_AS(3020, cuMemcpyHtoD, cuMemcpyHtoD_v2),
	ENTRY_AS(3020, cuMemcpyDtoH, cuMemcpyDtoH_v2),
	ENTRY_AS(3020, cuMemcpyDtoD, cuMemcpyDtoD_v2),
	ENTRY(4000, cuMemcpyAsync),
	ENTRY_AS(3020, cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2),
	ENTRY_AS(3020, cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2),
	ENTRY_AS(3020, cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2),
	ENTRY_AS(3020, cuMemsetD8, cuMemsetD8_v2),
	ENTRY_AS(3020, cuMemsetD32, cuMemsetD32_v2),
	ENTRY(3020, cuMemsetD8Async),
	ENTRY(3020, cuMemsetD32Async),
	ENTRY(8000, cuStreamWriteValue32),
	ENTRY_AS(11070, cuStreamWriteValue32, cuStreamWriteValue32_v2),
	ENTRY(8000, cuStreamWaitValue32),
	ENTRY_AS(11070, cuStreamWaitValue32, cuStreamWaitValue32_v2),
	ENTRY(9000, cuStreamWriteValue64),
	ENTRY_AS(11070, cuStreamWriteValue64, cuStreamWriteValue64_v2),
	ENTRY(9000, cuStreamWaitValue64),
	ENTRY_AS(11070, cuStreamWaitValue64, cuStreamWaitValue64_v2),
	ENTRY(8000, cuStreamBatchMemOp),
	ENTRY_AS(11070, cuStreamBatchMemOp, cuStreamBatchMemOp_v2),
	ENTRY(2000, cuModuleLoadData),
	ENTRY(2010, cuModuleLoadDataEx),
	ENTRY(2000, cuModuleUnload),
	ENTRY(2000, cuModuleGetFunction),
	ENTRY(12040, cuFuncLoad),
	ENTRY(2020, cuFuncGetAttribute),
	ENTRY(4000, cuLaunchKernel),
	ENTRY(11060, cuLaunchKernelEx),
	ENTRY(10000, cuLaunchHostFunc),
};

static CUdriverProcAddressQueryResult find(const char *symbol, int version, void **function)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;

	*function = NULL;
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		if (strcmp(entries[i].name, symbol) != 0)
			continue;
		if (entries[i].since <= version)
			*function = entries[i].function;
		status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
	}
	return status;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	if (!symbol || !function)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		return CUDA_ERROR_NOT_SUPPORTED;
	CUdriverProcAddressQueryResult found = find(symbol, version, function);
	if (status)
		*status = found;
	/* The caller that passes a status reads the answer there. */
	return *function || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
