/* SPDX-License-Identifier: MIT */
/* cuGetProcAddress: a name without suffix and a CUDA version give the entry point of that version. */
#include <stdbool.h>
#include <string.h>

#include "sim/cuda/driver/calls.h"

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
			*function = per_thread ? calls[i].per_thread : calls[i].function;
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
