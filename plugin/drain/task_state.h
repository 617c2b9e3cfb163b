/* SPDX-License-Identifier: MIT */
/* One thread of this process, as /proc/self/task shows it. No allocation. */
#ifndef PLUGIN_DRAIN_TASK_STATE_H
#define PLUGIN_DRAIN_TASK_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>

enum { TASK_NAME = 16, TASK_PATH = 512 };

/* number: as rw_host_sample.system_call; fd: the call's first argument, or the first that poll(2) waits for; -1: none.
 * False: the thread is gone. */
bool task_system_call(uint32_t tid, int16_t *number, int32_t *fd);
/* What it waits for is behind a descriptor, but it is in no call on a file. */
bool task_polls(int16_t system_call);
/* Waits that show nothing about a thread that enqueues no operations: futex, poll, sleep; or it runs. */
bool task_is_idle(int16_t system_call);
/* Fills state, detail (CPU ms), run_delay_ns and text (wait channel), and the thread's name. False: gone. */
bool task_state(uint32_t tid, struct rw_host_sample *sample, char name[TASK_NAME]);
/* When the thread was made, in ticks of sysconf(_SC_CLK_TCK) a second on CLOCK_BOOTTIME, rounded down. False: gone. */
bool task_born(uint32_t tid, uint64_t *ticks);
/* Path behind a descriptor, not terminated, and its device; 0 = not to be had. Never waits for a file server. */
size_t task_file(int32_t fd, char path[TASK_PATH], uint32_t *device);

#endif
