/* SPDX-License-Identifier: MIT */
/* The end of network events, which recorder_end() hands on. Private to plugin/operations/. */
#ifndef PLUGIN_OPERATIONS_NETWORK_EVENTS_H
#define PLUGIN_OPERATIONS_NETWORK_EVENTS_H

#include "plugin/recording/recording.h"

/* handle: HANDLE_PROXY_OP or HANDLE_PROXY_STEP. */
void network_events_end(struct recording *recording, const void *handle);

#endif
