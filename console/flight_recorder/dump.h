/* SPDX-License-Identifier: MIT */
/*
 * The records of one run as PyTorch's Flight Recorder writes its own: one pickle a rank, for `torchfrtrace` and what
 * else reads them (torch/distributed/flight_recorder in PyTorch's repository; version 2.4 of the format), or the same
 * as JSON. docs/flight-recorder.md.
 */
#ifndef CONSOLE_FLIGHT_RECORDER_DUMP_H
#define CONSOLE_FLIGHT_RECORDER_DUMP_H

#include <stddef.h>
#include <stdint.h>

#include "console/boxes/boxes.h"
#include "console/cli/progress.h"
#include "console/flight_recorder/plain_data.h"

struct flight_recorder_result {
	size_t ranks;
	uint64_t entries, unfinished;
	uint64_t strangers; /* operations of communicators of which not every rank left a box */
	uint64_t forgotten; /* operations that another rank's box may have forgotten */
	/* ranks without an operation in their dump: PyTorch 2.6's analyser ends at one with an error */
	size_t empty;
	size_t nameless;    /* boxes whose rank is not known: not written */
	size_t truncated;   /* boxes that could not be read to their end; written as far as they go */
};

/* Writes directory/rank_N (of JSON: rank_N.json) of each rank; makes the directory, in which there must be no such
 * file. command: its full name, for what is said on stderr. progress: NULL none is shown. 0 or -errno: said. */
int flight_recorder_write(const char *directory, enum plain_format format, const struct boxes *boxes, size_t first,
			  size_t count, const char *command, struct progress *progress,
			  struct flight_recorder_result *result);

#endif
