/* SPDX-License-Identifier: MIT */
/* A profiler plugin that writes down what NCCL calls, one line a call, for tests to compare with a table. */
#ifndef TEST_SIM_RECORDING_PLUGIN_H
#define TEST_SIM_RECORDING_PLUGIN_H

/* Exported by the plugin: the lines since the last call of recording_clear. */
typedef const char *recording_text_function(void);
typedef void recording_clear_function(void);

/* RECORDING_MASK in the environment chooses the events (a number, default 0xE06). */

#endif
