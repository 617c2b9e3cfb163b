/* SPDX-License-Identifier: MIT */
#include "sim/nccl/launch/capture.h"

#include <stddef.h>

ncclResult_t capture_open(struct capture *capture)
{
	CUevent *const events[] = { &capture->order, &capture->host_order, &capture->host_reached };
	ncclResult_t result = DRIVER(cuStreamCreate, &capture->host_stream, CU_STREAM_NON_BLOCKING);

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]) && result == ncclSuccess; i++)
		result = DRIVER(cuEventCreate, events[i], CU_EVENT_DISABLE_TIMING);
	return result;
}

void capture_close(struct capture *capture)
{
	CUevent const events[] = { capture->order, capture->host_order, capture->host_reached };

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (events[i])
			driver.cuEventDestroy(events[i]);
	}
	if (capture->host_stream)
		driver.cuStreamDestroy(capture->host_stream);
}

bool capture_covers(CUstream stream)
{
	CUstreamCaptureStatus status;

	return driver.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}
