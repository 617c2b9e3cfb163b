/* SPDX-License-Identifier: MIT */
/* How far a long work is: one line on a terminal that is written over, and only when it takes long. One thread. */
#ifndef CONSOLE_PROGRESS_H
#define CONSOLE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed but for `what`. */
struct progress {
	const char *what; /* is done to each rank: "writing" */
	bool shown;
	uint64_t last_ns;
};

/* argument: the struct progress. Called before each rank, and once at the end, which takes the line away. */
void progress_show(void *argument, size_t rank, size_t ranks);

#endif
