/* SPDX-License-Identifier: MIT */
/*
 * A launch on its thread, and the two writes of GPU progress around it. Told by NCCL's KernelLaunch event, or taken
 * around the call itself by the interposer. Launches of one communicator never overlap.
 */
#ifndef PLUGIN_LAUNCH_H
#define PLUGIN_LAUNCH_H

#include <stdint.h>

#include "plugin/recording.h"

struct operation_launch {
	uint64_t begin_ns, end_ns;
	uint64_t stream;
	uint64_t progress; /* number that the GPU writes, 0 = not followed */
	uint32_t plan;
	uint32_t tid; /* of the thread, 0 = not asked for yet */
};

/* Wait-free; a driver call each when the GPU follows, and one more where the stream may be captured, for all that the
 * caller knows. The communicator's device is current. tid is left alone. */
void launch_begin(struct recording *recording, struct communicator *communicator, struct operation_launch *launch,
		  uint64_t stream, bool may_capture);
void launch_end(struct recording *recording, struct communicator *communicator, struct operation_launch *launch);

#endif
