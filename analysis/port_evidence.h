/* SPDX-License-Identifier: MIT */
/*
 * What this machine's network ports have to do with a finding about transfers or connections: a link that went down, errors
 * that were counted, a port that is slower than those beside it, all of that time. It stands in the evidence and is never a
 * cause: which port an operation used is not known.
 */
#ifndef ANALYSIS_PORT_EVIDENCE_H
#define ANALYSIS_PORT_EVIDENCE_H

#include <stdint.h>

struct analysis;
struct record;

#define PORT_SOURCE  "port" /* of the pieces of evidence */
#define PORT_LEAD_NS 30000000000u /* what was counted from so long before it began until so long after */
#define PORT_BEYOND  4            /* times as much as that port counted in such a time before */
enum {
	PORT_SAID = 3,   /* ports, at most */
	PORT_COUNTS = 3, /* counters of one, at most */
};

/* Adds what the ports showed around since_ns, when it began. Nothing where they showed nothing unusual. */
void port_evidence_attach(const struct analysis *analysis, struct record *record, uint64_t since_ns);

#endif
