/* SPDX-License-Identifier: MIT */
/* Findings that follow from each other are one incident, with what became of it: docs/findings.md, "Incidents". Nothing
 * is kept: who belongs to whom is worked out anew from the findings whenever one is told. */
#ifndef ANALYSIS_REPORT_INCIDENT_H
#define ANALYSIS_REPORT_INCIDENT_H

#include "analysis/report/findings.h"
#include "analysis/known/job.h"

/* a rank that fails so soon after its values went bad did so because of them */
#define INCIDENT_AFTER_NS    120000000000u
#define INCIDENT_GAP_NS      60000000000u  /* from a straggler that was closed to the hang of the same rank */
#define INCIDENT_WATCHDOG_NS 1000000000u   /* sooner than its time: waits are seen to begin a little late */

/* The finding that the record's incident began with: the record itself where it is alone. */
struct record *incident_root(const struct findings *findings, struct record *record);
/* Writes the record's finding.incident as it is now, and a hash of what is in the chain. What it points to stays as
 * long as no other finding is told. */
void incident_write(const struct findings *findings, struct record *record);

#endif
