/* SPDX-License-Identifier: MIT */
/*
 * What this machine's network ports have to do with a finding about transfers or connections: a link that went down,
 * errors that were counted, a port that is slower than those beside it, all of that time. It stands in the evidence and
 * is never a cause: which port an operation used is not known.
 */
#ifndef ANALYSIS_EXPLAIN_PORT_EVIDENCE_H
#define ANALYSIS_EXPLAIN_PORT_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/ports.h>

#include "analysis/analysis.h"

struct record;

#define PORT_SOURCE  "port" /* of the pieces of evidence */
#define PORT_LEAD_NS 30000000000u /* what was counted from so long before it began until so long after */
#define PORT_BEYOND  4            /* times as much as that port counted in such a time before */
enum {
	PORT_SAID = 3,   /* ports, at most */
};

/* Adds what the ports showed around since_ns, when it began, and remembers it. Nothing where they showed nothing
 * unusual. */
void port_evidence_attach(const struct analysis *analysis, struct record *record, uint64_t since_ns);

/* What is to be kept in a box: what this machine's ports showed around the findings that it was added to, and around
 * now. The record's numbers are the caller's. False: nothing. */
bool port_record_take(const struct analysis *analysis, uint64_t now_ns, struct rw_ports *record);
/* The other way, from a box that was read: remembered as its process's host's. Each box of a host has the same. 0,
 * -EINVAL: no such process, or the record is not sound; -ENOMEM. */
int port_record_put(struct analysis *analysis, analysis_process_id process, const struct rw_ports *record);

#endif
