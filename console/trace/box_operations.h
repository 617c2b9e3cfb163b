/* SPDX-License-Identifier: MIT */
/* All operations of one box, and whether each had ended when the record did. 32 MiB at most. One thread. */
#ifndef CONSOLE_TRACE_BOX_OPERATIONS_H
#define CONSOLE_TRACE_BOX_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "blackbox/reader.h"

struct box_operations {
	struct rw_operation *list; /* in order of claims */
	size_t count;
	struct rw_communicator *communicators;
	struct rw_gpu_progress *progress;
	uint32_t communicator_count;
};

/* What had not ended of an operation. */
enum operation_state {
	OPERATION_ENDED,
	OPERATION_IN_CALL,  /* its call, or the end of its group, had not returned */
	OPERATION_LAUNCHED, /* the GPU had not reached it */
	OPERATION_RUNNING,  /* the GPU was at it */
	OPERATION_DONE,     /* the GPU had ended it behind the last sample of the process: nobody knows when */
};

/* Times that are damage are taken out (feed/operation_view.h). 0 or -errno; free in both cases. On an error of the file
 * what came before it is there. */
int box_operations_read(struct box_operations *operations, const struct box_reader *reader);
void box_operations_free(struct box_operations *operations);

/* NULL when it is not known, or its entry has been given to another one since. */
const struct rw_communicator *box_operations_communicator(const struct box_operations *operations,
							  const struct rw_operation *operation);
enum operation_state box_operations_state(const struct box_operations *operations,
					  const struct rw_operation *operation);

#endif
