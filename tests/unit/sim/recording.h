/* SPDX-License-Identifier: MIT */
/* In a rank: reads what the recording plugin that NCCL_PROFILER_PLUGIN names has written down. */
#ifndef TEST_SIM_RECORDING_H
#define TEST_SIM_RECORDING_H

/* Finds the instance that NCCL has loaded, or ends the rank. */
void recording_attach(void);
const char *recording_read(void);
void recording_drop(void);
void recording_mask(int mask);
/* Ends the rank, and shows both, when other calls came since the last time. what: which step of the test. */
void recording_expect(const char *what, const char *expected);

#endif
