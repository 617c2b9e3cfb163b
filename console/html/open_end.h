/* SPDX-License-Identifier: MIT */
/* What the account leaves out, because it reports finished instances alone: from there to the end of each rank's
 * record, the operations that never ended and the ranks that were missing in them. One thread. */
#ifndef CONSOLE_HTML_OPEN_END_H
#define CONSOLE_HTML_OPEN_END_H

#include "console/html/run_view.h"

struct open_rank {
	uint32_t row;
	int32_t world_rank;
	uint64_t open_ns; /* since when it is in an operation that never ended; 0: in none */
};

/* Zeroed, but for view = empty. */
struct open_end {
	struct run_view *view;
	struct open_rank *ranks;
	size_t count;
};

/* index: of the replay's process. */
void open_end_add(struct open_end *end, size_t index, const struct rank_slices *slices);
/* After the last: the ranks that others waited for to the end. */
void open_end_finish(struct open_end *end);
void open_end_free(struct open_end *end);

#endif
