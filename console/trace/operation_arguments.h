/* SPDX-License-Identifier: MIT */
/* What a trace says of an operation: with the names of PyTorch's Kineto, where that has one. */
#ifndef CONSOLE_TRACE_OPERATION_ARGUMENTS_H
#define CONSOLE_TRACE_OPERATION_ARGUMENTS_H

#include <rankwatch/blackbox.h>

#include "console/trace/box_operations.h"
#include "console/trace/event.h"

enum { HEX_TEXT = 24 };

struct operation_texts {
	const char *group_name;                        /* NULL not known */
	const char *group_ranks;                       /* "[0, 1, 2]"; NULL not known */
	int32_t device;                                /* -1 not known */
	uint32_t stream;                               /* our number of it */
	char communicator[HEX_TEXT], handle[HEX_TEXT]; /* filled by operation_arguments_add() */
};

/* "AllReduce"; "operation" when it is not known. */
const char *operation_name(const struct rw_operation *operation);
/* "BFloat16", as PyTorch prints its types; NULL when it is not known. */
const char *operation_dtype(const struct rw_operation *operation);
/* Equal for all ranks of one instance, for sender and receiver; 0 where that is not known. */
uint64_t operation_flow(const struct rw_operation *operation, const struct rw_communicator *communicator);
/* communicator: may be NULL. texts must stay until the event is written. */
void operation_arguments_add(struct trace_arguments *arguments, const struct rw_operation *operation,
			     const struct rw_communicator *communicator, struct operation_texts *texts,
			     enum operation_state state);

#endif
