/* SPDX-License-Identifier: MIT */
/* NCCL's groups: their end launches the calls inside, and creates the communicators whose init is inside. */
#include "plugin/operations/call.h"
#include "plugin/operations/signals.h"
#include "plugin/preload/pending.h"
#include "plugin/preload/preload.h"

PRELOAD_EXPORT int ncclGroupStart(void);
PRELOAD_EXPORT int ncclGroupEnd(void);
PRELOAD_EXPORT int ncclGroupSimulateEnd(void *info);

int ncclGroupStart(void)
{
	PRELOAD_REAL(GroupStart, (void), NULL);
	int result = real();

	if (preload_is_on() && result == NCCL_SUCCESS)
		call_group_start();
	return result;
}

int ncclGroupEnd(void)
{
	PRELOAD_REAL(GroupEnd, (void), NULL);
	if (!preload_is_on())
		return real();
	call_group_end_begin();
	int result = real();
	call_group_end(preload_result(result));
	if (call_in_group())
		return result;
	pending_end(result);
	signals_group_end(result == NCCL_SUCCESS);
	return result;
}

/* NCCL estimates what the group would take, and drops it without launching anything. */
int ncclGroupSimulateEnd(void *info)
{
	PRELOAD_REAL(GroupSimulateEnd, (void *), NULL);
	int result = real(info);

	if (preload_is_on()) {
		call_group_end(CALL_FAILED);
		if (!call_in_group())
			pending_end(NCCL_SYSTEM_ERROR);
		if (!call_in_group())
			signals_group_end(false);
	}
	return result;
}
