/* SPDX-License-Identifier: MIT */
#include "collector/boxes/gpu_note.h"

#include "analysis/report/gpu_record.h"
#include "collector/boxes/own_box.h"

void gpu_note_write(const struct analysis *analysis, analysis_process_id process, const struct box_reader *reader,
		    uint32_t *number)
{
	struct rw_gpu_memory record;

	if (!gpu_record_take(analysis, process, &record))
		return;
	record.number = record.number_again = ++*number;
	own_box_write(reader, RW_GPU_MEMORY_OFFSET, &record, sizeof(record));
}
