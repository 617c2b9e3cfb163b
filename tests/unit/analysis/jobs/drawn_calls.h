/* SPDX-License-Identifier: MIT */
/*
 * The operations of one rank whose program is drawn, and changes twice: forward and backward passes of some layers,
 * with what comes once in a step or once in some, and with operations that are left out or come in between.
 */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_DRAWN_CALLS_H
#define TESTS_UNIT_ANALYSIS_JOBS_DRAWN_CALLS_H

#include <stdint.h>
#include <stdio.h>

/* Plays the rank of this number. To `all` goes where the analysis places each operation, to `sums` what it knows of
 * steps behind each program. */
void drawn_calls_play(unsigned int number, FILE *all, FILE *sums);

#endif
