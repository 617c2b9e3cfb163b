/* SPDX-License-Identifier: MIT */
/*
 * The dumps that PyTorch's own Flight Recorder left of a run: one file a rank, named by a prefix and the rank. The
 * prefix is TORCH_FR_DUMP_TEMP_FILE, else TORCH_NCCL_DEBUG_INFO_TEMP_FILE, as the box of the rank has it, else
 * ${XDG_CACHE_HOME:-$HOME/.cache}/torch/comm_lib_trace_rank_ of who asks, or before that /tmp/nccl_trace_rank_
 * (PyTorch's torch/csrc/distributed/c10d/FlightRecorder). They are looked for and never read: unpickling a file runs
 * what is in it.
 */
#ifndef CONSOLE_FLIGHT_RECORDER_LEFT_DUMPS_H
#define CONSOLE_FLIGHT_RECORDER_LEFT_DUMPS_H

#include <stdio.h>

#include <jansson.h>

#include "console/replay/replay.h"

/* Regular files of the user whose boxes these are, written while the run ran: [{"directory":…, "prefix":…,
 * "ranks":[…]}, …], in the order of ranks. Empty: there are none, or their file system does not answer in time. The
 * caller's; NULL on lack of memory. */
json_t *left_dumps_find(const struct replay *replay);
/* "PyTorch   Flight Recorder dumps of ranks 0-7, written while it ran: torchfrtrace --prefix comm_lib_trace_rank_
 * /…/torch", a line each. */
void left_dumps_print(FILE *out, const json_t *dumps);

#endif
