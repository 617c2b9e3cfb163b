/* SPDX-License-Identifier: MIT */
/* Where the build found no protobuf-c. */
#include <errno.h>

#include "console/trace/event.h"

static int open_trace(struct trace_sink *sink, const struct trace_head *head)
{
	(void)sink, (void)head;
	return -ENOTSUP;
}

const struct trace_format trace_perfetto = { .name = "perfetto", .open = open_trace };
