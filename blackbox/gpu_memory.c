/* SPDX-License-Identifier: MIT */
#include "blackbox/gpu_memory.h"

static bool is_whole(const struct rw_gpu_memory *memory)
{
	return memory->version == RW_GPU_MEMORY_VERSION && memory->number == memory->number_again &&
	       memory->count <= RW_GPU_MEMORY_BINS && memory->device < RW_BOX_DEVICES;
}

int box_gpu_memory_read(const struct box_reader *reader, struct rw_gpu_memory *memory)
{
	int err =
	    box_reader_bytes(reader, memory, sizeof(*memory), reader->header.control_offset + RW_GPU_MEMORY_OFFSET);

	memory->since_ns = err ? 0 : box_clock_time(&reader->clock, memory->since_ns);
	return err ? err : is_whole(memory);
}
