/* SPDX-License-Identifier: MIT */
#ifndef SIM_CUDA_STREAMS_EVENT_H
#define SIM_CUDA_STREAMS_EVENT_H

#include "sim/cuda/streams/stream.h"

/* What an event wait node waits for in a launch that is made now; the caller drops it. payload: the node's. */
struct stream_point event_awaited(const void *payload);
/* A graph with this event record node was launched: the event is reached when the point is. */
void event_record_launched(void *payload, const struct stream_point *at);

#endif
