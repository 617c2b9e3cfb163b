/* SPDX-License-Identifier: MIT */
/*
 * A profiler plugin in the test program itself, which keeps what NCCL calls in a rank as lines, one list for each
 * thread and communicator, and compares them with the table nccl-2.28.9-1.sequences, whose head says how lines are
 * written.
 */
#ifndef TEST_SIM_SEQUENCES_H
#define TEST_SIM_SEQUENCES_H

#include <stdbool.h>

/* What init asks for; all 12 events otherwise. */
void sequences_first_mask(int mask);
/* Before the rank's communicator: what is kept from then on belongs to that phase. */
void sequences_begin(const char *phase);
/* A host function, which the driver runs on its callback thread. */
void sequences_note_callback(void *unused);
/* From now on the communicator with the lower number is a, the other one b. Says whether the first one made is b. */
bool sequences_name_by_number(void);
/* Ends the rank, and shows both, unless the phase's lines become those of the table. Then the next phase begins. */
void sequences_expect(const char *next_phase);
/* From now on. */
void sequences_mask(int mask);

#endif
