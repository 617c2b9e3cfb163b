/* SPDX-License-Identifier: MIT */
/* The number that a program attaches to its calls, which profiler interface 7 hands on (userTag). */
#ifndef SIM_NCCL_USER_TAG_H
#define SIM_NCCL_USER_TAG_H

#include <stdint.h>

/* Of all calls that this process makes from now on; 0 nothing. Exported. It is the stand-in's own: how NCCL 2.31 lets a
 * program set its tag is not in the notes that 2.31 was written from. */
void simNcclUserTag(uint64_t tag);
uint64_t user_tag(void);

#endif
