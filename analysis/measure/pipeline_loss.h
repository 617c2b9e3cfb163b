/* SPDX-License-Identifier: MIT */
/* Which ranks of a pipelined job compute its loss: all others log none, which people take for a failure. */
#ifndef ANALYSIS_MEASURE_PIPELINE_LOSS_H
#define ANALYSIS_MEASURE_PIPELINE_LOSS_H

#include "analysis/analysis.h"

/* From what each rank sent and received in its last whole step. told->pipelines is 0 where there is none, its steps are
 * not known, or not all of its ranks are seen. */
void pipeline_loss_tell(const struct analysis *analysis, struct analysis_pipeline *told);

#endif
