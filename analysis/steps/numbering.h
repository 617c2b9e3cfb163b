/* SPDX-License-Identifier: MIT */
/*
 * One numbering of steps for all processes of a job. Each process counts its own; those that share an instance must say
 * the same of it. While two that are certain of their numbers do not, one of them is wrong, nobody knows which, and no
 * number is told of any process: whoever shares instances with either has the same number as one of them.
 *
 * Where the programs of some processes number their steps (analysis/steps/step_marks.h) only these numbers are told:
 * what the others count may begin elsewhere. These, too, must be the same wherever two processes share an instance.
 */
#ifndef ANALYSIS_STEPS_NUMBERING_H
#define ANALYSIS_STEPS_NUMBERING_H

#include "analysis/known/instances.h"

/* A member of the instance has a place by its steps' current version: does the one that lends it its place say the
 * same? The last word of two processes counts: at where one of them has lost count they agree no more. */
void numbering_compare(struct instance *instance, const struct trace *trace);
/* The same for all members that are known; for places of the past. */
void numbering_compare_all(struct instance *instance);
/* The same for a member whose program numbers its steps, and the one that speaks for the instance. */
void numbering_compare_marked(const struct instance *instance, const struct trace *trace);
/* A step of the process's current version as it may be told: -1 when it may be another. */
int64_t numbering_told(const struct process *process, uint64_t step);
/* The same of the operation with this ticket, of a process whose program numbers its steps. */
int64_t numbering_told_at(const struct process *process, uint64_t ticket);
/* How many steps of the process were seen; -1 not known. */
int64_t numbering_count(const struct process *process);

#endif
