/* SPDX-License-Identifier: MIT */
/* Where the threads of a process were while it looked at them: its samples, put together as long as it found a thread
 * in the same place. */
#ifndef CONSOLE_TRACE_STAYS_H
#define CONSOLE_TRACE_STAYS_H

#include <stddef.h>
#include <stdint.h>

#include "blackbox/reader.h"

struct stay {
	uint32_t tid, looks;
	uint32_t times;            /* that it went there; 1: it never left in between */
	uint64_t begin_ns, end_ns; /* of the first and the last sample */
	int32_t system_call, fd;
	char state, channel[32], path[256], thread[16]; /* as they are in the box */
};

struct stays {
	struct stay *list;
	size_t count;
};

/* 0 or -errno; free in both cases. */
int stays_read(struct stays *stays, const struct box_reader *reader);
void stays_free(struct stays *stays);

/* "write(5) events.out.tfevents.0", "futex", "running", "stopped"; not escaped. Returns text. */
char *stay_text(const struct stay *stay, char *text, size_t size);

#endif
