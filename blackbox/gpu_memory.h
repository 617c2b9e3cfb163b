/* SPDX-License-Identifier: MIT */
/* What a collector has noted in a black box of its process's GPU memory: rankwatch/gpu_memory.h. */
#ifndef BLACKBOX_GPU_MEMORY_H
#define BLACKBOX_GPU_MEMORY_H

#include <rankwatch/gpu_memory.h>

#include "blackbox/reader.h"

/* 1: *memory is a whole copy, its counts and index within bounds; 0: nothing was noted, in a version that is known, or just now it is being
 * written; -errno. */
int box_gpu_memory_read(const struct box_reader *reader, struct rw_gpu_memory *memory);

#endif
