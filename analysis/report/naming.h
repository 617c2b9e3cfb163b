/* SPDX-License-Identifier: MIT */
/* How communicators and sets of ranks are called. */
#ifndef ANALYSIS_REPORT_NAMING_H
#define ANALYSIS_REPORT_NAMING_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/known/job.h"

/* "rank 3", "ranks 0-2,4-7"; `ranks` ascending. Cut with "…" where it does not fit. Returns `text`. */
const char *naming_ranks(char *text, size_t room, const int32_t *ranks, size_t count);
/* The number of PyTorch's process group, where its name says no more: "12" or "undefined:12"; NULL: it is none. */
const char *naming_group_number(const char *name);
/* Whether a reader knows it by this name: it is neither empty, nor a number, nor a hash of ranks, as PyTorch gives. */
bool naming_is_telling(const char *name);
/* NCCL's name where that is telling; else the dimension of RANKWATCH_MESH with its size and stride, "~fsdp"; else its
 * ranks; behind these two PyTorch's number, "ranks 0-3 (group 12)". Returns `text`. */
const char *naming_communicator(char *text, size_t room, const struct job *job,
				const struct communicator *communicator);
const char *naming_function(uint8_t function);
/* "bf16" */
const char *naming_dtype(uint8_t dtype);

#endif
