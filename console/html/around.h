/* SPDX-License-Identifier: MIT */
/* The time around what was found: the operations of some ranks on host and GPU, and where their threads stood. Bounded:
 * the longest slices of each rank. One thread. */
#ifndef CONSOLE_HTML_AROUND_H
#define CONSOLE_HTML_AROUND_H

#include "console/html/run_view.h"

enum { AROUND_RANKS = 64, AROUND_SLICES = 32768 };

struct around {
	const struct run_view *view;
	uint64_t from_ns, until_ns; /* on the clock of the first host */
	size_t slices_most;         /* of a rank */
	json_t *ranks;              /* those that are wanted, by number as text → null, then what there is of them */
	json_t *names, *numbers;    /* texts of slices, each once; text → its place */
	size_t left_out;
};

/* finding: NULL none, then it is the end of the run. 0 or -ENOMEM; around_take() in every case. */
int around_begin(struct around *around, const struct run_view *view, const json_t *finding);
/* Nothing where the rank is not among those that are wanted. */
void around_add(struct around *around, const struct replay_process *process, const struct rank_slices *slices);
/* {"from","until","names","ranks","left_out"}; a new reference. */
json_t *around_take(struct around *around);

#endif
