/* SPDX-License-Identifier: MIT */
/*
 * A node that sees a part of a communicator cannot tell slow transfers from a late rank of another host: each of them finds a slowdown
 * of its own. Together these are one finding about the communicator, and an inconclusive one. Pure.
 */
#ifndef COLLECTOR_NATS_PARTIAL_H
#define COLLECTOR_NATS_PARTIAL_H

#include <jansson.h>

/* A new reference: the finding itself, or, where it is a node's part of such a one, what it comes to. NULL: no memory. */
json_t *partial_finding(const json_t *finding);

#endif
