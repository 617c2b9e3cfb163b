/* SPDX-License-Identifier: MIT */
/*
 * How much of the black box replays of graphs may take, so that they do not push out what the job does itself: one slot
 * for three of others' (a quarter), but at least 50 a second, with a quarter of the ring in advance. A job of 200
 * operations a second has its ten minutes of history all the same. Above that it answers with `every`: one replay in so
 * many is scanned, so that all ranks leave out the same ones; what comes beyond it in between is turned away. No clock,
 * one caller.
 */
#ifndef PLUGIN_COST_SCAN_SHARE_H
#define PLUGIN_COST_SCAN_SHARE_H

#include <stdbool.h>
#include <stdint.h>

enum { SCAN_SHARE_PER_SECOND = 50, SCAN_SHARE_OTHERS = 3, SCAN_SHARE_EVERY_MAX = 1 << 20 };

struct scan_share {
	uint64_t room, left;        /* slots in advance: at most, now */
	uint64_t since_ns, claims;  /* last time slots were added; what all had claimed then */
	uint64_t taken;             /* since then */
	uint64_t wanted, wanted_at; /* slots asked for so far; … when a second began */
	uint64_t added, added_at;   /* slots that came in; … when a second began */
	uint64_t second_ns;
	uint32_t calm_s; /* seconds in a row that would take twice as much */
	bool refused;    /* in this second */
	uint32_t every;
};

void scan_share_open(struct scan_share *share, uint64_t ring_slots, uint64_t now_ns);
/* At least once a second. claims: of the box so far, ours with them. Returns `every`, a power of two. */
uint32_t scan_share_judge(struct scan_share *share, uint64_t now_ns, uint64_t claims);
/* A slot is wanted. False: not now. */
bool scan_share_take(struct scan_share *share);

#endif
