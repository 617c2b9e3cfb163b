/* SPDX-License-Identifier: MIT */
/* Makes the callbacks of NCCL's profiler interface for the calls of null_nccl.h: of a few communicators;
 * calls on one thread. */
#ifndef TESTS_NULL_PLAYER_H
#define TESTS_NULL_PLAYER_H

#include <stdbool.h>

/* Before the communicator: version 5 and up; 0: no callbacks. */
void null_player_use(int abi);
/* True: the plugin has asked for events, or there are none to ask for. */
bool null_player_records(void);

#endif
