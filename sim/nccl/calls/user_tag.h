/* SPDX-License-Identifier: MIT */
/* The number that a program attaches to its calls, which profiler interface 7 hands on (userTag). */
#ifndef SIM_NCCL_CALLS_USER_TAG_H
#define SIM_NCCL_CALLS_USER_TAG_H

#include <stdint.h>

/* Of all calls that this process makes from now on; 0 nothing. Exported, and the stand-in's own: a program gives NCCL
 * its tag with each call. */
void simNcclUserTag(uint64_t tag);
/* Of the call that this thread is about to make, in place of the process's; 0: that one again. */
void user_tag_of_call(uint64_t tag);
uint64_t user_tag(void);

#endif
