/* SPDX-License-Identifier: MIT */
/* Notes how the memory of its GPU went in a process's black box, for those who ask when no collector is left. */
#ifndef COLLECTOR_BOXES_GPU_NOTE_H
#define COLLECTOR_BOXES_GPU_NOTE_H

#include <stdint.h>

#include "analysis/analysis.h"
#include "blackbox/reader.h"

/* Nothing where nothing is known of it. *number counts what was noted. A box that is another user's is left as it
 * is. */
void gpu_note_write(const struct analysis *analysis, analysis_process_id process, const struct box_reader *reader,
		    uint32_t *number);

#endif
