/* SPDX-License-Identifier: MIT */
/* Plays the analysis under the fuzzer: believes nothing, keeps nothing, aborts when the feed breaks its promises. */
#ifndef TESTS_FUZZ_DOUBTING_ANALYSIS_H
#define TESTS_FUZZ_DOUBTING_ANALYSIS_H

struct analysis *doubting_analysis(void);

#endif
