/* SPDX-License-Identifier: MIT */
/* Reads the GPU memory of a black box's process, as noted there by a collector: rankwatch/gpu_memory.h. */
#ifndef BLACKBOX_GPU_MEMORY_H
#define BLACKBOX_GPU_MEMORY_H

#include <rankwatch/gpu_memory.h>

#include "blackbox/reader.h"

/* Returns 1: *memory is a complete copy with its counts and index within bounds; 0: nothing was noted in a known
 * version, or it is being written right now; or -errno. */
int box_gpu_memory_read(const struct box_reader *reader, struct rw_gpu_memory *memory);

#endif
