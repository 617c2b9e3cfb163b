/* SPDX-License-Identifier: MIT */
/* The sentences of a finding: who, how much, since when; what the cause was; what to do. */
#ifndef ANALYSIS_TEXT_H
#define ANALYSIS_TEXT_H

#include <stddef.h>

#include "analysis/cause.h"
#include "analysis/record.h"

/* "1.31 s", "45 ms" */
const char *text_duration(char *text, size_t room, double ms);
/* "fsync(2)", "waits for a CPU", "killed by signal 9" */
void text_cause(char *text, size_t room, const struct cause *cause, const struct process *process);
void text_advice(char *text, size_t room, const struct cause *cause, const struct process *process);
/* "rank 0 makes every step 1.31 s longer: 64 % of the step, since step 9" */
void text_straggler(struct record *record);
/* "rank 3 has not joined AllGather #118 on ~fsdp: ranks 0-2,4-7 have waited 4.2 s" */
void text_hang(struct record *record);
/* "rank 3 was killed by signal 9: ranks 0-2,4-7 wait for it in AllGather #118 on ~fsdp" */
void text_gone(struct record *record);

#endif
