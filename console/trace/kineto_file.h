/* SPDX-License-Identifier: MIT */
/*
 * A trace that PyTorch's profiler (Kineto) wrote, read piece by piece: Chrome's JSON as an object, plain or gzip. What
 * is in memory is one event, however large the file. Keys: libkineto/src/output_json.cpp of pytorch/kineto, August
 * 2026. One thread.
 */
#ifndef CONSOLE_TRACE_KINETO_FILE_H
#define CONSOLE_TRACE_KINETO_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

enum { KINETO_EVENT_MOST = 8 << 20, KINETO_WHY = 256 };

/* Stands in front of the events, or behind them: whole when kineto_read() has returned. */
struct kineto_head {
	/* since 1970, UTC: times of events are µs from there; 0: from 1970 itself, as older ones are */
	int64_t base_ns;
	int32_t rank;    /* -1 not reported */
};

/* The event is an object, and the callee's while it is called: it may be changed. An error ends the reading. */
typedef int kineto_visit(void *argument, json_t *event);

/* Reads the file from its begin to its end. 0; what `visit` returned; -errno of the file; -ENOMEM; or -EBADMSG: it is
 * no such trace, and `why` says what is wrong. */
int kineto_read(const char *path, struct kineto_head *head, kineto_visit *visit, void *argument, char why[KINETO_WHY]);

#endif
