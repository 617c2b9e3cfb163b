/* SPDX-License-Identifier: MIT */
/* Each rank at its end: how it ended, the last operation that it called, the oldest that had not finished, and where
 * its threads were. One thread. */
#ifndef CONSOLE_HTML_RANK_ROWS_H
#define CONSOLE_HTML_RANK_ROWS_H

#include "console/html/run_view.h"

/* New reference; NULL on lack of memory. */
json_t *rank_row_json(const struct run_view *view, const struct replay_process *process,
		      const struct rank_slices *slices);

#endif
