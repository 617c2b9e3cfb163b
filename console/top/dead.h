/* SPDX-License-Identifier: MIT */
/* A model of a job that is over, from its black boxes: the same analysis, played again, and the same snapshot as
 * live. */
#ifndef CONSOLE_TOP_DEAD_H
#define CONSOLE_TOP_DEAD_H

#include "console/boxes/boxes.h"
#include "console/replay/replay.h"
#include "console/top/model.h"

struct dead {
	struct replay replay;
	size_t left_out; /* boxes of machines whose clocks cannot be compared: what is shown goes by one clock */
};

/* The newest run of `boxes`, of it the ranks whose clocks can be compared with the first one's; `boxes` must outlive
 * it. 0 or -ENOMEM; close in both cases. */
int dead_open(struct dead *dead, struct model *model, struct boxes *boxes);
/* Brings threads and last operations of this rank into the model. */
void dead_show_rank(const struct dead *dead, struct model *model, int32_t rank);
void dead_close(struct dead *dead);

#endif
