/* SPDX-License-Identifier: MIT */
/* What a communicator keeps for stream capture: how its plans are captured is in capture_plan.h. */
#ifndef SIM_NCCL_LAUNCH_CAPTURE_H
#define SIM_NCCL_LAUNCH_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "sim/nccl/driver.h"

struct capture {
	CUstream host_stream;  /* of the host callbacks */
	CUevent order;         /* within a capture: behind the newest plan */
	CUevent host_order;    /* within a capture and for a moment outside: between host callbacks and kernels */
	CUevent host_reached;  /* recorded by graphs behind their host callbacks */
	cuuint64_t id;         /* of the newest capture that this communicator was in */
	atomic_int live_plans; /* captured ones that graphs still hold */
};

/* With the communicator's context current. close accepts one that was never opened. */
ncclResult_t capture_open(struct capture *capture);
void capture_close(struct capture *capture);

/* Whether the stream is being captured. */
bool capture_covers(CUstream stream);

#endif
