/* SPDX-License-Identifier: MIT */
/*
 * A profiler plugin that writes down what NCCL calls, one line a call, for tests to compare with a table. Built once
 * per version of the interface (RECORDING_ABI). The environment changes what it does:
 *   RECORDING_MASK       the events that it asks for (a number, default 0xE06)
 *   RECORDING_FAIL       the init that returns an error: 1 is the first
 *   RECORDING_NO_CONTEXT init leaves the context as it is
 *   RECORDING_NULL       events (a mask) whose handle is NULL
 *   RECORDING_SILENT     events (a mask) whose handle is not written
 *   RECORDING_FILE       lines go into FILE.PID, as they come, and recording_text has none
 */
#ifndef TEST_SIM_RECORDING_PLUGIN_H
#define TEST_SIM_RECORDING_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

/* Exported by the plugin: the lines since the last call of recording_clear. */
typedef const char *recording_text_function(void);
typedef void recording_clear_function(void);
/* Changes the mask of the process, which NCCL reads again and again. */
typedef void recording_set_mask_function(int mask);

/* For the plugin's own files. */
struct recorded_event {
	uint64_t type;
	void *parent, *group; /* group: NULL where the version has none */
	char details[256];
};

/* "*" for bytes that NCCL left uninitialised. */
const char *recording_text_of(const char *text);
void recording_decode(const void *event, struct recorded_event *out);

#endif
