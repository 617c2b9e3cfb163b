/* SPDX-License-Identifier: MIT */
/* The plugin's own variables: one table, read once, at the first communicator. libc only, no thread of its own. */
#ifndef PLUGIN_GUEST_CONFIG_H
#define PLUGIN_GUEST_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rankwatch/operation.h>

typedef const char *config_get(void *argument, const char *name); /* NULL = not set */
typedef void config_report(void *argument, const char *line);      /* one line about something wrong */

enum config_gpu_time { CONFIG_GPU_TIME_AUTO, CONFIG_GPU_TIME_WATERMARK, CONFIG_GPU_TIME_OFF };

enum config_scan { CONFIG_SCAN_AUTO, CONFIG_SCAN_ALL, CONFIG_SCAN_INPUT, CONFIG_SCAN_OUTPUT, CONFIG_SCAN_OFF };
enum config_on_nan { CONFIG_ON_NAN_RECORD, CONFIG_ON_NAN_WARN, CONFIG_ON_NAN_ABORT };

struct config {
	uint32_t on;
	uint32_t gpu_time; /* enum config_gpu_time */
	uint32_t kernelch;
	uint32_t quiet;
	uint32_t preload; /* also read by plugin/preload, which is there before anybody reads this */
	uint32_t scan;       /* enum config_scan */
	uint32_t on_nan;     /* enum config_on_nan */
	uint32_t budget_ppm; /* of wall time */
	uint32_t graphs;     /* scan inside CUDA graphs, too */
	uint32_t scan_ptx;   /* scan also where the driver has to compile the kernel */
	bool budget_given;   /* by the user: then it holds from the first second */
	uint8_t uint8_as[RW_FUNCTION_COUNT]; /* enum rw_dtype that uint8 stands for, by function */
	uint64_t history_bytes; /* 0 = by free space */
	const char *directory;  /* NULL = by contract; borrowed from the environment */
};

struct config_variable {
	const char *name;
	const char *values; /* "a|b|c", "SIZE", or a word for free text */
	const char *initial;
	const char *meaning;
};

/* Every RANKWATCH_* variable, ended by a NULL name. */
const struct config_variable *config_variables(void);

/* Reads the environment. What is wrong is reported, one line each, and replaced by its default. `names`: the
 * environment's NAME=VALUE strings, to find misspelt variables; NULL = they are not searched. */
void config_read(struct config *config, config_get *get, char *const *names, config_report *report, void *argument);

#endif
