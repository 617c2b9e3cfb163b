/* SPDX-License-Identifier: MIT */
/*
 * What hosts that see a part each report as findings of their own, and what is one finding: slow transfers of a
 * communicator, because a host that sees a part of it cannot tell them from a late rank of another host; and a bad
 * value that several hosts saw at one place (value_parts.h). Each host's part gets an id that is the same for all of
 * them. Pure.
 */
#ifndef COLLECTOR_NATS_PARTIAL_H
#define COLLECTOR_NATS_PARTIAL_H

#include <jansson.h>

/* A new reference: the finding itself, or, where it is a host's part of such a one, a copy with the id that all parts
 * share. NULL on lack of memory. */
json_t *partial_finding(const json_t *finding);

#endif
