/* SPDX-License-Identifier: MIT */
/*
 * Time in which no process of the job ran: a scheduler had stopped or frozen it as a whole, or its machine. Nobody
 * works or waits then. Nothing is known of it where ranks of the job are not seen: these may have waited for those
 * that are.
 */
#ifndef ANALYSIS_KNOWN_SUSPENSION_H
#define ANALYSIS_KNOWN_SUSPENSION_H

#include <stdint.h>

#include <rankwatch/blackbox.h>

#include "analysis/known/job.h"

/* Takes the pauses of the process that its box shows and that were over by by_ns. */
void suspension_note(struct job *job, struct process *process, const struct rw_box_header *box, uint64_t by_ns);
/* How much of the time from from_ns to until_ns that was. */
uint64_t suspension_between(const struct job *job, uint64_t from_ns, uint64_t until_ns);

#endif
