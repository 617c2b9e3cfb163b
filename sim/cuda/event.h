/* SPDX-License-Identifier: MIT */
#ifndef SIM_CUDA_EVENT_H
#define SIM_CUDA_EVENT_H

#include "stream.h"

/* A graph with this event record node was launched: the event is reached when the point is. payload: the node's. */
void event_record_launched(void *payload, const struct stream_point *at);

#endif
