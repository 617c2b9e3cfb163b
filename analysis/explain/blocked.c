/* SPDX-License-Identifier: MIT */
#include "analysis/explain/blocked.h"

static bool is_of_a_wait(const struct evidence_piece *piece)
{
	return (piece->kind == ANALYSIS_WAIT_INTERVAL || piece->kind == ANALYSIS_WAIT_SAMPLE) && piece->state != 'R' &&
	       piece->state != 'Z' && piece->end_ns > piece->start_ns;
}

static bool is_same_wait(const struct blocked *blocked, const struct evidence_piece *piece)
{
	return blocked->piece->tid == piece->tid && blocked->piece->system_call == piece->system_call &&
	       piece->end_ns >= blocked->start_ns && piece->start_ns <= blocked->end_ns;
}

static unsigned knowledge(const struct evidence_piece *piece)
{
	return (piece->frame_count > 0) * 2u + (piece->path != 0);
}

static void extend(struct blocked *blocked, const struct evidence_piece *piece)
{
	if (piece->start_ns < blocked->start_ns)
		blocked->start_ns = piece->start_ns;
	if (piece->end_ns > blocked->end_ns)
		blocked->end_ns = piece->end_ns;
	if (knowledge(piece) > knowledge(blocked->piece))
		blocked->piece = piece;
}

static bool is_long(const struct blocked *blocked)
{
	return blocked->end_ns - blocked->start_ns >= BLOCKED_LEAST_NS;
}

/* Long stretches of that thread so far; where the piece belongs to one of them it becomes part of it, and -1 is
 * returned. */
static int count_or_extend(struct blocked *list, size_t count, const struct evidence_piece *piece)
{
	int of_thread = 0;

	for (size_t i = 0; i < count; i++) {
		if (is_same_wait(&list[i], piece)) {
			extend(&list[i], piece);
			return -1;
		}
		of_thread += list[i].piece->tid == piece->tid && is_long(&list[i]);
	}
	return of_thread;
}

static size_t leave_out_short(struct blocked *list, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (is_long(&list[i]))
			list[kept++] = list[i];
	return kept;
}

size_t blocked_find(const struct evidence *evidence, struct blocked *list)
{
	uint64_t kept = evidence_kept(evidence);
	size_t count = 0;

	for (uint64_t age = 0; age < kept; age++) {
		const struct evidence_piece *piece = evidence_at(evidence, age);
		int of_thread = is_of_a_wait(piece) ? count_or_extend(list, count, piece) : -1;

		if (of_thread < 0 || of_thread >= BLOCKED_OF_THREAD)
			continue;
		if (count == BLOCKED_MOST)
			count = leave_out_short(list, count);
		if (count < BLOCKED_MOST)
			list[count++] = (struct blocked){ piece, piece->start_ns, piece->end_ns };
	}
	return leave_out_short(list, count);
}
