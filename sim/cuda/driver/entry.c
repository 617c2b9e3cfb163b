/* SPDX-License-Identifier: MIT */
/*
 * The exported entry points: what every call passes before and after its implementation, and cuGetProcAddress, which
 * finds them: a name without suffix and a CUDA version give the entry point of that version.
 */
#include <stdbool.h>
#include <string.h>

#include "sim/cuda/devices/context.h"
#include "sim/cuda/driver/calls.h"
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

#define ENTRY_CALL(since, name, suffix, ...) { (void *)name##suffix, (void *)name##suffix },
#define ENTRY_PTDS(since, name, suffix, ...) { (void *)name##suffix, (void *)name##suffix##_ptds },
#define ENTRY_PTSZ(since, name, suffix, ...) { (void *)name##suffix, (void *)name##suffix##_ptsz },

/* Those of calls[]. per_thread: the same function where stream 0 is meant nowhere. */
static const struct {
	void *function, *per_thread;
} entries[] = { CALLS(ENTRY_CALL, ENTRY_PTDS, ENTRY_PTSZ) };

/* The one entry point that is also found by the name of a function it replaced. */
static bool is_named(const struct call *call, const char *name, int version)
{
	if (version >= 12000 && strcmp(name, "cuGraphInstantiate") == 0)
		name = "cuGraphInstantiateWithFlags";
	return strcmp(call->name, name) == 0;
}

static CUdriverProcAddressQueryResult find(const char *name, int version, bool per_thread, void **function)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;

	*function = NULL;
	for (size_t i = 0; i < calls_count; i++) {
		if (!is_named(&calls[i], name, version))
			continue;
		if (calls[i].since <= version)
			*function = per_thread ? entries[i].per_thread : entries[i].function;
		status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
	}
	return status;
}

CUresult sim_cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags,
			      CUdriverProcAddressQueryResult *status)
{
	if (!symbol || !function)
		return CUDA_ERROR_INVALID_VALUE;
	CUdriverProcAddressQueryResult found =
	    find(symbol, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, function);
	if (status)
		*status = found;
	/* The caller that passes a status reads the answer there. */
	return *function || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
