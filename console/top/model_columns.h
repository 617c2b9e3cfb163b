/* SPDX-License-Identifier: MIT */
/* The ranks' time step by step, as it comes in snapshots. */
#ifndef CONSOLE_TOP_MODEL_COLUMNS_H
#define CONSOLE_TOP_MODEL_COLUMNS_H

#include "console/top/model.h"

/* `cells` of a snapshot: each column replaces what there is of the same steps. */
void model_columns_take(struct model *model, const json_t *cells);
void model_columns_drop(struct model *model, size_t at);

#endif
