/* SPDX-License-Identifier: MIT */
/* The tracks of one rank, found by what they show, and the order in which people shall see them: the GPU's, what it
 * never reached, the threads that call NCCL, the other threads. One thread. */
#ifndef CONSOLE_TRACE_RANK_TRACKS_H
#define CONSOLE_TRACE_RANK_TRACKS_H

#include <stddef.h>
#include <stdint.h>

enum rank_track_kind { RANK_TRACK_GPU, RANK_TRACK_QUEUED, RANK_TRACK_CALLS, RANK_TRACK_BLOCKED };

struct rank_track {
	enum rank_track_kind kind;
	uint32_t id;     /* GPU: communicator's index; threads: tid */
	uint64_t stream; /* GPU */
	uint32_t born;   /* how many there were before: their own order */
	uint32_t number; /* in the trace, of its first lane; 0 none yet */
	uint16_t lanes;
};

/* More of them in one rank, as only a damaged box has, share the last one of their kind. */
enum { RANK_TRACKS_MOST = 512 };

/* Zeroed = empty. */
struct rank_tracks {
	struct rank_track list[RANK_TRACKS_MOST];
	uint32_t count, last; /* last: found */
};

/* The index of the track; made when there is none. */
uint32_t rank_tracks_find(struct rank_tracks *tracks, enum rank_track_kind kind, uint32_t id, uint64_t stream);
/* Streams are labels that say nothing to anybody: the how-manieth of its rank this track's is, from 1. */
uint32_t rank_tracks_stream_number(const struct rank_tracks *tracks, uint32_t index);
/* Indexes in the order in which they are shown. */
void rank_tracks_order(const struct rank_tracks *tracks, uint32_t order[RANK_TRACKS_MOST]);

#endif
