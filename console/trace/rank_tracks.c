/* SPDX-License-Identifier: MIT */
#include "console/trace/rank_tracks.h"

#include <stdbool.h>
#include <stdlib.h>

static bool is_it(const struct rank_track *track, enum rank_track_kind kind, uint32_t id, uint64_t stream)
{
	return track->kind == kind && track->id == id && track->stream == stream;
}

static uint32_t last_of_kind(const struct rank_tracks *tracks, enum rank_track_kind kind)
{
	for (uint32_t i = tracks->count; i-- > 0;)
		if (tracks->list[i].kind == kind)
			return i;
	return tracks->count - 1;
}

uint32_t rank_tracks_find(struct rank_tracks *tracks, enum rank_track_kind kind, uint32_t id, uint64_t stream)
{
	if (tracks->last < tracks->count && is_it(&tracks->list[tracks->last], kind, id, stream))
		return tracks->last;
	for (uint32_t i = 0; i < tracks->count; i++)
		if (is_it(&tracks->list[i], kind, id, stream))
			return tracks->last = i;
	if (tracks->count == RANK_TRACKS_MOST)
		return last_of_kind(tracks, kind);
	tracks->list[tracks->count] =
	    (struct rank_track){ .kind = kind, .id = id, .stream = stream, .born = tracks->count };
	return tracks->last = tracks->count++;
}

uint32_t rank_tracks_stream_number(const struct rank_tracks *tracks, uint32_t index)
{
	uint32_t number = 1;

	for (uint32_t i = 0; i < tracks->count; i++) {
		bool first = tracks->list[i].kind == RANK_TRACK_GPU;

		if (first && tracks->list[i].stream == tracks->list[index].stream)
			return number;
		for (uint32_t j = 0; j < i && first; j++)
			first =
			    tracks->list[j].kind != RANK_TRACK_GPU || tracks->list[j].stream != tracks->list[i].stream;
		number += first;
	}
	return number;
}

/* By what the track is about: a thread's calls and where it stood are neighbours, and threads that call NCCL come
 * first. */
struct place {
	uint32_t index, class_, about, kind;
};

static int compare(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->class_ != right->class_)
		return left->class_ < right->class_ ? -1 : 1;
	if (left->about != right->about)
		return left->about < right->about ? -1 : 1;
	return (left->kind > right->kind) - (left->kind < right->kind);
}

enum { CLASS_GPU, CLASS_QUEUED, CLASS_CALLERS, CLASS_OTHERS };

/* The calls of this thread, the track itself when there are none. */
static const struct rank_track *calls_of(const struct rank_tracks *tracks, const struct rank_track *track)
{
	for (uint32_t i = 0; i < tracks->count; i++)
		if (is_it(&tracks->list[i], RANK_TRACK_CALLS, track->id, 0))
			return &tracks->list[i];
	return track;
}

static struct place place_of(const struct rank_tracks *tracks, uint32_t index)
{
	const struct rank_track *track = &tracks->list[index];
	bool thread = track->kind == RANK_TRACK_CALLS || track->kind == RANK_TRACK_BLOCKED;
	const struct rank_track *calls = thread ? calls_of(tracks, track) : track;
	struct place place = { .index = index, .about = calls->born, .kind = track->kind };

	if (thread)
		place.class_ = calls->kind == RANK_TRACK_CALLS ? CLASS_CALLERS : CLASS_OTHERS;
	else
		place.class_ = track->kind == RANK_TRACK_GPU ? CLASS_GPU : CLASS_QUEUED;
	return place;
}

void rank_tracks_order(const struct rank_tracks *tracks, uint32_t order[RANK_TRACKS_MOST])
{
	struct place places[RANK_TRACKS_MOST];

	for (uint32_t i = 0; i < tracks->count; i++)
		places[i] = place_of(tracks, i);
	qsort(places, tracks->count, sizeof(*places), compare);
	for (uint32_t i = 0; i < tracks->count; i++)
		order[i] = places[i].index;
}
