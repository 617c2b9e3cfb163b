/* SPDX-License-Identifier: MIT */
/* What collectives have left, copied to the host in stream order and compared there once the step is done. */
#ifndef SIM_WORKLOAD_TRAINING_CHECKS_H
#define SIM_WORKLOAD_TRAINING_CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#include "sim/workload/job/mesh.h"
#include "sim/workload/training/values.h"

/*
 * What must be there. Moved data: one segment from each source, one behind the other. Reduced data: one segment, the
 * sum (or largest) of what all sources gave. `first` is where the segment begins in what a source gave.
 */
struct expectation {
	const char *what;
	enum values_type type;
	bool reduced, largest;
	int sources;
	const int *ranks;     /* of the sources, in the world */
	size_t elements;      /* of a segment … */
	const size_t *counts; /* … unless they differ */
	size_t first;
	int site;
};

struct check;

/* One step's. */
struct checks_page {
	struct check *items; /* kept, with their memory, for later steps */
	size_t count, room;
	int step;
	CUevent done;
};

struct checks {
	struct checks_page *pages; /* used in turn */
	int page_count;
	int step;
	bool off;	 /* set by the owner: nothing is compared */
	int rank;	 /* for messages */
	uint64_t digest; /* FNV-1a of everything compared so far */
};

/* ahead: steps that may be enqueued before the oldest is finished. */
void checks_open(struct checks *checks, int rank, int ahead);
void checks_close(struct checks *checks);

/* What is added from now on belongs to this step. */
void checks_begin(struct checks *checks, int step);
/* Every fourth step looks at one of `count` alike, another one each time: is it this one? */
bool checks_turn(const struct checks *checks, int index, int count);
/* Copies the data behind what is on the stream so far. */
void checks_add(struct checks *checks, const struct expectation *expectation, CUdeviceptr data, CUstream stream);
/* The step is done when the stream gets here. */
void checks_end(struct checks *checks, CUstream stream);
/* Waits for that, then compares. 0, or -EILSEQ (said on stderr): wrong data. */
int checks_finish(struct checks *checks, int step);

#endif
