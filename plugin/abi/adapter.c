/* SPDX-License-Identifier: MIT */
#include "plugin/abi/adapter.h"

#include <rankwatch/operation.h>

int adapter_init(const struct recorder_communicator *communicator, adapter_masks masks, void **context, int *mask)
{
	enum recorder_wish wish = recorder_init(communicator, context);

	if (wish != RECORDER_NOTHING)
		__atomic_fetch_or(mask, masks[wish], __ATOMIC_RELAXED);
	return PROFILER_SUCCESS;
}

uint8_t adapter_task_dtype(uint8_t function, uint8_t dtype)
{
	bool bytes = function == RW_FUNCTION_ALL_GATHER || function == RW_FUNCTION_BROADCAST;

	return bytes ? RW_DTYPE_UNKNOWN : dtype;
}

int adapter_stop(void *handle)
{
	recorder_stop(handle);
	return PROFILER_SUCCESS;
}

int adapter_record_state(void *handle, int state, void *arguments)
{
	if (state == PROFILER_KERNEL_CH_STOP && arguments)
		recorder_channel_stop(handle, ((const union profiler_state_arguments *)arguments)->timer);
	return PROFILER_SUCCESS;
}

int adapter_finalize(void *context)
{
	recorder_finalize(context);
	return PROFILER_SUCCESS;
}
