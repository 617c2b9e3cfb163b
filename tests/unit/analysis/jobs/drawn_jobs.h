/* SPDX-License-Identifier: MIT */
/* Small jobs of the fault suite, for tests whose other jobs have names that the suite has, too. */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_DRAWN_JOBS_H
#define TESTS_UNIT_ANALYSIS_JOBS_DRAWN_JOBS_H

/* Plays the job of that number, with eight ranks at most. */
void drawn_play(unsigned int number);

#endif
