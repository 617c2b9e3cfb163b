/* SPDX-License-Identifier: MIT */
/* What has to be known of a finding that came as JSON from elsewhere before it is handed on: which one it is, and how
 * bad. */
#ifndef COLLECTOR_NATS_FINDING_HEAD_H
#define COLLECTOR_NATS_FINDING_HEAD_H

#include <jansson.h>

#include <rankwatch/finding.h>

enum { FINDING_HEAD_WHY = 96 };

/* Fills id, state, severity, kind (RW_KIND_COUNT: one that we do not know), first_seen_ns (UTC; 0 not known),
 * values.present and incident.id (points into the JSON); all else is absent. 0, or -EPROTO with what is wrong, in words
 * that hold nothing foreign. */
int finding_head_read(const json_t *json, struct rw_finding *head, char why[FINDING_HEAD_WHY]);

#endif
