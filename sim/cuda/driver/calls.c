/* SPDX-License-Identifier: MIT */
/* The exported entry points: what every call passes before and after its implementation. */
#include "sim/cuda/driver/calls.h"

#include <stdbool.h>

#include "sim/cuda/devices/context.h"
#include "sim/cuda/driver/fault.h"
#include "sim/cuda/graphs/capture.h"
#include "sim/cuda/streams/callback.h"
#include "sim/cuda/streams/stream.h"

/* cuda.h gives these names to the newest version; here each version is exported under its own. */
#undef cuDeviceGetUuid
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuDevicePrimaryCtxSetFlags
#undef cuEventElapsedTime
#undef cuStreamBeginCapture
#undef cuStreamGetCaptureInfo
#undef cuStreamUpdateCaptureDependencies
#undef cuStreamWriteValue32
#undef cuStreamWaitValue32
#undef cuStreamWriteValue64
#undef cuStreamWaitValue64
#undef cuStreamBatchMemOp
#undef cuGetProcAddress

#define NUMBER(since, name, suffix, ...) NUMBER_##name##suffix,
enum { CALLS(NUMBER, NUMBER, NUMBER) };

static CUresult call_enter(size_t number, bool per_thread)
{
	enum call_kind kind = calls[number].kind;

	stream_zero_is_per_thread(per_thread);
	CUresult result = fault_apply(number);
	if (result == CUDA_SUCCESS && kind != CALL_FREE && callback_running())
		result = CUDA_ERROR_NOT_PERMITTED;
	if (result == CUDA_SUCCESS && kind >= CALL_WORK)
		result = context_broken();
	if (result == CUDA_SUCCESS && kind == CALL_UNSAFE)
		result = capture_check_unsafe();
	return result;
}

static CUresult call_leave(CUresult result)
{
	context_note(result);
	return result;
}

#define EXPORT(symbol, number, per_thread, implementation, parameters, arguments)                                      \
	__attribute__((visibility("default"))) CUresult symbol parameters;                                             \
	CUresult symbol parameters                                                                                     \
	{                                                                                                              \
		CUresult result = call_enter(number, per_thread);                                                      \
		if (result == CUDA_SUCCESS)                                                                            \
			result = implementation arguments;                                                             \
		return call_leave(result);                                                                             \
	}
#define EXPORT_CALL(since, name, suffix, implementation, kind, parameters, arguments)                                  \
	EXPORT(name##suffix, NUMBER_##name##suffix, false, implementation, parameters, arguments)
#define EXPORT_PTDS(since, name, suffix, implementation, kind, parameters, arguments)                                  \
	EXPORT(name##suffix, NUMBER_##name##suffix, false, implementation, parameters, arguments)                      \
	EXPORT(name##suffix##_ptds, NUMBER_##name##suffix, true, implementation, parameters, arguments)
#define EXPORT_PTSZ(since, name, suffix, implementation, kind, parameters, arguments)                                  \
	EXPORT(name##suffix, NUMBER_##name##suffix, false, implementation, parameters, arguments)                      \
	EXPORT(name##suffix##_ptsz, NUMBER_##name##suffix, true, implementation, parameters, arguments)

CALLS(EXPORT_CALL, EXPORT_PTDS, EXPORT_PTSZ)

#define RECORD_CALL(since, name, suffix, implementation, kind, ...)                                                    \
	{ #name, #name #suffix, since, CALL_##kind, (void *)name##suffix, (void *)name##suffix },
#define RECORD_PTDS(since, name, suffix, implementation, kind, ...)                                                    \
	{ #name, #name #suffix, since, CALL_##kind, (void *)name##suffix, (void *)name##suffix##_ptds },
#define RECORD_PTSZ(since, name, suffix, implementation, kind, ...)                                                    \
	{ #name, #name #suffix, since, CALL_##kind, (void *)name##suffix, (void *)name##suffix##_ptsz },

const struct call calls[] = { CALLS(RECORD_CALL, RECORD_PTDS, RECORD_PTSZ) };
const size_t calls_count = sizeof(calls) / sizeof(calls[0]);
